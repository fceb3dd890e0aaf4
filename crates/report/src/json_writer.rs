//! Writes JSON in the layout that fio's readers know: two blanks per level, `"key" : value`,
//! floats with six decimals, an empty line inside empty containers.

use std::fmt::Display;

/// A document being written. All containers are closed by the methods that open them.
#[derive(Debug)]
pub(crate) struct JsonWriter {
    text: String,
    depth: usize,
    /// The innermost container has no member yet.
    empty: bool,
}

impl JsonWriter {
    /// A document whose root object `members` writes; it ends with a newline.
    pub(crate) fn document(members: impl FnOnce(&mut Self)) -> String {
        let mut writer = JsonWriter {
            text: String::new(),
            depth: 0,
            empty: true,
        };
        writer.container('{', '}', members);
        writer.text.push('\n');
        writer.text
    }

    pub(crate) fn object(&mut self, key: &str, members: impl FnOnce(&mut Self)) {
        self.key(key);
        self.container('{', '}', members);
    }

    pub(crate) fn array(&mut self, key: &str, items: impl FnOnce(&mut Self)) {
        self.key(key);
        self.container('[', ']', items);
    }

    /// An object as the next item of an array.
    pub(crate) fn object_item(&mut self, members: impl FnOnce(&mut Self)) {
        self.separate();
        self.container('{', '}', members);
    }

    /// A number as the next item of an array.
    pub(crate) fn integer_item(&mut self, value: u64) {
        self.separate();
        self.text += &value.to_string();
    }

    pub(crate) fn string(&mut self, key: &str, value: &str) {
        self.key(key);
        self.quoted(value);
    }

    /// A string, or null.
    pub(crate) fn optional_string(&mut self, key: &str, value: Option<&str>) {
        self.key(key);
        match value {
            Some(value) => self.quoted(value),
            None => self.text += "null",
        }
    }

    pub(crate) fn integer(&mut self, key: &str, value: impl Into<Integer>) {
        self.key(key);
        self.text += &value.into().to_string();
    }

    /// A float; what JSON cannot express becomes 0.
    pub(crate) fn float(&mut self, key: &str, value: f64) {
        self.key(key);
        self.text += &format!("{:.6}", if value.is_finite() { value } else { 0.0 });
    }

    fn container(&mut self, open: char, close: char, members: impl FnOnce(&mut Self)) {
        self.text.push(open);
        self.text.push('\n');
        self.depth += 1;
        self.empty = true;
        members(self);
        self.depth -= 1;
        self.empty = false;
        self.text.push('\n');
        self.indent();
        self.text.push(close);
    }

    fn key(&mut self, key: &str) {
        self.separate();
        self.quoted(key);
        self.text += " : ";
    }

    fn separate(&mut self) {
        if !self.empty {
            self.text += ",\n";
        }
        self.empty = false;
        self.indent();
    }

    fn indent(&mut self) {
        for _ in 0..self.depth {
            self.text += "  ";
        }
    }

    /// A string literal. Names may hold anything that a shell or a file system lets through.
    fn quoted(&mut self, value: &str) {
        self.text.push('"');
        for character in value.chars() {
            match character {
                '"' => self.text += "\\\"",
                '\\' => self.text += "\\\\",
                '\n' => self.text += "\\n",
                '\r' => self.text += "\\r",
                '\t' => self.text += "\\t",
                c if c.is_control() => self.text += &format!("\\u{:04x}", u32::from(c)),
                c => self.text.push(c),
            }
        }
        self.text.push('"');
    }
}

/// Any integer that reports hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Integer(i128);

impl Display for Integer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl From<u64> for Integer {
    fn from(value: u64) -> Self {
        Integer(i128::from(value))
    }
}

impl From<u32> for Integer {
    fn from(value: u32) -> Self {
        Integer(i128::from(value))
    }
}

impl From<i64> for Integer {
    fn from(value: i64) -> Self {
        Integer(i128::from(value))
    }
}

impl From<i32> for Integer {
    fn from(value: i32) -> Self {
        Integer(i128::from(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout() {
        let text = JsonWriter::document(|w| {
            w.string("name", "a");
            w.integer("eta", -1i64);
            w.float("mean", 2.0 / 3.0);
            w.object("none", |_| ());
            w.array("list", |w| {
                w.integer_item(1);
                w.object_item(|w| w.optional_string("job", None));
            });
            w.array("empty", |_| ());
        });
        let expected = r#"{
  "name" : "a",
  "eta" : -1,
  "mean" : 0.666667,
  "none" : {

  },
  "list" : [
    1,
    {
      "job" : null
    }
  ],
  "empty" : [

  ]
}
"#;
        assert_eq!(text, expected);
    }

    #[test]
    fn any_string_comes_back() {
        let all: String = ('\0'..='\u{a0}')
            .chain("\u{2028}ä\u{fffd}\u{1f600}".chars())
            .collect();
        let text = JsonWriter::document(|w| w.string(&all, &all));
        let parsed: serde_json::Value = serde_json::from_str(&text).expect("valid JSON");
        assert_eq!(parsed[&all], *all);
    }

    #[test]
    fn what_json_cannot_express_is_zero() {
        let text = JsonWriter::document(|w| {
            w.float("nan", f64::NAN);
            w.float("inf", f64::INFINITY);
        });
        assert_eq!(text, "{\n  \"nan\" : 0.000000,\n  \"inf\" : 0.000000\n}\n");
    }
}

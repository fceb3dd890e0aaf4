//! The form in which a job's failure is kept and printed.

use crate::link::Failure;

impl Failure {
    /// A failure seen at `file`:`line`. Use the [`failure!`](crate::failure!) macro.
    pub fn at(file: &str, line: u32, code: i32, label: &str, message: &str) -> Failure {
        let source = file.rsplit('/').next().unwrap_or(file);
        Failure {
            code,
            source: format!("{source}:{line}"),
            label: label.into(),
            message: message.into(),
            advice: String::new(),
            told: false,
        }
    }

    /// Adds what it means and what the user can do about it.
    #[must_use]
    pub fn advise(mut self, advice: impl Into<String>) -> Failure {
        self.advice = advice.into();
        self
    }

    /// The form that reports print: `file:SOURCE:LINE, func=LABEL, error=MESSAGE`.
    pub fn text(&self) -> String {
        format!(
            "file:{}, func={}, error={}",
            self.source, self.label, self.message
        )
    }

    /// One line for the user.
    pub fn sentence(&self) -> String {
        if self.advice.is_empty() {
            format!("{}: {}", self.label, self.message)
        } else if self.advice.contains(&self.message) {
            self.advice.clone()
        } else {
            format!("{} ({})", self.advice, self.message)
        }
    }
}

/// `failure!(code, label)` and `failure!(code, label, "message {}", …)`: a [`Failure`] that
/// names this place in the source.
#[macro_export]
macro_rules! failure {
    ($code:expr, $label:expr) => {{
        let code = $code;
        let text = ::ferrio_stats::error_text(code);
        $crate::link::Failure::at(file!(), line!(), code, &$label, &text)
    }};
    ($code:expr, $label:expr, $($message:tt)+) => {
        $crate::link::Failure::at(file!(), line!(), $code, &$label, &format!($($message)+))
    };
}

#[cfg(test)]
mod tests {

    #[test]
    fn the_text_is_the_systems_alone() {
        assert_eq!(ferrio_stats::error_text(28), "No space left on device");
        let failure = failure!(28, "xfer");
        let text = failure.text();
        assert!(text.starts_with("file:failure.rs:"), "{text}");
        assert!(
            text.ends_with(", func=xfer, error=No space left on device"),
            "{text}"
        );
        assert_eq!(failure.sentence(), "xfer: No space left on device");
        let advised = failure.advise("the disk is full");
        assert_eq!(
            advised.sentence(),
            "the disk is full (No space left on device)"
        );
    }
}

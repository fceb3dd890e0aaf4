//! "Did you mean ...?"

/// The first of `names` that is nearest to `word`, if it is near enough: at most half of the
/// word's letters differ.
pub(crate) fn name<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // A word longer than this resembles no option, and the distance costs its square.
    const WORD_BYTES_MAX: usize = 256;
    if word.len() > WORD_BYTES_MAX {
        return None;
    }
    let mut best: Option<(usize, &str)> = None;
    for name in names {
        let distance = distance(word.as_bytes(), name.as_bytes());
        if best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, name));
        }
    }
    best.filter(|(distance, _)| *distance <= word.len().div_ceil(2))
        .map(|(_, name)| name)
}

/// Insertions, deletions and substitutions between two texts (Levenshtein).
pub(crate) fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_names() {
        assert_eq!(distance(b"kitten", b"sitting"), 3);
        assert_eq!(
            name("iodpth", ["bs", "iodepth"].into_iter()),
            Some("iodepth")
        );
        assert_eq!(
            name("qqqqqqqqqqqqqqqq", ["bs", "iodepth"].into_iter()),
            None
        );
    }
}

//! Properties of a value that its bytes alone show: how random it looks, and whether it is made of words.

use aho_corasick::AhoCorasick;

/// Bytes that may be a secret, and what follows them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyedValue<'a> {
    pub(crate) bytes: &'a [u8],
    /// The byte behind it; `None` at the end of the text, and where the value is longer than is looked at.
    pub(crate) next: Option<u8>,
}

/// Number of bytes of a value that are looked at.
const LOOKED_AT: usize = 128;

/// As few different bytes as this are a pattern, not a secret: `xxxxxxxx`, `12121212`, `********`.
const MAX_PATTERN_BYTES: usize = 4;

/// More consonants than this stand together in no word.
const MAX_CONSONANTS: usize = 5;

/// Words of such a length tell a name from a password, when most of it are such.
const LONG_WORD: usize = 4;

/// Longer than this is no word.
const MAX_WORD_LEN: usize = 16;

impl<'a> KeyedValue<'a> {
    pub(crate) fn new(bytes: &'a [u8], next: Option<u8>) -> Self {
        Self { bytes: bytes.get(..LOOKED_AT).unwrap_or(bytes), next }
    }

    /// Bits by byte, as Shannon has it: 0 for `aaaa`, 4 for random hexadecimal digits.
    pub(crate) fn entropy(&self) -> f64 {
        let mut counts = [0_u32; 256];
        for byte in self.bytes {
            if let Some(count) = counts.get_mut(usize::from(*byte)) {
                *count += 1;
            }
        }
        // At most a few thousand bytes.
        let len = f64::from(u32::try_from(self.bytes.len()).unwrap_or(u32::MAX));
        let parts = counts.iter().filter(|count| **count > 0).map(|count| {
            let part = f64::from(*count) / len;
            -part * part.log2()
        });
        parts.sum()
    }

    /// Returns `true` if it repeats little, or counts up or down.
    pub(crate) fn is_pattern(&self) -> bool {
        let mut seen = [false; 256];
        for byte in self.bytes {
            if let Some(seen) = seen.get_mut(usize::from(*byte)) {
                *seen = true;
            }
        }
        seen.iter().filter(|seen| **seen).count() <= MAX_PATTERN_BYTES || self.counts()
    }

    /// `12345678`, `abcdefgh`, `0123456789abcdef`: most bytes follow the one before.
    fn counts(&self) -> bool {
        let pairs = self.bytes.windows(2).filter(|pair| match pair {
            [one, two] => one.abs_diff(*two) == 1 || matches!((one, two), (b'9', b'0' | b'a' | b'A')),
            _ => false,
        });
        4 * pairs.count() >= 3 * self.bytes.len().saturating_sub(1)
    }

    /// Returns `true` if letters and digits occur both.
    pub(crate) fn is_mixed(&self) -> bool {
        self.bytes.iter().any(u8::is_ascii_alphabetic) && self.bytes.iter().any(u8::is_ascii_digit)
    }

    /// Returns `true` if it has characters that stand in passwords and seldom in names or numbers.
    pub(crate) fn has_symbol(&self) -> bool {
        self.bytes.iter().any(|byte| b"!#$%^&*+=~?@".contains(byte))
    }

    /// Counts the places where a digit follows a letter or a letter a digit.
    pub(crate) fn switches(&self) -> usize {
        let switch = |pair: &&[u8]| match pair {
            [one, two] => {
                one.is_ascii_alphabetic() && two.is_ascii_digit()
                    || one.is_ascii_digit() && two.is_ascii_alphabetic()
            }
            _ => false,
        };
        self.bytes.windows(2).filter(switch).count()
    }

    /// Returns `true` if it is made of words, names and small numbers, or most of it is: `my-secret-2`, `api.exampleToken`,
    /// `sha256`, `D3DKMT_ESCAPE_OPERATION`.
    pub(crate) fn is_words(&self) -> bool {
        if self.has_symbol() {
            return false;
        }
        let is_gap = |byte: &u8| !byte.is_ascii_alphanumeric() && byte.is_ascii();
        self.bytes.split(is_gap).all(is_name) || self.is_mostly_words()
    }

    /// Names have more than one part; a password that is words without a gap is taken for a password.
    fn is_mostly_words(&self) -> bool {
        if !self.bytes.iter().any(u8::is_ascii_punctuation) && humps(self.bytes).count() < 2 {
            return false;
        }
        let is_letter = |byte: &u8| byte.is_ascii_alphabetic();
        let runs = self.bytes.split(|byte| !is_letter(byte)).flat_map(humps);
        let said: usize = runs.filter(|run| is_said(run)).map(<[u8]>::len).sum();
        5 * said >= 3 * self.bytes.iter().filter(|byte| byte.is_ascii_alphanumeric()).count()
    }

    /// Returns `true` if there is more of it behind these bytes.
    pub(crate) fn goes_on_behind(&self, head: &[u8]) -> bool {
        let at = self.bytes.windows(head.len()).position(|window| window == head);
        at.is_some_and(|at| at + head.len() < self.bytes.len())
    }

    /// Returns `true` if any of the words occurs in it.
    pub(crate) fn has(&self, words: &WordList) -> bool {
        words.0.as_ref().is_some_and(|words| words.is_match(self.bytes))
    }

    /// Returns `true` if it is one of the words, in whatever case.
    pub(crate) fn is_one_of(&self, words: &str) -> bool {
        words.split_whitespace().any(|word| self.bytes.eq_ignore_ascii_case(word.as_bytes()))
    }
}

/// Words that are looked for inside values, in whatever case.
pub(crate) struct WordList(Option<AhoCorasick>);

impl WordList {
    /// Words with blanks between them.
    pub(crate) fn new(words: &str) -> Self {
        Self(AhoCorasick::builder().ascii_case_insensitive(true).build(words.split_whitespace()).ok())
    }
}

/// Parts of `camelCase`, `HTTPServer`, `plain`: a capital begins one behind a small letter, and before one.
fn humps(piece: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = piece;
    std::iter::from_fn(move || {
        let begins = |at: &usize| match (rest.get(at - 1), rest.get(*at), rest.get(at + 1)) {
            (Some(before), Some(here), next) => {
                let before_small = next.is_some_and(u8::is_ascii_lowercase);
                here.is_ascii_uppercase()
                    && (before.is_ascii_lowercase() || before.is_ascii_uppercase() && before_small)
            }
            (None, _, _) | (_, None, _) => false,
        };
        let end = (1..rest.len()).find(begins).unwrap_or(rest.len());
        let (hump, behind) = rest.split_at(end);
        rest = behind;
        (!hump.is_empty()).then_some(hump)
    })
}

/// Words without a gap. Where capitals change with small letters faster than in words, it is none.
fn is_name(piece: &[u8]) -> bool {
    const SHORTEST_ON_AVERAGE: usize = 3;
    let words = humps(piece).count();
    humps(piece).all(is_word) && (words < 2 || piece.len() >= SHORTEST_ON_AVERAGE * words)
}

/// Letters that could be said, then a small number if any; or a small number.
fn is_word(piece: &[u8]) -> bool {
    /// `2024`, `sha256`, `utf8`.
    const MAX_DIGITS: usize = 4;
    let letters = piece.iter().take_while(|byte| !byte.is_ascii_digit()).count();
    let (letters, digits) = piece.split_at(letters);
    digits.len() <= MAX_DIGITS
        && digits.iter().all(u8::is_ascii_digit)
        && letters.len() <= MAX_WORD_LEN
        && consonants(letters) <= MAX_CONSONANTS
}

/// Letters that are surely a word: of some length, with vowels, and not too many consonants together.
fn is_said(run: &[u8]) -> bool {
    const FEW_CONSONANTS: usize = 4;
    let rest = run.get(1..).unwrap_or_default();
    (LONG_WORD..=MAX_WORD_LEN).contains(&run.len())
        && (rest.iter().all(u8::is_ascii_lowercase) || run.iter().all(u8::is_ascii_uppercase))
        && run.iter().any(|byte| is_vowel(*byte))
        && consonants(run) <= FEW_CONSONANTS
}

/// Returns the longest row of consonants.
fn consonants(letters: &[u8]) -> usize {
    letters.split(|byte| is_vowel(*byte)).map(<[u8]>::len).max().unwrap_or(0)
}

fn is_vowel(byte: u8) -> bool {
    b"aeiouyAEIOUY".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> KeyedValue<'_> {
        KeyedValue::new(text.as_bytes(), None)
    }

    #[test]
    fn words_are_told_from_what_nobody_says() {
        for text in [
            "",
            "password",
            "my-secret-2",
            "api.exampleToken",
            "sha256",
            "SomeType::new",
            "x509",
            "2024",
            "some_long_name_with_words",
            "HTTPServer",
            "D3D10_SB_RESOURCE_RETURN_TYPE",
            "X509HardwareKeyUsageFlags",
        ] {
            assert!(value(text).is_words(), "{text}");
        }
        for text in [
            "hunter2hunter2",
            "Tr0ub4dor",
            "lsdkfol23w54jlksdef",
            "2YotnFZFEjr1zCsicMWpAA",
            "askfjh234as9sd8",
            "kL3mN8pQ2rS7tU4vW9xY",
            "aKeLoMuQix",
            "GEZDGNBVGY3TQOJQ",
            "a8f3kq9z",
            "pass!word",
            "qwrtpsdfgh",
            "x".repeat(17).as_str(),
        ] {
            assert!(!value(text).is_words(), "{text}");
        }
    }

    #[test]
    fn patterns_are_told_from_what_is_random() {
        for text in ["", "xxxxxxxxxx", "12345678", "abcdefghij", "0123456789abcdef", "----====", "abababab"] {
            assert!(value(text).is_pattern(), "{text}");
        }
        assert!(!value("a8f3kq9z").is_pattern());
    }

    #[test]
    fn entropy_is_that_of_shannon() {
        assert!(value("aaaa").entropy() < 0.01);
        assert!((value("0123456789abcdef").entropy() - 4.0).abs() < 0.01);
        assert!(value("").entropy() < 0.01);
    }
}

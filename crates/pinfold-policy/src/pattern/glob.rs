//! Text with wildcards, compared in linear time: `*` stands for any run of bytes, `?` for one character.

use pinfold_commands::wild::Token;

/// A text with wildcards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Glob {
    /// Pieces between the stars: the first is anchored at the start, the last at the end.
    pieces: Vec<GlobPiece>,
}

/// A run without stars.
#[derive(Debug, Clone, PartialEq, Eq)]
struct GlobPiece {
    text: Box<[u8]>,
    /// Some of it is `?`.
    wild: bool,
}

impl Glob {
    /// Reads a pattern. Two stars in a row are one.
    pub(crate) fn new(pattern: &[u8]) -> Self {
        let pieces: Vec<_> = pattern
            .split(|&b| b == b'*')
            .map(|text| GlobPiece { text: text.into(), wild: text.contains(&b'?') })
            .collect();
        let last = pieces.len().saturating_sub(1);
        let inner_empty = |i: usize, piece: &GlobPiece| i != 0 && i != last && piece.text.is_empty();
        let pieces =
            pieces.into_iter().enumerate().filter(|(i, p)| !inner_empty(*i, p)).map(|(_, p)| p).collect();
        Self { pieces }
    }

    /// The pattern.
    pub(crate) fn text(&self) -> Vec<u8> {
        self.pieces.iter().map(|piece| &*piece.text).collect::<Vec<_>>().join(&b'*')
    }

    /// The bytes in front of the first wildcard.
    pub(crate) fn literal_prefix(&self) -> &[u8] {
        let Some(first) = self.pieces.first() else { return &[] };
        let end = first.text.iter().position(|&b| b == b'?').unwrap_or(first.text.len());
        first.text.get(..end).unwrap_or_default()
    }

    /// The whole text, when there is no wildcard in it.
    pub(crate) fn literal(&self) -> Option<&[u8]> {
        match self.pieces.as_slice() {
            [only] if !only.wild => Some(&only.text),
            _ => None,
        }
    }

    /// Returns `true` if `word` stands in the pattern, whole and between separators.
    pub(crate) fn names(&self, word: &[u8]) -> bool {
        let mut words = self.pieces.iter().flat_map(|piece| piece.text.split(|&b| b == super::SEPARATOR));
        !word.is_empty() && words.any(|own| own == word)
    }

    /// Returns `true` if something is found in one of the runs between the stars.
    pub(crate) fn any_piece(&self, found: impl Fn(&[u8]) -> bool) -> bool {
        self.pieces.iter().any(|piece| found(&piece.text))
    }

    /// A text that stands for all it matches: where a wildcard stands, something that only a star matches.
    pub(crate) fn sample(&self) -> Vec<u8> {
        let pieces: Vec<_> = self.pieces.iter().map(|piece| &*piece.text).collect();
        let any = |b: u8| if b == b'?' { super::DYNAMIC } else { b };
        pieces.join(&[super::DYNAMIC][..]).into_iter().map(any).collect()
    }

    /// The pattern in pieces that can be compared with wildcards of a shell.
    pub(crate) fn tokens(&self) -> Vec<Token> {
        let mut tokens = Vec::new();
        for (at, piece) in self.pieces.iter().enumerate() {
            tokens.extend((at > 0).then_some(Token::Any));
            tokens.extend(piece.text.iter().map(|&b| if b == b'?' { Token::Any } else { Token::Byte(b) }));
        }
        tokens
    }

    /// Returns `true` if all of `text` matches.
    pub(crate) fn matches(&self, text: &[u8]) -> bool {
        let Some((first, rest)) = self.pieces.split_first() else { return text.is_empty() };
        let Some(mut left) = first.strip(text) else { return false };
        let Some((last, middle)) = rest.split_last() else { return left.is_empty() };
        for piece in middle {
            let Some(after) = piece.find(left) else { return false };
            left = after;
        }
        last.ends(left)
    }
}

impl GlobPiece {
    /// Returns the text behind this piece at the start of `text`.
    fn strip<'t>(&self, text: &'t [u8]) -> Option<&'t [u8]> {
        if !self.wild {
            return text.strip_prefix(&*self.text);
        }
        let mut left = text;
        for &wanted in &self.text {
            let (&byte, rest) = left.split_first()?;
            left = match wanted {
                b'?' if byte <= crate::pattern::DYNAMIC => return None,
                // One character, however many bytes it has.
                b'?' => rest.get(rest.iter().take_while(|&&b| b & 0xc0 == 0x80).count()..)?,
                wanted if wanted == byte => rest,
                _ => return None,
            };
        }
        Some(left)
    }

    /// Returns the text behind the first place where this piece stands in `text`.
    fn find<'t>(&self, text: &'t [u8]) -> Option<&'t [u8]> {
        (0..=text.len()).find_map(|at| self.strip(text.get(at..)?))
    }

    /// Returns `true` if `text` ends with this piece.
    fn ends(&self, text: &[u8]) -> bool {
        if !self.wild {
            return text.ends_with(&self.text);
        }
        (0..=text.len())
            .rev()
            .any(|at| text.get(at..).and_then(|tail| self.strip(tail)).is_some_and(<[u8]>::is_empty))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_stand_for_what_they_say() {
        for (pattern, text, matches) in [
            ("", "", true),
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "a", true),
            ("a*", "abc", true),
            ("*a", "bca", true),
            ("*a", "ab", false),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("a*a", "a", false),
            ("*", "", true),
            ("**", "x", true),
            ("?", "ä", true),
            ("?", "", false),
            ("a?c*e?", "abcdef", true),
            ("*?", "ä", true),
            ("[ab]", "a", false),
            ("a.c", "abc", false),
        ] {
            assert_eq!(Glob::new(pattern.as_bytes()).matches(text.as_bytes()), matches, "{pattern} {text}");
        }
    }
}

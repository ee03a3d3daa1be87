//! File content as text, and back to the very bytes: encoding, byte-order mark and line breaks are kept.
//!
//! Trap: every file decodes to something as Windows-1252, so bytes with a NUL among them are taken as binary first.

pub(crate) mod diff;
pub(crate) mod hunks;
pub(crate) mod replace;

use std::borrow::Cow;

use encoding_rs::WINDOWS_1252;

/// Number of bytes that are looked at for a NUL: as many as git looks at.
pub(crate) const SNIFFED: usize = 8000;

/// Encoding of a text file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8 {
        mark: bool,
    },
    Utf16Le,
    Utf16Be,
    /// Encoding of text without a mark that is not UTF-8. Every byte has its own character, so what is not
    /// edited comes out as it went in.
    Windows1252,
}

impl Encoding {
    /// The name for a notice; `None` for the ordinary case that needs none.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::Utf8 { .. } => None,
            Self::Utf16Le => Some("UTF-16LE"),
            Self::Utf16Be => Some("UTF-16BE"),
            Self::Windows1252 => Some("Windows-1252"),
        }
    }
}

/// A whole file as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileText {
    pub(crate) encoding: Encoding,
    pub(crate) content: String,
}

/// Reason why bytes are not text that could be put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotText {
    /// There is a NUL in it.
    Binary,
    /// Marked as UTF-16, but not all of it is.
    BadUtf16,
}

impl FileText {
    /// The text of a new file.
    pub(crate) fn new(content: String) -> Self {
        Self { encoding: Encoding::Utf8 { mark: false }, content }
    }

    /// Reads bytes as text.
    pub(crate) fn decode(bytes: Vec<u8>) -> Result<Self, NotText> {
        match encoding_of(&bytes) {
            Some(Encoding::Utf16Le) => utf16(&bytes, Encoding::Utf16Le, u16::from_le_bytes),
            Some(Encoding::Utf16Be) => utf16(&bytes, Encoding::Utf16Be, u16::from_be_bytes),
            Some(Encoding::Utf8 { .. }) => match std::str::from_utf8(bytes.get(3..).unwrap_or_default()) {
                Ok(text) => Ok(Self { encoding: Encoding::Utf8 { mark: true }, content: text.to_owned() }),
                // The mark lies; its three bytes are characters like the rest.
                Err(_) => windows(&bytes),
            },
            Some(Encoding::Windows1252) | None => {
                if is_binary(&bytes) {
                    return Err(NotText::Binary);
                }
                match String::from_utf8(bytes) {
                    Ok(content) => Ok(Self { encoding: Encoding::Utf8 { mark: false }, content }),
                    Err(error) => windows(error.as_bytes()),
                }
            }
        }
    }

    /// Encodes new content in the file's own encoding.
    ///
    /// # Errors
    /// The first character that the encoding has no bytes for.
    pub(crate) fn encode(&self, content: &str) -> Result<Vec<u8>, char> {
        match self.encoding {
            Encoding::Utf8 { mark: false } => Ok(content.as_bytes().to_vec()),
            Encoding::Utf8 { mark: true } => Ok([b"\xef\xbb\xbf", content.as_bytes()].concat()),
            Encoding::Utf16Le => Ok(units(content).flat_map(u16::to_le_bytes).collect()),
            Encoding::Utf16Be => Ok(units(content).flat_map(u16::to_be_bytes).collect()),
            Encoding::Windows1252 => match WINDOWS_1252.encode(content) {
                (bytes, _, false) => Ok(bytes.into_owned()),
                (_, _, true) => Err(first_unencodable(content)),
            },
        }
    }

    /// New text with the line breaks that this file has: a caller that writes `\n` means "a line break".
    /// Text that brings its own `\r\n` is taken as it is.
    pub(crate) fn with_own_breaks<'a>(&self, new: &'a str) -> Cow<'a, str> {
        if ends_in_crlf(&self.content) && !new.contains("\r\n") && new.contains('\n') {
            Cow::Owned(new.replace('\n', "\r\n"))
        } else {
            Cow::Borrowed(new)
        }
    }
}

/// Returns whether most lines of a text end in `\r\n`.
pub(crate) fn ends_in_crlf(text: &str) -> bool {
    // Most texts have none: they are looked through once, and quickly.
    if !text.as_bytes().contains(&b'\r') {
        return false;
    }
    let crlf = text.matches("\r\n").count();
    crlf > 0 && 2 * crlf > text.matches('\n').count()
}

/// Returns whether bytes without a mark are something else than text.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    bytes.get(..bytes.len().min(SNIFFED)).unwrap_or_default().contains(&0)
}

/// Returns the encoding of the byte order mark.
pub(crate) fn encoding_of(bytes: &[u8]) -> Option<Encoding> {
    match bytes {
        [0xef, 0xbb, 0xbf, ..] => Some(Encoding::Utf8 { mark: true }),
        [0xff, 0xfe, ..] => Some(Encoding::Utf16Le),
        [0xfe, 0xff, ..] => Some(Encoding::Utf16Be),
        _ => None,
    }
}

fn utf16(bytes: &[u8], encoding: Encoding, unit: fn([u8; 2]) -> u16) -> Result<FileText, NotText> {
    let (pairs, rest) = bytes.get(2..).unwrap_or_default().as_chunks::<2>();
    if !rest.is_empty() {
        return Err(NotText::BadUtf16);
    }
    let units = pairs.iter().map(|pair| unit(*pair));
    let content = char::decode_utf16(units).collect::<Result<String, _>>().map_err(|_| NotText::BadUtf16)?;
    Ok(FileText { encoding, content })
}

fn windows(bytes: &[u8]) -> Result<FileText, NotText> {
    if is_binary(bytes) {
        return Err(NotText::Binary);
    }
    let (content, _) = WINDOWS_1252.decode_without_bom_handling(bytes);
    Ok(FileText { encoding: Encoding::Windows1252, content: content.into_owned() })
}

/// UTF-16 with its mark in front.
fn units(content: &str) -> impl Iterator<Item = u16> {
    std::iter::once(0xfeff).chain(content.encode_utf16())
}

fn first_unencodable(content: &str) -> char {
    let lost = |c: &char| WINDOWS_1252.encode(c.encode_utf8(&mut [0; 4])).2;
    content.chars().find(lost).unwrap_or(char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_encoding_comes_out_as_it_went_in() {
        for (bytes, text) in [
            (&b"plain\n"[..], "plain\n"),
            (b"\xef\xbb\xbfmarked", "marked"),
            (b"\xff\xfea\0\n\0", "a\n"),
            (b"\xfe\xff\0a\0\n", "a\n"),
            (b"caf\xe9 \x81\x8d", "café \u{81}\u{8d}"),
            (b"\xef\xbb\xbf\xff", "ï»¿ÿ"),
            (b"", ""),
        ] {
            let read = FileText::decode(bytes.to_vec()).unwrap();
            assert_eq!(read.content, text);
            assert_eq!(read.encode(&read.content).unwrap(), bytes, "{text:?}");
        }
    }

    #[test]
    fn what_is_not_text_is_said_to_be_none() {
        assert_eq!(FileText::decode(b"a\0b".to_vec()), Err(NotText::Binary));
        assert_eq!(FileText::decode(b"\xff\xfea".to_vec()), Err(NotText::BadUtf16));
        assert_eq!(FileText::decode(b"\xff\xfe\x00\xd8".to_vec()), Err(NotText::BadUtf16));
    }

    #[test]
    fn a_character_that_the_encoding_lacks_is_named() {
        let text = FileText::decode(b"caf\xe9".to_vec()).unwrap();
        assert_eq!(text.encode("café →"), Err('→'));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_that_are_read_as_text_are_written_back_the_same(bytes in proptest::collection::vec(1u8.., 0..40)) {
            if let Ok(text) = FileText::decode(bytes.clone()) {
                proptest::prop_assert_eq!(text.encode(&text.content), Ok(bytes));
            }
        }
    }
}

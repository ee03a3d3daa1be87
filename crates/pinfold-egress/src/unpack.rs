//! What comes compressed, unpacked no further than it may be: some kilobytes can stand for as much as one likes.

use std::io::{self, Read};

use brotli_decompressor::Decompressor;
use flate2::read::GzDecoder;
use hyper::header::{CONTENT_ENCODING, HeaderMap};

use crate::fetch::Unfetched;

/// What is understood, for `Accept-Encoding`.
pub(crate) const UNDERSTOOD: &str = "gzip, br";

/// How a page was packed.
#[derive(Clone, Copy)]
enum Packed {
    Not,
    Gzip,
    Brotli,
}

impl Packed {
    /// As the head of the answer says; what is packed twice, or otherwise, is not understood.
    /// [RFC 9110](https://www.rfc-editor.org/rfc/rfc9110#section-8.4)
    fn of(headers: &HeaderMap) -> Result<Self, Unfetched> {
        let mut named = headers.get_all(CONTENT_ENCODING).iter();
        let (first, second) = (named.next(), named.next());
        let Some(encoding) = first else { return Ok(Self::Not) };
        let text = encoding.to_str().unwrap_or("?").trim().to_ascii_lowercase();
        match (text.as_str(), second) {
            ("" | "identity", None) => Ok(Self::Not),
            ("gzip" | "x-gzip", None) => Ok(Self::Gzip),
            ("br", None) => Ok(Self::Brotli),
            (_, None | Some(_)) => Err(Unfetched::Encoded(text)),
        }
    }
}

/// The content as it was before it was packed, of `most` bytes at most.
pub(crate) fn unpacked(headers: &HeaderMap, content: Vec<u8>, most: u64) -> Result<Vec<u8>, Unfetched> {
    const AT_A_TIME: usize = 16 * 1024;
    // Whoever asks for the head alone is told how the rest would come.
    let packed = if content.is_empty() { Packed::Not } else { Packed::of(headers)? };
    let unpacked = match packed {
        Packed::Not => return Ok(content),
        Packed::Gzip => upto(GzDecoder::new(content.as_slice()), most),
        Packed::Brotli => upto(Decompressor::new(content.as_slice(), AT_A_TIME), most),
    };
    match unpacked {
        Ok(bytes) if bytes.len() as u64 > most => Err(Unfetched::TooLarge(most)),
        Ok(bytes) => Ok(bytes),
        Err(e) => Err(Unfetched::Broken(format!("it cannot be unpacked: {e}"))),
    }
}

/// One byte more than may be, at most.
fn upto(packed: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    packed.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};
    use hyper::header::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut packer = GzEncoder::new(Vec::new(), Compression::best());
        packer.write_all(text).unwrap();
        packer.finish().unwrap()
    }

    fn of(encodings: &[&str], content: &[u8], most: u64) -> Result<Vec<u8>, Unfetched> {
        let mut headers = HeaderMap::new();
        for encoding in encodings {
            headers.append(CONTENT_ENCODING, HeaderValue::from_str(encoding).unwrap());
        }
        unpacked(&headers, content.to_vec(), most)
    }

    /// `hello hello hello hello` by the reference encoder.
    const BROTLI: &[u8] = &[
        0x1b, 0x16, 0x00, 0xf8, 0x8d, 0x94, 0x6e, 0xde, 0x44, 0x55, 0x86, 0x96, 0x6c, 0x20, 0x6f, 0x21, 0x4f,
        0x1c, 0xe0, 0x38,
    ];

    #[test]
    fn what_was_packed_comes_back() {
        assert_eq!(of(&[], b"plain", 5), Ok(b"plain".to_vec()));
        for name in ["gzip", "GZip", "x-gzip", " gzip "] {
            assert_eq!(of(&[name], &gzip(b"hello"), 5), Ok(b"hello".to_vec()), "{name}");
        }
        assert_eq!(of(&["br"], BROTLI, 100), Ok(b"hello hello hello hello".to_vec()));
        assert_eq!(of(&["gzip"], b"", 5), Ok(Vec::new()), "a head alone");
    }

    #[test]
    fn what_is_too_much_unpacked_is_not_unpacked() {
        let bomb = gzip(&vec![0; 64 << 20]);
        assert!(bomb.len() < 100 << 10);
        assert_eq!(of(&["gzip"], &bomb, 1 << 20), Err(Unfetched::TooLarge(1 << 20)));
        assert_eq!(of(&["gzip"], &gzip(b"hello!"), 5), Err(Unfetched::TooLarge(5)));
        assert_eq!(of(&["br"], BROTLI, 5), Err(Unfetched::TooLarge(5)));
    }

    #[test]
    fn what_is_not_understood_is_no_page() {
        for encodings in
            [&["deflate"][..], &["zstd"], &["gzip, br"], &["gzip", "gzip"], &["gzip", "identity"]]
        {
            assert!(
                matches!(of(encodings, &gzip(b"hello"), 99), Err(Unfetched::Encoded(_))),
                "{encodings:?}"
            );
        }
        let whole = gzip(b"hello");
        let cut = whole.get(..whole.len() - 3).unwrap();
        for (encoding, broken) in [("gzip", cut), ("gzip", b"hello"), ("br", BROTLI.get(..9).unwrap())] {
            assert!(matches!(of(&[encoding], broken, 99), Err(Unfetched::Broken(_))), "{encoding}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 1..2000)) {
            for encoding in ["gzip", "br"] {
                if let Ok(unpacked) = of(&[encoding], &bytes, 1 << 16) {
                    prop_assert!(unpacked.len() <= 1 << 16);
                }
            }
        }

        /// What was packed, with some bytes changed: gzip knows by its sum.
        #[test]
        fn what_is_nearly_packed_is_broken_or_small(
            text in prop::collection::vec(any::<u8>(), 0..2000),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            most in 0_u64..3000,
        ) {
            for (encoding, whole) in [("gzip", gzip(&text)), ("br", BROTLI.to_vec())] {
                let mut packed = whole;
                for (at, byte) in &changes {
                    let at = at.index(packed.len());
                    packed[at] = *byte;
                }
                if let Ok(unpacked) = of(&[encoding], &packed, most) {
                    prop_assert!(unpacked.len() as u64 <= most);
                    prop_assert!(encoding == "br" || unpacked == text);
                }
            }
        }
    }
}

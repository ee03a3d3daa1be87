//! Content codings, decompressed within a limit (decompression bombs).

use std::io::{self, Read};

use brotli_decompressor::Decompressor;
use flate2::read::GzDecoder;
use hyper::header::{CONTENT_ENCODING, HeaderMap};

use crate::fetch::FetchError;

/// The supported codings, for `Accept-Encoding`.
pub(crate) const ACCEPT_ENCODING: &str = "gzip, br";

/// A content coding.
#[derive(Clone, Copy)]
enum ContentCoding {
    Identity,
    Gzip,
    Brotli,
}

impl ContentCoding {
    /// Reads `Content-Encoding`. Several or unknown codings are an error.
    /// [RFC 9110 §8.4](https://www.rfc-editor.org/rfc/rfc9110#section-8.4)
    fn from_headers(headers: &HeaderMap) -> Result<Self, FetchError> {
        let mut named = headers.get_all(CONTENT_ENCODING).iter();
        let (first, second) = (named.next(), named.next());
        let Some(encoding) = first else { return Ok(Self::Identity) };
        let text = encoding.to_str().unwrap_or("?").trim().to_ascii_lowercase();
        match (text.as_str(), second) {
            ("" | "identity", None) => Ok(Self::Identity),
            ("gzip" | "x-gzip", None) => Ok(Self::Gzip),
            ("br", None) => Ok(Self::Brotli),
            (_, None | Some(_)) => Err(FetchError::UnsupportedCoding(text)),
        }
    }
}

/// Decodes content to at most `limit` bytes.
pub(crate) fn decompress(headers: &HeaderMap, content: Vec<u8>, limit: u64) -> Result<Vec<u8>, FetchError> {
    const BUFFER: usize = 16 * 1024;
    // The response to `HEAD` has the header and no content.
    let coding =
        if content.is_empty() { ContentCoding::Identity } else { ContentCoding::from_headers(headers)? };
    let decoded = match coding {
        ContentCoding::Identity => return Ok(content),
        ContentCoding::Gzip => read_bounded(GzDecoder::new(content.as_slice()), limit),
        ContentCoding::Brotli => read_bounded(Decompressor::new(content.as_slice(), BUFFER), limit),
    };
    match decoded {
        Ok(bytes) if bytes.len() as u64 > limit => Err(FetchError::TooLarge(limit)),
        Ok(bytes) => Ok(bytes),
        Err(e) => Err(FetchError::Malformed(format!("it cannot be decompressed: {e}"))),
    }
}

/// Reads at most one byte more than the limit, which shows that it is exceeded.
fn read_bounded(packed: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    packed.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
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

    fn decoded(encodings: &[&str], content: &[u8], limit: u64) -> Result<Vec<u8>, FetchError> {
        let mut headers = HeaderMap::new();
        for encoding in encodings {
            headers.append(CONTENT_ENCODING, HeaderValue::from_str(encoding).unwrap());
        }
        decompress(&headers, content.to_vec(), limit)
    }

    /// `hello hello hello hello` by the reference encoder.
    const BROTLI: &[u8] = &[
        0x1b, 0x16, 0x00, 0xf8, 0x8d, 0x94, 0x6e, 0xde, 0x44, 0x55, 0x86, 0x96, 0x6c, 0x20, 0x6f, 0x21, 0x4f,
        0x1c, 0xe0, 0x38,
    ];

    #[test]
    fn supported_codings_are_decoded() {
        assert_eq!(decoded(&[], b"plain", 5), Ok(b"plain".to_vec()));
        for name in ["gzip", "GZip", "x-gzip", " gzip "] {
            assert_eq!(decoded(&[name], &gzip(b"hello"), 5), Ok(b"hello".to_vec()), "{name}");
        }
        assert_eq!(decoded(&["br"], BROTLI, 100), Ok(b"hello hello hello hello".to_vec()));
        assert_eq!(decoded(&["gzip"], b"", 5), Ok(Vec::new()), "a head alone");
    }

    #[test]
    fn content_beyond_the_limit_is_an_error() {
        let bomb = gzip(&vec![0; 64 << 20]);
        assert!(bomb.len() < 100 << 10);
        assert_eq!(decoded(&["gzip"], &bomb, 1 << 20), Err(FetchError::TooLarge(1 << 20)));
        assert_eq!(decoded(&["gzip"], &gzip(b"hello!"), 5), Err(FetchError::TooLarge(5)));
        assert_eq!(decoded(&["br"], BROTLI, 5), Err(FetchError::TooLarge(5)));
    }

    #[test]
    fn unsupported_and_broken_codings_are_errors() {
        for encodings in
            [&["deflate"][..], &["zstd"], &["gzip, br"], &["gzip", "gzip"], &["gzip", "identity"]]
        {
            assert!(
                matches!(decoded(encodings, &gzip(b"hello"), 99), Err(FetchError::UnsupportedCoding(_))),
                "{encodings:?}"
            );
        }
        let whole = gzip(b"hello");
        let cut = whole.get(..whole.len() - 3).unwrap();
        for (encoding, broken) in [("gzip", cut), ("gzip", b"hello"), ("br", BROTLI.get(..9).unwrap())] {
            assert!(matches!(decoded(&[encoding], broken, 99), Err(FetchError::Malformed(_))), "{encoding}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 1..2000)) {
            for encoding in ["gzip", "br"] {
                if let Ok(unpacked) = decoded(&[encoding], &bytes, 1 << 16) {
                    prop_assert!(unpacked.len() <= 1 << 16);
                }
            }
        }

        /// Compressed content with altered bytes: gzip has a checksum, brotli has none.
        #[test]
        fn altered_content_is_an_error_or_within_the_limit(
            text in prop::collection::vec(any::<u8>(), 0..2000),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            limit in 0_u64..3000,
        ) {
            for (encoding, whole) in [("gzip", gzip(&text)), ("br", BROTLI.to_vec())] {
                let mut packed = whole;
                for (at, byte) in &changes {
                    let at = at.index(packed.len());
                    packed[at] = *byte;
                }
                if let Ok(unpacked) = decoded(&[encoding], &packed, limit) {
                    prop_assert!(unpacked.len() as u64 <= limit);
                    prop_assert!(encoding == "br" || unpacked == text);
                }
            }
        }
    }
}

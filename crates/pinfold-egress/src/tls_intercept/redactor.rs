//! Redaction of responses: an injected secret that a host echoes does not reach the process.
//!
//! A secret in a response is replaced by what the process had sent in its place: in headers, in content however it is
//! split, in trailers. Compressed content cannot be searched; hosts are asked for identity coding, and a compressed
//! response is refused.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use aho_corasick::{AhoCorasick, BuildError, MatchKind};
use http_body_util::BodyExt as _;
use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Bytes, Frame};
use hyper::ext::ReasonPhrase;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

use crate::response::{self, RelayResponse};

/// The shortest secret that is searched for: shorter ones would match by chance.
pub(super) const MIN_SECRET: usize = 8;

/// A text that was sent, and its replacement: what the process had sent.
pub(super) type Replacement = (String, String);

/// Finds sent secrets and replaces them.
pub(super) struct ResponseRedactor {
    matcher: AhoCorasick,
    replacements: Vec<Replacement>,
}

impl ResponseRedactor {
    /// A redactor; `None` when there is nothing to search for.
    ///
    /// # Errors
    /// When the search automaton cannot be built.
    pub(super) fn new(replacements: Vec<Replacement>) -> Result<Option<Self>, BuildError> {
        if replacements.is_empty() {
            return Ok(None);
        }
        let sent = replacements.iter().map(|(sent, _)| sent);
        let matcher = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(sent)?;
        Ok(Some(Self { matcher, replacements }))
    }

    /// Returns a response without any sent secret.
    pub(super) fn redact(self, original: RelayResponse) -> RelayResponse {
        let (mut head, body) = original.into_parts();
        head.extensions.remove::<ReasonPhrase>();
        if is_partial(head.status, &head.headers) {
            let text = "pinfold: the host sent a part of a response although it was asked for all of it; it cannot be searched for the secret\n";
            return response::plain(StatusCode::BAD_GATEWAY, text.to_owned());
        }
        self.redact_headers(&mut head.headers);
        if body.is_end_stream() {
            return Response::from_parts(head, body);
        }
        let plain = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
        if !head.headers.get_all(header::CONTENT_ENCODING).iter().all(plain)
            || has_transfer_coding(&head.headers)
        {
            let text = "pinfold: the host sent a compressed response although it was asked not to; it cannot be searched for the secret\n";
            return response::plain(StatusCode::BAD_GATEWAY, text.to_owned());
        }
        // A replacement can have another length.
        head.headers.remove(header::CONTENT_LENGTH);
        Response::from_parts(
            head,
            RedactedBody { body, redactor: self, pending: Vec::new(), trailers: None }.boxed(),
        )
    }

    fn redact_headers(&self, headers: &mut HeaderMap) {
        let replacements: Vec<String> =
            self.replacements.iter().map(|(sent, _)| sent.to_ascii_lowercase()).collect();
        let named = |name: &HeaderName| replacements.iter().any(|sent| name.as_str().contains(sent));
        let echoing: Vec<HeaderName> = headers.keys().filter(|name| named(name)).cloned().collect();
        for name in echoing {
            headers.remove(name);
        }
        for value in headers.values_mut() {
            let mut pending = value.as_bytes().to_vec();
            if self.matcher.is_match(&pending) {
                let clean = self.take_redacted(&mut pending, true);
                *value = HeaderValue::from_maybe_shared(clean).unwrap_or(HeaderValue::from_static(""));
            }
        }
    }

    /// Takes the bytes that can be passed on, redacted. A tail that may be the beginning of a secret stays, unless this
    /// is the last piece.
    fn take_redacted(&self, come: &mut Vec<u8>, last: bool) -> Bytes {
        let mut clean = Vec::with_capacity(come.len());
        let mut from = 0;
        loop {
            let rest = come.get(from..).unwrap_or_default();
            let open = rest.len() - if last { 0 } else { self.partial_match_len(rest) };
            // A longer match may begin at or before this one and still be incomplete; it has precedence.
            let found = self.matcher.find(rest).filter(|found| found.start() < open);
            let plain = found.map_or(open, |found| found.start());
            clean.extend_from_slice(rest.get(..plain).unwrap_or_default());
            from += found.map_or(plain, |found| found.end());
            let Some(found) = found else { break };
            let original =
                self.replacements.get(found.pattern().as_usize()).map(|(_, original)| original.as_bytes());
            clean.extend_from_slice(original.unwrap_or_default());
        }
        come.drain(..from.min(come.len()));
        clean.into()
    }

    /// The length of the tail that is a proper prefix of a secret.
    fn partial_match_len(&self, text: &[u8]) -> usize {
        let begins = |end: &[u8]| {
            self.replacements
                .iter()
                .any(|(sent, _)| end.len() < sent.len() && sent.as_bytes().starts_with(end))
        };
        let longest = self.replacements.iter().map(|(sent, _)| sent.len()).max().unwrap_or(0);
        let possible = (1..longest.min(text.len() + 1)).rev();
        possible.into_iter().find(|len| text.get(text.len() - len..).is_some_and(begins)).unwrap_or(0)
    }
}

/// Returns whether a response is a part of one: two of them could have a half of the secret each.
/// [RFC 9110 §14](https://www.rfc-editor.org/rfc/rfc9110#section-14)
fn is_partial(status: StatusCode, headers: &HeaderMap) -> bool {
    const BYTERANGES: &[u8] = b"multipart/byteranges";
    let is_multipart = |kind: &HeaderValue| {
        let kind = kind.as_bytes().trim_ascii_start().get(..BYTERANGES.len());
        kind.is_some_and(|kind| kind.eq_ignore_ascii_case(BYTERANGES))
    };
    status == StatusCode::PARTIAL_CONTENT
        || headers.contains_key(header::CONTENT_RANGE)
        || headers.get_all(header::CONTENT_TYPE).iter().any(is_multipart)
}

/// Returns whether a response has a transfer coding other than `chunked` once: the library has not decoded that.
/// [RFC 9112 §7](https://www.rfc-editor.org/rfc/rfc9112#section-7)
fn has_transfer_coding(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    let is_plain = codings.next().is_none_or(|coding| coding.as_bytes().eq_ignore_ascii_case(b"chunked"));
    !is_plain || codings.next().is_some()
}

/// A body without any sent secret.
struct RedactedBody {
    body: BoxBody<Bytes, hyper::Error>,
    redactor: ResponseRedactor,
    /// Bytes that were received and not passed on yet.
    pending: Vec<u8>,
    /// Trailers that follow them.
    trailers: Option<Frame<Bytes>>,
}

impl Body for RedactedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = &mut *self;
        loop {
            if let Some(last) = this.trailers.take() {
                return Poll::Ready(Some(Ok(last)));
            }
            let frame = match ready!(Pin::new(&mut this.body).poll_frame(context)) {
                Some(frame) => frame?,
                None if this.pending.is_empty() => return Poll::Ready(None),
                None => {
                    return Poll::Ready(Some(Ok(Frame::data(
                        this.redactor.take_redacted(&mut this.pending, true),
                    ))));
                }
            };
            let ended = match frame.into_data() {
                Ok(data) => {
                    this.pending.extend_from_slice(&data);
                    false
                }
                Err(frame) => {
                    this.trailers = frame.into_trailers().ok().map(|mut trailers| {
                        this.redactor.redact_headers(&mut trailers);
                        Frame::trailers(trailers)
                    });
                    true
                }
            };
            let clean = this.redactor.take_redacted(&mut this.pending, ended);
            if !clean.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(clean))));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn redactor_of<S: AsRef<str>>(replacements: &[(S, S)]) -> ResponseRedactor {
        let replacements = replacements
            .iter()
            .map(|(sent, original)| (sent.as_ref().to_owned(), original.as_ref().to_owned()));
        ResponseRedactor::new(replacements.collect()).unwrap().unwrap()
    }

    fn redactor() -> ResponseRedactor {
        redactor_of(&[("s3cret-s3cret-x", "PLACE"), ("s3cret-y", "OTHER")])
    }

    fn redacted_by(redactor: &ResponseRedactor, pieces: &[&str]) -> String {
        let (mut pending, mut all) = (Vec::new(), Vec::new());
        for piece in pieces {
            pending.extend_from_slice(piece.as_bytes());
            all.extend_from_slice(&redactor.take_redacted(&mut pending, false));
        }
        all.extend_from_slice(&redactor.take_redacted(&mut pending, true));
        String::from_utf8(all).unwrap()
    }

    fn redacted(pieces: &[&str]) -> String {
        redacted_by(&redactor(), pieces)
    }

    #[test]
    fn sent_secrets_are_found_however_the_body_is_split() {
        let text = "a s3cret-s3cret-y b s3cret-s3cret-x s3cret-y s3cre";
        let expected = "a s3cret-OTHER b PLACE OTHER s3cre";
        assert_eq!(redacted(&[text]), expected);
        for cut in 0..text.len() {
            assert_eq!(redacted(&[&text[..cut], &text[cut..]]), expected, "{cut}");
        }
        let letters: Vec<String> = text.chars().map(String::from).collect();
        assert_eq!(redacted(&letters.iter().map(String::as_str).collect::<Vec<_>>()), expected);
    }

    #[test]
    fn overlapping_secrets_are_found_however_the_body_is_split() {
        let redactor =
            redactor_of(&[("s3cret-a", "SHORT"), ("s3cret-a-and-more", "LONG"), ("x-s3cret-a-x", "AROUND")]);
        let text = "s3cret-a-and-more s3cret-a x-s3cret-a-x x-s3cret-a-and-more s3cret-a";
        let expected = "LONG SHORT AROUND x-LONG SHORT";
        for cut in 0..text.len() {
            assert_eq!(redacted_by(&redactor, &[&text[..cut], &text[cut..]]), expected, "{cut}");
        }
    }

    #[test]
    fn bytes_that_cannot_begin_a_secret_are_not_delayed() {
        let (redactor, mut pending) = (redactor(), b"data: 1\n\n".to_vec());
        assert_eq!(redactor.take_redacted(&mut pending, false), "data: 1\n\n");
        assert!(pending.is_empty());
    }

    #[test]
    fn headers_are_redacted_too() {
        let mut headers = HeaderMap::new();
        headers.insert("x-redactor", HeaderValue::from_static("Bearer s3cret-y!"));
        headers.insert("x-s3cret-y", HeaderValue::from_static("1"));
        redactor().redact_headers(&mut headers);
        assert_eq!(headers.get("x-redactor").unwrap(), "Bearer OTHER!");
        assert_eq!(headers.len(), 1);
    }

    #[test]
    fn compressed_responses_are_refused() {
        let original = |headers: &[(&str, &str)]| {
            let mut original = response::plain(StatusCode::OK, "content".to_owned());
            for (name, value) in headers {
                original.headers_mut().append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
            }
            redactor().redact(original).status()
        };
        for passed in [&[][..], &[("transfer-encoding", "Chunked")], &[("content-encoding", "identity")]] {
            assert_eq!(original(passed), StatusCode::OK, "the control: {passed:?}");
        }
        for packed in [
            &[("transfer-encoding", "gzip, chunked")][..],
            &[("transfer-encoding", "gzip"), ("transfer-encoding", "chunked")],
            &[("transfer-encoding", "chunked"), ("transfer-encoding", "chunked")],
            &[("transfer-encoding", "chunked;x=1")],
            &[("transfer-encoding", "deflate")],
            &[("transfer-encoding", "")],
            &[("content-encoding", "gzip")],
        ] {
            assert_eq!(original(packed), StatusCode::BAD_GATEWAY, "{packed:?}");
        }
    }

    #[test]
    fn parts_of_a_response_are_refused() {
        let redacted = |status: StatusCode, name: &str, value: &str| {
            let mut original = response::plain(status, "content".to_owned());
            original.headers_mut().insert(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
            redactor().redact(original).status()
        };
        let (ok, refused) = (StatusCode::OK, StatusCode::BAD_GATEWAY);
        assert_eq!(redacted(ok, "content-type", "multipart/mixed"), ok, "the control");
        assert_eq!(redacted(StatusCode::PARTIAL_CONTENT, "x-other", "x"), refused);
        assert_eq!(redacted(ok, "content-range", "bytes 17-24/100"), refused);
        assert_eq!(redacted(ok, "content-type", "Multipart/ByteRanges; boundary=x"), refused);
    }

    proptest! {
        /// Two letters alone, so that secrets overlap, begin and end within each other.
        #[test]
        fn no_sent_secret_is_left(
            sent in prop::collection::vec("[ab]{1,6}", 1..4),
            pieces in prop::collection::vec("[ab]{0,6}", 0..8),
        ) {
            let replacements: Vec<Replacement> = sent.into_iter().enumerate().map(|(i, sent)| (sent, i.to_string())).collect();
            let redactor = redactor_of(&replacements);
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            let (text, whole) = (redacted_by(&redactor, &pieces), pieces.concat());
            prop_assert!(!redactor.matcher.is_match(&text), "{text}");
            prop_assert_eq!(text, redacted_by(&redactor, &[&whole]));
        }
    }
}

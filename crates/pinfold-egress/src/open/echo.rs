//! What comes back from a host that a secret is for: the secret itself does not.
//!
//! A host may say back what it was told. Where a secret stands in an answer, what the program inside has said stands there
//! instead: in its head, in its content however it is cut, in its trailers. What is packed cannot be looked into; hosts are
//! asked for plain content, and an answer that comes packed all the same is refused.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use aho_corasick::{AhoCorasick, BuildError, MatchKind};
use http_body_util::BodyExt as _;
use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Bytes, Frame};
use hyper::ext::ReasonPhrase;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

use crate::http::{self, Said};

/// A shorter text would be found where it is none.
pub(super) const SHORTEST: usize = 8;

/// What was sent, and what was said inside in its place.
pub(super) type Told = (String, String);

/// Finds what was sent, and puts what was said in its place.
pub(super) struct Echo {
    found: AhoCorasick,
    told: Vec<Told>,
}

impl Echo {
    /// `None` when there is nothing to be found.
    ///
    /// # Errors
    /// When what was sent cannot be looked for.
    pub(super) fn of(told: Vec<Told>) -> Result<Option<Self>, BuildError> {
        if told.is_empty() {
            return Ok(None);
        }
        let sent = told.iter().map(|(sent, _)| sent);
        let found = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(sent)?;
        Ok(Some(Self { found, told }))
    }

    /// An answer in which nothing that was sent stands.
    pub(super) fn cleaned(self, said: Said) -> Said {
        let (mut head, body) = said.into_parts();
        head.extensions.remove::<ReasonPhrase>();
        self.clean_headers(&mut head.headers);
        if body.is_end_stream() {
            return Response::from_parts(head, body);
        }
        let plain = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
        if !head.headers.get_all(header::CONTENT_ENCODING).iter().all(plain) || is_coded(&head.headers) {
            let text = "pinfold: the host packed its answer although it was asked not to; what stands in it cannot be seen\n";
            return http::plain(StatusCode::BAD_GATEWAY, text.to_owned());
        }
        // What is put in its place is as long as it is.
        head.headers.remove(header::CONTENT_LENGTH);
        Response::from_parts(head, Cleaned { body, echo: self, kept: Vec::new(), last: None }.boxed())
    }

    fn clean_headers(&self, headers: &mut HeaderMap) {
        let told: Vec<String> = self.told.iter().map(|(sent, _)| sent.to_ascii_lowercase()).collect();
        let named = |name: &HeaderName| told.iter().any(|sent| name.as_str().contains(sent));
        let echoing: Vec<HeaderName> = headers.keys().filter(|name| named(name)).cloned().collect();
        for name in echoing {
            headers.remove(name);
        }
        for value in headers.values_mut() {
            let mut kept = value.as_bytes().to_vec();
            if self.found.is_match(&kept) {
                let clean = self.pass(&mut kept, true);
                *value = HeaderValue::from_maybe_shared(clean).unwrap_or(HeaderValue::from_static(""));
            }
        }
    }

    /// What may be passed on of what has come; what could be the beginning of something that was sent stays, unless
    /// nothing follows.
    fn pass(&self, come: &mut Vec<u8>, last: bool) -> Bytes {
        let mut clean = Vec::with_capacity(come.len());
        let mut from = 0;
        loop {
            let rest = come.get(from..).unwrap_or_default();
            let open = rest.len() - if last { 0 } else { self.begun(rest) };
            // One that begins no later than this and goes on further is taken before it, and may be on its way.
            let found = self.found.find(rest).filter(|found| found.start() < open);
            let plain = found.map_or(open, |found| found.start());
            clean.extend_from_slice(rest.get(..plain).unwrap_or_default());
            from += found.map_or(plain, |found| found.end());
            let Some(found) = found else { break };
            let said = self.told.get(found.pattern().as_usize()).map(|(_, said)| said.as_bytes());
            clean.extend_from_slice(said.unwrap_or_default());
        }
        come.drain(..from.min(come.len()));
        clean.into()
    }

    /// How many bytes at the end of a text could be the beginning of something that was sent, and not all of it.
    fn begun(&self, text: &[u8]) -> usize {
        let begins = |end: &[u8]| {
            self.told.iter().any(|(sent, _)| end.len() < sent.len() && sent.as_bytes().starts_with(end))
        };
        let longest = self.told.iter().map(|(sent, _)| sent.len()).max().unwrap_or(0);
        let possible = (1..longest.min(text.len() + 1)).rev();
        possible.into_iter().find(|len| text.get(text.len() - len..).is_some_and(begins)).unwrap_or(0)
    }
}

/// Whether the way of an answer is coded by more than its cutting into chunks, once: then the library has not undone it.
/// [RFC 9112](https://www.rfc-editor.org/rfc/rfc9112#section-7)
fn is_coded(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    let is_plain = codings.next().is_none_or(|coding| coding.as_bytes().eq_ignore_ascii_case(b"chunked"));
    !is_plain || codings.next().is_some()
}

/// Content in which nothing that was sent stands.
struct Cleaned {
    body: BoxBody<Bytes, hyper::Error>,
    echo: Echo,
    /// What has come and was not passed on yet.
    kept: Vec<u8>,
    /// Trailers that wait for that.
    last: Option<Frame<Bytes>>,
}

impl Body for Cleaned {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = &mut *self;
        loop {
            if let Some(last) = this.last.take() {
                return Poll::Ready(Some(Ok(last)));
            }
            let frame = match ready!(Pin::new(&mut this.body).poll_frame(context)) {
                Some(frame) => frame?,
                None if this.kept.is_empty() => return Poll::Ready(None),
                None => return Poll::Ready(Some(Ok(Frame::data(this.echo.pass(&mut this.kept, true))))),
            };
            let ended = match frame.into_data() {
                Ok(data) => {
                    this.kept.extend_from_slice(&data);
                    false
                }
                Err(frame) => {
                    this.last = frame.into_trailers().ok().map(|mut trailers| {
                        this.echo.clean_headers(&mut trailers);
                        Frame::trailers(trailers)
                    });
                    true
                }
            };
            let clean = this.echo.pass(&mut this.kept, ended);
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

    fn echo_of<S: AsRef<str>>(told: &[(S, S)]) -> Echo {
        let told = told.iter().map(|(sent, said)| (sent.as_ref().to_owned(), said.as_ref().to_owned()));
        Echo::of(told.collect()).unwrap().unwrap()
    }

    fn echo() -> Echo {
        echo_of(&[("s3cret-s3cret-x", "PLACE"), ("s3cret-y", "OTHER")])
    }

    fn passed_by(echo: &Echo, pieces: &[&str]) -> String {
        let (mut kept, mut all) = (Vec::new(), Vec::new());
        for piece in pieces {
            kept.extend_from_slice(piece.as_bytes());
            all.extend_from_slice(&echo.pass(&mut kept, false));
        }
        all.extend_from_slice(&echo.pass(&mut kept, true));
        String::from_utf8(all).unwrap()
    }

    fn passed(pieces: &[&str]) -> String {
        passed_by(&echo(), pieces)
    }

    #[test]
    fn what_was_sent_is_found_however_it_is_cut() {
        let text = "a s3cret-s3cret-y b s3cret-s3cret-x s3cret-y s3cre";
        let expected = "a s3cret-OTHER b PLACE OTHER s3cre";
        assert_eq!(passed(&[text]), expected);
        for cut in 0..text.len() {
            assert_eq!(passed(&[&text[..cut], &text[cut..]]), expected, "{cut}");
        }
        let letters: Vec<String> = text.chars().map(String::from).collect();
        assert_eq!(passed(&letters.iter().map(String::as_str).collect::<Vec<_>>()), expected);
    }

    #[test]
    fn one_that_begins_or_stands_within_another_is_found_however_it_is_cut() {
        let echo =
            echo_of(&[("s3cret-a", "SHORT"), ("s3cret-a-and-more", "LONG"), ("x-s3cret-a-x", "AROUND")]);
        let text = "s3cret-a-and-more s3cret-a x-s3cret-a-x x-s3cret-a-and-more s3cret-a";
        let expected = "LONG SHORT AROUND x-LONG SHORT";
        for cut in 0..text.len() {
            assert_eq!(passed_by(&echo, &[&text[..cut], &text[cut..]]), expected, "{cut}");
        }
    }

    #[test]
    fn what_cannot_be_a_beginning_is_not_kept_waiting() {
        let (echo, mut kept) = (echo(), b"data: 1\n\n".to_vec());
        assert_eq!(echo.pass(&mut kept, false), "data: 1\n\n");
        assert!(kept.is_empty());
    }

    #[test]
    fn heads_are_cleaned_too() {
        let mut headers = HeaderMap::new();
        headers.insert("x-echo", HeaderValue::from_static("Bearer s3cret-y!"));
        headers.insert("x-s3cret-y", HeaderValue::from_static("1"));
        echo().clean_headers(&mut headers);
        assert_eq!(headers.get("x-echo").unwrap(), "Bearer OTHER!");
        assert_eq!(headers.len(), 1);
    }

    #[test]
    fn what_comes_packed_on_its_way_or_by_itself_is_refused() {
        let said = |headers: &[(&str, &str)]| {
            let mut said = http::plain(StatusCode::OK, "content".to_owned());
            for (name, value) in headers {
                said.headers_mut().append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
            }
            echo().cleaned(said).status()
        };
        for passed in [&[][..], &[("transfer-encoding", "Chunked")], &[("content-encoding", "identity")]] {
            assert_eq!(said(passed), StatusCode::OK, "the control: {passed:?}");
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
            assert_eq!(said(packed), StatusCode::BAD_GATEWAY, "{packed:?}");
        }
    }

    proptest! {
        /// Two letters alone, so that what was sent begins, ends and stands within each other.
        #[test]
        fn nothing_that_was_sent_is_left(
            sent in prop::collection::vec("[ab]{1,6}", 1..4),
            pieces in prop::collection::vec("[ab]{0,6}", 0..8),
        ) {
            let told: Vec<Told> = sent.into_iter().enumerate().map(|(i, sent)| (sent, i.to_string())).collect();
            let echo = echo_of(&told);
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            let (text, whole) = (passed_by(&echo, &pieces), pieces.concat());
            prop_assert!(!echo.found.is_match(&text), "{text}");
            prop_assert_eq!(text, passed_by(&echo, &[&whole]));
        }
    }
}

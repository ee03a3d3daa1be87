//! Framing of HTTP/1 requests: hands the HTTP library one header section, then its body, then the next header section.
//!
//! The library silently drops one of two conflicting lengths. This adapter detects conflicting `Content-Length` and
//! `Transfer-Encoding` headers (request smuggling,
//! [RFC 9112 §6.3](https://www.rfc-editor.org/rfc/rfc9112#section-6.3)). The bytes are not changed.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use hyper::Request;
use hyper::body::{Body, Incoming};
use hyper::header::UPGRADE;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

/// The part of a request that comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expecting {
    /// A header section.
    HeaderSection,
    /// A body whose length is not known yet, since the library still parses the header section.
    UnknownBodyLength,
    /// This many bytes of a body.
    Body(u64),
    /// Bytes whose end only the library knows: a chunked body, another protocol, or responses.
    OpaqueBytes,
}

/// The state of a connection, shared by the reading side and the answering side.
#[derive(Debug)]
pub(crate) struct ConnectionState(Mutex<FramerState>);

#[derive(Debug)]
struct FramerState {
    expecting: Expecting,
    last: LastRequest,
    /// No request may follow the last one.
    has_ended: bool,
    /// Written bytes may not have been flushed.
    unflushed: bool,
    /// Requests and responses whose bodies are not finished.
    in_flight: usize,
    /// The task that waits for a change.
    waker: Option<Waker>,
}

/// The last request.
#[derive(Debug, Default)]
struct LastRequest {
    /// A part of its header section has been read.
    has_begun: bool,
    /// Its lengths conflict.
    conflicting_lengths: bool,
    /// This request, or one before it, asked for another protocol.
    wants_upgrade: bool,
}

impl ConnectionState {
    fn new(expecting: Expecting) -> Self {
        Self(Mutex::new(FramerState {
            expecting,
            last: LastRequest::default(),
            has_ended: false,
            unflushed: false,
            in_flight: 0,
            waker: None,
        }))
    }

    fn state(&self) -> MutexGuard<'_, FramerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a parsed request: from here on it is in flight, and the length of its body is known.
    pub(crate) fn begin(self: &Arc<Self>, request: &Request<Incoming>) -> InFlight {
        let mut state = self.state();
        let is_last = has_body(request.body());
        let wants_upgrade =
            request.headers().contains_key(UPGRADE) || request.method() == hyper::Method::CONNECT;
        state.expecting = match request.body().size_hint().exact() {
            _ if wants_upgrade => Expecting::OpaqueBytes,
            Some(0) => Expecting::HeaderSection,
            Some(len) => Expecting::Body(len),
            None => Expecting::OpaqueBytes,
        };
        state.last.has_begun = false;
        state.last.wants_upgrade |= wants_upgrade;
        state.has_ended |= is_last;
        state.in_flight += 1;
        // The reader may wait for the length.
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
        InFlight { connection: Arc::clone(self), is_last }
    }

    /// Returns whether the last header section has conflicting lengths.
    pub(crate) fn has_conflicting_lengths(&self) -> bool {
        self.state().last.conflicting_lengths
    }

    /// Returns whether the connection may carry another protocol from now on.
    pub(crate) fn wants_upgrade(&self) -> bool {
        self.state().last.wants_upgrade
    }

    /// Returns whether no request may follow the last one.
    pub(crate) fn is_last(&self) -> bool {
        self.state().has_ended
    }

    /// Returns whether everything written was flushed.
    pub(crate) fn is_flushed(&self) -> bool {
        !self.state().unflushed
    }

    /// Returns whether every request was answered and none has begun. The task is woken when that may have changed.
    pub(crate) fn is_idle(&self, context: &Context<'_>) -> bool {
        let mut state = self.state();
        state.waker = Some(context.waker().clone());
        state.in_flight == 0 && !state.last.has_begun && !state.last.wants_upgrade && !state.unflushed
    }
}

/// Returns whether a message has a body. A server that ignores the body of a request reads it as the next request
/// (request smuggling), so that no request may follow one with a body.
pub(crate) fn has_body(body: &impl Body) -> bool {
    body.size_hint().exact() != Some(0)
}

/// A request or response that is in flight until this is dropped.
#[derive(Debug)]
pub(crate) struct InFlight {
    connection: Arc<ConnectionState>,
    is_last: bool,
}

impl InFlight {
    /// Returns whether no request may follow on the same connection.
    pub(crate) fn is_last(&self) -> bool {
        self.is_last
    }
}

impl Clone for InFlight {
    fn clone(&self) -> Self {
        self.connection.state().in_flight += 1;
        Self { connection: Arc::clone(&self.connection), is_last: self.is_last }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut state = self.connection.state();
        state.in_flight = state.in_flight.saturating_sub(1);
        let waker = if state.in_flight == 0 { state.waker.take() } else { None };
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }
}

/// One side of a connection that carries requests or responses.
#[derive(Debug)]
pub(crate) struct RequestFramer<I> {
    io: I,
    /// Bytes that were read and not handed out.
    ahead: Vec<u8>,
    scanner: HeaderScanner,
    connection: Arc<ConnectionState>,
}

impl<I: AsyncRead + Unpin> RequestFramer<I> {
    /// The client's side, whose requests are framed.
    pub(crate) fn for_requests(io: I) -> Self {
        Self::new(io, Expecting::HeaderSection)
    }

    /// The host's side, whose responses are not framed.
    pub(crate) fn for_responses(io: I) -> Self {
        Self::new(io, Expecting::OpaqueBytes)
    }

    fn new(io: I, expecting: Expecting) -> Self {
        Self {
            io,
            ahead: Vec::new(),
            scanner: HeaderScanner::default(),
            connection: Arc::new(ConnectionState::new(expecting)),
        }
    }

    pub(crate) fn connection(&self) -> Arc<ConnectionState> {
        Arc::clone(&self.connection)
    }

    /// The inner stream, and the bytes that were read ahead.
    pub(crate) fn into_parts(self) -> (I, Vec<u8>) {
        (self.io, self.ahead)
    }

    /// Takes back bytes that the library did not use: the beginning of the next request.
    pub(crate) fn push_back(&mut self, unused: &[u8]) {
        self.ahead.splice(..0, unused.iter().copied());
        self.scanner = HeaderScanner::default();
        let mut state = self.connection.state();
        state.expecting = Expecting::HeaderSection;
        state.last.has_begun = false;
    }

    /// Waits until a byte can be read; false at the end.
    pub(crate) fn poll_ahead(&mut self, context: &mut Context<'_>) -> Poll<bool> {
        if !self.ahead.is_empty() {
            return Poll::Ready(true);
        }
        let mut space = [0; 2048];
        let mut read = ReadBuf::new(&mut space);
        match ready!(Pin::new(&mut self.io).poll_read(context, &mut read)) {
            Ok(()) => self.ahead = read.filled().to_vec(),
            Err(_) => return Poll::Ready(false),
        }
        Poll::Ready(!self.ahead.is_empty())
    }

    /// Hands out bytes that were read ahead.
    fn copy_ahead(&mut self, len: usize, to: &mut ReadBuf<'_>) {
        to.put_slice(self.ahead.get(..len).unwrap_or_default());
        self.ahead.drain(..len);
        if self.ahead.is_empty() {
            // An idle connection keeps no buffer.
            self.ahead = Vec::new();
        }
    }

    fn poll_head(&mut self, context: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !ready!(self.poll_ahead(context)) {
            return Pin::new(&mut self.io).poll_read(context, to);
        }
        let room = self.ahead.len().min(to.remaining());
        let end = self.scanner.find_end(self.ahead.get(..room).unwrap_or_default());
        {
            let mut state = self.connection.state();
            state.last.has_begun = true;
            if end.is_some() {
                state.expecting = Expecting::UnknownBodyLength;
                state.last.conflicting_lengths = std::mem::take(&mut self.scanner).conflicting_lengths;
            }
        }
        self.copy_ahead(end.unwrap_or(room), to);
        Poll::Ready(Ok(()))
    }

    fn poll_bytes(
        &mut self,
        most: u64,
        context: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<u64>> {
        let before = to.filled().len();
        if self.ahead.is_empty() {
            ready!(Pin::new(&mut (&mut self.io).take(most)).poll_read(context, to))?;
        } else {
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            self.copy_ahead(self.ahead.len().min(to.remaining()).min(most), to);
        }
        Poll::Ready(Ok((to.filled().len() - before) as u64))
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for RequestFramer<I> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let expecting = this.connection.state().expecting;
        match expecting {
            Expecting::HeaderSection => this.poll_head(context, to),
            Expecting::UnknownBodyLength => {
                this.connection.state().waker = Some(context.waker().clone());
                Poll::Pending
            }
            Expecting::Body(left) => {
                let left = left.saturating_sub(ready!(this.poll_bytes(left, context, to))?);
                this.connection.state().expecting =
                    if left == 0 { Expecting::HeaderSection } else { Expecting::Body(left) };
                Poll::Ready(Ok(()))
            }
            Expecting::OpaqueBytes => this.poll_bytes(u64::MAX, context, to).map_ok(drop),
        }
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for RequestFramer<I> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.connection.state().unflushed = true;
        Pin::new(&mut this.io).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(Pin::new(&mut this.io).poll_flush(context))?;
        this.connection.state().unflushed = false;
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.connection.state().unflushed = true;
        Pin::new(&mut this.io).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}

/// Scans a header section for its lengths. [RFC 9112 §6.3](https://www.rfc-editor.org/rfc/rfc9112#section-6.3)
#[derive(Debug, Default)]
struct HeaderScanner {
    /// The beginning of the current line.
    line: Vec<u8>,
    /// A line that is not empty was read: empty lines before a request line are skipped (RFC 9112 §2.2).
    has_begun: bool,
    length: Option<Vec<u8>>,
    has_transfer_encoding: bool,
    conflicting_lengths: bool,
}

impl HeaderScanner {
    /// The longest line that matters: `Transfer-Encoding` or `Content-Length` with a number fit.
    const MAX_LINE: usize = 64;

    /// Scans more bytes. Returns how many of them belong to the header section, where it ends.
    fn find_end(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, byte) in bytes.iter().enumerate() {
            if *byte != b'\n' {
                if self.line.len() < Self::MAX_LINE {
                    self.line.push(*byte);
                }
            } else if self.end_line() {
                return Some(at + 1);
            }
        }
        None
    }

    /// Returns whether the header section ends with this line.
    fn end_line(&mut self) -> bool {
        let line = std::mem::take(&mut self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        if line.is_empty() {
            return self.has_begun;
        }
        self.has_begun = true;
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let (Some(name), Some(value)) = (parts.next(), parts.next()) else { return false };
        let value = value.trim_ascii();
        if name.eq_ignore_ascii_case(b"content-length") {
            self.conflicting_lengths |=
                self.has_transfer_encoding || self.length.as_deref().is_some_and(|known| known != value);
            self.length = Some(value.to_vec());
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.conflicting_lengths |= self.length.is_some();
            self.has_transfer_encoding = true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scanned(head: &[u8]) -> (Option<usize>, bool) {
        let mut scanner = HeaderScanner::default();
        (scanner.find_end(head), scanner.conflicting_lengths)
    }

    #[test]
    fn conflicting_lengths_are_found() {
        for (fields, expected) in [
            ("", false),
            ("Content-Length: 4\r\n", false),
            ("Content-Length: 4\r\ncontent-length:4\r\n", false),
            ("Transfer-Encoding: chunked\r\n", false),
            ("X: Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", false),
            ("Content-Length: 4\r\nContent-Length: 5\r\n", true),
            ("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", true),
            ("TRANSFER-ENCODING:chunked\r\nCONTENT-LENGTH:4\r\n", true),
            ("Transfer-Encoding: chunked\nContent-Length: 4\n", true),
        ] {
            let head = format!("\r\nPOST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
            let all = format!("{head}GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: x\r\n\r\n");
            assert_eq!(scanned(all.as_bytes()), (Some(head.len()), expected), "{fields:?}");
        }
    }

    proptest! {
        #[test]
        fn the_result_is_the_same_however_a_header_section_is_split(
            lines in prop::collection::vec("(Content-Length: [0-9]|Transfer-Encoding: chunked|[ -~]{0,80})\r?\n", 0..8),
            cuts in prop::collection::vec(1usize..20, 1..40),
        ) {
            let text = lines.concat();
            let whole = scanned(text.as_bytes());
            let mut scanner = HeaderScanner::default();
            let (mut at, mut cuts) = (0, cuts.into_iter().cycle());
            let mut end = None;
            while at < text.len() && end.is_none() {
                let next = (at + cuts.next().unwrap_or(1)).min(text.len());
                end = scanner.find_end(&text.as_bytes()[at..next]).map(|len| at + len);
                at = next;
            }
            prop_assert_eq!((end, scanner.conflicting_lengths), whole);
        }
    }
}

//! What is read of a connection of requests: up to the end of a head, then its body, then the next head.
//!
//! The HTTP library understands each head for itself, and drops one of two lengths in silence. Here it is seen that
//! there were two. What is read is handed on as it is.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use hyper::Request;
use hyper::body::{Body as _, Incoming};
use hyper::header::UPGRADE;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    /// The head of a request.
    Head,
    /// Nothing before it is known how long the body behind a head is.
    Word,
    /// So many bytes of a body.
    Body(u64),
    /// Bytes of which only the library knows when they end.
    Bytes,
}

/// How far a connection is, as both see it who read it and who answer.
#[derive(Debug)]
pub(crate) struct Course(Mutex<State>);

#[derive(Debug)]
struct State {
    due: Due,
    last: Last,
    /// Something that was written may not have gone out.
    unflushed: bool,
    /// Messages that somebody is at work with.
    busy: usize,
    /// Whoever waits until none is left.
    waker: Option<Waker>,
}

/// What is known about the request that came last.
#[derive(Debug, Default)]
struct Last {
    /// A part of its head has come, and not all of it.
    begun: bool,
    /// It says its length twice.
    twice: bool,
    /// It, or one before it, wants another protocol.
    changes: bool,
}

impl Course {
    fn new(due: Due) -> Self {
        Self(Mutex::new(State { due, last: Last::default(), unflushed: false, busy: 0, waker: None }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request was understood: says what comes behind its head, and is busy with it from now on.
    pub(crate) fn begin(self: &Arc<Self>, request: &Request<Incoming>) -> Busy {
        let mut state = self.state();
        let changes = request.headers().contains_key(UPGRADE) || request.method() == hyper::Method::CONNECT;
        state.due = match request.body().size_hint().exact() {
            _ if changes => Due::Bytes,
            Some(0) => Due::Head,
            Some(len) => Due::Body(len),
            None => Due::Bytes,
        };
        state.last.begun = false;
        state.last.changes |= changes;
        state.busy += 1;
        // Whoever reads may wait for this.
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
        Busy(Arc::clone(self))
    }

    /// Whether the head that came last says twice how long its body is, and not the same.
    pub(crate) fn says_its_length_twice(&self) -> bool {
        self.state().last.twice
    }

    /// Whether it may carry another protocol from now on.
    pub(crate) fn changes(&self) -> bool {
        self.state().last.changes
    }

    /// Whether everything that was written has gone out.
    pub(crate) fn is_flushed(&self) -> bool {
        !self.state().unflushed
    }

    /// Whether every request was answered and no other has begun. Whoever asks is woken when that may have changed.
    pub(crate) fn is_quiet(&self, context: &Context<'_>) -> bool {
        let mut state = self.state();
        state.waker = Some(context.waker().clone());
        state.busy == 0 && !state.last.begun && !state.last.changes && !state.unflushed
    }
}

/// A message that somebody is at work with.
#[derive(Debug)]
pub(crate) struct Busy(Arc<Course>);

impl Clone for Busy {
    fn clone(&self) -> Self {
        self.0.state().busy += 1;
        Self(Arc::clone(&self.0))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.busy = state.busy.saturating_sub(1);
        let waker = if state.busy == 0 { state.waker.take() } else { None };
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }
}

/// A side of a connection of requests.
#[derive(Debug)]
pub(crate) struct Heads<I> {
    io: I,
    /// Read, and not handed on.
    ahead: Vec<u8>,
    scan: Scan,
    course: Arc<Course>,
}

impl<I: AsyncRead + Unpin> Heads<I> {
    /// The side that asks.
    pub(crate) fn asking(io: I) -> Self {
        Self::new(io, Due::Head)
    }

    /// The side that answers, of which nothing is looked at.
    pub(crate) fn answering(io: I) -> Self {
        Self::new(io, Due::Bytes)
    }

    fn new(io: I, due: Due) -> Self {
        Self { io, ahead: Vec::new(), scan: Scan::default(), course: Arc::new(Course::new(due)) }
    }

    pub(crate) fn course(&self) -> Arc<Course> {
        Arc::clone(&self.course)
    }

    /// The side as it was, and what has been read of it.
    pub(crate) fn into_parts(self) -> (I, Vec<u8>) {
        (self.io, self.ahead)
    }

    /// Takes back what was handed on and not used: the beginning of the next request.
    pub(crate) fn take_back(&mut self, unused: &[u8]) {
        self.ahead.splice(..0, unused.iter().copied());
        self.scan = Scan::default();
        let mut state = self.course.state();
        state.due = Due::Head;
        state.last.begun = false;
    }

    /// Waits until there is something to read; false at its end.
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

    /// Hands on so much of what was read ahead.
    fn hand_on(&mut self, len: usize, to: &mut ReadBuf<'_>) {
        to.put_slice(self.ahead.get(..len).unwrap_or_default());
        self.ahead.drain(..len);
        if self.ahead.is_empty() {
            // Nothing is kept while nothing is said.
            self.ahead = Vec::new();
        }
    }

    fn poll_head(&mut self, context: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !ready!(self.poll_ahead(context)) {
            return Pin::new(&mut self.io).poll_read(context, to);
        }
        let room = self.ahead.len().min(to.remaining());
        let end = self.scan.take(self.ahead.get(..room).unwrap_or_default());
        {
            let mut state = self.course.state();
            state.last.begun = true;
            if end.is_some() {
                state.due = Due::Word;
                state.last.twice = std::mem::take(&mut self.scan).twice;
            }
        }
        self.hand_on(end.unwrap_or(room), to);
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
            self.hand_on(self.ahead.len().min(to.remaining()).min(most), to);
        }
        Poll::Ready(Ok((to.filled().len() - before) as u64))
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Heads<I> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let due = this.course.state().due;
        match due {
            Due::Head => this.poll_head(context, to),
            Due::Word => {
                this.course.state().waker = Some(context.waker().clone());
                Poll::Pending
            }
            Due::Body(left) => {
                let left = left.saturating_sub(ready!(this.poll_bytes(left, context, to))?);
                this.course.state().due = if left == 0 { Due::Head } else { Due::Body(left) };
                Poll::Ready(Ok(()))
            }
            Due::Bytes => this.poll_bytes(u64::MAX, context, to).map_ok(drop),
        }
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Heads<I> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.course.state().unflushed = true;
        Pin::new(&mut this.io).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(Pin::new(&mut this.io).poll_flush(context))?;
        this.course.state().unflushed = false;
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
        this.course.state().unflushed = true;
        Pin::new(&mut this.io).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}

/// Reads a head line by line, for what it says about its length.
/// [RFC 9112](https://www.rfc-editor.org/rfc/rfc9112#section-6.3)
#[derive(Debug, Default)]
struct Scan {
    /// The line that is being read, as far as it matters.
    line: Vec<u8>,
    /// A line with something in it has come: empty ones before it do not count.
    begun: bool,
    length: Option<Vec<u8>>,
    coded: bool,
    twice: bool,
}

impl Scan {
    /// A name and a number fit; what is longer is neither.
    const LONGEST: usize = 64;

    /// Reads on. Where the head ends, how many of these bytes belong to it.
    fn take(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, byte) in bytes.iter().enumerate() {
            if *byte != b'\n' {
                if self.line.len() < Self::LONGEST {
                    self.line.push(*byte);
                }
            } else if self.end_line() {
                return Some(at + 1);
            }
        }
        None
    }

    /// Whether the head ends with this line.
    fn end_line(&mut self) -> bool {
        let line = std::mem::take(&mut self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        if line.is_empty() {
            return self.begun;
        }
        self.begun = true;
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let (Some(name), Some(value)) = (parts.next(), parts.next()) else { return false };
        let value = value.trim_ascii();
        if name.eq_ignore_ascii_case(b"content-length") {
            self.twice |= self.coded || self.length.as_deref().is_some_and(|known| known != value);
            self.length = Some(value.to_vec());
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.twice |= self.length.is_some();
            self.coded = true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scanned(head: &[u8]) -> (Option<usize>, bool) {
        let mut scan = Scan::default();
        (scan.take(head), scan.twice)
    }

    #[test]
    fn a_length_that_is_said_twice_is_seen() {
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
        fn a_head_is_read_alike_however_it_comes(
            lines in prop::collection::vec("(Content-Length: [0-9]|Transfer-Encoding: chunked|[ -~]{0,80})\r?\n", 0..8),
            cuts in prop::collection::vec(1usize..20, 1..40),
        ) {
            let text = lines.concat();
            let whole = scanned(text.as_bytes());
            let mut scan = Scan::default();
            let (mut at, mut cuts) = (0, cuts.into_iter().cycle());
            let mut end = None;
            while at < text.len() && end.is_none() {
                let next = (at + cuts.next().unwrap_or(1)).min(text.len());
                end = scan.take(&text.as_bytes()[at..next]).map(|len| at + len);
                at = next;
            }
            prop_assert_eq!((end, scan.twice), whole);
        }
    }
}

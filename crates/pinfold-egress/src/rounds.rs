//! A connection of requests in rounds: while requests are answered the HTTP library keeps it, and between them, when
//! nothing is said, nobody keeps more of it than its sockets.
//!
//! The library has buffers for each connection, some thirty kilobytes with both sides, from its beginning to its end.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Response;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::service::HttpService;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use crate::heads::{Busy, Heads};
use crate::http::{self, Said};

/// A body that somebody is at work with until it is dropped.
pub(crate) struct Held<B> {
    body: B,
    _busy: Busy,
}

impl<B> Held<B> {
    pub(crate) fn new(body: B, busy: Busy) -> Self {
        Self { body, _busy: busy }
    }
}

impl<B: Body + Unpin> Body for Held<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// What goes back inside.
pub(crate) type Answer = Response<Held<http::SaidBody>>;

/// An answer, with somebody at work with it until the last of it was said.
pub(crate) fn held(said: Said, busy: Busy) -> Answer {
    said.map(|body| Held::new(body, busy))
}

/// How a round ended.
pub(crate) enum Round<I> {
    /// Nothing is said at the moment.
    Quiet(Heads<I>),
    /// With the connection.
    Over(hyper::Result<()>),
}

/// The other side of a connection, as far as a round is concerned.
pub(crate) enum Beside {
    /// It may have something to say.
    Busy,
    /// It waits for the next request.
    Ready,
    /// It has gone.
    Gone,
}

/// Serves requests until nothing is said any more. `beside` is polled each time: what happens on the other side.
pub(crate) async fn round<I, S>(
    hello: Duration,
    inside: Heads<I>,
    service: S,
    mut beside: impl FnMut(&mut Context<'_>) -> Beside,
) -> Round<I>
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: HttpService<Incoming, ResBody = Held<http::SaidBody>, Error = Infallible> + Unpin,
{
    let course = inside.course();
    let mut server = http::server(hello).serve_connection(TokioIo::new(inside), service).with_upgrades();
    let over = poll_fn(|context| {
        if let Poll::Ready(served) = Pin::new(&mut server).poll(context) {
            return Poll::Ready(Some(served));
        }
        match beside(context) {
            Beside::Ready if course.is_quiet(context) => Poll::Ready(None),
            Beside::Gone if course.is_quiet(context) => Poll::Ready(Some(Ok(()))),
            Beside::Busy | Beside::Ready | Beside::Gone => Poll::Pending,
        }
    });
    if let Some(served) = over.await {
        return Round::Over(served);
    }
    let Some(parts) = server.into_parts() else { return Round::Over(Ok(())) };
    let mut inside = parts.io.into_inner();
    inside.take_back(&parts.read_buf);
    Round::Quiet(inside)
}

/// Waits until something is said inside; false when nothing will be. A host that ends, or speaks unasked, has ended the
/// connection.
pub(crate) async fn something_is_said<I, H>(
    inside: &mut Heads<I>,
    mut host: Option<&mut Heads<H>>,
    idle: Duration,
) -> bool
where
    I: AsyncRead + Unpin,
    H: AsyncRead + Unpin,
{
    let said = poll_fn(|context| match host.as_mut().map(|host| host.poll_ahead(context)) {
        Some(Poll::Ready(_)) => Poll::Ready(false),
        Some(Poll::Pending) | None => inside.poll_ahead(context),
    });
    timeout(idle, said).await.unwrap_or(false)
}

//! Keep-alive connections in phases: the HTTP library holds a connection only while requests are in flight. An idle one costs
//! its two sockets and no buffers.
//!
//! The library's buffers take about thirty kilobytes per connection, both sides together, for as long as it holds one.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Response;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{CONNECTION, HeaderValue};
use hyper::service::HttpService;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use crate::framing::{InFlight, RequestFramer};
use crate::limits::http_server;
use crate::response::{RelayBody, RelayResponse};

/// A body whose message counts as in flight until the body is dropped.
pub(crate) struct TrackedBody<B> {
    body: B,
    _in_flight: InFlight,
}

impl<B> TrackedBody<B> {
    pub(crate) fn new(body: B, in_flight: InFlight) -> Self {
        Self { body, _in_flight: in_flight }
    }
}

impl<B: Body + Unpin> Body for TrackedBody<B> {
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

/// Counts a response as in flight until the last byte of it was written. The response to a request with a body is the last
/// one of its connection.
pub(crate) fn track(mut response: RelayResponse, in_flight: InFlight) -> Response<TrackedBody<RelayBody>> {
    if in_flight.is_last() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response.map(|body| TrackedBody::new(body, in_flight))
}

/// The end of a phase in which requests were served.
pub(crate) enum KeepAlivePhase<I> {
    /// No request is in flight; the connection can serve more.
    Idle(RequestFramer<I>),
    /// The connection has ended.
    Closed(hyper::Result<()>),
}

/// The upstream side of a connection.
pub(crate) enum UpstreamState {
    /// A response may be on its way.
    InFlight,
    /// Ready for the next request.
    Idle,
    /// Closed by the host.
    Closed,
}

/// Serves requests until the connection is idle. `beside` is called at each poll.
pub(crate) async fn serve_until_idle<I, S>(
    hello: Duration,
    inside: RequestFramer<I>,
    service: S,
    mut upstream_state: impl FnMut(&mut Context<'_>) -> UpstreamState,
) -> KeepAlivePhase<I>
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: HttpService<Incoming, ResBody = TrackedBody<RelayBody>, Error = Infallible> + Unpin,
{
    let connection = inside.connection();
    let mut server = http_server(hello).serve_connection(TokioIo::new(inside), service).with_upgrades();
    let ended = poll_fn(|context| {
        if let Poll::Ready(served) = Pin::new(&mut server).poll(context) {
            return Poll::Ready(Some(served));
        }
        match upstream_state(context) {
            UpstreamState::Idle if connection.is_idle(context) => Poll::Ready(None),
            UpstreamState::Closed if connection.is_idle(context) => Poll::Ready(Some(Ok(()))),
            UpstreamState::InFlight | UpstreamState::Idle | UpstreamState::Closed => Poll::Pending,
        }
    });
    if let Some(served) = ended.await {
        return KeepAlivePhase::Closed(served);
    }
    let Some(parts) = server.into_parts() else { return KeepAlivePhase::Closed(Ok(())) };
    let mut inside = parts.io.into_inner();
    inside.push_back(&parts.read_buf);
    KeepAlivePhase::Idle(inside)
}

/// Waits for the first byte of the next request; false when there will be none. An upstream host that closes the connection,
/// or sends without a request, ends it too.
pub(crate) async fn wait_for_request<I, H>(
    inside: &mut RequestFramer<I>,
    mut upstream: Option<&mut RequestFramer<H>>,
    idle: Duration,
) -> bool
where
    I: AsyncRead + Unpin,
    H: AsyncRead + Unpin,
{
    let readable = poll_fn(|context| match upstream.as_mut().map(|upstream| upstream.poll_ahead(context)) {
        Some(Poll::Ready(_)) => Poll::Ready(false),
        Some(Poll::Pending) | None => inside.poll_ahead(context),
    });
    timeout(idle, readable).await.unwrap_or(false)
}

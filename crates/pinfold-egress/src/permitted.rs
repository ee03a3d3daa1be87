//! An upstream connection under a decision: it lasts as long as the rules permit it.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;

use crate::policy::ConnectRequest;
use crate::state::RelayState;

/// A place among the connections that a relay has at a time, shared by everything that a client's connection keeps open.
pub(crate) type Slot = Arc<OwnedSemaphorePermit>;

/// A connection to an allowed host. Its bytes can be had in two ways, both of which end with the permission.
pub(crate) struct PermittedConnection {
    stream: TcpStream,
    request: ConnectRequest,
    /// The address that it leads to.
    address: IpAddr,
    state: Arc<RelayState>,
    slot: Slot,
}

impl PermittedConnection {
    pub(crate) fn new(
        state: &Arc<RelayState>,
        request: ConnectRequest,
        stream: TcpStream,
        slot: &Slot,
    ) -> io::Result<Self> {
        let address = stream.peer_addr()?.ip().to_canonical();
        Ok(Self { stream, request, address, state: Arc::clone(state), slot: Arc::clone(slot) })
    }

    /// The decided request.
    pub(crate) fn request(&self) -> &ConnectRequest {
        &self.request
    }

    /// Runs `relay` with the socket; `None` when the permission ended first.
    pub(crate) async fn while_permitted<T>(&self, relay: impl AsyncFnOnce(&TcpStream) -> T) -> Option<T> {
        // On the heap: within this future, and those around it, a connection would keep it several times over.
        let relayed = Box::pin(relay(&self.stream));
        tokio::select! {
            relayed = relayed => Some(relayed),
            () = self.state.wait_until_denied(&self.request, self.address) => None,
        }
    }

    /// The connection as a stream that fails once the permission has ended.
    pub(crate) fn into_stream(self) -> PermittedStream {
        let Self { stream, request, address, state, slot } = self;
        let denied = async move { state.wait_until_denied(&request, address).await };
        PermittedStream { stream, denied: Some(Box::pin(denied)), _slot: slot }
    }
}

/// The stream of a [`PermittedConnection`].
pub(crate) struct PermittedStream {
    stream: TcpStream,
    /// Gone when the permission has ended.
    denied: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    _slot: Slot,
}

impl PermittedStream {
    fn poll_permitted(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        if self.denied.as_mut().is_some_and(|denied| denied.as_mut().poll(context).is_pending()) {
            return Ok(());
        }
        self.denied = None;
        Err(io::Error::new(io::ErrorKind::ConnectionAborted, "the connection is not permitted any more"))
    }
}

impl AsyncRead for PermittedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll_permitted(context)?;
        Pin::new(&mut self.stream).poll_read(context, to)
    }
}

impl AsyncWrite for PermittedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_permitted(context)?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_permitted(context)?;
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

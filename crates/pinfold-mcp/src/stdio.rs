//! The server over standard input and output: one message per line.
//!
//! Messages are written through a [`LineWriter`]: a client that has stopped reading is not waited for, and a bounded
//! amount is buffered for it.

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::JsonRpcMessage;
use rmcp::service::{RoleServer, RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage, serve_server};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::{StdioReader, Transport, stdio_pipes};
use tokio::io::Sink;
use tokio::sync::Notify;

use crate::serve::Server;
use crate::wire::writer::{LineWriter, ReaderGone};

/// The longest message, in bytes: more than any tool takes. Longer ones are skipped.
pub(crate) const MAX_MESSAGE_BYTES: usize = 64 << 20;

/// The time limit for writing what is buffered at the end.
const FLUSH: Duration = Duration::from_secs(5);

/// Serves until the input ends or `ended` becomes readable, and closes what was opened.
///
/// # Errors
/// When the streams cannot be used, or the client's first message fits no revision.
pub fn serve_stdio(server: &Server, ended: UnixStream) -> io::Result<()> {
    // One thread for everything that does not block; the runtime can replace it while it does.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let gone = Arc::new(Notify::new());
    let tells = Arc::clone(&gone);
    let writer = LineWriter::start(io::stdout().as_fd().try_clone_to_owned()?, move || tells.notify_one())?;
    let ended = runtime.block_on(serve_until_end(server.clone(), Arc::clone(&writer), gone, ended));
    server.close();
    // Waits for running calls: they end, and are recorded.
    drop(runtime);
    // A client that leaves so much unread is not reading any more.
    let left = if writer.is_too_much() { Duration::ZERO } else { FLUSH };
    writer.finish(left);
    if left.is_zero() {
        return Err(io::Error::other("it goes on asking, and does not read the answers"));
    }
    ended
}

async fn serve_until_end(
    server: Server,
    writer: Arc<LineWriter>,
    gone: Arc<Notify>,
    ended: UnixStream,
) -> io::Result<()> {
    ended.set_nonblocking(true)?;
    let (ended, tells) = (tokio::net::UnixStream::from_std(ended)?, Arc::clone(&gone));
    tokio::spawn(async move {
        if ended.readable().await.is_ok() {
            tells.notify_one();
        }
    });
    let (input, _) = stdio_pipes();
    let lines = AsyncRwTransport::new(input, tokio::io::sink()).with_max_line_length(MAX_MESSAGE_BYTES);
    match serve_server(server, UntilFirstRequest { lines, writer, gone, begun: false }).await {
        Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
        // The client only probed for the server.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(io::Error::other(error)),
    }
}

/// Skips notifications before the first request: they are no reason to end.
struct UntilFirstRequest {
    lines: AsyncRwTransport<RoleServer, StdioReader, Sink>,
    writer: Arc<LineWriter>,
    /// The client has stopped reading, or the server is to end.
    gone: Arc<Notify>,
    begun: bool,
}

impl Transport<RoleServer> for UntilFirstRequest {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let sent = serde_json::to_vec(&item).map_err(io::Error::from).and_then(|line| {
            self.writer.offer(line).map_err(|ReaderGone| {
                // Further input need not be read.
                self.gone.notify_one();
                io::ErrorKind::BrokenPipe.into()
            })
        });
        std::future::ready(sent)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let message = tokio::select! {
                message = self.lines.receive() => message?,
                () = self.gone.notified() => return None,
            };
            self.begun |= matches!(message, JsonRpcMessage::Request(_));
            if self.begun {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.writer.close(FLUSH);
        Ok(())
    }
}

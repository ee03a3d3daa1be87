//! The server over standard input and output: one message in each line.
//!
//! What is said goes out through an [`Outlet`]: whoever has stopped reading is not waited for, and only so much is kept for
//! them.

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
use crate::wire::outlet::{Gone, Outlet};

/// The longest message that is read: more than any tool takes. Longer ones are passed over.
pub(crate) const LONGEST: usize = 64 << 20;

/// How long what is left may take to be written.
const FLUSH: Duration = Duration::from_secs(5);

/// Serves until the input ends or `ended` can be read, and closes what was opened.
///
/// # Errors
/// When the streams cannot be used, or a client begins in a way that no revision has.
pub fn serve_stdio(server: &Server, ended: UnixStream) -> io::Result<()> {
    // One thread for everything that does not wait; it can be replaced while it does.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let gone = Arc::new(Notify::new());
    let tells = Arc::clone(&gone);
    let outlet = Outlet::start(io::stdout().as_fd().try_clone_to_owned()?, move || tells.notify_one())?;
    let ended = runtime.block_on(until_the_end(server.clone(), Arc::clone(&outlet), gone, ended));
    server.close();
    // Waits for the calls that are being carried out: they end, and are recorded.
    drop(runtime);
    // Who lets so much lie reads no more of it.
    let left = if outlet.is_too_much() { Duration::ZERO } else { FLUSH };
    outlet.finish(left);
    if left.is_zero() {
        return Err(io::Error::other("it goes on asking, and does not read the answers"));
    }
    ended
}

async fn until_the_end(
    server: Server,
    outlet: Arc<Outlet>,
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
    let lines = AsyncRwTransport::new(input, tokio::io::sink()).with_max_line_length(LONGEST);
    match serve_server(server, Patient { lines, outlet, gone, begun: false }).await {
        Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
        // It looked whether we are there.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(io::Error::other(error)),
    }
}

/// Passes over what comes before the first request: a notification there is no reason to end.
struct Patient {
    lines: AsyncRwTransport<RoleServer, StdioReader, Sink>,
    outlet: Arc<Outlet>,
    /// Nobody reads any more, or it is to end.
    gone: Arc<Notify>,
    begun: bool,
}

impl Transport<RoleServer> for Patient {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let sent = serde_json::to_vec(&item).map_err(io::Error::from).and_then(|line| {
            self.outlet.offer(line).map_err(|Gone| {
                // It does not have to be read what they say next.
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
        self.outlet.close(FLUSH);
        Ok(())
    }
}

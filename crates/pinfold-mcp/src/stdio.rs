//! The server over standard input and output: one message in each line.

use std::io;

use rmcp::model::JsonRpcMessage;
use rmcp::service::{RoleServer, RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage, serve_server};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::{StdioReader, StdioWriter, Transport, stdio_pipes};

use crate::serve::Server;

/// The longest message that is read: more than any tool takes. Longer ones are passed over.
pub(crate) const LONGEST: usize = 64 << 20;

/// Serves until the input ends, and closes what was opened.
///
/// # Errors
/// When the streams cannot be used, or a client begins in a way that no revision has.
pub fn serve_stdio(server: &Server) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(until_the_end(server.clone()));
    server.close();
    // Waits for the calls that are being carried out: they end, and are recorded.
    drop(runtime);
    ended
}

async fn until_the_end(server: Server) -> io::Result<()> {
    let (input, output) = stdio_pipes();
    let lines = AsyncRwTransport::new(input, output).with_max_line_length(LONGEST);
    match serve_server(server, Patient { lines, begun: false }).await {
        Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
        // It looked whether we are there.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(io::Error::other(error)),
    }
}

/// Passes over what comes before the first request: a notification there is no reason to end.
struct Patient {
    lines: AsyncRwTransport<RoleServer, StdioReader, StdioWriter>,
    begun: bool,
}

impl Transport<RoleServer> for Patient {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.lines.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let message = self.lines.receive().await?;
            self.begun |= matches!(message, JsonRpcMessage::Request(_));
            if self.begun {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.lines.close().await
    }
}

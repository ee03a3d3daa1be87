//! Proxy connections that are accepted elsewhere and handed to the relay, for sandboxes in which it cannot listen itself.

use std::fmt;
use std::net::TcpStream;
use std::sync::Arc;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::proxy;
use crate::state::RelayState;

/// A connection with its slot.
type AcceptedConnection = (TcpStream, OwnedSemaphorePermit);

/// The sending half. It never blocks.
#[derive(Debug, Clone)]
pub struct HandoffSender {
    sender: UnboundedSender<AcceptedConnection>,
    slots: Arc<Semaphore>,
}

/// The relay's half: the connections that arrive.
pub struct ProxyHandoff(UnboundedReceiver<AcceptedConnection>);

impl fmt::Debug for ProxyHandoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxyHandoff").finish_non_exhaustive()
    }
}

/// Creates both halves, for at most `limit` connections at a time.
pub fn proxy_handoff(limit: usize) -> (HandoffSender, ProxyHandoff) {
    let (sender, receiver) = unbounded_channel();
    (HandoffSender { sender, slots: Arc::new(Semaphore::new(limit)) }, ProxyHandoff(receiver))
}

impl HandoffSender {
    /// Hands a connection over. False when the limit is reached or the relay has ended.
    pub fn send(&self, connection: TcpStream) -> bool {
        let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() else { return false };
        self.sender.send((connection, slot)).is_ok()
    }
}

impl ProxyHandoff {
    /// Serves connections until the sender is gone.
    pub(crate) async fn serve(mut self, state: Arc<RelayState>) {
        while let Some((connection, slot)) = self.0.recv().await {
            let usable =
                connection.set_nonblocking(true).and_then(|()| tokio::net::TcpStream::from_std(connection));
            let Ok(inside) = usable else { continue };
            let Ok(source) = inside.peer_addr() else { continue };
            let _ = inside.set_nodelay(true);
            let state = Arc::clone(&state);
            tokio::spawn(async move {
                Box::pin(proxy::serve(&state, inside, source, &Arc::new(slot))).await;
            });
        }
    }
}

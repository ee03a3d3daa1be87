//! Connections to the relay as a proxy that are taken elsewhere, where nobody can listen for them.

use std::fmt;
use std::net::TcpStream;
use std::sync::Arc;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::proxy;
use crate::relay::Shared;

/// A connection with its place among those that there is room for.
type Taken = (TcpStream, OwnedSemaphorePermit);

/// Hands connections over. Never waits.
#[derive(Debug, Clone)]
pub struct Hand {
    to: UnboundedSender<Taken>,
    room: Arc<Semaphore>,
}

/// The connections that come.
pub struct Handed(UnboundedReceiver<Taken>);

impl fmt::Debug for Handed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handed").finish_non_exhaustive()
    }
}

/// A way to hand over connections, so many at one time.
pub fn hand_over(connections: usize) -> (Hand, Handed) {
    let (to, from) = unbounded_channel();
    (Hand { to, room: Arc::new(Semaphore::new(connections)) }, Handed(from))
}

impl Hand {
    /// Hands a connection over. False when there are too many, or nobody takes any.
    pub fn give(&self, connection: TcpStream) -> bool {
        let Ok(place) = Arc::clone(&self.room).try_acquire_owned() else { return false };
        self.to.send((connection, place)).is_ok()
    }
}

impl Handed {
    /// Serves what comes, until nothing can come any more.
    pub(crate) async fn serve(mut self, shared: Arc<Shared>) {
        while let Some((connection, place)) = self.0.recv().await {
            let usable =
                connection.set_nonblocking(true).and_then(|()| tokio::net::TcpStream::from_std(connection));
            let Ok(inside) = usable else { continue };
            let Ok(from) = inside.peer_addr() else { continue };
            let _ = inside.set_nodelay(true);
            let shared = Arc::clone(&shared);
            tokio::spawn(async move {
                let _place = place;
                Box::pin(proxy::lead(&shared, inside, from)).await;
            });
        }
    }
}

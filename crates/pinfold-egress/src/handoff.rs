//! Proxy connections that are accepted elsewhere and handed to the relay, for sandboxes in which it cannot listen itself.

use std::fmt;
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

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
    thread: Arc<Mutex<RelayThread>>,
}

/// The relay's half: the connections that arrive.
pub struct ProxyHandoff {
    receiver: UnboundedReceiver<AcceptedConnection>,
    pub(crate) thread: Arc<Mutex<RelayThread>>,
}

/// Starts the thread of a relay. Dropped, it closes the connections that wait for it.
type StartRelay = Box<dyn FnOnce() -> Option<JoinHandle<()>> + Send>;

/// The thread of a relay, which may start with its first connection.
#[derive(Default)]
pub(crate) struct RelayThread {
    pending_start: Option<StartRelay>,
    handle: Option<JoinHandle<()>>,
}

impl RelayThread {
    pub(crate) fn running(handle: JoinHandle<()>) -> Self {
        Self { pending_start: None, handle: Some(handle) }
    }

    pub(crate) fn starts_with_first(&mut self, start: StartRelay) {
        self.pending_start = Some(start);
    }

    /// Ends the wait for a first connection, and returns the thread if it was started.
    pub(crate) fn end(&mut self) -> Option<JoinHandle<()>> {
        self.pending_start = None;
        self.handle.take()
    }
}

impl fmt::Debug for RelayThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RelayThread").field("handle", &self.handle).finish_non_exhaustive()
    }
}

impl fmt::Debug for ProxyHandoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxyHandoff").finish_non_exhaustive()
    }
}

/// Creates both halves, for at most `limit` connections at a time.
pub fn proxy_handoff(limit: usize) -> (HandoffSender, ProxyHandoff) {
    let (sender, receiver) = unbounded_channel();
    let thread = Arc::<Mutex<RelayThread>>::default();
    let slots = Arc::new(Semaphore::new(limit));
    (HandoffSender { sender, slots, thread: Arc::clone(&thread) }, ProxyHandoff { receiver, thread })
}

impl HandoffSender {
    /// Hands a connection over. False when the limit is reached or the relay has ended.
    pub fn send(&self, connection: TcpStream) -> bool {
        let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() else { return false };
        let is_sent = self.sender.send((connection, slot)).is_ok();
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(start) = thread.pending_start.take() {
            thread.handle = start();
        }
        is_sent
    }
}

impl ProxyHandoff {
    /// Serves connections until the sender is gone.
    pub(crate) async fn serve(mut self, state: Arc<RelayState>) {
        while let Some((connection, slot)) = self.receiver.recv().await {
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

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn connection() -> TcpStream {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        TcpStream::connect(listener.local_addr().unwrap()).unwrap()
    }

    #[test]
    fn a_thread_starts_with_the_first_connection_once_and_after_the_end_never() {
        for ends_before in [false, true] {
            let (sender, handoff) = proxy_handoff(8);
            let started = Arc::new(AtomicUsize::new(0));
            let count = Arc::clone(&started);
            let start = Box::new(move || {
                count.fetch_add(1, Ordering::SeqCst);
                None
            });
            let lock = || handoff.thread.lock().unwrap();
            lock().starts_with_first(start);
            if ends_before {
                assert!(lock().end().is_none());
            }
            assert_eq!(started.load(Ordering::SeqCst), 0);
            assert!(sender.send(connection()) && sender.send(connection()));
            assert_eq!(started.load(Ordering::SeqCst), usize::from(!ends_before));
        }
    }
}

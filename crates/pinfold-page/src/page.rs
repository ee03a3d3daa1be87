//! The running page.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use pinfold_approvals::socket::ProcessAggregator;
use pinfold_net::{ListenerOptions, bind_loopback, connection_slots, serve};
use tokio::net::TcpListener;
use tokio::runtime;
use tokio::sync::{Notify, Semaphore};

use crate::board::RequestBoard;
use crate::pairing::{Pairing, PairingCode};
use crate::route::{PageState, route};
use crate::stream;

/// The most connections: more than all browsers need, and no more descriptors than that for unpaired clients.
const CONNECTIONS: usize = 64;
/// One request per connection, so that no idle client holds one.
const LISTENER: ListenerOptions =
    ListenerOptions { header_timeout: Duration::from_secs(5), keep_alive: false, loopback_only: true };
/// Answers that are sent at a time. More wait.
const CARRIERS: usize = 4;

/// A running page. Dropping it ends the page.
pub struct Page {
    desk: Arc<PageState>,
    stop: Arc<Notify>,
    serving: Option<JoinHandle<()>>,
}

/// An event for the user at the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageEvent {
    /// A browser was paired.
    Paired,
    /// The code has expired after too many wrong tries: a new one has to be generated.
    CodeDied,
}

impl Page {
    /// Serves the page on loopback, on `port` or a free one. `who` is the approver's claimed name; `told` receives
    /// events and must not block.
    ///
    /// # Errors
    /// When the port is in use, or no thread can be started.
    pub fn open(
        everywhere: ProcessAggregator,
        port: Option<u16>,
        who: Option<String>,
        told: impl Fn(PageEvent) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listeners = bind_loopback(port)?;
        let port = listeners.first().ok_or(io::ErrorKind::AddrNotAvailable)?.local_addr()?.port();
        let board = RequestBoard::follow(&everywhere)?;
        let (pairing, told) = (Pairing::default(), Box::new(told));
        let listening = Arc::new(Semaphore::new(stream::MAX_STREAMS));
        let desk = Arc::new(PageState { pairing, board, everywhere, who, port, told, listening });
        let stop = Arc::new(Notify::new());
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(CARRIERS)
            .thread_name("page")
            .build()?;
        let listeners = {
            // The listeners belong to the runtime.
            let _inside = runtime.enter();
            listeners.into_iter().map(TcpListener::from_std).collect::<io::Result<Vec<_>>>()?
        };
        let (serves, stopped) = (Arc::clone(&desk), Arc::clone(&stop));
        let run = move || {
            let slots = connection_slots(CONNECTIONS);
            for listener in listeners {
                let desk = Arc::clone(&serves);
                let answer = move |request| route(Arc::clone(&desk), request);
                runtime.spawn(serve(listener, Arc::clone(&slots), LISTENER, answer));
            }
            drop(serves);
            runtime.block_on(stopped.notified());
            // Event streams do not end by themselves, and answers on their way are not waited for.
            runtime.shutdown_background();
        };
        let serving = thread::Builder::new().name("page".to_owned()).spawn(run)?;
        Ok(Self { desk, stop, serving: Some(serving) })
    }

    /// The page's URL.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/", self.desk.port)
    }

    /// Generates a code that pairs one browser. The previous one is void.
    ///
    /// # Errors
    /// When the system has no randomness.
    pub fn new_code(&self) -> io::Result<PairingCode> {
        self.desk.pairing.new_code()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.stop.notify_one();
        if let Some(serving) = self.serving.take() {
            let _ = serving.join();
        }
    }
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page").field("address", &self.address()).finish_non_exhaustive()
    }
}

//! The page, served.

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

use crate::board::Board;
use crate::pairing::{Code, Pairing};
use crate::route::{Desk, route};
use crate::stream;

/// How many connections there may be: more than all browsers need, and no more descriptors than that for strangers.
const CONNECTIONS: usize = 64;
/// One request for each connection: none is held by somebody who may say something later.
const LISTENER: ListenerOptions =
    ListenerOptions { header_timeout: Duration::from_secs(5), keep_alive: false, loopback_only: true };
/// How many answers are carried at a time. More wait.
const CARRIERS: usize = 4;

/// A page that is served. Dropping it ends that.
pub struct Page {
    desk: Arc<Desk>,
    stop: Arc<Notify>,
    serving: Option<JoinHandle<()>>,
}

/// What the person at the terminal should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// A browser was paired.
    Paired,
    /// Too many wrong codes were said: another has to be made.
    CodeDied,
}

impl Page {
    /// Serves the page on this machine, on `port` or one that is free. Answers are given by somebody who calls themselves
    /// `who`; `told` hears what happens and must not take long.
    ///
    /// # Errors
    /// When the port is taken, or the system has no threads left.
    pub fn open(
        everywhere: ProcessAggregator,
        port: Option<u16>,
        who: Option<String>,
        told: impl Fn(News) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listeners = bind_loopback(port)?;
        let port = listeners.first().ok_or(io::ErrorKind::AddrNotAvailable)?.local_addr()?.port();
        let board = Board::follow(&everywhere)?;
        let (pairing, told) = (Pairing::default(), Box::new(told));
        let listening = Arc::new(Semaphore::new(stream::MOST));
        let desk = Arc::new(Desk { pairing, board, everywhere, who, port, told, listening });
        let stop = Arc::new(Notify::new());
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(CARRIERS)
            .thread_name("page")
            .build()?;
        let listeners = {
            // They belong to the runtime.
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
            // Streams have no end of their own, and nobody waits for an answer that is on its way.
            runtime.shutdown_background();
        };
        let serving = thread::Builder::new().name("page".to_owned()).spawn(run)?;
        Ok(Self { desk, stop, serving: Some(serving) })
    }

    /// Where it is.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/", self.desk.port)
    }

    /// A code with which one browser can be paired. The one before is void.
    ///
    /// # Errors
    /// When the system has no randomness.
    pub fn new_code(&self) -> io::Result<Code> {
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

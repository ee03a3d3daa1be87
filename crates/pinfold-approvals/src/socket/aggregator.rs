//! Aggregates the processes of one user that ask for approval: their pending requests and events.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::client::{ApprovalClient, ApprovalClientError, ApprovalEvents};
use super::protocol::{EventBatch, RequestSummary};
use super::socket_dir::{SocketDir, SocketHomes};

/// The interval at which new processes are discovered.
const DISCOVERY: Duration = Duration::from_millis(150);
/// Processes that are queried in parallel.
const PARALLEL: usize = 32;
/// The time for which a process that could not be reached is skipped.
const RETRY: Duration = Duration::from_secs(5);

/// All processes of one user that ask for approval.
#[derive(Debug, Clone)]
pub struct ProcessAggregator {
    dirs: Vec<SocketDir>,
}

/// A pending request of some process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocatedRequest {
    /// The name of the process's socket.
    pub name: String,
    /// The request.
    pub waiting: RequestSummary,
}

/// Reason why a name does not select one request.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// No request has that name.
    #[error("no pending request is called `{0}`")]
    None(String),
    /// No request has that name in the processes that were reached; another process could not be reached.
    #[error(transparent)]
    Unreached(ApprovalClientError),
    /// Several requests match.
    #[error("several requests begin with `{said}`: {}", names(.found))]
    Many {
        /// The given name.
        said: String,
        /// The matching requests.
        found: Vec<LocatedRequest>,
    },
}

/// The shortest names that tell the requests apart.
fn names(found: &[LocatedRequest]) -> String {
    let is_enough =
        |one: &LocatedRequest| found.iter().filter(|other| other.waiting.id == one.waiting.id).count() == 1;
    let name = |one: &LocatedRequest| {
        let LocatedRequest { name, waiting } = one;
        if is_enough(one) { waiting.id.clone() } else { format!("{name}/{}", waiting.id) }
    };
    found.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// An event of one process.
#[derive(Debug)]
pub struct ProcessEvent {
    /// The name of the process's socket.
    pub name: String,
    /// The event.
    pub what: ProcessEventKind,
}

/// An event of a process.
#[derive(Debug)]
pub enum ProcessEventKind {
    /// A new process.
    Started,
    /// New requests, resolutions or notes.
    Changes(EventBatch),
    /// The end of a process.
    Ended,
    /// A process that cannot be watched.
    Failed(ApprovalClientError),
}

impl ProcessAggregator {
    /// Searches every directory in which sockets of this user can be.
    pub fn new(homes: &SocketHomes) -> Self {
        Self { dirs: SocketDir::all(homes) }
    }

    /// Searches these directories.
    pub fn from_dirs(dirs: Vec<SocketDir>) -> Self {
        Self { dirs }
    }

    /// The registered processes.
    pub fn names(&self) -> Vec<(SocketDir, String)> {
        let of = |dir: &SocketDir| {
            let dir = dir.clone();
            dir.names().unwrap_or_default().into_iter().map(move |name| (dir.clone(), name))
        };
        self.dirs.iter().flat_map(of).collect()
    }

    /// Connects to a process by the name of its socket.
    ///
    /// # Errors
    /// When there is no such process, or it cannot be reached.
    pub fn connect(&self, name: &str) -> Result<ApprovalClient, ApprovalClientError> {
        let dir = self.names().into_iter().find(|(_, known)| known == name).map(|(dir, _)| dir);
        let gone =
            || ApprovalClientError::Io { name: name.to_owned(), error: io::ErrorKind::NotFound.into() };
        ApprovalClient::connect(&dir.ok_or_else(gone)?, name)
    }

    /// Lists the pending requests of all processes in the order in which they were made, and the processes that could
    /// not be reached.
    pub fn list(&self) -> (Vec<LocatedRequest>, Vec<ApprovalClientError>) {
        let (mut found, mut failed) = (Vec::new(), Vec::new());
        for of in self.names().chunks(PARALLEL) {
            // In parallel, so that a stopped process does not delay the others.
            let came: Vec<_> = thread::scope(|scope| {
                let ask = |(dir, name)| scope.spawn(move || pending_in(dir, name));
                let asked: Vec<_> = of.iter().map(|(dir, name)| ask((dir, name))).collect();
                asked.into_iter().filter_map(|one| one.join().ok()).collect()
            });
            for one in came {
                match one {
                    Ok(list) => found.extend(list),
                    // The process has ended meanwhile.
                    Err(ApprovalClientError::Io { error, .. }) if is_gone(&error) => {}
                    Err(error) => failed.push(error),
                }
            }
        }
        found.sort_by_key(|one| one.waiting.asked_at);
        (found, failed)
    }

    /// Finds a request by its identifier, a prefix of it, or `PROCESS/IDENTIFIER`.
    ///
    /// # Errors
    /// When no request matches, or several do.
    pub fn find(&self, said: &str) -> Result<LocatedRequest, FindError> {
        let (found, mut failed) = self.list();
        match (choose(found, said), failed.pop()) {
            (Err(FindError::None(_)), Some(failed)) => Err(FindError::Unreached(failed)),
            (chosen, _) => chosen,
        }
    }

    /// Watches all processes, also those that start later, until the result is dropped.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn follow(&self) -> io::Result<ProcessEvents> {
        let (tell, events) = channel();
        let stop = Arc::new(StopSignal::default());
        let (dirs, stopped) = (self.clone(), Arc::clone(&stop));
        thread::Builder::new()
            .name("approvals-look".to_owned())
            .spawn(move || dirs.discover(&stopped, &tell))?;
        Ok(ProcessEvents { events, stop })
    }

    fn discover(&self, stop: &Arc<StopSignal>, tell: &Sender<ProcessEvent>) {
        let mut skipped: HashMap<String, Instant> = HashMap::new();
        while !stop.wait(DISCOVERY) {
            skipped.retain(|_, since| since.elapsed() < RETRY);
            for (dir, name) in self.names() {
                if skipped.contains_key(&name) || !stop.begin(&name) {
                    continue;
                }
                match ApprovalClient::connect(&dir, &name).and_then(ApprovalClient::watch) {
                    Ok(watching) => watch_process(watching, name, Arc::clone(stop), tell.clone()),
                    Err(error) => {
                        stop.end(&name);
                        skipped.insert(name.clone(), Instant::now());
                        let ended = matches!(&error, ApprovalClientError::Io { error, .. } if is_gone(error));
                        if !ended
                            && tell
                                .send(ProcessEvent { name, what: ProcessEventKind::Failed(error) })
                                .is_err()
                        {
                            return;
                        }
                    }
                }
            }
        }
    }
}

/// Lists the pending requests of one process.
fn pending_in(dir: &SocketDir, name: &str) -> Result<Vec<LocatedRequest>, ApprovalClientError> {
    let list = ApprovalClient::connect(dir, name)?.list()?;
    Ok(list.into_iter().map(|waiting| LocatedRequest { name: name.to_owned(), waiting }).collect())
}

/// Watches one process, on a thread of its own.
fn watch_process(watching: ApprovalEvents, name: String, stop: Arc<StopSignal>, tell: Sender<ProcessEvent>) {
    if let Ok(stopper) = watching.stopper() {
        if *stop.stopped() {
            return;
        }
        stop.stoppers().push((name.clone(), stopper));
    }
    let called = name.clone();
    let hears = move || {
        let _ = tell.send(ProcessEvent { name: name.clone(), what: ProcessEventKind::Started });
        for heard in watching.map_while(Result::ok) {
            if heard != EventBatch::default()
                && tell
                    .send(ProcessEvent { name: name.clone(), what: ProcessEventKind::Changes(heard) })
                    .is_err()
            {
                break;
            }
        }
        let _ = tell.send(ProcessEvent { name: name.clone(), what: ProcessEventKind::Ended });
        stop.end(&name);
    };
    // Without a thread it is as if it could not be reached.
    let _ = thread::Builder::new().name(format!("approvals-{called}")).spawn(hears);
}

fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset, NotFound, UnexpectedEof};
    matches!(error.kind(), NotFound | ConnectionRefused | ConnectionReset | BrokenPipe | UnexpectedEof)
}

/// Chooses by name: one that is called exactly so, or else the only one that begins so.
fn choose(mut found: Vec<LocatedRequest>, said: &str) -> Result<LocatedRequest, FindError> {
    let called = |one: &LocatedRequest| (one.waiting.id.clone(), format!("{}/{}", one.name, one.waiting.id));
    let is = |one: &LocatedRequest| {
        let (id, full) = called(one);
        id == said || full == said
    };
    let begins = |one: &LocatedRequest| {
        let (id, full) = called(one);
        !said.is_empty() && (id.starts_with(said) || full.starts_with(said))
    };
    if found.iter().any(is) {
        found.retain(is);
    } else {
        found.retain(begins);
    }
    match (found.pop(), found.is_empty()) {
        (None, _) => Err(FindError::None(said.to_owned())),
        (Some(only), true) => Ok(only),
        (Some(last), false) => {
            found.push(last);
            Err(FindError::Many { said: said.to_owned(), found })
        }
    }
}

/// News of all processes. Dropping it ends the threads behind it.
#[derive(Debug)]
pub struct ProcessEvents {
    events: Receiver<ProcessEvent>,
    stop: Arc<StopSignal>,
}

impl ProcessEvents {
    /// The next event, waiting for it no longer than `most`.
    pub fn next(&self, most: Duration) -> Option<ProcessEvent> {
        self.events.recv_timeout(most).ok()
    }
}

impl Drop for ProcessEvents {
    fn drop(&mut self) {
        *self.stop.stopped() = true;
        self.stop.bell.notify_all();
        for (_, stopper) in self.stop.stoppers().drain(..) {
            let _ = stopper.shutdown(Shutdown::Both);
        }
    }
}

/// The state that the threads of one [`ProcessEvents`] share.
#[derive(Debug, Default)]
struct StopSignal {
    stopped: Mutex<bool>,
    bell: Condvar,
    heard: Mutex<HashSet<String>>,
    stoppers: Mutex<Vec<(String, UnixStream)>>,
}

impl StopSignal {
    fn stopped(&self) -> MutexGuard<'_, bool> {
        self.stopped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stoppers(&self) -> MutexGuard<'_, Vec<(String, UnixStream)>> {
        self.stoppers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits a moment. `true` when it is time to stop.
    fn wait(&self, most: Duration) -> bool {
        let stopped = self.stopped();
        if *stopped {
            return true;
        }
        *self.bell.wait_timeout(stopped, most).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Marks a process as watched; false when it is already.
    fn begin(&self, name: &str) -> bool {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned())
    }

    fn end(&self, name: &str) {
        self.stoppers().retain(|(known, _)| known != name);
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn found(name: &str, id: &str) -> LocatedRequest {
        let waiting = RequestSummary {
            id: id.to_owned(),
            digest: String::new(),
            asked_at: Timestamp::UNIX_EPOCH,
            deadline: Timestamp::UNIX_EPOCH,
            session: String::new(),
            agents: Vec::new(),
            folder: String::new(),
            tool: String::new(),
            brief: String::new(),
            why: String::new(),
            always_ask: false,
            destructive: false,
        };
        LocatedRequest { name: name.to_owned(), waiting }
    }

    #[test]
    fn a_beginning_is_enough_where_only_one_begins_so() {
        let all = || vec![found("call-7", "call-7:1"), found("call-7", "call-7:12"), found("run", "main:1")];
        for (said, meant) in [
            ("call-7:1", Some("call-7:1")),
            ("call-7:12", Some("call-7:12")),
            ("m", Some("main:1")),
            ("run/", Some("main:1")),
            ("call-7", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(choose(all(), said).ok().map(|one| one.waiting.id).as_deref(), meant, "{said}");
        }
        let twice = vec![found("a", "main:1"), found("b", "main:1")];
        assert!(matches!(choose(twice.clone(), "main:1"), Err(FindError::Many { .. })));
        assert_eq!(choose(twice, "b/main:1").unwrap().name, "b");
    }
}

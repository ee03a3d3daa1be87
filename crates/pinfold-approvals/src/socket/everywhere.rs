//! All processes of one person that ask: what waits in any of them, and where.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::client::{Client, ClientError, Watching};
use super::place::{Homes, Place};
use super::protocol::{Heard, Waiting};

/// How soon a process that begins to ask is noticed.
const LOOK: Duration = Duration::from_millis(150);
/// How many are asked at once what waits there.
const AT_ONCE: usize = 32;
/// How long one that could not be reached is left alone.
const AGAIN: Duration = Duration::from_secs(5);

/// All processes of one person that ask.
#[derive(Debug, Clone)]
pub struct Everywhere {
    places: Vec<Place>,
}

/// A request that waits somewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The process, by the name of its socket.
    pub name: String,
    /// The request.
    pub waiting: Waiting,
}

/// Why it is not clear which request is meant.
#[derive(Debug, thiserror::Error)]
pub enum NotFound {
    /// None is called like that.
    #[error("nothing waits that is called `{0}`")]
    None(String),
    /// None of those that were reached; it may wait where we did not get.
    #[error(transparent)]
    Unreached(ClientError),
    /// More than one is.
    #[error("more than one request begins with `{said}`: {}", names(.found))]
    Many {
        /// What was said.
        said: String,
        /// What it could mean.
        found: Vec<Found>,
    },
}

/// Each so that it says which is meant.
fn names(found: &[Found]) -> String {
    let is_enough =
        |one: &Found| found.iter().filter(|other| other.waiting.id == one.waiting.id).count() == 1;
    let name = |one: &Found| {
        let Found { name, waiting } = one;
        if is_enough(one) { waiting.id.clone() } else { format!("{name}/{}", waiting.id) }
    };
    found.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// What is new in one process.
#[derive(Debug)]
pub struct Event {
    /// The process, by the name of its socket.
    pub name: String,
    /// What.
    pub what: What,
}

/// What is new.
#[derive(Debug)]
pub enum What {
    /// It is heard from now on.
    Came,
    /// Something was asked, is over, or should be known.
    Heard(Heard),
    /// It has ended.
    Went,
    /// It cannot be heard.
    Trouble(ClientError),
}

impl Everywhere {
    /// Looks in all places where sockets of this person can be.
    pub fn new(homes: &Homes) -> Self {
        Self { places: Place::all(homes) }
    }

    /// Looks in these places.
    pub fn of(places: Vec<Place>) -> Self {
        Self { places }
    }

    /// The processes that ask.
    pub fn names(&self) -> Vec<(Place, String)> {
        let of = |place: &Place| {
            let place = place.clone();
            place.names().unwrap_or_default().into_iter().map(move |name| (place.clone(), name))
        };
        self.places.iter().flat_map(of).collect()
    }

    /// Connects to a process by the name of its socket.
    ///
    /// # Errors
    /// When there is none, or it cannot be reached.
    pub fn connect(&self, name: &str) -> Result<Client, ClientError> {
        let place = self.names().into_iter().find(|(_, known)| known == name).map(|(place, _)| place);
        let gone = || ClientError::Io { name: name.to_owned(), error: io::ErrorKind::NotFound.into() };
        Client::connect(&place.ok_or_else(gone)?, name)
    }

    /// What waits anywhere, in the order in which it was asked, and which processes could not be reached.
    pub fn list(&self) -> (Vec<Found>, Vec<ClientError>) {
        let (mut found, mut failed) = (Vec::new(), Vec::new());
        for of in self.names().chunks(AT_ONCE) {
            // Side by side: one that is stopped makes nobody wait for the others.
            let came: Vec<_> = thread::scope(|scope| {
                let ask = |(place, name)| scope.spawn(move || waits_in(place, name));
                let asked: Vec<_> = of.iter().map(|(place, name)| ask((place, name))).collect();
                asked.into_iter().filter_map(|one| one.join().ok()).collect()
            });
            for one in came {
                match one {
                    Ok(list) => found.extend(list),
                    // It has ended meanwhile.
                    Err(ClientError::Io { error, .. }) if is_gone(&error) => {}
                    Err(error) => failed.push(error),
                }
            }
        }
        found.sort_by_key(|one| one.waiting.asked_at);
        (found, failed)
    }

    /// The request that is meant by its name, the beginning of it, or the name of the process and that, with a slash
    /// between them.
    ///
    /// # Errors
    /// When it is none, or more than one.
    pub fn find(&self, said: &str) -> Result<Found, NotFound> {
        let (found, mut failed) = self.list();
        match (choose(found, said), failed.pop()) {
            (Err(NotFound::None(_)), Some(failed)) => Err(NotFound::Unreached(failed)),
            (chosen, _) => chosen,
        }
    }

    /// Follows all of them, those that come later too, until the answer is dropped.
    ///
    /// # Errors
    /// When no thread can be had.
    pub fn follow(&self) -> io::Result<Following> {
        let (tell, events) = channel();
        let stop = Arc::new(Stop::default());
        let (places, stopped) = (self.clone(), Arc::clone(&stop));
        thread::Builder::new()
            .name("approvals-look".to_owned())
            .spawn(move || places.look(&stopped, &tell))?;
        Ok(Following { events, stop })
    }

    fn look(&self, stop: &Arc<Stop>, tell: &Sender<Event>) {
        let mut left_alone: HashMap<String, Instant> = HashMap::new();
        while !stop.wait(LOOK) {
            left_alone.retain(|_, since| since.elapsed() < AGAIN);
            for (place, name) in self.names() {
                if left_alone.contains_key(&name) || !stop.begin(&name) {
                    continue;
                }
                match Client::connect(&place, &name).and_then(Client::watch) {
                    Ok(watching) => hear(watching, name, Arc::clone(stop), tell.clone()),
                    Err(error) => {
                        stop.end(&name);
                        left_alone.insert(name.clone(), Instant::now());
                        let ended = matches!(&error, ClientError::Io { error, .. } if is_gone(error));
                        if !ended && tell.send(Event { name, what: What::Trouble(error) }).is_err() {
                            return;
                        }
                    }
                }
            }
        }
    }
}

/// What waits in one process.
fn waits_in(place: &Place, name: &str) -> Result<Vec<Found>, ClientError> {
    let list = Client::connect(place, name)?.list()?;
    Ok(list.into_iter().map(|waiting| Found { name: name.to_owned(), waiting }).collect())
}

/// Hears one process, on a thread of its own.
fn hear(watching: Watching, name: String, stop: Arc<Stop>, tell: Sender<Event>) {
    if let Ok(stopper) = watching.stopper() {
        if *stop.stopped() {
            return;
        }
        stop.stoppers().push((name.clone(), stopper));
    }
    let called = name.clone();
    let hears = move || {
        let _ = tell.send(Event { name: name.clone(), what: What::Came });
        for heard in watching.map_while(Result::ok) {
            if heard != Heard::default()
                && tell.send(Event { name: name.clone(), what: What::Heard(heard) }).is_err()
            {
                break;
            }
        }
        let _ = tell.send(Event { name: name.clone(), what: What::Went });
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
fn choose(mut found: Vec<Found>, said: &str) -> Result<Found, NotFound> {
    let called = |one: &Found| (one.waiting.id.clone(), format!("{}/{}", one.name, one.waiting.id));
    let is = |one: &Found| {
        let (id, full) = called(one);
        id == said || full == said
    };
    let begins = |one: &Found| {
        let (id, full) = called(one);
        !said.is_empty() && (id.starts_with(said) || full.starts_with(said))
    };
    if found.iter().any(is) {
        found.retain(is);
    } else {
        found.retain(begins);
    }
    match (found.pop(), found.is_empty()) {
        (None, _) => Err(NotFound::None(said.to_owned())),
        (Some(only), true) => Ok(only),
        (Some(last), false) => {
            found.push(last);
            Err(NotFound::Many { said: said.to_owned(), found })
        }
    }
}

/// News of all processes. Dropping it ends the threads behind it.
#[derive(Debug)]
pub struct Following {
    events: Receiver<Event>,
    stop: Arc<Stop>,
}

impl Following {
    /// The next event, waiting for it no longer than `most`.
    pub fn next(&self, most: Duration) -> Option<Event> {
        self.events.recv_timeout(most).ok()
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        *self.stop.stopped() = true;
        self.stop.bell.notify_all();
        for (_, stopper) in self.stop.stoppers().drain(..) {
            let _ = stopper.shutdown(Shutdown::Both);
        }
    }
}

/// What the threads of one [`Following`] share.
#[derive(Debug, Default)]
struct Stop {
    stopped: Mutex<bool>,
    bell: Condvar,
    heard: Mutex<HashSet<String>>,
    stoppers: Mutex<Vec<(String, UnixStream)>>,
}

impl Stop {
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

    /// Begins to hear somebody, unless they are heard already.
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

    fn found(name: &str, id: &str) -> Found {
        let waiting = Waiting {
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
            immune: false,
            destructive: false,
        };
        Found { name: name.to_owned(), waiting }
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
        assert!(matches!(choose(twice.clone(), "main:1"), Err(NotFound::Many { .. })));
        assert_eq!(choose(twice, "b/main:1").unwrap().name, "b");
    }
}

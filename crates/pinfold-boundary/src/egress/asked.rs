//! Hosts that no rule names: connections to them wait here until an approver has decided.
//!
//! All that waits for one host at one port waits together, and a thread of its own asks for it, one program after the
//! other. A yes is for what waits, and for what the same process connects to there later: a program that opens a hundred
//! connections to one host is one question. A no lasts as long.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use pinfold_egress::{ConnectDecision, ConnectRefusal, ConnectRequest, DecisionSender, classify_near};
use pinfold_host::Host;
use pinfold_policy::Connection;
use pinfold_sandbox::Caller;

use super::program::{self, Who};

/// An approver for hosts that the list does not name.
pub trait HostApprover: Debug + Send + Sync {
    /// Returns whether a process may connect. Waits for an answer as long as `waits` returns true.
    ///
    /// # Errors
    /// Why not: one clause.
    fn may_connect(&self, request: &HostRequest, waits: &(dyn Fn() -> bool + Sync)) -> Result<(), String>;

    /// Returns whether what once was let through may not any more.
    fn denies(&self, request: &HostRequest) -> Option<String>;
}

/// A connection that an approver is asked about.
#[derive(Debug, Clone)]
pub struct HostRequest {
    /// The host.
    pub to: Connection,
    /// Process that wants it, where that can be seen.
    pub caller: Option<Caller>,
}

impl HostRequest {
    /// The program, by its executable.
    pub fn program(&self) -> String {
        program::name(self.caller.as_ref())
    }
}

/// Connections that wait for answers at one time; more are refused.
const MOST_WAITING: usize = 128;

/// Hosts that are asked about at one time; more are refused.
const MOST_HOSTS: usize = 16;

/// Most answers that are remembered before all are forgotten.
const MOST_ANSWERED: usize = 1000;

/// A process: its number, and when it started, since numbers are given again.
type Process = (i32, u64);

/// Connections that wait, and answers.
#[derive(Debug)]
pub(super) struct PendingHosts {
    decides: Arc<dyn HostApprover>,
    /// The first process inside.
    init: i32,
    state: Mutex<AskedHosts>,
}

#[derive(Debug, Default)]
struct AskedHosts {
    waiting: BTreeMap<String, Vec<Waiter>>,
    answered: BTreeMap<(Process, String), Result<(), String>>,
}

#[derive(Debug)]
struct Waiter {
    answer: DecisionSender,
    /// The port of the caller inside.
    from: u16,
}

/// Says no to a connection, and remembers that.
pub(super) type Refuse = dyn Fn(&str, Who<'_>) -> ConnectRefusal + Send + Sync;

impl PendingHosts {
    pub(super) fn new(decides: Arc<dyn HostApprover>, init: i32) -> Self {
        Self { decides, init, state: Mutex::default() }
    }

    /// Returns whether an approver can be asked about a host. Addresses on this machine and its networks are for rules alone: a
    /// yes to a host means none of those.
    pub(super) fn could_be(host: &Host) -> bool {
        match host {
            Host::Name(_) => true,
            Host::Address(address) => classify_near(*address).is_none() && !is_own(*address),
        }
    }

    /// Returns whether an approver can be asked about a name. Reserved names without a host are not worth it.
    pub(super) fn could_be_named(name: &str) -> bool {
        const NOWHERE: [&str; 5] = ["arpa", "invalid", "local", "onion", "alt"];
        name.rsplit_once('.').is_some_and(|(_, last)| !NOWHERE.contains(&last))
    }

    /// Takes a connection over. Comes back at once.
    pub(super) fn take(
        self: &Arc<Self>,
        ask: &ConnectRequest,
        is_usual: bool,
        refuse: Box<Refuse>,
    ) -> ConnectDecision {
        let to = Connection { host: ask.host.clone(), port: ask.port, is_usual };
        let (answer, pending) = DecisionSender::pending();
        let key = to.to_string();
        {
            let mut state = self.state();
            let waiting: usize = state.waiting.values().map(Vec::len).sum();
            let hosts = state.waiting.len();
            match state.waiting.get_mut(&key) {
                _ if waiting >= MOST_WAITING => {
                    return ConnectDecision::Deny(refuse(TOO_MANY, Who::At(ask.source_port)));
                }
                Some(there) => {
                    there.push(Waiter { answer, from: ask.source_port });
                    return pending;
                }
                None if hosts >= MOST_HOSTS => {
                    return ConnectDecision::Deny(refuse(TOO_MANY, Who::At(ask.source_port)));
                }
                None => state.waiting.insert(key.clone(), vec![Waiter { answer, from: ask.source_port }]),
            };
        }
        let here = Arc::clone(self);
        let asks = thread::Builder::new().name("pinfold-asks".into());
        if asks.spawn(move || here.decide_all(&key, &to, &*refuse)).is_err() {
            // Dropped, each is a no.
            self.state().waiting.remove(&ask_key(ask, is_usual));
        }
        pending
    }

    /// `HostApprover` for all that wait for a host, until none does.
    fn decide_all(&self, key: &str, to: &Connection, refuse: &Refuse) {
        let _leaving = Leaving { asked: self, key };
        while let Some(from) = self.first(key) {
            let request = HostRequest { to: to.clone(), caller: program::caller(self.init, from) };
            let (said, all_left) = self.decide(key, &request);
            self.answer(key, (from, all_left), &request, &said, refuse);
        }
    }

    /// Asks about a connection. Returns the answer, and whether every waiting connection had given up: then there was no answer,
    /// and a later connection is asked about again, even while the question is being withdrawn.
    fn decide(&self, key: &str, request: &HostRequest) -> (Result<(), String>, bool) {
        let process = request.caller.as_ref().and_then(process);
        let before =
            process.and_then(|process| self.state().answered.get(&(process, key.to_owned())).cloned());
        match before {
            Some(Ok(())) => return (self.decides.denies(request).map_or(Ok(()), Err), false),
            Some(Err(why)) => return (Err(why), false),
            None => {}
        }
        let given_up = AtomicBool::new(false);
        let waits = || {
            let awaited = self.is_awaited(key);
            given_up.fetch_or(!awaited, Ordering::Relaxed);
            awaited
        };
        let said = self.decides.may_connect(request, &waits);
        if said.is_err() && given_up.into_inner() {
            return (said, true);
        }
        if let Some(process) = process {
            let mut state = self.state();
            if state.answered.len() >= MOST_ANSWERED {
                state.answered.clear();
            }
            state.answered.insert((process, key.to_owned()), said.clone());
        }
        (said, false)
    }

    /// Answers the one that was decided about, and others of the same program that wait with it; where all have left, only
    /// those who are not there any more.
    fn answer(
        &self,
        key: &str,
        (from, all_left): (u16, bool),
        request: &HostRequest,
        said: &Result<(), String>,
        refuse: &Refuse,
    ) {
        let is_there = |one: &Waiter| one.answer.is_awaited() && program::any_is_open(self.init, &[one.from]);
        let is_theirs = |waiter: &Waiter| {
            if all_left {
                return !is_there(waiter);
            }
            waiter.from == from
                || program::caller(self.init, waiter.from).map(|caller| caller.program)
                    == request.caller.as_ref().map(|caller| caller.program.clone())
        };
        // Looked at without the lock: connections that come are taken meanwhile.
        let all = self.state().waiting.get_mut(key).map(std::mem::take).unwrap_or_default();
        let (theirs, others): (Vec<_>, Vec<_>) = all.into_iter().partition(is_theirs);
        if let Some(waiting) = self.state().waiting.get_mut(key) {
            waiting.splice(0..0, others);
        }
        let program = request.program();
        for Waiter { answer, .. } in theirs {
            answer.send(said.as_ref().copied().map_err(|why| refuse(why, Who::Program(&program))));
        }
    }

    /// Returns the port of the first waiting connection; when there is none, the host is released.
    fn first(&self, key: &str) -> Option<u16> {
        let mut state = self.state();
        let waiting = state.waiting.get_mut(key)?;
        waiting.retain(|waiter| waiter.answer.is_awaited());
        let first = waiting.first().map(|waiter| waiter.from);
        if first.is_none() {
            state.waiting.remove(key);
        }
        first
    }

    /// Returns whether a connection still waits for a host.
    fn is_awaited(&self, key: &str) -> bool {
        let callers: Vec<u16> = match self.state().waiting.get(key) {
            Some(waiting) => waiting.iter().filter(|w| w.answer.is_awaited()).map(|w| w.from).collect(),
            None => return false,
        };
        program::any_is_open(self.init, &callers)
    }

    fn state(&self) -> MutexGuard<'_, AskedHosts> {
        // Whatever the lock holds is whole between any two of its users' steps.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a connection does not even wait.
const TOO_MANY: &str = "too many connections wait for an answer";

fn ask_key(ask: &ConnectRequest, is_usual: bool) -> String {
    Connection { host: ask.host.clone(), port: ask.port, is_usual }.to_string()
}

fn is_own(address: IpAddr) -> bool {
    address.is_loopback() || address.is_unspecified()
}

/// Returns the process of a caller. Its start is the 22nd field, counted behind its name.
/// [proc_pid_stat(5)](https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html)
fn process(caller: &Caller) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", caller.process)).ok()?;
    let (_, behind) = stat.rsplit_once(')')?;
    let started = behind.split_ascii_whitespace().nth(19)?.parse().ok()?;
    Some((caller.process, started))
}

/// Refusal of the waiting connections of a thread that panics.
struct Leaving<'a> {
    asked: &'a PendingHosts,
    key: &'a str,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            drop(self.asked.state().waiting.remove(self.key));
        }
    }
}

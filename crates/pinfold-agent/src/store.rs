//! A run as a file: one event a line, from which it is shown and from which it can go on.
//!
//! Promise: what was written up to a crash is read again; half a line at the end is passed over.
//! Trap: a call that had begun when the run broke off may have been done. It is not made again; the model is told.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use pinfold::policy::ToolName;
use pinfold_scrub::Scrubber;
use serde_json::Value;

use crate::agent::Pending;
use crate::budget::UsageTotals;
use crate::event::{AgentResult, Event, Listener};
use crate::model::{AgentIdentity, Answered, CallOutcome, Message, ModelError, RequestedCall};
use crate::team::ResumedRun;

/// The file of a run, while it is written.
#[derive(Debug)]
pub struct Store {
    file: Mutex<File>,
    trouble: Mutex<Option<String>>,
}

impl Store {
    /// Begins the file of a run, or goes on with it. It is closed to other users, and locked against other writers.
    ///
    /// # Errors
    /// What the system says; [`io::ErrorKind::WouldBlock`] where another process is at work on it.
    pub fn open(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        file.try_lock()?;
        // Behind half a line of a run that broke off.
        file.write_all(b"\n")?;
        Ok(Self { file: Mutex::new(file), trouble: Mutex::default() })
    }

    /// Takes the file of a run away. `false` where a process is at work on it.
    ///
    /// # Errors
    /// What the system says.
    pub fn forget(path: &Path) -> io::Result<bool> {
        let file = File::open(path)?;
        match file.try_lock() {
            Ok(()) => fs::remove_file(path).and(file.unlock()).map(|()| true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Why not everything was written. The run went on: its record is another one.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // By word: a child that was just forked may hold a copy of the descriptor.
        let _ = self.file.get_mut().unwrap_or_else(PoisonError::into_inner).unlock();
    }
}

impl Listener for Store {
    fn handle_event(&self, event: &Event) {
        let line = event.clean().to_string() + "\n";
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = file.write_all(line.as_bytes()) {
            let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
            trouble.get_or_insert_with(|| error.to_string());
        }
    }
}

impl Event {
    /// The event as JSON, without secrets.
    pub fn clean(&self) -> Value {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        Scrubber::default().scrub_json(&mut value);
        value
    }
}

/// The events of a run, as far as they can be read.
///
/// # Errors
/// When the file cannot be read.
pub fn events(path: &Path) -> io::Result<Vec<Event>> {
    let mut events = Vec::new();
    for line in BufReader::new(File::open(path)?).split(b'\n') {
        if let Ok(event) = serde_json::from_slice(&line?) {
            events.push(event);
        }
    }
    Ok(events)
}

/// Returns the state from which a run can go on.
///
/// # Errors
/// When there is nothing to go on with.
pub fn resumed(events: &[Event]) -> Result<ResumedRun, ModelError> {
    let first = events.iter().find_map(|event| match event {
        Event::Started { who, .. } if who.depth == 0 => Some(who.id.as_str()),
        _ => None,
    });
    let first = first.ok_or_else(|| ModelError::new("no agent of that run had begun", "start it anew"))?;
    let mut talk = StoredConversation::default();
    events.iter().filter(|event| event.agent() == first).for_each(|event| talk.apply(event));
    if talk.messages.is_empty() {
        return Err(ModelError::new("nothing was said in that run", "start it anew"));
    }
    if talk.done {
        return Err(ModelError::new("that run came to its end", "start a new one"));
    }
    let notes = notes(events, first);
    let StoredConversation { messages, results, calls, parked, .. } = talk;
    let pending = pending(results, calls, parked);
    Ok(ResumedRun { messages, pending, notes, spent: spent(events, first) })
}

/// A conversation, heard again.
#[derive(Default)]
struct StoredConversation {
    messages: Vec<Message>,
    results: Vec<Answered>,
    calls: Vec<RequestedCall>,
    parked: bool,
    done: bool,
}

impl StoredConversation {
    fn apply(&mut self, event: &Event) {
        match event {
            Event::Told { text, .. } => {
                self.settle();
                self.messages.push(Message::User { text: text.clone() });
            }
            Event::Turn { turn, .. } => {
                self.settle();
                self.calls.clone_from(&turn.calls);
                self.messages.push(Message::Model(turn.clone()));
            }
            Event::Called { result, .. } => {
                self.parked = false;
                self.results.push(result.clone());
            }
            Event::Parked { .. } => self.parked = true,
            Event::Ended { ending, .. } => self.done = ending.how == crate::event::End::Done,
            Event::Started { .. } => self.done = false,
            Event::Waits { .. } | Event::Delayed { .. } | Event::Compacted { .. } => {}
        }
    }

    /// Puts the results of a turn's calls into the conversation, before any other message.
    fn settle(&mut self) {
        let calls = std::mem::take(&mut self.calls);
        let results = std::mem::take(&mut self.results);
        if !calls.is_empty() {
            let results = answered(results, &calls);
            self.messages.push(Message::Results { results });
        }
    }
}

/// Results for all calls of a turn: a model that called has to hear of each.
fn answered(mut results: Vec<Answered>, calls: &[RequestedCall]) -> Vec<Answered> {
    for call in calls {
        if !results.iter().any(|result| result.id == call.id) {
            results.push(lost(call, "it was not made"));
        }
    }
    results
}

/// Returns the rest of the last turn.
fn pending(mut results: Vec<Answered>, calls: Vec<RequestedCall>, parked: bool) -> Pending {
    let mut left: Vec<RequestedCall> =
        calls.into_iter().filter(|call| !results.iter().any(|result| result.id == call.id)).collect();
    if !parked && !left.is_empty() {
        let begun = left.remove(0);
        results.push(lost(
            &begun,
            "the run broke off; it is not known whether it was done: look before you call again",
        ));
    }
    Pending { results, calls: left }
}

fn lost(call: &RequestedCall, why: &str) -> Answered {
    let short = crate::call_summary::short(&call.tool, &call.input);
    Answered {
        id: call.id.clone(),
        short,
        how: CallOutcome::Failed { why: why.to_owned() },
        text: why.to_owned(),
    }
}

/// Returns the results of agents below of which the first one has not been told.
fn notes(events: &[Event], first: &str) -> Vec<String> {
    let mut below: BTreeMap<&str, (&AgentIdentity, Option<&AgentResult>)> = BTreeMap::new();
    for event in events {
        match event {
            Event::Started { who, .. } if who.parent.as_deref() == Some(first) => {
                below.insert(&who.id, (who, None));
            }
            Event::Ended { agent, ending, .. } => {
                if let Some((_, known)) = below.get_mut(agent.as_str()) {
                    *known = Some(ending);
                }
            }
            _ => {}
        }
    }
    let heard = |told: &str| {
        events.iter().filter(|event| event.agent() == first).any(|event| match event {
            Event::Told { text, .. } => text.contains(told),
            Event::Called { result, .. } => result.text.contains(told),
            _ => false,
        })
    };
    let note = |(who, ending): (&AgentIdentity, Option<&AgentResult>)| match ending {
        Some(ending) => Some(ending.report(who)).filter(|told| !heard(told)),
        None => Some(format!(
            "{} ({}): the run broke off while it worked; what it did up to then stands",
            who.id, who.folder
        )),
    };
    below.into_values().filter_map(note).collect()
}

/// Returns the usage of a run: counted from its events, since a run that broke off has no total.
fn spent(events: &[Event], first: &str) -> UsageTotals {
    let mut all = UsageTotals::default();
    for event in events {
        match event {
            Event::Turn { turn, .. } => {
                all.turns += 1;
                all.input = all.input.saturating_add(turn.usage.input);
                all.output = all.output.saturating_add(turn.usage.output);
                all.cost = all.cost.saturating_add(turn.usage.cost);
            }
            Event::Called { result, .. } => {
                all.bytes = all.bytes.saturating_add(u64::try_from(result.text.len()).unwrap_or(u64::MAX));
                let let_through = !matches!(result.how, CallOutcome::Denied { .. });
                all.fetches +=
                    u64::from(let_through && result.short.starts_with(ToolName::WebFetch.as_str()));
            }
            Event::Started { who, .. } => all.agents += u64::from(who.depth > 0),
            Event::Ended { agent, spent, .. } if agent == first => all.ms = spent.ms,
            _ => {}
        }
    }
    all
}

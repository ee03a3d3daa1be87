//! What waits everywhere, and what became of it: followed by one thread, read by every browser.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use hyper::body::Bytes;
use jiff::Timestamp;
use pinfold::consent::Request;
use pinfold_approvals::socket::{
    ApprovalClientError, EventBatch, ProcessAggregator, ProcessEvent, ProcessEventKind, ProtocolErrorCode,
    RequestSummary,
};
use pinfold_render::visible;
use serde_json::json;
use tokio::sync::watch;

use crate::shown::{Item, event};

/// How much of what is over is remembered for browsers that are slow.
const REMEMBERED: usize = 256;
/// How soon it is noticed that nobody shows the page any more, and what could not be had is tried again.
const LOOK: Duration = Duration::from_millis(500);

/// What waits everywhere.
pub(crate) struct Board {
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct State {
    waits: Vec<Arc<Item>>,
    /// How many items there ever were.
    count: u64,
    /// What became of those that are over, by number, in words that can be shown.
    ended: VecDeque<(u64, String)>,
    /// What whoever answered should know, by number.
    notes: VecDeque<(u64, Bytes)>,
    noted: u64,
}

/// What was heard of and is not on the board.
#[derive(Default)]
struct HeardOf {
    /// Who asks what, without its text so far.
    asked: Vec<(String, RequestSummary)>,
    /// Those who cannot be heard. They are tried again and again, and told of once.
    unheard: HashSet<String>,
}

/// What one browser was told.
#[derive(Default)]
pub(crate) struct Seen {
    is_greeted: bool,
    waits: HashSet<u64>,
    noted: u64,
}

impl Board {
    /// Begins to follow; ends when the board is dropped.
    pub(crate) fn follow(everywhere: &ProcessAggregator) -> io::Result<Arc<Self>> {
        let board = Arc::new(Self { state: Mutex::default(), changed: watch::channel(()).0 });
        let (following, everywhere) = (everywhere.follow()?, everywhere.clone());
        let weak: Weak<Self> = Arc::downgrade(&board);
        thread::Builder::new().name("page-board".to_owned()).spawn(move || {
            let mut heard = HeardOf::default();
            loop {
                let event = following.next(LOOK);
                let Some(board) = weak.upgrade() else { return };
                if let Some(event) = event {
                    board.take(&mut heard, event);
                }
                heard.asked.retain(|(name, waiting)| board.is_not_shown_yet(&everywhere, name, waiting));
            }
        })?;
        Ok(board)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each use leaves it whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hears whenever something is new.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// What a browser has not been told yet, as events.
    pub(crate) fn since(&self, seen: &mut Seen) -> Vec<Bytes> {
        let state = self.state();
        let mut events = Vec::new();
        if !seen.is_greeted {
            *seen = Seen { is_greeted: true, noted: state.noted, ..Seen::default() };
            let waits: Vec<u64> = state.waits.iter().map(|item| item.number).collect();
            events.push(event("hello", &json!({"now": now(), "waits": waits})));
        }
        for item in &state.waits {
            if seen.waits.insert(item.number) {
                events.push(item.event.clone());
            }
        }
        let is_over = |number: &u64| !state.waits.iter().any(|item| item.number == *number);
        for number in seen.waits.extract_if(is_over) {
            let ended = state.ended.iter().find(|(of, _)| *of == number);
            let words = ended.map_or("it is over", |(_, words)| words);
            events.push(event("over", &json!({"number": number, "words": words})));
        }
        let new = state.notes.iter().filter(|(number, _)| *number > seen.noted);
        events.extend(new.map(|(_, note)| note.clone()));
        seen.noted = state.noted;
        events
    }

    fn take(&self, heard: &mut HeardOf, event: ProcessEvent) {
        let ProcessEvent { name, what } = event;
        let asked = &mut heard.asked;
        match what {
            ProcessEventKind::Started => {
                heard.unheard.remove(&name);
            }
            ProcessEventKind::Failed(error) => {
                if heard.unheard.insert(name) {
                    self.note(&error.to_string());
                }
            }
            ProcessEventKind::Ended => {
                asked.retain(|(of, _)| *of != name);
                self.over("the asking process is gone", |item| item.name == name);
            }
            ProcessEventKind::Changes(EventBatch { asked: new, over, notes }) => {
                asked.extend(new.into_iter().map(|waiting| (name.clone(), waiting)));
                for over in over {
                    asked.retain(|(of, waiting)| *of != name || waiting.digest != over.digest);
                    let is_it = |item: &Item| item.name == name && item.digest == over.digest;
                    self.over(&over.how.describe(), is_it);
                }
                for note in notes {
                    self.note(&format!("{}: {}", note.id, note.text));
                }
            }
        }
    }

    /// Gets the text of what was asked and puts it on the board. `true` when that is to be tried again: whoever asks
    /// was busy.
    fn is_not_shown_yet(&self, everywhere: &ProcessAggregator, name: &str, waiting: &RequestSummary) -> bool {
        match everywhere.connect(name).and_then(|mut client| client.show(&waiting.id)) {
            Ok(request) if request.digest == waiting.digest => self.put(name, waiting, &request),
            // Another one by now, or over: of that we hear.
            Ok(_) => {}
            Err(ApprovalClientError::Rejected(trouble)) => return trouble.code == ProtocolErrorCode::Busy,
            Err(ApprovalClientError::Io { .. } | ApprovalClientError::UnexpectedReply(_)) => return true,
        }
        false
    }

    fn put(&self, name: &str, waiting: &RequestSummary, request: &Request) {
        let number = {
            let mut state = self.state();
            state.count += 1;
            state.count
        };
        // It may be long: nobody waits meanwhile.
        let item = Arc::new(Item::of(number, name, waiting, request));
        self.state().waits.push(item);
        self.changed.send_replace(());
    }

    fn over(&self, words: &str, is_it: impl Fn(&Item) -> bool) {
        let mut state = self.state();
        let ended: Vec<Arc<Item>> = state.waits.extract_if(.., |item| is_it(item)).collect();
        for item in &ended {
            remember(&mut state.ended, (item.number, visible(words)));
        }
        drop(state);
        self.changed.send_replace(());
    }

    fn note(&self, text: &str) {
        let mut state = self.state();
        state.noted += 1;
        let note = (state.noted, event("note", &json!({"text": visible(text)})));
        remember(&mut state.notes, note);
        drop(state);
        self.changed.send_replace(());
    }
}

fn remember<T>(all: &mut VecDeque<T>, one: T) {
    if all.len() == REMEMBERED {
        all.pop_front();
    }
    all.push_back(one);
}

fn now() -> i64 {
    Timestamp::now().as_millisecond()
}

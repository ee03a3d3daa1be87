//! The pending requests of all processes and their resolutions: collected by one thread, read by every browser.

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

use crate::request_json::{BoardItem, event};

/// Resolutions that are kept for slow browsers.
const REMEMBERED: usize = 256;
/// The interval at which the page's end is noticed, and failed fetches are repeated.
const LOOK: Duration = Duration::from_millis(500);

/// All pending requests.
pub(crate) struct RequestBoard {
    state: Mutex<BoardState>,
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct BoardState {
    waits: Vec<Arc<BoardItem>>,
    /// The number of items so far.
    count: u64,
    /// Resolutions by number, as text that can be shown.
    ended: VecDeque<(u64, String)>,
    /// Messages for the approver, by number.
    notes: VecDeque<(u64, Bytes)>,
    noted: u64,
}

/// Events whose requests are not on the board yet.
#[derive(Default)]
struct IncompleteRequests {
    /// Requests without their full text so far.
    asked: Vec<(String, RequestSummary)>,
    /// Processes that cannot be watched. They are retried, and reported once.
    unheard: HashSet<String>,
}

/// The position of one browser.
#[derive(Default)]
pub(crate) struct BoardPosition {
    is_greeted: bool,
    waits: HashSet<u64>,
    noted: u64,
}

impl RequestBoard {
    /// Starts to collect; ends when the board is dropped.
    pub(crate) fn follow(everywhere: &ProcessAggregator) -> io::Result<Arc<Self>> {
        let board = Arc::new(Self { state: Mutex::default(), changed: watch::channel(()).0 });
        let (following, everywhere) = (everywhere.follow()?, everywhere.clone());
        let weak: Weak<Self> = Arc::downgrade(&board);
        thread::Builder::new().name("page-board".to_owned()).spawn(move || {
            let mut heard = IncompleteRequests::default();
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

    fn state(&self) -> MutexGuard<'_, BoardState> {
        // A panic cannot leave the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notifies of every change.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// The events that a browser has not received yet.
    pub(crate) fn take_new_events(&self, seen: &mut BoardPosition) -> Vec<Bytes> {
        let state = self.state();
        let mut events = Vec::new();
        if !seen.is_greeted {
            *seen = BoardPosition { is_greeted: true, noted: state.noted, ..BoardPosition::default() };
            let waits: Vec<u64> = state.waits.iter().map(|item| item.number).collect();
            events.push(event("hello", &json!({"now": now_millis(), "waits": waits})));
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

    fn take(&self, heard: &mut IncompleteRequests, event: ProcessEvent) {
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
                self.remove_items("the asking process is gone", |item| item.name == name);
            }
            ProcessEventKind::Changes(EventBatch { asked: new, over, notes }) => {
                asked.extend(new.into_iter().map(|waiting| (name.clone(), waiting)));
                for over in over {
                    asked.retain(|(of, waiting)| *of != name || waiting.digest != over.digest);
                    let is_it = |item: &BoardItem| item.name == name && item.digest == over.digest;
                    self.remove_items(&over.how.describe(), is_it);
                }
                for note in notes {
                    self.note(&format!("{}: {}", note.id, note.text));
                }
            }
        }
    }

    /// Fetches a request in full and puts it on the board. `true` when that has to be repeated: the process was busy.
    fn is_not_shown_yet(&self, everywhere: &ProcessAggregator, name: &str, waiting: &RequestSummary) -> bool {
        match everywhere.connect(name).and_then(|mut client| client.show(&waiting.id)) {
            Ok(request) if request.digest == waiting.digest => self.put(name, waiting, &request),
            // It is another request by now, or resolved: an event reports that.
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
        // The fetch can be slow, so no lock is held.
        let item = Arc::new(BoardItem::new(number, name, waiting, request));
        self.state().waits.push(item);
        self.changed.send_replace(());
    }

    fn remove_items(&self, words: &str, is_it: impl Fn(&BoardItem) -> bool) {
        let mut state = self.state();
        let ended: Vec<Arc<BoardItem>> = state.waits.extract_if(.., |item| is_it(item)).collect();
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

fn now_millis() -> i64 {
    Timestamp::now().as_millisecond()
}

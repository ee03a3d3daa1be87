//! One request after the other, in the dialog, until the user ends it.

use std::cell::RefCell;
use std::io;
use std::mem;
use std::process::ExitCode;
use std::time::Duration;

use crate::output::visible;
use pinfold::consent::{Choice, Request};
use pinfold_approvals::socket::{
    ApprovalClientError, EventBatch, ProcessAggregator, ProcessEvent, ProcessEventKind, ProcessEvents,
    RequestSummary,
};
use pinfold_terminal::ExclusiveTty;
use pinfold_terminal::dialog::{DialogOutcome, DialogStyle, ExternalState, show as show_dialog};

use crate::env;
use crate::exit::{DONE, FAILED, Failure};
use crate::output;

/// Interval between looks for something new.
const LOOK: Duration = Duration::from_secs(1);

pub(super) fn show(everywhere: &ProcessAggregator) -> Result<ExitCode, Failure> {
    let failed = |e| Failure::new(FAILED, format!("cannot watch sessions: {e}"));
    let terminal = ApprovalTerminal {
        everywhere,
        following: everywhere.follow().map_err(failed)?,
        known: RefCell::default(),
    };
    output::out("waiting for questions; end with Ctrl-C\n")?;
    loop {
        terminal.receive(LOOK);
        while let Some((name, waiting)) = terminal.next() {
            let asked = terminal.ask(&name, &waiting);
            terminal.print_notes();
            match asked {
                Ok(PromptOutcome::Settled) => {}
                Ok(PromptOutcome::Busy) => {
                    terminal.known.borrow_mut().open.push((name, waiting));
                    break;
                }
                Ok(PromptOutcome::Gone) => return Ok(ExitCode::from(DONE)),
                Err(why) => output::warn(visible(&why)),
            }
        }
        terminal.print_notes();
    }
}

/// Outcome of showing a request.
enum PromptOutcome {
    /// Answered, here or elsewhere, or over.
    Settled,
    /// This process is in the background of its terminal. The request is shown when it is in the foreground again.
    Busy,
    /// The terminal has hung up.
    Gone,
}

/// Pending requests, as far as they are known.
#[derive(Default)]
struct KnownRequests {
    /// The process, the request.
    open: Vec<(String, RequestSummary)>,
    /// The one that is on the screen, by its process and its digest.
    shown: Option<(String, String)>,
    /// Outcome of that one.
    over: Option<String>,
    /// Messages for when no dialog has the terminal.
    told: Vec<String>,
}

impl KnownRequests {
    fn take(&mut self, ProcessEvent { name, what }: ProcessEvent) {
        match what {
            ProcessEventKind::Started => {}
            ProcessEventKind::Failed(error) => self.told.push(error.to_string()),
            ProcessEventKind::Ended => {
                self.open.retain(|(of, _)| *of != name);
                if self.shown.as_ref().is_some_and(|(of, _)| *of == name) {
                    self.over = Some("the asking process is gone".to_owned());
                }
            }
            ProcessEventKind::Changes(heard) => self.apply(&name, heard),
        }
    }

    fn apply(&mut self, name: &str, heard: EventBatch) {
        self.open.extend(heard.asked.into_iter().map(|waiting| (name.to_owned(), waiting)));
        for over in heard.over {
            self.open.retain(|(of, waiting)| of != name || waiting.digest != over.digest);
            if self.shown.as_ref().is_some_and(|(of, digest)| of == name && *digest == over.digest) {
                self.over = Some(over.how.describe());
            }
        }
        self.told.extend(heard.notes.into_iter().map(|note| format!("{}: {}", note.id, note.text)));
    }
}

struct ApprovalTerminal<'a> {
    everywhere: &'a ProcessAggregator,
    following: ProcessEvents,
    known: RefCell<KnownRequests>,
}

impl ApprovalTerminal<'_> {
    /// Takes in what is new, waiting for it no longer than `most`.
    fn receive(&self, most: Duration) {
        let mut most = most;
        while let Some(event) = self.following.next(most) {
            most = Duration::ZERO;
            self.known.borrow_mut().take(event);
        }
    }

    /// Tells what was kept back while a dialog had the terminal.
    fn print_notes(&self) {
        let told = mem::take(&mut self.known.borrow_mut().told);
        told.into_iter().map(|text| visible(&text)).for_each(output::warn);
    }

    /// The one that was asked first; it is taken off the list, so that one that is left alone is not shown again and
    /// again.
    fn next(&self) -> Option<(String, RequestSummary)> {
        let open = &mut self.known.borrow_mut().open;
        let (first, _) = open.iter().enumerate().min_by_key(|(_, (_, waiting))| waiting.asked_at)?;
        Some(open.swap_remove(first))
    }

    /// Asks about one.
    fn ask(&self, name: &str, waiting: &RequestSummary) -> Result<PromptOutcome, String> {
        let connect = || self.everywhere.connect(name).map(|client| client.with_name(env::user()));
        let text = |e: ApprovalClientError| e.to_string();
        // It may be over by the time that it would be shown.
        let Ok(request) = connect().and_then(|mut client| client.show(&waiting.id)) else {
            return Ok(PromptOutcome::Settled);
        };
        if request.digest != waiting.digest {
            return Ok(PromptOutcome::Settled);
        }
        match self.dialog(name, &request).map_err(|e| format!("this terminal cannot be used: {e}"))? {
            None => Ok(PromptOutcome::Busy),
            Some(DialogOutcome::Gone) => Ok(PromptOutcome::Gone),
            Some(DialogOutcome::Over | DialogOutcome::Silence) => Ok(PromptOutcome::Settled),
            Some(DialogOutcome::Chosen(choice)) => {
                let words = choice_text(&choice);
                connect().and_then(|mut c| c.answer(&request.id, &request.digest, choice)).map_err(text)?;
                output::out(&format!("{}: {words}\n", visible(&request.id))).map_err(|e| e.message)?;
                Ok(PromptOutcome::Settled)
            }
        }
    }

    /// Shows one; `None` when the terminal is another program's at the moment.
    fn dialog(&self, name: &str, request: &Request) -> io::Result<Option<DialogOutcome>> {
        let mut stage = match ExclusiveTty::open() {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let mark = |shown| {
            let known = &mut *self.known.borrow_mut();
            (known.shown, known.over) = (shown, None);
        };
        mark(Some((name.to_owned(), request.digest.clone())));
        let look = DialogStyle { colours: std::env::var_os("NO_COLOR").is_none_or(|no| no.is_empty()) };
        let shown = show_dialog(&mut stage, request, look, &|| self.external_state());
        mark(None);
        shown.map(Some)
    }

    fn external_state(&self) -> ExternalState {
        self.receive(Duration::ZERO);
        let known = self.known.borrow();
        ExternalState { waiting: known.open.len() + 1, over: known.over.clone() }
    }
}

fn choice_text(choice: &Choice) -> &'static str {
    match choice {
        Choice::Yes => "yes",
        Choice::Session { .. } => "yes, all of this kind this session",
        Choice::Always { .. } => "always",
        Choice::No { .. } => "no",
    }
}

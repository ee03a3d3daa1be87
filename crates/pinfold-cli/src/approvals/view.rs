//! One request after the other, in the dialog, until somebody ends it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::process::ExitCode;
use std::time::Duration;

use pinfold::consent::{Choice, Request};
use pinfold_approvals::socket::{Event, Everywhere, Following, Waiting, What};
use pinfold_terminal::dialog::{Look, Meanwhile, Shown, show as show_dialog};
use pinfold_terminal::{Alone, visible};

use crate::exit::{DONE, FAILED, Failure};
use crate::say;
use crate::surroundings;

/// How often it is looked for something new.
const LOOK: Duration = Duration::from_secs(1);

pub(super) fn show(everywhere: &Everywhere) -> Result<ExitCode, Failure> {
    let failed = |e| Failure::new(FAILED, format!("nobody can be followed: {e}"));
    let desk =
        Desk { everywhere, following: everywhere.follow().map_err(failed)?, known: RefCell::default() };
    say::out("waiting for questions; end with Ctrl-C\n")?;
    loop {
        desk.hear(LOOK);
        while let Some((name, waiting)) = desk.next() {
            match desk.ask(&name, &waiting) {
                Ok(Asked::Settled) => {}
                Ok(Asked::Busy) => {
                    desk.known.borrow_mut().open.push((name, waiting));
                    break;
                }
                Ok(Asked::Gone) => return Ok(ExitCode::from(DONE)),
                Err(why) => say::warn(visible(&why)),
            }
        }
    }
}

/// What came of showing a request.
enum Asked {
    /// It is answered, here or elsewhere, or over.
    Settled,
    /// This process is in the background of its terminal. It is asked when somebody brings it back.
    Busy,
    /// Nobody is at this terminal any more.
    Gone,
}

/// What is known of what waits.
#[derive(Default)]
struct Known {
    /// The process, the request.
    open: Vec<(String, Waiting)>,
    /// What became of those that are over, by process and digest.
    over: HashMap<(String, String), String>,
}

struct Desk<'a> {
    everywhere: &'a Everywhere,
    following: Following,
    known: RefCell<Known>,
}

impl Desk<'_> {
    /// Takes in what is new, waiting for it no longer than `most`.
    fn hear(&self, most: Duration) {
        let mut most = most;
        while let Some(Event { name, what }) = self.following.next(most) {
            most = Duration::ZERO;
            let mut known = self.known.borrow_mut();
            match what {
                What::Came => {}
                What::Trouble(error) => say::warn(visible(&error.to_string())),
                What::Went => {
                    let (gone, rest) = known.open.drain(..).partition(|(of, _)| *of == name);
                    known.open = rest;
                    let gone: Vec<(String, Waiting)> = gone;
                    let told = |(of, waiting): (String, Waiting)| {
                        ((of, waiting.digest), "whoever asked is gone".to_owned())
                    };
                    known.over.extend(gone.into_iter().map(told));
                }
                What::Heard(heard) => {
                    known.open.extend(heard.asked.into_iter().map(|waiting| (name.clone(), waiting)));
                    for over in heard.over {
                        known.open.retain(|(of, waiting)| *of != name || waiting.digest != over.digest);
                        known.over.insert((name.clone(), over.digest), over.how.words());
                    }
                    for note in heard.notes {
                        say::warn(format_args!("{}: {}", visible(&note.id), visible(&note.text)));
                    }
                }
            }
        }
    }

    /// The one that was asked first; it is taken off the list, so that one that is left alone is not shown again and
    /// again.
    fn next(&self) -> Option<(String, Waiting)> {
        let open = &mut self.known.borrow_mut().open;
        let (first, _) = open.iter().enumerate().min_by_key(|(_, (_, waiting))| waiting.asked_at)?;
        Some(open.swap_remove(first))
    }

    /// Asks about one.
    fn ask(&self, name: &str, waiting: &Waiting) -> Result<Asked, String> {
        let connect = || self.everywhere.connect(name).map(|client| client.named(surroundings::user()));
        let text = |e: pinfold_approvals::socket::ClientError| e.to_string();
        // It may be over by the time that it would be shown.
        let Ok(request) = connect().and_then(|mut client| client.show(&waiting.id)) else {
            return Ok(Asked::Settled);
        };
        if request.digest != waiting.digest {
            return Ok(Asked::Settled);
        }
        let mut stage = match Alone::open() {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Asked::Busy),
            opened => opened.map_err(|e| format!("this terminal cannot be used: {e}"))?,
        };
        let look = Look { colours: std::env::var_os("NO_COLOR").is_none_or(|no| no.is_empty()) };
        let shown = show_dialog(&mut stage, &request, look, &|| self.meanwhile(name, &request));
        drop(stage);
        match shown.map_err(|e| format!("this terminal cannot be used: {e}"))? {
            Shown::Gone => Ok(Asked::Gone),
            Shown::Over | Shown::Silence => Ok(Asked::Settled),
            Shown::Chosen(choice) => {
                let words = said(&choice);
                connect().and_then(|mut c| c.answer(&request.id, &request.digest, choice)).map_err(text)?;
                say::out(&format!("{}: {words}\n", visible(&request.id))).map_err(|e| e.message)?;
                Ok(Asked::Settled)
            }
        }
    }

    fn meanwhile(&self, name: &str, request: &Request) -> Meanwhile {
        self.hear(Duration::ZERO);
        let known = self.known.borrow();
        let over = known.over.get(&(name.to_owned(), request.digest.clone())).cloned();
        Meanwhile { waiting: known.open.len() + 1, over }
    }
}

fn said(choice: &Choice) -> &'static str {
    match choice {
        Choice::Yes => "yes",
        Choice::Session { .. } => "yes, all of this kind this session",
        Choice::Always { .. } => "always",
        Choice::No { .. } => "no",
    }
}

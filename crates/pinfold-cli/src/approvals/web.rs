//! The page, and the codes with which browsers are paired.

use std::io::{BufRead as _, ErrorKind, stdin};
use std::process::ExitCode;
use std::thread;

use pinfold_approvals::socket::ProcessAggregator;
use pinfold_page::{Page, PageEvent};

use crate::env;
use crate::exit::{FAILED, Failure, USAGE};
use crate::output;

/// Serves until the process is killed.
pub(super) fn serve(everywhere: ProcessAggregator, port: Option<u16>) -> Result<ExitCode, Failure> {
    let page = Page::open(everywhere, port, env::user(), print_event).map_err(|e| cannot(&e, port))?;
    output::out(&format!("{}\n", page.address()))?;
    code(&page)?;
    for line in stdin().lock().lines() {
        if line.is_err() {
            break;
        }
        code(&page)?;
    }
    // Standard input has ended: no new code can be requested; paired browsers go on.
    loop {
        thread::park();
    }
}

fn code(page: &Page) -> Result<(), Failure> {
    let code = page.new_code().map_err(|e| Failure::new(FAILED, format!("there is no pairing code: {e}")))?;
    output::out(&format!(
        "pairing code: {code}  (once, within five minutes; Enter makes another, Ctrl-C ends)\n"
    ))
}

fn print_event(news: PageEvent) {
    output::warn(match news {
        PageEvent::Paired => "a browser was paired",
        PageEvent::CodeDied => "too many wrong codes: this one is invalid now\npress Enter for another",
    });
}

fn cannot(error: &std::io::Error, port: Option<u16>) -> Failure {
    match (port, error.kind()) {
        (Some(port), ErrorKind::AddrInUse) => {
            Failure::new(USAGE, format!("port {port} is taken")).mend("name another with --port")
        }
        (Some(port), ErrorKind::PermissionDenied) => {
            Failure::new(USAGE, format!("permission denied: port {port}")).mend("name one above 1023")
        }
        _ => Failure::new(FAILED, format!("the page cannot be served: {error}")),
    }
}

//! `pinfold approvals`: what waits for an answer in all sessions that run.

pub(crate) mod full_text;
mod list;
mod view;
mod web;

use std::io::{IsTerminal as _, stderr, stdin, stdout};
use std::process::ExitCode;

use pinfold_approvals::socket::{ApproverPresence, ProcessAggregator, SocketDir};

use crate::args::Approvals;
use crate::env;
use crate::exit::{Failure, USAGE};

pub(crate) fn approvals(wanted: &Approvals) -> Result<ExitCode, Failure> {
    let homes = env::socket_homes();
    if wanted.web {
        let _here = present()?;
        return web::serve(ProcessAggregator::new(&homes), wanted.port);
    }
    if wanted.watch {
        let _here = present()?;
        return list::watch(&ProcessAggregator::new(&homes), wanted.json);
    }
    let terminals = stdin().is_terminal() && stdout().is_terminal() && stderr().is_terminal();
    if terminals && !wanted.list && !wanted.json {
        let _here = present()?;
        return view::show(&ProcessAggregator::new(&homes));
    }
    list::list(&ProcessAggregator::new(&homes), wanted.json)
}

/// Announces an approver in every directory in which processes look for one.
fn present() -> Result<Vec<ApproverPresence>, Failure> {
    let homes = env::socket_homes();
    let cannot = |why: String| {
        Failure::new(USAGE, format!("cannot reach sessions from here: {why}"))
            .mend("set XDG_RUNTIME_DIR or HOME to directories of your own")
    };
    homes.create_all();
    let mut places = SocketDir::all(&homes);
    if places.is_empty() {
        places.push(SocketDir::open(&homes).map_err(|e| cannot(e.to_string()))?);
    }
    let here: std::io::Result<Vec<ApproverPresence>> =
        places.iter().map(SocketDir::register_approver).collect();
    here.map_err(|e| cannot(e.to_string()))
}

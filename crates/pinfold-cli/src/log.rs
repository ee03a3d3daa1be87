//! `pinfold log`: the record, as lines for a person or for a program.

pub(crate) mod filter;
pub(crate) mod format;
mod settled;
mod stats;
mod verify;

use std::collections::VecDeque;
use std::iter;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use pinfold::audit::LogReader;
use pinfold::audit::read::AuditLine;

use crate::args::{Log, LogCommand};
use crate::exit::{DONE, Failure};
use crate::{output, record};
use filter::LogFilter;
use settled::{RefusedLater, Settling};

pub(crate) fn log(wanted: &Log) -> Result<ExitCode, Failure> {
    match &wanted.command {
        Some(LogCommand::Verify(asked)) => verify::verified(asked),
        Some(LogCommand::Acknowledge(asked)) => verify::acknowledged(asked),
        Some(LogCommand::Stats(asked)) => stats::stats(asked),
        None => list(wanted),
    }
}

/// Interval between looks for new lines.
const LOOK: Duration = Duration::from_millis(200);

/// Lines that `--follow` begins with where neither their number nor a moment is given, as `tail -f` does.
const LAST_OF_FOLLOWED: usize = 10;

/// Lines among which these are looked for: a filter that few lines pass does not read the whole record first.
const LOOKED_THROUGH: usize = 1000;

fn list(wanted: &Log) -> Result<ExitCode, Failure> {
    let filter = LogFilter::new(&wanted.filters)?.only_decisions(!wanted.all);
    let show = |line: &AuditLine, text: &str| {
        if wanted.json { format!("{text}\n") } else { format::format_line(line, wanted.verbose) }
    };
    // Lines of the audit log are printed as they stand: hashes are over their bytes.
    let print = |text: &str| if wanted.json { output::data(text) } else { output::out(text) };
    let mut reader = record::reader()?;
    let print_line = |line: &AuditLine, text: &str| {
        if filter.takes(line) { print(&show(line, text)) } else { Ok(()) }
    };
    let print_new = |reader: &mut LogReader| {
        if wanted.json {
            return record::each_line(reader, |line, text| print_line(&line, text));
        }
        let mut settling = Settling::default();
        record::each_line(reader, |line, text| {
            settling.take(line, text);
            iter::from_fn(|| settling.next_settled()).try_for_each(|(line, text)| print_line(&line, &text))
        })?;
        iter::from_fn(|| settling.next()).try_for_each(|(line, text)| print_line(&line, &text))
    };
    let last = match (wanted.last, filter.earliest()) {
        (Some(most), _) => Some((most, usize::MAX)),
        (None, None) if wanted.follow => Some((LAST_OF_FOLLOWED, LOOKED_THROUGH)),
        (None, _) => None,
    };
    if let Some((most, looked_through)) = last {
        let mut kept: VecDeque<String> = VecDeque::new();
        let mut seen = 0;
        let mut later = RefusedLater::default();
        record::each_from_end(&mut reader, |mut line, text| {
            seen += 1;
            if !wanted.json {
                later.settle(&mut line);
            }
            if kept.len() < most && filter.takes(&line) {
                kept.push_front(show(&line, text));
            }
            let enough = kept.len() >= most || seen >= looked_through;
            if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        kept.iter().try_for_each(|text| print(text))?;
    } else {
        if let Some(since) = filter.earliest() {
            reader.skip_before(since).map_err(|e| record::unreadable(&e))?;
        }
        print_new(&mut reader)?;
    }
    if reader.unfinished() > 0 {
        let bytes = reader.unfinished();
        output::warn(format_args!("{bytes} bytes at the end are no whole line: being written, or cut off"));
    }
    if !wanted.follow {
        return Ok(ExitCode::from(DONE));
    }
    loop {
        thread::sleep(LOOK);
        print_new(&mut reader)?;
    }
}

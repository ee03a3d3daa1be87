//! `pinfold log`: the record, as lines for a person or for a program.

pub(crate) mod filter;
pub(crate) mod format;
mod stats;

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use pinfold::audit::read::AuditLine;
use pinfold::audit::{Hash, LogReader, Misfit, Verified, ledger, verify};

use crate::args::{Log, LogCommand, Verify};
use crate::exit::{DONE, FAILED, Failure, USAGE};
use crate::{output, record};
use filter::LogFilter;

pub(crate) fn log(wanted: &Log) -> Result<ExitCode, Failure> {
    match &wanted.command {
        Some(LogCommand::Verify(asked)) => verified(asked),
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
        if wanted.json { format!("{text}\n") } else { format::told(line, wanted.verbose) }
    };
    let mut reader = record::reader()?;
    let print_new =
        |reader: &mut LogReader| {
            record::each_line(reader, |line, text| {
                if filter.takes(&line) { output::out(&show(&line, text)) } else { Ok(()) }
            })
        };
    let last = match (wanted.last, filter.earliest()) {
        (Some(most), _) => Some((most, usize::MAX)),
        (None, None) if wanted.follow => Some((LAST_OF_FOLLOWED, LOOKED_THROUGH)),
        (None, _) => None,
    };
    if let Some((most, looked_through)) = last {
        let mut kept: VecDeque<String> = VecDeque::new();
        let mut seen = 0;
        record::each_from_end(&mut reader, |line, text| {
            seen += 1;
            if kept.len() < most && filter.takes(&line) {
                kept.push_front(show(&line, text));
            }
            let enough = kept.len() >= most || seen >= looked_through;
            if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        kept.iter().try_for_each(|text| output::out(text))?;
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

fn verified(asked: &Verify) -> Result<ExitCode, Failure> {
    let head = asked.head.as_deref().map(|text| {
        Hash::parse(text).ok_or_else(|| {
            Failure::new(USAGE, "--head is not a valid hash")
                .mend("write the 64 digits that `verify` printed")
        })
    });
    let directory = record::directory()?;
    let files = ledger::opened(&directory).map_err(|e| record::unreadable(&e))?;
    // The name of the machine is made with the first line.
    if files.is_empty() && directory.join(ledger::MACHINE).exists() {
        output::out(&if asked.json {
            format!("{}\n", serde_json::json!({"holds": false, "missing": true}))
        } else {
            MISSING.to_owned()
        })?;
        return Ok(ExitCode::from(FAILED));
    }
    let found = verify(&files, head.transpose()?).map_err(|e| record::unreadable(&e))?;
    if asked.json {
        let value = match &found {
            Ok(verified) => serde_json::json!({"holds": true, "found": verified}),
            Err(misfit) => serde_json::json!({"holds": false, "misfit": misfit}),
        };
        output::out(&format!("{value}\n"))?;
    } else {
        output::out(&match &found {
            Ok(verified) => holds(verified, files.len()),
            Err(misfit) => breaks(misfit),
        })?;
    }
    Ok(ExitCode::from(if found.is_ok() { DONE } else { FAILED }))
}

fn holds(found: &Verified, files: usize) -> String {
    let Some(head) = &found.head else { return "nothing has been recorded yet\n".to_owned() };
    let (first, last) = (found.first, found.last);
    let mut text = format!(
        "the chain holds: {} lines in {files} {}, numbers {first} to {last}\n  each follows the one before: between the first and the last none was changed, taken out, put in or moved\n",
        found.lines,
        if files == 1 { "file" } else { "files" },
    );
    if first > 1 {
        let _ =
            writeln!(text, "lines before number {first} are not there: put aside long ago, or taken away");
    }
    if found.old > 0 {
        let _ = writeln!(text, "{} lines before it are of version 1, which had no chain", found.old);
    }
    if found.torn > 0 {
        let _ = writeln!(text, "{} lines were left unfinished and closed off", found.torn);
    }
    if found.unfinished > 0 {
        let _ = writeln!(text, "{} bytes at the end are no whole line", found.unfinished);
    }
    match found.known {
        Some(known) => {
            let _ = writeln!(text, "the head that you kept is line {known}: up to it all is as it was then");
            let _ = writeln!(
                text,
                "not shown: whether lines behind number {last} were cut off, or that line was changed"
            );
        }
        None => text.push_str(NOT_SHOWN),
    }
    let _ = writeln!(text, "head {head}\n  kept elsewhere, it shows whether lines at the end go missing");
    text
}

const MISSING: &str =
    "the record is not there: this machine has written one, and all its files were taken away\n";

/// Remark about what a chain cannot show by itself.
const NOT_SHOWN: &str = "not shown without a head that was kept elsewhere (--head): whether lines at the end were cut off, the last one \
                         was changed, or the whole chain was made anew\n";

fn breaks(misfit: &Misfit) -> String {
    format!(
        "the chain does not hold\n  {}\n  lines before this one follow each other; this one and those after it prove nothing\n",
        output::lines(&misfit.to_string())
    )
}

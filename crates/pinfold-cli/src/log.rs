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
use pinfold::audit::{Hash, LogReader, Verified, ledger, verify};

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
        if wanted.json { format!("{text}\n") } else { format::format_line(line, wanted.verbose) }
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
        let misfit = found.first_misfit().map(|misfit| serde_json::json!(misfit));
        let mut value = serde_json::json!({"holds": found.holds(), "found": found});
        value.as_object_mut().zip(misfit).map(|(value, misfit)| value.insert("misfit".to_owned(), misfit));
        output::out(&format!("{value}\n"))?;
    } else {
        output::out(&describe(&found, files.len()))?;
    }
    Ok(ExitCode::from(if found.holds() { DONE } else { FAILED }))
}

fn describe(found: &Verified, files: usize) -> String {
    if found.head.is_none() && found.breaks.is_empty() {
        return "nothing has been recorded yet\n".to_owned();
    }
    let (first, last, lines) = (found.first, found.last, found.lines);
    let files = format!("{files} {}", if files == 1 { "file" } else { "files" });
    let mut text = if found.breaks.is_empty() {
        format!(
            "the chain holds: {lines} lines in {files}, numbers {first} to {last}\n  each follows the one before: between the first and the last none was changed, taken out, put in or moved\n"
        )
    } else {
        breaks(found, &files)
    };
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
        Some(known) if found.holds() => {
            let _ = writeln!(text, "the head that you kept is line {known}: up to it all is as it was then");
            let _ = writeln!(
                text,
                "not shown: whether lines behind number {last} were cut off, or that line was changed"
            );
        }
        Some(_) => {}
        None => text.push_str(NOT_SHOWN),
    }
    if let Some(head) = &found.head {
        let _ = writeln!(text, "head {head}\n  kept elsewhere, it shows whether lines at the end go missing");
    }
    text
}

const MISSING: &str =
    "the record is not there: this machine has written one, and all its files were taken away\n";

/// Remark about what a chain cannot show by itself.
const NOT_SHOWN: &str = "not shown without a head that was kept elsewhere (--head): whether lines at the end were cut off, the last one \
                         was changed, or the whole chain was made anew\n";

/// The breaks of a chain, each with the lines behind it.
fn breaks(found: &Verified, files: &str) -> String {
    let mut text = if found.holds() {
        "the chain holds but for damage from before the head that you kept\n".to_owned()
    } else {
        "the chain does not hold\n".to_owned()
    };
    for (index, at) in found.breaks.iter().enumerate() {
        let until = found.breaks.get(index + 1).map_or("to the end", |_| "to the next break");
        let _ = writeln!(text, "  {}", output::lines(&at.misfit.to_string()));
        let _ = match (at.noted_by, at.goes_on) {
            (Some(number), _) => writeln!(
                text,
                "    damage that the journal found at its end and noted in line {number}: lines before it and, from there {until}, behind it follow each other"
            ),
            (None, Some(number)) => writeln!(
                text,
                "    nothing notes it: lines were changed, taken out or put in. From number {number} {until} they follow each other, which proves nothing about the lines before"
            ),
            (None, None) => writeln!(text, "    this line and those after it, {until}, prove nothing"),
        };
    }
    if found.omitted_breaks > 0 {
        let _ = writeln!(text, "  and {} more", found.omitted_breaks);
    }
    let _ = writeln!(text, "{} lines in {files}, numbers {} to {}", found.lines, found.first, found.last);
    if !found.holds() && found.breaks.iter().all(|at| at.noted_by.is_some()) {
        text.push_str(
            "keep the head below: `pinfold log verify --head HASH` then reports later damage alone\n",
        );
    }
    text
}

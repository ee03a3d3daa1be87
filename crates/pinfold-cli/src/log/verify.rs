//! `pinfold log verify` and `pinfold log acknowledge`: the chain of the audit log, and its breaks.

use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use pinfold::audit::{CannotAcknowledge, ChainBreak, Hash, Limits, Verified, ledger, verify};
use pinfold::policy::settings::Flags;

use crate::args::{Acknowledge, Verify};
use crate::exit::{DONE, FAILED, Failure, REFUSED, USAGE};
use crate::{env, output, record, settings};

pub(super) fn verified(asked: &Verify) -> Result<ExitCode, Failure> {
    let head = asked.head.as_deref().map(|text| {
        Hash::parse(text).ok_or_else(|| {
            Failure::new(USAGE, "--head is not a valid hash")
                .mend("write the 64 digits that `verify` printed")
        })
    });
    let directory = record::directory()?;
    let files = opened(&directory)?;
    // The name of the machine is made with the first line.
    if files.is_empty() && directory.join(ledger::MACHINE).exists() {
        output::out(&if asked.json {
            output::json_line(&serde_json::json!({"holds": false, "missing": true}))
        } else {
            MISSING.to_owned()
        })?;
        return Ok(ExitCode::from(FAILED));
    }
    let found = verify(&files, head.transpose()?).map_err(|e| record::unreadable(&e))?;
    if asked.json {
        let mismatch = found.first_mismatch().map(|mismatch| serde_json::json!(mismatch));
        let mut value = serde_json::json!({"holds": found.holds(), "found": found});
        value
            .as_object_mut()
            .zip(mismatch)
            .map(|(value, mismatch)| value.insert("mismatch".to_owned(), mismatch));
        output::out(&output::json_line(&value))?;
    } else {
        output::out(&describe(&found, files.len()))?;
    }
    Ok(ExitCode::from(if found.holds() { DONE } else { FAILED }))
}

fn opened(directory: &Path) -> Result<Vec<(PathBuf, File)>, Failure> {
    ledger::opened(directory).map_err(|e| record::unreadable(&e))
}

/// Acknowledges the breaks that are there. Nothing is written where there are none.
pub(super) fn acknowledged(asked: &Acknowledge) -> Result<ExitCode, Failure> {
    if env::is_inside_another() {
        return Err(Failure::new(REFUSED, "breaks of the audit log are not acknowledged from inside a run")
            .mend("do it outside"));
    }
    let files = opened(&record::directory()?)?;
    if verify(&files, None).map_err(|e| record::unreadable(&e))?.holds() {
        output::out("the chain has no break to acknowledge\n")?;
        return Ok(ExitCode::from(DONE));
    }
    let settings = settings::read_quietly(&settings::locations(None)?, &Flags::default())?;
    let ledger = record::ledger(Limits::from(&settings.merged.record))?;
    let breaks = ledger.acknowledge(asked.reason.as_deref()).map_err(|error| match error {
        CannotAcknowledge::TooMany => {
            let directory = output::path(ledger.directory());
            Failure::new(FAILED, error.to_string())
                .mend(format!("move `{directory}` away: the next event begins a new record"))
        }
        CannotAcknowledge::Io(error) => Failure::new(FAILED, format!("nothing is acknowledged: {error}")),
    })?;
    let lines: String = breaks
        .iter()
        .map(|found| format!("acknowledged: {}\n", output::lines(&found.mismatch.to_string())))
        .collect();
    output::out(&format!("{lines}`pinfold log verify` goes on listing it, and counts later breaks alone\n"))?;
    Ok(ExitCode::from(DONE))
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
    if found.machines.len() > 1 {
        let count = found.machines.len();
        let _ = writeln!(
            text,
            "lines carry the names of {count} machines: the file `{}` beside them was changed or removed, or the directory was copied",
            ledger::MACHINE
        );
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

/// The breaks of a chain, each with the lines behind it, and what to do.
fn breaks(found: &Verified, files: &str) -> String {
    let mut text = format!("{}\n", heading(found));
    for (index, at) in found.breaks.iter().enumerate() {
        let until = found.breaks.get(index + 1).map_or("to the end", |_| "to the next break");
        let _ = writeln!(text, "  {}", output::lines(&at.mismatch.to_string()));
        let _ = match (at.noted_by, at.resumes_at) {
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
        if let Some(number) = at.acknowledged_by {
            let _ = writeln!(text, "    acknowledged in line {number}; what stands there is as it was then");
        }
    }
    if found.omitted_breaks > 0 {
        let _ = writeln!(text, "  and {} more", found.omitted_breaks);
    }
    let _ = writeln!(text, "{} lines in {files}, numbers {} to {}", found.lines, found.first, found.last);
    text.push_str(advice(found));
    text
}

/// Returns what the breaks of a chain come to.
fn heading(found: &Verified) -> &'static str {
    let mut acknowledged = found.breaks.iter().map(|at| at.acknowledged_by.is_some());
    match (found.holds(), acknowledged.clone().all(|is| is), acknowledged.any(|is| is)) {
        (false, ..) => "the chain does not hold",
        (true, true, _) => "the chain holds but for breaks that were acknowledged",
        (true, false, true) => {
            "the chain holds but for breaks that were acknowledged, and damage from before the head that you kept"
        }
        (true, false, false) => "the chain holds but for damage from before the head that you kept",
    }
}

/// Returns the advice about breaks that speak against the chain.
fn advice(found: &Verified) -> &'static str {
    let is_noted = |at: &ChainBreak| at.noted_by.is_some() || at.acknowledged_by.is_some();
    if found.holds() {
        ""
    } else if found.breaks.iter().all(is_noted) {
        "keep the head below: `pinfold log verify --head HASH` then reports later damage alone; or acknowledge it: \
         `pinfold log acknowledge`\n"
    } else {
        "compare the lines there with a copy of the audit log, if there is one: put its files back, or acknowledge the \
         break: `pinfold log acknowledge` notes it with a hash of what stands there\n"
    }
}

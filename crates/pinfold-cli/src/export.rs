//! `pinfold export`: our rules and our line, said in the settings of another agent.
//!
//! Promise: each thing that holds here is told with what holds it there; what would change is shown before it is written; and
//! nothing that is said there allows more than here.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use pinfold::policy::Layer;
use pinfold::policy::settings::Flags;
use pinfold::settings::Locations;
use pinfold_dialects::export::{Export, ExportedFile, Row, export, switched_off};
use pinfold_dialects::import::File;
use serde_json::{Value, json};

use crate::args;
use crate::env;
use crate::exit::{DONE, Failure, REFUSED, USAGE};
use crate::import::files::target;
use crate::output;
use crate::settings;
use crate::setup::{self, file};

/// A file of the agent as it stands, and as it would.
struct ExportedChange {
    path: PathBuf,
    before: Option<String>,
    after: Option<String>,
}

/// All that is told and written.
struct ExportReport {
    rows: Vec<Row>,
    files: Vec<ExportedChange>,
    /// Settings there that nothing holds with.
    off: Vec<String>,
}

pub(crate) fn run(wanted: &args::Export) -> Result<ExitCode, Failure> {
    if env::is_inside_another() {
        return Err(Failure::new(REFUSED, "rules are not exported from inside a run").mend("say it outside"));
    }
    let told = export_report(wanted)?;
    if wanted.json {
        output::out(&output::json_lines(&as_json(&told)))?;
    } else {
        output::out(&as_text(&told))?;
    }
    let pending: Vec<&ExportedChange> = told.files.iter().filter(|file| file.after != file.before).collect();
    if pending.is_empty() {
        if !wanted.json {
            output::out("nothing is to be written\n")?;
        }
        return Ok(ExitCode::from(DONE));
    }
    if !wanted.json {
        for file in &pending {
            output::out(&setup::shown(&file.path, file.before.as_deref(), file.after.as_deref()))?;
        }
    }
    if !wanted.write || wanted.json && !wanted.yes {
        if !wanted.json {
            output::out("nothing was written; --write does it\n")?;
        }
        return Ok(ExitCode::from(DONE));
    }
    if !wanted.yes && !output::agreed("Write it?", "look at the change, then say --write --yes")? {
        output::out("nothing was written\n")?;
        return Ok(ExitCode::from(REFUSED));
    }
    for written in pending {
        if let Some(text) = &written.after {
            file::write(&written.path, text)?;
        }
    }
    Ok(ExitCode::from(DONE))
}

fn export_report(wanted: &args::Export) -> Result<ExportReport, Failure> {
    let layer = if wanted.local { Layer::Local } else { Layer::User };
    let here = settings::locations(wanted.folder.as_deref())?;
    // What is for all projects is not to be said by one.
    let project = here.project.clone().filter(|_| wanted.local);
    let locations = Locations { project, ..here };
    let ours = settings::loaded(&locations, &Flags::default())?.merged;
    let unclear = |why: &str| Failure::new(USAGE, output::visible(why));
    let Export { rows, parts } = export(&wanted.agent, &ours, layer).map_err(|e| unclear(&e.to_string()))?;
    let mut export = Export { rows, parts: Vec::new() };
    let (mut files, mut off) = (Vec::new(), Vec::new());
    for part in parts {
        let path = target(&wanted.agent, &locations, layer, part.name)
            .ok_or_else(|| unclear("there is no place for its settings").mend("set HOME"))?;
        let path = path.canonicalize().unwrap_or(path);
        let before = file::read(&path)?;
        let failed = |why: String| {
            let file = output::path(&path);
            Failure::new(USAGE, format!("{file}: {}", output::visible(&why)))
                .mend("mend it first; nothing was written")
        };
        let after = part.written(before.as_deref()).map_err(|e| failed(e.to_string()))?;
        settle(&mut export, &part, after.as_deref()).map_err(failed)?;
        if let Some(text) = before.as_deref().filter(|_| !part.is_ours()) {
            let file = File { layer, name: part.name, text };
            off.extend(switched_off(&wanted.agent, file).map_err(|e| failed(e.to_string()))?);
        }
        files.push(ExportedChange { path, before, after });
    }
    Ok(ExportReport { rows: export.rows, files, off })
}

/// Takes back rows that need what the file does not say.
fn settle(export: &mut Export, part: &ExportedFile, after: Option<&str>) -> Result<(), String> {
    let Some(text) = after else { return Ok(()) };
    if let Some(now) = part.settings(text).map_err(|e| e.to_string())? {
        export.settle(&now);
    }
    Ok(())
}

fn as_text(told: &ExportReport) -> String {
    let mut text = String::from("held there    what holds here\n");
    for row in &told.rows {
        let why = if row.why.is_empty() { String::new() } else { format!("  ({})", row.why) };
        let _ =
            writeln!(text, "{:<12}  {}", row.held.as_str(), output::visible(&format!("{}{why}", row.ours)));
    }
    for off in &told.off {
        let _ = writeln!(
            text,
            "NOTHING HOLDS there as long as this stands in its settings: {}",
            output::visible(off)
        );
    }
    text
}

fn as_json(told: &ExportReport) -> Value {
    let row = |row: &Row| json!({"ours": row.ours, "held": row.held.as_str(), "why": row.why});
    let file = |file: &ExportedChange| json!({"file": file.path, "changes": file.after != file.before, "text": file.after});
    json!({
        "rows": told.rows.iter().map(row).collect::<Vec<_>>(),
        "switchedOff": told.off,
        "files": told.files.iter().map(file).collect::<Vec<_>>(),
    })
}

//! `pinfold import`: rules and sandbox settings of another agent, taken over into ours.
//!
//! Promise: each thing that is said there is told with what became of it, the change is shown before it is written, and
//! nothing is allowed here that is not allowed there. Files of a project, and those that may have come with it under the
//! name of the person's own, are taken into the project's file, which widens only once it is trusted.

pub(crate) mod files;

use std::fmt::Write as _;
use std::process::ExitCode;

use pinfold::Ambient;
use pinfold::policy::Layer;
use pinfold::policy::settings::SettingsChange;
use pinfold::settings::{Locations, Proposal, carry_out, propose, will_be_user_owned};
use pinfold_dialects::import::{File, Finding, import};
use serde_json::{Value, json};

use crate::args::Import;
use crate::env;
use crate::exit::{DONE, Failure, REFUSED, USAGE};
use crate::output;
use crate::rules::failed;
use crate::settings;
use crate::setup;
use files::ForeignFile;

pub(crate) fn run(wanted: &Import) -> Result<ExitCode, Failure> {
    if env::is_inside_another() {
        return Err(
            Failure::new(REFUSED, "rules are not taken over from inside a run").mend("say it outside")
        );
    }
    let locations = settings::locations(wanted.folder.as_deref())?;
    let found = files::find(&wanted.agent, &locations, wanted.layer())?;
    if found.is_empty() {
        output::out(&format!("there are no settings of {} here\n", wanted.agent))?;
        return Ok(ExitCode::from(DONE));
    }
    let mut told = Vec::new();
    for theirs in &found {
        told.push((theirs, findings(&wanted.agent, theirs)?));
    }
    let mut proposals = Vec::new();
    for layer in [Layer::User, Layer::Project, Layer::Local] {
        let of_layer = told.iter().filter(|(theirs, _)| theirs.layer == layer);
        let changes: Vec<SettingsChange> =
            of_layer.flat_map(|(_, findings)| findings.iter().flat_map(|f| f.changes.clone())).collect();
        if !changes.is_empty() {
            proposals.push(proposed(&locations, layer, &changes)?);
        }
    }
    if wanted.json {
        output::out(&output::json_lines(&as_json(&told, &proposals)))?;
    } else {
        output::out(&as_text(&told, &locations))?;
    }
    written(wanted, &locations, &proposals)
}

fn findings(agent: &str, theirs: &ForeignFile) -> Result<Vec<Finding>, Failure> {
    let name = theirs.path.to_string_lossy();
    import(agent, File { layer: theirs.layer, name: &name, text: &theirs.text }).map_err(|why| {
        let message = format!("{}: {}", output::visible(&name), output::visible(&why.to_string()));
        Failure::new(USAGE, message).mend("mend it first; nothing was taken over")
    })
}

fn proposed(locations: &Locations, layer: Layer, changes: &[SettingsChange]) -> Result<Proposal, Failure> {
    propose(&Ambient::claim(), locations, layer, changes).map_err(|e| failed(&e))
}

fn written(wanted: &Import, locations: &Locations, proposals: &[Proposal]) -> Result<ExitCode, Failure> {
    let pending: Vec<&Proposal> = proposals.iter().filter(|proposal| proposal.after.is_some()).collect();
    if pending.is_empty() {
        if !wanted.json {
            output::out("nothing is to be written\n")?;
        }
        return Ok(ExitCode::from(DONE));
    }
    if !wanted.json {
        for proposal in &pending {
            output::out(&setup::shown(
                &proposal.file.path,
                proposal.before.as_deref(),
                proposal.after.as_deref(),
            ))?;
            output::out(&format!("{}\n", when_it_counts(locations, proposal)))?;
        }
    }
    if wanted.json && !wanted.yes {
        return Ok(ExitCode::from(DONE));
    }
    if !wanted.yes && !output::agreed("Write it?", "look at the change, then say --yes")? {
        output::out("nothing was written\n")?;
        return Ok(ExitCode::from(REFUSED));
    }
    for proposal in pending {
        carry_out(&Ambient::claim(), proposal).map_err(|e| failed(&e))?;
    }
    Ok(ExitCode::from(DONE))
}

/// Returns a sentence about the moment from which a file applies.
fn when_it_counts(locations: &Locations, proposal: &Proposal) -> String {
    let Proposal { file, before, .. } = proposal;
    let own = |project| {
        will_be_user_owned(&Ambient::claim(), project, &file.path, before.as_deref().map(str::as_bytes))
    };
    let at_once = match file.layer {
        Layer::Local => locations.project.as_deref().is_some_and(own),
        layer => layer == Layer::User,
    };
    let when = if at_once { "at once" } else { "once you said `pinfold trust`" };
    format!("what {} allows counts {when}", file.shown)
}

fn as_text(told: &[(&ForeignFile, Vec<Finding>)], locations: &Locations) -> String {
    let mut text = String::new();
    for (theirs, findings) in told {
        let to = locations.file(theirs.layer).map(|file| file.shown.to_string()).unwrap_or_default();
        let _ = writeln!(text, "{} → {to}", output::visible(&theirs.path.to_string_lossy()));
        if findings.is_empty() {
            text.push_str("  it says nothing about what may happen\n");
        }
        for finding in findings {
            let why = if finding.why.is_empty() { String::new() } else { format!("  ({})", finding.why) };
            let said = format!("{}: {}{why}", finding.at, finding.said);
            let _ = writeln!(text, "  {:<9} {}", finding.outcome.as_str(), output::visible(&said));
        }
    }
    text
}

fn as_json(told: &[(&ForeignFile, Vec<Finding>)], proposals: &[Proposal]) -> Value {
    let finding = |finding: &Finding| {
        json!({
            "at": finding.at,
            "said": finding.said,
            "outcome": finding.outcome.as_str(),
            "why": finding.why,
            "becomes": finding.changes.iter().map(ToString::to_string).collect::<Vec<_>>(),
        })
    };
    let file = |(theirs, findings): &(&ForeignFile, Vec<Finding>)| {
        json!({
            "file": theirs.path,
            "layer": theirs.layer.as_str(),
            "findings": findings.iter().map(finding).collect::<Vec<_>>(),
        })
    };
    let written = |proposal: &Proposal| json!({"file": proposal.file.path, "changes": proposal.after.is_some(), "text": proposal.after});
    json!({
        "files": told.iter().map(file).collect::<Vec<_>>(),
        "settings": proposals.iter().map(written).collect::<Vec<_>>(),
    })
}

//! `pinfold setup`: pinfold becomes the hook of an agent, or stops being it, or is tried where it is.
//!
//! Promise: what would be changed is shown before it is, all else in a file stays as the person wrote it, and what was
//! put in is what `--undo` takes out.

mod agents;
pub(crate) mod file;
mod json;
mod probe;
mod yaml;

use std::path::Path;
use std::process::ExitCode;

use similar::TextDiff;

use crate::args::Setup;
use crate::env;
use crate::exit::{DONE, FAILED, Failure, REFUSED, USAGE};
use crate::output;
use agents::{Agent, HookForm};

pub(crate) fn setup(wanted: &Setup) -> Result<ExitCode, Failure> {
    if env::is_inside_another() {
        return Err(Failure::new(REFUSED, "agents are not set up from inside a run").mend("say it outside"));
    }
    let agent = Agent::named(&wanted.agent, wanted.timeout)?;
    if wanted.check {
        return probe::check(&agent);
    }
    let path = agent.file.canonicalize().unwrap_or_else(|_| agent.file.clone());
    let before = file::read(&path)?;
    let after = if wanted.undo {
        remove_entries(&agent, before.as_deref())?
    } else {
        add_entries(&agent, before.as_deref())?
    };
    if after == before {
        output::out(if wanted.undo { "nothing of pinfold is there\n" } else { "it is set up already\n" })?;
        return Ok(ExitCode::from(DONE));
    }
    output::out(&shown(&path, before.as_deref(), after.as_deref()))?;
    if !wanted.yes && !output::agreed("Write it?", "look at the change, then say --yes")? {
        output::out("nothing was written\n")?;
        return Ok(ExitCode::from(REFUSED));
    }
    match &after {
        Some(text) => file::write(&path, text)?,
        None => file::remove(&path)?,
    }
    if !wanted.undo {
        for note in agent.notes {
            output::out(&format!("{note}\n"))?;
        }
        output::out(&format!("try it: pinfold setup {} --check\n", agent.name))?;
    }
    Ok(ExitCode::from(DONE))
}

/// The text of its file with us in it.
fn add_entries(agent: &Agent, before: Option<&str>) -> Result<Option<String>, Failure> {
    let failed = |why: String| unchanged(agent, &why);
    match &agent.form {
        HookForm::Lists(entries) => {
            json::add_entries(before, agent.name, agent.fresh, entries).map(Some).map_err(failed)
        }
        HookForm::Block(block) => yaml::add_block(before, block).map(Some).map_err(failed),
        HookForm::Own(text) => match before {
            Some(there) if !agent.is_ours(there) => Err(failed("the file is not pinfold's".to_owned())),
            _ => Ok(Some(text.clone())),
        },
    }
}

/// Removes pinfold's entries from a file; `None` where nothing is left of it.
fn remove_entries(agent: &Agent, before: Option<&str>) -> Result<Option<String>, Failure> {
    let failed = |why: String| unchanged(agent, &why);
    let Some(there) = before else { return Ok(None) };
    match &agent.form {
        HookForm::Lists(_) => json::remove_entries(there, agent.name, agent.fresh).map_err(failed),
        HookForm::Block(_) => Ok(yaml::remove_block(there)),
        HookForm::Own(_) if agent.is_ours(there) => Ok(None),
        HookForm::Own(_) => Ok(Some(there.to_owned())),
    }
}

fn unchanged(agent: &Agent, why: &str) -> Failure {
    let file = output::path(&agent.file);
    Failure::new(USAGE, format!("{file} was not changed: {}", output::visible(why)))
        .mend("mend the file, or put the hook in by hand as docs/agents.md shows")
}

/// Returns the change as a patch.
pub(crate) fn shown(path: &Path, before: Option<&str>, after: Option<&str>) -> String {
    let name = path.display().to_string();
    let none = "/dev/null".to_owned();
    let (old, new) = (before.map_or(&none, |_| &name), after.map_or(&none, |_| &name));
    let diff = TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default());
    let text = diff.unified_diff().context_radius(3).header(old, new).to_string();
    text.lines().map(|line| format!("{}\n", output::visible(line))).collect()
}

/// A failure about a file of an agent.
fn failure(path: &Path, what: impl std::fmt::Display) -> Failure {
    Failure::new(FAILED, format!("{}: {what}", output::path(path)))
}

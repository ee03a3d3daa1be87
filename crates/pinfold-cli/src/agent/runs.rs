//! Runs that were: where they are kept, and how they are shown.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::process::ExitCode;

use pinfold_agent::{Event, Node, events, tree};

use crate::exit::{DONE, FAILED, Failure, USAGE};
use crate::{record, say, surroundings};

/// The folder in which runs are kept, beside the record.
fn folder() -> Result<PathBuf, Failure> {
    let home = surroundings::state_home().ok_or_else(|| {
        Failure::new(USAGE, "there is no home for runs")
            .mend("set XDG_STATE_HOME to a directory that you can write")
    })?;
    Ok(home.join(record::RUNS))
}

/// Makes the folder, so that it is there to be guarded before an agent begins.
pub(super) fn made() -> Result<(), Failure> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder()?)
        .map_err(|e| Failure::new(FAILED, format!("the run cannot be kept: {e}")).mend(record::MEND))
}

/// The file of a run.
pub(super) fn file(name: &str) -> Result<PathBuf, Failure> {
    Ok(folder()?.join(format!("{name}.{ENDING}")))
}

const ENDING: &str = "jsonl";

/// The name of a run that was, by the beginning of it; of the last one where nothing is said.
pub(super) fn find(wanted: Option<&str>) -> Result<String, Failure> {
    let mut known: Vec<(std::time::SystemTime, String)> = Vec::new();
    for entry in fs::read_dir(folder()?).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_run = path.extension().is_some_and(|ending| ending == ENDING);
        let name = path.file_stem().and_then(|name| name.to_str()).map(str::to_owned);
        let changed = entry.metadata().and_then(|metadata| metadata.modified());
        if let (true, Some(name), Ok(changed)) = (is_run, name, changed) {
            known.push((changed, name));
        }
    }
    known.sort();
    let Some(wanted) = wanted else {
        let last = known.pop().map(|(_, name)| name);
        return last
            .ok_or_else(|| Failure::new(USAGE, "no agent was run").mend("see `pinfold agent run --help`"));
    };
    let fits = |name: &String| name.starts_with(wanted);
    let mut fitting = known.into_iter().map(|(_, name)| name).filter(fits);
    match (fitting.next(), fitting.next()) {
        (Some(name), None) => Ok(name),
        (Some(one), Some(other)) => {
            Err(Failure::new(USAGE, format!("more than one run is called like that: {one}, {other}")))
        }
        (None, _) => {
            let shown = say::visible(wanted);
            Err(Failure::new(USAGE, format!("no run is called `{shown}`")).mend("see `pinfold agent tree`"))
        }
    }
}

/// What happened in a run.
pub(super) fn read(name: &str) -> Result<Vec<Event>, Failure> {
    events(&file(name)?).map_err(|e| Failure::new(FAILED, format!("the run {name} cannot be read: {e}")))
}

/// Shows the agents of a run.
pub(super) fn show(wanted: Option<&str>, as_json: bool) -> Result<ExitCode, Failure> {
    let name = find(wanted)?;
    let nodes = tree(&read(&name)?);
    let text = if as_json {
        serde_json::to_string_pretty(&nodes).unwrap_or_default() + "\n"
    } else {
        format!("{name}\n") + &nodes.iter().map(line).collect::<String>()
    };
    say::out(&text)?;
    Ok(ExitCode::from(DONE))
}

fn line(node: &Node) -> String {
    let indent = "  ".repeat(usize::try_from(node.who.depth).unwrap_or(0).saturating_add(1).min(16));
    let how = match &node.ending {
        None => "broke off, or is at work".to_owned(),
        Some(ending) if ending.why.is_empty() => ending.how.words().to_owned(),
        Some(ending) => format!("{}: {}", ending.how.words(), ending.why),
    };
    let mut text = format!(
        "{indent}{} in {} ({}): {how}; {} calls, {} denied\n",
        node.who.id, node.who.folder, node.mode, node.allowed, node.denied
    );
    let deferred = node.ending.iter().flat_map(|ending| &ending.deferred);
    deferred.for_each(|what| text.extend([&indent, "  deferred: ", what, "\n"]));
    say::lines(text.trim_end_matches('\n')) + "\n"
}

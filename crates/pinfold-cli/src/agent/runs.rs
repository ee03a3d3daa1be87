//! Runs that were: where they are kept, and how they are shown.

use std::fs::{self, DirBuilder, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;

use pinfold_agent::{Event, Node, Store, events, tree};

use crate::args::CleanArgs;
use crate::exit::{DONE, FAILED, Failure, USAGE};
use crate::{env, output, record};

/// The folder in which runs are kept, beside the record.
fn folder() -> Result<PathBuf, Failure> {
    let home = env::state_home().ok_or_else(|| {
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

/// The file of a run, to be written.
pub(super) fn opened(name: &str) -> Result<Store, Failure> {
    Store::open(&file(name)?).map_err(|e| {
        if e.kind() == ErrorKind::WouldBlock {
            let what = format!("the run {name} is at work in another process");
            return Failure::new(USAGE, what).mend("wait until it has ended");
        }
        Failure::new(FAILED, format!("the run cannot be kept: {e}")).mend(record::MEND)
    })
}

/// Returns the directory of the leases, which name the run that writes in a folder.
pub(super) fn leases() -> Result<PathBuf, Failure> {
    Ok(folder()?.join("leases"))
}

/// Removes runs that are old enough.
pub(super) fn clean(wanted: &CleanArgs) -> Result<ExitCode, Failure> {
    let now = SystemTime::now();
    let is_old = |changed: SystemTime| {
        // One from the future is not old.
        let age = now.duration_since(changed).unwrap_or_default();
        wanted.older_than.is_some_and(|most| age > most)
    };
    let mut code = DONE;
    for (place, (changed, name)) in known()?.into_iter().rev().enumerate() {
        if !is_old(changed) && wanted.keep.is_none_or(|most| place < most) {
            continue;
        }
        let what = match Store::forget(&file(&name)?) {
            Ok(true) => "is gone".to_owned(),
            Ok(false) => "is at work and stays".to_owned(),
            Err(e) => {
                code = FAILED;
                format!("cannot be taken away: {e}")
            }
        };
        output::out(&format!("{} {what}\n", output::visible(&name)))?;
    }
    Ok(ExitCode::from(code))
}

/// All runs that are kept, with the time at which something happened last, which the list is sorted by.
fn known() -> Result<Vec<(SystemTime, String)>, Failure> {
    let mut known = Vec::new();
    for entry in fs::read_dir(folder()?).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_run = path.extension().is_some_and(|ending| ending == ENDING);
        let name = path.file_stem().and_then(|name| name.to_str()).map(str::to_owned);
        // Nothing but a file is a run: others could not even be opened without waiting.
        let file = entry.metadata().ok().filter(Metadata::is_file);
        let changed = file.and_then(|file| file.modified().ok());
        if let (true, Some(name), Some(changed)) = (is_run, name, changed) {
            known.push((changed, name));
        }
    }
    known.sort();
    Ok(known)
}

/// The name of a run that was, by the beginning of it; of the last one where nothing is said.
pub(super) fn find(wanted: Option<&str>) -> Result<String, Failure> {
    let mut known = known()?;
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
            let shown = output::visible(wanted);
            Err(Failure::new(USAGE, format!("no run is called `{shown}`")).mend("see `pinfold agent tree`"))
        }
    }
}

/// Returns the events of a run.
pub(super) fn read(name: &str) -> Result<Vec<Event>, Failure> {
    events(&file(name)?).map_err(|e| Failure::new(FAILED, format!("the run {name} cannot be read: {e}")))
}

/// Shows the agents of a run.
pub(super) fn show(wanted: Option<&str>, as_json: bool) -> Result<ExitCode, Failure> {
    let name = find(wanted)?;
    let nodes = tree(&read(&name)?);
    let text = if as_json {
        output::json_lines(&nodes)
    } else {
        format!("{name}\n") + &nodes.iter().map(line).collect::<String>()
    };
    output::out(&text)?;
    Ok(ExitCode::from(DONE))
}

fn line(node: &Node) -> String {
    let indent = "  ".repeat(usize::try_from(node.who.depth).unwrap_or(0).saturating_add(1).min(16));
    let how = match &node.ending {
        None => "broke off, or is at work".to_owned(),
        Some(ending) if ending.why.is_empty() => ending.how.as_str().to_owned(),
        Some(ending) => format!("{}: {}", ending.how.as_str(), ending.why),
    };
    let mut text = format!(
        "{indent}{} in {} ({}): {how}; {} calls, {} denied\n",
        node.who.id, node.who.folder, node.mode, node.allowed, node.denied
    );
    let deferred = node.ending.iter().flat_map(|ending| &ending.deferred);
    deferred.for_each(|what| text.extend([&indent, "  deferred: ", what, "\n"]));
    output::lines(text.trim_end_matches('\n')) + "\n"
}

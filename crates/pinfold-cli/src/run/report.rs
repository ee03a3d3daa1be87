//! The report of a run.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use pinfold_boundary::{Approved, EscalationOutcome, Refused, RunReport, SandboxRequest};
use pinfold_sandbox::Tier;
use rustix::fs::OFlags;
use serde::Serialize;

use super::agent::AgentAccess;
use super::limits::MetLimit;
use crate::args::RunArgs;
use crate::env;
use crate::exit::{Failure, USAGE};
use crate::output::{json_line, message, warn};

/// The end of a run, as data.
#[derive(Serialize)]
pub(super) struct Report {
    tier: String,
    /// False when what was refused could not be seen.
    watched: bool,
    /// Access of the agent that was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<AgentAccess>,
    refused: Vec<NamedRefusal>,
    /// Attempts outside that were approved, and done.
    approved_outside: Vec<Approved>,
    /// Refusals that are not in the list.
    omitted_count: u64,
    /// Limits that processes met, or that ended the command.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    limits: Vec<MetLimit>,
    #[serde(flatten)]
    left: RunReport,
}

/// A refusal with its name in the record.
#[derive(Serialize)]
struct NamedRefusal {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(flatten)]
    refused: Refused,
}

/// Opens the file that `--report` names, where it names one.
pub(super) fn file(run: &RunArgs, request: &SandboxRequest) -> Result<Option<File>, Failure> {
    let Some(file) = &run.report else { return Ok(None) };
    let granted = [&request.folder].into_iter().chain(&request.add).chain(&request.allow_write);
    let folders: Vec<_> = granted.cloned().collect();
    let opened = open(&env::current_dir()?.join(file), &folders);
    opened.map(Some).map_err(|e| {
        Failure::new(USAGE, format!("the report cannot be written to `{}`: {e}", file.display()))
            .mend("name a file in an existing directory that you can write")
    })
}

/// Opens the file for the report. Before anything runs: at the end a name in the folder may lead elsewhere.
///
/// `folders` are what is granted. A link that leads out of them, which an earlier run may have put there, is not
/// followed, and a pipe without a reader is not waited for.
fn open(file: &Path, folders: &[PathBuf]) -> io::Result<File> {
    let (Some(parent), Some(name)) = (file.parent(), file.file_name()) else {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    };
    let parent = fs::canonicalize(parent)?;
    let real: Vec<PathBuf> = folders.iter().filter_map(|f| fs::canonicalize(f).ok()).collect();
    let within = |path: &Path| real.iter().chain(folders).any(|f| path.starts_with(f));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    if within(&parent) || within(&plain(file)) {
        if !within(&parent) {
            return Err(io::Error::other("a link leads out of the folder"));
        }
        options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
    }
    options.open(parent.join(name))
}

/// Removes `..` from a path as text, without regard to links.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

/// Refusals shown to a person before the rest is only counted.
const SHOWN: usize = 20;

impl Report {
    /// `run` is its name in the record.
    pub(super) fn new(
        run: Option<&str>,
        tier: Tier,
        watched: bool,
        tried: EscalationOutcome,
        left: RunReport,
    ) -> Self {
        let EscalationOutcome { refused, approved, omitted_count, limits: _ } = tried;
        let id = |n: u64| run.map(|run| format!("{run}:k{n}"));
        let refused = (1..)
            .zip(refused)
            .map(|(n, refused)| NamedRefusal { id: refused.id.clone().or_else(|| id(n)), refused })
            .collect();
        Self {
            tier: tier.to_string(),
            watched,
            agent: None,
            refused,
            approved_outside: approved,
            omitted_count,
            limits: Vec::new(),
            left,
        }
    }

    /// Adds the limits that were met.
    pub(super) fn with_limits(self, limits: Vec<MetLimit>) -> Self {
        Self { limits, ..self }
    }

    pub(super) fn with_agent(self, agent: Option<AgentAccess>) -> Self {
        Self { agent, ..self }
    }

    /// Prints it, or writes it where the person wants it.
    pub(super) fn write_out(mut self, run: &RunArgs, to: Option<File>) {
        let text = if run.json {
            json_line(&self)
        } else {
            if run.quiet {
                self.left.environment_removed.clear();
            }
            let nothing = self.left.notes.is_empty() && self.left.environment_removed.is_empty();
            if self.is_quiet() && (run.quiet || nothing) {
                return;
            }
            self.text().lines().map(|line| format!("pinfold: {line}\n")).collect()
        };
        let written = match to {
            Some(mut file) => file.write_all(text.as_bytes()),
            None => message(&text),
        };
        if let Err(error) = written {
            warn(format_args!("the report could not be written: {error}"));
        }
    }

    fn is_quiet(&self) -> bool {
        self.refused.is_empty()
            && self.approved_outside.is_empty()
            && self.limits.is_empty()
            && self.left.is_quiet()
    }

    fn text(&self) -> String {
        let mut text = String::new();
        if !self.refused.is_empty() {
            text.push_str("refused:\n");
        }
        for NamedRefusal { refused, .. } in self.refused.iter().take(SHOWN) {
            let Refused { tried, place, program, times, why, to_allow, .. } = refused;
            let place = place.to_string_lossy().escape_debug().to_string();
            let often = if *times > 1 { format!(" ({times} times)") } else { String::new() };
            let _ = writeln!(text, "  {program}: {tried} {place}{often}\n    {why}; {to_allow}");
        }
        if let Some(id) = self.refused.first().and_then(|first| first.id.as_deref()) {
            let _ = writeln!(text, "  more: pinfold why {id}");
        }
        if !self.approved_outside.is_empty() {
            text.push_str("approved outside the folder:\n");
        }
        for Approved { did, place, program, times } in self.approved_outside.iter().take(SHOWN) {
            let place = place.to_string_lossy().escape_debug().to_string();
            let often = if *times > 1 { format!(" ({times} times)") } else { String::new() };
            let _ = writeln!(text, "  {program}: {did} {place}{often}");
        }
        let unlisted =
            self.refused.len().saturating_sub(SHOWN) + self.approved_outside.len().saturating_sub(SHOWN);
        let more = unlisted as u64 + self.omitted_count;
        if more > 0 {
            let _ = writeln!(text, "  and {more} more (--json lists them)");
        }
        if !self.limits.is_empty() {
            text.push_str("limits reached:\n");
        }
        for met in &self.limits {
            let often = if met.times() > 1 { format!(" ({} times)", met.times()) } else { String::new() };
            let _ = writeln!(text, "  {}: {}{often}", met.program(), met.describe());
        }
        text.push_str(&self.left.to_string());
        text.extend(removed(&self.left.environment_removed));
        text
    }
}

/// The variables that the command did not get, in one line: what it lacks may be one of them.
fn removed(names: &[String]) -> Option<String> {
    let (shown, rest) = names.split_at_checked(SHOWN).unwrap_or((names, &[]));
    let shown: Vec<String> = shown.iter().map(|name| name.escape_debug().to_string()).collect();
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    let line = format!(
        "environment variables not passed on: {}{more} (--env NAME passes one on)\n",
        shown.join(", ")
    );
    (!names.is_empty()).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_were_taken_away_are_named_in_one_line() {
        assert_eq!(removed(&[]), None);
        let names = ["API_KEY".to_owned(), "A\u{1b}[2J_TOKEN".to_owned()];
        let line = removed(&names).unwrap();
        assert!(line.contains("API_KEY, A\\u{1b}[2J_TOKEN (--env NAME"), "{line}");
        let many: Vec<String> = (0..SHOWN + 3).map(|n| format!("K{n}_KEY")).collect();
        let line = removed(&many).unwrap();
        assert!(
            line.contains("and 3 more") && !line.contains("K20_KEY") && line.lines().count() == 1,
            "{line}"
        );
    }
}

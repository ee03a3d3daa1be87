//! The report of what a run left: what appeared, what was changed that runs later, what was not brought back.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use crate::git::settle::ConfigOutcome;
use crate::guarded_links::LinkedBuildFiles;
use crate::mediation::{Changes, Locks};
use crate::turns::TurnsError;

/// Changes of a mediated run to files that run or are acted on later, for [`Boundary::settle`](crate::Boundary::settle).
#[derive(Debug)]
pub struct AutorunChanges {
    pub(crate) changes: Changes,
    /// Older links by which some of the changed files have a name that matters.
    pub(crate) linked_build_files: LinkedBuildFiles,
    /// Locks of git that are left when a process was killed.
    pub(crate) locks: Locks,
    /// The reason why other runs in the folder were not kept apart, where they were not.
    pub(crate) turns_error: Option<TurnsError>,
}

/// The findings of one run, as data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RunReport {
    /// Repositories that were made or replaced: git runs what their hooks and configuration name.
    pub new_repositories: Vec<PathBuf>,
    /// Files that were made, changed or removed and that tools of the user act on later.
    pub changed_autorun: Vec<PathBuf>,
    /// Rebases and the like that were left unfinished: continuing one runs the commands in its list.
    pub unfinished: Vec<PathBuf>,
    /// Git configuration that was stored inside.
    pub git_config: Vec<ConfigOutcome>,
    /// Environment variables that were not passed on.
    pub environment_removed: Vec<String>,
    /// Notes to the user: what the boundary leaves open, what was moved or is still open for writing, where links lead.
    pub notes: Vec<String>,
}

impl RunReport {
    /// Returns whether the run left nothing that the user should look at.
    pub fn is_quiet(&self) -> bool {
        self.new_repositories.is_empty()
            && self.changed_autorun.is_empty()
            && self.unfinished.is_empty()
            && self.git_config.iter().all(|c| c.left_out.is_empty() && c.failed.is_none())
    }
}

/// Paths listed one by one before the rest is only counted.
pub(crate) const SHOWN: usize = 20;

impl fmt::Display for RunReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        list(
            f,
            "new repositories; look at their hooks and configuration before using git there",
            &self.new_repositories,
        )?;
        list(f, "changed files that run or are acted on later", &self.changed_autorun)?;
        list(f, "unfinished operations; their lists may hold commands to run", &self.unfinished)?;
        for config in &self.git_config {
            let at = escape_invisible(&config.git_dir.to_string_lossy());
            if let Some(why) = &config.failed {
                writeln!(f, "git configuration of `{at}` was not brought back: {why}")?;
            }
            let title = format!("git configuration of `{at}` stored inside and not kept");
            let keys: Vec<PathBuf> = config.left_out.iter().map(PathBuf::from).collect();
            list(f, &title, &keys)?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "note: {}", escape_invisible(note)))
    }
}

fn list(f: &mut fmt::Formatter<'_>, title: &str, paths: &[PathBuf]) -> fmt::Result {
    if paths.is_empty() {
        return Ok(());
    }
    writeln!(f, "{title}:")?;
    paths
        .iter()
        .take(SHOWN)
        .try_for_each(|path| writeln!(f, "  {}", escape_invisible(&path.to_string_lossy())))?;
    match paths.len().checked_sub(SHOWN) {
        Some(more) if more > 0 => writeln!(f, "  and {more} more"),
        _ => Ok(()),
    }
}

/// Names come from the run: every character that would not be seen as itself is made visible.
fn escape_invisible(text: &str) -> String {
    let plain = |c: char| matches!(c, '\'' | '"' | '\\');
    text.chars().fold(String::new(), |mut out, c| {
        if plain(c) {
            out.push(c);
        } else {
            out.extend(c.escape_debug());
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_speak_to_the_terminal() {
        let report = RunReport {
            new_repositories: vec!["/w/\u{1b}[2Ja'b/.git".into()],
            notes: vec!["one\u{202e}two".into()],
            ..RunReport::default()
        };
        let text = report.to_string();
        assert!(text.contains("/w/\\u{1b}[2Ja'b/.git") && text.contains("one\\u{202e}two"), "{text}");
    }
}

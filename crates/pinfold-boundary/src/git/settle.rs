//! A private copy of git's configuration for the length of a run, and what of it comes back.
//!
//! Commands such as `git checkout -b x origin/x` store keys. They find a link to the copy where the configuration
//! stands, and git writes through a link. After the run the keys that only say which branch follows which are
//! set in the real file; everything else is named in the report and forgotten.
//!
//! The real file is reached through the directory that was held open since before the start: names in a folder
//! that an agent could write are not looked up again.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use pinfold_sandbox::open_plain_in;
use rustix::fs::{AtFlags, Mode, OFlags, openat, renameat, statat, unlinkat};
use serde::Serialize;

use super::config::{Config, ConfigEntry};

/// Keys of a `branch` section that come back.
const HARMLESS: [&str; 5] = ["remote", "pushremote", "merge", "rebase", "description"];

/// Branches whose keys are brought back after one run.
const MAX_BRANCHES: usize = 1_024;

/// Most keys that the report names.
const MAX_LEFT_OUT: usize = 256;

/// One configuration with its private copy.
#[derive(Debug)]
pub(crate) struct PrivateConfig {
    git_dir: PathBuf,
    held: OwnedFd,
    before: Config,
    directory: PathBuf,
}

/// Result for the keys that a run stored in the configuration of one repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ConfigOutcome {
    /// The git directory.
    pub git_dir: PathBuf,
    /// Branches whose tracking was brought back.
    pub brought_back: Vec<String>,
    /// Keys that were set or removed inside and are not brought back, since they could make git run something.
    pub left_out: Vec<String>,
    /// Why nothing could be brought back, if so.
    pub failed: Option<String>,
}

impl PrivateConfig {
    /// Copies the configuration of `git_dir` into the new directory `directory`.
    pub(crate) fn new(git_dir: &Path, config: &Config, directory: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let held = rustix::fs::open(git_dir, flags, Mode::empty())?;
        fs::create_dir(directory)?;
        fs::write(directory.join("config"), config.text())?;
        Ok(Self {
            git_dir: git_dir.to_owned(),
            held,
            before: config.clone(),
            directory: directory.to_owned(),
        })
    }

    /// The directory of the copy; writable inside, since git writes beside a file and renames.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The copy.
    pub(crate) fn file(&self) -> PathBuf {
        self.directory.join("config")
    }

    /// Compares the copy with what it was and brings back what is harmless. `None`: nothing was stored.
    pub(crate) fn settle(&self) -> Option<ConfigOutcome> {
        let mut outcome = ConfigOutcome { git_dir: self.git_dir.clone(), ..ConfigOutcome::default() };
        match Config::read(&self.file()) {
            Ok(after) if after.text() == self.before.text() => return None,
            Ok(after) => self.bring_back(&after, &mut outcome),
            Err(e) => outcome.failed = Some(format!("the private copy cannot be read: {e}")),
        }
        Some(outcome)
    }

    fn bring_back(&self, after: &Config, outcome: &mut ConfigOutcome) {
        outcome.left_out = changed(&self.before, after, |e| !harmless(e, &self.before));
        outcome.left_out.truncate(MAX_LEFT_OUT);
        let mut branches = changed_branches(&self.before, after);
        branches.truncate(MAX_BRANCHES);
        if branches.is_empty() {
            return;
        }
        match self.edit(after, &branches) {
            Ok(()) => outcome.brought_back = branches,
            Err(e) => outcome.failed = Some(e.to_string()),
        }
    }

    /// Sets the branches' keys in the real file as it is now: a process outside may have changed it meanwhile.
    fn edit(&self, after: &Config, branches: &[String]) -> io::Result<()> {
        let lock = Lock::take(&self.held)?;
        let mut now = Config::read_from(open_plain_in(self.held.as_fd(), "config")?)?;
        for branch in branches {
            let wanted: Vec<(&str, &str)> = after
                .entries()
                .iter()
                .filter(|e| e.subsection.as_ref() == Some(branch) && harmless(e, &now))
                .filter_map(|e| Some((e.key.as_str(), e.value.as_deref()?)))
                .collect();
            let text = now.with_values("branch", branch, &HARMLESS, &wanted);
            now = Config::parse(&text)
                .ok_or_else(|| io::Error::other("the edited configuration does not parse"))?;
        }
        lock.commit(&now.text())
    }
}

/// git's own lock: `config.lock` beside the file, renamed over it.
struct Lock<'a> {
    directory: &'a OwnedFd,
    file: File,
    done: bool,
}

impl<'a> Lock<'a> {
    fn take(directory: &'a OwnedFd) -> io::Result<Self> {
        let mode =
            Mode::from_raw_mode(statat(directory, "config", AtFlags::SYMLINK_NOFOLLOW)?.st_mode & 0o777);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = File::from(openat(directory, "config.lock", flags, mode)?);
        Ok(Self { directory, file, done: false })
    }

    fn commit(mut self, text: &str) -> io::Result<()> {
        self.file.write_all(text.as_bytes())?;
        self.file.sync_data()?;
        renameat(self.directory, "config.lock", self.directory, "config")?;
        self.done = true;
        Ok(())
    }
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        if !self.done {
            let _ = unlinkat(self.directory, "config.lock", AtFlags::empty());
        }
    }
}

/// Returns whether one configuration differs from another in harmless keys alone, and keeps the order of all others.
pub(crate) fn differs_harmlessly(before: &Config, after: &Config) -> bool {
    let others = |config: &Config| -> Vec<(String, Option<String>)> {
        let kept = config.entries().iter().filter(|entry| !harmless(entry, before));
        kept.map(|entry| (entry.name(), entry.value.clone())).collect()
    };
    others(before) == others(after)
}

/// Names of entries that differ and for which `counts` holds, each once.
fn changed(before: &Config, after: &Config, counts: impl Fn(&ConfigEntry) -> bool) -> Vec<String> {
    let same = |a: &ConfigEntry, b: &ConfigEntry| a.name() == b.name() && a.value == b.value;
    let lacks = |config: &Config, e: &ConfigEntry| !config.entries().iter().any(|other| same(other, e));
    let new = after.entries().iter().filter(|e| lacks(before, e));
    let gone = before.entries().iter().filter(|e| lacks(after, e));
    let mut names: Vec<String> = new.chain(gone).filter(|e| counts(e)).map(ConfigEntry::name).collect();
    names.sort();
    names.dedup();
    names
}

fn changed_branches(before: &Config, after: &Config) -> Vec<String> {
    let of = |config: &Config| -> Vec<(String, String, Option<String>)> {
        let entries = config.entries().iter().filter(|e| harmless(e, before));
        entries.filter_map(|e| Some((e.subsection.clone()?, e.key.clone(), e.value.clone()))).collect()
    };
    let (old, new) = (of(before), of(after));
    let differs = old.iter().filter(|e| !new.contains(e)).chain(new.iter().filter(|e| !old.contains(e)));
    let mut branches: Vec<String> = differs.map(|(branch, _, _)| branch.clone()).collect();
    branches.sort();
    branches.dedup();
    branches
}

/// A key that says which branch follows which, with a value of the plain kind. A remote has to be one that the
/// person knows already: a URL in its place would be followed by the next `git pull`.
fn harmless(entry: &ConfigEntry, known: &Config) -> bool {
    let (Some(branch), Some(value)) = (entry.subsection.as_deref(), entry.value.as_deref()) else {
        return false;
    };
    let printable = |text: &str| !text.chars().any(char::is_control);
    entry.section == "branch"
        && printable(branch)
        && match entry.key.as_str() {
            "remote" | "pushremote" => value == "." || known.has_section("remote", value),
            "merge" => value.starts_with("refs/") && printable(value),
            "rebase" => ["true", "false", "merges", "interactive"].contains(&value),
            "description" => value.chars().all(|c| c == '\n' || !c.is_control()),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use pinfold_testkit::TempTree;

    use super::*;

    const REAL: &str = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = /x\n";

    fn bed(after: &str) -> (tempfile::TempDir, ConfigOutcome, String) {
        let folder = tempfile::tempdir().unwrap();
        let git = folder.path().join("git");
        fs::create_dir(&git).unwrap();
        fs::write(git.join("config"), REAL).unwrap();
        let config = Config::read(&git.join("config")).unwrap();
        let private = PrivateConfig::new(&git, &config, &folder.path().join("copy")).unwrap();
        assert_eq!(private.settle(), None, "nothing was stored yet");
        fs::write(private.file(), after).unwrap();
        let outcome = private.settle().unwrap();
        let real = fs::read_to_string(git.join("config")).unwrap();
        assert!(!git.join("config.lock").exists());
        (folder, outcome, real)
    }

    #[test]
    fn tracking_of_a_branch_comes_back() {
        let tracking = "[branch \"x\"]\n\tremote = origin\n\tmerge = refs/heads/x\n";
        let (_folder, outcome, real) = bed(&format!("{REAL}{tracking}"));
        assert_eq!(outcome.brought_back, ["x"]);
        assert!(outcome.left_out.is_empty());
        assert_eq!(real, format!("{REAL}{tracking}"));
    }

    #[test]
    fn what_could_run_something_does_not_come_back() {
        let planted = "[core]\n\tfsmonitor = ./x\n\thooksPath = h\n[branch \"y\"]\n\tremote = ext::sh\n\tmerge = refs/heads/y\n\
                       [remote \"origin\"]\n\tuploadpack = ./x\n[alias]\n\tst = !x\n[remote \"new\"]\n\turl = /y\n[branch \"z\"]\n\tremote = new\n";
        let (_folder, outcome, real) = bed(&format!("{REAL}{planted}"));
        for key in [
            "core.fsmonitor",
            "core.hookspath",
            "branch.y.remote",
            "remote.origin.uploadpack",
            "alias.st",
            "branch.z.remote",
        ] {
            assert!(outcome.left_out.iter().any(|k| k == key), "{key}: {outcome:?}");
        }
        assert_eq!(real, format!("{REAL}[branch \"y\"]\n\tmerge = refs/heads/y\n"));
    }

    #[test]
    fn a_copy_that_does_not_parse_changes_nothing() {
        let (_folder, outcome, real) = bed("[core\n");
        assert!(outcome.failed.is_some());
        assert_eq!(real, REAL);
    }

    #[test]
    fn a_pipe_that_took_the_place_of_the_configuration_is_not_waited_for() {
        let tree = TempTree::new().with_dirs(["git"]);
        let real = tree.write("git/config", REAL);
        let config = Config::read(&real).unwrap();
        let private = PrivateConfig::new(&tree.path("git"), &config, &tree.path("copy")).unwrap();
        fs::write(private.file(), format!("{REAL}[branch \"x\"]\n\trebase = true\n")).unwrap();
        fs::remove_file(&real).unwrap();
        tree.make_pipe("git/config");
        let outcome = private.settle().unwrap();
        assert_eq!(outcome.failed.as_deref(), Some("it is a pipe, not a regular file"));
        assert!(outcome.brought_back.is_empty() && !tree.path("git/config.lock").exists());
        // The control.
        fs::remove_file(&real).unwrap();
        fs::write(&real, REAL).unwrap();
        assert_eq!(private.settle().unwrap().brought_back, ["x"]);
    }
}

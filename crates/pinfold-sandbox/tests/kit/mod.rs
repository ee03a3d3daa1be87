//! A folder and an outside to try things in.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use pinfold_sandbox::{Command, End, Profile, Signalling, Tier, Watcher, Writes, start};

/// Places to write that a run does not cover with private ones: there the outside would be out of sight.
fn ground() -> Vec<PathBuf> {
    let build = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let others = ["/home", "/srv", "/var/lib"].map(PathBuf::from);
    let covered = |at: &PathBuf| ["/tmp", "/var/tmp", "/run", "/dev"].iter().any(|c| at.starts_with(c));
    [build].into_iter().chain(std::env::home_dir()).chain(others).filter(|at| !covered(at)).collect()
}

/// A folder, and beside it an outside, below a directory that is not covered by a private `/tmp`.
pub(crate) struct Bed {
    _all: tempfile::TempDir,
    pub(crate) folder: PathBuf,
    pub(crate) outside: PathBuf,
}

impl Bed {
    pub(crate) fn new() -> Self {
        let all = ground().iter().find_map(|at| tempfile::tempdir_in(at).ok()).expect("a place to write");
        let root = all.path().canonicalize().unwrap();
        let (folder, outside) = (root.join("folder"), root.join("outside"));
        fs::create_dir(&folder).unwrap();
        fs::create_dir(&outside).unwrap();
        Self { _all: all, folder, outside }
    }

    pub(crate) fn profile(&self) -> Profile {
        Profile {
            cwd: self.folder.clone(),
            writes: Writes::Beneath(vec![self.folder.clone()]),
            environment: vec![
                ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
                ("OUT".into(), self.outside.clone().into()),
                ("HOME".into(), self.outside.clone().into()),
            ],
            ..Profile::default()
        }
    }

    #[allow(dead_code, reason = "not every test runs unwatched")]
    /// Runs a shell script; its end and what it printed.
    pub(crate) fn run(&self, tier: Tier, profile: &Profile, script: &str) -> (End, String) {
        self.run_watched(tier, profile, script, &mut pinfold_sandbox::Blind)
    }

    pub(crate) fn run_watched(
        &self,
        tier: Tier,
        profile: &Profile,
        script: &str,
        by: &mut dyn Watcher,
    ) -> (End, String) {
        assert!(profile.cwd.starts_with(&self.folder));
        let (mut read, write) = std::io::pipe().unwrap();
        let error: OwnedFd = write.try_clone().unwrap().into();
        let args: [OsString; 2] = ["-c".into(), script.into()];
        let command = Command::new("sh").args(args).stdio([None, Some(write.into()), Some(error)]);
        let confined = start(profile, command, tier, Signalling::Own, true).unwrap();
        let end = confined.supervise(by).unwrap();
        let mut said = String::new();
        read.read_to_string(&mut said).unwrap();
        (end, said)
    }
}

pub(crate) const TIERS: [Tier; 2] = [Tier::Full, Tier::Landlock];

//! A folder and an outside to try things in.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::ffi::OsString;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use pinfold_sandbox::{Command, End, Profile, Signalling, SyscallHandler, Tier, Writes, start};
use pinfold_testkit::TempTree;
use pinfold_testkit::missing::left_out;

/// Returns true if Perl is there with threads, which its smallest package lacks; if not, [`left_out`] has been told.
pub(crate) fn has_perl_threads(what: &str) -> bool {
    let perl = std::process::Command::new("perl").args(["-Mthreads", "-e", "1"]).output();
    let is_there = perl.is_ok_and(|ended| ended.status.success());
    if !is_there {
        left_out(what, "no perl with threads here");
    }
    is_there
}

/// A folder, and beside it an outside, below a directory that is not covered by a private `/tmp`.
pub(crate) struct Bed {
    _tree: TempTree,
    pub(crate) folder: PathBuf,
    pub(crate) outside: PathBuf,
}

impl Bed {
    pub(crate) fn new() -> Self {
        let tree = TempTree::visible_inside();
        Self { folder: tree.make_dir("folder"), outside: tree.make_dir("outside"), _tree: tree }
    }

    pub(crate) fn profile(&self) -> Profile {
        Profile::new(&self.folder).with_writes(Writes::Beneath(vec![self.folder.clone()])).with_environment(
            vec![
                ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
                ("OUT".into(), self.outside.clone().into()),
                ("HOME".into(), self.outside.clone().into()),
            ],
        )
    }

    #[allow(dead_code, reason = "not every test runs unwatched")]
    /// Runs a shell script; its end and what it printed.
    pub(crate) fn run(&self, tier: Tier, profile: &Profile, script: &str) -> (End, String) {
        self.run_watched(tier, profile, script, &mut pinfold_sandbox::ContinueAll)
    }

    pub(crate) fn run_watched(
        &self,
        tier: Tier,
        profile: &Profile,
        script: &str,
        by: &mut dyn SyscallHandler,
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

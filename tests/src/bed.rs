//! A place to try something in: a folder to be held to, a world outside it, a home.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::ground::new_place;
use crate::processes::{find_mentioning, kill_mentioning};
use crate::product::pinfold;
use crate::record;
use crate::{Tier, Who};

/// How long what a test leaves behind may take to end.
const LEFT_BEHIND: Duration = Duration::from_secs(20);

/// `folder`, `outside` and `home`, empty, owned by one user, gone at the end.
#[derive(Debug)]
pub struct Bed {
    who: Who,
    place: TempDir,
    options: &'static [&'static str],
}

impl Bed {
    /// A new one.
    ///
    /// # Panics
    /// When no directory can be made.
    pub fn new(who: Who) -> Self {
        let place = new_place("bed.");
        for name in ["folder", "outside", "home"] {
            fs::create_dir(place.path().join(name)).expect("a directory in the bed");
        }
        let bed = Self { who, place, options: &[] };
        bed.give();
        bed
    }

    /// The same, where every run has these options too.
    #[must_use]
    pub fn with_options(mut self, options: &'static [&'static str]) -> Self {
        self.options = options;
        self
    }

    /// The options that every run has here.
    pub fn options(&self) -> &'static [&'static str] {
        self.options
    }

    /// Whose it is.
    pub fn who(&self) -> Who {
        self.who
    }

    /// The folder that a run is held to.
    pub fn folder(&self) -> PathBuf {
        self.place.path().join("folder")
    }

    /// A directory of the same user that is not to be written.
    pub fn outside(&self) -> PathBuf {
        self.place.path().join("outside")
    }

    /// The home of the user.
    pub fn home(&self) -> PathBuf {
        self.place.path().join("home")
    }

    /// Gives everything in it to its user: after the test has put files there.
    pub fn give(&self) {
        self.who.give(self.place.path());
    }

    /// A command with nothing around it, in the folder.
    pub fn free(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = self.who.command(program, &self.home());
        command.current_dir(self.folder());
        command
    }

    /// `pinfold run OPTIONS -- `, to which the command is to be added, in the folder.
    pub fn run(&self, tier: Tier, options: &[&str]) -> Command {
        let mut command = self.free(pinfold());
        command.arg("run").args(tier.options()).args(self.options).args(options).arg("--");
        command
    }

    /// Runs a shell script confined, and returns how it went.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn sh(&self, tier: Tier, script: &str) -> Output {
        self.run(tier, &[]).args(["sh", "-c", script]).output().expect("pinfold can be started")
    }
}

impl Drop for Bed {
    /// Whatever a test did: what was recorded about it is as the published schema says. Runs that a test has left behind
    /// end by themselves, and write their last lines. Those of a test that failed are ended, and so are those that stay.
    fn drop(&mut self) {
        let name = self.place.path().to_string_lossy().into_owned();
        if std::thread::panicking() {
            kill_mentioning(&name);
        }
        let until = Instant::now() + LEFT_BEHIND;
        while !find_mentioning(&name).is_empty() && Instant::now() < until {
            sleep(Duration::from_millis(10));
        }
        kill_mentioning(&name);
        let wrong = record::wrong_lines(&self.home().join(".local/state/pinfold/record"));
        assert!(wrong.is_empty() || std::thread::panicking(), "lines of the record: {wrong:#?}");
    }
}

//! The test bed: three folders in a temp folder, built from lines.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(dead_code, unreachable_pub, reason = "each test program uses its own part")]

pub mod kernel;
pub mod race;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use pinfold_paths::{Ambient, LastLink, PathClaim, Resolution, Strategy, Workspace, WritableRoots};
use pinfold_testkit::TempTree;

/// Every strategy that this kernel can carry out; a missing one is said, not skipped in silence.
pub fn strategies() -> Vec<Strategy> {
    match Strategy::probed() {
        Strategy::Openat2 => vec![Strategy::Openat2, Strategy::ByHand],
        Strategy::ByHand => {
            eprintln!("openat2 is missing here: only the walk by hand is tested");
            vec![Strategy::ByHand]
        }
    }
}

/// `root`, `outside` and `home`, side by side.
pub struct Bed {
    _tree: TempTree,
    pub top: PathBuf,
}

impl Bed {
    pub fn new() -> Self {
        let tree = TempTree::new().with_dirs(["root", "outside", "home"]);
        Self { top: tree.top().to_owned(), _tree: tree }
    }

    pub fn build(lines: &[String]) -> Self {
        let bed = Self::new();
        for line in lines {
            bed.add(line);
        }
        bed
    }

    /// `d/` a folder, `f = content` a file, `l => target` a link, `h == f` another name, `p |` a FIFO, `s @` a socket.
    pub fn add(&self, line: &str) {
        if let Some((name, target)) = line.split_once(" => ") {
            symlink(self.put(target), self.make_room(name)).unwrap();
        } else if let Some((name, other)) = line.split_once(" == ") {
            fs::hard_link(self.top.join(other), self.make_room(name)).unwrap();
        } else if let Some((name, content)) = line.split_once(" = ") {
            fs::write(self.make_room(name), content).unwrap();
        } else if let Some(name) = line.strip_suffix(" |") {
            rustix::fs::mkfifoat(rustix::fs::CWD, self.make_room(name), rustix::fs::Mode::RWXU).unwrap();
        } else if let Some(name) = line.strip_suffix(" @") {
            drop(std::os::unix::net::UnixListener::bind(self.make_room(name)).unwrap());
        } else if let Some(name) = line.strip_suffix('/') {
            fs::create_dir_all(self.top.join(name)).unwrap();
        } else {
            panic!("not a layout line: {line}");
        }
    }

    fn make_room(&self, name: &str) -> PathBuf {
        let path = self.top.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    /// Puts the temp folder's path for `$T`.
    pub fn put(&self, text: &str) -> String {
        text.replace("$T", self.top.to_str().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.top.join(name)
    }

    pub fn workspace(&self, name: &str) -> Workspace {
        Workspace::open(&Ambient::claim(), &self.path(name)).unwrap()
    }

    pub fn line(&self, strategy: Strategy) -> WritableRoots {
        WritableRoots::new(self.workspace("root"), Some(self.path("home"))).with_strategy(strategy)
    }

    pub fn resolve(&self, strategy: Strategy, claim: &str, last: LastLink) -> Resolution {
        self.line(strategy).resolve(&self.path("root"), &PathClaim::new(self.put(claim)), last)
    }

    /// All that is outside, to be compared: content, modes, identities, link counts and times.
    pub fn outside(&self) -> BTreeMap<PathBuf, String> {
        let mut all = BTreeMap::new();
        note(&self.path("outside"), &mut all);
        note(&self.path("home"), &mut all);
        // Nothing may appear beside the three folders either.
        for entry in fs::read_dir(&self.top).unwrap() {
            all.insert(entry.unwrap().path(), "beside".into());
        }
        all
    }
}

fn note(path: &Path, all: &mut BTreeMap<PathBuf, String>) {
    let meta = fs::symlink_metadata(path).unwrap();
    let mut state = format!("{:o} {} {}", meta.mode(), meta.ino(), meta.mtime_nsec());
    if meta.is_file() {
        let _ = write!(state, " {:?}", fs::read(path).unwrap());
    } else if meta.is_symlink() {
        let _ = write!(state, " {}", fs::read_link(path).unwrap().display());
    }
    all.insert(path.into(), state);
    if meta.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            note(&entry.unwrap().path(), all);
        }
    }
}

//! What a mediated run may do in git directories: attempts, and whether they are carried out.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use pinfold_boundary::{Boundary, CacheChoice, Grant, Private, Witness};
use pinfold_policy::Guards;
use pinfold_sandbox::{Attempt, Detail, Done, Intent, Reply, Strength, Tier, Watcher};

struct Bed {
    _place: tempfile::TempDir,
    at: PathBuf,
}

impl Bed {
    /// A folder `w` with a repository.
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let at = fs::canonicalize(place.path()).unwrap();
        let bed = Self { _place: place, at };
        for directory in ["w", "home", "private", "cache", "outside"] {
            bed.dir(directory);
        }
        bed.git_dir("w/.git");
        bed
    }

    fn at(&self, path: &str) -> PathBuf {
        self.at.join(path)
    }

    fn dir(&self, path: &str) {
        fs::create_dir_all(self.at(path)).unwrap();
    }

    fn file(&self, path: &str, text: impl AsRef<[u8]>) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    fn git_dir(&self, path: &str) {
        for part in ["objects/info", "refs", "logs", "hooks", "info"] {
            self.dir(&format!("{path}/{part}"));
        }
        self.file(&format!("{path}/HEAD"), "ref: refs/heads/main\n");
        self.file(&format!("{path}/config"), "[core]\n\tbare = false\n");
    }

    fn boundary(&self) -> Boundary {
        let grant = Grant {
            folder: self.at("w"),
            home: Some(self.at("home")),
            private: Private::existing(self.at("private")),
            cache_home: Some(self.at("cache")),
            caches: CacheChoice::None,
            ..Grant::default()
        };
        let mediated = Strength { tier: Tier::Landlock, mediated: true };
        Boundary::compile(&grant, &Guards::default(), mediated).unwrap()
    }
}

/// A run that tries things.
struct Run<'b> {
    bed: &'b Bed,
    witness: Witness<'b>,
}

impl<'b> Run<'b> {
    fn new(bed: &'b Bed, boundary: &'b Boundary) -> Self {
        Self { bed, witness: Witness::new(boundary, Tier::Landlock) }
    }

    fn tries(&mut self, intent: Intent, path: &str, detail: Detail) -> bool {
        let attempt = Attempt { pid: 1, intent, place: self.bed.at(path), detail };
        self.witness.attempt(&attempt) != Reply::Refuse
    }

    fn links(&mut self, text: &str, path: &str) -> bool {
        self.tries(Intent::Symlink, path, Detail::LinkText(text.into()))
    }

    fn renames(&mut self, from: &str, to: &str) -> bool {
        let (place, other) = (self.bed.at(from), self.bed.at(to));
        self.tries(Intent::MoveFrom, from, Detail::To(other))
            && self.tries(Intent::MoveTo, to, Detail::From(place))
    }

    fn exchanges(&mut self, from: &str, to: &str) -> bool {
        let (place, other) = (self.bed.at(from), self.bed.at(to));
        self.tries(Intent::MoveFrom, from, Detail::Exchange(other))
            && self.tries(Intent::MoveTo, to, Detail::Exchange(place))
    }

    fn names(&mut self, from: &str, to: &str) -> bool {
        let (place, other) = (self.bed.at(from), self.bed.at(to));
        self.tries(Intent::LinkFrom, from, Detail::To(other))
            && self.tries(Intent::MoveTo, to, Detail::SecondNameOf(place))
    }

    /// Makes a directory as the supervisor does.
    fn makes_dir(&mut self, path: &str) {
        use std::os::unix::fs::MetadataExt;
        assert!(self.tries(Intent::MakeDir, path, Detail::None), "{path}");
        fs::create_dir(self.bed.at(path)).unwrap();
        let found = fs::metadata(self.bed.at(path)).unwrap();
        let attempt =
            Attempt { pid: 1, intent: Intent::MakeDir, place: self.bed.at(path), detail: Detail::None };
        self.witness.carried_out(&Done { attempt, file: Some((found.dev(), found.ino())) });
    }
}

#[test]
fn no_symbolic_link_is_made_in_a_git_directory() {
    let bed = Bed::new();
    bed.git_dir("w/.git/modules/sub");
    bed.dir("w/.git/worktrees/tree");
    let boundary = bed.boundary();
    let mut run = Run::new(&bed, &boundary);
    for path in
        ["COMMIT_EDITMSG", "logs/x", "refs/heads/x", "new", "modules/sub/logs/x", "worktrees/tree/logs"]
    {
        for text in ["neighbour", "/etc/passwd", "../../../home/x", "x/y"] {
            assert!(!run.links(text, &format!("w/.git/{path}")), "{path} -> {text}");
        }
        assert!(
            run.tries(Intent::Create, &format!("w/.git/{path}.x"), Detail::None),
            "{path}: a file is made"
        );
    }
    assert!(run.links("testing", "w/.git/tAb12Cd"), "git init tries whether there are links");
    assert!(run.links("/etc/passwd", "w/link") && run.links("x", "w/sub"), "elsewhere they are made");
}

#[test]
fn no_symbolic_link_is_moved_into_a_git_directory() {
    let bed = Bed::new();
    bed.git_dir("w/node_modules/package/.git");
    bed.dir("w/dir");
    bed.file("w/plain", "");
    bed.file("w/.git/description", "");
    bed.dir("w/.git/own/deep");
    for link in ["w/link", "w/dir/link", "w/node_modules/dir/link", "w/.git/own/deep/link"] {
        fs::create_dir_all(bed.at(link).parent().unwrap()).unwrap();
        symlink("neighbour", bed.at(link)).unwrap();
    }
    bed.dir("w/.git/others");
    let boundary = bed.boundary();
    let mut run = Run::new(&bed, &boundary);
    assert!(!run.renames("w/link", "w/.git/FETCH_HEAD"));
    assert!(!run.names("w/link", "w/.git/FETCH_HEAD"));
    assert!(!run.exchanges("w/link", "w/.git/description"));
    assert!(!run.exchanges("w/.git/description", "w/link"));
    assert!(!run.renames("w/.git/own/deep/link", "w/.git/FETCH_HEAD"), "one that was there before");
    assert!(!run.renames("w/dir", "w/.git/logs/refs"));
    assert!(!run.renames("w/node_modules/dir", "w/node_modules/package/.git/logs/refs"));
    assert!(!run.renames("w/.git/own", "w/.git/logs/refs"), "with all that is in it");
    assert!(run.renames("w/.git/others", "w/.git/logs/refs"), "a directory without any");
    assert!(run.renames("w/plain", "w/.git/FETCH_HEAD"), "a file");
    assert!(run.renames("w/link", "w/elsewhere"), "elsewhere");
}

#[test]
fn a_file_that_could_be_swapped_for_a_link_is_not_moved_into_a_git_directory() {
    let bed = Bed::new();
    bed.file("outside/plain", "");
    let boundary = bed.boundary();
    let mut run = Run::new(&bed, &boundary);
    let arrives = Detail::From(bed.at("outside/plain"));
    assert!(!run.tries(Intent::MoveTo, "w/.git/FETCH_HEAD", arrives.clone()));
    assert!(run.tries(Intent::MoveTo, "w/plain", arrives));
}

#[test]
fn a_directory_with_a_link_does_not_become_a_repository() {
    let bed = Bed::new();
    let boundary = bed.boundary();
    for link in [false, true] {
        let mut run = Run::new(&bed, &boundary);
        let top = format!("w/bare-{link}");
        run.makes_dir(&top);
        run.makes_dir(&format!("{top}/refs"));
        run.makes_dir(&format!("{top}/objects"));
        if link {
            symlink("/etc", bed.at(&format!("{top}/logs"))).unwrap();
        }
        assert_eq!(run.tries(Intent::Create, &format!("{top}/HEAD"), Detail::None), !link);
    }
}

/// An index of version 2 with one empty file at this path.
fn index(path: &str) -> Vec<u8> {
    let mut content = b"DIRC".to_vec();
    content.extend([0, 0, 0, 2, 0, 0, 0, 1]);
    content.extend([0; 24]);
    content.extend(0o100_644_u32.to_be_bytes());
    content.extend([0; 12 + 20]);
    content.extend(u16::try_from(path.len()).unwrap().to_be_bytes());
    content.extend(path.bytes());
    content.push(0);
    content.resize(12 + (content.len() - 12).next_multiple_of(8), 0);
    content.extend([0; 20]);
    content
}

const GIT_DIRS: [&str; 4] = ["w/.git", "w/.git/modules/sub", "w/.git/worktrees/tree", "w/bare.git"];

/// A bed with a git directory of each kind.
fn with_all_kinds() -> Bed {
    let bed = Bed::new();
    bed.git_dir("w/.git/modules/sub");
    bed.git_dir("w/bare.git");
    bed.file("w/.git/worktrees/tree/commondir", "../..\n");
    bed.file("w/.git/worktrees/tree/HEAD", "ref: refs/heads/tree\n");
    bed
}

#[test]
fn an_index_is_replaced_by_one_that_stays_in_the_working_tree() {
    let bed = with_all_kinds();
    let boundary = bed.boundary();
    let mut run = Run::new(&bed, &boundary);
    for git_dir in GIT_DIRS {
        for name in ["index", "sharedindex.0123"] {
            let (lock, target) = (format!("{git_dir}/index.lock"), format!("{git_dir}/{name}"));
            for (path, expected) in [("dir/file", true), ("../../x", false), (".git/hooks/x", false)] {
                bed.file(&lock, index(path));
                assert_eq!(run.renames(&lock, &target), expected, "{target}: {path}");
            }
            bed.file(&lock, "no index");
            assert!(!run.renames(&lock, &target), "{target}");
        }
    }
}

#[test]
fn an_index_is_changed_in_no_other_way() {
    let bed = with_all_kinds();
    for git_dir in GIT_DIRS {
        bed.file(&format!("{git_dir}/index"), index("file"));
    }
    bed.file("w/good", index("file"));
    bed.dir("w/.git/own");
    let boundary = bed.boundary();
    let mut run = Run::new(&bed, &boundary);
    for git_dir in GIT_DIRS {
        let at = format!("{git_dir}/index");
        assert!(!run.tries(Intent::Write, &at, Detail::None), "{at}");
        assert!(!run.tries(Intent::Create, &at, Detail::None), "{at}");
        assert!(!run.names("w/good", &at), "a file with two names: {at}");
        assert!(!run.names(&at, "w/other"), "another name to write through: {at}");
        assert!(!run.exchanges("w/good", &at) && !run.exchanges(&at, "w/good"), "{at}");
        assert!(run.renames("w/good", &at), "what is in it counts, and not its name: {at}");
        assert!(run.tries(Intent::Remove, &at, Detail::None), "git makes a new one: {at}");
        assert!(run.tries(Intent::Create, &format!("{at}.lock"), Detail::None), "{at}");
    }
    assert!(!run.renames("w/.git/own", "w/.git/worktrees/new"), "with an index in it");
    assert!(run.tries(Intent::Create, "w/.git/refs/heads/index", Detail::None), "a branch of that name");
}

#[test]
fn what_was_looked_at_is_what_becomes_the_index() {
    let bed = Bed::new();
    bed.file("w/.git/index.lock", index("file"));
    let boundary = bed.boundary();
    let mut run = Run::new(&bed, &boundary);
    assert!(run.renames("w/.git/index.lock", "w/.git/index"));
    // By a descriptor that was open before.
    bed.file("w/.git/index.lock", index("../x"));
    let (lock, at) = (bed.at("w/.git/index.lock"), bed.at("w/.git/index"));
    let attempts = [
        Attempt { pid: 1, intent: Intent::MoveFrom, place: lock.clone(), detail: Detail::To(at.clone()) },
        Attempt { pid: 1, intent: Intent::MoveTo, place: at, detail: Detail::From(lock) },
    ];
    assert_eq!(run.witness.content_for(&attempts), Some(index("file")));
    assert_eq!(run.witness.content_for(&attempts), None, "once");
}

//! What a mediated run may do in git directories: attempts, and whether they are carried out.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod configured_places;
mod indexes;
mod new_repositories;

use pinfold_boundary::{Boundary, CacheChoice, DenialObserver, Private, SandboxRequest};
use pinfold_policy::Guards;
use pinfold_sandbox::{
    Attempt, CompletedSyscall, Detail, FileIdentity, Intent, Reply, Strength, SyscallHandler as _, Tier,
};
use pinfold_testkit::TempTree;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

struct Bed(TempTree);

impl Bed {
    /// A folder `w` with a repository.
    fn new() -> Self {
        let tree = TempTree::new().with_dirs(["w", "home", "private", "cache", "outside"]);
        tree.make_git_dir("w/.git");
        Self(tree)
    }

    /// A folder `w` that is in no repository, with one below it.
    fn above_a_repository() -> Self {
        let tree = TempTree::new().with_dirs(["w/docs", "home", "private", "cache", "outside"]);
        tree.make_git_dir("w/old/.git");
        Self(tree)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path(path)
    }

    fn dir(&self, path: &str) {
        self.0.make_dir(path);
    }

    fn file(&self, path: &str, text: impl AsRef<[u8]>) {
        self.0.write(path, text);
    }

    fn boundary(&self) -> Boundary {
        self.boundary_of(true)
    }

    fn boundary_of(&self, mediated: bool) -> Boundary {
        let strength = Strength { tier: Tier::Landlock, mediated };
        Boundary::compile(&self.request(), &Guards::default(), strength).unwrap()
    }

    /// Returns whether file tools are held at a path: those of a run, and those without one.
    fn holds_file_tools(&self, boundary: &Boundary, path: &str) -> bool {
        let alone = Boundary::compile_for_file_tools(&self.request(), &Guards::default()).unwrap();
        let [of_run, alone] =
            [boundary, &alone].map(|boundary| boundary.guards().write(&self.at(path), None, false).is_some());
        assert_eq!(of_run, alone, "{path}");
        of_run
    }

    fn request(&self) -> SandboxRequest {
        let mut request = SandboxRequest::new(self.at("w"));
        request.home = Some(self.at("home"));
        request.private = Private::existing(self.at("private"));
        request.cache_home = Some(self.at("cache"));
        request.caches = CacheChoice::None;
        request
    }
}

/// A run that tries things.
struct Run<'b> {
    bed: &'b Bed,
    observer: DenialObserver<'b>,
}

impl<'b> Run<'b> {
    fn new(bed: &'b Bed, boundary: &'b Boundary) -> Self {
        Self { bed, observer: DenialObserver::new(boundary, Tier::Landlock) }
    }

    fn tries(&mut self, intent: Intent, path: &str, detail: Detail) -> bool {
        let attempt = Attempt::new(1, intent, self.bed.at(path)).with_detail(detail);
        self.observer.attempt(&attempt) != Reply::Refuse
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
        self.tries(Intent::HardLinkSource, from, Detail::To(other))
            && self.tries(Intent::MoveTo, to, Detail::HardLinkOf(place))
    }

    fn carried_out(&mut self, intent: Intent, path: &str) {
        let attempt = Attempt::new(1, intent, self.bed.at(path));
        self.observer.carried_out(&CompletedSyscall { attempt, made: None, gone: None });
    }

    /// Makes a lock, as git inside does.
    fn locks(&mut self, path: &str, content: impl AsRef<[u8]>) {
        self.bed.file(path, content);
        self.carried_out(Intent::Create, path);
    }

    /// Renames a file over another one, as the supervisor does.
    fn replaces(&mut self, lock: &str, path: &str, content: &str) {
        self.locks(lock, content);
        assert!(self.renames(lock, path), "{path}");
        let (from, to) = (self.bed.at(lock), self.bed.at(path));
        let attempts = [
            Attempt::new(1, Intent::MoveFrom, from.clone()).with_detail(Detail::To(to.clone())),
            Attempt::new(1, Intent::MoveTo, to.clone()).with_detail(Detail::From(from.clone())),
        ];
        let _ = self.observer.content_for(&attempts);
        fs::rename(from, to).unwrap();
        for attempt in attempts {
            self.observer.carried_out(&CompletedSyscall { attempt, made: None, gone: None });
        }
    }

    /// Makes a directory as the supervisor does.
    fn makes_dir(&mut self, path: &str) {
        assert!(self.tries(Intent::MakeDir, path, Detail::None), "{path}");
        fs::create_dir(self.bed.at(path)).unwrap();
        let made = FileIdentity::read(&self.bed.at(path));
        let attempt = Attempt::new(1, Intent::MakeDir, self.bed.at(path));
        self.observer.carried_out(&CompletedSyscall { attempt, made, gone: None });
    }
}

const FILE: u32 = 0o100_644;

const LINK: u32 = 0o120_000;

/// An index of version 2 with entries of these paths and modes.
fn entries(all: &[(&str, u32)]) -> Vec<u8> {
    let mut content = b"DIRC".to_vec();
    content.extend([0, 0, 0, 2]);
    content.extend(u32::try_from(all.len()).unwrap().to_be_bytes());
    for (path, mode) in all {
        let start = content.len();
        content.extend([0; 24]);
        content.extend(mode.to_be_bytes());
        content.extend([0; 12 + 20]);
        content.extend(u16::try_from(path.len()).unwrap().to_be_bytes());
        content.extend(path.bytes());
        content.push(0);
        content.resize(start + (content.len() - start).next_multiple_of(8), 0);
    }
    content.extend([0; 20]);
    content
}

/// An index with one empty file at this path.
fn index(path: &str) -> Vec<u8> {
    entries(&[(path, FILE)])
}

const GIT_DIRS: [&str; 4] = ["w/.git", "w/.git/modules/sub", "w/.git/worktrees/tree", "w/bare.git"];

/// A bed with a git directory of each kind.
fn with_all_kinds() -> Bed {
    let bed = Bed::new();
    bed.0.make_git_dir("w/.git/modules/sub");
    bed.0.make_git_dir("w/bare.git");
    bed.file("w/.git/worktrees/tree/commondir", "../..\n");
    bed.file("w/.git/worktrees/tree/HEAD", "ref: refs/heads/tree\n");
    bed
}

#[test]
fn a_file_that_a_supervisor_is_writing_is_opened_by_no_run() {
    let bed = Bed::new();
    let at = "w/.git/index.pinfold-0123456789abcdef";
    bed.file(at, "");
    let boundary = bed.boundary();
    let mut run = Run::new(&bed, &boundary);
    assert!(!run.tries(Intent::Write, at, Detail::None) && !run.tries(Intent::Create, at, Detail::None));
    assert!(!run.renames("w/.git/HEAD", at) && !run.names(at, "w/.git/x"));
    assert!(run.tries(Intent::Remove, at, Detail::None), "one that was left behind");
}

#[test]
fn what_an_unfinished_operation_goes_on_with_is_reported() {
    let bed = Bed::new();
    let (old, new) = ("w/.git/rebase-merge", "w/.git/rebase-apply");
    for name in ["git-rebase-todo", "done", "onto"] {
        bed.file(&format!("{old}/{name}"), "pick 0123\n");
    }
    let boundary = bed.boundary();
    let mut run = Run::new(&bed, &boundary);
    for (name, text) in [("git-rebase-todo", "exec ./x\n"), ("done", "pick 0123\n"), ("more", "")] {
        assert!(run.tries(Intent::Create, &format!("{old}/{name}"), Detail::None), "{name}: not held");
        bed.file(&format!("{old}/{name}"), text);
    }
    assert!(run.tries(Intent::Remove, &format!("{old}/onto"), Detail::None));
    fs::remove_file(bed.at(&format!("{old}/onto"))).unwrap();
    run.makes_dir(new);
    assert!(run.tries(Intent::Create, &format!("{new}/next"), Detail::None));
    bed.file(&format!("{new}/next"), "1");
    assert!(run.tries(Intent::Create, "w/.git/BISECT_TERMS", Detail::None));
    bed.file("w/.git/BISECT_TERMS", "bad\ngood\n");
    assert!(run.tries(Intent::MakeDir, "w/.git/refs/heads/rebase-merge", Detail::None));
    bed.dir("w/.git/refs/heads/rebase-merge");
    let (_, _, changed) = run.observer.finish();
    let mut told = boundary.settle(changed.as_ref()).unfinished;
    told.sort();
    let expected = ["BISECT_TERMS", "rebase-apply", "rebase-merge/git-rebase-todo", "rebase-merge/more"];
    assert_eq!(told, expected.map(|name| bed.at(&format!("w/.git/{name}"))));
}

#[test]
fn a_lock_is_touched_by_the_run_alone_that_made_it() {
    let bed = with_all_kinds();
    let boundary = bed.boundary();
    let mut run = Run::new(&bed, &boundary);
    bed.file("w/evil", "[core]\n\tfsmonitor = ./x\n");
    for git_dir in GIT_DIRS {
        for name in ["index.lock", "config.lock", "MERGE_RR.lock", "sharedindex_Ab12Cd"] {
            let at = format!("{git_dir}/{name}");
            let is_free = |run: &mut Run<'_>| {
                [Intent::Write, Intent::Create, Intent::Remove]
                    .map(|intent| run.tries(intent, &at, Detail::None))
            };
            bed.file(&at, "of a git outside");
            assert_eq!(is_free(&mut run), [false; 3], "{at}");
            assert!(!run.names(&at, "w/name") && !run.renames(&at, "w/name") && !run.renames("w/evil", &at));
            assert!(!run.exchanges(&at, "w/evil"), "{at}");
            fs::remove_file(bed.at(&at)).unwrap();
            assert!(!run.tries(Intent::Create, &at, Detail::None), "it could open one of another's: {at}");
            assert!(!run.renames("w/evil", &at), "it could replace one of another's: {at}");
            assert!(run.tries(Intent::Create, &at, Detail::Exclusive), "{at}");
            bed.file(&at, "ours");
            run.carried_out(Intent::Create, &at);
            assert_eq!(is_free(&mut run), [true; 3], "{at}");
        }
    }
    // A git outside has taken its place.
    fs::remove_file(bed.at("w/.git/index.lock")).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    bed.file("w/.git/index.lock", "of a git outside");
    assert!(!run.tries(Intent::Write, "w/.git/index.lock", Detail::None));
    let (_, _, changed) = run.observer.finish();
    boundary.settle(changed.as_ref());
    assert!(
        bed.at("w/.git/index.lock").exists() && !bed.at("w/.git/config.lock").exists(),
        "ours are removed"
    );
}

#[test]
fn a_reference_is_replaced_by_one_that_leads_to_another() {
    let bed = with_all_kinds();
    bed.dir("w/.git/own");
    let boundary = bed.boundary();
    let mut run = Run::new(&bed, &boundary);
    for git_dir in GIT_DIRS {
        for name in ["HEAD", "ORIG_HEAD", "refs/heads/main", "refs/stash"] {
            let (lock, at) = (format!("{git_dir}/{name}.lock"), format!("{git_dir}/{name}"));
            for (content, expected) in [
                ("ref: refs/heads/other\n", true),
                ("0123\n", true),
                ("ref: ../../x\n", false),
                ("ref: refs/../../x\n", false),
            ] {
                run.locks(&lock, content);
                assert_eq!(run.renames(&lock, &at), expected, "{at}: {content}");
            }
            assert!(!run.tries(Intent::Create, &at, Detail::None), "{at}");
            bed.file(&lock, "of a git outside");
            std::thread::sleep(std::time::Duration::from_millis(20));
            fs::remove_file(bed.at(&lock)).unwrap();
            bed.file(&lock, "of a git outside");
            assert!(!run.tries(Intent::Write, &lock, Detail::None), "{lock}");
        }
        assert!(run.tries(Intent::Create, &format!("{git_dir}/FETCH_HEAD"), Detail::None), "a list");
        assert!(run.tries(Intent::Create, &format!("{git_dir}/logs/HEAD"), Detail::None), "a log");
    }
    assert!(!run.renames("w/.git/own", "w/.git/refs/heads/own"), "with a reference in it");
}

/// The directory above a held descriptor is closed, or its path is too long: what is changed through it cannot be judged.
#[test]
fn what_cannot_be_looked_up_is_refused() {
    let bed = Bed::new();
    bed.dir("w/d/e");
    // Beyond what is looked at when a run starts.
    let deep = "w/d/1/2/3/4/5/6/7/8/9";
    bed.0.make_git_dir(&format!("{deep}/.git"));
    bed.file(&format!("{deep}/.git/config"), "[core]\n\thooksPath = .githooks\n");
    bed.dir(&format!("{deep}/conf"));
    symlink("conf", bed.at(&format!("{deep}/.claude"))).unwrap();
    let boundary = bed.boundary();
    let mut run = Run::new(&bed, &boundary);
    let long = format!("w/{}", "d/".repeat(1_900));
    let closed = bed.at("w/d");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let is_closed = fs::symlink_metadata(bed.at("w/d/e")).is_err();
    let mut out_of_sight = vec![long.as_str()];
    if is_closed {
        out_of_sight.extend(["w/d/e", deep]);
    } else {
        eprintln!("LEFT OUT: closed directories, which are open for this user");
    }
    for at in out_of_sight {
        let inside = format!("{at}/x");
        assert!(!run.tries(Intent::Create, &inside, Detail::None), "{at}");
        assert!(!run.tries(Intent::MakeDir, &inside, Detail::None), "{at}");
        assert!(!run.renames(&inside, "w/x") && !run.renames("w/x", &inside), "{at}");
        assert!(!run.names(&inside, "w/x") && !run.exchanges("w/d", &inside), "{at}");
    }
    assert!(run.tries(Intent::Metadata, "w/d", Detail::Mode(0o755)), "it can be opened again");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(run.tries(Intent::Create, "w/d/e/x", Detail::None));
    for held in [".githooks/x", "conf/settings.json"] {
        assert!(!run.tries(Intent::Create, &format!("{deep}/{held}"), Detail::None), "remembered: {held}");
    }
}

#[test]
fn a_moved_directory_is_told_of_where_not_all_of_it_was_seen() {
    let bed = Bed::new();
    let boundary = bed.boundary();
    for (to, below, told) in
        [("w/box", "1/.envrc", "w/box/1/.envrc"), ("w/deep", "1/2/3/4/5/6/7/8/9/.envrc", "w/deep")]
    {
        let mut run = Run::new(&bed, &boundary);
        bed.file(&format!("{to}/{below}"), "export A=1\n");
        let from = Detail::From(bed.at("w/target/box"));
        let attempt = Attempt::new(1, Intent::MoveTo, bed.at(to)).with_detail(from);
        run.observer.carried_out(&CompletedSyscall { attempt, made: None, gone: None });
        let (_, _, changed) = run.observer.finish();
        let report = boundary.settle(changed.as_ref());
        assert!(report.changed_autorun.contains(&bed.at(told)), "{report}");
    }
}

//! What a mediated run may do in git directories: attempts, and whether they are carried out.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use pinfold_boundary::{
    Boundary, CacheChoice, DenialObserver, PathAccess, Private, SandboxMode, SandboxRequest,
};
use pinfold_policy::Guards;
use pinfold_sandbox::{
    Attempt, CompletedSyscall, Detail, FileIdentity, Intent, Reply, Strength, SyscallHandler as _, Tier,
};
use pinfold_testkit::TempTree;

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
fn an_index_is_replaced_by_one_that_stays_in_the_working_tree() {
    let bed = with_all_kinds();
    let boundary = bed.boundary();
    let mut run = Run::new(&bed, &boundary);
    for git_dir in GIT_DIRS {
        for name in ["index", "sharedindex.0123"] {
            let (lock, target) = (format!("{git_dir}/index.lock"), format!("{git_dir}/{name}"));
            let _ = fs::remove_file(bed.at(&format!("{git_dir}/index")));
            for (path, expected) in [("dir/file", true), ("../../x", false), (".git/hooks/x", false)] {
                run.locks(&lock, index(path));
                assert_eq!(run.renames(&lock, &target), expected, "{target}: {path}");
            }
            run.locks(&lock, "no index");
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
        assert!(run.tries(Intent::Create, &format!("{at}.lock"), Detail::Exclusive), "{at}");
    }
    assert!(!run.renames("w/.git/own", "w/.git/worktrees/new"), "with an index in it");
    run.locks("w/.git/refs/heads/index.lock", "0123\n");
    assert!(run.renames("w/.git/refs/heads/index.lock", "w/.git/refs/heads/index"), "a branch of that name");
}

#[test]
fn what_was_looked_at_is_what_becomes_the_index() {
    let bed = Bed::new();
    let boundary = bed.boundary();
    let mut run = Run::new(&bed, &boundary);
    run.locks("w/.git/index.lock", index("file"));
    assert!(run.renames("w/.git/index.lock", "w/.git/index"));
    // By a descriptor that was open before.
    bed.file("w/.git/index.lock", index("../x"));
    let (lock, at) = (bed.at("w/.git/index.lock"), bed.at("w/.git/index"));
    let attempts = [
        Attempt::new(1, Intent::MoveFrom, lock.clone()).with_detail(Detail::To(at.clone())),
        Attempt::new(1, Intent::MoveTo, at).with_detail(Detail::From(lock)),
    ];
    assert_eq!(run.observer.content_for(&attempts), Some(index("file")));
    assert_eq!(run.observer.content_for(&attempts), None, "once");
}

#[test]
fn a_shared_part_counts_together_with_the_index_that_names_it() {
    let bed = Bed::new();
    let name = "07".repeat(20);
    let (own, base) = ("w/.git/index", format!("w/.git/sharedindex.{name}"));
    let mut split = entries(&[("a/b", FILE)]);
    let end = split.len() - 20;
    split.splice(end.., [b"link".to_vec(), vec![0, 0, 0, 20], vec![7; 20], vec![0; 20]].concat());
    bed.file(own, &split);
    bed.file("w/link", entries(&[("a", LINK)]));
    bed.file("w/file", entries(&[("c", FILE)]));
    let boundary = bed.boundary();
    let mut run = Run::new(&bed, &boundary);
    assert!(!run.renames("w/link", &base), "an entry of the index would lie below it");
    assert!(run.renames("w/file", &base));
    assert!(run.renames("w/link", "w/.git/sharedindex.08"), "no index names it");
    bed.file(&base, entries(&[("a", LINK)]));
    bed.file("w/new", &split);
    assert!(!run.renames("w/new", own), "the other way round");
}

#[test]
fn a_list_of_conflicts_is_replaced_by_one_that_stays_in_the_working_tree() {
    let bed = with_all_kinds();
    let boundary = bed.boundary();
    let mut run = Run::new(&bed, &boundary);
    for git_dir in GIT_DIRS {
        let (lock, target) = (format!("{git_dir}/MERGE_RR.lock"), format!("{git_dir}/MERGE_RR"));
        for (path, expected) in [("dir/file", true), ("../../x", false), ("/etc/passwd", false)] {
            run.locks(&lock, format!("{}\t{path}\0", "0".repeat(40)));
            assert_eq!(run.renames(&lock, &target), expected, "{target}: {path}");
        }
        assert!(!run.tries(Intent::Create, &target, Detail::None), "{target}");
    }
}

#[test]
fn in_a_new_repository_an_index_is_written_as_any_file_unless_it_lies_in_another() {
    let bed = Bed::new();
    fs::remove_dir_all(bed.at("w/.git")).unwrap();
    let boundary = bed.boundary();
    for nested in [false, true] {
        if nested {
            bed.0.make_git_dir("w/.git");
        }
        let mut run = Run::new(&bed, &boundary);
        let top = format!("w/new-{nested}");
        for part in ["", "/.git", "/.git/refs", "/.git/objects"] {
            run.makes_dir(&format!("{top}{part}"));
        }
        for name in ["index", "MERGE_RR"] {
            let at = format!("{top}/.git/{name}");
            assert_eq!(
                run.tries(Intent::Create, &at, Detail::None),
                !nested,
                "{at}: `cp -a` of a repository"
            );
        }
    }
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
fn a_directory_that_was_there_becomes_no_repository_by_its_last_part() {
    let bed = Bed::new();
    let head = "ref: refs/heads/main\n";
    for (top, parts) in [("w/half", &["refs"][..]), ("w/other", &["objects"])] {
        bed.file(&format!("{top}/HEAD"), head);
        for part in parts {
            bed.dir(&format!("{top}/{part}"));
        }
    }
    bed.file("w/head/HEAD", head);
    bed.file("w/common/commondir", "../half\n");
    bed.file("w/plain/file", "");
    let boundary = bed.boundary();
    let mut run = Run::new(&bed, &boundary);
    assert!(!run.tries(Intent::MakeDir, "w/half/objects", Detail::None));
    assert!(!run.tries(Intent::MakeDir, "w/other/refs", Detail::None));
    assert!(!run.tries(Intent::Create, "w/head/commondir", Detail::None));
    assert!(!run.tries(Intent::Create, "w/common/HEAD", Detail::None));
    assert!(!run.renames("w/plain/file", "w/head/commondir"));
    for part in ["objects", "refs"] {
        assert!(run.tries(Intent::MakeDir, &format!("w/plain/{part}"), Detail::None), "it lacks more");
    }
    assert!(run.tries(Intent::Create, "w/plain/commondir", Detail::None), "it has no HEAD");
}

#[test]
fn a_directory_that_says_where_the_rest_of_a_repository_is_counts_as_one() {
    let bed = Bed::new();
    bed.file("w/linked/HEAD", "ref: refs/heads/main\n");
    bed.file("w/linked/commondir", "../elsewhere\n");
    let boundary = bed.boundary();
    let mut run = Run::new(&bed, &boundary);
    for held in ["commondir", "config", "hooks/pre-commit", "index"] {
        assert!(!run.tries(Intent::Create, &format!("w/linked/{held}"), Detail::None), "{held}");
    }
    assert!(!run.renames("w/linked", "w/moved"));
    assert!(run.tries(Intent::Create, "w/linked/COMMIT_EDITMSG", Detail::None));
}

#[test]
fn a_new_directory_that_becomes_a_repository_is_reported() {
    let bed = Bed::new();
    // Within a repository it becomes none.
    fs::remove_dir_all(bed.at("w/.git")).unwrap();
    let boundary = bed.boundary();
    let mut run = Run::new(&bed, &boundary);
    // The second among directories in which nothing else that runs later is looked for.
    run.makes_dir("w/.cache");
    for new in ["w/new", "w/.cache/new"] {
        run.makes_dir(new);
        for (name, text) in [("commondir", "../own"), ("HEAD", "ref: refs/heads/main")] {
            let at = format!("{new}/{name}");
            assert!(run.tries(Intent::Create, &at, Detail::None), "{at}");
            bed.file(&at, text);
        }
    }
    let (_, _, changed) = run.observer.finish();
    let expected = [bed.at("w/.cache/new"), bed.at("w/new")];
    assert_eq!(boundary.settle(changed.as_ref()).new_repositories, expected);
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

#[test]
fn a_new_worktree_that_leads_out_is_reported() {
    for (head, expected) in [("ref: refs/heads/tree\n", 0), ("ref: ../../x\n", 1)] {
        let bed = Bed::new();
        let boundary = bed.boundary();
        let mut run = Run::new(&bed, &boundary);
        run.makes_dir("w/.git/worktrees");
        run.makes_dir("w/.git/worktrees/tree");
        run.makes_dir("w/tree");
        let dot_git = bed.at("w/tree/.git").display().to_string();
        let pointer = format!("gitdir: {}\n", bed.at("w/.git/worktrees/tree").display());
        for (name, text) in [
            ("w/.git/worktrees/tree/gitdir", format!("{dot_git}\n")),
            ("w/.git/worktrees/tree/HEAD", head.to_owned()),
            ("w/.git/worktrees/tree/commondir", "../..\n".to_owned()),
            ("w/tree/.git", pointer),
        ] {
            assert!(run.tries(Intent::Create, name, Detail::None), "{name}");
            bed.file(name, text);
        }
        let (_, _, changed) = run.observer.finish();
        assert_eq!(boundary.settle(changed.as_ref()).new_repositories.len(), expected, "{head}");
    }
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
fn a_new_working_tree_is_looked_at_when_it_becomes_one() {
    let bed = Bed::new();
    bed.file("w/.git/config", "[core]\n\thooksPath = .githooks\n");
    let boundary = bed.boundary();
    let mut run = Run::new(&bed, &boundary);
    run.makes_dir("w/wt");
    let hook = "w/wt/.githooks";
    assert!(run.tries(Intent::MakeDir, hook, Detail::None), "no working tree yet");
    run.makes_dir("w/.git/worktrees");
    run.makes_dir("w/.git/worktrees/wt");
    let ties = [
        ("w/.git/worktrees/wt/gitdir", format!("{}\n", bed.at("w/wt/.git").display())),
        ("w/wt/.git", format!("gitdir: {}\n", bed.at("w/.git/worktrees/wt").display())),
        ("w/.git/worktrees/wt/commondir", "../..\n".to_owned()),
    ];
    for (path, text) in ties {
        assert!(run.tries(Intent::Create, path, Detail::None), "{path}");
        bed.file(path, "");
        run.carried_out(Intent::Create, path);
        // It is looked at while it is written.
        let _ = run.tries(Intent::Create, "w/wt/file", Detail::None);
        bed.file(path, text);
    }
    assert!(!run.tries(Intent::MakeDir, hook, Detail::None));
    assert!(run.tries(Intent::Create, "w/wt/file", Detail::None));
}

#[test]
fn a_repository_is_found_among_dependencies_that_move() {
    let bed = Bed::new();
    let boundary = bed.boundary();
    let mut run = Run::new(&bed, &boundary);
    bed.dir("w/node_modules");
    for top in ["w/node_modules/p", "w/box/node_modules/p"] {
        bed.0.make_git_dir(&format!("{top}/.git"));
    }
    assert!(!run.renames("w/box", "w/other"), "one that was there");
    assert!(!run.renames("w/node_modules/p", "w/node_modules/q"), "one that was there, among dependencies");
    bed.file("w/node_modules/r/.vscode/tasks.json", "{}");
    assert!(run.renames("w/node_modules/r", "w/node_modules/s"), "names mean nothing there");
}

#[test]
fn no_worktree_is_put_around_a_repository_of_the_run() {
    let bed = Bed::new();
    let boundary = bed.boundary();
    for own in [false, true] {
        let mut run = Run::new(&bed, &boundary);
        let (name, wt) = (format!("wt-{own}"), format!("w/wt-{own}"));
        run.makes_dir(&wt);
        run.makes_dir(&format!("{wt}/inner"));
        if own {
            run.makes_dir(&format!("{wt}/inner/.git"));
        }
        let git_dir = format!("w/.git/worktrees/{name}");
        if !own {
            run.makes_dir("w/.git/worktrees");
        }
        run.makes_dir(&git_dir);
        bed.file(&format!("{git_dir}/gitdir"), format!("{}\n", bed.at(&format!("{wt}/.git")).display()));
        assert_eq!(run.tries(Intent::Create, &format!("{wt}/.git"), Detail::None), !own);
    }
}

/// A worktree's `.git` file can be written to lead there.
#[test]
fn what_becomes_a_repository_within_another_one_names_no_program() {
    let bed = Bed::new();
    let boundary = bed.boundary();
    let plain = "[core]\n\tbare = true\n";
    for (name, config, by_git, hook, expected) in [
        ("git", plain, true, false, true),
        ("hook", plain, true, true, false),
        ("program", "[core]\n\tfsmonitor = x\n", true, false, false),
        ("still-open", plain, false, false, false),
    ] {
        let mut run = Run::new(&bed, &boundary);
        let at = |below: &str| format!("w/{name}/{below}");
        for below in ["", "refs", "hooks"] {
            run.makes_dir(at(below).trim_end_matches('/'));
        }
        bed.file(&at("hooks/x.sample"), "");
        if hook {
            bed.file(&at("hooks/post-checkout"), "");
        }
        if by_git {
            run.replaces(&at("config.lock"), &at("config"), config);
        } else {
            bed.file(&at("config"), config);
        }
        bed.file(&at("HEAD"), "ref: refs/heads/main\n");
        assert_eq!(run.tries(Intent::MakeDir, &at("objects"), Detail::None), expected, "{name}");
    }
}

/// A `.git` file can name any repository, whichever expects it: its text is written without another call.
#[test]
fn no_git_file_in_an_old_working_tree_leads_to_an_untrusted_repository() {
    const PLAIN: &str = "[core]\n\tbare = false\n";
    const RUNS: &str = "[core]\n\tfsmonitor = ./x\n";
    for (order, git_file, config, expected) in [
        ("configured first", "w/old/wt/.git", PLAIN, (false, true)),
        ("configured first", "w/old/wt/.git", RUNS, (false, true)),
        ("configured first", "w/docs/.git", RUNS, (true, true)),
        ("pointer first", "w/old/wt/.git", PLAIN, (true, true)),
        ("pointer first", "w/old/wt/.git", RUNS, (true, false)),
        ("pointer first", "w/docs/.git", RUNS, (true, true)),
    ] {
        let bed = Bed::above_a_repository();
        let boundary = bed.boundary();
        let mut run = Run::new(&bed, &boundary);
        run.makes_dir("w/old/wt");
        run.makes_dir("w/old/.git/worktrees");
        run.makes_dir("w/old/.git/worktrees/wt");
        bed.file("w/old/.git/worktrees/wt/gitdir", format!("{}\n", bed.at(git_file).display()));
        run.makes_dir("w/own");
        run.makes_dir("w/own/.git");
        let configures = |run: &mut Run<'_>| {
            run.locks("w/own/.git/config.lock", config);
            run.renames("w/own/.git/config.lock", "w/own/.git/config")
        };
        let points = |run: &mut Run<'_>| run.tries(Intent::Create, git_file, Detail::None);
        let found = if order == "pointer first" {
            let pointed = points(&mut run);
            (pointed, configures(&mut run))
        } else {
            let renamed = configures(&mut run);
            (points(&mut run), renamed)
        };
        assert_eq!(found, expected, "{order}: {git_file} {config}");
        let hook = run.tries(Intent::Create, "w/own/.git/hooks/pre-commit", Detail::None);
        assert_eq!(hook, !found.0 || git_file == "w/docs/.git", "{order}: {git_file} {config}");
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

/// What the configuration of a repository below names outside of its own working tree is held before anything in that changes.
#[test]
fn what_a_repository_below_names_is_held_from_the_first_change_on() {
    let hooks = |path: &str| format!("[core]\n\thooksPath = {path}\n");
    let config = "w/old/.git/config";
    for (name, files, held) in [
        ("hooks", vec![(config, hooks("../tools/hooks"))], "w/tools/hooks/pre-commit"),
        ("attributes", vec![(config, "[core]\n\tattributesFile = ../a\n".to_owned())], "w/a"),
        (
            "an include",
            vec![(config, "[include]\n\tpath = ../../docs/team.cfg\n".to_owned())],
            "w/docs/team.cfg",
        ),
        ("a program", vec![(config, "[core]\n\tfsmonitor = ../docs/x.sh\n".to_owned())], "w/docs/x.sh"),
        (
            "a filter",
            vec![(config, "[filter \"x\"]\n\tclean = sh ../docs/x.sh %f\n".to_owned())],
            "w/docs/x.sh",
        ),
        (
            "what an include names",
            vec![
                (config, "[include]\n\tpath = ../../docs/team.cfg\n".to_owned()),
                ("w/docs/team.cfg", "[include]\n\tpath = team.cfg\n".to_owned() + &hooks("../tools")),
            ],
            "w/tools/pre-commit",
        ),
        (
            "the configuration of a worktree",
            vec![
                (config, "[extensions]\n\tworktreeConfig = true\n".to_owned()),
                ("w/old/.git/config.worktree", hooks("../tools")),
            ],
            "w/tools/pre-commit",
        ),
        ("your own", vec![("home/.gitconfig", hooks("../tools"))], "w/tools/pre-commit"),
        ("hooks around it", vec![(config, hooks(".."))], "w/pre-commit"),
    ] {
        for mediated in [true, false] {
            let bed = Bed::above_a_repository();
            bed.file("w/docs/x.sh", "");
            bed.dir("w/free");
            bed.dir("w/tools/hooks");
            let plain = bed.boundary();
            assert!(Run::new(&bed, &plain).tries(Intent::Create, held, Detail::None), "the control: {name}");
            for (path, text) in &files {
                bed.file(path, text);
            }
            let boundary = bed.boundary_of(mediated);
            assert!(bed.holds_file_tools(&boundary, held), "{name}");
            assert!(!bed.holds_file_tools(&boundary, "w/free/x"), "{name}");
            assert_ne!(boundary.access(&bed.at(held)), PathAccess::Writable, "{name}");
            let mut run = Run::new(&bed, &boundary);
            if mediated {
                assert!(!run.tries(Intent::Create, held, Detail::None), "{name}");
                assert!(run.tries(Intent::Create, "w/free/x", Detail::None), "{name}");
            }
        }
    }
}

/// Each way in which a directory belongs to a repository that git acts by: git directories, and files in which `TOP` is the bed.
#[test]
fn a_repository_below_is_found_however_it_lies() {
    const HOOKS: &str = "[core]\n\thooksPath = ../tools\n";
    const SUBMODULE: &str = "[core]\n\thooksPath = ../../tools\n\tworktree = ../../../";
    const MODULE: &str = "w/old/.git/modules/sub";
    let module = |name: &str| (format!("{MODULE}/config"), format!("{SUBMODULE}{name}\n"));
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    let deep = "w/1/2/3/4/5/6/7/8/9/deep/.git";
    let own = "outside/main/.git/worktrees/tree";
    for (name, git_dir, files) in [
        ("a bare one", "w/x.git", vec![file("w/x.git/config", HOOKS)]),
        (
            "a linked worktree",
            "outside/main/.git",
            vec![
                file("outside/main/.git/config", HOOKS),
                file(&format!("{own}/commondir"), "../..\n"),
                file(&format!("{own}/gitdir"), "TOP/w/tree/.git\n"),
                file("w/tree/.git", &format!("gitdir: TOP/{own}\n")),
            ],
        ),
        ("a submodule", MODULE, vec![module("sub"), file("w/old/sub/.git", "gitdir: ../.git/modules/sub\n")]),
        (
            "a submodule among products",
            MODULE,
            vec![module("build"), file("w/old/build/.git", "gitdir: ../.git/modules/sub\n")],
        ),
        (
            "a file that is not believed",
            "outside/store",
            vec![file("outside/store/config", HOOKS), file("w/tree/.git", "gitdir: ../../outside/store\n")],
        ),
        ("a link", "outside/store", vec![file("outside/store/config", HOOKS), file("w/tree/linked", "")]),
        ("around the folder", ".git", vec![file(".git/config", "[core]\n\thooksPath = w/tools\n")]),
        ("deep down", deep, vec![file(&format!("{deep}/config"), "[core]\n\thooksPath = TOP/w/tools\n")]),
    ] {
        let bed = Bed::above_a_repository();
        bed.0.make_git_dir(git_dir);
        for (path, text) in files {
            bed.file(&path, text.replace("TOP", &bed.at("").display().to_string()));
        }
        if name == "a link" {
            symlink("../../outside/store", bed.at("w/tree/.git")).unwrap();
        }
        let boundary = bed.boundary();
        assert!(
            !Run::new(&bed, &boundary).tries(Intent::MakeDir, "w/tools", Detail::None),
            "{name}: missing"
        );
        bed.dir("w/tools");
        let boundary = bed.boundary();
        let held = "w/tools/pre-commit";
        assert!(!Run::new(&bed, &boundary).tries(Intent::Create, held, Detail::None), "{name}");
        assert!(Run::new(&bed, &boundary).tries(Intent::Create, "w/docs/x", Detail::None), "{name}");
        assert!(bed.holds_file_tools(&boundary, held), "{name}");
        assert!(!bed.holds_file_tools(&boundary, "w/docs/x"), "{name}");
    }
}

/// A link on the way to what is named is as good as the place at its end.
#[test]
fn a_link_on_the_way_to_what_git_runs_stays() {
    for (link, text, named) in [("w/tools", "docs", "../tools/hooks"), ("w/hooks", "docs", "../hooks")] {
        let bed = Bed::above_a_repository();
        bed.dir("w/docs/hooks");
        symlink(text, bed.at(link)).unwrap();
        let boundary = bed.boundary();
        assert!(Run::new(&bed, &boundary).tries(Intent::Remove, link, Detail::None), "the control");
        bed.file("w/old/.git/config", format!("[core]\n\thooksPath = {named}\n"));
        let boundary = bed.boundary();
        for link in [link, "w/docs"] {
            assert!(!Run::new(&bed, &boundary).tries(Intent::Remove, link, Detail::None), "{link}");
            assert!(!Run::new(&bed, &boundary).renames(link, "w/gone"), "{link}");
        }
        assert!(!Run::new(&bed, &boundary).tries(Intent::Create, "w/docs/hooks/pre-commit", Detail::None));
    }
}

/// What cannot be read names unknown places.
#[test]
fn a_configuration_below_that_cannot_be_read_closes_the_folder() {
    let bed = Bed::above_a_repository();
    let config = bed.at("w/old/.git/config");
    fs::set_permissions(&config, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&config).is_ok() {
        eprintln!("LEFT OUT: files that cannot be read, which are open for this user");
    } else {
        let boundary = bed.boundary();
        assert!(!Run::new(&bed, &boundary).tries(Intent::Create, "w/docs/x", Detail::None));
        assert!(bed.holds_file_tools(&boundary, "w/docs/x"));
    }
    fs::set_permissions(&config, fs::Permissions::from_mode(0o644)).unwrap();
    let boundary = bed.boundary();
    assert!(Run::new(&bed, &boundary).tries(Intent::Create, "w/docs/x", Detail::None));
}

/// Tries `default-write`: a push outside would run the hooks of a bare repository that lies anywhere, a commit those that a
/// configuration names.
#[test]
fn a_repository_outside_keeps_its_hooks_where_everything_can_be_written() {
    let bed = Bed::new();
    for name in ["outside/repo.git", "outside/odd", "outside/tree/.git"] {
        bed.0.make_git_dir(name);
    }
    bed.file("outside/tree/.git/config", "[core]\n\thooksPath = tools/hooks\n");
    bed.dir("outside/tree/tools/hooks");
    let mut request = bed.request();
    request.mode = SandboxMode::DefaultWrite;
    let strength = Strength { tier: Tier::Landlock, mediated: true };
    let boundary = Boundary::compile(&request, &Guards::default(), strength).unwrap();
    let mut run = Run::new(&bed, &boundary);
    for (path, is_made) in [
        ("outside/repo.git/hooks/post-receive", false),
        ("outside/odd/hooks/post-receive", false),
        ("outside/odd/info/attributes", false),
        ("outside/tree/tools/hooks/pre-commit", false),
        ("outside/tree/tools/plain", true),
        ("outside/odd/objects/ab/cd", true),
        ("outside/plain/hooks/post-receive", true),
        ("outside/file", true),
    ] {
        assert_eq!(run.tries(Intent::Create, path, Detail::None), is_made, "{path}");
    }
}

#[test]
fn a_pipe_in_place_of_a_configuration_of_git_is_not_waited_for_and_holds_the_folder() {
    for has_pipe in [false, true] {
        let bed = Bed::new();
        if has_pipe {
            fs::remove_file(bed.at("w/.git/config")).unwrap();
            bed.0.make_pipe("w/.git/config");
        }
        let begun = Instant::now();
        let boundary = bed.boundary();
        let mut run = Run::new(&bed, &boundary);
        assert_eq!(run.tries(Intent::Create, "w/new", Detail::None), !has_pipe);
        assert!(!run.tries(Intent::Write, "w/.git/config", Detail::None), "as ever");
        assert!(begun.elapsed() < Duration::from_secs(10));
        let (refused, ..) = run.observer.finish();
        let told = refused.iter().any(|one| one.place.ends_with("new") && one.why.contains("cannot be read"));
        assert_eq!(told, has_pipe, "{refused:?}");
    }
}

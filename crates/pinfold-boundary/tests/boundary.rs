//! A grant meets a file system: what is granted, held, hidden, and what is found afterwards.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

mod judged;
mod repositories;

use pinfold_boundary::{
    Boundary, CacheChoice, CompileError, DenialObserver, PathAccess, Private, SandboxMode, SandboxRequest,
};
use pinfold_policy::Guards;
use pinfold_sandbox::{Attempt, Intent, Profile, Reply, Strength, SyscallHandler as _, Tier, Writes};
use pinfold_testkit::TempTree;
use proptest::prelude::*;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Held by mounts alone, as where the calls of a run cannot be mediated.
const WALLS: Strength = Strength { tier: Tier::Full, mediated: false };

struct Bed(TempTree);

impl Bed {
    fn new() -> Self {
        Self(TempTree::new().with_dirs(["w", "home", "private", "cache"]))
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path(path)
    }

    fn dir(&self, path: &str) {
        self.0.make_dir(path);
    }

    fn file(&self, path: &str, text: &str) {
        self.0.write(path, text);
    }

    fn request(&self) -> SandboxRequest {
        let private = self.at("private").join(fs::read_dir(self.at("private")).unwrap().count().to_string());
        fs::create_dir(&private).unwrap();
        let mut request = SandboxRequest::new(self.at("w"));
        request.home = Some(self.at("home"));
        request.private = Private::existing(private);
        request.cache_home = Some(self.at("cache"));
        request.caches = CacheChoice::None;
        request
    }

    fn compile(&self, change: impl FnOnce(&mut SandboxRequest)) -> Boundary {
        let mut request = self.request();
        change(&mut request);
        Boundary::compile(&request, &Guards::default(), WALLS).unwrap()
    }

    fn access(&self, boundary: &Boundary, path: &str) -> &'static str {
        word(boundary.access(&self.at(path)))
    }
}

fn word(standing: PathAccess<'_>) -> &'static str {
    match standing {
        PathAccess::Writable => "writable",
        PathAccess::Outside => "outside",
        PathAccess::ReadOnly(_) => "held",
        PathAccess::Hidden(_) => "hidden",
    }
}

/// The standing of a path, worked out from the profile alone.
fn by_profile(profile: &Profile, real: &Path) -> &'static str {
    let held = profile.read_only.iter().chain(&profile.absent);
    let held =
        held.chain(profile.stand_ins.iter().map(|s| &s.path)).chain(profile.detours.iter().map(|d| &d.at));
    let mut all: Vec<(&Path, &str)> = held.map(|p| (p.as_path(), "held")).collect();
    all.extend(profile.hidden.iter().map(|p| (p.as_path(), "hidden")));
    let anywhere = profile.writes == Writes::Anywhere;
    if let Writes::Beneath(writes) = &profile.writes {
        all.extend(writes.iter().map(|p| (p.as_path(), "writable")));
    }
    let free = if anywhere { "writable" } else { "outside" };
    let deepest =
        all.into_iter().filter(|(p, _)| real.starts_with(p)).max_by_key(|(p, _)| p.components().count());
    let standing = deepest.map_or(free, |(_, standing)| standing);
    let pinned = profile.pinned.iter().any(|p| p == real);
    if pinned && standing == "writable" { "held" } else { standing }
}

const NAMES: [&str; 14] = [
    "a",
    "b",
    "sub",
    ".git",
    ".vscode",
    ".env",
    ".env.example",
    ".bashrc",
    ".mcp.json",
    "x.git",
    "HEAD",
    "objects",
    "hooks",
    "config",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn the_tools_are_told_what_the_kernel_is_told(
        tree in prop::collection::vec((prop::collection::vec(0..NAMES.len(), 1..4), any::<bool>()), 0..12),
        asked in prop::collection::vec(prop::collection::vec(0..NAMES.len(), 0..5), 24),
        mode in 0..3_usize,
        repositories in prop::collection::vec(0..3_usize, 0..3),
    ) {
        let bed = Bed::new();
        for repository in repositories {
            bed.0.make_git_dir(["w/.git", "w/sub/.git", "w/x.git"][repository]);
        }
        let path = |names: &[usize]| -> String {
            std::iter::once("w").chain(names.iter().map(|n| NAMES[*n])).collect::<Vec<_>>().join("/")
        };
        for (names, is_dir) in &tree {
            let at = bed.at(&path(names));
            // A name may be taken by a file already; then the tree is a smaller one.
            let _ = if *is_dir { fs::create_dir_all(at) } else {
                fs::create_dir_all(at.parent().unwrap()).and_then(|()| if at.exists() { Ok(()) } else { fs::write(at, "") })
            };
        }
        let mode = [SandboxMode::ReadOnly, SandboxMode::WorkspaceWrite, SandboxMode::DefaultWrite][mode];
        let boundary = bed.compile(|request| request.mode = mode);
        for names in &asked {
            let real = bed.at(&path(names));
            prop_assert_eq!(word(boundary.access(&real)), by_profile(boundary.profile(), &real), "{:?}", real);
        }
        for place in ["home/x", "home/.bashrc", "elsewhere"] {
            let real = bed.at(place);
            prop_assert_eq!(word(boundary.access(&real)), by_profile(boundary.profile(), &real), "{:?}", real);
        }
    }
}

#[test]
fn guarded_files_that_exist_are_held_at_any_depth_and_links_with_their_targets() {
    let bed = Bed::new();
    bed.file("w/a/b/.env", "");
    bed.file("w/a/.bashrc", "");
    bed.dir("w/real");
    symlink("real", bed.at("w/.vscode")).unwrap();
    let boundary = bed.compile(|_| {});
    for held in ["w/a/b/.env", "w/a/.bashrc", "w/.vscode", "w/real/tasks.json"] {
        assert_eq!(bed.access(&boundary, held), "held", "{held}");
    }
    for writable in ["w/a/b/.env.example", "w/b/.env", "w/a/x"] {
        assert_eq!(bed.access(&boundary, writable), "writable", "{writable}");
    }
}

#[test]
fn credentials_are_hidden_unless_they_are_named() {
    let bed = Bed::new();
    bed.file("home/.aws/credentials", "");
    bed.file("home/.ssh/id_rsa", "");
    bed.file("home/.npmrc", "fund=false\n");
    bed.file("home/notes", "");
    let boundary = bed.compile(|_| {});
    for hidden in ["home/.aws/credentials", "home/.ssh/later", "home/.ssh/id_rsa"] {
        assert_eq!(bed.access(&boundary, hidden), "hidden", "{hidden}");
    }
    for seen in ["home/.npmrc", "home/notes"] {
        assert_eq!(bed.access(&boundary, seen), "outside", "{seen}");
    }
    bed.file("home/.npmrc", "//r.example/:_authToken=x\n");
    let named = bed.compile(|request| {
        request.allow_read = vec![bed.at("home/.aws")];
        request.deny_read = vec![bed.at("home/notes")];
    });
    assert_eq!(bed.access(&named, "home/.aws/credentials"), "outside");
    assert_eq!(bed.access(&named, "home/notes"), "hidden");
    assert_eq!(bed.access(&named, "home/.npmrc"), "hidden");
}

#[test]
fn a_folder_within_a_credential_store_stays_usable() {
    let bed = Bed::new();
    bed.file("home/.aws/tool/f", "");
    bed.file("home/.aws/credentials", "");
    let boundary = bed.compile(|request| request.folder = bed.at("home/.aws/tool"));
    assert_eq!(bed.access(&boundary, "home/.aws/tool/f"), "writable");
    assert_eq!(bed.access(&boundary, "home/.aws/credentials"), "hidden");
}

#[test]
fn a_guarded_place_opens_by_name_and_only_that_one() {
    let bed = Bed::new();
    bed.dir("w/.vscode");
    bed.dir("home/.claude");
    let opened =
        bed.compile(|request| request.allow_write = vec![bed.at("w/.vscode"), bed.at("home/.claude")]);
    for writable in ["w/.vscode/tasks.json", "home/.claude/x"] {
        assert_eq!(bed.access(&opened, writable), "writable", "{writable}");
    }
    assert_eq!(bed.access(&opened, "w/.idea/x"), "held");
    assert_eq!(bed.access(&bed.compile(|_| {}), "w/.vscode/tasks.json"), "held");
}

#[test]
fn modes_say_how_far_writing_goes() {
    let bed = Bed::new();
    bed.file("home/.bashrc", "");
    let read_only = bed.compile(|request| request.mode = SandboxMode::ReadOnly);
    assert_eq!(bed.access(&read_only, "w/f"), "outside");
    let anywhere = bed.compile(|request| request.mode = SandboxMode::DefaultWrite);
    assert_eq!(bed.access(&anywhere, "elsewhere/f"), "writable");
    assert_eq!(bed.access(&anywhere, "home/.bashrc"), "held");
    assert_eq!(bed.access(&anywhere, "w/.mcp.json"), "held");
}

#[test]
fn where_everything_can_be_written_guarded_places_do_not_appear() {
    let bed = Bed::new();
    bed.file("home/.bashrc", "");
    let boundary = bed.compile(|request| request.mode = SandboxMode::DefaultWrite);
    for tier in [Tier::Full, Tier::Landlock] {
        let mut observer = DenialObserver::new(&boundary, tier);
        let mut ask =
            |path: &str, intent| observer.attempt(&Attempt::new(1, intent, bed.at(path))) == Reply::Refuse;
        for (path, intent) in [
            ("home/.zshrc", Intent::Create),
            ("home/.profile", Intent::Symlink),
            ("home/.bash_login", Intent::MoveTo),
            ("home/.ssh", Intent::MakeDir),
        ] {
            assert!(ask(path, intent), "{path}");
        }
        // A package in a cache may hold one of the same name.
        for path in ["home/notes", "home/.cargo/registry/p/.npmrc", "w/.zshrc"] {
            assert!(!ask(path, Intent::Create), "{path}");
        }
    }
    bed.file("home/.zshrc", "");
    bed.file("home/notes", "");
    assert_eq!(boundary.settle(None).changed_autorun, [bed.at("home/.zshrc")]);
}

#[test]
fn what_is_no_folder_is_refused() {
    let bed = Bed::new();
    bed.file("w/f", "");
    let refused = |folder: PathBuf| {
        let mut request = bed.request();
        request.folder = folder;
        Boundary::compile(&request, &Guards::default(), Tier::Full).unwrap_err()
    };
    assert!(matches!(refused(bed.at("w/f")), CompileError::NotADirectory { .. }));
    assert!(matches!(refused(bed.at("none")), CompileError::Unresolved { .. }));
    assert!(matches!(refused("/".into()), CompileError::NotAFolder { .. }));
    assert!(matches!(refused("/proc/self".into()), CompileError::NotAFolder { .. }));
}

/// The comparison of a folder with what it was, which is made where the supervisor only watches.
#[test]
fn what_changed_behind_an_older_link_is_found_by_comparison() {
    let bed = Bed::new();
    for (file, text) in [("w/mk/all", "x"), ("w/ci/a.yml", "x"), ("w/ci/b.yml", "x"), ("w/sub/Makefile", "x")]
    {
        bed.file(file, text);
    }
    bed.dir("w/build/n");
    let links = [("w/Makefile", "mk/all"), ("w/.github", "ci"), ("w/proj", "build/n"), ("w/setup.py", "s")];
    for (link, text) in links {
        symlink(text, bed.at(link)).unwrap();
    }
    let boundary = bed.compile(|_| {});
    assert!(boundary.settle(None).is_quiet(), "{}", boundary.settle(None));
    bed.file("w/mk/all", "more");
    bed.file("w/ci/a.yml", "more");
    bed.file("w/build/n/Makefile", "");
    bed.file("w/build/n/text", "");
    bed.file("w/s", "");
    fs::rename(bed.at("w/sub"), bed.at("w/other")).unwrap();
    let report = boundary.settle(None);
    let changed = ["build/n/Makefile", "ci/a.yml", "mk/all", "other/Makefile", "s", "sub/Makefile"];
    let changed: Vec<PathBuf> = changed.iter().map(|name| bed.at("w").join(name)).collect();
    assert_eq!(report.changed_autorun, changed);
    let note =
        format!("the link `{}` leads to `{}`", bed.at("w/Makefile").display(), bed.at("w/mk/all").display());
    assert!(report.notes.contains(&note), "{report}");
}

#[test]
fn the_end_of_a_run_says_what_appeared() {
    let bed = Bed::new();
    bed.0.make_git_dir("w/.git");
    bed.0.make_git_dir("w/old/.git");
    bed.file("w/package.json", "{}");
    bed.file("w/Makefile", "all:\n");
    let boundary = bed.compile(|_| {});
    assert!(boundary.settle(None).is_quiet(), "{}", boundary.settle(None));
    bed.0.make_git_dir("w/new/.git");
    fs::rename(bed.at("w/old"), bed.at("w/was")).unwrap();
    bed.0.make_git_dir("w/old/.git");
    bed.file("w/package.json", "{\"scripts\":{}}");
    bed.file("w/sub/.env", "X=1");
    bed.file("w/.github/workflows/ci.yml", "");
    bed.dir("w/.git/rebase-merge");
    let report = boundary.settle(None);
    let paths = |list: &[&str]| list.iter().map(|p| bed.at(p)).collect::<Vec<_>>();
    assert_eq!(report.new_repositories, paths(&["w/new/.git", "w/old/.git", "w/was/.git"]));
    assert_eq!(
        report.changed_autorun,
        paths(&["w/.github/workflows/ci.yml", "w/package.json", "w/sub/.env"])
    );
    assert_eq!(report.unfinished, paths(&["w/.git/rebase-merge"]));
    assert!(!report.is_quiet() && report.to_string().contains("package.json"), "{report}");
}

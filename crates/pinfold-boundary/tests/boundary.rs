//! A grant meets a file system: what is granted, held, hidden, and what is found afterwards.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use pinfold_boundary::{
    Boundary, CacheChoice, CompileError, DenialObserver, PathAccess, Private, SandboxMode, SandboxRequest,
};
use pinfold_policy::Guards;
use pinfold_sandbox::{
    Attempt, Detail, Intent, Profile, Reply, Strength, SyscallHandler as _, Temp, Tier, Writes,
};
use pinfold_testkit::TempTree;
use proptest::prelude::*;

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
fn a_plain_repository_is_writable_but_for_what_runs() {
    let bed = Bed::new();
    bed.0.make_git_dir("w/.git");
    let boundary = bed.compile(|_| {});
    for writable in [
        "w/f",
        "w/.git/index",
        "w/.git/HEAD",
        "w/.git/refs/heads/x",
        "w/.git/objects/ab/c",
        "w/.git/packed-refs",
    ] {
        assert_eq!(bed.access(&boundary, writable), "writable", "{writable}");
    }
    for held in [
        "w/.git",
        "w/.git/hooks",
        "w/.git/hooks/x",
        "w/.git/config",
        "w/.git/info/attributes",
        "w/.git/commondir",
        "w/.git/objects/info/alternates",
        "w/.vscode/tasks.json",
        "w/.mcp.json",
        "w/.pinfold/settings.json",
    ] {
        assert_eq!(bed.access(&boundary, held), "held", "{held}");
    }
    assert_eq!(bed.access(&boundary, "outside"), "outside");
}

/// A main repository in `main` with a linked worktree at `w`; `back` is what its `gitdir` file says.
fn worktree(bed: &Bed, back: &str) {
    bed.0.make_git_dir("main/.git");
    bed.dir("main/.git/worktrees/w");
    bed.file("main/.git/worktrees/w/HEAD", "ref: refs/heads/w\n");
    bed.file("main/.git/worktrees/w/commondir", "../..\n");
    bed.file("main/.git/worktrees/w/gitdir", &format!("{back}\n"));
    bed.file("w/.git", &format!("gitdir: {}\n", bed.at("main/.git/worktrees/w").display()));
}

#[test]
fn a_linked_worktree_reaches_its_repository_and_not_its_siblings() {
    let bed = Bed::new();
    worktree(&bed, &bed.at("w/.git").display().to_string());
    let boundary = bed.compile(|_| {});
    for writable in [
        "main/.git/refs/heads/w",
        "main/.git/objects/ab/c",
        "main/.git/worktrees/w/index",
        "main/.git/packed-refs",
    ] {
        assert_eq!(bed.access(&boundary, writable), "writable", "{writable}");
    }
    for held in [
        "main/.git/HEAD",
        "main/.git/config",
        "main/.git/hooks/x",
        "main/.git/worktrees/w/commondir",
        "w/.git",
    ] {
        assert_eq!(bed.access(&boundary, held), "held", "{held}");
    }
    assert_eq!(bed.access(&boundary, "main/f"), "outside");
}

#[test]
fn a_pointer_that_is_not_pointed_back_at_grants_nothing() {
    let bed = Bed::new();
    worktree(&bed, &bed.at("another/.git").display().to_string());
    let boundary = bed.compile(|_| {});
    assert_eq!(bed.access(&boundary, "main/.git/refs/heads/w"), "outside");
    assert_eq!(bed.access(&boundary, "w/.git"), "held");
    assert!(
        boundary.notes().iter().any(|n| n.contains("does not name it in turn")),
        "{:?}",
        boundary.notes()
    );
}

#[test]
fn a_planted_git_directory_does_not_lend_another_repository() {
    let bed = Bed::new();
    bed.0.make_git_dir("main/.git");
    // Everything in `w` was written by an agent earlier: its pointers agree with each other.
    bed.dir("w/g");
    bed.file("w/g/HEAD", "ref: refs/heads/w\n");
    bed.file("w/g/commondir", &bed.at("main/.git").display().to_string());
    bed.file("w/g/gitdir", &bed.at("w/.git").display().to_string());
    bed.file("w/.git", &format!("gitdir: {}\n", bed.at("w/g").display()));
    let boundary = bed.compile(|_| {});
    assert_eq!(bed.access(&boundary, "main/.git/refs/heads/x"), "outside");
}

#[test]
fn a_submodule_is_believed_when_its_repository_names_it() {
    for (worktree, expected) in [("../../../w", "writable"), ("../../../other", "outside")] {
        let bed = Bed::new();
        bed.0.make_git_dir("super/.git/modules/x");
        bed.dir("super/.git/w");
        bed.dir("super/.git/other");
        bed.dir("other");
        let at = bed.at("super/.git/modules/x");
        let worktree = at.join(worktree).to_string_lossy().replace("super/.git/modules/x/../../../", "");
        bed.file("super/.git/modules/x/config", &format!("[core]\n\tworktree = {worktree}\n"));
        bed.file("w/.git", &format!("gitdir: {}\n", at.display()));
        let boundary = bed.compile(|_| {});
        assert_eq!(bed.access(&boundary, "super/.git/modules/x/index"), expected, "{worktree}");
    }
}

#[test]
fn what_the_configuration_names_in_the_folder_is_held() {
    let bed = Bed::new();
    bed.0.make_git_dir("w/.git");
    bed.file("w/.git/config", "[core]\n\thooksPath = .githooks\n[include]\n\tpath = ../team.cfg\n[filter \"x\"]\n\tclean = ./clean.sh %f\n[remote \"o\"]\n\turl = ./f\n");
    bed.file("w/.githooks/pre-commit", "");
    bed.file("w/clean.sh", "");
    bed.file("w/f", "");
    let boundary = bed.compile(|_| {});
    for held in ["w/.githooks/pre-commit", "w/clean.sh", "w/team.cfg"] {
        assert_eq!(bed.access(&boundary, held), "held", "{held}");
    }
    assert_eq!(bed.access(&boundary, "w/f"), "writable");
}

/// The person's own configuration counts in every repository, and so does what it includes.
#[test]
fn what_the_configuration_of_the_person_names_in_a_repository_is_held() {
    let hooks = |path: &str| format!("[core]\n\thooksPath = {path}\n");
    for (file, text, held, writable) in [
        ("home/.gitconfig", hooks(".githooks"), "w/.githooks/pre-commit", "w/x/.githooks/y"),
        ("home/.gitconfig", hooks("tools/git/hooks"), "w/tools/git/hooks/pre-commit", "w/tool"),
        ("home/.config/git/config", hooks("here"), "w/here/pre-commit", "w/her"),
        ("home/.gitconfig", hooks("~/../w/deep/hooks"), "w/deep/hooks/pre-commit", "w/x"),
        ("home/.gitconfig", "[filter \"x\"]\n\tclean = ./clean.sh %f\n".to_owned(), "w/clean.sh", "w/clean"),
        ("home/.gitconfig", "[include]\n\tpath = ~/more/git.cfg\n".to_owned(), "w/more/pre-commit", "w/x"),
        (
            "home/.gitconfig",
            "[includeIf \"gitdir:x\"]\n\tpath = more/git.cfg\n".to_owned(),
            "w/more/pre-commit",
            "w/x",
        ),
    ] {
        let bed = Bed::new();
        bed.0.make_git_dir("w/.git");
        bed.file("w/clean.sh", "");
        bed.file(file, &text);
        bed.file("home/more/git.cfg", "[include]\n\tpath = git.cfg\n[core]\n\thooksPath = more\n");
        let boundary = bed.compile(|_| {});
        assert_eq!(bed.access(&boundary, held), "held", "{text}");
        assert_eq!(bed.access(&boundary, writable), "writable", "{text}");
    }
    let bed = Bed::new();
    bed.0.make_git_dir("w/.git");
    bed.file("home/.gitconfig", &hooks("/etc"));
    let boundary = bed.compile(|_| {});
    assert_eq!(bed.access(&boundary, "w/x"), "writable", "what lies outside is held anyway");
    // The same in a configuration of the repository.
    for path in ["~/../w/own/hooks", "own/hooks"] {
        let bed = Bed::new();
        bed.0.make_git_dir("w/.git");
        bed.file("w/.git/config", &hooks(path));
        let boundary = bed.compile(|_| {});
        assert_eq!(bed.access(&boundary, "w/own/hooks/pre-commit"), "held", "{path}");
    }
}

/// Whatever git reads of a configuration that is odd to us, it does not read more than is held.
#[test]
fn what_an_odd_configuration_names_is_held_too() {
    let hooks = b"hooksPath = .githooks\n".as_slice();
    for (name, config, extension) in [
        ("plain", [b"[core]\n", hooks].concat(), false),
        ("no UTF-8", [b"[user]\n\tname = Jos\xe9\n[core]\n", hooks].concat(), true),
        ("headers on one line", [b"[user][core] ", hooks].concat(), false),
        ("a subsection in two parts", [b"[filter.a \"b\"]\nclean = ./x\n[core]\n", hooks].concat(), false),
        ("a backslash at the end", [b"[core]\n", hooks, b"x = y\\"].concat(), false),
        ("a key outside", [b"x = y\n[core]\n", hooks].concat(), false),
        ("a switch without a value", [b"[extensions]\nworktreeConfig\n[core]\n", hooks].concat(), true),
    ] {
        let bed = Bed::new();
        bed.0.make_git_dir("w/.git");
        fs::write(bed.at("w/.git/config"), config).unwrap();
        bed.file("w/.githooks/pre-commit", "");
        let boundary = bed.compile(|_| {});
        assert_eq!(bed.access(&boundary, "w/.githooks/pre-commit"), "held", "{name}");
        let own = bed.access(&boundary, "w/.git/config.worktree");
        assert_eq!(own == "held", extension, "{name}: {own}");
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

/// Judged by name, as where the calls of a run are mediated.
const JUDGED: Strength = Strength { tier: Tier::Full, mediated: true };

fn reply(observer: &mut DenialObserver<'_>, intent: Intent, place: PathBuf, detail: Detail) -> Reply {
    observer.attempt(&Attempt::new(1, intent, place).with_detail(detail))
}

/// A folder whose guarded names lead elsewhere in it.
fn linked() -> Bed {
    let bed = Bed::new();
    bed.0.make_git_dir("w/.git");
    fs::remove_dir(bed.at("w/.git/hooks")).unwrap();
    for directory in ["w/hooks", "w/config", "w/app", "w/scripts"] {
        bed.dir(directory);
    }
    for (link, text) in [
        ("w/.envrc", "link/envrc"),
        ("w/link", "config"),
        ("w/.vscode", "tools/vscode"),
        ("w/.git/hooks", "../hooks"),
        ("w/app/.mcp.json", "../later/x/mcp.json"),
        ("w/app/docs", "../scripts"),
    ] {
        symlink(text, bed.at(link)).unwrap();
    }
    bed.file("w/config/envrc", "");
    bed
}

const LED_TO: [&str; 6] = [
    "w/config/envrc",
    "w/link",
    "w/tools/vscode",
    "w/tools/vscode/tasks.json",
    "w/hooks/x",
    "w/later/x/mcp.json",
];

#[test]
fn what_guarded_names_lead_to_is_held_like_the_names() {
    let bed = linked();
    for strength in [WALLS, JUDGED] {
        let boundary = Boundary::compile(&bed.request(), &Guards::default(), strength).unwrap();
        for held in LED_TO {
            assert_eq!(bed.access(&boundary, held), "held", "{held} {strength:?}");
            let guards = boundary.guards();
            let guard = guards.write(&bed.at(held), None, false);
            // Not even a mode that asks nothing lets file tools write there.
            assert!(guard.is_some_and(|guard| guard.kind().is_sensitive()), "{held} {guard:?}");
        }
        for free in ["w/config/other", "w/scripts/x", "w/app/x"] {
            assert_eq!(bed.access(&boundary, free), "writable", "{free} {strength:?}");
        }
    }
    let opened = bed.compile(|request| request.allow_write = vec![bed.at("w/config/envrc")]);
    assert_eq!(bed.access(&opened, "w/config/envrc"), "writable", "what a person names is theirs to open");
}

#[test]
fn what_guarded_names_lead_to_is_not_replaced_by_way_of_what_is_above() {
    let bed = linked();
    let boundary = Boundary::compile(&bed.request(), &Guards::default(), JUDGED).unwrap();
    let mut observer = DenialObserver::new(&boundary, Tier::Full);
    let to = |path: &str| Detail::To(bed.at(path));
    for (intent, place, detail) in [
        (Intent::MoveFrom, "w/config", to("w/c")),
        (Intent::Remove, "w/config", Detail::None),
        (Intent::Symlink, "w/later", Detail::LinkText("scripts".into())),
        (Intent::MoveTo, "w/later", Detail::From(bed.at("w/app/docs"))),
        (Intent::MoveFrom, "w/scripts", to("w/later")),
        (Intent::Symlink, "w/.config", Detail::LinkText("scripts".into())),
        (Intent::MoveTo, "w/.config", Detail::From(bed.at("w/app/docs"))),
    ] {
        let said = reply(&mut observer, intent, bed.at(place), detail);
        assert_eq!(said, Reply::Refuse, "{intent:?} {place}");
    }
    for (intent, place, detail) in [
        (Intent::MakeDir, "w/later", Detail::None),
        (Intent::MakeDir, "w/.config", Detail::None),
        (Intent::Symlink, "w/other", Detail::LinkText("scripts".into())),
        (Intent::MoveFrom, "w/scripts", to("w/s")),
    ] {
        let said = reply(&mut observer, intent, bed.at(place), detail);
        assert_eq!(said, Reply::CarryOut, "{intent:?} {place}");
    }
}

#[test]
fn a_guarded_link_is_found_where_no_search_reaches() {
    let bed = Bed::new();
    let deep = format!("w/{}", "d/".repeat(12));
    bed.dir(&deep);
    symlink("envrc", bed.at(&deep).join(".envrc")).unwrap();
    let boundary = Boundary::compile(&bed.request(), &Guards::default(), JUDGED).unwrap();
    let mut observer = DenialObserver::new(&boundary, Tier::Full);
    // What the person makes after the start is found too.
    symlink("settings/mcp.json", bed.at("w/.mcp.json")).unwrap();
    bed.dir("w/settings");
    for (place, expected) in [
        (bed.at(&deep).join("envrc"), Reply::Refuse),
        (bed.at(&deep).join("other"), Reply::CarryOut),
        (bed.at("w/settings/mcp.json"), Reply::Refuse),
        (bed.at("w/settings/other"), Reply::CarryOut),
    ] {
        assert_eq!(reply(&mut observer, Intent::Create, place.clone(), Detail::None), expected, "{place:?}");
    }
}

#[test]
fn no_file_gets_a_set_id_bit_wherever_it_lies() {
    let bed = Bed::new();
    bed.file("w/f", "");
    let boundary = Boundary::compile(&bed.request(), &Guards::default(), JUDGED).unwrap();
    let mut observer = DenialObserver::new(&boundary, Tier::Full).negotiating();
    for place in [bed.at("w/f"), bed.at("elsewhere"), "/tmp/own".into(), "pipe:[1]".into()] {
        let said = reply(&mut observer, Intent::Metadata, place.clone(), Detail::SetId(0o4755));
        assert_eq!(said, Reply::Refuse, "{place:?}");
    }
    let (refused, ..) = observer.finish();
    assert!(refused.iter().all(|refused| refused.why.contains("rights of its owner")), "{refused:?}");
    let mut observer = DenialObserver::new(&boundary, Tier::Full);
    assert_eq!(reply(&mut observer, Intent::Metadata, bed.at("w/f"), Detail::Mode(0o755)), Reply::CarryOut);
}

#[test]
fn turns_are_taken_for_what_another_run_could_exchange() {
    let bed = Bed::new();
    let state = bed.at("home/state/pinfold");
    let mut request = bed.request();
    request.state_home = Some(state.clone());
    let boundary = Boundary::compile(&request, &Guards::default(), JUDGED).unwrap();
    assert!(!state.exists(), "nothing is made to ask");
    let mut observer = DenialObserver::new(&boundary, Tier::Full);
    let mut is_shared = |intent, place: PathBuf| {
        observer.turn(&[Attempt::new(1, intent, place)]).unwrap().map(|turn| turn.is_shared())
    };
    for (intent, place, expected) in [
        (Intent::MoveFrom, "w/src", Some(false)),
        (Intent::MoveTo, "w/dst", Some(false)),
        (Intent::HardLinkSource, "w/src", Some(false)),
        (Intent::Symlink, "w/l", Some(false)),
        (Intent::MakeDir, "w/node_modules/p/.vscode", Some(false)),
        (Intent::Create, "w/node_modules/p/.mcp.json", Some(false)),
        (Intent::MakeDir, "w/inner/.git", Some(false)),
        // What it made is what has the name afterwards.
        (Intent::MakeDir, "w/target", Some(false)),
        (Intent::Create, "w/bare/HEAD", Some(false)),
        // Most calls: no directory is moved meanwhile.
        (Intent::Create, "w/src/lib.rs", Some(true)),
        (Intent::Write, "w/src/lib.rs", Some(true)),
        (Intent::Remove, "w/src/lib.rs", Some(true)),
        (Intent::Metadata, "w/src/lib.rs", Some(true)),
        // Nothing is changed.
        (Intent::Read, "w/src/lib.rs", None),
        (Intent::Access, "w/src/lib.rs", None),
    ] {
        assert_eq!(is_shared(intent, bed.at(place)), expected, "{intent:?} {place}");
    }
}

#[test]
fn nothing_is_moved_between_the_folder_and_where_a_run_writes_by_itself() {
    let bed = Bed::new();
    bed.dir("temporary");
    bed.file("w/notes", "");
    let mut request = bed.request();
    request.temp = Temp::Directory(bed.at("temporary"));
    let strength = Strength { tier: Tier::Landlock, mediated: true };
    let boundary = Boundary::compile(&request, &Guards::default(), strength).unwrap();
    let mut observer = DenialObserver::new(&boundary, Tier::Landlock);
    let (own, inside) = (bed.at("temporary/f"), bed.at("w/g"));
    for (intent, place, detail, expected) in [
        (Intent::MoveTo, "w/f", Detail::From(own.clone()), Reply::CrossDevice),
        (Intent::MoveTo, "w/f", Detail::HardLinkOf(own.clone()), Reply::CrossDevice),
        (Intent::MoveTo, "w/f", Detail::Exchange(own.clone()), Reply::CrossDevice),
        (Intent::MoveTo, "w/.envrc", Detail::From(own), Reply::Refuse),
        (Intent::MoveTo, "w/f", Detail::From(inside), Reply::CarryOut),
        (Intent::MoveFrom, "w/f", Detail::To(bed.at("temporary/f")), Reply::CrossDevice),
        (Intent::MoveFrom, "w/f", Detail::Exchange(bed.at("temporary/f")), Reply::CrossDevice),
        (Intent::HardLinkSource, "w/f", Detail::To(bed.at("temporary/f")), Reply::CrossDevice),
        (Intent::MoveFrom, "w/f", Detail::To(bed.at("w/g")), Reply::CarryOut),
    ] {
        let said = reply(&mut observer, intent, bed.at(place), detail.clone());
        assert_eq!(said, expected, "{intent:?} {place} {detail:?}");
    }
}

#[test]
fn no_link_is_made_in_a_git_directory() {
    let bed = Bed::new();
    bed.0.make_git_dir("w/.git");
    symlink("elsewhere", bed.at("w/link")).unwrap();
    let boundary = Boundary::compile(&bed.request(), &Guards::default(), JUDGED).unwrap();
    let mut observer = DenialObserver::new(&boundary, Tier::Full);
    let text = |text: &str| Detail::LinkText(text.into());
    let moved = || Detail::From(bed.at("w/link"));
    for (intent, place, detail, expected) in [
        (Intent::Symlink, "w/.git/logs/x", text("y"), Reply::Refuse),
        (Intent::Symlink, "w/.git/FETCH_HEAD", text("ORIG_HEAD"), Reply::Refuse),
        (Intent::Symlink, "w/.git/refs/heads/x", text("../../../x"), Reply::Refuse),
        (Intent::MoveTo, "w/.git/COMMIT_EDITMSG", moved(), Reply::Refuse),
        (Intent::MoveTo, "w/.git/x", Detail::HardLinkOf(bed.at("w/link")), Reply::Refuse),
        // `git init` tries whether there are links.
        (Intent::Symlink, "w/.git/tAb3xYz", text("testing"), Reply::CarryOut),
        (Intent::Symlink, "w/.git/tAb3xYz", text("../x"), Reply::Refuse),
        (Intent::Symlink, "w/.git/logs/tAb3xY", text("testing"), Reply::Refuse),
        (Intent::Symlink, "w/x", text("y"), Reply::CarryOut),
    ] {
        assert_eq!(
            reply(&mut observer, intent, bed.at(place), detail.clone()),
            expected,
            "{place} {detail:?}"
        );
    }
}

//! One boundary: what a file tool may do is what a confined process can do, for any policy and any path.
//!
//! # The law
//! For every policy, path and act (read, list, write, create, make a directory, take a name away):
//! 1. What a tool is *allowed*, a process inside *can* do.
//! 2. What a process inside *can* do, a tool is *allowed*, but for the exceptions below.
//! 3. Where the boundary says *held*, *outside* or *hidden*, a process inside can change nothing, and what is hidden it
//!    cannot read.
//!
//! # Exceptions to the second part: the tool asks, the process may
//! - `own-data`: git's own data in a git directory. Every git command writes there; an agent's file tool has no
//!   business there.
//! - `by-name`: a guarded name that no mount protects: one that was not there at the start below the top of a project, or
//!   one that is only asked about (build configuration).
//! - `anywhere`: in the mode that writes anywhere, a tool still asks about what is outside the folder.
//! - `unwatched-read`: a file that is named like a credential and lies in the folder, not in a home.
//! - `private-copy`: git's configuration inside is a copy of the run's own; nothing that is written there counts
//!   outside. This is an exception to the third part too.
//! - `names`: with Landlock alone the names in a hidden directory can be listed, though nothing in it can be read. An
//!   exception to the third part too.
//! - `granted`: a place that was granted by name is not taken away by a tool. A mount holds it too; with Landlock alone a
//!   process can take it away where its folder can be written as well.
//! - `other-name`: a pattern with wildcards denies a link, or it lies in a hidden directory (with Landlock alone); what it
//!   leads to has a name of its own, by which it is denied or not.
//! - `dangling`: nothing is created through a link that leads nowhere.
//!
//! # Exceptions to the first part: the tool may, the process cannot
//! - `unread`: what a rule denies reading a process does not change either.
//! - `above`: where calls are not judged one by one, and something is denied that is not there, the first missing
//!   directory above it cannot be made.
//!
//! Directories that a run covers with private ones (`/tmp`) hold other files inside, and are left out.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pinfold::audit::Discard;
use pinfold::policy::{
    Bases, Decision, DeniedPaths, Effect, Guards, Layer, Policy, Rule, Source, SourcedRule,
};
use pinfold::{Ambient, Plan, RawCall, Session};
use pinfold_boundary::{
    Boundary, CacheChoice, DenialObserver, PathAccess, Private, SandboxMode, SandboxRequest,
};
use pinfold_sandbox::{Command, End, Signalling, Strength, Tier, probe, start, strongest};
use pinfold_testkit::TempTree;
use pinfold_tests::missing::left_out;
use pinfold_tools::restrict_to_boundary;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use serde_json::json;

/// One thing that is tried at one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Read,
    List,
    Write,
    Create,
    MakeDir,
    TakeAway,
}

impl Act {
    const ALL: [Self; 6] = [Self::Read, Self::List, Self::Write, Self::Create, Self::MakeDir, Self::TakeAway];

    fn changes(self) -> bool {
        !matches!(self, Self::Read | Self::List)
    }

    /// Whether it makes sense for what stands at the path now.
    fn fits(self, path: &Path) -> bool {
        let there = fs::symlink_metadata(path);
        let target = fs::metadata(path);
        match self {
            Self::Read | Self::Write => target.is_ok_and(|m| m.is_file()),
            Self::List => target.is_ok_and(|m| m.is_dir()),
            Self::Create => target.is_err() && path.parent().is_some_and(Path::is_dir),
            Self::MakeDir => there.is_err() && path.parent().is_some_and(Path::is_dir),
            // A file `.git`, or the `HEAD` of a bare repository, can be taken away but not put back from inside.
            Self::TakeAway => {
                let comes_back = !path.ends_with("HEAD") && !path.ends_with(".git");
                comes_back && there.is_ok_and(|m| !m.is_dir())
            }
        }
    }

    /// Tries it and undoes it.
    fn is_possible(self, path: &Path) -> bool {
        match self {
            Self::Read => File::open(path).and_then(|mut f| f.read(&mut [0])).is_ok(),
            Self::List => fs::read_dir(path).is_ok(),
            Self::Write => OpenOptions::new().write(true).open(path).is_ok(),
            Self::Create => {
                let made = OpenOptions::new().write(true).create(true).truncate(false).open(path).is_ok();
                // Through a link it is the target that was made.
                made && fs::canonicalize(path).and_then(fs::remove_file).is_ok()
            }
            Self::MakeDir => fs::create_dir(path).is_ok() && fs::remove_dir(path).is_ok(),
            Self::TakeAway => {
                let aside = path.with_file_name("taken-away");
                fs::rename(path, &aside).is_ok() && fs::rename(&aside, path).is_ok()
            }
        }
    }

    fn call(self, path: &Path) -> RawCall {
        let path = path.to_str().expect("names of the test are plain");
        match self {
            Self::Read => RawCall::new("Read", json!({"file_path": path})),
            Self::List => RawCall::new("LS", json!({"path": path})),
            Self::Write | Self::Create => RawCall::new("Write", json!({"file_path": path, "content": ""})),
            Self::MakeDir => RawCall::new("MakeDir", json!({"path": path})),
            Self::TakeAway => RawCall::new("Delete", json!({"path": path})),
        }
    }
}

const NAMES: [&str; 14] = [
    "a",
    "b",
    "src",
    ".git",
    "hooks",
    "config",
    ".vscode",
    ".env",
    ".env.example",
    ".bashrc",
    ".mcp.json",
    "package.json",
    ".gitmodules",
    "id_rsa",
];

/// What stands at a name of the tree.
#[derive(Clone, Copy, Debug)]
enum Thing {
    File,
    Directory,
    /// A link to a place beside it.
    LinkIn,
    /// A link to a file outside.
    LinkOut,
    /// A link to a directory outside.
    LinkDirOut,
    Dangling,
}

/// A random policy over a random tree.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent choices of a random policy")]
struct World {
    mode: SandboxMode,
    in_tmp: bool,
    repositories: Vec<usize>,
    configured_hooks: bool,
    tree: Vec<(Vec<usize>, Thing)>,
    add: bool,
    allow_write: Vec<usize>,
    deny_read: Vec<usize>,
    allow_read: bool,
    rules: Vec<usize>,
    /// The supervisor carries calls out; else mounts and Landlock are all there is.
    mediated: bool,
    asked: Vec<Vec<usize>>,
}

/// Relative to the top of the bed: what `--allow-write` may name.
const OPENED: [&str; 4] = ["outside/file", "home/.bashrc", "w/.vscode", "w/a"];
/// What `--deny-read` may name.
const DENIED: [&str; 3] = ["w/a", "outside/file", "outside/dir"];

/// What rules may deny; `OUT`, `ADDED` and `HOME` are places of the bed.
const RULES: [&str; 20] = [
    "Read(./a/**)",
    "Read(./a)",
    "Read(./src/b)",
    "Read(./src/*.json)",
    "Read(**/.env)",
    "Read(.env.example)",
    "Read(./new)",
    "Read(//HOME/notes)",
    "Read(//OUT/dir/**)",
    "Read(//OUT/f*)",
    "Edit(./b)",
    "Edit(./b/**)",
    "Edit(./src/hooks/**)",
    "Edit(*.json)",
    "Edit(**/a)",
    "Edit(./src/*)",
    "Edit(//ADDED/**)",
    "Edit(//HOME/.bashrc)",
    "Write(./a/b)",
    "Edit",
];

fn worlds() -> impl Strategy<Value = World> {
    let name = || 0..NAMES.len();
    let thing = prop_oneof![
        4 => Just(Thing::File),
        3 => Just(Thing::Directory),
        1 => Just(Thing::LinkIn),
        1 => Just(Thing::LinkOut),
        1 => Just(Thing::LinkDirOut),
        1 => Just(Thing::Dangling),
    ];
    let mode = prop_oneof![
        1 => Just(SandboxMode::ReadOnly),
        5 => Just(SandboxMode::WorkspaceWrite),
        1 => Just(SandboxMode::DefaultWrite),
    ];
    (
        (mode, any::<bool>(), prop::collection::vec(0..3_usize, 0..3), any::<bool>()),
        prop::collection::vec((prop::collection::vec(name(), 1..4), thing), 0..14),
        (any::<bool>(), prop::collection::vec(0..OPENED.len(), 0..2)),
        (prop::collection::vec(0..DENIED.len(), 0..2), any::<bool>()),
        (prop::collection::vec(0..RULES.len(), 0..4), prop::bool::weighted(0.7)),
        prop::collection::vec(prop::collection::vec(name(), 1..4), 40),
    )
        .prop_map(|((mode, in_tmp, repositories, configured_hooks), tree, write, read, ruled, asked)| {
            World {
                mode,
                in_tmp,
                repositories,
                configured_hooks,
                tree,
                add: write.0,
                allow_write: write.1,
                deny_read: read.0,
                allow_read: read.1,
                rules: ruled.0,
                mediated: ruled.1,
                asked,
            }
        })
}

/// The world as it stands on the disk.
struct Bed {
    _trees: [TempTree; 2],
    top: PathBuf,
    folder: PathBuf,
    private: PathBuf,
}

impl Bed {
    fn build(world: &World) -> Self {
        let directories = ["home/.ssh", "home/.aws", "outside/dir", "added", "private"];
        let tree = TempTree::visible_inside().with_dirs(directories);
        let temp = TempTree::new();
        let folder = if world.in_tmp { temp.make_dir("w") } else { tree.make_dir("w") };
        let bed =
            Self { top: tree.top().to_owned(), folder, private: tree.path("private"), _trees: [tree, temp] };
        for at in [
            "home/.ssh/id_rsa",
            "home/.aws/credentials",
            "home/.bashrc",
            "home/notes",
            "outside/file",
            "outside/dir/f",
            "added/f",
        ] {
            fs::write(bed.top.join(at), "x\n").expect("a file");
        }
        for repository in &world.repositories {
            bed.git_dir(
                ["w/.git", "w/src/.git", "w/bare"].get(*repository).expect("one of three"),
                world.configured_hooks,
            );
        }
        for (names, thing) in &world.tree {
            bed.put(&bed.below(names), *thing);
        }
        bed
    }

    /// `w` stands for the folder, wherever it is.
    fn at(&self, path: &str) -> PathBuf {
        path.strip_prefix("w/").map_or_else(|| self.top.join(path), |below| self.folder.join(below))
    }

    fn below(&self, names: &[usize]) -> PathBuf {
        names.iter().fold(self.folder.clone(), |at, n| at.join(NAMES.get(*n).expect("a name")))
    }

    fn git_dir(&self, path: &str, configured_hooks: bool) {
        let at = self.at(path);
        for part in ["objects/info", "refs/heads", "hooks", "info"] {
            fs::create_dir_all(at.join(part)).expect("a directory");
        }
        let hooks = if configured_hooks { "\thooksPath = b\n" } else { "" };
        fs::write(at.join("HEAD"), "ref: refs/heads/main\n").expect("a file");
        fs::write(at.join("config"), format!("[core]\n\tbare = false\n{hooks}")).expect("a file");
    }

    /// A name may be taken, or its parent be a file; then the tree is a smaller one. Never through a link.
    fn put(&self, at: &Path, thing: Thing) {
        let parent = at.parent().expect("below the folder");
        let made = fs::create_dir_all(parent).is_ok()
            && parent.canonicalize().is_ok_and(|real| real == parent)
            && fs::symlink_metadata(at).is_err();
        if !made {
            return;
        }
        let put = match thing {
            Thing::File => fs::write(at, "x\n"),
            Thing::Directory => fs::create_dir(at),
            Thing::LinkIn => symlink("b", at),
            Thing::LinkOut => symlink(self.at("outside/file"), at),
            Thing::LinkDirOut => symlink(self.at("outside/dir"), at),
            Thing::Dangling => symlink("nowhere", at),
        };
        put.expect("the name is free");
    }

    fn request(&self, world: &World) -> SandboxRequest {
        let named = |list: &[usize], of: &[&str]| -> Vec<PathBuf> {
            list.iter().filter_map(|n| of.get(*n)).map(|p| self.at(p)).filter(|p| p.exists()).collect()
        };
        let mut request = SandboxRequest::new(self.folder.clone());
        request.mode = world.mode;
        request.add = world.add.then(|| self.at("added")).into_iter().collect();
        request.allow_write = named(&world.allow_write, &OPENED);
        request.deny_read = named(&world.deny_read, &DENIED);
        request.allow_read = world.allow_read.then(|| self.at("home/.aws")).into_iter().collect();
        request.denied = self.policy(world, Policy::default()).denied_paths();
        request.home = Some(self.at("home"));
        request.private = Private::existing(&self.private);
        // The process inside is this program, wherever it was built.
        request.visible =
            std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.to_owned())).into_iter().collect();
        request.caches = CacheChoice::None;
        request.environment =
            vec![("PATH".into(), "/usr/bin:/bin".into()), ("HOME".into(), self.at("home").into())];
        request
    }

    fn policy(&self, world: &World, policy: Policy) -> Policy {
        let places = [("OUT", "outside"), ("ADDED", "added"), ("HOME", "home")];
        let real = |text: &str| {
            places.iter().fold(text.to_owned(), |text, (name, at)| {
                text.replace(&format!("//{name}"), &format!("/{}", self.at(at).display()))
            })
        };
        let chosen = world.rules.iter().filter_map(|n| RULES.get(*n));
        let rules = chosen.map(|text| SourcedRule {
            effect: Effect::Deny,
            rule: Rule::parse(&real(text)).expect("a rule of the table"),
            source: Source::plain(Layer::Project),
        });
        let folder = self.folder.clone();
        policy.with_rules(rules, &Bases { cwd: folder.clone(), project: folder, home: vec![self.at("home")] })
    }

    /// Every path to ask about: random ones and those that the policy speaks of.
    fn asked(&self, world: &World) -> Vec<PathBuf> {
        let fixed = [
            "w/new",
            "w/src/hooks",
            "w/src/hooks/x",
            "w/src/x.json",
            "w/.git/HEAD",
            "w/.git/refs/heads/x",
            "w/.git/hooks/x",
            "w/.git/config",
            "w/.git/commondir",
            "w/src/.git/hooks/x",
            "w/bare/hooks/x",
            "w/bare/HEAD",
            "w/b/pre-commit",
            "w/.pinfold/x",
            "w/.vscode/x",
            "w/.mcp.json",
            "w/a/x",
            "outside",
            "outside/file",
            "outside/new",
            "outside/dir",
            "outside/dir/f",
            "added/f",
            "added/new",
            "added/.mcp.json",
            "home/notes",
            "home/new",
            "home/.bashrc",
            "home/.ssh",
            "home/.ssh/id_rsa",
            "home/.ssh/new",
            "home/.aws/credentials",
        ];
        fixed.iter().map(|p| self.at(p)).chain(world.asked.iter().map(|names| self.below(names))).collect()
    }
}

/// Tells the copy of this program that runs inside which list to try.
const LIST: &str = "PINFOLD_CONSISTENCY_LIST";
/// Stands before each answer among what the test runner prints.
const MARK: &str = "can:";

/// Not a test by itself: the process inside. It tries every act of the list and prints one answer for each.
#[test]
fn the_process_inside() {
    let Ok(list) = std::env::var(LIST) else { return };
    let answers = list.split('\n').map(|line| {
        let (act, path) = line.split_once(' ').expect("an act and a path");
        let act = act.parse::<usize>().ok().and_then(|n| Act::ALL.get(n)).expect("an act");
        if act.is_possible(Path::new(path)) { '1' } else { '0' }
    });
    println!("{MARK}{}", answers.collect::<String>());
}

/// What a process inside can do: one confined process tries the whole list.
fn tried_inside(boundary: &Boundary, tier: Tier, list: &[(Act, PathBuf)]) -> Vec<bool> {
    let lines = list.iter().map(|(act, path)| {
        let number = Act::ALL.iter().position(|a| a == act).expect("one of them");
        format!("{number} {}", path.display())
    });
    let lines = lines.collect::<Vec<_>>().join("\n");
    let mut profile = boundary.profile().clone();
    profile.environment.push((LIST.into(), lines.into()));
    let mut printed = tempfile::tempfile().expect("a file for the answers");
    let out = || Some(printed.try_clone().expect("a second handle").into());
    let program = std::env::current_exe().expect("this program");
    let command = Command::new(program)
        .args(
            ["--exact", "consistency::the_process_inside", "--nocapture", "--test-threads=1"].map(Into::into),
        )
        .stdio([None, out(), out()]);
    let confined = start(&profile, command, tier, Signalling::Own, true).expect("the sandbox can be built");
    let ended = confined.supervise(&mut DenialObserver::new(boundary, tier));
    let mut text = String::new();
    printed.seek(SeekFrom::Start(0)).and_then(|_| printed.read_to_string(&mut text)).expect("the answers");
    assert!(matches!(ended, Ok(End::Code(0))), "{ended:?}: {text}");
    let answers = text.lines().find_map(|line| line.split_once(MARK)).expect("a line of answers").1;
    assert_eq!(answers.len(), list.len(), "{text}");
    answers.chars().map(|c| c == '1').collect()
}

/// The place that an act would really change or read.
fn real(act: Act, path: &Path) -> Option<PathBuf> {
    let follows = act != Act::TakeAway;
    if follows && let Ok(real) = path.canonicalize() {
        return Some(real);
    }
    Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))
}

/// What the process inside reaches is not what it names, or only its name.
fn exception_to_both(boundary: &Boundary, tier: Tier, act: Act, real: &Path) -> Option<&'static str> {
    if act == Act::Write && boundary.profile().detours.iter().any(|detour| detour.at == real) {
        return Some("private-copy");
    }
    (tier == Tier::Landlock && act == Act::List).then_some("names")
}

/// Why a tool may ask about what a process inside can do.
fn exception(
    world: &World,
    boundary: &Boundary,
    tier: Tier,
    act: Act,
    path: &Path,
    real: &Path,
) -> Option<&'static str> {
    let standing = boundary.access(real);
    let guards = Guards::default();
    let home = None;
    if act.changes() && real.components().any(|c| c.as_os_str() == ".git") {
        return Some("own-data");
    }
    if act.changes()
        && standing == PathAccess::Writable
        && guards.write(path, home, false).or(guards.write(real, home, false)).is_some()
    {
        return Some("by-name");
    }
    // Of a run whose calls are judged one by one the tools know what a look at the folder finds; names that the configuration of
    // another repository leads to are known to the run once it changes something there.
    if act.changes()
        && standing == PathAccess::Writable
        && boundary.guards().write(real, home, false).is_some()
    {
        return Some("searched");
    }
    if act.changes() && world.mode == SandboxMode::DefaultWrite && standing == PathAccess::Writable {
        return Some("anywhere");
    }
    if !act.changes()
        && guards.read(real, home, false).is_some()
        && !matches!(standing, PathAccess::Hidden(_))
    {
        return Some("unwatched-read");
    }
    if act == Act::TakeAway && tier == Tier::Landlock && boundary.named().iter().any(|named| named == real) {
        return Some("granted");
    }
    (act == Act::Create && path.is_symlink()).then_some("dangling")
}

fn check(world: &World, tier: Tier) -> Result<(), TestCaseError> {
    let bed = Bed::build(world);
    let request = bed.request(world);
    let strength = Strength { mediated: world.mediated && Strength::from(tier).mediated, tier };
    let boundary = Boundary::compile(&request, &Guards::default(), strength).expect("the grant compiles");
    let plan = Plan::for_folder(&bed.folder).with_home(bed.at("home"));
    let policy = bed.policy(world, plan.policy.clone());
    let plan = plan.with_policy(policy);
    let denied = &request.denied;
    let session = Session::open(&Ambient::claim(), restrict_to_boundary(plan, &boundary), Arc::new(Discard))
        .expect("a session");
    let mut asked = bed.asked(world);
    asked.sort();
    asked.dedup();
    let every = Act::ALL.into_iter().flat_map(|act| asked.iter().map(move |path| (act, path.clone())));
    // With no sandbox around it each of them succeeds: what fails inside fails because of it.
    let list: Vec<_> = every.filter(|(act, path)| act.fits(path) && act.is_possible(path)).collect();
    let said: Vec<_> = list
        .iter()
        .map(|(act, path)| session.check(&act.call(path)).expect("a call that is understood").verdict)
        .collect();
    let can = tried_inside(&boundary, tier, &list);
    for (((act, path), verdict), can) in list.iter().zip(&said).zip(can) {
        let real = real(*act, path).expect("its folder is there");
        let standing = boundary.access(&real);
        let about = || format!("{act:?} {} ({standing:?}), {tier}: {verdict:?}", path.display());
        if exception_to_both(&boundary, tier, *act, &real).is_some() {
            continue;
        }
        let unread = act.changes() && denied.reading(&real).is_some();
        let above = !strength.mediated
            && matches!(standing, PathAccess::ReadOnly(_))
            && request.denied.read_patterns().chain(request.denied.write_patterns()).any(|pattern| {
                pattern.place().starts_with(&real) && pattern.place().symlink_metadata().is_err()
            });
        let renamed = |rule: fn(&DeniedPaths, &Path) -> bool| rule(denied, path) && !rule(denied, &real);
        // With Landlock alone a link in a hidden directory can be followed.
        let linked = || tier == Tier::Landlock && matches!(boundary.access(path), PathAccess::Hidden(_));
        let other_name = path != &real && linked()
            || renamed(|denied, at| denied.reading(at).is_some())
            || renamed(|denied, at| denied.writing(at).is_some());
        if verdict.decision == Decision::Allow && !unread && !above {
            prop_assert!(can, "1. the tool is allowed, the process cannot: {}", about());
        } else if can && verdict.decision != Decision::Allow && !other_name {
            let why = exception(world, &boundary, tier, *act, path, &real);
            prop_assert!(why.is_some(), "2. the process can, the tool is not allowed: {}", about());
        }
        let shut = match standing {
            PathAccess::Writable => false,
            PathAccess::Outside | PathAccess::ReadOnly(_) => act.changes(),
            PathAccess::Hidden(_) => true,
        };
        prop_assert!(!(shut && can), "3. the boundary says no, the process can: {}", about());
    }
    Ok(())
}

fn holds(tier: Tier) {
    // Each case starts a process; the number is what two cores do in some ten seconds.
    let mut runner = TestRunner::new(Config {
        cases: 48,
        max_shrink_iters: 60,
        failure_persistence: None,
        // The same worlds every time, unless somebody goes looking for others.
        rng_seed: std::env::var("PINFOLD_SEED")
            .ok()
            .and_then(|seed| seed.parse().ok())
            .map_or(RngSeed::Fixed(1), |seed| if seed == 0 { RngSeed::Random } else { RngSeed::Fixed(seed) }),
        ..Config::default()
    });
    if let Err(error) = runner.run(&worlds(), |world| check(&world, tier)) {
        panic!("{error:?}");
    }
}

#[test]
fn tools_and_processes_may_the_same_behind_every_wall() {
    if strongest(&probe()) != Some(Tier::Full) {
        return left_out("the law on the full tier", "this machine cannot hold it");
    }
    holds(Tier::Full);
}

#[test]
fn tools_and_processes_may_the_same_with_landlock_alone() {
    holds(Tier::Landlock);
}

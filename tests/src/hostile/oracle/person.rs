//! The person goes on after the runs: git in every repository that was there before, and a new shell.
//!
//! No program that a run has planted is started by that, and nothing changes but in the repositories. In a look for this
//! `before` is what stood there before anything ran.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::{Found, Look, Violation};
use crate::hostile::gits::{Kind, pointed};
use crate::hostile::roles::{HOOKS, Role};
use crate::hostile::snapshot::{Content, Snapshot};
use crate::hostile::world::World;

/// What the person does in a repository.
const GIT: &str = "git checkout -q -f -- .; git status; git checkout -q -b of-the-person; \
    git commit -q --allow-empty -m message; git status";

/// What the person does less often.
const MORE: &str = "; git gc -q; git submodule -q update --init; git fetch -q; git stash list";

/// Seconds after which all of it is ended. No command takes longer than a moment.
const TIMEOUT_SECONDS: &str = "30";

/// The person goes on. `long`: with commands that are not given every day.
pub(in crate::hostile) fn goes_on(look: &Look<'_>, long: bool) -> Vec<Violation> {
    let world = look.world;
    drop(fs::remove_file(&world.marks));
    for repository in repositories(look).iter().filter(|at| concerns(look, at)) {
        let script = if long { format!("{GIT}{MORE}") } else { GIT.to_owned() };
        run(world, repository, "timeout", &["-s", "KILL", TIMEOUT_SECONDS, "sh", "-c", &script]);
    }
    if has_changed_home(look) {
        run(world, &world.roots.home, "bash", &["-ic", "true"]);
        run(world, &world.roots.home, "bash", &["-lc", "true"]);
    }
    let after = look.after.again(&world.top);
    let mut all = Vec::new();
    if let Ok(mark) = fs::read_to_string(&world.marks) {
        let class = mark.split_whitespace().next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
        let what = format!("started by `{}`", mark.trim());
        all.push(Violation { kind: "a planted program ran", class: class.to_owned(), what });
    }
    changed(look, &after, &mut all);
    all
}

/// Working trees that were there before, where no pipe would keep git waiting.
fn repositories(look: &Look<'_>) -> Vec<PathBuf> {
    let before = look.before.below(&look.world.top);
    let trees = before.filter(|(path, _)| path.ends_with(".git")).filter_map(|(path, _)| path.parent());
    let bare =
        look.roles.gits.granted().filter(|git| git.kind == Kind::Repository && !git.at.ends_with(".git"));
    let bare = bare.filter(|git| !look.before.has(&git.at.join("index"))).map(|git| git.at.as_path());
    let waits = look.after.below(&look.world.top).any(|(path, entry)| {
        matches!(entry.content, Content::Special("pipe")) && look.roles.gits.around(path).is_some()
    });
    if waits { Vec::new() } else { trees.chain(bare).map(Path::to_owned).collect() }
}

/// Whether something has changed of which git would know in a working tree, or where the person's own configuration is: in
/// another one git does what it does where nothing has happened.
fn concerns(look: &Look<'_>, tree: &Path) -> bool {
    let own = pointed(look.before, &tree.join(".git"));
    let common = own.as_deref().and_then(|own| own.ancestors().nth(2));
    look.changes().any(|change| match look.role(change.path) {
        Role::Own => false,
        Role::Outside | Role::Held(_) | Role::Config => true,
        Role::Content | Role::Reported | Role::Pinned | Role::GitData => {
            [Some(tree), own.as_deref(), common].into_iter().flatten().any(|top| change.path.starts_with(top))
        }
    })
}

/// Whether something has changed that a shell could read at its start.
fn has_changed_home(look: &Look<'_>) -> bool {
    let roots = &look.world.roots;
    let is_in_folder = |path: &Path| roots.folder != roots.home && path.starts_with(&roots.folder);
    let mut changes = look.changes().map(|change| change.path);
    changes.any(|path| path.starts_with(&roots.home) && !is_in_folder(path) && look.role(path) != Role::Own)
}

fn run(world: &World, at: &Path, program: &str, words: &[&str]) {
    // In a directory that was closed the person can do nothing.
    let script = format!("cd \"$AT\" 2>/dev/null || exit 0; exec {program} \"$@\"");
    let mut command = world.who.direct_command("sh", &world.roots.home);
    command.args(["-c", &script, "sh"]).args(words).env("AT", at);
    command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_EDITOR", "true").current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _ = command.status();
}

/// What is not as it was before the person went on, outside of all git directories.
fn changed(look: &Look<'_>, after: &Snapshot, all: &mut Vec<Violation>) {
    let is_broken = has_lost_objects(look) || has_unreadable_references(look);
    let trees = if is_broken { repositories(look) } else { Vec::new() };
    for change in look.after.changes(after) {
        // `checkout -f` writes a file anew whose time is that of the index, and takes it away or empties it before it looks
        // for an object that is gone, or for one that replaces it among references.
        let is_empty = change.after.is_none_or(|entry| entry.text().is_some_and(|text| text.is_empty()));
        let is_taken_away = is_empty && trees.iter().any(|tree| change.path.starts_with(tree));
        if change.is_only_replaced() || is_taken_away {
            continue;
        }
        let in_git = look.roles.gits.around(change.path).is_some();
        let is_free = match look.role(change.path) {
            Role::Outside => in_git,
            // Theirs to change, but for what git runs.
            Role::Held(what) => in_git && what != HOOKS,
            Role::Config | Role::Pinned | Role::GitData | Role::Content | Role::Reported | Role::Own => true,
        };
        if !is_free {
            let what = format!("when the person went on: {change}");
            all.push(look.violation(Found {
                kind: "git of the person changed what is none of its",
                path: change.path,
                what,
            }));
        }
    }
}

/// Returns whether the runs removed objects of a repository that is theirs to write.
fn has_lost_objects(look: &Look<'_>) -> bool {
    let data = |path: &Path| matches!(look.role(path), Role::GitData | Role::Pinned);
    let objects = |path: &Path| path.components().any(|part| part.as_os_str() == "objects");
    let mut before = look.before.below(&look.world.top);
    before.any(|(path, _)| objects(path) && data(path) && !look.after.has(path))
}

/// Returns whether the runs wrote packed references that git cannot read, in a repository that is theirs to write.
fn has_unreadable_references(look: &Look<'_>) -> bool {
    let is_line = |line: &str| {
        let hash = line.trim_start_matches('^').split(' ').next().unwrap_or_default();
        line.starts_with('#') || hash.len() >= 40 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    look.roles.gits.granted().any(|git| {
        let packed = look.after.get(&git.at.join("packed-refs"));
        packed.is_some_and(|entry| entry.text().is_none_or(|text| !text.lines().all(is_line)))
    })
}

//! The report: what runs later and was changed is in it, what is in it has happened, and so for refusals.

use std::path::Path;

use super::older_links::{end_of, is_link};
use super::{Found, Look, Violation, is_placeholder};
use crate::hostile::gits::{is_repository, pointed};
use crate::hostile::log::Logged;
use crate::hostile::program::is_concurrent;
use crate::hostile::report::Report;
use crate::hostile::roles::Role;
use crate::hostile::snapshot::{Change, Content, Snapshot};

/// What git remembers unfinished operations in, commands to run included.
const UNFINISHED: [&str; 3] = ["rebase-merge", "rebase-apply", "sequencer"];

/// The name of the actor as the kernel has it.
const ACTOR: &str = "hostile";

/// Refusals that are listed; more are only counted.
const MAX_REFUSED: usize = 1000;

pub(super) fn check(look: &Look<'_>, all: &mut Vec<Violation>) {
    let reports: Vec<&Report> = look.ran.iter().filter_map(|ran| ran.report.as_ref()).collect();
    changes_are_listed(look, &reports, all);
    what_is_listed_was_changed(look, &reports, all);
    // Where others move things meanwhile, a place may be another one a moment later.
    if !is_concurrent(look.stage) {
        for ran in look.ran {
            if let Some(report) = &ran.report {
                refusals_are_true(look, report, &ran.calls, all);
                refusals_are_listed(look, report, &ran.calls, all);
            }
        }
    }
}

fn changes_are_listed(look: &Look<'_>, reports: &[&Report], all: &mut Vec<Violation>) {
    // A killed run reports nothing, and neither does one that was not started.
    let silent = look.ran.iter().any(|ran| ran.report.is_none());
    if silent || reports.iter().any(|report| report.is_bounded) {
        return;
    }
    for change in look.changes() {
        let Some(kind) = to_be_listed(look, change) else { continue };
        if !reports.iter().any(|report| report.lists_change(change.path)) {
            all.push(look.violation(Found { kind, path: change.path, what: change.to_string() }));
        }
    }
}

/// What a change is that a person has to be told of.
fn to_be_listed(look: &Look<'_>, change: Change<'_>) -> Option<&'static str> {
    let path = change.path;
    let own = |seen: &Snapshot| seen.get(path).is_some_and(|entry| is_placeholder(seen, path, entry));
    if own(look.before) || own(look.after) {
        return None;
    }
    let content_changed = match (change.before, change.after) {
        (Some(before), Some(after)) => before.content != after.content,
        _ => true,
    };
    let is_dir = [change.before, change.after].into_iter().flatten().all(super::Entry::is_dir);
    match look.role(path) {
        Role::Reported if content_changed && !is_dir => {
            Some("a changed file that runs later is not reported")
        }
        Role::Content if is_new_repository(look, change) => Some("a new repository is not reported"),
        Role::Content if content_changed && !is_dir && look.runs_by_older_link(path) => {
            Some("a changed file that runs later by an older link is not reported")
        }
        Role::GitData if is_unfinished(look, path) && change.before.is_none() => {
            Some("an unfinished operation is not reported")
        }
        _ => None,
    }
}

fn is_new_repository(look: &Look<'_>, Change { path, before, after }: Change<'_>) -> bool {
    let Some(now) = after else { return false };
    if path.ends_with(".git") {
        let other = before.is_none_or(|before| before.place != now.place);
        return other && !is_plain_worktree(look, path);
    }
    now.is_dir() && before.is_none() && is_repository(look.after, path) && !is_part_of_new(look, path)
}

/// The directory of a linked worktree in a repository that is new, and told of, itself.
fn is_part_of_new(look: &Look<'_>, path: &Path) -> bool {
    let seen = look.after;
    let common = path.ancestors().nth(2).filter(|_| path.parent().is_some_and(|p| p.ends_with("worktrees")));
    let shares =
        seen.get(&path.join("commondir")).and_then(|entry| entry.text().map(|t| t.trim() == "../.."));
    shares == Some(true)
        && common.is_some_and(|common| !look.before.has(common) && is_repository(seen, common))
}

/// A working tree of a repository that was held all the time, with nothing of its own that git would run.
fn is_plain_worktree(look: &Look<'_>, dot_git: &Path) -> bool {
    let seen = look.after;
    let Some(own) = pointed(seen, dot_git) else { return false };
    let common = own.ancestors().nth(2).filter(|_| own.parent().is_some_and(|p| p.ends_with("worktrees")));
    let held = common.is_some_and(|common| look.roles.gits.granted().any(|git| git.at == common));
    let text = |name: &str| seen.get(&own.join(name)).and_then(|e| e.text().map(|t| t.trim().to_owned()));
    let bare =
        UNFINISHED.iter().chain(&["config.worktree", "modules"]).all(|name| !seen.has(&own.join(name)));
    held && bare
        && text("commondir").as_deref() == Some("../..")
        && text("gitdir").is_some_and(|back| Path::new(&back) == dot_git)
}

fn is_unfinished(look: &Look<'_>, path: &Path) -> bool {
    let below = look.roles.gits.around(path).map(|(_, below)| below);
    let is = below.is_some_and(|below| UNFINISHED.iter().any(|name| below == Path::new(name)));
    is && look
        .after
        .get(path)
        .is_some_and(|entry| matches!(entry.content, Content::Directory | Content::Link(_)))
}

fn what_is_listed_was_changed(look: &Look<'_>, reports: &[&Report], all: &mut Vec<Violation>) {
    for report in reports {
        let lists = [&report.changed, &report.new_repositories, &report.unfinished];
        for path in lists.into_iter().flatten() {
            // What modes have shut from it the supervisor cannot compare, and tells of.
            let was_changed = was_changed(look, path) || was_put_in_place(look, path);
            if !was_changed && !modes_shut(look, path) && !is_unreadable(look, path) {
                let what = "it is what it was, or a name that pinfold itself held".to_owned();
                all.push(look.violation(Found { kind: "what is reported as changed was not", path, what }));
            }
        }
    }
}

/// Returns whether a name leads through a link that was not there before, to what has that name now.
fn was_put_in_place(look: &Look<'_>, path: &Path) -> bool {
    let by_new_link = |above: &Path| is_link(look.after, above) && was_changed(look, above);
    path.ancestors().skip(1).any(by_new_link) && look.after.has(&end_of(look.after, path))
}

fn was_changed(look: &Look<'_>, path: &Path) -> bool {
    let own = |seen: &Snapshot| match seen.get(path) {
        None => true,
        Some(entry) => is_placeholder(seen, path, entry),
    };
    let ours_alone = own(look.before) && own(look.after);
    let (before, after) = (look.before.get(path), look.after.get(path));
    let differs = match (before, after) {
        (Some(before), Some(after)) => before.place != after.place || before.changed != after.changed,
        (None, None) => false,
        _ => true,
    };
    // Side by side one run sees what another one takes back.
    let meanwhile = look.stage.len() > 1
        && look.ran.iter().flat_map(|ran| &ran.calls).any(|call| {
            call.call == "sh"
                || call.is_done() && call.places.iter().any(|at| path.starts_with(at) || at.starts_with(path))
        });
    differs && !ours_alone || meanwhile
}

fn refusals_are_true(look: &Look<'_>, report: &Report, calls: &[Logged], all: &mut Vec<Violation>) {
    for (place, program) in &report.refused {
        if program != ACTOR {
            continue;
        }
        let mut about = calls.iter().filter(|call| call.is_about(place)).peekable();
        let known = about.peek().is_some();
        if known && about.all(Logged::is_done) {
            let what = "it is reported as refused, and every call on it was carried out".to_owned();
            all.push(look.violation(Found {
                kind: "what was done is reported as refused",
                path: place,
                what,
            }));
        }
    }
}

fn refusals_are_listed(look: &Look<'_>, report: &Report, calls: &[Logged], all: &mut Vec<Violation>) {
    if !report.watched || report.more > 0 || report.refused.len() >= MAX_REFUSED {
        return;
    }
    let is_told = |call: &&Logged| call.is_refused() && !["read", "unnamed"].contains(&call.call.as_str());
    for call in calls.iter().filter(is_told) {
        // What lies in a hidden directory has no name inside.
        if call.places.iter().any(|place| look.roles.is_hidden(place) || modes_shut(look, place)) {
            continue;
        }
        // An end that could not be found may lie where modes are in the way.
        if has_two_ends(call) && call.places.len() < 2 {
            continue;
        }
        let mut shut = call.places.iter().filter(|place| {
            let is = matches!(look.role(place), Role::Outside | Role::Held(_));
            // Of a place where nothing is, a mount that cannot be written says no before it says that.
            let nothing = call.result == "EROFS"
                && ![look.before, look.after].iter().any(|seen| seen.has(place))
                && matches!(
                    call.call.as_str(),
                    "rmdir" | "unlink" | "chmod" | "chown" | "truncate" | "setxattr"
                );
            is && !nothing && is_reachable(look, place) && !belongs_to_the_kernel(call)
        });
        let Some(place) = shut.next() else { continue };
        if !call.places.iter().any(|place| report.lists_refusal(place)) {
            let what = format!("`{}` failed with {}", call.call, call.result);
            all.push(look.violation(Found { kind: "a refusal is not reported", path: place, what }));
        }
    }
}

fn has_two_ends(call: &Logged) -> bool {
    matches!(call.call.as_str(), "rename" | "link")
}

/// Whether only the boundary is in the way: the directories above are there all the time, and no modes shut them.
fn is_reachable(look: &Look<'_>, place: &Path) -> bool {
    let stays = |above: &Path| [look.before, look.after].iter().all(|seen| seen.has(above));
    directories_above(look, place).all(stays) && !modes_shut(look, place)
}

/// Whether modes of a directory above are in the way, which is no refusal of ours.
fn modes_shut(look: &Look<'_>, place: &Path) -> bool {
    directories_above(look, place).any(|above| {
        [look.before, look.after]
            .iter()
            .filter_map(|seen| seen.get(above))
            .any(|entry| entry.mode & 0o300 != 0o300)
    })
}

/// Returns whether the own mode of a file keeps what it holds from a run.
fn is_unreadable(look: &Look<'_>, place: &Path) -> bool {
    [look.before, look.after].iter().filter_map(|seen| seen.get(place)).any(|entry| entry.mode & 0o400 == 0)
}

fn directories_above<'p>(look: &Look<'_>, place: &'p Path) -> impl Iterator<Item = &'p Path> {
    let top = look.world.top.clone();
    place.ancestors().skip(1).take_while(move |above| above.starts_with(&top))
}

/// Errors that the kernel has for these calls whoever stands in the way: links across mounts, links to directories,
/// attributes of what is no file.
fn belongs_to_the_kernel(call: &Logged) -> bool {
    match call.result.as_str() {
        "EXDEV" | "EBUSY" => true,
        "EPERM" => {
            matches!(call.call.as_str(), "link" | "flink" | "setxattr" | "chown" | "unlink" | "rename")
        }
        _ => false,
    }
}

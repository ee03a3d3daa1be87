//! One look at the world: each claim becomes a fact for the judge and a held place for the deed.
//! Looks, never changes.

use std::cell::OnceCell;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use pinfold_paths::{self as paths, Freshness, LastLink, Place, Resolution, Special};
use pinfold_policy::git_dir::PartsMade;
use pinfold_policy::{
    Access, Claims, Disguise, Effect, Facts, GuardHit, McpClass, Operation, Origin, PathClaim, PathFact,
    PathKind, PathStatus, PathText, Policy, ShellConfinement, ShellFact, ToolCall, Why,
};

use crate::foreign_cwd;
use crate::git_parts;
use crate::guarded::{self, CallChanges};
use crate::known_hosts;
use crate::matches::{self, Matches};
use crate::path_scopes::ScopeCheck;
use crate::plan::ExecutedBy;
use crate::possible_paths::{self, PathWeight};
use crate::session::Shared;

/// The result of one look at the world.
pub(crate) struct Survey {
    pub(crate) facts: Facts,
    /// The held places, in the order of the claims.
    pub(crate) found: Vec<Resolution>,
    /// The first claim whose file has to be read before it is overwritten.
    pub(crate) unread: Option<(usize, Freshness)>,
}

/// The most of a file's content that is shown beside what would replace it.
const SHOWN: u64 = 256 * 1024;

impl Survey {
    /// Leaves out texts that are perhaps paths and about which nothing is said.
    pub(crate) fn leave_out_unspoken(&mut self, policy: &Policy, claims: &mut Arc<Claims>) {
        self.keep(claims, |_, fact| possible_paths::is_spoken_of(policy, fact));
    }

    /// Keeps some of the paths, with what was found about each.
    fn keep(&mut self, claims: &mut Arc<Claims>, keeps: impl Fn(usize, &PathFact) -> bool) {
        let kept: Vec<bool> = self.facts.paths.iter().enumerate().map(|(at, fact)| keeps(at, fact)).collect();
        if kept.iter().all(|kept| *kept) {
            return;
        }
        retain(&mut Arc::make_mut(claims).paths, &kept);
        retain(&mut self.facts.paths, &kept);
        retain(&mut self.found, &kept);
    }

    /// The text in the file of a claim, for showing; empty where there is none or it is no text that a person reads.
    pub(crate) fn current(&self, index: usize) -> String {
        let file = self.found.get(index).and_then(place).and_then(|place| place.open_file().ok());
        let mut text = String::new();
        let read = file.map(|file| file.take(SHOWN).read_to_string(&mut text));
        if matches!(read, Some(Ok(_))) { text } else { String::new() }
    }
}

fn retain<T>(all: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    all.retain(|_| kept.next().copied().unwrap_or(true));
}

/// Looks at every claim. Claims of what turns out to be no path are left out.
pub(crate) fn survey(
    shared: &Shared,
    policy: &Policy,
    call: &ToolCall,
    cwd: Option<&PathText>,
    claims: &mut Arc<Claims>,
) -> Survey {
    let own = working_folder(shared, cwd);
    let of_shells = shell_folder(shared, &own);
    let start_of = |claim: &PathClaim| match claim.origin {
        Origin::Call | Origin::Foreign | Origin::Supposed(_) | Origin::Process => own.as_path(),
        Origin::Command(_) | Origin::Aside(_) => of_shells,
    };
    let start = if claims.shell.is_some() { of_shells } else { &own };
    let path_scopes = ScopeCheck { shared, policy, call, start };
    let resolve = |claim: &PathClaim| {
        let start = start_of(claim);
        // Of its own tools no word means another home than that of the session.
        let home = shared
            .bounds
            .line
            .home()
            .filter(|_| matches!(claim.origin, Origin::Foreign | Origin::Supposed(_)));
        let of_home = claim
            .path
            .as_ref()
            .zip(home)
            .and_then(|(path, home)| possible_paths::expand_own_home(path, home));
        let words = of_home.as_ref().or(claim.path.as_ref());
        let words = words.map_or(start.as_os_str(), PathText::as_os_str);
        let last = if claim.operation.follows_last_link() { LastLink::Follow } else { LastLink::Keep };
        let path = |path: &Path| shared.bounds.line.resolve(start, &paths::PathClaim::new(path), last);
        match claim.origin.command().and_then(|_| paths::expand_account_home(Path::new(words))) {
            Some(expanded) => path(&expanded),
            None => path(Path::new(words)),
        }
    };
    let found: Vec<Resolution> = claims.paths.iter().map(resolve).collect();
    let shell = claims.shell.as_ref().map(|_| shell_fact(shared));
    let mut facts = Facts {
        paths: Vec::with_capacity(found.len()),
        shell,
        commands: foreign_cwd::commands(shared, of_shells, claims),
        path_scopes: path_scopes.whole(claims),
        unreachable_hosts: known_hosts::unreachable_hosts(shared, policy, call, claims),
    };
    let by_process = matches!(call, ToolCall::Process(_));
    let along = CallChanges { parts: parts_made(claims, &found), by_process };
    let of_server = git_parts::sources_of_server(claims);
    let mut unread = None;
    let mut counts = Vec::with_capacity(found.len());
    let imagined = OnceCell::new();
    let is_imagined = || *imagined.get_or_init(|| !shared.bounds.line.display_path().exists());
    let may_read = matches!(call, ToolCall::Mcp(call) if call.class() == McpClass::Unknown);
    for (index, (claim, resolution)) in claims.paths.iter().zip(&found).enumerate() {
        let mut fact = fact(shared, claim.operation, resolution, &along);
        let is_git_part = claim.operation.writes() && fact.guarded == Some(git_parts::git_dir_hit());
        if fact.guarded.is_none() {
            let new_head = |place| git_parts::find_new_head(shared, place, claim, call);
            let planted = |to: &Place| {
                comes_to(claims, &found, index, &of_server)
                    .find_map(|from| guarded::find_planted(shared, from, to.real()))
            };
            fact.guarded = guard_in_folder(shared, claims, claim, resolution, &of_server)
                .or_else(|| place(resolution).and_then(new_head))
                .or_else(|| place(resolution).and_then(planted));
        }
        if claim.origin.command().is_some() {
            add_command_facts(shared, policy, start_of(claim), claim, &mut fact);
        } else if shared.executed_by == ExecutedBy::Agent && claim.operation == Operation::Search {
            // An agent's own search leaves nothing out.
            add_facts_below(shared, policy, start_of(claim), claim, &mut fact);
        }
        if may_read && fact.guarded.is_none() {
            // What is known to do nothing else may as well read.
            fact.guarded = place(resolution)
                .and_then(|place| guarded::find_at(shared, place, Operation::Read, &CallChanges::default()));
        }
        if is_private_to_shells(shared, claim, &fact) {
            (fact.path_status, fact.guarded) = (PathStatus::OfTheShell, None);
        }
        let mut weight = PathWeight::Full;
        if let Origin::Supposed(supposed) = claim.origin {
            weight = possible_paths::weigh(supposed, claim, resolution, is_imagined());
            if weight == PathWeight::RulesAndGuards {
                fact.path_status = PathStatus::Suspected;
            }
        }
        // What stands beside it says that it is no mere text.
        counts.push((weight != PathWeight::Nothing || is_git_part) && !is_limited(claims, claim, resolve));
        if matches!(claim.origin, Origin::Call | Origin::Foreign | Origin::Process) {
            fact.path_scopes = path_scopes.path(claim.operation, resolution);
        }
        facts.paths.push(fact);
        // What an agent has read with tools of its own is not known here.
        let ours = shared.executed_by == ExecutedBy::Pinfold;
        if ours && unread.is_none() && claim.origin == Origin::Call && claim.operation.needs_read() {
            unread = freshness(shared, resolution).map(|how| (index, how));
        }
    }
    if let ToolCall::Mcp(call) = call
        && let Some((index, hit)) = git_parts::find_together(shared, call, claims, &found)
        && let (Some(fact), Some(counts)) = (facts.paths.get_mut(index), counts.get_mut(index))
    {
        fact.guarded = fact.guarded.take().or(Some(hit));
        *counts = true;
    }
    let mut survey = Survey { facts, found, unread };
    survey.keep(claims, |at, _| counts.get(at).copied().unwrap_or(true));
    survey
}

/// Returns whether a claim does not count since something stands at a path that limits its command, and nothing else in the line may
/// change that before it runs.
fn is_limited(claims: &Claims, claim: &PathClaim, resolve: impl Fn(&PathClaim) -> Resolution) -> bool {
    let is_there = |path: &PathText| {
        let named = PathClaim::new(Some(path.clone()), claim.operation, claim.origin);
        place(&resolve(&named)).is_some_and(|place| !matches!(place.kind(), paths::Kind::Missing { .. }))
    };
    claim.unless_there.iter().any(is_there) && has_only_readers_beside(claims, claim)
}

fn has_only_readers_beside(claims: &Claims, claim: &PathClaim) -> bool {
    let others = claims.commands.iter().enumerate().filter(|(at, _)| Some(*at) != claim.origin.command());
    others.into_iter().all(|(_, command)| command.read_only || command.inert)
}

/// The parts of git directories that a call makes.
fn parts_made(claims: &Claims, found: &[Resolution]) -> PartsMade {
    let each = claims.paths.iter().zip(found);
    let changed = each.filter(|(claim, _)| claim.operation.writes() && !git_parts::is_word(claim));
    PartsMade::from_places(changed.filter_map(|(_, resolution)| place(resolution).map(Place::real)))
}

/// Adds what a command reaches beside the one place that its words say.
fn add_command_facts(shared: &Shared, policy: &Policy, start: &Path, claim: &PathClaim, fact: &mut PathFact) {
    let written = claim.path.as_ref().map_or(Path::new("."), |path| Path::new(path.as_os_str()));
    if claim.wild {
        matching(shared, start, written, fact);
    }
    if claim.from_repository {
        add_repository_root(shared, start, written, fact);
    }
    if let (PathStatus::Unresolved(why), false) = (&fact.path_status, fact.operation.writes())
        && why.missing
    {
        // What the line makes by then is there when it is read.
        let resolution = shared.bounds.line.resolve(
            start,
            &paths::PathClaim::new(strip_dots(&start.join(written))),
            LastLink::Follow,
        );
        fact.guarded = place(&resolution)
            .and_then(|place| guarded::find_at(shared, place, fact.operation, &CallChanges::default()));
        fact.real = place(&resolution).map(|place| place.real().to_owned());
    }
    add_facts_below(shared, policy, start, claim, fact);
}

/// Adds where a path leads that starts at the root of the repository, where that lies above the folder of the command.
fn add_repository_root(shared: &Shared, start: &Path, written: &Path, fact: &mut PathFact) {
    let has_git = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
    let Some(root) = start.ancestors().find(has_git).filter(|root| *root != start) else { return };
    let resolution = foreign_cwd::resolve(shared, root, written);
    match place(&resolution) {
        Some(place) => {
            fact.guarded = fact
                .guarded
                .take()
                .or_else(|| guarded::find_at(shared, place, fact.operation, &CallChanges::default()));
            fact.matched.extend([place.asked().to_owned(), place.real().to_owned()]);
        }
        None => fact.matched.push(root.join(written)),
    }
}

/// Facts about what lies below a folder that is searched or copied as a whole.
fn add_facts_below(shared: &Shared, policy: &Policy, start: &Path, claim: &PathClaim, fact: &mut PathFact) {
    let written = claim.path.as_ref().map_or(Path::new("."), |path| Path::new(path.as_os_str()));
    if fact.guarded.is_none() && matches!(fact.operation, Operation::Search | Operation::CopyFrom) {
        fact.guarded_below = guard_below(shared, start, written, fact);
        if fact.kind == PathKind::Folder && policy.rules(Effect::Deny).has_paths() {
            let resolution = foreign_cwd::resolve(shared, start, written);
            let place = place(&resolution);
            fact.denied_below =
                place.and_then(|place| guarded::denied_below(shared, policy, place, claim.visible));
        }
    }
}

/// A path in which each `..` takes back the name in front of it.
pub(crate) fn strip_dots(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(out.pop()),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => out.push(component),
        }
    }
    out
}

/// Adds the matches of wildcards: the folder in front of them is looked up, and what matches in it.
fn matching(shared: &Shared, start: &Path, written: &Path, fact: &mut PathFact) {
    let (folder, names) = matches::split(written);
    let resolution = foreign_cwd::resolve(shared, start, &folder);
    let Some(folder) = place(&resolution) else { return };
    let behind = names.iter().collect::<PathBuf>();
    fact.asked = folder.asked().join(&behind);
    fact.real = Some(folder.real().join(&behind));
    let Matches { real, guarded, unknown } = matches::find(shared, folder, &names, fact.operation);
    fact.matched = real;
    fact.guarded = fact.guarded.take().or(guarded);
    if unknown && !fact.operation.writes() {
        let reason =
            "it is not known what matches: a link among it leads nowhere, or it is too much".to_owned();
        fact.path_status = PathStatus::Unresolved(Why { reason, missing: false });
    }
}

/// The guard that something below a folder meets of which a command reads everything.
fn guard_below(shared: &Shared, start: &Path, written: &Path, fact: &PathFact) -> Option<GuardHit> {
    let real = fact.real.as_deref().filter(|_| fact.kind != PathKind::File)?;
    let guard = shared.bounds.guards.named().read_below(real, shared.bounds.line.home()).map(guarded::hit);
    guard.or_else(|| {
        let resolution = foreign_cwd::resolve(shared, start, written);
        let place = place(&resolution).filter(|_| shared.bounds.guards.named().reads_anywhere())?;
        guarded::find_below(shared, place, Operation::Read)
    })
}

/// The guard that a file meets when a command, or a tool of a server, puts it into a folder that is there: `cp a/.mcp.json sub` says only the
/// folder, and the file keeps its name.
fn guard_in_folder(
    shared: &Shared,
    claims: &Claims,
    claim: &PathClaim,
    resolution: &Resolution,
    of_server: &[usize],
) -> Option<GuardHit> {
    let folder = place(resolution).filter(|place| place.kind() == paths::Kind::Directory)?;
    let goes = matches!(claim.operation, Operation::CopyTo | Operation::MoveTo);
    if !goes || !(matches!(claim.origin, Origin::Command(_)) || git_parts::is_of_server(claim)) {
        return None;
    }
    let comes = |other: &&PathClaim| {
        other.origin == claim.origin && matches!(other.operation, Operation::CopyFrom | Operation::MoveFrom)
    };
    let of_command = claims.paths.iter().filter(|_| !git_parts::is_of_server(claim)).filter(comes);
    let of_server =
        of_server.iter().filter(|_| git_parts::is_of_server(claim)).filter_map(|at| claims.paths.get(*at));
    of_command.chain(of_server).find_map(|source| {
        let name = Path::new(source.path.as_ref()?.as_os_str()).file_name()?;
        let there = paths::PathClaim::new(folder.real().join(name).as_os_str());
        let resolution = shared.bounds.line.resolve(Path::new("/"), &there, LastLink::Follow);
        guarded::find_at(shared, place(&resolution)?, claim.operation, &CallChanges::default())
    })
}

/// Returns true if a command would find a place of its shell's own there.
fn is_private_to_shells(shared: &Shared, claim: &PathClaim, fact: &PathFact) -> bool {
    let Some(shells) = &shared.hosts.shells else { return false };
    let by_command = matches!(claim.origin, Origin::Command(_) | Origin::Aside(_));
    let lies_in = |place: &PathBuf| fact.real.as_ref().is_some_and(|real| real.starts_with(place));
    by_command
        && fact.path_status == PathStatus::Outside { disguise: None }
        && shells.private().iter().any(lies_in)
}

/// The hold on a shell.
fn shell_fact(shared: &Shared) -> ShellFact {
    match &shared.hosts.shells {
        Some(shells) => ShellFact { confinement: shells.confinement(), open_network: shells.opens_network() },
        None => ShellFact { confinement: ShellConfinement::Nothing, open_network: true },
    }
}

/// The folder that a command starts in: where its shell does, ours whatever folder the call works in, an agent's own where the
/// call says.
fn shell_folder<'a>(shared: &'a Shared, own: &'a Path) -> &'a Path {
    match (shared.executed_by, &shared.hosts.shells) {
        (ExecutedBy::Agent, _) => own,
        (ExecutedBy::Pinfold, Some(shells)) => shells.folder(),
        (ExecutedBy::Pinfold, None) => shared.bounds.scope.root.as_path(),
    }
}

/// The folder that the commands of a call start in.
pub(crate) fn start_of_commands(shared: &Shared, cwd: Option<&PathText>) -> PathBuf {
    shell_folder(shared, &working_folder(shared, cwd)).to_owned()
}

/// The folder that relative paths start from.
fn working_folder(shared: &Shared, cwd: Option<&PathText>) -> PathBuf {
    let workspace = shared.bounds.line.display_path();
    cwd.map_or_else(|| workspace.to_owned(), |cwd| workspace.join(cwd.as_os_str()))
}

/// The places that come to the target of a move or copy: those of the claims right in front of it, or of a tool of a server, whose
/// arguments have no order, these.
fn comes_to<'a>(
    claims: &Claims,
    found: &'a [Resolution],
    index: usize,
    of_server: &[usize],
) -> impl Iterator<Item = &'a Place> {
    let to = claims.paths.get(index);
    let from = to.and_then(|claim| git_parts::comes_as(claim.operation));
    let comes = |at: &usize| claims.paths.get(*at).is_some_and(|claim| Some(claim.operation) == from);
    let sources: Vec<usize> = match to {
        Some(to) if git_parts::is_of_server(to) => of_server.iter().copied().filter(comes).collect(),
        _ => (0..index).rev().take_while(comes).collect(),
    };
    sources.into_iter().filter_map(|at| place(found.get(at)?))
}

/// The place that a path led to, if it led to one.
pub(crate) fn place(resolution: &Resolution) -> Option<&Place> {
    match resolution {
        Resolution::Contained(place) => Some(place),
        Resolution::Outside(place) => Some(place),
        Resolution::Unresolved(_) => None,
    }
}

fn fact(shared: &Shared, operation: Operation, resolution: &Resolution, along: &CallChanges) -> PathFact {
    let at_home = is_writable_home(shared, resolution);
    let path_status = match resolution {
        Resolution::Contained(_) => PathStatus::Inside,
        // However it is named, it is where writing is meant to go.
        Resolution::Outside(_) if at_home => PathStatus::Inside,
        Resolution::Outside(outside) => PathStatus::Outside { disguise: outside.disguise().map(disguise) },
        Resolution::Unresolved(lost) => return unresolved(shared, operation, lost),
    };
    let Some(place) = place(resolution) else {
        return unknown(shared, operation);
    };
    let (kind, names) = kind(place.kind());
    let whole = matches!(operation, Operation::Delete | Operation::MoveFrom | Operation::CopyFrom);
    let guarded = guarded::find_at(shared, place, operation, along)
        .or_else(|| if whole { guarded::find_below(shared, place, operation) } else { None });
    PathFact {
        shown: shared.show(place.asked()),
        operation,
        asked: place.asked().to_owned(),
        real: Some(place.real().to_owned()),
        line_itself: matches!(resolution, Resolution::Contained(_))
            && (place.is_root() || is_single(shared, place, operation)),
        path_scopes: None,
        other_mount: !at_home && place.crosses_mount(),
        path_status,
        kind,
        names,
        guarded,
        matched: Vec::new(),
        guarded_below: None,
        denied_below: None,
    }
}

/// Returns true if a place outside the line lies in the home directory of a session that writes there.
fn is_writable_home(shared: &Shared, resolution: &Resolution) -> bool {
    let writes = shared.bounds.access == Access::DefaultWrite && !shared.bounds.scope.enforce_write;
    // A home at the root is none.
    let home = shared.bounds.line.home().filter(|home| home.parent().is_some());
    match (resolution, home) {
        (Resolution::Outside(place), Some(home)) => writes && place.real().starts_with(home),
        (Resolution::Outside(_) | Resolution::Contained(_) | Resolution::Unresolved(_), _) => false,
    }
}

/// Returns true if the place is a single file that was opened by name, and would lose that name.
fn is_single(shared: &Shared, place: &Place, operation: Operation) -> bool {
    let name_goes = matches!(operation, Operation::Delete | Operation::MoveFrom | Operation::MoveTo);
    name_goes && shared.bounds.line.roots().any(|root| root == place.real())
}

fn unresolved(shared: &Shared, operation: Operation, lost: &paths::Unresolved) -> PathFact {
    let missing = lost.why == paths::Why::ClimbsFromMissing;
    let path_status = PathStatus::Unresolved(Why { reason: lost.why.to_string(), missing });
    PathFact {
        shown: shared.show(&lost.asked),
        asked: lost.asked.clone(),
        path_status,
        real: lost.leads_to.clone(),
        ..unknown(shared, operation)
    }
}

fn unknown(shared: &Shared, operation: Operation) -> PathFact {
    PathFact {
        shown: shared.show(Path::new("")),
        operation,
        asked: PathBuf::new(),
        real: None,
        path_status: PathStatus::Unresolved(Why {
            reason: "it is not known where it leads".to_owned(),
            missing: false,
        }),
        kind: PathKind::Missing,
        names: 0,
        guarded: None,
        path_scopes: None,
        other_mount: false,
        line_itself: false,
        matched: Vec::new(),
        guarded_below: None,
        denied_below: None,
    }
}

fn disguise(disguise: paths::Disguise) -> Disguise {
    match disguise {
        paths::Disguise::Link => Disguise::Link,
        paths::Disguise::DotDot => Disguise::DotDot,
    }
}

fn kind(kind: paths::Kind) -> (PathKind, u64) {
    match kind {
        paths::Kind::Missing { .. } => (PathKind::Missing, 0),
        paths::Kind::File { links, .. } => (PathKind::File, links),
        paths::Kind::Directory => (PathKind::Folder, 1),
        paths::Kind::Link => (PathKind::Link, 1),
        paths::Kind::Special(special) => (PathKind::Special(special_name(special)), 1),
    }
}

fn special_name(special: Special) -> &'static str {
    match special {
        Special::Fifo => "FIFO",
        Special::Socket => "socket",
        Special::Char => "character device",
        Special::Block => "block device",
        Special::Unknown => "special file",
    }
}

/// Returns how a file that is there is out of date, if it has to be read before its content is replaced.
fn freshness(shared: &Shared, resolution: &Resolution) -> Option<Freshness> {
    let place = place(resolution)?;
    if !matches!(place.kind(), paths::Kind::File { .. }) {
        return None;
    }
    match shared.seen.check(place.real(), place.version()?) {
        Freshness::Fresh => None,
        stale @ (Freshness::Unread | Freshness::Changed) => Some(stale),
    }
}

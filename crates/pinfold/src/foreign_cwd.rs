//! Facts about commands beyond their claims: a command that works in another folder than the
//! session's takes something from there that any program may have put there, and one that names a place outside may do
//! anything with it. A rule for the command is not meant for either.

use std::path::{Path, PathBuf};

use pinfold_commands::{CommandClaim, NamedPlace, NotAllowlistable, PathText, WorkDirUse, WorkFolder};
use pinfold_paths::{LastLink, PathClaim, Place, Resolution, expand_account_home};
use pinfold_policy::{Claims, CommandFact, NamedFact, Operation};

use crate::guarded::{self, CallChanges};
use crate::session::Shared;

/// The facts about each command. `start`: the folder that shells start in.
pub(crate) fn commands(shared: &Shared, start: &Path, claims: &Claims) -> Vec<CommandFact> {
    let is_start_own = start == shared.bounds.scope.root;
    let says_nothing = |claim: &CommandClaim| {
        claim.work_dirs.is_empty()
            && claim.named.is_empty()
            && claim.read_dirs.is_empty()
            && (is_start_own || claim.start_dir_use == WorkDirUse::Nothing)
    };
    if claims.commands.iter().all(says_nothing) {
        return Vec::new();
    }
    claims.commands.iter().map(|claim| command(shared, start, claim)).collect()
}

fn command(shared: &Shared, start: &Path, claim: &CommandClaim) -> CommandFact {
    let mut fact =
        CommandFact { reads_at_home: reads_at_home(shared, start, claim), ..CommandFact::default() };
    fact.not_allowlistable.extend(claim.work_dirs.iter().find_map(|folder| exclusion(shared, start, folder)));
    if claim.start_dir_use != WorkDirUse::Nothing && start != shared.bounds.scope.root {
        let folder = WorkFolder { path: PathText::new(start), takes: claim.start_dir_use };
        fact.not_allowlistable.extend(exclusion(shared, start, &folder));
        fact.starts_elsewhere = has_another_repository(&shared.bounds.scope.root, start);
    }
    for place in &claim.named {
        let resolution = resolve(shared, start, place.path.as_os_str().as_ref());
        fact.named.push(named(start, place, &resolution));
        fact.not_allowlistable.extend(exclusion_for_place(shared, place, &resolution));
    }
    fact
}

/// Returns true if a command that only reads in the person's own repository is led to no other folder. The names are
/// compared as they are written: what a link leads to may change before the command runs.
fn reads_at_home(shared: &Shared, start: &Path, claim: &CommandClaim) -> bool {
    let own = [start, shared.bounds.scope.root.as_path()];
    let is_own = |folder: &Path| folder.is_absolute() && own.contains(&folder);
    !claim.read_dirs.is_empty() && claim.read_dirs.iter().all(|folder| is_own(folder.as_os_str().as_ref()))
}

/// Returns whether git finds another repository from `start`, a folder that a call chooses, than from the root of the session:
/// `start` does not lie below it, or a repository begins between them. What cannot be looked at counts as one.
fn has_another_repository(root: &Path, start: &Path) -> bool {
    let (Ok(root), Ok(start)) = (root.canonicalize(), start.canonicalize()) else { return true };
    let may_be_there = |path: PathBuf| match path.symlink_metadata() {
        Ok(_) => true,
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    };
    let begins = |folder: &Path| {
        may_be_there(folder.join(".git"))
            || ["HEAD", "objects", "refs"].iter().all(|name| may_be_there(folder.join(name)))
    };
    let between = start.ancestors().take_while(|folder| *folder != root);
    !start.starts_with(&root) || between.into_iter().any(begins)
}

/// A path of a command, with the home directory of another account put in.
pub(crate) fn resolve(shared: &Shared, start: &Path, path: &Path) -> Resolution {
    let expanded = expand_account_home(path);
    let claim = PathClaim::new(expanded.as_deref().unwrap_or(path));
    shared.bounds.line.resolve(start, &claim, LastLink::Follow)
}

fn named(start: &Path, place: &NamedPlace, resolution: &Resolution) -> NamedFact {
    let of =
        |place: &Place| NamedFact { asked: place.asked().to_owned(), real: Some(place.real().to_owned()) };
    match resolution {
        Resolution::Contained(place) => of(place),
        Resolution::Outside(place) => of(place),
        Resolution::Unresolved(lost) => {
            let asked = if lost.asked.is_absolute() {
                lost.asked.clone()
            } else {
                start.join(PathBuf::from(place.path.as_os_str()))
            };
            NamedFact { asked, real: lost.leads_to.clone() }
        }
    }
}

/// Why a rule has to name a place that a command names, if it has to.
fn exclusion_for_place(
    shared: &Shared,
    named: &NamedPlace,
    resolution: &Resolution,
) -> Option<NotAllowlistable> {
    let shown = &named.word;
    let guarded = |place: &Place| guarded::find_at(shared, place, Operation::Read, &CallChanges::default());
    let why = match resolution {
        _ if !named.is_path => return None,
        Resolution::Outside(place) => match guarded(place) {
            Some(hit) => format!("`{shown}` names a guarded place: {}", hit.why),
            None if named.reads => return None,
            None => {
                format!("`{shown}` names a place outside the folder, and it is not known what is done there")
            }
        },
        Resolution::Contained(place) => format!("`{shown}` names a guarded place: {}", guarded(place)?.why),
        Resolution::Unresolved(lost) if lost.why == pinfold_paths::Why::ClimbsFromMissing => return None,
        Resolution::Unresolved(lost) => format!("it is not known where `{shown}` leads: {}", lost.why),
    };
    Some(NotAllowlistable { id: "outside-place", why, lifted_by: Some(named.word.clone()) })
}

fn exclusion(shared: &Shared, start: &Path, folder: &WorkFolder) -> Option<NotAllowlistable> {
    if folder.takes == WorkDirUse::Nothing {
        return None;
    }
    let shown = || folder.path.as_os_str().display();
    let why =
        match shared.bounds.line.resolve(start, &PathClaim::new(folder.path.as_os_str()), LastLink::Follow) {
            Resolution::Contained(_) => return None,
            Resolution::Outside(place) => match folder.takes {
                WorkDirUse::Nothing => return None,
                // Reading a repository runs what its settings name, so it counts who can write them.
                WorkDirUse::Repository if !anybody_writes(place.real()) => return None,
                WorkDirUse::Repository => {
                    format!("{} is a place where any user can put a repository", shown())
                }
                WorkDirUse::ChangesRepository => {
                    format!("it changes another repository than this folder's: {}", shown())
                }
                WorkDirUse::ExecutedFiles => format!("it runs what stands in another folder: {}", shown()),
            },
            Resolution::Unresolved(_) => format!("it is not known which folder {} is", shown()),
        };
    Some(NotAllowlistable { id: "other-folder", why, lifted_by: None })
}

/// Places where every program can leave files.
fn anybody_writes(real: &Path) -> bool {
    ["/tmp", "/var/tmp", "/dev/shm"].iter().any(|place| real.starts_with(place))
}

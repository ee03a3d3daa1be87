//! Commands that work in another folder than the session's: what they take from there may have been put there by
//! anybody, so that a rule for the command is not meant for them.

use std::path::Path;

use pinfold_paths::{LastLink, PathClaim, Resolution};
use pinfold_policy::command::{Bar, CommandClaim, FolderUse, WorkFolder};
use pinfold_policy::{Claims, CommandFact};

use crate::session::Shared;

/// What is found about each command. `start`: the folder that shells start in.
pub(crate) fn commands(shared: &Shared, start: &Path, claims: &Claims) -> Vec<CommandFact> {
    if claims.commands.iter().all(|claim| claim.works_in.is_empty()) {
        return Vec::new();
    }
    let bar = |claim: &CommandClaim| claim.works_in.iter().find_map(|folder| barred(shared, start, folder));
    claims.commands.iter().map(|claim| CommandFact { bar: bar(claim) }).collect()
}

fn barred(shared: &Shared, start: &Path, folder: &WorkFolder) -> Option<Bar> {
    if folder.takes == FolderUse::Nothing {
        return None;
    }
    let shown = || folder.path.as_os_str().display();
    let why = match shared.line.resolve(start, &PathClaim::new(folder.path.as_os_str()), LastLink::Follow) {
        Resolution::Contained(_) => return None,
        Resolution::Outside(place) => match folder.takes {
            FolderUse::Nothing => return None,
            // Reading a repository runs what its settings name, so it counts who can write them.
            FolderUse::Repository if !anybody_writes(place.real()) => return None,
            FolderUse::Repository => format!("{} is a place where anybody can put a repository", shown()),
            FolderUse::ChangesRepository => {
                format!("it changes another repository than this folder's: {}", shown())
            }
            FolderUse::Code => format!("it runs what stands in another folder: {}", shown()),
        },
        Resolution::Unresolved(_) => format!("it is not known which folder {} is", shown()),
    };
    Some(Bar { id: "other-folder", why, lifted_by: None })
}

/// Places where every program can leave files.
fn anybody_writes(real: &Path) -> bool {
    ["/tmp", "/var/tmp", "/dev/shm"].iter().any(|place| real.starts_with(place))
}

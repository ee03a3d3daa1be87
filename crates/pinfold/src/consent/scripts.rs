//! Files that a command line names, in the state they are in: a yes to the line is for these as well.
//!
//! Words count as they are written. A file that is named by a variable, a wildcard or through `eval` is not among them.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use pinfold_commands::CommandClaim;
use pinfold_paths::{Kind, Version};

use crate::foreign_cwd;
use crate::judgement::Judgement;
use crate::session::Shared;
use crate::survey::{self, place};

/// The most names that are looked up as files for one call: some hundredths of a second.
const MOST_LOOKUPS: usize = 10_000;

/// The files that a command line names anywhere, in the state they are in: programs by path and scripts among them. Each word counts
/// from every folder that its command may stand in. `None`: there are too many.
pub(super) fn find(shared: &Shared, judged: &Judgement<'_>) -> Option<Vec<(PathBuf, Option<Version>)>> {
    let names = names(&judged.claims.commands)?;
    let start = survey::start_of_commands(shared, judged.submission.cwd.as_ref());
    let file = |name: &Path| {
        let found = foreign_cwd::resolve(shared, &start, name);
        let place = place(&found).filter(|place| matches!(place.kind(), Kind::File { .. }))?;
        Some((place.real().to_owned(), place.version()))
    };
    // A folder that the line makes first is not there yet: `mkdir a; cd a; ../x`.
    let climbs = |name: &Path| name.components().any(|part| part == Component::ParentDir);
    let by_name = |name: &Path| climbs(name).then(|| file(&survey::strip_dots(&start.join(name)))).flatten();
    Some(names.iter().filter_map(|name| file(name).or_else(|| by_name(name))).collect())
}

/// What commands name, from the folder that they start in if it is relative, each once. `None`: more than is looked up.
fn names(commands: &[CommandClaim]) -> Option<BTreeSet<PathBuf>> {
    let mut names = BTreeSet::new();
    for command in commands {
        let inner = command.inner_lines.iter().flat_map(|line| &line.script.commands);
        let inner = inner.flat_map(|command| command.words.iter());
        let words = command.readings.iter().flat_map(|reading| reading.words.iter()).chain(inner);
        let words = words.filter_map(|word| word.as_static());
        let from_start = std::iter::once(Path::new(""));
        let folders = from_start.chain(command.runs_in.iter().map(|folder| Path::new(folder.as_os_str())));
        let folders: Vec<&Path> = folders.collect();
        let by_words = words.flat_map(|word| folders.iter().map(move |folder| folder.join(word)));
        let by_parts = command.named.iter().map(|place| PathBuf::from(place.path.as_os_str()));
        for name in by_words.chain(by_parts) {
            names.insert(name);
            if names.len() > MOST_LOOKUPS {
                return None;
            }
        }
    }
    Some(names)
}

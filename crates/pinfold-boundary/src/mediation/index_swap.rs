//! The index of a repository, and what a split one shares: git replaces it by renaming `index.lock` over it.
//!
//! One with entries that lead out of the working tree does not take its place: git outside would write there.

use std::io::ErrorKind;
use std::path::Path;

use pinfold_sandbox::{Attempt, Detail, Intent};

use super::Why;
use super::swap::{Kind, Swap, read};
use crate::git::config::Config;
use crate::git::index::{Hash, Index, Unfit};

const REPLACED: &str =
    "git writes where the names in it lead: it is only replaced as a whole, by a file beside it";
/// A few million entries.
const MOST: u64 = 1 << 28;
const KIND: Kind = Kind { most: MOST, synced: false, unread: "it cannot be looked at" };

/// Says why a change of an index is refused.
pub(super) fn judge(swap: &mut Swap, attempt: &Attempt) -> Option<Why> {
    let place = attempt.place.as_path();
    match (attempt.intent, &attempt.detail) {
        (Intent::MoveTo, Detail::From(from)) if from.parent() == place.parent() => {
            swap.judge(attempt, from, KIND, |content| {
                judge_content(place, content).err().map(|unfit| unfit.to_string())
            })
        }
        // Without one git takes it that nothing is checked out.
        (Intent::Remove | Intent::Metadata, _) | (Intent::MoveFrom, Detail::To(_)) => None,
        _ => Some(REPLACED.to_owned()),
    }
}

fn judge_content(place: &Path, content: &[u8]) -> Result<(), Unfit> {
    let directory = place.parent().ok_or(Unfit::Malformed)?;
    let hash = hash_of(directory).ok_or(Unfit::Malformed)?;
    let index = Index::parse(content, hash)?;
    if place.ends_with("index") {
        let shared = index.shared().map(|name| at(&directory.join(name), hash)).transpose()?;
        return index.judge(shared);
    }
    // What is shared counts together with the index that says so, should there be one already.
    index.judge(None)?;
    let with = directory.join("index");
    match with.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        _ => {}
    }
    let with = at(&with, hash)?;
    if with.shared().is_some_and(|shared| place.ends_with(shared)) {
        with.judge(Some(Index::parse(content, hash)?))?;
    }
    Ok(())
}

fn at(path: &Path, hash: Hash) -> Result<Index, Unfit> {
    Index::parse(&read(path, MOST).ok_or(Unfit::Malformed)?, hash)
}

/// The hash of a repository with an index in this directory, which may be that of a linked worktree.
fn hash_of(directory: &Path) -> Option<Hash> {
    let is_linked = directory.parent().is_some_and(|parent| parent.ends_with("worktrees"));
    let common = if is_linked { directory.ancestors().nth(2)? } else { directory };
    let config = common.join("config");
    match config.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Some(Hash::Sha1),
        _ => {}
    }
    hash_by(&Config::read(&config).or_else(|_| Config::read_roughly(&config)).ok()?)
}

fn hash_by(config: &Config) -> Option<Hash> {
    Hash::named(config.last("extensions", None, "objectformat"))
}

/// Whether a new configuration leaves an index beside it what it was when it was judged: by another hash it would be read in
/// another way.
pub(super) fn can_be_read_by(config: &Path, new: &Config) -> bool {
    let directory = config.parent().unwrap_or(config);
    let has_index = directory.join("index").symlink_metadata().is_ok();
    !has_index || hash_by(new).is_some_and(|hash| hash_of(directory) == Some(hash))
}

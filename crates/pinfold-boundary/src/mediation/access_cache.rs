//! The directory in which names were changed last, and the names in it of which places speak: of all others the boundary says one and
//! the same, so that it is asked once.
//!
//! It cannot go stale: a boundary never changes, and nothing is asked here but what its list says of the text of a path.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::access_list::{AccessList, PathAccess};
use crate::within::{is_same_text, split};

/// The names in one directory at or beneath which a place of the boundary stands, and the standing of all others.
#[derive(Debug, Default)]
pub(super) struct AccessCache {
    directory: PathBuf,
    /// Names at or beneath which a place stands. `None`: too many, or no directory was looked at.
    named: Option<Vec<OsString>>,
    /// All others can be written.
    are_writable: bool,
}

impl AccessCache {
    /// Returns the [access](AccessList::access) of a place.
    pub(super) fn access<'b>(&mut self, places: &'b AccessList, place: &Path) -> PathAccess<'b> {
        if self.is_plain(places, place) && self.are_writable {
            return PathAccess::Writable;
        }
        places.access(place)
    }

    /// Returns whether something is [held at a place or beneath it](AccessList::holds_beneath).
    pub(super) fn holds_beneath(&mut self, places: &AccessList, place: &Path) -> bool {
        !self.is_plain(places, place) && places.holds_beneath(place)
    }

    /// Returns whether no place stands at a name or beneath it.
    fn is_plain(&mut self, places: &AccessList, place: &Path) -> bool {
        let (Some(directory), Some(name)) = split(place) else { return false };
        if !is_same_text(directory, &self.directory) {
            directory.clone_into(&mut self.directory);
            self.named = places.list_names_in(directory);
            // Any name that no place has is as good as another: a directory is asked about without what pins it alone.
            self.are_writable = places.is_writable_beneath(directory);
        }
        self.named.as_ref().is_some_and(|named| !named.iter().any(|known| known == name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access_list::Hold;

    #[test]
    fn names_are_judged_as_by_the_list_itself() {
        let holds = [Hold::Visible, Hold::Writable, Hold::ReadOnly, Hold::Hidden, Hold::Absent];
        let all = ["/", "/w", "/w/a", "/w/a/b", "/w/a-", "/w/a/b/c", "/w/.git", "/w/.git/hooks", "/x"];
        for anywhere in [false, true] {
            for (one, hold) in all.iter().flat_map(|one| holds.iter().map(move |hold| (one, hold))) {
                for pinned in all {
                    let mut places = AccessList::new(anywhere);
                    places.add("/w".into(), Hold::Writable, "granted");
                    places.add((*one).into(), hold.clone(), "held");
                    places.pin(pinned.into(), "pinned");
                    let mut names = AccessCache::default();
                    // Each after each other, so that what is kept is used.
                    for place in all.iter().flat_map(|first| [first, "/w/a/x", "/w/x", first]).map(Path::new)
                    {
                        assert_eq!(names.access(&places, place), places.access(place), "{place:?}");
                        assert_eq!(
                            names.holds_beneath(&places, place),
                            places.holds_beneath(place),
                            "{place:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn too_many_names_are_not_kept() {
        let mut places = AccessList::new(true);
        for number in 0..100 {
            places.add(format!("/w/{number}").into(), Hold::ReadOnly, "held");
        }
        assert_eq!(places.list_names_in(Path::new("/w")), None);
        let mut names = AccessCache::default();
        assert!(
            names.holds_beneath(&places, Path::new("/w/1"))
                && !names.holds_beneath(&places, Path::new("/w/x"))
        );
    }
}

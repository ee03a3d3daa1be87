//! Links that stood in the folder before a stage: what they lead to has a name more, by which it may run later.

use std::path::{Path, PathBuf};

use super::Look;
use crate::hostile::gits::plain;
use crate::hostile::roles::Role;
use crate::hostile::snapshot::{Content, Snapshot};

/// Links that are followed one after the other.
const MAX_LINKS: usize = 40;

/// A link that stood there before the stage, and stands there behind it.
#[derive(Clone, Debug)]
pub(super) struct OlderLink<'a> {
    name: &'a Path,
    end: PathBuf,
}

impl<'a> OlderLink<'a> {
    /// Finds those that lead somewhere else in the folder.
    pub(super) fn all(look: &Look<'a>) -> Vec<Self> {
        let folder = &look.world.roots.folder;
        let links = look.before.below(folder).filter(|(_, entry)| matches!(entry.content, Content::Link(_)));
        let stays = |name: &Path| look.after.get(name).map(|entry| &entry.content);
        let links = links.filter(|(name, entry)| stays(name) == Some(&entry.content));
        let found = links.map(|(name, _)| Self { name, end: end_of(look.before, name) });
        found.filter(|link| link.end.starts_with(folder) && link.end != link.name).collect()
    }

    /// Returns whether a place runs later by the name that it has through the link.
    pub(super) fn runs_later(&self, look: &Look<'_>, path: &Path) -> bool {
        path.strip_prefix(&self.end).is_ok_and(|below| {
            let name =
                if below.as_os_str().is_empty() { self.name.to_owned() } else { self.name.join(below) };
            look.role(&name) == Role::Reported
        })
    }
}

/// Returns where a name leads through links, as far as it was seen.
pub(super) fn end_of(seen: &Snapshot, name: &Path) -> PathBuf {
    let mut at = name.to_owned();
    for _ in 0..MAX_LINKS {
        let link = at.ancestors().filter(|above| is_link(seen, above)).last();
        let Some(link) = link.map(Path::to_owned) else { break };
        let Some(Content::Link(to)) = seen.get(&link).map(|entry| &entry.content) else { break };
        let below = at.strip_prefix(&link).unwrap_or(Path::new(""));
        let end = plain(&link.parent().unwrap_or(&link).join(to));
        at = if below.as_os_str().is_empty() { end } else { end.join(below) };
    }
    at
}

/// Returns whether a symbolic link stands at a path.
pub(super) fn is_link(seen: &Snapshot, path: &Path) -> bool {
    seen.get(path).is_some_and(|entry| matches!(entry.content, Content::Link(_)))
}

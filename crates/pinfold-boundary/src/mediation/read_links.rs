//! Places that a name leads to which may not be read, as the links are at the moment.
//!
//! A path that begins in such a place has no listed name in it: of `cd ~/.aws; cat credentials` the supervisor sees the directory alone,
//! which has the name that it has behind the link.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pinfold_policy::{Guards, KernelProtection};

use crate::credentials::Home;
use crate::guarded_links::follow;
use crate::within::is_within;

/// Lifetime of what was found.
const MOMENT: Duration = Duration::from_millis(20);

/// Names that may not be read, and where those that are links lead.
#[derive(Debug, Default)]
pub(crate) struct ReadLinks {
    home: Option<PathBuf>,
    /// Below the home.
    at_home: Vec<PathBuf>,
    elsewhere: Vec<PathBuf>,
    found: RefCell<CachedLinks>,
}

#[derive(Debug, Default)]
struct CachedLinks {
    since: Option<Instant>,
    links: Vec<ReadLink>,
}

#[derive(Debug)]
struct ReadLink {
    name: PathBuf,
    end: PathBuf,
}

impl ReadLinks {
    /// The names of these guards that stand at one place.
    pub(crate) fn new(guards: &Guards, home: Option<&Path>) -> Self {
        let counts =
            guards.read_list().iter().filter(|guard| guard.kernel_protection() != KernelProtection::Asked);
        let mut all = Self { home: home.map(Path::to_owned), ..Self::default() };
        for guard in counts {
            match guard.pattern().strip_prefix("~/") {
                Some(below) => all.at_home.push(before_wild(below).to_owned()),
                None if guard.pattern().starts_with('/') => {
                    all.elsewhere.push(before_wild(guard.pattern()).to_owned());
                }
                None => {}
            }
        }
        all
    }

    /// Returns the places that these names lead to.
    pub(crate) fn ends(&self) -> Vec<PathBuf> {
        self.with_links(|links| links.iter().map(|link| link.end.clone()).collect())
    }

    /// Returns whether what lies in a directory has another name by one of the links.
    pub(crate) fn lead_into(&self, directory: &Path) -> bool {
        let leads = |link: &ReadLink| is_within(directory, &link.end) || link.end.parent() == Some(directory);
        self.with_links(|links| links.iter().any(leads))
    }

    /// Returns the names of a place by these links.
    pub(crate) fn names_of(&self, place: &Path) -> Vec<PathBuf> {
        let name = |link: &ReadLink| {
            let below = place.strip_prefix(&link.end).ok()?;
            Some(if below.as_os_str().is_empty() { link.name.clone() } else { link.name.join(below) })
        };
        self.with_links(|links| links.iter().filter_map(name).collect())
    }

    fn with_links<T>(&self, use_links: impl FnOnce(&[ReadLink]) -> T) -> T {
        let mut found = self.found.borrow_mut();
        if found.since.is_none_or(|since| since.elapsed() >= MOMENT) {
            found.links = self.look();
            found.since = Some(Instant::now());
        }
        use_links(&found.links)
    }

    fn look(&self) -> Vec<ReadLink> {
        let mut kinds = NameKinds::default();
        let at_home = self.home.as_ref().map(|home| {
            let listed = Home::new(home.clone());
            // It is free of links itself.
            kinds.0.insert(home.clone(), NameKind::Other);
            let may_hold = move |below: &&PathBuf| below.to_str().is_none_or(|below| listed.may_hold(below));
            self.at_home.iter().filter(may_hold).map(|below| home.join(below))
        });
        let names = at_home.into_iter().flatten().chain(self.elsewhere.iter().cloned());
        let mut links = Vec::new();
        for name in names.filter(|name| !name.as_os_str().is_empty()) {
            if kinds.look(&name) == NameKind::BehindLink {
                let end = follow(&name).end;
                links.push(ReadLink { name, end });
            }
        }
        links
    }
}

/// Kind of a name, links on the way included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameKind {
    /// A link, or behind one.
    BehindLink,
    Missing,
    Other,
}

/// Paths that were looked at: most names share their directories.
#[derive(Debug, Default)]
struct NameKinds(HashMap<PathBuf, NameKind>);

impl NameKinds {
    fn look(&mut self, path: &Path) -> NameKind {
        if let Some(known) = self.0.get(path) {
            return *known;
        }
        let above = path.parent().map_or(NameKind::Other, |above| self.look(above));
        let kind = match above {
            NameKind::BehindLink | NameKind::Missing => above,
            NameKind::Other => match path.symlink_metadata() {
                Ok(found) if found.is_symlink() => NameKind::BehindLink,
                Ok(_) => NameKind::Other,
                Err(_) => NameKind::Missing,
            },
        };
        self.0.insert(path.to_owned(), kind);
        kind
    }
}

/// Returns a pattern as far as it names one place.
fn before_wild(pattern: &str) -> &Path {
    let is_wild = |at: &&Path| at.as_os_str().as_encoded_bytes().contains(&b'*');
    Path::new(pattern).ancestors().find(|at| !is_wild(at)).unwrap_or(Path::new(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_names_a_place_up_to_its_star() {
        for (pattern, place) in [
            (".netrc", ".netrc"),
            (".config/x/*.json", ".config/x"),
            ("/etc/ssl/private", "/etc/ssl/private"),
            ("*", ""),
        ] {
            assert_eq!(before_wild(pattern), Path::new(place), "{pattern}");
        }
    }
}

//! Resolution of a name: every symbolic link on the way, and the place at the end.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::lookup::{Lookup, is_closed_by_user, is_missing};

/// Number of links that the kernel follows.
const MAX_LINKS: usize = 40;

/// The way that a name leads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    /// Each link that is followed, by its real path, in the order in which they are met.
    pub(crate) links: Vec<PathBuf>,
    /// Target of the last one, real as far as it exists. For a loop one of its links.
    pub(crate) end: PathBuf,
    /// A step could not be looked up, and the user could open it again.
    pub(crate) is_closed: bool,
}

/// Follows the links of an absolute path, in every component. What is missing is taken by its name.
pub(crate) fn follow(name: &Path) -> Chain {
    let mut ahead = reversed(name);
    let mut at = PathBuf::from("/");
    let (mut links, mut left, mut is_closed): (Vec<PathBuf>, usize, bool) = (Vec::new(), MAX_LINKS, false);
    while let Some(name) = ahead.pop() {
        if name == OsStr::new("..") {
            at.pop();
            continue;
        }
        at.push(&name);
        let text = match fs::read_link(&at) {
            Ok(text) if left > 0 => text,
            Ok(_) => continue,
            Err(error) => {
                is_closed |= !is_missing(&error) && Lookup::find(&at).is_unknown() && is_closed_by_user(&at);
                continue;
            }
        };
        left -= 1;
        if !links.contains(&at) {
            links.push(at.clone());
        }
        if text.is_absolute() {
            at = PathBuf::from("/");
        } else {
            at.pop();
        }
        ahead.extend(reversed(&text));
    }
    Chain { links, end: at, is_closed }
}

/// The steps of a path, the first one last.
fn reversed(path: &Path) -> Vec<OsString> {
    let step = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    };
    path.components().rev().filter_map(step).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn every_link_on_the_way_is_met_and_a_loop_ends() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        let at = |name: &str| top.join(name);
        fs::create_dir_all(at("config")).unwrap();
        symlink("config", at("link")).unwrap();
        symlink("link/envrc", at(".envrc")).unwrap();
        symlink("b", at("a")).unwrap();
        symlink("a", at("b")).unwrap();
        symlink("a/../link", at("round")).unwrap();
        symlink(at("none/x"), at("nowhere")).unwrap();
        for (name, links, end) in [
            (".envrc", vec![".envrc", "link"], "config/envrc"),
            ("config", vec![], "config"),
            ("nowhere", vec!["nowhere"], "none/x"),
        ] {
            let links: Vec<PathBuf> = links.into_iter().map(at).collect();
            assert_eq!(follow(&at(name)), Chain { links, end: at(end), is_closed: false }, "{name}");
        }
        let looped = follow(&at("a"));
        assert_eq!(looped.links, [at("a"), at("b")]);
        assert!(looped.links.contains(&looped.end), "{looped:?}");
        assert!(follow(&at("round")).links.contains(&at("a")));
    }
}

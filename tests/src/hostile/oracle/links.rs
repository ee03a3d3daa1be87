//! Links that lead git out of its own directory: what it appends to a log or writes as a message would land elsewhere.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Found, Look, Violation};
use crate::hostile::gits::plain;
use crate::hostile::roles::Role;
use crate::hostile::snapshot::{Content, Entry};

pub(super) fn check(look: &Look<'_>, all: &mut Vec<Violation>) {
    symbolic(look, all);
    hard(look, all);
}

/// What programs may write of granted git directories, and that is not as it was.
fn changed_data<'l, 'a: 'l>(look: &'l Look<'a>) -> impl Iterator<Item = (&'a Path, &'a Entry)> {
    let data = look.changes().filter(|change| matches!(look.role(change.path), Role::GitData | Role::Pinned));
    data.filter_map(|change| Some((change.path, change.after?)))
}

fn symbolic(look: &Look<'_>, all: &mut Vec<Violation>) {
    for (path, entry) in changed_data(look) {
        let Content::Link(target) = &entry.content else { continue };
        let Some((git, _)) = look.roles.gits.around(path) else { continue };
        let to = leads_to(path, target);
        let held = matches!(look.role(&to), Role::Held(_) | Role::Config);
        let kind = if !to.starts_with(&git.at) {
            "a link leads out of a git directory"
        } else if held {
            "a link leads git to what is held"
        } else {
            continue;
        };
        all.push(look.violation(Found { kind, path, what: format!("it leads to {}", to.display()) }));
    }
}

/// Where a link leads in the end, whether or not something stands there.
fn leads_to(link: &Path, target: &Path) -> PathBuf {
    let named = link.parent().unwrap_or(link).join(target);
    fs::canonicalize(&named).unwrap_or_else(|_| {
        let parent = named.parent().and_then(|parent| fs::canonicalize(parent).ok());
        let there = parent.zip(named.file_name()).map(|(parent, name)| parent.join(name));
        there.unwrap_or_else(|| plain(&named))
    })
}

fn hard(look: &Look<'_>, all: &mut Vec<Violation>) {
    let mut names: BTreeMap<(u64, u64), Vec<&Path>> = BTreeMap::new();
    let several = |entry: &&Entry| entry.links > 1 && !entry.is_dir();
    for (path, entry) in look.after.entries().filter(|(_, entry)| several(entry)) {
        names.entry(entry.place).or_default().push(path);
    }
    for (path, entry) in changed_data(look).filter(|(_, entry)| several(entry)) {
        let others = names.get(&entry.place).into_iter().flatten();
        let mut others =
            others.filter(|other| matches!(look.role(other), Role::Outside | Role::Held(_) | Role::Config));
        if let Some(other) = others.next() {
            let what = format!("it is another name of {}", other.display());
            all.push(look.violation(Found { kind: "a hard link leads out of a git directory", path, what }));
        }
    }
}

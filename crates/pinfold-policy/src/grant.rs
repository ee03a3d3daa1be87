//! Grants: the calls that an approval covers beyond the one asked about, by pattern, place or folder.
//!
//! Its lifetime is for its keeper to enforce; nothing here knows the time. A grant is about what a call resolves to, so
//! that another name of the same place is covered and the same name of another place is not.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pinfold_commands::Operation;

use crate::pattern::Bases;
use crate::rule::SourcedRule;
use crate::rules::RuleSet;

/// The class of operations that a grant of a place covers. An approval of one does not cover another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Its content is read, or it is listed.
    Read,
    /// Creation, and changes of content or mode.
    Write,
    /// Creation of a symbolic link: leave to change the content is no leave to turn it into another place.
    Link,
    /// Its name goes away.
    Remove,
}

impl Class {
    /// The class in a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Link => "link",
            Self::Remove => "remove",
        }
    }
}

impl From<Operation> for Class {
    fn from(operation: Operation) -> Self {
        match operation {
            Operation::Read | Operation::List | Operation::Search | Operation::CopyFrom => Self::Read,
            Operation::Write
            | Operation::Edit
            | Operation::Patch
            | Operation::Create
            | Operation::MakeDir
            | Operation::MoveTo
            | Operation::CopyTo
            | Operation::HandOver => Self::Write,
            Operation::Link => Self::Link,
            Operation::Delete | Operation::MoveFrom => Self::Remove,
        }
    }
}

/// One standing yes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grant {
    /// The calls that an allow rule of this text would allow. A bare tool stands for its class: `Edit` for all edits inside the
    /// line, `Bash` for all commands.
    Rule(Arc<SourcedRule>),
    /// Commands of well-known programs that start nothing else, reach no other machine, destroy nothing, and write
    /// inside the line only.
    PlainCommands,
    /// This resolved place, and no other.
    Place(PathBuf, Class),
    /// This resolved folder, with everything below it.
    Folder(PathBuf, Class),
    /// Connections of processes to this `host:port`, and no other.
    Host(String),
}

impl std::fmt::Display for Grant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Rule(rule) => write!(f, "{}", rule.rule),
            Self::PlainCommands => f.write_str("plain commands"),
            Self::Place(path, class) => write!(f, "{} {}", class.as_str(), path.display()),
            Self::Folder(path, class) => write!(f, "{} {}/**", class.as_str(), path.display()),
            Self::Host(host) => write!(f, "reach {host}"),
        }
    }
}

/// All grants of a session, compiled.
#[derive(Debug, Clone, Default)]
pub struct Grants {
    rules: RuleSet,
    places: HashMap<(PathBuf, Class), Arc<Grant>>,
    folders: HashMap<(PathBuf, Class), Arc<Grant>>,
    hosts: HashMap<String, Arc<Grant>>,
    plain_commands: bool,
}

impl Grants {
    /// Compiles grants, with the patterns of rules measured from `bases`.
    pub fn compile(grants: impl IntoIterator<Item = Grant>, bases: &Bases) -> Self {
        let grants: Vec<Grant> = grants.into_iter().collect();
        Self::default().and(&grants, bases)
    }

    /// Returns these grants with more.
    #[must_use]
    pub fn and<'a>(&self, more: impl IntoIterator<Item = &'a Grant>, bases: &Bases) -> Self {
        let mut all = self.clone();
        for grant in more {
            match grant {
                Grant::Rule(rule) => all.rules.add(Arc::clone(rule), bases),
                Grant::PlainCommands => all.plain_commands = true,
                Grant::Place(path, class) => {
                    all.places.insert((path.clone(), *class), Arc::new(grant.clone()));
                }
                Grant::Folder(path, class) => {
                    all.folders.insert((path.clone(), *class), Arc::new(grant.clone()));
                }
                Grant::Host(host) => {
                    all.hosts.insert(host.clone(), Arc::new(grant.clone()));
                }
            }
        }
        all
    }

    /// Returns `true` if plain commands are granted.
    pub fn plain_commands(&self) -> bool {
        self.plain_commands
    }

    /// The grant for a host at a port.
    pub fn host(&self, host: &str) -> Option<&Arc<Grant>> {
        self.hosts.get(host)
    }

    /// Returns the grants that are rules.
    pub fn rules(&self) -> &RuleSet {
        &self.rules
    }

    /// The grant that covers a resolved place.
    pub fn place(&self, real: &Path, class: Class) -> Option<&Arc<Grant>> {
        if self.places.is_empty() && self.folders.is_empty() {
            return None;
        }
        let below = |folder: &Path| self.folders.get(&(folder.to_owned(), class));
        self.places.get(&(real.to_owned(), class)).or_else(|| real.ancestors().find_map(below))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_yes_is_for_one_place_and_one_class() {
        let place = Grant::Place("/etc/nginx.conf".into(), Class::Write);
        let folder = Grant::Folder("/srv".into(), Class::Read);
        let grants = Grants::compile([place, folder], &Bases::default());
        let covers = |path: &str, class| grants.place(Path::new(path), class).is_some();
        assert!(covers("/etc/nginx.conf", Class::Write));
        assert!(!covers("/etc/nginx.conf", Class::Read) && !covers("/etc/nginx.conf", Class::Remove));
        assert!(!covers("/etc/nginx.conf/x", Class::Write) && !covers("/etc", Class::Write));
        assert!(covers("/srv", Class::Read) && covers("/srv/a/b", Class::Read));
        assert!(!covers("/srv-2/a", Class::Read) && !covers("/srv/a", Class::Write));
    }
}

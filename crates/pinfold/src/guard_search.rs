//! Guards of places that no name tells, such as what a guarded name leads to: looked for when a call first writes.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use pinfold_policy::{Access, Guards};

use crate::session::SessionBounds;

/// Places of a session in which guarded ones are looked for.
#[derive(Debug)]
#[non_exhaustive]
pub struct GuardSearchArea<'a> {
    /// The folders that may be written and the one they are shown from, resolved. Any of them may be missing, or a file.
    pub folders: Vec<PathBuf>,
    /// The home directory, resolved where it is there.
    pub home: Option<&'a Path>,
    /// The access.
    pub access: Access,
    /// The guards that are known without a look.
    pub guards: &'a Guards,
}

/// A bounded look for guarded places. The gate knows guards by name; where a name leads, and what git is told to run, is in the
/// folders.
pub trait GuardSearch: fmt::Debug + Send + Sync {
    /// Returns the known guards together with those that are found. What cannot be looked at has to be guarded.
    fn search(&self, area: &GuardSearchArea<'_>) -> Guards;
}

/// The guards of a session.
#[derive(Debug)]
pub(crate) struct SearchedGuards {
    named: Guards,
    search: Option<Arc<dyn GuardSearch>>,
    found: OnceLock<Guards>,
}

impl SearchedGuards {
    pub(crate) fn new(named: Guards, search: Option<Arc<dyn GuardSearch>>) -> Self {
        Self { named, search, found: OnceLock::new() }
    }

    /// The guards that are known without a look. For reading no others count.
    pub(crate) fn named(&self) -> &Guards {
        &self.named
    }

    /// Returns whether places were looked for.
    pub(crate) fn is_searched(&self) -> bool {
        self.found.get().is_some()
    }
}

impl SessionBounds {
    /// The guards that count for writing. The first call looks for places.
    pub(crate) fn guards_for_writing(&self) -> &Guards {
        let SearchedGuards { named, search, found } = &self.guards;
        search.as_ref().map_or(named, |search| found.get_or_init(|| search.search(&self.search_area())))
    }

    fn search_area(&self) -> GuardSearchArea<'_> {
        let shown = self.line.display_path();
        // A session without a folder is shown from the root of the file system.
        let shown = Some(shown.to_owned()).filter(|shown| shown.parent().is_some());
        let mut folders: Vec<PathBuf> = self.line.roots().chain(shown).collect();
        let mut seen = HashSet::new();
        folders.retain(|folder| seen.insert(folder.clone()));
        GuardSearchArea { folders, home: self.line.home(), access: self.access, guards: self.guards.named() }
    }
}

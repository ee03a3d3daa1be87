//! The folders of a session, as its records say them.

use std::path::Path;

use pinfold_paths::WritableRoots;
use pinfold_policy::Scope;

use crate::audit::kept_text;

/// The most added folders that a record lists.
const MAX_FOLDERS: usize = 256;

/// The folders of a session, as its lines say them.
#[derive(Debug, Clone)]
pub(crate) struct RecordedFolders {
    pub(crate) folder: String,
    pub(crate) root: Option<String>,
    pub(crate) added: Vec<String>,
}

impl RecordedFolders {
    /// Put into words once, since every decision says it.
    pub(crate) fn new(line: &WritableRoots, scope: &Scope) -> Self {
        let shown = |path: &Path| kept_text(&path.to_string_lossy());
        Self {
            folder: shown(line.display_path()),
            root: (scope.root != scope.display_root).then(|| shown(&scope.root)),
            added: line.roots().skip(1).take(MAX_FOLDERS).map(|root| shown(&root)).collect(),
        }
    }
}

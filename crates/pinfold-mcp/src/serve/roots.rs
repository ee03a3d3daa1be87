//! The roots of a client: they narrow the folder, and never widen it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::service::RequestContext;
use rmcp::{RoleServer, model::ProtocolVersion};
use url::Url;

/// The time limit for `roots/list`.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);

/// The most roots.
const MAX_ROOTS: usize = 64;

/// A client's roots, as far as they are known.
#[derive(Default)]
pub(crate) struct Roots {
    known: Mutex<KnownRoots>,
}

#[derive(Clone, Default)]
enum KnownRoots {
    #[default]
    NotYet,
    Listed(Option<Vec<PathBuf>>),
}

impl Roots {
    /// They have changed: the next call requests them again.
    pub(crate) fn forget(&self) {
        *self.lock() = KnownRoots::NotYet;
    }

    /// The roots of a request's client; `None` when it has none. One that has roots and does not list them when it is asked
    /// leaves nothing, and is asked again for the next call. In the newest revision a server cannot request them.
    pub(crate) async fn get(&self, context: &RequestContext<RoleServer>) -> Option<Vec<PathBuf>> {
        let version = context.protocol_version();
        let has_roots = context.client_capabilities().is_some_and(|can| can.roots.is_some());
        if !has_roots || version.is_none_or(|version| version >= ProtocolVersion::NO_INITIALIZE) {
            return None;
        }
        if let KnownRoots::Listed(said) = self.lock().clone() {
            return said;
        }
        let Some(roots) = list(context).await else { return Some(Vec::new()) };
        // An empty list is that of a client in which no folder is open.
        let roots = (!roots.is_empty()).then_some(roots);
        *self.lock() = KnownRoots::Listed(roots.clone());
        roots
    }

    fn lock(&self) -> MutexGuard<'_, KnownRoots> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Requests them. `None`: an error, or no response in time.
#[expect(deprecated, reason = "older clients have them")]
async fn list(context: &RequestContext<RoleServer>) -> Option<Vec<PathBuf>> {
    let asked = tokio::time::timeout(LIST_TIMEOUT, context.peer.list_roots()).await;
    let roots = asked.ok()?.ok()?.roots;
    let local = |uri: &str| Url::parse(uri).ok().filter(|url| url.scheme() == "file")?.to_file_path().ok();
    Some(roots.iter().take(MAX_ROOTS).map(|root| local(&root.uri).unwrap_or_default()).collect())
}

/// Intersects a folder with roots: `None` for all of it, an empty list for nothing.
pub(crate) fn intersect_with_roots(folder: &Path, roots: &[PathBuf]) -> Option<Vec<PathBuf>> {
    let Ok(folder) = folder.canonicalize() else { return Some(Vec::new()) };
    let roots: Vec<PathBuf> = roots.iter().filter_map(|root| root.canonicalize().ok()).collect();
    if roots.iter().any(|root| folder.starts_with(root)) {
        return None;
    }
    let mut inside: Vec<PathBuf> =
        roots.into_iter().filter(|root| root.starts_with(&folder) && root.is_dir()).collect();
    inside.sort();
    // A root inside another one is included in it.
    inside.dedup_by(|below, above| below.starts_with(&*above));
    Some(inside)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn roots_narrow_and_never_widen() {
        let bed = tempfile::tempdir().unwrap();
        let top = bed.path().canonicalize().unwrap();
        for name in ["ws/a/b", "ws/c", "other"] {
            fs::create_dir_all(top.join(name)).unwrap();
        }
        fs::write(top.join("ws/file"), "").unwrap();
        std::os::unix::fs::symlink(top.join("other"), top.join("ws/link")).unwrap();
        let ws = top.join("ws");
        let left = |roots: &[&str]| {
            let roots: Vec<PathBuf> = roots.iter().map(|root| top.join(root)).collect();
            intersect_with_roots(&ws, &roots).map(|left| {
                left.iter().map(|p| p.strip_prefix(&ws).unwrap().display().to_string()).collect::<Vec<_>>()
            })
        };
        let (all, nothing) = (None, Some(Vec::<String>::new()));
        assert_eq!(left(&["ws"]), all);
        assert_eq!(left(&[""]), all);
        assert_eq!(left(&["ws/.."]), all);
        assert_eq!(left(&["other", "ws"]), all);
        assert_eq!(left(&["ws/a"]), Some(vec!["a".to_owned()]));
        assert_eq!(left(&["ws/c", "ws/a/b", "ws/a"]), Some(vec!["a".to_owned(), "c".to_owned()]));
        assert_eq!(left(&["other"]), nothing);
        assert_eq!(left(&["ws/link"]), nothing, "a link out of the folder is no part of it");
        assert_eq!(left(&["ws/a/../../other"]), nothing);
        assert_eq!(left(&["ws/missing"]), nothing);
        assert_eq!(left(&["ws/file"]), nothing);
    }
}

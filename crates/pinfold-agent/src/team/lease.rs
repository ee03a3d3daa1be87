//! Leases within a run: one writer at a time; a waiting agent is told for which one.
//!
//! Folders overlap when one lies in the other. An agent and those that it started share a folder: the parent gave it to them.
//! No deadlock: each agent takes one lease, before it begins and while it holds none, and a folder that overlaps with one
//! within an agent's own belongs to an ancestor or a descendant of that agent.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The leases of a run.
#[derive(Debug, Default)]
pub(crate) struct Leases {
    held: Mutex<Vec<LeasedFolder>>,
    freed: Condvar,
}

#[derive(Debug)]
struct LeasedFolder {
    folder: PathBuf,
    by: String,
}

/// A folder that is held until this is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    leases: Arc<Leases>,
    by: String,
}

/// Interval at which a waiting agent looks whether the run was stopped meanwhile.
const LOOKS: Duration = Duration::from_millis(100);

impl Leases {
    /// Takes the lease of a folder for `by`, whose ancestors are `above`. Waits while another agent has it: `waits` is
    /// told each who does. `None`: `stopped` said so.
    pub(crate) fn take(
        self: &Arc<Self>,
        folder: &Path,
        by: &str,
        above: &[String],
        mut waits: impl FnMut(&str),
        stopped: impl Fn() -> bool,
    ) -> Option<Lease> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let mut told = String::new();
        loop {
            let overlaps =
                |one: &&LeasedFolder| one.folder.starts_with(folder) || folder.starts_with(&one.folder);
            let strange = |one: &&LeasedFolder| !above.contains(&one.by);
            let Some(holder) = held.iter().filter(overlaps).find(strange).map(|one| one.by.clone()) else {
                held.push(LeasedFolder { folder: folder.to_owned(), by: by.to_owned() });
                return Some(Lease { leases: Arc::clone(self), by: by.to_owned() });
            };
            if holder != told {
                waits(&holder);
                told = holder;
            }
            if stopped() {
                return None;
            }
            held = self.freed.wait_timeout(held, LOOKS).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut held = self.leases.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|one| one.by != self.by);
        self.leases.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(leases: &Arc<Leases>, folder: &str, by: &str, above: &[&str]) -> Result<Lease, String> {
        let above: Vec<String> = above.iter().map(|name| (*name).to_owned()).collect();
        let mut holder = String::new();
        let lease = leases.take(Path::new(folder), by, &above, |by| by.clone_into(&mut holder), || true);
        lease.ok_or(holder)
    }

    #[test]
    fn folders_that_overlap_have_one_writer_and_who_waits_knows_for_whom() {
        let leases = Arc::new(Leases::default());
        let a = free(&leases, "/w/a", "one", &["main"]).unwrap();
        assert_eq!(free(&leases, "/w/a", "two", &["main"]).err().as_deref(), Some("one"));
        assert_eq!(free(&leases, "/w/a/b", "two", &["main"]).err().as_deref(), Some("one"));
        assert_eq!(free(&leases, "/w", "two", &["main"]).err().as_deref(), Some("one"));
        assert!(free(&leases, "/w/ab", "three", &["main"]).is_ok(), "names that begin alike do not overlap");
        let below = free(&leases, "/w/a/b", "four", &["main", "one"]).unwrap();
        drop(a);
        assert_eq!(free(&leases, "/w/a", "two", &["main"]).err().as_deref(), Some("four"));
        drop(below);
        assert!(free(&leases, "/w/a", "two", &["main"]).is_ok());
    }
}

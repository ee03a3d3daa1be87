//! Entries of the permissions screen, and the store behind it.

/// One thing that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionItem {
    /// Number by which the store removes it.
    pub number: usize,
    /// Heading: `rules`, `grants of running sessions`.
    pub section: &'static str,
    /// Effect in one word of at most seven letters: `allow`, `deny`, `grant`.
    pub word: &'static str,
    /// Text: the rule, the folder.
    pub text: String,
    /// Origin: layer, file, line and column; the session and its approver.
    pub from: String,
    /// Notes: how often it decided, how long it lasts, why it does not count.
    pub notes: Vec<String>,
    /// Effect of removing it, in one clause; nothing where it cannot be removed here.
    pub removal: Option<String>,
}

/// A line of an answer: what it is, in one word of at most seven letters, and its text.
pub type LabelledLine = (&'static str, String);

/// A store of the permissions in force, which can change them.
pub trait PermissionStore {
    /// All that holds now.
    ///
    /// # Errors
    /// Why it cannot be told.
    fn items(&mut self) -> Result<Vec<PermissionItem>, String>;

    /// Removes one of them. Returns what was done, in one clause.
    ///
    /// # Errors
    /// Why it stays.
    fn remove(&mut self, item: &PermissionItem) -> Result<String, String>;

    /// Judges a call as a person types it: `git push`, `Write(src/a.rs)`, a path, a host.
    ///
    /// # Errors
    /// Why that cannot be said.
    fn test(&mut self, call: &str) -> Result<Vec<LabelledLine>, String>;
}

//! What is listed, and who knows it.

/// One thing that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionItem {
    /// Which of all; the holder knows by it what to remove.
    pub number: usize,
    /// What kind of thing it is, as a heading: `rules`, `grants of running sessions`.
    pub section: &'static str,
    /// What it does, in one word of at most seven letters: `allow`, `deny`, `grant`.
    pub word: &'static str,
    /// What it says: the rule, the folder.
    pub text: String,
    /// Where it comes from: layer, file, line and column; the session and who gave it.
    pub from: String,
    /// What else is to be known: how often it decided, how long it lasts, why it does not count.
    pub notes: Vec<String>,
    /// What removing it means, in one clause; nothing where it cannot be removed here.
    pub removal: Option<String>,
}

/// A line of an answer: what it is, in one word of at most seven letters, and its text.
pub type LabelledLine = (&'static str, String);

/// Who knows what holds, and can change it.
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

    /// What would be decided about a call, as somebody types it: `git push`, `Write(src/a.rs)`, a path, a host.
    ///
    /// # Errors
    /// Why that cannot be said.
    fn test(&mut self, call: &str) -> Result<Vec<LabelledLine>, String>;
}

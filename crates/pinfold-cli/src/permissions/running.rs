//! What was granted in sessions that run at the moment, and taking it back there.

/// A grant of a running session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grant {
    /// The session.
    pub(crate) session: String,
    /// Its number there.
    pub(crate) number: u64,
    /// What is granted, in words.
    pub(crate) says: String,
    /// Who gave it, how long it lasts, how often it was used: a clause each.
    pub(crate) notes: Vec<String>,
}

/// Whoever knows the sessions that run.
pub(crate) trait Running {
    /// What was granted in all of them.
    fn grants(&self) -> Vec<Grant>;

    /// Takes one back.
    fn revoke(&self, session: &str, number: u64) -> Result<(), String>;
}

/// Sessions cannot be reached from here.
pub(crate) struct Nobody;

impl Running for Nobody {
    fn grants(&self) -> Vec<Grant> {
        Vec::new()
    }

    fn revoke(&self, session: &str, _: u64) -> Result<(), String> {
        Err(format!("the session {session} cannot be reached"))
    }
}

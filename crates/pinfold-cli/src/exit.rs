//! Exit codes. `docs/exit-codes.md` documents the same for users.

use std::process::ExitCode;

use crate::output::warn;

/// Done.
pub(crate) const DONE: u8 = 0;
/// The call was allowed and failed.
pub(crate) const FAILED: u8 = 1;
/// The command line, or the call, was not understood.
pub(crate) const USAGE: u8 = 2;
/// The call was refused.
pub(crate) const REFUSED: u8 = 3;
/// A person would be asked.
pub(crate) const ASKED: u8 = 4;
/// A limit of an agent was over.
pub(crate) const OVER: u8 = 5;
/// A run timed out.
pub(crate) const TIMED_OUT: u8 = 124;
/// The sandbox could not be set up, so that nothing has run, or the sandboxed process was lost.
pub(crate) const NO_SANDBOX: u8 = 125;

/// A message for the person, and the code to end with. Says what was wrong, where, and what to do.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    pub(crate) message: String,
    /// Advice to the user; on a line of its own.
    pub(crate) mend: Option<String>,
}

impl Failure {
    pub(crate) fn new(code: u8, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), mend: None }
    }

    pub(crate) fn mend(mut self, mend: impl Into<String>) -> Self {
        self.mend = Some(mend.into());
        self
    }

    /// The message and what to do about it, in one line.
    pub(crate) fn to_single_line(&self) -> String {
        match &self.mend {
            Some(mend) => format!("{}: {mend}", self.message),
            None => self.message.clone(),
        }
    }

    /// Prints the message on standard error.
    pub(crate) fn print(&self) -> ExitCode {
        warn(&self.message);
        if let Some(mend) = &self.mend {
            warn(format_args!("  {mend}"));
        }
        ExitCode::from(self.code)
    }
}

//! What to start.

use std::ffi::OsString;
use std::os::fd::OwnedFd;

/// A program with its arguments and standard streams. Environment and folder come with the profile.
#[derive(Debug)]
pub struct Command {
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) stdio: [Option<OwnedFd>; 3],
    pub(crate) new_session: bool,
}

impl Command {
    /// A program, looked for as execvp(3) does along the `PATH` of the profile, with the caller's streams.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self { program: program.into(), args: Vec::new(), stdio: [None, None, None], new_session: false }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = OsString>) -> Self {
        self.args.extend(args);
        self
    }

    /// Replaces standard input, output and error; `None` keeps the caller's.
    #[must_use]
    pub fn stdio(mut self, streams: [Option<OwnedFd>; 3]) -> Self {
        self.stdio = streams;
        self
    }

    /// Cuts the command off from the caller's terminal: for commands that run behind a person's back.
    #[must_use]
    pub fn new_session(mut self) -> Self {
        self.new_session = true;
        self
    }
}

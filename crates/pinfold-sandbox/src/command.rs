//! The command to start.

use std::ffi::OsString;
use std::os::fd::OwnedFd;

/// A program with its arguments and standard streams. Environment and folder come with the profile.
#[derive(Debug)]
pub struct Command {
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) stdio: [Option<OwnedFd>; 3],
    pub(crate) new_session: bool,
    pub(crate) terminal: Option<OwnedFd>,
}

impl Command {
    /// A program, looked for as execvp(3) does along the `PATH` of the profile, with the caller's streams.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            stdio: [None, None, None],
            new_session: false,
            terminal: None,
        }
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

    /// Gives the command a terminal of its own, by the side of it that programs use: it leads the foreground of a session
    /// there, as after a login. Which of its streams lead there too is said by [`stdio`](Self::stdio).
    ///
    /// Keys that interrupt and stop are then between the command and this terminal: the holder of the other side passes
    /// them on as bytes. See [`JobControl`](crate::JobControl).
    #[must_use]
    pub fn terminal(mut self, terminal: OwnedFd) -> Self {
        self.terminal = Some(terminal);
        self
    }
}

//! Job control between the terminal of a command and that of the user.

/// A relay between the terminal that a command was given ([`Command::terminal`](crate::Command::terminal)) and that of the
/// supervisor, with the events that only a supervisor notices. Called on the thread of [`RunningSandbox::supervise`](crate::RunningSandbox::supervise).
pub trait JobControl: Send {
    /// The person's terminal has another size.
    fn resized(&mut self);

    /// The command has stopped, and the supervisor is going to: the shell behind it takes the person's terminal back.
    fn stopping(&mut self);

    /// The supervisor goes on, perhaps in the background, and the command will in a moment. May come twice, and without
    /// [`stopping`](Self::stopping) when the supervisor was stopped with `SIGSTOP`.
    fn continued(&mut self);
}

//! Answers that a request offers.

use pinfold::consent::Request;

/// One of the answers that can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answerable {
    /// This once.
    Yes,
    /// All of this kind until the session ends.
    Session,
    /// From now on.
    Always,
    /// No.
    No,
    /// No, and to all else that the process tries.
    NoToProcess,
}

impl Answerable {
    /// The name of this answer in forms and JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::Session => "session",
            Self::Always => "always",
            Self::No => "no",
            Self::NoToProcess => "process",
        }
    }
}

/// Returns the answers that a request offers, in the order in which they are shown. A request that is not shown whole gets no yes.
pub fn offered(request: &Request, is_whole: bool) -> Vec<Answerable> {
    let standing = !request.always_ask;
    let has_session = request.offer.first_beyond_yes() < request.offer.session.len();
    let all = [
        (Answerable::Yes, is_whole),
        (Answerable::Session, is_whole && standing && has_session),
        (Answerable::Always, is_whole && standing && !request.offer.always.is_empty()),
        (Answerable::No, true),
        (Answerable::NoToProcess, is_of_process(request)),
    ];
    all.into_iter().filter(|(_, is_offered)| *is_offered).map(|(option, _)| option).collect()
}

/// Returns `true` if the request is about a process that is still there, so that everything it tries can be refused.
fn is_of_process(request: &Request) -> bool {
    request.asker.process.as_ref().is_some_and(|process| process.pid > 0)
}

/// The answer that is marked before anything is chosen: no, for what cannot be undone or is asked about each time.
/// Otherwise none is.
pub fn default_answer(request: &Request) -> Option<Answerable> {
    (request.destructive || request.always_ask).then_some(Answerable::No)
}

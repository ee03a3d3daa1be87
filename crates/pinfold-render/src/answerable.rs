//! What can be answered to a request.

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
}

/// What can be answered to a request, in the order in which it is shown. What is not shown whole gets no yes.
pub fn offered(request: &Request, is_whole: bool) -> Vec<Answerable> {
    let standing = !request.immune;
    let all = [
        (Answerable::Yes, is_whole),
        (Answerable::Session, is_whole && standing && !request.offer.session.is_empty()),
        (Answerable::Always, is_whole && standing && !request.offer.always.is_empty()),
        (Answerable::No, true),
    ];
    all.into_iter().filter(|(_, is_offered)| *is_offered).map(|(option, _)| option).collect()
}

/// The answer that is marked before anything is chosen: no, for what cannot be undone or is asked about each time.
pub fn at_rest(request: &Request) -> Answerable {
    if request.destructive || request.immune { Answerable::No } else { Answerable::Yes }
}

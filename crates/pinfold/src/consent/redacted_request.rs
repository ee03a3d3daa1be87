//! A request without the secrets in its texts: it goes to screens, sockets and other machines. What is approved stays
//! exact, by its digest.

use std::borrow::Cow;

use pinfold_scrub::Scrubber;

use crate::audit::Secrets;

use super::request::{Asker, Change, GrantOptionsShown, Hunk, Request, RequestedOperation, ScopeShown};

/// The same request with `[REDACTED:kind]` in place of each secret: of those that a text shows by itself, and of those
/// that the call is known to hold.
pub(crate) fn scrubbed(mut request: Request, known: Option<&Secrets>) -> Request {
    let scrubber = Scrubber::default();
    texts(&mut request, &|text| {
        if let Some(Cow::Owned(without)) = known.map(|known| known.taken_out(text)) {
            *text = without;
        }
        let found = scrubber.scrub(text);
        if !found.found.is_empty() {
            *text = found.text.into_owned();
        }
    });
    request
}

/// Every text that an agent or a process wrote.
fn texts(request: &mut Request, scrub: &dyn Fn(&mut String)) {
    let Request { asker, operation, definition, why, offer, .. } = request;
    let Asker { process, .. } = asker;
    if let Some(process) = process {
        scrub(&mut process.command_line);
    }
    match operation {
        RequestedOperation::Command { command, says, .. } => {
            scrub(command);
            says.iter_mut().for_each(scrub);
        }
        RequestedOperation::Change { files } => {
            let hunks = files.iter_mut().flat_map(|Change { hunks, .. }| hunks);
            hunks.for_each(|Hunk { before, after, .. }| {
                scrub(before);
                scrub(after);
            });
        }
        RequestedOperation::Patch { patch } => scrub(patch),
        RequestedOperation::Input { input } => scrub(input),
        RequestedOperation::Paths { acts } => {
            acts.iter_mut().flat_map(|act| &mut act.hunks).for_each(|Hunk { before, after, .. }| {
                scrub(before);
                scrub(after);
            });
        }
    }
    if let Some(Hunk { before, after, .. }) = definition {
        scrub(before);
        scrub(after);
    }
    for why in why {
        scrub(&mut why.part);
    }
    let GrantOptionsShown { session, always, .. } = offer;
    let scopes = session.iter_mut().chain(always.iter_mut().flat_map(|part| {
        scrub(&mut part.part);
        &mut part.scopes
    }));
    scopes.for_each(|ScopeShown { says, also, still_asks }| {
        scrub(says);
        also.iter_mut().chain(still_asks).for_each(scrub);
    });
}

//! Requests to ask with, and words for answers.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(dead_code, reason = "each test takes what it needs")]

use std::time::Duration;

use jiff::Timestamp;
use pinfold::consent::{
    Answer, Asker, By, Choice, OfferShown, PartShown, Request, RequestedOperation, Via, WhyAsked, WidthShown,
};

/// A request that waits so long, with a digest made of its name.
pub(crate) fn request(id: &str, patience: Duration) -> Request {
    let now = Timestamp::now();
    Request {
        v: 1,
        id: id.to_owned(),
        digest: format!("digest of {id}"),
        asked_at: now,
        deadline: now.checked_add(patience).unwrap(),
        asker: Asker {
            session: id.split(':').next().unwrap_or_default().to_owned(),
            agents: vec!["main".to_owned()],
            folder: "/work".to_owned(),
            process: None,
        },
        tool: "Bash".to_owned(),
        operation: RequestedOperation::Command {
            command: "npm publish".to_owned(),
            cwd: "/work".to_owned(),
            background: false,
            says: None,
        },
        definition: None,
        why: vec![WhyAsked {
            part: "npm publish".to_owned(),
            step: "mode-default".to_owned(),
            reason: "a command that nobody allowed".to_owned(),
            rule: None,
            source: None,
        }],
        immune: false,
        destructive: false,
        offer: OfferShown {
            kept: Vec::new(),
            session: vec![width("npm publish"), width("npm *")],
            always: vec![PartShown {
                part: "npm publish".to_owned(),
                widths: vec![width("Bash(npm publish)"), width("Bash(npm publish:*)")],
                usual: 0,
            }],
            files: vec![".pinfold/settings.local.json".to_owned()],
        },
    }
}

fn width(says: &str) -> WidthShown {
    WidthShown { says: says.to_owned(), also: Vec::new(), still_asks: Vec::new() }
}

pub(crate) fn answer(request: &Request, choice: Choice) -> Answer {
    Answer { id: request.id.clone(), digest: request.digest.clone(), choice, by: by() }
}

pub(crate) fn by() -> By {
    By { via: Via::Embedder, who: Some("a test".to_owned()) }
}

pub(crate) fn no() -> Choice {
    Choice::no()
}

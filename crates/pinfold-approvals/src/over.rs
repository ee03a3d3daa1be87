//! What becomes of requests and answers, in data and in words.

use jiff::Timestamp;
use pinfold::consent::{By, Choice, Request, Via};
use serde::{Deserialize, Serialize};

/// The end of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Over {
    /// Which request, by its name.
    pub id: String,
    /// Which request, by what it is about.
    pub digest: String,
    /// When.
    pub at: Timestamp,
    /// What came of it.
    #[serde(flatten)]
    pub how: How,
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "over", rename_all = "kebab-case")]
pub enum How {
    /// Somebody answered.
    Answered {
        /// What.
        answer: Choice,
        /// Who.
        by: By,
    },
    /// Nobody answered in time: no.
    Silence,
    /// It need not be asked any more: something was granted, or settings changed.
    NotAsked,
    /// Nobody is left who could answer: no.
    Nobody,
    /// Whoever asked is gone.
    Gone,
}

/// Why an answer does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
    /// There is no such request.
    #[error("no request `{0}` waits here")]
    Unknown(String),
    /// The request has become another one.
    #[error("the request `{0}` is not the one that was shown: its digest is another")]
    Other(String),
    /// It is over already.
    #[error("the request `{}` is over: {}", .0.id, .0.how.words())]
    Over(Box<Over>),
    /// What was chosen was not offered.
    #[error("the request `{id}` does not offer {what}")]
    NotOffered {
        /// Which request.
        id: String,
        /// What was chosen, in words.
        what: &'static str,
    },
}

impl How {
    /// What came of it, in one clause. Words of others are in it.
    pub fn words(&self) -> String {
        match self {
            Self::Answered { answer, by } => {
                let who = by.who.as_deref().map(|who| format!(" ({who})")).unwrap_or_default();
                format!("{} answered {}{who}", way(by), word(answer))
            }
            Self::Silence => "nobody answered in time".to_owned(),
            Self::NotAsked => "it need not be asked any more".to_owned(),
            Self::Nobody => "nobody was left who could answer".to_owned(),
            Self::Gone => "whoever asked is gone".to_owned(),
        }
    }
}

fn way(by: &By) -> &'static str {
    match by.via {
        Via::Silence => "nobody",
        Via::Terminal => "somebody at the terminal",
        Via::Socket => "somebody at another terminal",
        Via::Web => "somebody on the page",
        Via::Webhook => "the webhook",
        Via::Client => "somebody at the client",
        Via::Hook => "a hook",
        Via::Judge => "the judge",
        Via::Embedder => "the program around it",
        Via::Earlier => "an earlier answer",
    }
}

/// The word for a choice.
pub(crate) fn word(choice: &Choice) -> &'static str {
    match choice {
        Choice::Yes => "yes",
        Choice::Session { .. } => "yes for the session",
        Choice::Always { .. } => "always",
        Choice::No { .. } => "no",
    }
}

/// Something that whoever answered should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// About which request.
    pub id: String,
    /// What, in a sentence.
    pub text: String,
}

/// Whether a choice was offered; what was not, in words.
pub(crate) fn is_offered(request: &Request, choice: &Choice) -> Result<(), &'static str> {
    let offer = &request.offer;
    match choice {
        Choice::Session { .. } | Choice::Always { .. } if request.immune => {
            Err("anything but yes and no: nothing standing can be granted")
        }
        Choice::Session { .. } if offer.session.is_empty() => Err("a yes for the session"),
        Choice::Session { width, .. } if offer.session.get(*width).is_none() => Err("that width"),
        Choice::Always { .. } if offer.always.is_empty() => Err("a rule for good"),
        Choice::Always { widths, .. } => {
            let fits = |(at, width): (usize, &usize)| {
                offer.always.get(at).is_some_and(|part| part.widths.get(*width).is_some())
            };
            if widths.iter().enumerate().all(fits) { Ok(()) } else { Err("that width") }
        }
        Choice::Yes | Choice::No { .. } | Choice::Session { .. } => Ok(()),
    }
}

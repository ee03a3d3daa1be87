//! The resolution of approval requests, as data and as text.

use jiff::Timestamp;
use pinfold::consent::{AnsweredBy, ApprovalChannel, Choice, Request};
use serde::{Deserialize, Serialize};

/// A request that is resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedRequest {
    /// The identifier of the request.
    pub id: String,
    /// The digest of the operation that it was for.
    pub digest: String,
    /// The time of the resolution.
    pub at: Timestamp,
    /// The resolution.
    #[serde(flatten)]
    pub how: RequestResolution,
}

/// The resolution of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "over", rename_all = "kebab-case")]
pub enum RequestResolution {
    /// An approver answered.
    Answered {
        /// The choice.
        answer: Choice,
        /// The approver.
        by: AnsweredBy,
    },
    /// There was no answer before the deadline: denied.
    Silence,
    /// Approval is not needed any more: a grant or changed settings cover it.
    NotAsked,
    /// No approver is left: denied.
    #[serde(alias = "nobody")]
    NoApprover,
    /// The asking process is gone.
    Gone,
}

/// Reason why an answer does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// There is no such request.
    #[error("no request `{0}` is pending here")]
    Unknown(String),
    /// The request is now for another operation.
    #[error("the request `{0}` is for another operation than the one that was shown: the digest differs")]
    OtherDigest(String),
    /// Resolved already.
    #[error("the request `{}` is already resolved: {}", .0.id, .0.how.describe())]
    Resolved(Box<ResolvedRequest>),
    /// The choice was not offered.
    #[error("the request `{id}` does not offer {what}")]
    NotOffered {
        /// The identifier of the request.
        id: String,
        /// The choice, in words.
        what: &'static str,
    },
}

impl RequestResolution {
    /// Describes the resolution in one clause. It can contain text of approvers.
    pub fn describe(&self) -> String {
        match self {
            Self::Answered { answer, by } => {
                let who = by.who.as_deref().map(|who| format!(" ({who})")).unwrap_or_default();
                format!("{} answered {}{who}", channel_name(by), choice_name(answer))
            }
            Self::Silence => "no answer before the deadline".to_owned(),
            Self::NotAsked => "approval is not needed any more".to_owned(),
            Self::NoApprover => "no approver was left".to_owned(),
            Self::Gone => "the asking process is gone".to_owned(),
        }
    }
}

fn channel_name(by: &AnsweredBy) -> &'static str {
    match by.via {
        ApprovalChannel::Silence => "the deadline",
        ApprovalChannel::Terminal => "an approver at the terminal",
        ApprovalChannel::Socket => "an approver at another terminal",
        ApprovalChannel::Web => "an approver on the page",
        ApprovalChannel::Webhook => "the webhook",
        ApprovalChannel::Client => "an approver at the client",
        ApprovalChannel::Hook => "a hook",
        ApprovalChannel::Judge => "the judge",
        ApprovalChannel::Embedder => "the program around it",
        ApprovalChannel::Earlier => "an earlier answer",
    }
}

/// The name of a choice.
pub(crate) fn choice_name(choice: &Choice) -> &'static str {
    match choice {
        Choice::Yes => "yes",
        Choice::Session { .. } => "yes for the session",
        Choice::Always { .. } => "always",
        Choice::No { .. } => "no",
    }
}

/// A message for the approver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApproverNote {
    /// The identifier of the request that it is about.
    pub id: String,
    /// The message.
    pub text: String,
}

/// Checks that a choice was offered; otherwise returns what was not, in words.
pub(crate) fn is_offered(request: &Request, choice: &Choice) -> Result<(), &'static str> {
    let offer = &request.offer;
    match choice {
        Choice::Session { .. } | Choice::Always { .. } if request.always_ask => {
            Err("anything but yes and no: nothing standing can be granted")
        }
        Choice::Session { .. } if offer.session.is_empty() => Err("a yes for the session"),
        Choice::Session { scope, .. } if offer.session.get(*scope).is_none() => Err("that scope"),
        Choice::Always { .. } if offer.always.is_empty() => Err("a rule for good"),
        Choice::Always { scopes, .. } => {
            let fits = |(at, scope): (usize, &usize)| {
                offer.always.get(at).is_some_and(|part| part.scopes.get(*scope).is_some())
            };
            if scopes.iter().enumerate().all(fits) { Ok(()) } else { Err("that scope") }
        }
        Choice::Yes | Choice::No { .. } | Choice::Session { .. } => Ok(()),
    }
}

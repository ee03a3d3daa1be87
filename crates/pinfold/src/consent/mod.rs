//! Consent: requests that are shown to approvers, their answers, and what an answer covers.
//!
//! A [`Question`](crate::Question) is made into a [`Request`]: plain data that can be shown anywhere. An [`Answer`]
//! names the request by its digest, so that a yes is for what was shown and for nothing else: when it is used the world
//! is looked at again, and another digest is another question.

pub mod answer;
pub(crate) mod answer_grants;
pub mod approver;
pub(crate) mod digest;
mod external;
pub(crate) mod grant_lifetime;
pub(crate) mod hook_decisions;
pub mod hooks;
mod redacted_request;
pub mod request;
pub(crate) mod request_of_call;
mod scripts;
pub(crate) mod session_grants;

pub use answer::{Answer, AnsweredBy, ApprovalChannel, Bound, Choice};
pub use approver::{ApprovalOptions, Approver, ApproverResponse};
pub use external::{AskedBy, ExternalDecision};
pub use grant_lifetime::GrantLifetime;
pub use hooks::{
    EventReply, HookCall, HookMoment, Hooks, PermissionRequestReply, PermittedCall, PreToolUseReply, Update,
};
pub use request::{
    Asker, Change, GrantOptionsShown, Hunk, OperationShown, PartShown, ProcessShown, Request,
    RequestedOperation, ScopeShown, WhyAsked,
};
pub use session_grants::SessionGrant;

pub use crate::call_request::{BlockingRunner, Caller};
pub use crate::pipeline::GateResult;

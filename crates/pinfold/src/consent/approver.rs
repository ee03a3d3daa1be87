//! The one port to approvers. The dialogs, sockets and pages behind it are not the gate's.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use super::answer::Answer;
use super::request::Request;
use crate::settings::Locations;

/// An approver, or a set of them.
pub trait Approver: Debug + Send + Sync {
    /// Shows a request and waits: until it is answered, its deadline is over, or it need not be asked any more.
    /// Called by several threads at once.
    ///
    /// `still_asked` says whether the request would still be asked about. It looks at the world, so it is for moments
    /// in which something changed: a grant was given here, settings were written elsewhere.
    fn ask(&self, request: &Request, still_asked: &(dyn Fn() -> bool + Sync)) -> ApproverResponse;

    /// Answers without a person: a judge of routine questions, which is asked before any other approver. `None` leaves
    /// the question to those who can be asked.
    fn judged(&self, request: &Request) -> Option<Answer> {
        let _ = request;
        None
    }

    /// Returns true if a person could answer here. Where none could, and there is only a judge, nothing is held for an
    /// answer that a judge never gives.
    fn reaches_a_person(&self) -> bool {
        true
    }

    /// Something was granted, or what is judged by has changed: what waits may not be asked about any more.
    fn granted(&self) {}

    /// Shows a message to the person that answered, such as that a rule could not be written.
    fn show_message(&self, request: &Request, text: &str) {
        let _ = (request, text);
    }
}

/// The result of asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApproverResponse {
    /// An answer.
    Answer(Answer),
    /// The request need not be asked any more; the call is judged again.
    NotAsked,
    /// No approver could be asked: the reason, in one clause.
    NoApprover(String),
}

/// The way in which a session asks.
#[derive(Debug, Clone)]
pub struct ApprovalOptions {
    /// The approver.
    pub approver: Arc<dyn Approver>,
    /// The longest wait for an answer.
    pub timeout: Duration,
    /// The settings files that lasting rules are written to; without them none are offered.
    pub locations: Option<Locations>,
}

/// The longest wait for an answer where nothing else is set: long enough to come back to the desk.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(10);

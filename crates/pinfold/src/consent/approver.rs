//! The one port through which somebody is asked. What stands behind it (a dialog, a socket, a page) is not the gate's.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use super::answer::Answer;
use super::request::Request;
use crate::settings::Locations;

/// Whoever can be asked.
pub trait Approver: Debug + Send + Sync {
    /// Shows a request and waits: until somebody answered, its deadline is over, or it need not be asked any more.
    /// Called by several threads at once.
    ///
    /// `still_asked` says whether the request would still be asked about. It looks at the world, so it is for moments
    /// in which something changed: a grant was given here, settings were written elsewhere.
    fn ask(&self, request: &Request, still_asked: &(dyn Fn() -> bool + Sync)) -> Heard;

    /// Answers without a person: a judge of routine questions, which is asked before anybody else is. `None` leaves the
    /// question to those who can be asked.
    fn judged(&self, request: &Request) -> Option<Answer> {
        let _ = request;
        None
    }

    /// Whether a person could answer here. Where none could, and only a judge stands, nothing is held for an answer that
    /// a judge never gives.
    fn reaches_a_person(&self) -> bool {
        true
    }

    /// Something was granted, or what is judged by has changed: what waits may not be asked about any more.
    fn granted(&self) {}

    /// Tells whoever answered something that they should know, such as that a rule could not be written.
    fn tell(&self, request: &Request, text: &str) {
        let _ = (request, text);
    }
}

/// What came of asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// Somebody answered.
    Answer(Answer),
    /// It need not be asked any more; the call is judged again.
    NotAsked,
    /// There is nobody to be asked: why, in one clause.
    Nobody(String),
}

/// How a session asks.
#[derive(Debug, Clone)]
pub struct Asking {
    /// Who is asked.
    pub approver: Arc<dyn Approver>,
    /// How long an answer is waited for.
    pub patience: Duration,
    /// Where rules for good are written; without it none are offered.
    pub locations: Option<Locations>,
}

/// How long an answer is waited for where nobody says otherwise: long enough to come back to the desk.
pub const PATIENCE: Duration = Duration::from_mins(10);

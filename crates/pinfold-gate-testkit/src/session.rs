//! Sessions, and what comes of a call in them.

use std::sync::Arc;

use pinfold::audit::{Journal, Memory};
use pinfold::{Ambient, Plan, Question, RawCall, Refusal, Ruling, Session};

/// Opens a session with a journal in memory.
///
/// # Panics
/// When it cannot be opened.
pub fn open(plan: Plan) -> Session {
    open_recorded(plan, Arc::new(Memory::default()))
}

/// Opens a session with this journal.
///
/// # Panics
/// When it cannot be opened.
pub fn open_recorded(plan: Plan, journal: Arc<dyn Journal>) -> Session {
    Session::open(&Ambient::claim(), plan, journal).unwrap_or_else(|failed| panic!("no session: {failed}"))
}

/// The kind of a ruling: `permit`, `question` or `refusal`.
pub fn kind(ruling: &Ruling) -> &'static str {
    match ruling {
        Ruling::Permit(_) => "permit",
        Ruling::Question(_) => "question",
        Ruling::Refusal(_) => "refusal",
    }
}

/// The question that a ruling is.
///
/// # Panics
/// When it is none.
#[track_caller]
pub fn question(ruling: Ruling) -> Question {
    match ruling {
        Ruling::Question(question) => *question,
        Ruling::Permit(_) => panic!("a permit instead of a question"),
        Ruling::Refusal(refusal) => panic!("a refusal instead of a question: {}", refusal.message),
    }
}

/// The refusal that a ruling is.
///
/// # Panics
/// When it is none.
#[track_caller]
pub fn refusal(ruling: Ruling) -> Refusal {
    match ruling {
        Ruling::Refusal(refusal) => *refusal,
        other => panic!("a {} instead of a refusal", kind(&other)),
    }
}

/// Returns true if a call is permitted without a question. The permit is given up.
pub fn is_permitted(session: &Session, raw: &RawCall) -> bool {
    matches!(session.submit(raw), Ruling::Permit(_))
}

/// Returns true if a call is permitted, by a question where it needs one. The permit is given up.
pub fn is_allowed(session: &Session, raw: &RawCall) -> bool {
    session.decide(raw).outcome.is_ok()
}

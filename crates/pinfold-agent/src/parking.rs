//! Deferred questions: without an approver the run ends until there is one.

use std::sync::{Mutex, PoisonError};

use pinfold::consent::{Approver, ApproverResponse, Request};

/// Slot for the question on which a run ends.
#[derive(Debug, Default)]
pub struct Parking {
    left: Mutex<Option<String>>,
}

impl Parking {
    /// Why a person is needed, once: the question that was left.
    pub(crate) fn take(&self) -> Option<String> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Approver for Parking {
    fn ask(&self, request: &Request, _: &(dyn Fn() -> bool + Sync)) -> ApproverResponse {
        let why = request.why.first().map_or_else(|| request.tool.clone(), |why| why.reason.clone());
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
        ApproverResponse::NoApprover("no approver is connected; the run waits for one".to_owned())
    }
}

//! A decision that comes later. Only the connection that it is about waits for it.

use std::sync::mpsc;

use tokio::sync::oneshot;

use crate::policy::{ConnectDecision, ConnectRefusal, EgressViolation};

/// The receiving half: a decision that a connection waits for.
#[derive(Debug)]
pub struct PendingDecision(oneshot::Receiver<Result<Approval, ConnectRefusal>>);

/// The sending half. Dropped without a decision, it denies.
#[derive(Debug)]
pub struct DecisionSender(oneshot::Sender<Result<Approval, ConnectRefusal>>);

/// An approval in the relay's hands, which tells what came of it.
#[derive(Debug)]
pub(crate) struct Approval(mpsc::Sender<EgressViolation>);

/// A connection that was approved, and is being made.
#[derive(Debug)]
pub struct ApprovedConnection(mpsc::Receiver<EgressViolation>);

impl DecisionSender {
    /// A sender, and the [`ConnectDecision::Pending`] that [`EgressPolicy::decide`](crate::EgressPolicy::decide) returns for
    /// it.
    pub fn pending() -> (Self, ConnectDecision) {
        let (sender, receiver) = oneshot::channel();
        (Self(sender), ConnectDecision::Pending(PendingDecision(receiver)))
    }

    /// Returns whether the connection still waits.
    pub fn is_awaited(&self) -> bool {
        !self.0.is_closed()
    }

    /// Allows the connection. One that was closed meanwhile comes to nothing.
    pub fn allow(self) -> ApprovedConnection {
        let (sender, receiver) = mpsc::channel();
        let _ = self.0.send(Ok(Approval(sender)));
        ApprovedConnection(receiver)
    }

    /// Denies the connection. One that was closed meanwhile ignores it.
    pub fn deny(self, refusal: ConnectRefusal) {
        let _ = self.0.send(Err(refusal));
    }
}

impl PendingDecision {
    /// Waits for the decision.
    pub(crate) async fn wait(self) -> Result<Approval, ConnectRefusal> {
        let unanswered =
            || ConnectRefusal { id: String::new(), message: "no approver could be asked".to_owned() };
        self.0.await.unwrap_or_else(|_| Err(unanswered()))
    }
}

impl Approval {
    /// Tells that the connection was refused after all. Dropped without that, it was not.
    pub(crate) fn refused(self, violation: EgressViolation) {
        let _ = self.0.send(violation);
    }
}

impl ApprovedConnection {
    /// Waits until the connection was made, failed, or was given up. Returns why it was refused after all, where it was.
    pub fn refused_after_all(&self) -> Option<EgressViolation> {
        self.0.recv().ok()
    }
}

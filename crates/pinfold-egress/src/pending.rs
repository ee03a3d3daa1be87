//! A decision that comes later. Only the connection that it is about waits for it.

use tokio::sync::oneshot;

use crate::policy::{ConnectDecision, ConnectRefusal};

/// The receiving half: a decision that a connection waits for.
#[derive(Debug)]
pub struct PendingDecision(oneshot::Receiver<Result<(), ConnectRefusal>>);

/// The sending half. Dropped without a decision, it denies.
#[derive(Debug)]
pub struct DecisionSender(oneshot::Sender<Result<(), ConnectRefusal>>);

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

    /// Sends the decision. A connection that was closed meanwhile ignores it.
    pub fn send(self, decision: Result<(), ConnectRefusal>) {
        let _ = self.0.send(decision);
    }
}

impl PendingDecision {
    /// Waits for the decision.
    pub(crate) async fn wait(self) -> Result<(), ConnectRefusal> {
        let unanswered =
            || ConnectRefusal { id: String::new(), message: "no approver could be asked".to_owned() };
        self.0.await.unwrap_or_else(|_| Err(unanswered()))
    }
}

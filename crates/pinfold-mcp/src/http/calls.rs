//! Calls in flight, whose clients are told when the server ends.

use std::sync::Arc;

use tokio::sync::watch;

/// All calls.
#[derive(Clone)]
pub(super) struct CallsInFlight(Arc<watch::Sender<InFlightState>>);

#[derive(Clone, Copy, Default)]
struct InFlightState {
    underway: usize,
    is_over: bool,
}

/// One call.
struct CallInFlight(CallsInFlight);

impl Drop for CallInFlight {
    fn drop(&mut self) {
        self.0.0.send_modify(|now| now.underway -= 1);
    }
}

impl Default for CallsInFlight {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(InFlightState::default())))
    }
}

impl CallsInFlight {
    /// Waits for an answer; `None` where the server ends first.
    pub(super) async fn answer<T>(&self, answer: impl Future<Output = T>) -> Option<T> {
        self.0.send_modify(|now| now.underway += 1);
        let _call = CallInFlight(self.clone());
        let mut now = self.0.subscribe();
        tokio::select! {
            answer = answer => Some(answer),
            _ = now.wait_for(|now| now.is_over) => None,
        }
    }

    /// Ends all calls. Returns whether any was in flight; they have their error then.
    pub(super) async fn end(&self) -> bool {
        self.0.send_modify(|now| now.is_over = true);
        let mut now = self.0.subscribe();
        let waited = now.borrow_and_update().underway > 0;
        // The sender is owned here, so it cannot be dropped.
        let _ = now.wait_for(|now| now.underway == 0).await;
        waited
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test]
    async fn who_waits_hears_of_the_end() {
        let calls = CallsInFlight::default();
        assert_eq!(calls.answer(async { 1 }).await, Some(1));
        let waits = calls.clone();
        let waits = tokio::spawn(async move { waits.answer(pending::<()>()).await });
        tokio::task::yield_now().await;
        assert!(calls.end().await, "somebody waited");
        assert_eq!(waits.await.unwrap(), None);
        assert_eq!(calls.answer(pending::<()>()).await, None, "and who comes later");
        assert!(!calls.end().await);
    }
}

//! Calls that are under way, so that those who wait for them hear of the end.

use std::sync::Arc;

use tokio::sync::watch;

/// All calls.
#[derive(Clone)]
pub(super) struct Calls(Arc<watch::Sender<Now>>);

#[derive(Clone, Copy, Default)]
struct Now {
    underway: usize,
    is_over: bool,
}

/// One of them.
struct Call(Calls);

impl Drop for Call {
    fn drop(&mut self) {
        self.0.0.send_modify(|now| now.underway -= 1);
    }
}

impl Default for Calls {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(Now::default())))
    }
}

impl Calls {
    /// Waits for an answer; none where the end comes before.
    pub(super) async fn answer<T>(&self, answer: impl Future<Output = T>) -> Option<T> {
        self.0.send_modify(|now| now.underway += 1);
        let _call = Call(self.clone());
        let mut now = self.0.subscribe();
        tokio::select! {
            answer = answer => Some(answer),
            _ = now.wait_for(|now| now.is_over) => None,
        }
    }

    /// Answers no more. Whether anybody waited; they have their answer then.
    pub(super) async fn end(&self) -> bool {
        self.0.send_modify(|now| now.is_over = true);
        let mut now = self.0.subscribe();
        let waited = now.borrow_and_update().underway > 0;
        // The sender is ours: it does not go away.
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
        let calls = Calls::default();
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

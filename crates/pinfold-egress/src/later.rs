//! An answer that comes later: the connection waits for it, and nothing else does.

use tokio::sync::oneshot;

use crate::doorkeeper::{No, Opened};

/// What a connection waits for.
#[derive(Debug)]
pub struct Later(oneshot::Receiver<Result<(), No>>);

/// The one answer to a connection that waits. Dropped, it is a no.
#[derive(Debug)]
pub struct Answer(oneshot::Sender<Result<(), No>>);

impl Answer {
    /// An answer to be given, and what [`Doorkeeper::open`](crate::Doorkeeper::open) says meanwhile.
    pub fn later() -> (Self, Opened) {
        let (answer, later) = oneshot::channel();
        (Self(answer), Opened::Later(Later(later)))
    }

    /// Whether the connection still waits for it.
    pub fn is_awaited(&self) -> bool {
        !self.0.is_closed()
    }

    /// Answers. Whoever waited may be gone, and then nothing happens.
    pub fn give(self, answer: Result<(), No>) {
        let _ = self.0.send(answer);
    }
}

impl Later {
    /// Waits.
    pub(crate) async fn wait(self) -> Result<(), No> {
        let nobody = || No { id: String::new(), message: "nobody could be asked".to_owned() };
        self.0.await.unwrap_or_else(|_| Err(nobody()))
    }
}

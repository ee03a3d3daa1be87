//! The interface between the policy of hooks and the process or server that is asked.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use pinfold::policy::Hook;

/// Asks hooks. What stands behind it (processes, a network) is not for those who weigh answers to know.
pub trait Runner: fmt::Debug + Send + Sync {
    /// Asks a hook and waits for its answer, no longer than the hook has time. Called by several threads at once.
    fn ask(&self, hook: &Hook, input: &[u8]) -> HookResult;

    /// Starts a hook without waiting for it. The error is why it could not be started.
    ///
    /// # Errors
    /// Why it could not be started, in one clause.
    fn start(&self, hook: Arc<Hook>, input: Vec<u8>) -> Result<(), String>;
}

/// Result of asking one hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookResult {
    /// A program has ended.
    Ended {
        /// Its exit code; none when a signal ended it.
        code: Option<i32>,
        /// Standard output.
        out: Output,
        /// Standard error.
        err: Output,
    },
    /// An address has answered.
    Answered {
        /// The status.
        status: u16,
        /// The body.
        body: Output,
    },
    /// There was no answer in time.
    Late(Duration),
    /// The hook could not be asked: why, in one clause.
    NotAsked(String),
}

/// Output up to a bound.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    /// The bytes that were kept.
    pub bytes: Vec<u8>,
    /// There was more.
    pub cut: bool,
}

impl Output {
    /// Everything.
    pub fn whole(bytes: impl Into<Vec<u8>>) -> Self {
        Self { bytes: bytes.into(), cut: false }
    }

    /// The text, with what is no text replaced, and nothing around it.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).trim().to_owned()
    }

    /// Keeps what fits below a bound.
    pub(crate) fn take(&mut self, bytes: &[u8], most: usize) {
        let room = most.saturating_sub(self.bytes.len());
        let (kept, rest) = bytes.split_at(room.min(bytes.len()));
        self.bytes.extend_from_slice(kept);
        self.cut |= !rest.is_empty();
    }
}

/// The most that is kept of an answer.
pub(crate) const MAX_ANSWER: usize = 1 << 20;
/// The most that is kept of what is written beside it.
pub(crate) const MAX_ASIDE: usize = 64 << 10;

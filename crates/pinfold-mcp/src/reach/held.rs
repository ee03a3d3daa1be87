//! How much of what a server says is held at one time, over all requests: it may answer many of them at length at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that are held at most.
const MOST: usize = 160 << 20;

/// What is held for everybody.
#[derive(Debug, Clone, Default)]
pub(super) struct Held(Arc<AtomicUsize>);

/// What is held for one request; given back at its end.
#[derive(Debug)]
pub(super) struct Share {
    all: Held,
    mine: usize,
}

impl Held {
    pub(super) fn share(&self) -> Share {
        Share { all: self.clone(), mine: 0 }
    }
}

impl Share {
    /// Notes that so much is held for this one.
    ///
    /// # Errors
    /// When it is too much, with what is held for the others.
    pub(super) fn is_now(&mut self, bytes: usize) -> Result<(), &'static str> {
        let all = &self.all.0;
        if bytes >= self.mine {
            let more = bytes - self.mine;
            if all.fetch_add(more, Ordering::Relaxed) + more > MOST {
                all.fetch_sub(more, Ordering::Relaxed);
                return Err("the server says more at once than fits");
            }
        } else {
            all.fetch_sub(self.mine - bytes, Ordering::Relaxed);
        }
        self.mine = bytes;
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.all.0.fetch_sub(self.mine, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_together_hold_so_much_and_no_more() {
        let held = Held::default();
        let (mut one, mut other) = (held.share(), held.share());
        assert!(one.is_now(MOST - 10).is_ok());
        assert!(other.is_now(11).is_err() && other.is_now(10).is_ok());
        assert!(one.is_now(5).is_ok() && other.is_now(100).is_ok());
        drop((one, other));
        assert_eq!(held.0.load(Ordering::Relaxed), 0);
    }
}

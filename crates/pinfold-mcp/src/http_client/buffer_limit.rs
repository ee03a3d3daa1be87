//! A limit for buffered server data over all requests: a server may answer many at length at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most buffered bytes.
const MAX_BUFFERED_BYTES: usize = 160 << 20;

/// The buffered bytes of all requests.
#[derive(Debug, Clone, Default)]
pub(super) struct BufferLimit(Arc<AtomicUsize>);

/// The share of one request, returned when it is dropped.
#[derive(Debug)]
pub(super) struct BufferShare {
    all: BufferLimit,
    mine: usize,
}

impl BufferLimit {
    pub(super) fn share(&self) -> BufferShare {
        BufferShare { all: self.clone(), mine: 0 }
    }
}

impl BufferShare {
    /// Updates the share of this request.
    ///
    /// # Errors
    /// When the total exceeds the limit.
    pub(super) fn resize(&mut self, bytes: usize) -> Result<(), &'static str> {
        let all = &self.all.0;
        if bytes >= self.mine {
            let more = bytes - self.mine;
            if all.fetch_add(more, Ordering::Relaxed) + more > MAX_BUFFERED_BYTES {
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

impl Drop for BufferShare {
    fn drop(&mut self) {
        self.all.0.fetch_sub(self.mine, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_together_hold_so_much_and_no_more() {
        let held = BufferLimit::default();
        let (mut one, mut other) = (held.share(), held.share());
        assert!(one.resize(MAX_BUFFERED_BYTES - 10).is_ok());
        assert!(other.resize(11).is_err() && other.resize(10).is_ok());
        assert!(one.resize(5).is_ok() && other.resize(100).is_ok());
        drop((one, other));
        assert_eq!(held.0.load(Ordering::Relaxed), 0);
    }
}

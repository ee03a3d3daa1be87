//! One thread swaps what another acts on.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::Bed;

/// Attempts for each deed and strategy: enough to meet the swap in every step, short enough to run always.
pub const ROUNDS: usize = 250;

/// Runs `swap` in a thread while `attempt` is made `ROUNDS` times; counts how often it was inside.
pub fn race(bed: &Bed, swap: impl Fn(&Bed) + Sync, mut attempt: impl FnMut() -> bool) -> usize {
    let over = AtomicBool::new(false);
    let swaps = AtomicUsize::new(0);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                swap(bed);
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        // Also when an attempt panics: the swapping thread must end for the test to fail.
        let _ends = Ends(&over);
        let hits = (0..ROUNDS).filter(|_| attempt()).count();
        // On one busy core the swapping thread may not have had its turn yet.
        while swaps.load(Ordering::Relaxed) < 10 {
            attempt();
        }
        hits
    })
}

struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Lets two names change places, without a moment at which nothing stands there.
pub fn exchange(bed: &Bed, one: &str, other: &str) {
    let (one, other) = (bed.path(one), bed.path(other));
    let flags = rustix::fs::RenameFlags::EXCHANGE;
    let _ = rustix::fs::renameat_with(rustix::fs::CWD, &one, rustix::fs::CWD, &other, flags);
}

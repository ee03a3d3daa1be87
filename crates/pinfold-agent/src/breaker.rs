//! Stops an unattended run after repeated denials, rather than letting a model probe.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::model::CallOutcome;

/// Denials in a row after which an unattended agent is stopped.
pub const IN_A_ROW: u32 = 3;

/// Denials in all after which an unattended run is stopped.
pub const IN_ALL: u32 = 20;

/// Counts the denials of one agent in a row, and those of the whole run.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    in_a_row: u32,
}

impl Breaker {
    /// One more call has ended. `Some`: it was one denial too many, in words.
    pub(crate) fn ended(&mut self, how: &CallOutcome, in_all: &AtomicU32) -> Option<String> {
        match how {
            CallOutcome::Allowed => {
                self.in_a_row = 0;
                None
            }
            // A call that was let through and failed says nothing about what the agent may.
            CallOutcome::Failed { .. } => None,
            CallOutcome::Denied { .. } => {
                self.in_a_row += 1;
                let all = in_all.fetch_add(1, Ordering::Relaxed).saturating_add(1);
                if self.in_a_row >= IN_A_ROW {
                    return Some(format!("{IN_A_ROW} calls in a row were denied"));
                }
                (all >= IN_ALL).then(|| format!("{IN_ALL} calls of this run were denied"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(calls: &str) -> Option<usize> {
        let (mut breaker, in_all) = (Breaker::default(), AtomicU32::new(0));
        calls.chars().position(|call| {
            let how = match call {
                'd' => CallOutcome::Denied { code: String::new(), why: String::new() },
                'f' => CallOutcome::Failed { why: String::new() },
                _ => CallOutcome::Allowed,
            };
            breaker.ended(&how, &in_all).is_some()
        })
    }

    #[test]
    fn three_in_a_row_or_twenty_in_all_are_too_many() {
        for (calls, stops_at) in [
            ("ddd", Some(2)),
            ("ddadda", None),
            ("dfdfd", Some(4)),
            (&*"da".repeat(19), None),
            (&*"da".repeat(20), Some(38)),
            ("", None),
        ] {
            assert_eq!(ended(calls), stops_at, "{calls}");
        }
    }
}

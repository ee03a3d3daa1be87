//! The first line from a moment on, searched from the end of a record.

use std::io;

use jiff::Timestamp;
use serde::Deserialize;

use super::backwards::Backwards;

/// Older lines in a row behind which no newer one is expected.
///
/// A line gets its time before its place in the file, so that those of several processes stand out of order by a few.
/// A clock that is set back puts more of them out of order; those beyond this number are not found.
const OLDER_IN_A_ROW: u32 = 1000;

/// The search for the first line from a moment on, over the files of a record, the newest file first.
pub(super) struct TimeSearch {
    since: Timestamp,
    /// Lines in a row, from the end, that are older.
    older: u32,
}

/// The time of a line; nothing else of it is read.
#[derive(Deserialize)]
struct Time {
    at: Option<Timestamp>,
}

impl TimeSearch {
    pub(super) fn new(since: Timestamp) -> Self {
        Self { since, older: 0 }
    }

    /// Returns where the first line from the moment on begins in a file, or where its whole lines end if there is none. Lines
    /// without a time that can be read are on the side of those around them.
    pub(super) fn first_line(&mut self, lines: &mut Backwards<'_>) -> io::Result<u64> {
        let mut first = lines.end();
        while self.older < OLDER_IN_A_ROW {
            let Some((start, line)) = lines.previous()? else { break };
            match line.as_deref().and_then(time) {
                Some(at) if at >= self.since => {
                    first = start;
                    self.older = 0;
                }
                Some(_) => self.older += 1,
                None => {}
            }
        }
        Ok(first)
    }
}

fn time(line: &[u8]) -> Option<Timestamp> {
    serde_json::from_slice::<Time>(line).ok()?.at
}

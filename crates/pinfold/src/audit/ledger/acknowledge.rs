//! Acknowledgement of the breaks of a chain: a note for each, so that verification tells it from later ones.

use std::io;

use super::{Ledger, note, opened};
use crate::audit::event::{ACKNOWLEDGED, NoteEvent};
use crate::audit::scrubbed_input::kept_text;
use crate::audit::verify::{ChainBreak, Evidence, verify};

/// Reason why the breaks of a chain cannot be acknowledged.
#[derive(Debug, thiserror::Error)]
pub enum CannotAcknowledge {
    /// There are more than are listed: these files are no record any more.
    #[error("the chain has more breaks than are listed one by one")]
    TooMany,
    /// The record cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Ledger {
    /// Acknowledges each break of the chain that is there now and was not acknowledged before, by a note that holds the
    /// hash of the last line before the break and that of all that stands there: where any of it is changed later, the note
    /// speaks of it no more. Returns the breaks; verification goes on listing them.
    ///
    /// # Errors
    /// When there are too many, or the record cannot be read or written.
    pub fn acknowledge(&self, reason: Option<&str>) -> Result<Vec<ChainBreak>, CannotAcknowledge> {
        // Damage at the end gets its note first, as before any other line.
        self.put(Vec::new())?;
        let found = verify(&opened(&self.directory)?, None)?;
        if found.omitted_breaks > 0 {
            return Err(CannotAcknowledge::TooMany);
        }
        let mut breaks = found.breaks;
        breaks.retain(|found| found.acknowledged_by.is_none() && found.evidence.is_some());
        let reason = reason.map(kept_text);
        let notes = breaks.iter().filter_map(|found| found.evidence.as_ref());
        let notes = notes.map(|evidence| note(acknowledgement(evidence, reason.clone())));
        let notes: Vec<Vec<u8>> = notes.collect::<io::Result<_>>()?;
        if !notes.is_empty() {
            self.put(notes)?;
        }
        Ok(breaks)
    }
}

fn acknowledgement(evidence: &Evidence, reason: Option<String>) -> NoteEvent {
    NoteEvent {
        note: ACKNOWLEDGED.into(),
        bytes: evidence.bytes,
        after: Some(evidence.after.to_string()),
        found: Some(evidence.found.to_string()),
        reason,
    }
}

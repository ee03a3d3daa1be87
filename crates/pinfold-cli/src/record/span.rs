//! Beginning and end of a session of an agent in the audit log, as those of runs.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pinfold::Session;
use pinfold::audit::{AuditEvent, EndEvent, Journal, Record, StartEvent, kept_text};

use super::MEND;
use crate::exit::{FAILED, Failure};
use crate::output::warn;

/// The longest reason that is kept of those that agents give.
const MAX_REASON_LEN: usize = 80;

/// A session that was recorded to have begun. That it ends is recorded when this is dropped; when the process is killed
/// that is not in the record.
pub(crate) struct SessionSpan {
    journal: Arc<dyn Journal>,
    session: Arc<str>,
    began: Instant,
}

impl SessionSpan {
    /// Records the beginning; without that there is no session.
    pub(crate) fn begin(
        journal: Arc<dyn Journal>,
        session: &Session,
        program: &str,
    ) -> Result<Self, Failure> {
        let (session, folder) = (Arc::from(session.id()), &session.scope().root);
        begins(&*journal, &session, program, folder, std::process::id()).map_err(|e| {
            Failure::new(FAILED, format!("that a session begins cannot be recorded: {e}")).mend(MEND)
        })?;
        Ok(Self { journal, session, began: Instant::now() })
    }
}

impl Drop for SessionSpan {
    fn drop(&mut self) {
        if let Err(error) = ends(&*self.journal, &self.session, None, Some(self.began.elapsed())) {
            warn(format_args!("that a session ended could not be recorded: {error}"));
        }
    }
}

/// Records that a session begins, for an agent or a command of this name.
pub(crate) fn begins(
    journal: &dyn Journal,
    session: &Arc<str>,
    program: &str,
    folder: &Path,
    pid: u32,
) -> io::Result<()> {
    let told = StartEvent {
        program: program.to_owned(),
        folder: folder.to_string_lossy().into_owned(),
        tier: "none".into(),
        pid,
        ..StartEvent::default()
    };
    append(journal, session, AuditEvent::Start(Box::new(told)))
}

/// Records that a session ends; why, in the words of its agent, and after how long, where that is known.
pub(crate) fn ends(
    journal: &dyn Journal,
    session: &Arc<str>,
    reason: Option<&str>,
    took: Option<Duration>,
) -> io::Result<()> {
    let reason = reason.map(|reason| kept_text(&reason.chars().take(MAX_REASON_LEN).collect::<String>()));
    let ms = took.map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
    let told = EndEvent { end: "closed".into(), reason, ms, ..EndEvent::default() };
    append(journal, session, AuditEvent::End(Box::new(told)))
}

fn append(journal: &dyn Journal, session: &Arc<str>, kind: AuditEvent) -> io::Result<()> {
    journal.append(&Record::for_session(session, &Arc::from("main"), kind))
}

//! Refusals of an egress proxy, each different one once.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pinfold_egress::ConnectRefusal;
use pinfold_host::HostRule;
use pinfold_policy::source::Located;
use pinfold_sandbox::UNSEEN_PROGRAM;

use super::program::ConnectingProcess;
use crate::outcome::{MAX_REMEMBERED, Refused};

/// Advice to the process inside.
const INSTEAD: &str = "do without it, and tell the user which host is needed and for what";

/// Verb of a connection in reports.
pub(super) const REACH: &str = "reach";

/// Remembers refusals.
#[derive(Debug)]
pub(super) struct Refusals {
    /// The first process inside.
    init: i32,
    /// Prefix of the names of refusals.
    names: Option<String>,
    log: Mutex<RefusalLog>,
}

#[derive(Debug, Default)]
struct RefusalLog {
    refused: BTreeMap<Key, Refused>,
    more: u64,
}

/// Attempt, place and reason of a refusal.
type Key = (&'static str, String, Cow<'static, str>);

/// A refusal in the making.
pub(super) struct PendingRefusal {
    pub(super) why: Cow<'static, str>,
    pub(super) rule: Option<Located<HostRule>>,
    pub(super) to_allow: Cow<'static, str>,
}

impl Refusals {
    pub(super) fn new(init: i32, names: Option<String>) -> Self {
        Self { init, names, log: Mutex::default() }
    }

    /// Adds what was refused to what else was.
    pub(super) fn append_refused(&self, refused: &mut Vec<Refused>, more: &mut u64) {
        let log = self.lock();
        refused.extend(log.refused.values().cloned());
        *more += log.more;
    }

    fn lock(&self) -> MutexGuard<'_, RefusalLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds to those that are not in the list.
    pub(super) fn more(&self, count: u64) {
        self.lock().more += count;
    }

    /// Returns whether no further one is remembered; then it is counted.
    fn is_full(&self) -> bool {
        let mut log = self.lock();
        let is_full = log.refused.len() >= MAX_REMEMBERED;
        log.more += u64::from(is_full);
        is_full
    }

    /// Remembers a refusal.
    pub(super) fn refuse(
        &self,
        tried: &'static str,
        place: String,
        no: PendingRefusal,
        who: Option<ConnectingProcess<'_>>,
    ) -> ConnectRefusal {
        let PendingRefusal { why, rule, to_allow } = no;
        let known = |log: &mut RefusalLog, key: &Key| {
            let refused = log.refused.get_mut(key)?;
            refused.times += 1;
            Some(refused.id.clone().unwrap_or_default())
        };
        let message = message(&place, &why, rule.as_ref());
        let key = (tried, place, why);
        if let Some(id) = known(&mut self.lock(), &key) {
            return ConnectRefusal { id, message };
        }
        if self.is_full() {
            return ConnectRefusal { id: String::new(), message };
        }
        // Looked for without the lock, and once only.
        let program = who.map(|who| who.program(self.init));
        let mut log = self.lock();
        let id = self.names.as_ref().map(|names| format!("{names}{}", log.refused.len() + 1));
        let (tried, place, why) = &key;
        let refused = Refused {
            id: id.clone(),
            tried,
            place: PathBuf::from(place),
            program: program.unwrap_or_else(|| UNSEEN_PROGRAM.to_owned()),
            times: 1,
            why: why.clone().into_owned(),
            rule: rule.as_ref().map(|rule| rule.value.to_string()),
            source: rule.as_ref().map(|rule| rule.source.to_string()),
            instead: INSTEAD,
            to_allow,
        };
        log.refused.insert(key, refused);
        ConnectRefusal { id: id.unwrap_or_default(), message }
    }
}

/// Returns the message for processes inside, which never says how the boundary is widened.
pub(super) fn message(place: &str, why: &str, rule: Option<&Located<HostRule>>) -> String {
    let rule = rule.map(|rule| format!(" (`{}`, {})", rule.value, rule.source)).unwrap_or_default();
    format!("{place} is not reached: {why}{rule}; {INSTEAD}")
}

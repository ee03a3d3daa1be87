//! The audit events of a run: that it began, each different thing that was refused to it, and how it ended.
//!
//! One write before the command starts and one after it has ended: it stands before every command of an agent. What
//! processes were asked about in between is recorded as the calls that they are.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use pinfold::Ambient;
use pinfold::audit::{
    AuditEvent, Discard, EndEvent, Hash, Journal, Ledger, Limits, Record, RefusalEvent, StartEvent, kept_text,
};
use pinfold_boundary::{RunReport, RunResult, SandboxRequest};
use pinfold_sandbox::End;
use pinfold_tools::{denial, quoted, recorded_hosts};

use crate::args::RunArgs;
use crate::env;
use crate::exit::{Failure, NO_SANDBOX};
use crate::output::warn;
use crate::record;

/// The record of one run.
pub(super) struct RunRecord {
    journal: Arc<dyn Journal>,
    is_kept: bool,
    session: Arc<str>,
    started: Instant,
    /// The whole command, where the start does not say it.
    unsaid: Option<String>,
}

impl RunRecord {
    /// Prepares the events of a run. No file is opened yet.
    pub(super) fn new(run: &RunArgs, limits: Limits) -> Result<Self, Failure> {
        // Inside another run nothing can be written where the record is; the outer one has its own.
        let is_kept = !run.no_record && !env::is_inside_another();
        let journal: Arc<dyn Journal> = if is_kept {
            Arc::new(Ledger::with_limits(&Ambient::claim(), record::directory()?, limits))
        } else {
            Arc::new(Discard)
        };
        let session = record::session("run")?.into();
        Ok(Self { journal, is_kept, session, started: Instant::now(), unsaid: None })
    }

    /// Returns the journal of the decisions about its processes.
    pub(super) fn journal(&self) -> Arc<dyn Journal> {
        Arc::clone(&self.journal)
    }

    /// Returns the directory of the log, which is hidden from the run.
    pub(super) fn place(&self) -> Option<PathBuf> {
        record::place().filter(|_| self.is_kept)
    }

    /// Returns the prefix of the names of network refusals.
    pub(super) fn refusal_names(&self) -> Option<String> {
        self.name().map(|run| format!("{run}:n"))
    }

    /// The name of the run, where it is in the record.
    fn name(&self) -> Option<&str> {
        self.is_kept.then_some(&*self.session)
    }

    /// The name of the run.
    pub(super) fn session(&self) -> &str {
        &self.session
    }

    /// Records that the run begins. `request`: `None` where the sandbox is off.
    ///
    /// # Errors
    /// When nothing can be recorded: the command must not start then.
    pub(super) fn start(
        &mut self,
        run: &RunArgs,
        folder: &Path,
        request: Option<&SandboxRequest>,
    ) -> Result<(), Failure> {
        let tier = match request {
            None => "off",
            Some(_) if run.landlock_only || env::is_inside_another() => "landlock",
            Some(_) => "full",
        };
        let words: Vec<_> = run.command.iter().map(|word| word.to_string_lossy()).collect();
        let command = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        let is_plain = is_plain(words.iter().map(AsRef::as_ref));
        let told = StartEvent {
            program: words.first().filter(|word| is_plain_word(word)).map_or("…", AsRef::as_ref).to_owned(),
            command: is_plain.then(|| command.clone()),
            folder: folder.to_string_lossy().into_owned(),
            tier: tier.into(),
            pid: std::process::id(),
            policy: request.and_then(digest),
        };
        self.unsaid = (!is_plain).then_some(command);
        self.started = Instant::now();
        self.append(&[AuditEvent::Start(Box::new(told))])
            .map_err(|e| Failure::new(NO_SANDBOX, format!("nothing can be recorded: {e}")).mend(record::MEND))
    }

    /// Records that it could not be started after all.
    pub(super) fn not_started(&self) {
        let told = EndEvent {
            end: "not-started".into(),
            command: self.unsaid(),
            ms: Some(self.took()),
            ..EndEvent::default()
        };
        self.record(&[AuditEvent::End(Box::new(told))]);
    }

    /// Records how it ended. `limits`: those that were reached, in words. Returns the name of the run, where it is recorded.
    pub(super) fn end(self, result: &RunResult, limits: Option<&str>) -> Option<String> {
        let RunResult { tried, .. } = result;
        let (end, exit) = match &result.ended {
            Ok(End::Code(code)) => ("code", Some(*code)),
            Ok(End::TimedOut) => ("time", None),
            Err(_) => ("lost", None),
        };
        let told = EndEvent {
            end: end.into(),
            reason: limits.map(kept_text),
            command: self.unsaid(),
            tier: Some(result.tier.to_string()),
            watched: result.watched,
            exit,
            ms: Some(self.took()),
            refused: tried.refused.len() as u64 + tried.omitted_count,
            omitted_count: tried.omitted_count,
            leftovers: left(&result.left),
            hosts: recorded_hosts(&result.hosts),
            more_hosts: result.hosts.more(),
        };
        let named =
            (1..).zip(&tried.refused).map(|(n, refused)| denial(format!("{}:k{n}", self.session), refused));
        let mut kinds: Vec<AuditEvent> =
            named.map(|denial| AuditEvent::Refusal(Box::new(RefusalEvent { denial }))).collect();
        kinds.push(AuditEvent::End(Box::new(told)));
        self.record(&kinds);
        self.name().map(str::to_owned)
    }

    fn unsaid(&self) -> Option<String> {
        self.unsaid.as_deref().map(kept_text)
    }

    fn took(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Records what has happened. A failure can only be reported.
    fn record(&self, kinds: &[AuditEvent]) {
        if let Err(error) = self.append(kinds) {
            warn(format_args!("how it ended could not be recorded: {error}"));
        }
    }

    fn append(&self, kinds: &[AuditEvent]) -> io::Result<()> {
        let main: Arc<str> = Arc::from("main");
        let record = |kind: &AuditEvent| Record::for_session(&self.session, &main, kind.clone());
        self.journal.append_all(&kinds.iter().map(record).collect::<Vec<_>>())
    }
}

/// Returns the digest of what was granted. Two runs with the same one were granted the same.
fn digest(request: &SandboxRequest) -> Option<String> {
    let form = serde_json::to_vec(&request.granted()).ok()?;
    Some(Hash::digest(&form).to_string())
}

/// Returns the leftovers that the user should look at.
fn left(report: &RunReport) -> Vec<String> {
    const MAX_LISTED: usize = 256;
    let paths = report.new_repositories.iter().chain(&report.changed_autorun).chain(&report.unfinished);
    paths.take(MAX_LISTED).map(|path| kept_text(&path.to_string_lossy())).collect()
}

/// Returns whether a command holds nothing that could be a secret. Looking for secrets costs more than a start should; what
/// is not plain is looked through when the command has ended.
fn is_plain<'a>(words: impl Iterator<Item = &'a str>) -> bool {
    let mut after_option = false;
    for word in words {
        if !is_plain_word(word) || (after_option && !word.bytes().all(|b| b.is_ascii_digit())) {
            return false;
        }
        after_option = takes_a_secret(word);
    }
    true
}

/// A short option could take anything, and so could one with such a name.
fn takes_a_secret(word: &str) -> bool {
    let Some(option) = word.strip_prefix('-') else { return false };
    let Some(long) = option.strip_prefix('-') else { return true };
    ["pass", "pw", "secret", "token", "key", "auth", "cred", "user", "header"]
        .iter()
        .any(|name| long.contains(name))
}

/// Neither long nor strange in any part.
fn is_plain_word(word: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._/+-,".contains(&b);
    let random = |part: &str| {
        let has = |of: fn(&u8) -> bool| part.as_bytes().iter().any(of);
        let (upper, lower, digit) =
            (has(u8::is_ascii_uppercase), has(u8::is_ascii_lowercase), has(u8::is_ascii_digit));
        let longest = match (upper, lower, digit) {
            (true, true, _) | (true, _, true) => 8,
            (true, false, false) | (false, true, true) => 12,
            (false, true, false) | (false, false, _) => 20,
        };
        part.len() > longest
    };
    word.bytes().all(plain) && word.len() <= 200 && !word.split('/').any(random)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_could_hold_a_secret_is_not_plain() {
        for (command, expected) in [
            ("npm test", true),
            ("cargo build --release", true),
            ("make -j 4", true),
            ("/home/user/work/project/script.sh --quick", true),
            ("sh -c true", false),
            ("mysql -p hunter2", false),
            ("mysql --password hunter2", false),
            ("curl --user-agent x", false),
            ("env A=b x", false),
            ("curl https://u:p@example.org", false),
            ("x AKIAABCDEFGHIJKLMNOP", false),
            ("x ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8", false),
            ("x AbCd1234EfGh", false),
            ("x wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", false),
        ] {
            assert_eq!(is_plain(command.split(' ')), expected, "{command}");
        }
        assert!(!is_plain(["sh", "a b"].into_iter()) && !is_plain(["ä"].into_iter()));
    }
}

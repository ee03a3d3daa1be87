//! Names of calls, kernel refusals and runs, looked up in the record.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::ops::ControlFlow;

use jiff::Timestamp;

use super::{AuditLine, Calls, LogReader, Read, RecordedCall};
use crate::audit::event::{AuditEvent, EndEvent, NotWrittenEvent, OutcomeEvent, Ruled, StartEvent};
use crate::denial::Denial;

/// A name, taken apart. The name of the session can be shortened as long as it fits one alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordName {
    session: String,
    of: NamedPart,
}

/// The part of the session that a name means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NamedPart {
    /// `SESSION`: a run, or a session of an agent.
    Session,
    /// `SESSION:ID`: a call.
    Call(u64),
    /// `SESSION:ID:N`: what the kernel refused to the shell of a call.
    Shell(u64, u64),
    /// `SESSION:ID:nN`: what was refused to the shell of a call on its way to the network.
    ShellWayOut(u64, u64),
    /// `SESSION:kN`: what it refused to a run.
    Run(u64),
    /// `SESSION:nN`: what was refused to a run on its way to the network.
    WayOut(u64),
}

/// The thing that has a name.
#[derive(Debug, Clone)]
pub enum NamedRecord {
    /// A call, and all that was recorded about it.
    Call(Box<CallHistory>),
    /// A refusal of the kernel to the shell of a call.
    OfCall(Box<Denial>, Box<CallHistory>),
    /// A refusal of the kernel to a run.
    OfRun(Box<Denial>, Box<RunHistory>),
    /// A run.
    Run(Box<RunHistory>),
}

/// A call, and all that was recorded about it.
#[derive(Debug, Clone)]
pub struct CallHistory {
    /// The call.
    pub call: RecordedCall,
    /// Rules that were given for good and not written.
    pub not_written: Vec<NotWrittenEvent>,
    /// The end of its operation.
    pub outcome: Option<OutcomeEvent>,
}

/// A run, and all that was recorded about it.
#[derive(Debug, Clone, Default)]
pub struct RunHistory {
    /// Its name.
    pub session: String,
    /// The time of its start.
    pub at: Option<Timestamp>,
    /// Its start.
    pub start: Option<StartEvent>,
    /// The refusals to it.
    pub refused: Vec<Denial>,
    /// The calls that its processes made, by name.
    pub calls: Vec<String>,
    /// Its end; none while it runs.
    pub end: Option<EndEvent>,
}

/// Reason why a name means nothing, or too much.
#[derive(Debug, thiserror::Error)]
pub enum NotFound {
    /// The text is no name.
    #[error("`{0}` is no name of the record")]
    NoName(String),
    /// Nothing has that name.
    #[error("the record has nothing called `{0}`")]
    Nothing(String),
    /// The beginning of the name fits several.
    #[error("`{text}` fits several: {}", .names.join(", "))]
    Several {
        /// The name.
        text: String,
        /// Some that it fits.
        names: Vec<String>,
    },
    /// The record cannot be read.
    #[error("the record cannot be read: {0}")]
    Unreadable(#[from] io::Error),
}

/// The most names that are listed for one beginning.
const MAX_NAMES: usize = 8;

impl RecordName {
    /// Takes a name apart; `None` for a text that cannot be one.
    pub fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            digits.then(|| text.parse().ok()).flatten()
        };
        let name = |session: &str, of: NamedPart| {
            (!session.is_empty()).then(|| Self { session: session.to_owned(), of })
        };
        let Some((rest, last)) = text.rsplit_once(':') else { return name(text, NamedPart::Session) };
        if let Some(n) = last.strip_prefix('k').and_then(number) {
            return name(rest, NamedPart::Run(n));
        }
        if let Some(n) = last.strip_prefix('n').and_then(number) {
            let of_call = rest.rsplit_once(':').and_then(|(session, id)| Some((session, number(id)?)));
            return match of_call {
                Some((session, id)) => name(session, NamedPart::ShellWayOut(id, n)),
                None => name(rest, NamedPart::WayOut(n)),
            };
        }
        let last = number(last)?;
        match rest.rsplit_once(':').and_then(|(session, id)| Some((session, number(id)?))) {
            Some((session, id)) => name(session, NamedPart::Shell(id, last)),
            None => name(rest, NamedPart::Call(last)),
        }
    }

    /// Returns true if the text is certainly a name, and neither a host with a port nor a program: sessions are called
    /// `KIND-NAME`, and one that stands alone has to be a whole name of ours.
    pub fn is_plain(&self) -> bool {
        let plain = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
        let Some((kind, name)) = self.session.split_once('-') else { return false };
        plain(kind) && plain(name) && (is_own_session(&self.session) || self.of != NamedPart::Session)
    }

    /// Looks the name up in a record. `reader`: makes a reader of it.
    ///
    /// It is read from its end, and no further than what a whole name means may reach: see `is_complete`. A shortened
    /// name costs the whole record, since it has to fit one session alone.
    ///
    /// # Errors
    /// [`NotFound`].
    pub fn find(&self, text: &str, reader: impl Fn() -> LogReader) -> Result<NamedRecord, NotFound> {
        let mut fits = BTreeSet::new();
        let mut about = SessionLines::new(&self.session, self.of);
        from_end(&mut reader(), |line| {
            if line.session.starts_with(&self.session) && self.is_meant(&line) {
                about.is_meant |= line.session == self.session;
                if !fits.contains(&line.session) {
                    fits.insert(line.session.clone());
                }
            }
            about.take(line);
            about.is_complete()
        })?;
        if about.is_meant {
            return about.found().ok_or_else(|| NotFound::Nothing(text.to_owned()));
        }
        let session = one_of(text, fits)?;
        let mut about = SessionLines::new(&session, self.of);
        from_end(&mut reader(), |line| {
            about.is_meant |= line.session == session && self.is_meant(&line);
            about.take(line);
            about.is_complete()
        })?;
        about.found().ok_or_else(|| NotFound::Nothing(text.to_owned()))
    }

    /// Returns true if a line of a fitting session is about the part that is meant.
    fn is_meant(&self, line: &AuditLine) -> bool {
        match (self.of, &line.event) {
            (NamedPart::Session, AuditEvent::Start(_) | AuditEvent::End(_)) => true,
            (NamedPart::Call(id), AuditEvent::Decision(_)) => line.id == Some(id),
            (NamedPart::Shell(id, n), AuditEvent::Outcome(outcome)) => {
                line.id == Some(id) && outcome.denials.iter().any(|denial| is_nth(denial, ':', n))
            }
            (NamedPart::ShellWayOut(id, n), AuditEvent::Outcome(outcome)) => {
                line.id == Some(id) && outcome.denials.iter().any(|denial| is_nth(denial, 'n', n))
            }
            (NamedPart::Run(n), AuditEvent::Refusal(refusal)) => is_nth(&refusal.denial, 'k', n),
            (NamedPart::WayOut(n), AuditEvent::Refusal(refusal)) => is_nth(&refusal.denial, 'n', n),
            _ => false,
        }
    }
}

/// Returns true if a session has a whole name of ours, `KIND-` and twelve random letters: it begins once.
fn is_own_session(name: &str) -> bool {
    const RANDOM: usize = 12;
    name.split_once('-').is_some_and(|(kind, name)| {
        ["call", "run", "mcp", "serve", "agent"].contains(&kind) && name.len() == RANDOM
    })
}

fn is_nth(denial: &Denial, before: char, n: u64) -> bool {
    denial.id.strip_suffix(&n.to_string()).is_some_and(|rest| rest.ends_with(before))
}

/// The one session of those that a shortened name fits.
fn one_of(text: &str, fits: BTreeSet<String>) -> Result<String, NotFound> {
    let mut names: Vec<String> = fits.into_iter().collect();
    match names.as_slice() {
        [] => Err(NotFound::Nothing(text.to_owned())),
        [one] => Ok(one.clone()),
        _ => {
            let more = names.len() > MAX_NAMES;
            names.truncate(MAX_NAMES);
            names.extend(more.then(|| "…".to_owned()));
            Err(NotFound::Several { text: text.to_owned(), names })
        }
    }
}

/// Hands on lines from the end until `is_enough` says so.
fn from_end(reader: &mut LogReader, mut is_enough: impl FnMut(AuditLine) -> bool) -> io::Result<()> {
    reader.from_end(|read| {
        let enough = match read {
            Read::Line(line, _) => is_enough(line),
            Read::Damaged(_) => false,
        };
        Ok(if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })
}

/// The name of the last denial: a refusal of the gate or the kernel, or a question without an answer. `None` where
/// there is none.
///
/// # Errors
/// When the record cannot be read.
pub fn last_no(reader: &mut LogReader) -> io::Result<Option<String>> {
    // Calls of which a later line says what came of them.
    let (mut settled, mut last) = (HashSet::new(), None);
    reader.from_end(|read| {
        if let Read::Line(line, _) = read {
            last = standing_denial(line, &mut settled);
        }
        Ok::<_, io::Error>(if last.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    Ok(last)
}

/// The no that a line says, if it says one and no later line of the same call takes it back.
fn standing_denial(line: AuditLine, settled: &mut HashSet<String>) -> Option<String> {
    let call = line.call();
    match line.event {
        AuditEvent::Refusal(refusal) => Some(refusal.denial.id),
        AuditEvent::Outcome(outcome) => {
            settled.extend(call);
            outcome.denials.last().map(|denial| denial.id.clone())
        }
        AuditEvent::Decision(decision) => match decision.ruling {
            Ruled::Refusal => call.or(Some(line.session)),
            Ruled::Question => call.filter(|call| !settled.contains(call)),
            Ruled::Permit | Ruled::Other => {
                settled.extend(call);
                None
            }
        },
        _ => None,
    }
}

/// Lines in a row behind which no earlier line of a call is expected.
///
/// The lines of a call are its decision, its questions with their answers, and its end. An answer, and a decision about
/// what was asked, say that there is a question before them; an end, that there is a decision. Only a question that a rule
/// answered meanwhile is not spoken of: one that waited for more lines than these is not found.
const OTHERS_IN_A_ROW: u32 = 1000;

/// The lines of one session that are about what is meant, the last one first.
struct SessionLines<'a> {
    session: &'a str,
    of: NamedPart,
    /// A line says that the session has what is meant.
    is_meant: bool,
    /// The session is one of ours and its start was passed: nothing of it stands before.
    is_begun: bool,
    /// Lines about the call.
    lines: Vec<AuditLine>,
    /// Lines in a row that are about something else.
    others: u32,
    ran: RunHistory,
}

impl<'a> SessionLines<'a> {
    fn new(session: &'a str, of: NamedPart) -> Self {
        let ran = RunHistory { session: session.to_owned(), ..RunHistory::default() };
        Self { session, of, is_meant: false, is_begun: false, lines: Vec::new(), others: 0, ran }
    }

    fn take(&mut self, line: AuditLine) {
        self.others = self.others.saturating_add(1);
        if line.session != self.session {
            return;
        }
        self.is_begun |= matches!(line.event, AuditEvent::Start(_)) && is_own_session(self.session);
        match self.of {
            NamedPart::Call(id) | NamedPart::Shell(id, _) | NamedPart::ShellWayOut(id, _)
                if line.id == Some(id) =>
            {
                self.others = 0;
                self.lines.push(line);
            }
            NamedPart::Session | NamedPart::Run(_) | NamedPart::WayOut(_) => self.add_to_run(line),
            NamedPart::Call(_) | NamedPart::Shell(..) | NamedPart::ShellWayOut(..) => {}
        }
    }

    /// Returns true if nothing about it is expected before the lines that were taken.
    fn is_complete(&self) -> bool {
        if !self.is_meant {
            return false;
        }
        self.is_begun || (self.others >= OTHERS_IN_A_ROW && is_whole_call(&self.lines))
    }

    fn add_to_run(&mut self, line: AuditLine) {
        let (at, name) = (line.at, line.call());
        match line.event {
            AuditEvent::Start(start) if self.ran.start.is_none() => {
                self.ran.at = at;
                self.ran.start = Some(*start);
            }
            AuditEvent::End(end) if self.ran.end.is_none() => self.ran.end = Some(*end),
            AuditEvent::Refusal(refusal) => self.ran.refused.push(refusal.denial),
            AuditEvent::Decision(_) => {
                self.ran.calls.extend(name.filter(|name| self.ran.calls.last() != Some(name)));
            }
            _ => {}
        }
    }

    fn found(self) -> Option<NamedRecord> {
        let Self { of, lines, mut ran, .. } = self;
        ran.refused.reverse();
        ran.calls.reverse();
        Some(match of {
            NamedPart::Call(_) => NamedRecord::Call(Box::new(CallHistory::from_lines(lines)?)),
            NamedPart::Shell(_, n) | NamedPart::ShellWayOut(_, n) => {
                let before = if matches!(of, NamedPart::Shell(..)) { ':' } else { 'n' };
                let history = CallHistory::from_lines(lines)?;
                let mut denials = history.outcome.iter().flat_map(|outcome| &outcome.denials);
                let denial = denials.find(|denial| is_nth(denial, before, n))?.clone();
                NamedRecord::OfCall(Box::new(denial), Box::new(history))
            }
            NamedPart::Run(n) | NamedPart::WayOut(n) => {
                let before = if matches!(of, NamedPart::Run(_)) { 'k' } else { 'n' };
                let denial = ran.refused.iter().find(|denial| is_nth(denial, before, n))?.clone();
                NamedRecord::OfRun(Box::new(denial), Box::new(ran))
            }
            NamedPart::Session => NamedRecord::Run(Box::new(ran)),
        })
    }
}

impl CallHistory {
    /// The call of some lines, the last one first.
    fn from_lines(lines: Vec<AuditLine>) -> Option<Self> {
        let (mut calls, mut call, mut not_written, mut outcome) = (Calls::default(), None, Vec::new(), None);
        for line in lines.into_iter().rev() {
            if let AuditEvent::NotWritten(event) = line.event {
                not_written.push(event);
            } else {
                if let AuditEvent::Outcome(event) = &line.event {
                    outcome = Some(event.clone());
                }
                call = calls.take(line).or(call.take());
            }
        }
        let call = call.or_else(|| calls.open().next_back().cloned())?;
        Some(Self { call, not_written, outcome })
    }
}

/// Returns true if no line of the call speaks of an earlier one that is not among them.
fn is_whole_call(lines: &[AuditLine]) -> bool {
    let answers = lines.iter().filter(|line| matches!(line.event, AuditEvent::Answer(_))).count();
    let rulings = || lines.iter().filter_map(AuditLine::decision);
    let questions = rulings().filter(|decision| decision.ruling == Ruled::Question).count();
    let is_settled = rulings()
        .any(|decision| decision.ruling != Ruled::Question && decision.decision.as_deref() == Some("ask"));
    rulings().next().is_some() && questions >= answers.max(usize::from(is_settled))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use pinfold_paths::Ambient;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn names_are_taken_apart() {
        let name = |session: &str, of: NamedPart| Some(RecordName { session: session.to_owned(), of });
        for (text, expected) in [
            ("call-abc:3", name("call-abc", NamedPart::Call(3))),
            ("call-abc:3:2", name("call-abc", NamedPart::Shell(3, 2))),
            ("run-abc:k12", name("run-abc", NamedPart::Run(12))),
            ("run-abc:n3", name("run-abc", NamedPart::WayOut(3))),
            ("call-abc:2:n3", name("call-abc", NamedPart::ShellWayOut(2, 3))),
            ("run-abc", name("run-abc", NamedPart::Session)),
            ("a:b:3", name("a:b", NamedPart::Call(3))),
            ("a:3:k1", name("a:3", NamedPart::Run(1))),
            (":3", None),
            ("a:x", None),
            ("a:", None),
            ("a:k", None),
            ("a:-3", None),
            ("a:99999999999999999999", None),
            ("", None),
        ] {
            assert_eq!(RecordName::parse(text), expected, "{text}");
        }
        for (text, plain) in [
            ("call-abc:3", true),
            ("run-a:k1", true),
            ("run-e9qryy4sncxt", true),
            ("mcp-e9qryy4sncxt", true),
            ("mcp-server-git", false),
            ("run-parts", false),
            ("call-center", false),
            ("claude-0b9c2f6e-6f0d-4a7e-9a51-0d9f3f6f2a11:41", true),
            ("github.com:443", false),
            ("localhost:80", false),
        ] {
            assert_eq!(RecordName::parse(text).unwrap().is_plain(), plain, "{text}");
        }
    }

    fn line(session: &str, more: &Value) -> String {
        let mut line = json!({"v": 2, "session": session});
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        format!("{line}\n")
    }

    /// A record of two files.
    fn record() -> tempfile::TempDir {
        let bed = tempfile::tempdir().unwrap();
        let denial = |id: &str| json!({"id": id, "layer": "kernel", "why": "outside"});
        let asked =
            json!({"id": 1, "kind": "decision", "decision": "ask", "ruling": "question", "rule": "R"});
        let aside = [
            line("call-abc", &asked),
            line("call-abc", &json!({"id": 1, "kind": "answer", "choice": "no"})),
            line("call-abc", &json!({"id": 1, "kind": "decision", "decision": "ask", "ruling": "refusal"})),
            line("call-abd", &json!({"id": 2, "kind": "decision", "decision": "allow", "ruling": "permit"})),
        ];
        let written = [
            line(
                "call-abd",
                &json!({"id": 2, "kind": "outcome", "end": "done", "denials": [denial("call-abd:2:1"), denial("call-abd:2:11")]}),
            ),
            line("run-x", &json!({"kind": "start", "folder": "/w"})),
            line("run-x", &json!({"id": 1, "kind": "decision", "decision": "allow", "ruling": "permit"})),
            line("run-x", &json!({"kind": "refusal", "denial": denial("run-x:k1")})),
            line("run-x", &json!({"kind": "end", "end": "code", "exit": 3})),
            line("call-abcd", &json!({"id": 9, "kind": "decision", "decision": "allow", "ruling": "permit"})),
        ];
        fs::write(bed.path().join("record-000001.jsonl"), aside.concat()).unwrap();
        fs::write(bed.path().join("record.jsonl"), written.concat()).unwrap();
        bed
    }

    fn found(bed: &tempfile::TempDir, text: &str) -> Result<NamedRecord, NotFound> {
        let reader = || LogReader::open_record(&Ambient::claim(), bed.path());
        RecordName::parse(text).unwrap().find(text, reader)
    }

    #[test]
    fn each_kind_of_name_is_found_in_every_file() {
        let bed = record();
        let Ok(NamedRecord::Call(told)) = found(&bed, "call-abc:1") else { panic!() };
        assert_eq!((told.call.ruling, told.call.answers.len()), (Ruled::Refusal, 1));
        assert_eq!(told.call.judged.rule.as_deref(), Some("R"));
        let Ok(NamedRecord::OfCall(denial, told)) = found(&bed, "call-abd:2:1") else { panic!() };
        assert_eq!((denial.id.as_str(), told.call.name.as_str()), ("call-abd:2:1", "call-abd:2"));
        let Ok(NamedRecord::OfRun(denial, ran)) = found(&bed, "run-x:k1") else { panic!() };
        assert_eq!((denial.id.as_str(), ran.start.unwrap().folder.as_str()), ("run-x:k1", "/w"));
        let Ok(NamedRecord::Run(ran)) = found(&bed, "run-x") else { panic!() };
        assert_eq!(
            (ran.refused.len(), ran.calls, ran.end.unwrap().exit),
            (1, vec!["run-x:1".to_owned()], Some(3))
        );
        assert!(matches!(found(&bed, "run-x:1"), Ok(NamedRecord::Call(_))), "what a process was asked about");
    }

    #[test]
    fn the_beginning_of_a_name_does_where_it_fits_one() {
        let bed = record();
        assert!(matches!(found(&bed, "call-a:1"), Ok(NamedRecord::Call(_))), "one alone has a first call");
        assert!(matches!(found(&bed, "call-abd:2:11"), Ok(NamedRecord::OfCall(..))));
        assert!(matches!(found(&bed, "r:k1"), Ok(NamedRecord::OfRun(..))));
        assert!(matches!(found(&bed, "call-a:3"), Err(NotFound::Nothing(_))));
        assert!(matches!(found(&bed, "call-abd:2:2"), Err(NotFound::Nothing(_))));
        let more = line("call-abe", &json!({"id": 1, "kind": "decision", "ruling": "permit"}));
        let text = fs::read_to_string(bed.path().join("record.jsonl")).unwrap();
        fs::write(bed.path().join("record.jsonl"), text + &more).unwrap();
        let Err(NotFound::Several { names, .. }) = found(&bed, "call-a:1") else { panic!() };
        assert_eq!(names, ["call-abc", "call-abe"]);
        // A whole name is meant, though another begins with it.
        assert!(matches!(found(&bed, "call-abc:1"), Ok(NamedRecord::Call(_))));
    }

    /// A whole name is looked up from the end, where it is near; lines before it cost nothing, however many they are.
    #[test]
    fn a_whole_name_is_found_from_the_end_of_a_large_record() {
        const GIBIBYTE: u64 = 1 << 30;
        let bed = tempfile::tempdir().unwrap();
        // Nothing but a hole, which takes no room and would take seconds to read.
        let old = fs::File::create(bed.path().join("record-000001.jsonl")).unwrap();
        old.set_len(8 * GIBIBYTE).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&old, b"\n", 8 * GIBIBYTE).unwrap();
        let denial = json!({"id": "run-e9qryy4sncxt:k1", "layer": "kernel", "why": "outside"});
        let others = |from: u64| -> String {
            let of = |id| line("s", &json!({"id": id, "kind": "decision", "ruling": "permit"}));
            (from..from + 1000).map(of).collect()
        };
        let text = [
            line("call-a", &json!({"id": 1, "kind": "decision", "decision": "ask", "ruling": "question"})),
            others(0),
            line("call-a", &json!({"id": 1, "kind": "answer", "choice": "yes"})),
            line("call-a", &json!({"id": 1, "kind": "decision", "decision": "ask", "ruling": "permit"})),
            line("call-a", &json!({"id": 1, "kind": "outcome", "end": "done"})),
            line("run-e9qryy4sncxt", &json!({"kind": "start", "folder": "/w"})),
            others(1000),
            line("run-e9qryy4sncxt", &json!({"kind": "refusal", "denial": denial})),
            line("run-e9qryy4sncxt", &json!({"kind": "end", "end": "code", "exit": 3})),
        ];
        // Enough lines before all of it.
        fs::write(bed.path().join("record.jsonl"), others(5000) + &text.concat()).unwrap();
        let begun = std::time::Instant::now();
        let Ok(NamedRecord::Call(told)) = found(&bed, "call-a:1") else { panic!() };
        assert_eq!((told.call.asked, told.call.answers.len(), told.outcome.is_some()), (1, 1, true));
        assert!(matches!(found(&bed, "run-e9qryy4sncxt:k1"), Ok(NamedRecord::OfRun(..))));
        let Ok(NamedRecord::Run(ran)) = found(&bed, "run-e9qryy4sncxt") else { panic!() };
        assert_eq!((ran.refused.len(), ran.start.unwrap().folder.as_str()), (1, "/w"));
        assert!(begun.elapsed() < std::time::Duration::from_secs(2), "{:?}", begun.elapsed());
    }

    #[test]
    fn the_last_no_is_the_last_of_any_layer() {
        let bed = record();
        let last = || last_no(&mut LogReader::open_record(&Ambient::claim(), bed.path())).unwrap();
        assert_eq!(last().as_deref(), Some("run-x:k1"));
        let add = |more: &Value| {
            let text = fs::read_to_string(bed.path().join("record.jsonl")).unwrap();
            fs::write(bed.path().join("record.jsonl"), text + &line("call-z", more)).unwrap();
        };
        add(&json!({"id": 1, "kind": "decision", "decision": "ask", "ruling": "question"}));
        assert_eq!(last().as_deref(), Some("call-z:1"), "nobody has answered");
        add(&json!({"id": 1, "kind": "decision", "decision": "ask", "ruling": "permit"}));
        assert_eq!(last().as_deref(), Some("run-x:k1"));
        add(&json!({"id": 2, "kind": "decision", "decision": "deny", "ruling": "refusal"}));
        assert_eq!(last().as_deref(), Some("call-z:2"));
    }
}

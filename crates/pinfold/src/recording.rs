//! What the gate writes down: each decision before the deed, each answer, each outcome.

use std::borrow::Cow;
use std::io;
use std::path::Path;
use std::sync::Arc;

use pinfold_policy::{
    Access, BadCall, BashMode, Decision, HookWord, Interaction, PathFact, PathText, RawCall, Rule,
    ShellClaim, TrailEntry,
};

use crate::audit::record::VERSION;
use crate::audit::{
    AnswerTold, DecisionTold, HookTold, NotWrittenTold, OutcomeTold, PartTold, Record, RecordKind,
    RecordedPath, Ruled, kept_input, kept_text,
};
use crate::consent::{Answer, By, Choice, Given, ProcessShown, Via};
use crate::denial::{Denial, DeniedBy, Retry};
use crate::gate::Verbal;
use crate::outcome::Failure;
use crate::permit::Receipt;
use crate::question::Question;
use crate::refusal::{Refusal, RefusalCode};
use crate::ruling::Ruling;
use crate::session::{Session, Shared};
use crate::words::{self, Said};

/// How many paths, hosts, parts or commands of one call are recorded one by one.
const MOST: usize = 256;

/// A record about a call of this session, now.
fn record(shared: &Shared, id: u64, tool: &str, kind: RecordKind) -> Record {
    Record {
        v: VERSION,
        at: jiff::Timestamp::now(),
        session: Arc::clone(&shared.id),
        id: Some(id),
        principal: Arc::clone(&shared.principal_name),
        agents: Arc::clone(&shared.lineage),
        // A tool that does not exist can have any name.
        tool: Cow::Owned(kept_text(tool)),
        kind,
    }
}

impl Session {
    fn append(&self, id: u64, tool: &str, kind: RecordKind) -> Result<(), Box<Refusal>> {
        let shared = self.shared();
        let appended = shared.journal.append(&record(shared, id, tool, kind));
        appended.map_err(|error| Box::new(Refusal::not_recorded(tool, &error)))
    }

    /// A refusal with its name in the record.
    pub(crate) fn named(&self, id: u64, refusal: Refusal) -> Refusal {
        Refusal { id: Some(format!("{}:{id}", self.shared().id)), ..refusal }
    }

    /// A call that was not understood.
    pub(crate) fn not_understood(&self, id: u64, raw: &RawCall, bad: &BadCall) -> Ruling {
        let refusal = self.named(id, Refusal::invalid(bad));
        let (input, cut) = kept_input(&raw.input);
        let told = DecisionTold {
            input,
            cut,
            cwd: raw.cwd.as_ref().map(path_text),
            denial: Some(self.denial(id, &refusal, Vec::new())),
            ..self.refused(&refusal)
        };
        let recorded = self.append(id, bad.tool(), RecordKind::Decision(Box::new(told)));
        Ruling::Refusal(recorded.map_or_else(|unrecorded| unrecorded, |()| Box::new(refusal)))
    }

    /// A no of somebody who was asked, or of nobody in time.
    pub(crate) fn declined(&self, question: &Question, refusal: Refusal) -> Box<Refusal> {
        let told = DecisionTold {
            decision: Some(Decision::Ask),
            step: Some(question.verdict.step),
            denial: Some(self.denial(question.id, &refusal, Vec::new())),
            ..self.refused(&refusal)
        };
        // It stays a no, recorded or not.
        let _ = self.append(question.id, question.call.name(), RecordKind::Decision(Box::new(told)));
        Box::new(refusal)
    }

    fn refused(&self, refusal: &Refusal) -> DecisionTold {
        DecisionTold {
            ruling: Ruled::Refusal,
            code: Some(refusal.code),
            reason: Some(kept_text(&refusal.reason)),
            ..self.place()
        }
    }

    /// Where the session stands.
    fn place(&self) -> DecisionTold {
        let shared = self.shared();
        let scope = &shared.scope;
        DecisionTold {
            folder: shown(shared.line.display_path()),
            root: (scope.root != scope.display_root).then(|| shown(&scope.root)),
            added: shared.roots.iter().skip(1).take(MOST).cloned().collect(),
            read_only: shared.access == Access::ReadOnly,
            headless: shared.interaction == Interaction::Headless,
            armed: scope.enforce_write,
            ..DecisionTold::default()
        }
    }

    /// A refusal in the shape that every layer has.
    fn denial(&self, id: u64, refusal: &Refusal, to_allow: Vec<String>) -> Denial {
        let shared = self.shared();
        Denial {
            id: format!("{}:{id}", shared.id),
            layer: DeniedBy::Rule,
            who: shared.principal_name.to_string(),
            what: kept_text(&refusal.tool_name),
            place: refusal.path.as_deref().map(kept_text),
            code: Some(refusal.code),
            rule: refusal.rule.as_deref().map(kept_text),
            source: refusal.source.clone(),
            why: kept_text(&refusal.reason),
            instead: refusal.hint.clone(),
            retry: retry(refusal),
            times: 1,
            to_allow,
        }
    }

    /// What somebody answered, and what it grants.
    pub(crate) fn record_answer(
        &self,
        question: &Question,
        answer: &Answer,
        given: &Given,
    ) -> Result<(), Box<Refusal>> {
        let (choice, lasts, message) = match &answer.choice {
            Choice::Yes => ("yes", Some("call"), None),
            Choice::Session { .. } => ("session", Some("session"), None),
            Choice::Always { .. } => ("always", Some("always"), None),
            Choice::No { message } if answer.by.via == Via::Silence => ("silence", None, message.as_deref()),
            Choice::No { message } => ("no", None, message.as_deref()),
        };
        let waited = jiff::Timestamp::now().duration_since(question.request.asked_at);
        let told = AnswerTold {
            choice,
            by: By { via: answer.by.via, who: answer.by.who.as_deref().map(kept_text) },
            digest: answer.digest.clone(),
            lasts,
            waited_ms: u64::try_from(waited.as_millis()).unwrap_or_default(),
            message: message.map(kept_text),
            grants: given.grants.iter().map(|grant| kept_text(&grant.to_string())).collect(),
            rules: given.rules.iter().map(|rule| kept_text(&rule.to_string())).collect(),
        };
        self.append(question.id, question.call.name(), RecordKind::Answer(Box::new(told)))
    }

    /// Rules that were given for good are not there.
    pub(crate) fn record_not_written(&self, question: &Question, rules: &[Rule], failed: &str) {
        let rules = rules.iter().map(|rule| kept_text(&rule.to_string())).collect();
        let told = NotWrittenTold { rules, failed: failed.to_owned() };
        // They are not there, recorded or not.
        let _ = self.append(question.id, question.call.name(), RecordKind::NotWritten(told));
    }
}

/// Whether the same call can work at another time.
fn retry(refusal: &Refusal) -> Retry {
    match refusal.code {
        _ if refusal.approvable => Retry::Allowed,
        _ if refusal.do_not_retry => Retry::Never,
        RefusalCode::RequiresApproval | RefusalCode::NotHeld | RefusalCode::BashNotAllowed => Retry::Allowed,
        _ => Retry::Mended,
    }
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn path_text(path: &PathText) -> String {
    path.as_os_str().to_string_lossy().into_owned()
}

impl Verbal<'_> {
    /// No record, no deed.
    pub(crate) fn record(&self, ruling: Ruled, refusal: Option<&Refusal>) -> Result<(), Box<Refusal>> {
        let told = self.told(ruling, refusal);
        self.session.append(self.judged.id, self.tool, RecordKind::Decision(Box::new(told)))
    }

    /// The same for a question; a yes to it is tied to the digest.
    pub(crate) fn record_question(&self, refusal: &Refusal, digest: &str) -> Result<(), Box<Refusal>> {
        let told = self.told(Ruled::Question, Some(refusal));
        let told = DecisionTold { digest: Some(digest.to_owned()), ..told };
        self.session.append(self.judged.id, self.tool, RecordKind::Decision(Box::new(told)))
    }

    fn told(&self, ruling: Ruled, refusal: Option<&Refusal>) -> DecisionTold {
        let judged = self.judged;
        let (input, cut) = judged.input.map(kept_input).unwrap_or_default();
        let deciding = self.verdict.deciding();
        let reason = deciding.map(|entry| &entry.opinion.reason);
        let (rule, source) = reason.map(words::rule).unwrap_or_default();
        let rule = rule.or_else(|| reason.and_then(words::safeguard).map(str::to_owned));
        let why = || reason.map(|reason| kept_text(&words::clause(reason)));
        let parts: Vec<&TrailEntry> =
            self.verdict.trail.iter().filter(|entry| entry.opinion.decision != Decision::Allow).collect();
        let (hosts, shell) = (&self.claims.hosts, self.claims.shell.is_some());
        let more = [self.facts.paths.len(), hosts.len(), parts.len()].map(|count| count.saturating_sub(MOST));
        DecisionTold {
            decision: Some(self.verdict.decision),
            step: Some(self.verdict.step),
            ruling,
            code: refusal.map(|refusal| refusal.code),
            reason: refusal.map(|refusal| kept_text(&refusal.reason)).or_else(why),
            rule: rule.as_deref().map(kept_text),
            source,
            cwd: judged.cwd.as_ref().map(path_text),
            mode: Some(judged.mode.word()),
            bash: Some(judged.bash).filter(|bash| shell && *bash != BashMode::Ask).map(BashMode::word),
            shell: self.shell(),
            input,
            cut,
            paths: self.facts.paths.iter().take(MOST).map(|fact| self.path(fact)).collect(),
            hosts: hosts.iter().take(MOST).map(|claim| claim.host.as_deref().map(kept_text)).collect(),
            opaque: self.opaque(),
            parts: self.parts(&parts),
            more: more.into_iter().map(|count| count as u64).sum(),
            hook: judged.word.as_ref().map(hook),
            process: judged.process.as_ref().map(process),
            digest: None,
            denial: refusal.filter(|_| ruling == Ruled::Refusal).map(|refusal| self.denial(refusal)),
            ..self.session.place()
        }
    }

    fn said(&self) -> Said<'_> {
        Said { call: &self.judged.call, claims: self.claims, facts: self.facts }
    }

    fn denial(&self, refusal: &Refusal) -> Denial {
        let change = self.verdict.deciding().map(|entry| kept_text(&self.said().change(entry)));
        self.session.denial(self.judged.id, refusal, change.into_iter().collect())
    }

    fn path(&self, fact: &PathFact) -> RecordedPath {
        RecordedPath {
            operation: fact.operation.word(),
            asked: kept_text(&fact.shown),
            real: fact
                .real
                .as_ref()
                .map(|real| self.shared().show(real))
                .filter(|real| *real != fact.shown)
                .map(|real| kept_text(&real)),
        }
    }

    /// What a shell is told, where the input does not say it.
    fn shell(&self) -> Option<String> {
        let said = self.claims.shell.as_ref().and_then(ShellClaim::said)?;
        self.judged.input.is_none().then(|| kept_text(said))
    }

    fn opaque(&self) -> Vec<String> {
        self.claims.bars.iter().take(MOST).map(|bar| kept_text(&bar.why)).collect()
    }

    /// The parts that ask or deny, the one that decides first.
    fn parts(&self, parts: &[&TrailEntry]) -> Vec<PartTold> {
        let said = self.said();
        let told = |entry: &TrailEntry| {
            let reason = &entry.opinion.reason;
            let (rule, source) = words::rule(reason);
            let rule = rule.or_else(|| words::safeguard(reason).map(str::to_owned));
            PartTold {
                part: kept_text(&said.part(entry.part)),
                decision: entry.opinion.decision,
                step: entry.step,
                reason: kept_text(&words::clause(reason)),
                rule: rule.as_deref().map(kept_text),
                source,
            }
        };
        let deciding = self.verdict.deciding();
        let decides = |entry: &&&TrailEntry| deciding.is_some_and(|one| std::ptr::eq(one, **entry));
        let first = parts.iter().filter(decides);
        let rest = parts.iter().filter(|entry| !decides(entry));
        first.chain(rest).take(MOST).map(|entry| told(entry)).collect()
    }
}

/// A process can write what it likes where its command line is read.
fn process(shown: &ProcessShown) -> ProcessShown {
    ProcessShown {
        pid: shown.pid,
        program: kept_text(&shown.program),
        command_line: kept_text(&shown.command_line),
    }
}

fn hook(word: &HookWord) -> HookTold {
    HookTold { decision: word.decision, by: kept_text(&word.by), reason: kept_text(&word.reason) }
}

impl Receipt {
    /// How the deed ended.
    pub(crate) fn record(&self, end: &'static str, failure: Option<&Failure>) -> io::Result<()> {
        let told = OutcomeTold {
            end,
            code: failure.map(|failure| failure.code),
            reason: failure.map(|failure| kept_text(&failure.message)),
            ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            denials: self.denials.clone(),
        };
        let shared = &self.shared;
        shared.journal.append(&record(shared, self.id, &self.tool, RecordKind::Outcome(told)))
    }
}

//! What the gate writes down: each decision before the deed, each answer, each outcome.

use std::borrow::Cow;
use std::io;
use std::path::Path;
use std::sync::Arc;

use pinfold_paths::Line;
use pinfold_policy::{
    Access, BadCall, BashMode, Decision, HookWord, Interaction, PathFact, PathText, RawCall, Rule, Scope,
    Shape, ShellClaim, ToolCall, TrailEntry,
};
use serde_json::{Value, json};

use crate::audit::record::VERSION;
use crate::audit::{
    AnswerTold, DecisionTold, HookTold, Kept, NotWrittenTold, OutcomeTold, PartTold, Record, RecordKind,
    RecordedPath, Ruled, Secrets, kept_text,
};
use crate::consent::{Answer, By, Choice, Given, Lasts, ProcessShown, Via};
use crate::denial::{Denial, DeniedBy, Retry};
use crate::gate::Verbal;
use crate::outcome::Failure;
use crate::permit::Receipt;
use crate::question::Question;
use crate::refusal::{Refusal, RefusalCode};
use crate::ruling::Ruling;
use crate::session::{Deeds, Session, Shared};
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
        let Kept { input, cut, secrets } = Kept::of(&raw.input);
        let told = DecisionTold {
            input,
            cut,
            cwd: raw.cwd.as_ref().map(path_text),
            shape: raw.shape.as_ref().and_then(shape_text),
            denial: Some(self.denial(id, &refusal, Vec::new(), &secrets)),
            ..self.refused(&refusal, &secrets)
        };
        let recorded = self.append(id, bad.tool(), RecordKind::Decision(Box::new(told)));
        Ruling::Refusal(recorded.map_or_else(|unrecorded| unrecorded, |()| Box::new(refusal)))
    }

    /// A no of somebody who was asked, or of nobody in time.
    pub(crate) fn declined(&self, question: &Question, refusal: Refusal) -> Box<Refusal> {
        let told = DecisionTold {
            decision: Some(Decision::Ask),
            step: Some(question.verdict.step),
            denial: Some(self.denial(question.id, &refusal, Vec::new(), &question.secrets)),
            ..self.refused(&refusal, &question.secrets)
        };
        // It stays a no, recorded or not.
        let _ = self.append(question.id, question.call.name(), RecordKind::Decision(Box::new(told)));
        Box::new(refusal)
    }

    fn refused(&self, refusal: &Refusal, secrets: &Secrets) -> DecisionTold {
        DecisionTold {
            ruling: Ruled::Refusal,
            code: Some(refusal.code),
            reason: Some(secrets.kept(&refusal.reason)),
            ..self.place()
        }
    }

    /// Where the session stands.
    fn place(&self) -> DecisionTold {
        let shared = self.shared();
        let RecordedPlace { folder, root, added } = shared.place.clone();
        DecisionTold {
            folder,
            root,
            added,
            read_only: shared.access == Access::ReadOnly,
            theirs: shared.deeds == Deeds::Theirs,
            headless: shared.interaction == Interaction::Headless,
            armed: shared.scope.enforce_write,
            ..DecisionTold::default()
        }
    }

    /// A refusal in the shape that every layer has.
    fn denial(&self, id: u64, refusal: &Refusal, to_allow: Vec<String>, secrets: &Secrets) -> Denial {
        let shared = self.shared();
        let kept = |text: &String| secrets.kept(text);
        Denial {
            id: format!("{}:{id}", shared.id),
            layer: DeniedBy::Rule,
            who: shared.principal_name.to_string(),
            what: kept(&refusal.tool_name),
            place: refusal.path.as_ref().map(kept),
            code: Some(refusal.code),
            rule: refusal.rule.as_ref().map(kept),
            source: refusal.source.as_ref().map(kept),
            why: kept(&refusal.reason),
            instead: kept(&refusal.hint),
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
            Choice::No { message, .. } if answer.by.via == Via::Silence => {
                ("silence", None, message.as_deref())
            }
            Choice::No { message, process: true } => ("no", Some("process"), message.as_deref()),
            Choice::No { message, process: false } => ("no", None, message.as_deref()),
        };
        let kept = |text: &dyn std::fmt::Display| question.secrets.kept(&text.to_string());
        let now = jiff::Timestamp::now();
        let waited = now.duration_since(question.request.asked_at);
        let (until, calls) = match answer.choice.lasts(now) {
            Lasts::Session => (None, None),
            Lasts::Until(end) => (Some(end), None),
            Lasts::Calls(calls) => (None, Some(calls)),
        };
        let told = AnswerTold {
            choice,
            by: By { via: answer.by.via, who: answer.by.who.as_deref().map(kept_text) },
            digest: answer.digest.clone(),
            lasts,
            until,
            calls,
            waited_ms: u64::try_from(waited.as_millis()).unwrap_or_default(),
            message: message.map(|message| kept(&message)),
            grants: given.grants.iter().map(|grant| kept(grant)).collect(),
            rules: given.rules.iter().map(|rule| kept(rule)).collect(),
        };
        self.append(question.id, question.call.name(), RecordKind::Answer(Box::new(told)))
    }

    /// Rules that were given for good are not there.
    pub(crate) fn record_not_written(&self, question: &Question, rules: &[Rule], failed: &str) {
        let rules = rules.iter().map(|rule| question.secrets.kept(&rule.to_string())).collect();
        let told = NotWrittenTold { rules, failed: question.secrets.kept(failed) };
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

/// Where a session stands, as its lines say it.
#[derive(Debug, Clone)]
pub(crate) struct RecordedPlace {
    folder: String,
    root: Option<String>,
    added: Vec<String>,
}

impl RecordedPlace {
    /// Put into words once, since every decision says it.
    pub(crate) fn of(line: &Line, scope: &Scope) -> Self {
        let shown = |path: &Path| kept_text(&path.to_string_lossy());
        Self {
            folder: shown(line.display_path()),
            root: (scope.root != scope.display_root).then(|| shown(&scope.root)),
            added: line.roots().skip(1).take(MOST).map(|root| shown(&root)).collect(),
        }
    }
}

fn shape_text(shape: &Shape) -> Option<Value> {
    Kept::of(&json!(shape)).input
}

fn path_text(path: &PathText) -> String {
    kept_text(&path.as_os_str().to_string_lossy())
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
        let Kept { input, cut, secrets } = judged.input.map_or_else(|| self.not_input(), Kept::of);
        let secrets = judged.secrets.get_or_init(|| secrets);
        let deciding = self.verdict.deciding();
        let reason = deciding.map(|entry| &entry.opinion.reason);
        let (rule, source) = reason.map(words::rule).unwrap_or_default();
        let rule = rule.or_else(|| reason.and_then(words::safeguard).map(str::to_owned));
        let why = || reason.map(|reason| secrets.kept(&words::clause(reason)));
        let parts: Vec<&TrailEntry> =
            self.verdict.trail.iter().filter(|entry| entry.opinion.decision != Decision::Allow).collect();
        let (hosts, shell) = (&self.claims.hosts, self.claims.shell.is_some());
        let more = [self.facts.paths.len(), hosts.len(), parts.len()].map(|count| count.saturating_sub(MOST));
        DecisionTold {
            decision: Some(self.verdict.decision),
            step: Some(self.verdict.step),
            ruling,
            code: refusal.map(|refusal| refusal.code),
            reason: refusal.map(|refusal| secrets.kept(&refusal.reason)).or_else(why),
            rule: rule.map(|rule| secrets.kept(&rule)),
            source: source.map(|source| secrets.kept(&source)),
            cwd: judged.cwd.as_ref().map(path_text),
            shape: self.shape(),
            mode: Some(judged.mode.word()),
            bash: Some(judged.bash).filter(|bash| shell && *bash != BashMode::Ask).map(BashMode::word),
            shell: self.shell(secrets),
            input,
            cut,
            paths: self.facts.paths.iter().take(MOST).map(|fact| self.path(fact, secrets)).collect(),
            hosts: hosts
                .iter()
                .take(MOST)
                .map(|claim| claim.host.as_deref().map(|host| secrets.kept(host)))
                .collect(),
            opaque: self.opaque(secrets),
            parts: self.parts(&parts, secrets),
            more: more.into_iter().map(|count| count as u64).sum(),
            hook: judged.word.as_ref().map(hook),
            process: judged.process.as_ref().map(process),
            digest: None,
            denial: refusal.filter(|_| ruling == Ruled::Refusal).map(|refusal| self.denial(refusal, secrets)),
            ..self.session.place()
        }
    }

    fn shape(&self) -> Option<Value> {
        match &self.judged.call {
            ToolCall::Mcp(call) => call.shape.as_ref().and_then(shape_text),
            _ => None,
        }
    }

    fn said(&self) -> Said<'_> {
        Said { call: &self.judged.call, claims: self.claims, facts: self.facts }
    }

    /// What is kept where there is no input: an embedder or a process said it in other words.
    fn not_input(&self) -> Kept {
        let said = self.claims.shell.as_ref().and_then(ShellClaim::said);
        let said = said.or_else(|| Some(self.judged.process.as_ref()?.command_line.as_str()));
        Kept { secrets: said.map(Secrets::of_text).unwrap_or_default(), ..Kept::default() }
    }

    fn denial(&self, refusal: &Refusal, secrets: &Secrets) -> Denial {
        let change = self.verdict.deciding().map(|entry| secrets.kept(&self.said().change(entry)));
        self.session.denial(self.judged.id, refusal, change.into_iter().collect(), secrets)
    }

    fn path(&self, fact: &PathFact, secrets: &Secrets) -> RecordedPath {
        RecordedPath {
            operation: fact.operation.word(),
            asked: secrets.kept(&fact.shown),
            real: fact
                .real
                .as_ref()
                .map(|real| self.shared().show(real))
                .filter(|real| *real != fact.shown)
                .map(|real| secrets.kept(&real)),
        }
    }

    /// What a shell is told, where the input does not say it.
    fn shell(&self, secrets: &Secrets) -> Option<String> {
        let said = self.claims.shell.as_ref().and_then(ShellClaim::said)?;
        self.judged.input.is_none().then(|| secrets.kept(said))
    }

    fn opaque(&self, secrets: &Secrets) -> Vec<String> {
        self.claims.bars.iter().take(MOST).map(|bar| secrets.kept(&bar.why)).collect()
    }

    /// The parts that ask or deny, the one that decides first.
    fn parts(&self, parts: &[&TrailEntry], secrets: &Secrets) -> Vec<PartTold> {
        let said = self.said();
        let told = |entry: &TrailEntry| {
            let reason = &entry.opinion.reason;
            let (rule, source) = words::rule(reason);
            let rule = rule.or_else(|| words::safeguard(reason).map(str::to_owned));
            PartTold {
                part: secrets.kept(&said.part(entry.part)),
                decision: entry.opinion.decision,
                step: entry.step,
                reason: secrets.kept(&words::clause(reason)),
                rule: rule.map(|rule| secrets.kept(&rule)),
                source: source.map(|source| secrets.kept(&source)),
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
    HookTold {
        decision: word.decision,
        by: kept_text(&word.by),
        reason: kept_text(&word.reason),
        doubt: word.is_doubt(),
    }
}

impl Receipt {
    /// How the deed ended.
    pub(crate) fn record(&self, end: &'static str, failure: Option<&Failure>) -> io::Result<()> {
        let told = OutcomeTold {
            end,
            code: failure.map(|failure| failure.code),
            reason: failure.map(|failure| self.secrets.kept(&failure.message)),
            ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            denials: self.denials.clone(),
            hosts: self.hosts.clone(),
            more_hosts: self.more_hosts,
        };
        let shared = &self.shared;
        shared.journal.append(&record(shared, self.id, &self.tool, RecordKind::Outcome(told)))
    }
}

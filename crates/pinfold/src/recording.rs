//! Records of the gate: each decision before the operation, each answer, each outcome.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use pinfold_policy::{
    Access, BadCall, BashMode, Decision, HookDecision, Interaction, PathFact, PathText, RawCall, Rule, Shape,
    ShellClaim, ToolCall, TrailEntry,
};
use serde_json::{Value, json};

use crate::audit::record::VERSION;
use crate::audit::{
    AnswerEvent, AuditEvent, DecisionEvent, FormatWord, NotWrittenEvent, OutcomeEvent, Record,
    RecordedApprover, RecordedHook, RecordedPart, RecordedPath, Ruled, ScrubbedInput, Secrets, kept_text,
};
use crate::consent::answer::{Answer, ApprovalChannel, Choice};
use crate::consent::answer_grants::AnswerGrants;
use crate::consent::grant_lifetime::GrantLifetime;
use crate::consent::request::ProcessShown;
use crate::denial::{Denial, DeniedBy, Retry};
use crate::explain::{self, Explainer};
use crate::judgement::Judgement;
use crate::plan::ExecutedBy;
use crate::question::Question;
use crate::recorded_folders::RecordedFolders;
use crate::refusal::{Refusal, RefusalCode};
use crate::session::{Session, Shared};

/// The most paths, hosts, parts or commands of one call that are recorded one by one.
const MAX_LISTED: usize = 256;

/// A record about a call of this session, now.
fn record(shared: &Shared, id: u64, tool: &str, event: AuditEvent) -> Record {
    Record {
        v: VERSION,
        at: jiff::Timestamp::now(),
        session: Arc::clone(&shared.identity.id),
        id: Some(id),
        principal: Arc::clone(&shared.identity.name),
        agents: Arc::clone(&shared.identity.lineage),
        // A tool that does not exist can have any name.
        tool: Cow::Owned(kept_text(tool)),
        event,
    }
}

impl Session {
    fn append(&self, id: u64, tool: &str, event: AuditEvent) -> Result<(), Box<Refusal>> {
        let shared = self.shared();
        let appended = shared.journal.append(&record(shared, id, tool, event));
        appended.map_err(|error| Box::new(Refusal::not_recorded(tool, &error)))
    }

    /// A refusal with its name in the record.
    pub(crate) fn named(&self, id: u64, refusal: Refusal) -> Refusal {
        Refusal { id: Some(format!("{}:{id}", self.shared().identity.id)), ..refusal }
    }

    /// A call that was not understood.
    pub(crate) fn not_understood(&self, id: u64, raw: &RawCall, bad: &BadCall) -> Box<Refusal> {
        let refusal = self.named(id, Refusal::invalid(bad));
        let ScrubbedInput { input, cut, secrets } = ScrubbedInput::new(&raw.input);
        let event = DecisionEvent {
            input: input.map(Into::into),
            cut,
            cwd: raw.cwd.as_ref().map(path_text),
            shape: raw.shape.as_ref().and_then(shape_text),
            denial: Some(self.denial(id, &refusal, Vec::new(), &secrets)),
            ..self.refused(&refusal, &secrets)
        };
        let recorded = self.append(id, bad.tool(), AuditEvent::Decision(Box::new(event)));
        recorded.map_or_else(|unrecorded| unrecorded, |()| Box::new(refusal))
    }

    /// Records the no of an approver, or of a question without an answer in time.
    pub(crate) fn declined(&self, question: &Question, refusal: Refusal) -> Box<Refusal> {
        let event = DecisionEvent {
            decision: Some(Decision::Ask.as_str().into()),
            step: Some(question.verdict.step.into()),
            denial: Some(self.denial(question.submission.id, &refusal, Vec::new(), &question.secrets)),
            ..self.refused(&refusal, &question.secrets)
        };
        // It stays a no, recorded or not.
        let _ = self.append(
            question.submission.id,
            question.call().name(),
            AuditEvent::Decision(Box::new(event)),
        );
        Box::new(refusal)
    }

    fn refused(&self, refusal: &Refusal, secrets: &Secrets) -> DecisionEvent {
        DecisionEvent {
            ruling: Ruled::Refusal,
            code: Some(refusal.code.as_str().into()),
            reason: Some(secrets.kept(&refusal.reason)),
            ..self.place()
        }
    }

    /// The folder and the restrictions of the session.
    fn place(&self) -> DecisionEvent {
        let shared = self.shared();
        let RecordedFolders { folder, root, added } = shared.identity.folders.clone();
        DecisionEvent {
            folder,
            root,
            added,
            read_only: shared.bounds.access == Access::ReadOnly,
            external: shared.executed_by == ExecutedBy::Agent,
            headless: shared.consent.interaction == Interaction::Headless,
            enforce_write: shared.bounds.scope.enforce_write,
            ..DecisionEvent::default()
        }
    }

    /// A refusal in the shape that every layer has.
    fn denial(&self, id: u64, refusal: &Refusal, to_allow: Vec<String>, secrets: &Secrets) -> Denial {
        let shared = self.shared();
        let kept = |text: &String| secrets.kept(text);
        Denial {
            id: format!("{}:{id}", shared.identity.id),
            layer: DeniedBy::Rule,
            who: shared.identity.name.to_string(),
            what: kept(&refusal.tool_name),
            place: refusal.path.as_ref().map(kept),
            code: Some(refusal.code.as_str().into()),
            rule: refusal.rule.as_ref().map(kept),
            source: refusal.source.as_ref().map(kept),
            why: kept(&refusal.reason),
            instead: kept(&refusal.hint),
            retry: retry(refusal),
            times: 1,
            to_allow,
        }
    }

    /// Records an answer, and the grants that it gives.
    pub(crate) fn record_answer(
        &self,
        question: &Question,
        answer: &Answer,
        given: &AnswerGrants,
    ) -> Result<(), Box<Refusal>> {
        let (choice, lasts, message) = match &answer.choice {
            Choice::Yes => ("yes", Some("call"), None),
            Choice::Session { .. } => ("session", Some("session"), None),
            Choice::Always { .. } => ("always", Some("always"), None),
            Choice::No { message, .. } if answer.by.via == ApprovalChannel::Silence => {
                ("silence", None, message.as_deref())
            }
            Choice::No { message, process: true } => ("no", Some("process"), message.as_deref()),
            Choice::No { message, process: false } => ("no", None, message.as_deref()),
        };
        let kept = |text: &dyn std::fmt::Display| question.secrets.kept(&text.to_string());
        let now = jiff::Timestamp::now();
        let waited = now.duration_since(question.request.asked_at);
        let (until, calls) = match answer.choice.lasts(now) {
            GrantLifetime::Session => (None, None),
            GrantLifetime::Until(end) => (Some(end), None),
            GrantLifetime::Calls(calls) => (None, Some(calls)),
        };
        let event = AnswerEvent {
            choice: choice.into(),
            by: RecordedApprover::new(answer.by.via, answer.by.who.as_deref().map(kept_text)),
            digest: answer.digest.clone(),
            lasts: lasts.map(FormatWord::from),
            until,
            calls,
            waited_ms: u64::try_from(waited.as_millis()).unwrap_or_default(),
            message: message.map(|message| kept(&message)),
            grants: given.grants.iter().map(|grant| kept(grant)).collect(),
            rules: given.rules.iter().map(|rule| kept(rule)).collect(),
        };
        self.append(question.submission.id, question.call().name(), AuditEvent::Answer(Box::new(event)))
    }

    /// Rules that were given for good are not there.
    pub(crate) fn record_not_written(&self, question: &Question, rules: &[Rule], failed: &str) {
        let rules = rules.iter().map(|rule| question.secrets.kept(&rule.to_string())).collect();
        let event = NotWrittenEvent { rules, failed: question.secrets.kept(failed) };
        // They are not there, recorded or not.
        let _ = self.append(question.submission.id, question.call().name(), AuditEvent::NotWritten(event));
    }
}

/// The prospect of another attempt.
fn retry(refusal: &Refusal) -> Retry {
    match refusal.code {
        _ if refusal.approvable => Retry::Allowed,
        _ if refusal.do_not_retry => Retry::Never,
        RefusalCode::RequiresApproval | RefusalCode::NotHeld | RefusalCode::BashNotAllowed => Retry::Allowed,
        _ => Retry::AfterFix,
    }
}

fn shape_text(shape: &Shape) -> Option<Value> {
    ScrubbedInput::new(&json!(shape)).input
}

fn path_text(path: &PathText) -> String {
    kept_text(&path.as_os_str().to_string_lossy())
}

impl Session {
    /// Records the decision about a call. No record, no permit.
    pub(crate) fn record_decision(
        &self,
        judged: &Judgement<'_>,
        ruling: Ruled,
        refusal: Option<&Refusal>,
    ) -> Result<(), Box<Refusal>> {
        let event = DecisionWriter { session: self, judged }.event(ruling, refusal);
        self.append(judged.submission.id, judged.call().name(), AuditEvent::Decision(Box::new(event)))
    }

    /// Records that a call is asked about; a yes is tied to the digest.
    pub(crate) fn record_question(
        &self,
        judged: &Judgement<'_>,
        refusal: &Refusal,
        digest: &str,
    ) -> Result<(), Box<Refusal>> {
        let event = DecisionWriter { session: self, judged }.event(Ruled::Question, Some(refusal));
        let event = DecisionEvent { digest: Some(digest.to_owned()), ..event };
        self.append(judged.submission.id, judged.call().name(), AuditEvent::Decision(Box::new(event)))
    }
}

/// Writes the record of a judged call.
struct DecisionWriter<'a> {
    session: &'a Session,
    judged: &'a Judgement<'a>,
}

impl DecisionWriter<'_> {
    fn event(&self, ruling: Ruled, refusal: Option<&Refusal>) -> DecisionEvent {
        let judged = self.judged;
        let ScrubbedInput { input, cut, secrets } =
            judged.submission.input.as_deref().map_or_else(|| self.not_input(), ScrubbedInput::new);
        let secrets = judged.secrets.get_or_init(|| secrets);
        let deciding = self.judged.verdict.deciding();
        let reason = deciding.map(|entry| &entry.opinion.reason);
        let (rule, source) = reason.map(explain::rule).unwrap_or_default();
        let rule = rule.or_else(|| reason.and_then(explain::safeguard).map(str::to_owned));
        let why = || reason.map(|reason| secrets.kept(&explain::clause(reason)));
        let parts: Vec<&TrailEntry> = self
            .judged
            .verdict
            .trail
            .iter()
            .filter(|entry| entry.opinion.decision != Decision::Allow)
            .collect();
        let (hosts, shell) = (&self.judged.claims.hosts, self.judged.claims.shell.is_some());
        let more = [self.judged.survey.facts.paths.len(), hosts.len(), parts.len()]
            .map(|count| count.saturating_sub(MAX_LISTED));
        DecisionEvent {
            decision: Some(self.judged.verdict.decision.as_str().into()),
            step: Some(self.judged.verdict.step.into()),
            ruling,
            code: refusal.map(|refusal| refusal.code.as_str().into()),
            reason: refusal.map(|refusal| secrets.kept(&refusal.reason)).or_else(why),
            rule: rule.map(|rule| secrets.kept(&rule)),
            source: source.map(|source| secrets.kept(&source)),
            cwd: judged.submission.cwd.as_ref().map(path_text),
            shape: self.shape(),
            mode: Some(judged.mode.as_str().into()),
            bash: Some(judged.bash)
                .filter(|bash| shell && *bash != BashMode::Ask)
                .map(|bash| bash.as_str().into()),
            shell: self.shell(secrets),
            input: input.map(Into::into),
            cut,
            paths: self
                .judged
                .survey
                .facts
                .paths
                .iter()
                .take(MAX_LISTED)
                .map(|fact| self.path(fact, secrets))
                .collect(),
            hosts: hosts
                .iter()
                .take(MAX_LISTED)
                .map(|claim| claim.host.as_deref().map(|host| secrets.kept(host)))
                .collect(),
            opaque: self.opaque(secrets),
            parts: self.parts(&parts, secrets),
            omitted_count: more.into_iter().map(|count| count as u64).sum(),
            hook: judged.submission.hook_decision.as_ref().map(hook),
            process: judged.submission.process.as_ref().map(process),
            digest: None,
            denial: refusal.filter(|_| ruling == Ruled::Refusal).map(|refusal| self.denial(refusal, secrets)),
            ..self.session.place()
        }
    }

    fn shape(&self) -> Option<Value> {
        match self.judged.call() {
            ToolCall::Mcp(call) => call.shape.as_ref().and_then(shape_text),
            _ => None,
        }
    }

    fn explainer(&self) -> Explainer<'_> {
        Explainer { call: self.judged.call(), claims: &self.judged.claims, facts: &self.judged.survey.facts }
    }

    /// The kept parts where there is no input: an embedder or a process made the call.
    fn not_input(&self) -> ScrubbedInput {
        let said = self.judged.claims.shell.as_ref().and_then(ShellClaim::text);
        let said = said.or_else(|| Some(self.judged.submission.process.as_ref()?.command_line.as_str()));
        ScrubbedInput {
            secrets: said.map(Secrets::find_in_text).unwrap_or_default(),
            ..ScrubbedInput::default()
        }
    }

    fn denial(&self, refusal: &Refusal, secrets: &Secrets) -> Denial {
        let change =
            self.judged.verdict.deciding().map(|entry| secrets.kept(&self.explainer().change(entry)));
        self.session.denial(self.judged.submission.id, refusal, change.into_iter().collect(), secrets)
    }

    fn path(&self, fact: &PathFact, secrets: &Secrets) -> RecordedPath {
        RecordedPath {
            operation: fact.operation.as_str().into(),
            asked: secrets.kept(&fact.shown),
            real: fact
                .real
                .as_ref()
                .map(|real| self.session.shared().show(real))
                .filter(|real| *real != fact.shown)
                .map(|real| secrets.kept(&real)),
        }
    }

    /// The text that a shell is sent, where the input does not say it.
    fn shell(&self, secrets: &Secrets) -> Option<String> {
        let said = self.judged.claims.shell.as_ref().and_then(ShellClaim::text)?;
        self.judged.submission.input.is_none().then(|| secrets.kept(said))
    }

    fn opaque(&self, secrets: &Secrets) -> Vec<String> {
        self.judged
            .claims
            .not_allowlistable
            .iter()
            .take(MAX_LISTED)
            .map(|reason| secrets.kept(&reason.why))
            .collect()
    }

    /// The parts that ask or deny, the one that decides first.
    fn parts(&self, parts: &[&TrailEntry], secrets: &Secrets) -> Vec<RecordedPart> {
        let said = self.explainer();
        let event = |entry: &TrailEntry| {
            let reason = &entry.opinion.reason;
            let (rule, source) = explain::rule(reason);
            let rule = rule.or_else(|| explain::safeguard(reason).map(str::to_owned));
            RecordedPart {
                part: secrets.kept(&said.part(entry.part)),
                decision: entry.opinion.decision.as_str().into(),
                step: entry.step.into(),
                reason: secrets.kept(&explain::clause(reason)),
                rule: rule.map(|rule| secrets.kept(&rule)),
                source: source.map(|source| secrets.kept(&source)),
            }
        };
        let deciding = self.judged.verdict.deciding();
        let decides = |entry: &&&TrailEntry| deciding.is_some_and(|one| std::ptr::eq(one, **entry));
        let first = parts.iter().filter(decides);
        let rest = parts.iter().filter(|entry| !decides(entry));
        first.chain(rest).take(MAX_LISTED).map(|entry| event(entry)).collect()
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

fn hook(hook: &HookDecision) -> RecordedHook {
    RecordedHook {
        decision: hook.decision.as_str().into(),
        by: kept_text(&hook.by),
        reason: kept_text(&hook.reason),
        doubt: hook.is_doubt(),
    }
}

/// Records the outcome of a permitted call.
pub(crate) fn record_outcome(shared: &Shared, id: u64, tool: &str, event: OutcomeEvent) -> io::Result<()> {
    shared.journal.append(&record(shared, id, tool, AuditEvent::Outcome(event)))
}

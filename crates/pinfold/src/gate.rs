//! The road of one call, top to bottom. Every way in goes down here and nowhere else.

use pinfold_paths::{Freshness, Resolution};
use pinfold_policy::{
    BadCall, Case, Claims, Decision, Facts, Origin, PartId, PathClaim, PathFact, PathText, RawCall,
    ShellClaim, ToolCall, Verdict, judge,
};

use crate::audit::{RecordKind, RecordedPath, Ruled};
use crate::permit::{Permit, Receipt, record};
use crate::question::Question;
use crate::refusal::{About, Refusal};
use crate::ruling::Ruling;
use crate::session::{JudgedBy, Session, Shared};
use crate::survey::{Survey, survey};
use crate::target::Targets;

/// What would be decided about a call, without asking for the deed.
#[derive(Debug, Clone)]
pub struct Considered {
    /// The call, as far as a verdict needs it.
    pub call: ToolCall,
    /// What the call says it will touch.
    pub claims: Claims,
    /// What the look at the world found.
    pub facts: Facts,
    /// What was decided.
    pub verdict: Verdict,
    /// The no in words, unless it is a yes.
    pub refusal: Option<Refusal>,
}

impl Session {
    /// Decides about a call and records the decision. The deed needs the permit that comes out.
    pub fn submit(&self, raw: &RawCall) -> Ruling {
        match ToolCall::parse(raw) {
            Ok(call) => self.submit_call(call, raw.cwd.as_ref()),
            Err(bad) => self.not_understood(self.shared().next_call(), &bad),
        }
    }

    /// The same for a call that an embedder made itself: it can name paths that JSON cannot say. Relative paths
    /// start at `cwd`, or at the workspace.
    pub fn submit_call(&self, call: ToolCall, cwd: Option<&PathText>) -> Ruling {
        let id = self.shared().next_call();
        let claims = Claims::of(&call);
        let by = self.shared().judged_by();
        let survey = survey(self.shared(), &by.policy, &call, cwd, &claims);
        let verdict = self.judge(&by, &call, &claims, &survey.facts);
        self.rule(id, call, cwd, &claims, survey, &verdict)
    }

    /// Decides about a call and leaves it at that: nothing is recorded, no permit comes out. Text that only the
    /// deed would use may be missing from the input.
    ///
    /// # Errors
    /// When the call is not understood.
    pub fn consider(&self, raw: &RawCall) -> Result<Considered, BadCall> {
        let call = ToolCall::parse_for_verdict(raw)?;
        let claims = Claims::of(&call);
        let by = self.shared().judged_by();
        let facts = survey(self.shared(), &by.policy, &call, raw.cwd.as_ref(), &claims).facts;
        let verdict = self.judge(&by, &call, &claims, &facts);
        let refusal = match verdict.decision {
            Decision::Allow => None,
            decision => Some(
                Decided {
                    session: self,
                    id: 0,
                    tool: call.name(),
                    claims: &claims,
                    facts: &facts,
                    verdict: &verdict,
                }
                .words(decision == Decision::Ask),
            ),
        };
        Ok(Considered { call, claims, facts, verdict, refusal })
    }

    /// One decision sees one state of rules, mode and grants.
    fn judge(&self, by: &JudgedBy, call: &ToolCall, claims: &Claims, facts: &Facts) -> Verdict {
        judge(&Case {
            call,
            claims,
            facts,
            scope: self.scope(),
            access: self.access(),
            interaction: self.interaction(),
            policy: &by.policy,
            grants: &by.grants,
        })
    }

    fn rule(
        &self,
        id: u64,
        call: ToolCall,
        cwd: Option<&PathText>,
        claims: &Claims,
        survey: Survey,
        verdict: &Verdict,
    ) -> Ruling {
        let facts = &survey.facts;
        let tool = call.name().to_owned();
        let decided = Decided { session: self, id, tool: &tool, claims, facts, verdict };
        match verdict.decision {
            Decision::Deny => decided.refuse(decided.words(false)),
            Decision::Ask => {
                let refusal = decided.words(true);
                let question = Question::new(id, call, cwd.cloned(), verdict.clone(), refusal);
                match decided.record(Ruled::Question, Some(question.refusal())) {
                    Ok(()) => Ruling::Question(Box::new(question)),
                    Err(refusal) => Ruling::Refusal(refusal),
                }
            }
            // Not a question of permission: the same call goes through once the file was read.
            Decision::Allow if survey.unread.is_some() => decided.refuse(decided.unread(&survey)),
            Decision::Allow => {
                if let Err(refusal) = decided.record(Ruled::Permit, None) {
                    return Ruling::Refusal(refusal);
                }
                // What a command would touch is the kernel's to hold, not a tool's to open.
                let own = |claim: &PathClaim| claim.origin == Origin::Call;
                let held = claims.paths.iter().zip(survey.found).filter(|(claim, _)| own(claim));
                let found = held.map(|(claim, found)| (claim.operation, found)).collect();
                self.permit(id, call, found, claims.shell.is_some())
            }
        }
    }

    fn permit(
        &self,
        id: u64,
        call: ToolCall,
        found: Vec<(pinfold_policy::Operation, Resolution)>,
        shell: bool,
    ) -> Ruling {
        let tool = call.name().to_owned();
        let receipt = Receipt::new(self.shared().clone(), id, tool.clone().into());
        match Targets::hold(self.shared(), found, shell) {
            Some(targets) => Ruling::Permit(Box::new(Permit::mint(call, targets, receipt))),
            // The judge allowed what cannot be held: the type system's last word is no.
            None => Ruling::Refusal(Box::new(Refusal::plain(
                crate::RefusalCode::Denied,
                &tool,
                None,
                "a place outside the line cannot be held for writing",
                "choose a place inside",
            ))),
        }
    }

    fn not_understood(&self, id: u64, bad: &BadCall) -> Ruling {
        let refusal = Refusal::invalid(bad);
        let kind = RecordKind::Decision {
            decision: None,
            step: None,
            ruling: Ruled::Refusal,
            code: Some(refusal.code),
            reason: Some(refusal.reason.clone()),
            paths: Vec::new(),
            shell: None,
        };
        let shared = self.shared();
        Ruling::Refusal(Box::new(
            match shared.journal.append(&record(shared, id, bad.tool().to_owned().into(), kind)) {
                Ok(()) => refusal,
                Err(error) => Refusal::not_recorded(bad.tool(), &error),
            },
        ))
    }
}

/// A verdict with all that its words need.
struct Decided<'a> {
    session: &'a Session,
    id: u64,
    tool: &'a str,
    claims: &'a Claims,
    facts: &'a Facts,
    verdict: &'a Verdict,
}

impl Decided<'_> {
    fn shared(&self) -> &Shared {
        self.session.shared()
    }

    fn refuse(&self, refusal: Refusal) -> Ruling {
        match self.record(Ruled::Refusal, Some(&refusal)) {
            Ok(()) => Ruling::Refusal(Box::new(refusal)),
            Err(unrecorded) => Ruling::Refusal(unrecorded),
        }
    }

    /// The no in words. `approvable`: somebody could still say yes.
    fn words(&self, approvable: bool) -> Refusal {
        let Some(entry) = self.verdict.deciding() else {
            let message = "the call has no part that could be judged";
            return Refusal::plain(crate::RefusalCode::Denied, self.tool, None, message, "name a place");
        };
        let reason = &entry.opinion.reason;
        let fact = match entry.part {
            PartId::Path(i) => self.facts.paths.get(i),
            PartId::Command(_) | PartId::Shell | PartId::Host(_) | PartId::Tool => None,
        };
        if let Some(fact) = fact {
            return self.about(fact).refusal(reason, approvable);
        }
        let subject = self.subject(entry.part);
        Refusal::of_part(self.tool, &self.shared().principal, &subject, reason, approvable)
    }

    /// A part that is no path, in words.
    fn subject(&self, part: PartId) -> String {
        let said = self.claims.shell.as_ref().and_then(ShellClaim::said).unwrap_or_default();
        let quoted = |text: &str| format!("`{}`", shortened(text));
        match part {
            PartId::Command(i) => {
                let span = self.claims.commands.get(i).map(|command| command.span.clone());
                quoted(span.and_then(|span| said.get(span)).unwrap_or(said))
            }
            PartId::Shell => quoted(said),
            PartId::Host(i) => {
                let host = self.claims.hosts.get(i).and_then(|claim| claim.host.as_deref());
                host.map_or_else(|| "the host that it would reach".to_owned(), quoted)
            }
            PartId::Path(_) | PartId::Tool => quoted(self.tool),
        }
    }

    fn about<'b>(&'b self, fact: &'b PathFact) -> About<'b> {
        let shared = self.shared();
        About {
            tool: self.tool,
            principal: &shared.principal,
            shown: &fact.shown,
            operation: fact.operation,
            line: &shared.line_shown,
            roots: &shared.roots,
        }
    }

    fn unread(&self, survey: &Survey) -> Refusal {
        let (index, how) = survey.unread.unwrap_or((0, Freshness::Unread));
        let shown = self.facts.paths.get(index).map_or("", |fact| fact.shown.as_str());
        match how {
            Freshness::Changed => Refusal::stale(self.tool, shown),
            Freshness::Unread | Freshness::Fresh => Refusal::not_read(self.tool, shown),
        }
    }

    /// No record, no deed.
    fn record(&self, ruling: Ruled, refusal: Option<&Refusal>) -> Result<(), Box<Refusal>> {
        let paths = self.facts.paths.iter().map(|fact| RecordedPath {
            operation: fact.operation.word(),
            asked: fact.shown.clone(),
            real: fact.real.as_ref().map(|real| self.shared().show(real)).filter(|real| *real != fact.shown),
        });
        let kind = RecordKind::Decision {
            decision: Some(self.verdict.decision),
            step: Some(self.verdict.step),
            ruling,
            code: refusal.map(|refusal| refusal.code),
            reason: refusal.map(|refusal| refusal.reason.clone()),
            paths: paths.collect(),
            shell: self.claims.shell.as_ref().and_then(ShellClaim::said).map(str::to_owned),
        };
        let record = record(self.shared(), self.id, self.tool.to_owned().into(), kind);
        self.shared()
            .journal
            .append(&record)
            .map_err(|error| Box::new(Refusal::not_recorded(self.tool, &error)))
    }
}

/// Text short enough for a message, with nothing in it that a terminal or reader would take for something else.
pub(crate) fn shortened(text: &str) -> String {
    const SHOWN: usize = 200;
    let mut shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown.replace("\\'", "'").replace("\\\"", "\"")
}

//! The road of one call, top to bottom. Every way in goes down here and nowhere else.

use std::cell::OnceCell;

use pinfold_paths::Freshness;
use pinfold_policy::{
    Access, BadCall, Case, Claims, Decision, Declared, Facts, ForeignCall, HookWord, Interaction, Offer,
    Origin, PartId, PathClaim, PathFact, PathText, RawCall, Reason, ShellClaim, ToolCall, ToolName, Verdict,
    judge,
};

use serde_json::Value;

use crate::audit::Ruled;
use crate::consent::{Judged, ProcessShown, digest, offer, request};
use crate::permit::{Permit, Receipt};
use crate::question::Question;
use crate::refusal::{About, Refusal};
use crate::ruling::Ruling;
use crate::session::{Deeds, JudgedBy, Session, Shared};
use crate::survey::{Survey, survey};
use crate::target::Targets;

/// A call on its way into judgement.
pub(crate) struct Said<'a> {
    pub(crate) id: u64,
    pub(crate) call: ToolCall,
    pub(crate) cwd: Option<PathText>,
    pub(crate) input: Option<&'a Value>,
    pub(crate) word: Option<HookWord>,
    /// Whether somebody could answer a question: a person, or hooks in their place.
    pub(crate) interaction: Interaction,
    /// The process of a shell that tried it, where it was no call.
    pub(crate) process: Option<ProcessShown>,
}

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
    /// Decides about a call and records the decision. The deed needs the permit that comes out. Nobody is asked here:
    /// [`Session::decide`] goes all the way.
    pub fn submit(&self, raw: &RawCall) -> Ruling {
        self.submit_as(raw, self.shared().next_call(), None, self.interaction())
    }

    /// The same for a call that has its number, after hooks have spoken.
    pub(crate) fn submit_as(
        &self,
        raw: &RawCall,
        id: u64,
        word: Option<HookWord>,
        interaction: Interaction,
    ) -> Ruling {
        match (self.shared().parse)(raw) {
            Ok(call) => {
                let (cwd, input) = (raw.cwd.clone(), Some(&raw.input));
                self.rule(Said { id, call, cwd, input, word, interaction, process: None })
            }
            Err(bad) => match self.unread(raw, &bad, word) {
                Some((call, word)) => {
                    let (cwd, input) = (raw.cwd.clone(), Some(&raw.input));
                    self.rule(Said { id, call, cwd, input, word: Some(word), interaction, process: None })
                }
                None => self.not_understood(id, raw, &bad),
            },
        }
    }

    /// A call of a known tool in a form that is not known, which an agent carries out itself: its tools change with its
    /// versions, so that it is a question, whatever is allowed. `None` where something restricts the session that only the
    /// places and commands of a call could be held to.
    fn unread(&self, raw: &RawCall, bad: &BadCall, word: Option<HookWord>) -> Option<(ToolCall, HookWord)> {
        let shared = self.shared();
        let like =
            ToolName::parse(&raw.tool).filter(|_| shared.deeds == Deeds::Theirs && bad.is_another_form())?;
        let policy = shared.judged_by().policy;
        let is_shell = matches!(like, ToolName::Bash | ToolName::BashInput);
        let is_restricted = shared.scope.enforce_write
            || shared.access == Access::ReadOnly
            || is_shell && !shared.scope.allow_bash
            || policy.declared != Declared::default();
        if is_restricted {
            return None;
        }
        let reason =
            format!("what this tool is called with is not understood here, so it cannot be judged ({bad})");
        let doubt = HookWord::doubt(reason, "what is known of the tool".to_owned(), None);
        let word = word.filter(|word| word.decision >= Decision::Ask).unwrap_or(doubt);
        Some((ToolCall::Foreign(ForeignCall::Unread { like }), word))
    }

    /// The same for a call that an embedder made itself: it can name paths that JSON cannot say. Relative paths
    /// start at `cwd`, or at the workspace.
    pub fn submit_call(&self, call: ToolCall, cwd: Option<&PathText>) -> Ruling {
        self.submit_attempt(call, cwd, None)
    }

    /// The same for what a process of a shell tried.
    pub(crate) fn submit_attempt(
        &self,
        call: ToolCall,
        cwd: Option<&PathText>,
        process: Option<ProcessShown>,
    ) -> Ruling {
        let id = self.shared().next_call();
        let interaction = self.interaction();
        self.rule(Said { id, call, cwd: cwd.cloned(), input: None, word: None, interaction, process })
    }

    /// Decides about a call and leaves it at that: nothing is recorded, no permit comes out. Text that only the
    /// deed would use may be missing from the input.
    ///
    /// # Errors
    /// When the call is not understood.
    pub fn consider(&self, raw: &RawCall) -> Result<Considered, BadCall> {
        self.consider_after(raw, None)
    }

    /// The same, after hooks have spoken.
    ///
    /// # Errors
    /// When the call is not understood.
    pub fn consider_after(&self, raw: &RawCall, word: Option<HookWord>) -> Result<Considered, BadCall> {
        let call = ToolCall::parse_for_verdict(raw)?;
        let by = self.shared().judged_by();
        let (cwd, input, interaction) = (raw.cwd.clone(), Some(&raw.input), self.interaction());
        let said = Said { id: 0, call, cwd, input, word, interaction, process: None };
        let judged = self.judged(&by, said);
        let refusal = match judged.verdict.decision {
            Decision::Allow => None,
            decision => Some(self.about(&judged).words(decision == Decision::Ask)),
        };
        let Judged { call, claims, survey, verdict, .. } = judged;
        Ok(Considered { call, claims, facts: survey.facts, verdict, refusal })
    }

    /// Why a call would be denied that was let through before, if it would: a rule may have come meanwhile.
    pub fn denies(&self, call: ToolCall) -> Option<String> {
        let by = self.shared().judged_by();
        let interaction = self.interaction();
        let said = Said { id: 0, call, cwd: None, input: None, word: None, interaction, process: None };
        let judged = self.judged(&by, said);
        (judged.verdict.decision == Decision::Deny).then(|| self.about(&judged).words(false).reason)
    }

    /// What a person could grant for a call, and how wide, beside this one time: empty where it is not asked about, or has
    /// to be asked about each time.
    pub fn offer(&self, considered: &Considered) -> Offer {
        let Considered { call, claims, facts, verdict, .. } = considered;
        let by = self.shared().judged_by();
        Offer::of(&self.case(&by, call, claims, facts), verdict, self.bases())
    }

    /// Looks at the world and judges. One decision sees one state of rules, mode and grants.
    pub(crate) fn judged<'a>(&self, by: &JudgedBy, said: Said<'a>) -> Judged<'a> {
        let Said { id, call, cwd, input, word, interaction, process } = said;
        let mut claims = Claims::of(&call);
        let mut survey = survey(self.shared(), &by.policy, &call, cwd.as_ref(), &mut claims);
        survey.leave_out_unspoken(&by.policy, &mut claims);
        let case = self.case(by, &call, &claims, &survey.facts);
        let verdict = judge(&Case { hook: word.as_ref(), interaction, ..case });
        let (mode, bash) = (by.policy.mode, by.policy.bash);
        Judged {
            id,
            call,
            cwd,
            input,
            word,
            interaction,
            process,
            mode,
            bash,
            claims,
            survey,
            verdict,
            secrets: OnceCell::new(),
        }
    }

    /// What a call is judged by before hooks have spoken.
    pub(crate) fn case<'a>(
        &'a self,
        by: &'a JudgedBy,
        call: &'a ToolCall,
        claims: &'a Claims,
        facts: &'a Facts,
    ) -> Case<'a> {
        Case {
            call,
            claims,
            facts,
            scope: self.scope(),
            access: self.access(),
            interaction: self.interaction(),
            policy: &by.policy,
            grants: &by.grants,
            hook: None,
        }
    }

    fn about<'a>(&'a self, judged: &'a Judged<'_>) -> Verbal<'a> {
        let Judged { call, claims, survey, verdict, .. } = judged;
        Verbal { session: self, judged, tool: call.name(), claims, facts: &survey.facts, verdict }
    }

    pub(crate) fn rule(&self, said: Said<'_>) -> Ruling {
        let by = self.shared().judged_by();
        let judged = self.judged(&by, said);
        let verbal = self.about(&judged);
        match judged.verdict.decision {
            Decision::Deny => verbal.refuse(verbal.words(false)),
            Decision::Ask => self.question(&by, judged),
            Decision::Allow if judged.survey.unread.is_some() => verbal.refuse(verbal.unread(&judged.survey)),
            Decision::Allow if !self.shared().keeper.spend(&judged.verdict) => {
                // A grant for so many calls was used up by another one meanwhile.
                self.rule(judged.again())
            }
            Decision::Allow => match verbal.record(Ruled::Permit, None) {
                Ok(()) => self.permit(judged),
                Err(refusal) => Ruling::Refusal(refusal),
            },
        }
    }

    fn question(&self, by: &JudgedBy, judged: Judged<'_>) -> Ruling {
        let verbal = self.about(&judged);
        let refusal = self.named(judged.id, verbal.words(true));
        let shared = self.shared();
        let digest = digest(shared, &judged);
        if let Err(unrecorded) = verbal.record_question(&refusal, &digest) {
            return Ruling::Refusal(unrecorded);
        }
        let facts = &judged.survey.facts;
        let case = self.case(by, &judged.call, &judged.claims, facts);
        let case = Case { hook: judged.word.as_ref(), interaction: judged.interaction, ..case };
        let offer = offer(shared, &case, &judged.verdict);
        let request = request(shared, &judged, &digest, &offer);
        let Judged { id, call, cwd, input, word, interaction, process, verdict, secrets, .. } = judged;
        Ruling::Question(Box::new(Question {
            call,
            cwd,
            verdict,
            refusal,
            request,
            offer,
            id,
            input: input.cloned(),
            secrets: secrets.into_inner().unwrap_or_default(),
            word,
            interaction,
            process,
        }))
    }

    /// The permit of a call that was judged and let through.
    pub(crate) fn permit(&self, judged: Judged<'_>) -> Ruling {
        let by_mode = judged.verdict.rests_on_the_mode();
        let Judged { id, call, claims, survey, secrets, .. } = judged;
        // What a command would touch is the kernel's to hold, not a tool's to open.
        let own = |claim: &PathClaim| matches!(claim.origin, Origin::Call | Origin::Process);
        let held = claims.paths.iter().zip(survey.found).filter(|(claim, _)| own(claim));
        let found = held.map(|(claim, found)| (claim.operation, found)).collect();
        let tool = call.name().to_owned();
        let receipt = Receipt::new(
            self.shared().clone(),
            id,
            tool.clone().into(),
            secrets.into_inner().unwrap_or_default(),
        );
        match Targets::hold(self.shared(), found, &claims, id) {
            Some(targets) => Ruling::Permit(Box::new(Permit::mint(call, targets, receipt, by_mode))),
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

    /// A yes is being used: the world is looked at again. Only the very thing that was shown is let through; anything
    /// else is judged like a new call.
    pub(crate) fn with_consent(&self, question: Question) -> Ruling {
        let by = self.shared().judged_by();
        let Question { id, call, cwd, input, word, interaction, process, request, .. } = question;
        let input = input.as_ref();
        let judged = self.judged(&by, Said { id, call, cwd, input, word, interaction, process });
        let same = digest(self.shared(), &judged) == request.digest;
        match judged.verdict.decision {
            Decision::Ask if same && judged.survey.unread.is_none() => {
                match self.about(&judged).record(Ruled::Permit, None) {
                    Ok(()) => self.permit(judged),
                    Err(refusal) => Ruling::Refusal(refusal),
                }
            }
            Decision::Ask if same => {
                let verbal = self.about(&judged);
                verbal.refuse(verbal.unread(&judged.survey))
            }
            Decision::Ask | Decision::Allow | Decision::Deny => self.rule(judged.again()),
        }
    }
}

/// A verdict with all that its words need.
pub(crate) struct Verbal<'a> {
    pub(crate) session: &'a Session,
    pub(crate) judged: &'a Judged<'a>,
    pub(crate) tool: &'a str,
    pub(crate) claims: &'a Claims,
    pub(crate) facts: &'a Facts,
    pub(crate) verdict: &'a Verdict,
}

impl Verbal<'_> {
    pub(crate) fn shared(&self) -> &Shared {
        self.session.shared()
    }

    fn refuse(&self, refusal: Refusal) -> Ruling {
        let refusal = self.session.named(self.judged.id, refusal);
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
        let refusal = Refusal::of_part(self.tool, &self.shared().principal, &subject, reason, approvable);
        match (reason, self.safeguard(entry.part)) {
            // That it is not listed is one thing; that nobody should list it another.
            (Reason::NotListed, Some(about)) => {
                Refusal { reason: format!("{}, and it {about}", refusal.reason), ..refusal }
            }
            _ => refusal,
        }
    }

    /// What a safeguard has to say about a command.
    fn safeguard(&self, part: PartId) -> Option<&'static str> {
        let PartId::Command(i) = part else { return None };
        self.claims.commands.get(i)?.safeguards.first().map(|hit| hit.about)
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
                let claim = self.claims.hosts.get(i);
                match claim.and_then(|claim| claim.host.as_deref()) {
                    Some(host) => quoted(host),
                    None if claim.is_some_and(|claim| claim.of_tool) => quoted(self.tool),
                    None => "the host that it would reach".to_owned(),
                }
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

//! The verdict about a call: a look at the world, then the judge.

use std::cell::OnceCell;
use std::sync::Arc;

use pinfold_policy::{
    BashMode, Case, Claims, Decision, Facts, GrantOptions, Mode, Origin, PathClaim, ToolCall, Verdict, judge,
};

use crate::audit::Secrets;
use crate::refusal::Refusal;
use crate::session::{JudgedBy, Session};
use crate::submission::Submission;
use crate::survey::{Survey, survey};

/// A call that was surveyed and judged.
pub(crate) struct Judgement<'a> {
    pub(crate) submission: &'a Submission<'a>,
    /// The mode that it was judged in.
    pub(crate) mode: Mode,
    /// Which commands needed no question.
    pub(crate) bash: BashMode,
    /// The claims that count, in the order of the facts.
    pub(crate) claims: Arc<Claims>,
    pub(crate) survey: Survey,
    pub(crate) verdict: Verdict,
    /// The secrets of the call, once it was put into words.
    pub(crate) secrets: OnceCell<Secrets>,
}

impl Judgement<'_> {
    pub(crate) fn call(&self) -> &ToolCall {
        self.submission.call()
    }

    /// Returns true if a claim is the operation's own to open. What a command would touch is held by the kernel.
    pub(crate) fn is_opened(claim: &PathClaim) -> bool {
        matches!(claim.origin, Origin::Call | Origin::Process)
    }
}

/// A decision about a call that nothing was done for: no permit comes of it, and no record.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CheckResult {
    /// The call, as far as a verdict needs it.
    pub call: ToolCall,
    /// The claims of the call.
    pub claims: Claims,
    /// The facts that were found.
    pub facts: Facts,
    /// The verdict.
    pub verdict: Verdict,
    /// The refusal in words, unless the call is allowed.
    pub refusal: Option<Refusal>,
}

impl CheckResult {
    /// The reason of a denial, if it is one.
    pub fn denied_because(self) -> Option<String> {
        let is_denied = self.verdict.decision == Decision::Deny;
        self.refusal.filter(|_| is_denied).map(|refusal| refusal.reason)
    }
}

impl Session {
    /// Surveys and judges a call. One decision sees one state of rules, mode and grants.
    pub(crate) fn judge<'a>(&self, by: &JudgedBy, submission: &'a Submission<'a>) -> Judgement<'a> {
        let call = submission.call();
        let mut claims = Arc::clone(submission.parsed.claims());
        let mut survey = survey(self.shared(), &by.policy, call, submission.cwd.as_ref(), &mut claims);
        survey.leave_out_unspoken(&by.policy, &mut claims);
        let case = self.case(by, call, &claims, &survey.facts);
        let verdict = judge(&after_hooks(case, submission));
        let (mode, bash) = (by.policy.mode, by.policy.bash);
        Judgement { submission, mode, bash, claims, survey, verdict, secrets: OnceCell::new() }
    }

    /// The case of a call before hooks have spoken.
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

    /// The case that a call was judged by.
    pub(crate) fn case_of<'a>(&'a self, by: &'a JudgedBy, judged: &'a Judgement<'a>) -> Case<'a> {
        let case = self.case(by, judged.call(), &judged.claims, &judged.survey.facts);
        after_hooks(case, judged.submission)
    }

    /// The grants that a person could choose from for a call, beside this one time: empty where it is not asked about,
    /// or has to be asked about each time.
    pub fn offer(&self, considered: &CheckResult) -> GrantOptions {
        let CheckResult { call, claims, facts, verdict, .. } = considered;
        let by = self.shared().judged_by();
        GrantOptions::compute(&self.case(&by, call, claims, facts), verdict, self.bases())
    }
}

fn after_hooks<'a>(case: Case<'a>, submission: &'a Submission<'a>) -> Case<'a> {
    Case { hook: submission.hook_decision.as_ref(), interaction: submission.interaction, ..case }
}

//! Expectations that settings hold about themselves, tried.
//!
//! Nothing is done: each call is considered as a session with these settings would, in which shells are held in full,
//! whatever this machine can hold. So they come out alike everywhere.

use std::sync::Arc;

use pinfold_paths::Ambient;
use pinfold_policy::settings::PolicyTest;
use pinfold_policy::{Decision, FolderChoice, RawCall, Source};

use crate::audit::Discard;
use crate::plan::Plan;
use crate::session::Session;
use crate::shell::AssumedShells;

/// An expectation that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedExpectation {
    /// The source.
    pub source: Source,
    /// The expectation and the fact: `Bash(git push)` is expected to be asked about, …
    pub what: String,
}

/// Tries expectations in the session of a plan.
#[must_use]
pub fn failed_expectations(ambient: &Ambient, plan: &Plan, tests: &[PolicyTest]) -> Vec<FailedExpectation> {
    tests.iter().filter_map(|test| tried(ambient, plan, test)).collect()
}

fn tried(ambient: &Ambient, plan: &Plan, test: &PolicyTest) -> Option<FailedExpectation> {
    // A test without both is refused when its file is read.
    let (call, expected) = (test.call.as_ref()?, test.expect.as_ref()?);
    let found = decision(ambient, plan, test, &call.value);
    let so = match found {
        Ok((decision, _)) if decision == expected.value => return None,
        Ok((decision, step)) => format!("it is {} by the step `{step}`", describe(decision)),
        Err(why) => why,
    };
    let what = format!("`{}` is expected to be {}; {so}", call.value, describe(expected.value));
    Some(FailedExpectation { source: call.source.clone(), what })
}

fn decision(
    ambient: &Ambient,
    plan: &Plan,
    test: &PolicyTest,
    call: &str,
) -> Result<(Decision, &'static str), String> {
    let raw = RawCall::from_text(call).map_err(|mend| format!("that is no call: {mend}"))?;
    let mut plan = plan.clone();
    if let Some(mode) = &test.mode {
        plan.policy.choose_mode(mode.value);
    }
    let folder = plan.scope.root.canonicalize().unwrap_or_else(|_| plan.scope.root.clone());
    plan.shells = Some(Arc::new(AssumedShells::in_folder(folder)));
    let session = Session::open(
        ambient,
        Plan { folder_choice: FolderChoice::only_judged(), ..plan },
        Arc::new(Discard),
    )
    .map_err(|e| e.to_string())?;
    let considered = session.check(&raw).map_err(|bad| bad.to_string())?;
    Ok((considered.verdict.decision, considered.verdict.step))
}

fn describe(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allowed",
        Decision::Ask => "asked about",
        Decision::Deny => "denied",
    }
}

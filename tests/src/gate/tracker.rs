//! Cases about files that have to be read before they are changed: these make the calls, since a verdict alone does
//! not know what was read.

use std::fs;
use std::process::{Command, Stdio};
use std::sync::Arc;

use pinfold::audit::Discard;
use pinfold::policy::rule::{Effect, Rule};
use pinfold::policy::{Bases, Layer, Policy, Source, SourcedRule};
use pinfold::{Ambient, Plan, RawCall, Ruling, Session};
use pinfold_tools::{CallEnding, Scrubbing};
use serde_json::Value;

use super::case::{Case, CaseCall};
use super::ran::Ran;
use super::world;

/// Makes the earlier calls of a case and then its own.
pub fn run(case: &Case) -> Ran {
    match outcome(case) {
        Err(shape) => Ran::Failed(format!("        unknown shape: {shape}")),
        Ok(ended) if ended.is_expected(case) => Ran::Passed,
        Ok(ended) => {
            Ran::Failed(format!("        expected {:?} ({}), got {ended:?}\n", case.expect, case.why))
        }
    }
}

/// What came of the call.
#[derive(Debug, Clone, Copy)]
struct Came {
    /// What the gate said.
    decision: &'static str,
    /// Whether it was done.
    done: bool,
}

impl Came {
    /// What is expected to be denied may be allowed and then come to nothing; what is expected to be allowed is about
    /// the verdict.
    fn is_expected(&self, case: &Case) -> bool {
        case.accepts(self.decision) || (case.accepts("deny") && !self.done)
    }
}

fn outcome(case: &Case) -> Result<Came, String> {
    let session = session(case)?;
    let history = case.setup.get("history").and_then(Value::as_array).cloned().unwrap_or_default();
    for step in &history {
        earlier(case, &session, step)?;
    }
    // A subagent has read nothing yet, whatever its parent has.
    let session = if case.setup.contains_key("agent") { self::session(case)? } else { session };
    let raw = RawCall::new(&case.call.tool, case.call.input.clone());
    Ok(match session.submit(&raw) {
        Ruling::Permit(permit) => {
            let reply = pinfold_tools::perform(*permit, Scrubbing::On);
            Came { decision: "allow", done: reply.ended == CallEnding::Done }
        }
        Ruling::Question(_) => Came { decision: "ask", done: false },
        Ruling::Refusal(_) => Came { decision: "deny", done: false },
    })
}

fn session(case: &Case) -> Result<Session, String> {
    let mut plan = Plan::for_folder(world::project(case));
    plan.home = Some(world::home(case).into());
    plan.policy = policy(case, &[])?;
    plan.scope.enforce_write = true;
    Session::open(&Ambient::claim(), plan, Arc::new(Discard)).map_err(|error| error.to_string())
}

fn policy(case: &Case, deny: &[&str]) -> Result<Policy, String> {
    let allow: Vec<String> =
        serde_json::from_value(case.setup.get("allow").cloned().unwrap_or_default()).unwrap_or_default();
    let rule = |effect, text: &str| -> Result<SourcedRule, String> {
        let rule = Rule::parse(text).map_err(|bad| bad.to_string())?;
        Ok(SourcedRule { effect, rule, source: Source::plain(Layer::User) })
    };
    let allow = allow.iter().map(|text| rule(Effect::Allow, text));
    let deny = deny.iter().map(|text| rule(Effect::Deny, text));
    let rules: Vec<SourcedRule> = allow.chain(deny).collect::<Result<_, _>>()?;
    let project = std::path::PathBuf::from(world::project(case));
    Ok(Policy::default().with_rules(rules, &Bases { cwd: project.clone(), project, home: Vec::new() }))
}

/// One thing that happened before.
fn earlier(case: &Case, session: &Session, step: &Value) -> Result<(), String> {
    for (name, value) in step.as_object().ok_or("a step is no object")? {
        match name.as_str() {
            "call" => made(case, session, step)?,
            "result" => {}
            "fs" => {
                for (link, target) in value["symlinks"].as_object().into_iter().flatten() {
                    world::relink(link, target.as_str().unwrap_or_default())?;
                }
            }
            "external_change" => world::change_behind(value.as_str().unwrap_or_default())?,
            "deleted" => {
                fs::remove_file(value.as_str().unwrap_or_default()).map_err(|error| error.to_string())?;
            }
            other => return Err(format!("`history.{other}`")),
        }
    }
    Ok(())
}

fn made(case: &Case, session: &Session, step: &Value) -> Result<(), String> {
    let call: CaseCall = serde_json::from_value(step["call"].clone()).map_err(|error| error.to_string())?;
    if call.tool == "Bash" {
        // What a shell does is done behind the tools.
        let command = call.input["command"].as_str().unwrap_or_default();
        let mut shell = Command::new("sh");
        let ended = shell.args(["-c", command]).current_dir(world::cwd(case)).stdin(Stdio::null()).status();
        return ended.map(drop).map_err(|error| error.to_string());
    }
    let raw = RawCall::new(&call.tool, call.input.clone());
    match step.get("result").and_then(Value::as_str) {
        None => drop(pinfold_tools::call(session, &raw)),
        Some("denied") => {
            session.set_policy(policy(case, &["Read", "Edit"])?);
            drop(pinfold_tools::call(session, &raw));
            session.set_policy(policy(case, &[])?);
        }
        Some("error") => {
            let path = call.input["file_path"].as_str().ok_or("an error of a call without a file")?;
            let aside = format!("{path}.aside");
            fs::rename(path, &aside).map_err(|error| error.to_string())?;
            drop(pinfold_tools::call(session, &raw));
            fs::rename(&aside, path).map_err(|error| error.to_string())?;
        }
        Some(other) => return Err(format!("`history.result`: {other}")),
    }
    Ok(())
}

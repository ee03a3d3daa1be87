//! `pinfold rules replay`: recorded calls, judged once more. Nothing is executed, and no approver is asked.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use pinfold::audit::read::{Calls, RecordedCall};
use pinfold::policy::Effect;
use pinfold::replay::{Changed, Comparison, ModeNow, NotReplayable, Replay, ReplayedCall, decided};
use pinfold::settings::Locations;
use serde_json::{Value, json};

use crate::args::{self, Judging};
use crate::check::service::check_service_with;
use crate::check::with_source;
use crate::exit::{DONE, FAILED, Failure, USAGE};
use crate::log::filter::LogFilter;
use crate::log::format::call_subject;
use crate::{env, output, record, why};

pub(super) fn run(locations: &Locations, wanted: &args::Replay) -> Result<ExitCode, Failure> {
    let project = locations.project.clone().unwrap_or_default();
    let project = project.canonicalize().unwrap_or(project);
    let filter = LogFilter::new(&wanted.filters)?;
    let mut found = Replayed { replay: replay(&project, wanted)?, told: ReplayOutcome::default() };
    let is_meant = |call: &RecordedCall| {
        (wanted.everywhere || Path::new(&call.judged.folder).starts_with(&project)) && filter.takes_call(call)
    };
    let mut reader = match &wanted.record {
        Some(file) => record::named_reader(file)?,
        None => record::reader()?,
    };
    let mut calls = Calls::default();
    record::each_line(&mut reader, |line, _| {
        calls.take(line).iter().for_each(|call| found.take(call, is_meant(call)));
        Ok(())
    })?;
    calls.open().for_each(|call| found.take(call, is_meant(call)));
    let told = found.told;
    let text = if wanted.json { output::json_line(&told.as_json()) } else { told.describe(wanted.verbose) };
    output::out(&text)?;
    Ok(ExitCode::from(if told.differs.is_empty() { DONE } else { FAILED }))
}

/// Opens the service that judges the calls.
fn replay(project: &Path, wanted: &args::Replay) -> Result<Replay, Failure> {
    let judging = Judging { settings: wanted.flags.clone(), ..Judging::default() };
    let rules = |effect: Effect| {
        let of_effect = wanted.add.iter().filter(|added| added.effect == effect);
        of_effect.map(|added| added.rule.text().to_owned()).collect()
    };
    let changed = Changed {
        mode: if wanted.mode_as_then { ModeNow::AsThen } else { why::chosen(&judging)? },
        allow: rules(Effect::Allow),
        ask: rules(Effect::Ask),
        deny: rules(Effect::Deny),
        ..Changed::default()
    };
    let service = check_service_with(&judging, named(wanted)?)?;
    // What is wrong in them is told once, and not about each call.
    service.settings(project).map_err(|bad| Failure::new(USAGE, output::lines(&bad.to_string())))?;
    Ok(Replay::new(service, env::home(), changed))
}

/// The file that is named in place of settings. One that is named has to be there.
fn named(wanted: &args::Replay) -> Result<Option<PathBuf>, Failure> {
    let Some(file) = &wanted.settings else { return Ok(None) };
    let file = env::current_dir()?.join(file);
    std::fs::File::open(&file)
        .map_err(|e| Failure::new(USAGE, format!("`{}` cannot be read: {e}", output::path(&file))))?;
    Ok(Some(file))
}

struct Replayed {
    replay: Replay,
    told: ReplayOutcome,
}

/// Outcome of all calls.
#[derive(Default)]
struct ReplayOutcome {
    differs: Vec<(RecordedCall, ReplayedCall)>,
    otherwise: Vec<(RecordedCall, ReplayedCall)>,
    same: usize,
    not_judged: Vec<(String, NotReplayable)>,
}

impl Replayed {
    /// Judges a call. One that is not meant counts for what it granted in its session alone.
    fn take(&mut self, call: &RecordedCall, is_meant: bool) {
        if !is_meant {
            return self.replay.pass(call);
        }
        let told = &mut self.told;
        match self.replay.judge(call) {
            Ok(again) => match again.compared {
                Comparison::Differs => told.differs.push((call.clone(), again)),
                Comparison::Otherwise => told.otherwise.push((call.clone(), again)),
                Comparison::Same => told.same += 1,
            },
            Err(why) => told.not_judged.push((call.name.clone(), why)),
        }
    }
}

impl ReplayOutcome {
    fn judged(&self) -> usize {
        self.differs.len() + self.otherwise.len() + self.same
    }

    /// Counts each change of a decision.
    fn changes(&self) -> BTreeMap<String, usize> {
        let mut changes = BTreeMap::new();
        for (call, again) in &self.differs {
            let change = format!("{} -> {}", decided(&call.judged).0, again.answer.decision.as_str());
            *changes.entry(change).or_default() += 1;
        }
        changes
    }

    /// The calls that cannot be judged, by the reason.
    fn reasons(&self) -> BTreeMap<String, Vec<&str>> {
        let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (name, why) in &self.not_judged {
            reasons.entry(why.to_string()).or_default().push(name);
        }
        reasons
    }

    fn describe(&self, verbose: bool) -> String {
        const SHOWN: usize = 5;
        let also = self.otherwise.iter().filter(|_| verbose);
        let mut text: String =
            self.differs.iter().chain(also).map(|(call, again)| describe_call(call, again)).collect();
        let (judged, differ, otherwise) = (self.judged(), self.differs.len(), self.otherwise.len());
        let changes: Vec<String> =
            self.changes().iter().map(|(change, times)| format!("{times} {change}")).collect();
        let changes = if changes.is_empty() { String::new() } else { format!(" ({})", changes.join(", ")) };
        let _ =
            writeln!(text, "{judged} calls judged once more: {differ} would be decided otherwise{changes}");
        if otherwise > 0 {
            let _ = writeln!(text, "{otherwise} the same, by another step or rule");
        }
        for (why, names) in self.reasons() {
            let (shown, more) = names.split_at(names.len().min(SHOWN));
            let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
            let _ = writeln!(
                text,
                "{} not judged, {}: {}{more}",
                names.len(),
                output::visible(&why),
                output::visible(&shown.join(" "))
            );
        }
        text
    }

    fn as_json(&self) -> Value {
        let each = |list: &[(RecordedCall, ReplayedCall)]| {
            list.iter().map(|(call, again)| as_json(call, again)).collect::<Vec<_>>()
        };
        let not = |(name, why): &(String, NotReplayable)| json!({"name": name, "kind": why.as_str(), "why": why.to_string()});
        json!({
            "judged": self.judged(),
            "same": self.same,
            "changes": self.changes(),
            "differs": each(&self.differs),
            "otherwise": each(&self.otherwise),
            "not_judged": self.not_judged.iter().map(not).collect::<Vec<_>>(),
        })
    }
}

/// A call that is decided otherwise: what it is, how it was and how it would be.
fn describe_call(call: &RecordedCall, again: &ReplayedCall) -> String {
    let was = &call.judged;
    let (decision, step) = decided(was);
    let mode = was.mode.as_ref().map(|mode| format!(", mode {mode}")).unwrap_or_default();
    let rule = |rule: Option<&str>, source: Option<&str>| {
        rule.map(|rule| format!("  {}", with_source(rule, source))).unwrap_or_default()
    };
    let then = format!("{decision} ({step}{mode}){}", rule(was.rule.as_deref(), was.source.as_deref()));
    let answer = &again.answer;
    let by = rule(answer.rule.as_deref().or(answer.safeguard), answer.source.as_deref());
    let now = format!("{} ({}: {}){by}", answer.decision.as_str(), answer.step, answer.reason);
    let head = format!("{}  {} {}", call.name, call.tool, call_subject(was));
    let mut text = format!(
        "{}\n  was  {}\n  now  {}\n",
        output::visible(&head),
        output::visible(&then),
        output::visible(&now)
    );
    if again.moved {
        text.push_str("  what it would touch is another place than then\n");
    }
    text
}

fn as_json(call: &RecordedCall, again: &ReplayedCall) -> Value {
    let (was, answer) = (&call.judged, &again.answer);
    let (decision, step) = decided(was);
    json!({
        "name": call.name,
        "at": call.at.map(|at| at.to_string()),
        "tool": call.tool,
        "input": was.input(),
        "folder": was.folder,
        "was": {"decision": decision, "step": step, "mode": was.mode, "reason": was.reason, "rule": was.rule, "source": was.source},
        "now": {"decision": answer.decision, "step": answer.step, "reason": answer.reason,
                "rule": answer.rule.as_deref().or(answer.safeguard), "source": answer.source},
        "moved": again.moved,
    })
}

//! `pinfold rules`: what counts and where it stands, and changes to it.

mod learn;
mod replay;

use std::path::Path;
use std::process::ExitCode;

use pinfold::Ambient;
use pinfold::Plan;
use pinfold::policy::lint::Remark;
use pinfold::policy::merge::{Ignored, Merged, Renamed};
use pinfold::policy::rule::Rule;
use pinfold::policy::settings::{Flags, SettingsChange};
use pinfold::policy::{Located, Source, WayIn};
use pinfold::settings::{ChangeError, Locations, change, failed_expectations};
use serde::Serialize;
use serde_json::{Value, json};

use crate::args::{OneRule, RulesCommand};
use crate::env;
use crate::exit::{DONE, FAILED, Failure, REFUSED, USAGE};
use crate::output;
use crate::settings;

pub(crate) fn rules(folder: Option<&Path>, what: &RulesCommand) -> Result<ExitCode, Failure> {
    let locations = settings::locations(folder)?;
    match what {
        RulesCommand::List { flags, add_dir, json } => list(&locations, &flags.flags(add_dir, false), *json),
        RulesCommand::Lint { json } => lint(&locations, *json),
        RulesCommand::Test => test(&locations),
        RulesCommand::Learn(wanted) => learn::run(&locations, wanted),
        RulesCommand::Replay(wanted) => replay::run(&locations, wanted),
        RulesCommand::Add(one) => {
            let rule = Rule::parse_written(&one.rule);
            let rule = rule.map_err(|e| Failure::new(USAGE, output::lines(&e.to_string())))?;
            changed(&locations, one, &SettingsChange::Add(one.effect.into(), rule))
        }
        RulesCommand::Remove(one) => {
            changed(&locations, one, &SettingsChange::Remove(one.effect.into(), one.rule.clone()))
        }
    }
}

fn list(locations: &Locations, flags: &Flags, as_json: bool) -> Result<ExitCode, Failure> {
    let merged = settings::read(locations, flags)?.merged;
    let text = if as_json { output::json_lines(&json_of(&merged)) } else { text_of(&merged) };
    output::out(&text)?;
    Ok(ExitCode::from(DONE))
}

fn text_of(merged: &Merged) -> String {
    let mut lines = vec![format!("mode   {:<40} {}", merged.mode.value.as_str(), merged.mode.source)];
    let rule = |rule: &pinfold::policy::SourcedRule| {
        format!("{:<6} {:<40} {}", rule.effect.as_str(), output::visible(rule.rule.text()), rule.source)
    };
    lines.extend(merged.rules.iter().map(rule));
    let folder = |at: &Located<String>| format!("folder {:<40} {}", output::visible(&at.value), at.source);
    lines.extend(merged.additional_directories.iter().map(folder));
    if let Some(lock) = &merged.bypass_locked {
        lines.push(format!("lock   {:<40} {lock}", "bypassPermissions cannot be entered"));
    }
    if let Some(lock) = &merged.managed_rules_only {
        lines.push(format!("lock   {:<40} {lock}", "only managed allow rules count"));
    }
    if !merged.ignored.is_empty() {
        lines.push("\nWhat does not count:".to_owned());
        lines.extend(
            merged.ignored.iter().map(|ignored| format!("  {}", output::visible(&ignored.to_string()))),
        );
    }
    lines.join("\n") + "\n"
}

pub(crate) fn json_of(merged: &Merged) -> Value {
    let rules: Vec<_> = merged
        .rules
        .iter()
        .map(|rule| {
            with_source(json!({"effect": rule.effect.as_str(), "rule": rule.rule.text()}), &rule.source)
        })
        .collect();
    let ignored: Vec<_> = merged
        .ignored
        .iter()
        .map(|ignored| {
            with_source(json!({"what": ignored.what, "why": ignored.why.to_string()}), &ignored.source)
        })
        .collect();
    let folders: Vec<_> = merged.additional_directories.iter().map(located).collect();
    json!({
        "mode": located(&merged.mode),
        "bash": located(&merged.bash),
        "always_ask": located(&merged.always_ask),
        "reads": located(&merged.reads),
        "ask_rules_in_bypass": located(&merged.ask_rules_in_bypass),
        "bypass_locked": merged.bypass_locked.is_some(),
        "managed_rules_only": merged.managed_rules_only.is_some(),
        "additional_directories": folders,
        "rules": rules,
        "ignored": ignored,
    })
}

fn located<T: Serialize>(value: &Located<T>) -> Value {
    with_source(json!({"value": value.value}), &value.source)
}

/// A value with where it stands: whole as one text, and in parts.
pub(crate) fn with_source(mut value: Value, source: &Source) -> Value {
    if let Some(object) = value.as_object_mut() {
        object.insert("source".to_owned(), source.to_string().into());
        object.insert("layer".to_owned(), source.layer.as_str().into());
        object.insert("file".to_owned(), source.file.as_deref().into());
        object.insert("line".to_owned(), source.at.map(|(line, _)| line).into());
        object.insert("column".to_owned(), source.at.map(|(_, column)| column).into());
    }
    value
}

fn lint(locations: &Locations, as_json: bool) -> Result<ExitCode, Failure> {
    let merged = settings::read(locations, &Flags::default())?.merged;
    let remarks = pinfold::policy::lint::lint(&merged.rules);
    let text = if as_json {
        let remark = |remark: &Remark| {
            let said = json!({"kind": remark.kind, "rule": remark.rule, "text": remark.text});
            with_source(said, &remark.source)
        };
        let ignored = |ignored: &Ignored| {
            let said = json!({"kind": "ignored", "rule": ignored.what, "text": ignored.why.to_string()});
            with_source(said, &ignored.source)
        };
        let renamed = |renamed: &Renamed| {
            let said = json!({"kind": "renamed", "rule": renamed.from, "text": renamed.to});
            with_source(said, &renamed.source)
        };
        let counted = merged.renamed.iter().map(renamed).chain(remarks.iter().map(remark));
        let all: Vec<_> = merged.ignored.iter().map(ignored).chain(counted).collect();
        output::json_lines(&all)
    } else {
        let ignored = merged.ignored.iter().map(ToString::to_string);
        ignored
            .chain(merged.renamed.iter().map(ToString::to_string))
            .chain(remarks.iter().map(ToString::to_string))
            .map(|line| output::visible(&line) + "\n")
            .collect()
    };
    output::out(&text)?;
    let nothing = remarks.is_empty() && merged.ignored.is_empty() && merged.renamed.is_empty();
    Ok(ExitCode::from(if nothing { DONE } else { FAILED }))
}

/// Tries every expectation against all that holds here.
fn test(locations: &Locations) -> Result<ExitCode, Failure> {
    let folder = locations.project.clone().unwrap_or_default();
    let setup = settings::setup(&folder, locations.clone(), Flags::default(), None)?;
    let resolved = settings::resolved(&setup)?;
    let merged = &resolved.merged;
    let plan = Plan::for_folder(folder).with_home(env::home());
    let plan = settings::plan(&resolved, plan, WayIn::Check)?;
    let broken = failed_expectations(&Ambient::claim(), &plan, &merged.tests);
    for broken in &broken {
        output::out(&format!("{}: {}\n", broken.source, output::visible(&broken.what)))?;
    }
    let held = merged.tests.len() - broken.len();
    output::out(&format!("{held} of {} expectations hold\n", merged.tests.len()))?;
    Ok(ExitCode::from(if broken.is_empty() { DONE } else { FAILED }))
}

fn changed(locations: &Locations, one: &OneRule, what: &SettingsChange) -> Result<ExitCode, Failure> {
    if env::is_inside_another() {
        return Err(Failure::new(REFUSED, "rules are not changed from inside a run").mend("do it outside"));
    }
    let done = change(&Ambient::claim(), locations, one.file.layer(), what).map_err(|e| failed(&e))?;
    let word = match (what, done.changed) {
        (SettingsChange::Add(..) | SettingsChange::Include(..) | SettingsChange::Say(..), true) => "added to",
        (SettingsChange::Add(..) | SettingsChange::Include(..) | SettingsChange::Say(..), false) => {
            "stands already in"
        }
        (SettingsChange::Remove(..), true) => "removed from",
        (SettingsChange::Remove(..), false) => "does not stand in",
    };
    output::out(&format!(
        "{} {} {word} {}\n",
        one.effect_word(),
        output::visible(&one.rule),
        output::path(&done.file.path)
    ))?;
    // A rule that was just written and does not count should not surprise later.
    if let Err(other) = settings::loaded(locations, &Flags::default()) {
        output::warn(&other.message);
    }
    let missing = matches!((what, done.changed), (SettingsChange::Remove(..), false));
    Ok(ExitCode::from(if missing { FAILED } else { DONE }))
}

pub(crate) fn failed(e: &ChangeError) -> Failure {
    match e {
        ChangeError::Bad(bad) => {
            Failure::new(USAGE, settings::lines(bad)).mend("mend the file first; it is as it was")
        }
        ChangeError::NoFile(_) | ChangeError::File { .. } | ChangeError::Trust(_) | ChangeError::Other(_) => {
            Failure::new(FAILED, output::lines(&e.to_string()))
        }
    }
}

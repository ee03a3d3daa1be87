//! Controller of the permissions screen.

use pinfold::Ambient;
use pinfold::policy::merge::Ignored;
use pinfold::policy::rule::Effect;
use pinfold::policy::settings::SettingsChange;
use pinfold::policy::{Layer, SourcedRule};
use pinfold::settings::{Locations, Trust, TrustedFolder, change};
use pinfold_terminal::permissions::{LabelledLine, PermissionItem, PermissionStore};

use super::counts::RuleCounter;
use super::effective::EffectivePermissions;
use super::running::{RunningGrant, RunningSessions};
use crate::args::Judging;
use crate::check::with_source;
use crate::exit::Failure;
use crate::{env, rules, why};

/// Target of an item.
#[derive(Debug, Clone)]
pub(crate) enum ItemTarget {
    /// A rule of a file that can be changed here.
    Rule(Layer, Effect, String),
    /// A grant: of which process, which session, its number there.
    Grant(String, String, u64),
    /// A trusted folder, as it is recorded.
    Folder(String),
    /// Something that is only shown.
    Shown,
}

/// All that holds here, for a screen.
pub(crate) struct PermissionsController {
    locations: Locations,
    /// Decisions by rule, as far as the audit log was read; `None` where there is none.
    counter: Option<RuleCounter>,
    /// Targets of the items when they were last looked up.
    things: Vec<ItemTarget>,
}

impl PermissionsController {
    pub(crate) fn new(locations: Locations, counter: Option<RuleCounter>) -> Self {
        Self { locations, counter, things: Vec::new() }
    }
}

impl PermissionStore for PermissionsController {
    fn items(&mut self) -> Result<Vec<PermissionItem>, String> {
        let effective = EffectivePermissions::load(&self.locations, self.counter.as_mut())
            .map_err(|failure| failure_text(&failure))?;
        let (items, things) = items(&effective).into_iter().unzip();
        self.things = things;
        Ok(items)
    }

    fn remove(&mut self, item: &PermissionItem) -> Result<String, String> {
        if env::is_inside_another() {
            return Err("nothing is removed from inside a run".to_owned());
        }
        let ambient = Ambient::claim();
        match self.things.get(item.number).cloned() {
            Some(ItemTarget::Rule(layer, effect, rule)) => {
                let done = change(&ambient, &self.locations, layer, &SettingsChange::Remove(effect, rule))
                    .map_err(|e| failure_text(&rules::failed(&e)))?;
                let word = if done.changed { "removed from" } else { "it stood no more in" };
                Ok(format!("{word} {}", done.file.path.display()))
            }
            Some(ItemTarget::Grant(process, session, number)) => RunningSessions::all()
                .revoke(&process, &session, number)
                .map(|()| format!("taken back in {session}")),
            Some(ItemTarget::Folder(folder)) => Trust::withdraw_from(&ambient, &self.locations, &folder)
                .map(|_| format!("{folder} is not trusted any more"))
                .map_err(|e| e.to_string()),
            Some(ItemTarget::Shown) | None => Err("it cannot be removed here".to_owned()),
        }
    }

    fn test(&mut self, call: &str) -> Result<Vec<LabelledLine>, String> {
        let judging = Judging { folder: self.locations.project.clone(), ..Judging::default() };
        let tried = why::tried(&judging, call).map_err(|failure| failure_text(&failure))?;
        let mut lines = Vec::new();
        for (call, answer) in &tried {
            lines.push(("call", format!("{} {}", call.tool, call.input)));
            for part in answer.parts() {
                let mark = if part.decides && answer.parts().len() > 1 { " <- decides" } else { "" };
                lines.push(("part", format!("{}{mark}", part.part)));
                lines.push((part.decision.as_str(), format!("{} ({})", part.reason, part.step)));
                lines.extend(part.rule.map(|rule| ("rule", with_source(&rule, part.source.as_deref()))));
            }
            lines.push(("so", format!("{} ({}: {})", answer.decision.as_str(), answer.step, answer.reason)));
            lines.push(("change", answer.change()));
            lines.extend(answer.warnings.iter().map(|warning| ("note", warning.clone())));
        }
        Ok(lines)
    }
}

fn failure_text(failure: &Failure) -> String {
    let mend = failure.mend.as_ref().map(|mend| format!("; {mend}")).unwrap_or_default();
    format!("{}{mend}", failure.message)
}

/// The heading of grants.
const RUNNING: &str = "grants of running sessions";

/// All that holds as items, each with what stands behind it.
pub(crate) fn items(effective: &EffectivePermissions) -> Vec<(PermissionItem, ItemTarget)> {
    let rules =
        effective.merged.rules.iter().enumerate().map(|(i, rule)| rule_item(rule, effective.decided(i)));
    let grants = effective.grants.iter().map(grant_item);
    let unreached =
        effective.unreached.iter().map(|why| (shown(RUNNING, "not", why, String::new()), ItemTarget::Shown));
    let trusted = effective.trusted.iter().map(|folder| folder_item(folder, effective.trust.as_deref()));
    let ignored = effective.merged.ignored.iter().map(ignored_item);
    let all = rules.chain(settings(effective)).chain(grants).chain(unreached).chain(trusted).chain(ignored);
    let all = all.chain(no_trust(effective));
    all.enumerate().map(|(number, (item, thing))| (PermissionItem { number, ..item }, thing)).collect()
}

fn shown(section: &'static str, word: &'static str, text: &str, from: String) -> PermissionItem {
    PermissionItem { number: 0, section, word, text: text.to_owned(), from, notes: Vec::new(), removal: None }
}

fn rule_item(rule: &SourcedRule, decided: Option<u64>) -> (PermissionItem, ItemTarget) {
    let item = shown("rules", rule.effect.as_str(), rule.rule.text(), rule.source.to_string());
    let notes = match decided {
        None => Vec::new(),
        Some(0) => vec!["never decided".to_owned()],
        Some(1) => vec!["decided once".to_owned()],
        Some(count) => vec![format!("decided {count} times")],
    };
    let layer = rule.source.layer;
    let (removal, thing) = match layer {
        Layer::Local | Layer::Project | Layer::User => {
            let thing = ItemTarget::Rule(layer, rule.effect, rule.rule.text().to_owned());
            (Some(removal(rule).to_owned()), thing)
        }
        Layer::Managed
        | Layer::CommandLine
        | Layer::Agent
        | Layer::Call
        | Layer::Session
        | Layer::BuiltIn => (None, ItemTarget::Shown),
    };
    (PermissionItem { notes, removal, ..item }, thing)
}

/// Returns the consequence of removing a rule.
fn removal(rule: &SourcedRule) -> &'static str {
    match rule.effect {
        Effect::Allow => "it goes from that file; what it allowed is decided by what else holds",
        Effect::Ask => "it goes from that file; what it asks about may happen without a question then",
        Effect::Deny => "it goes from that file; what it denies may be asked about or allowed then",
    }
}

/// Returns the other settings that widen or narrow permissions.
fn settings(effective: &EffectivePermissions) -> Vec<(PermissionItem, ItemTarget)> {
    const SECTION: &str = "settings";
    let merged = &effective.merged;
    let mut all = vec![shown(SECTION, "mode", merged.mode.value.as_str(), merged.mode.source.to_string())];
    let folder =
        |at: &pinfold::policy::Located<String>| shown(SECTION, "adds", &at.value, at.source.to_string());
    all.extend(merged.additional_directories.iter().map(folder));
    let locks = [
        ("bypassPermissions cannot be entered", &merged.bypass_locked),
        ("only managed allow rules count", &merged.managed_rules_only),
    ];
    for (text, lock) in locks {
        all.extend(lock.as_ref().map(|source| shown(SECTION, "lock", text, source.to_string())));
    }
    all.into_iter().map(|item| (item, ItemTarget::Shown)).collect()
}

fn grant_item(grant: &RunningGrant) -> (PermissionItem, ItemTarget) {
    let (session, number) = (grant.shown.session.clone(), grant.shown.number);
    let item = PermissionItem {
        notes: grant.notes(),
        removal: Some("it is asked about again in that session".to_owned()),
        ..shown(RUNNING, "grant", &grant.shown.grant, format!("session {session}"))
    };
    (item, ItemTarget::Grant(grant.process.clone(), session, number))
}

fn folder_item(trusted: &TrustedFolder, record: Option<&str>) -> (PermissionItem, ItemTarget) {
    let folder = trusted.folder.to_string_lossy().into_owned();
    let note = |(name, is_same): &(String, bool)| {
        let now = if *is_same { "as it was trusted" } else { "changed since, so it does not count" };
        format!("{name}: {now}")
    };
    let item = PermissionItem {
        notes: trusted.files.iter().map(note).collect(),
        removal: Some("what its settings allow does not count any more".to_owned()),
        ..shown("trusted folders", "folder", &folder, record.unwrap_or_default().to_owned())
    };
    (item, ItemTarget::Folder(folder))
}

/// Returns the entry for a list of trusted files that cannot be read.
fn no_trust(effective: &EffectivePermissions) -> Option<(PermissionItem, ItemTarget)> {
    let from = effective.trust.clone().unwrap_or_default();
    let why = effective.no_trust.as_ref()?;
    Some((shown("what does not count", "trust", why, from), ItemTarget::Shown))
}

fn ignored_item(ignored: &Ignored) -> (PermissionItem, ItemTarget) {
    let item = shown("what does not count", "said", &ignored.what, ignored.source.to_string());
    (PermissionItem { notes: vec![ignored.why.to_string()], ..item }, ItemTarget::Shown)
}

//! The kinds of agents that are defined: listed, shown, checked.

use std::process::ExitCode;

use pinfold::Ambient;
use pinfold::agents::{AgentFile, AgentLimits, Definition, Definitions};
use pinfold::policy::lint::lint;
use pinfold::policy::{Mode, SourcedRule};
use pinfold::settings::Locations;
use serde_json::{Value, json};

use crate::args::AgentPlace;
use crate::exit::{DONE, FAILED, Failure, USAGE};
use crate::{env, output, settings};

/// All that can be found from here.
pub(super) fn found(place: &AgentPlace, locations: &Locations) -> Result<Definitions, Failure> {
    let here = env::current_dir()?;
    let added: Vec<_> = place.agents.iter().map(|folder| here.join(folder)).collect();
    if let Some(missing) = added.iter().find(|folder| !folder.is_dir()) {
        let message = format!("`{}` is not a directory of definitions", missing.display());
        return Err(Failure::new(USAGE, message).mend("name an existing folder"));
    }
    Ok(Definitions::find(&Ambient::claim(), locations, &added))
}

/// Returns the definitions that an agent can be started from: nothing is started while one of them cannot be read.
pub(super) fn usable(place: &AgentPlace, locations: &Locations) -> Result<Definitions, Failure> {
    let found = found(place, locations)?;
    let bad: Vec<String> = found.bad().map(settings::lines).collect();
    if bad.is_empty() {
        return Ok(found);
    }
    Err(Failure::new(USAGE, format!("definitions cannot be used\n{}", bad.join("\n"))))
}

/// The one of a name.
pub(super) fn named<'a>(found: &'a Definitions, name: &str) -> Result<&'a Definition, Failure> {
    found.get(name).ok_or_else(|| {
        let known: Vec<&str> = found.all().map(|definition| definition.name.as_str()).collect();
        let mend = if known.is_empty() {
            "write one: .pinfold/agents/NAME.md, as docs/own-agents.md has it".to_owned()
        } else {
            format!("there are: {}", known.join(", "))
        };
        Failure::new(USAGE, format!("no agent is called `{}`", output::visible(name))).mend(mend)
    })
}

pub(super) fn list(place: &AgentPlace, as_json: bool) -> Result<ExitCode, Failure> {
    let found = found(place, &settings::locations(place.folder.as_deref())?)?;
    if as_json {
        let files: Vec<Value> = found.files.iter().map(as_value).collect();
        output::out(&output::json_lines(&files))?;
    } else if found.files.is_empty() {
        output::out("no agents are defined\n")?;
    } else {
        output::out(&found.files.iter().map(line).collect::<String>())?;
    }
    Ok(ExitCode::from(if found.bad().next().is_some() { USAGE } else { DONE }))
}

fn line(file: &AgentFile) -> String {
    let shown = output::visible(&file.shown);
    match &file.said {
        Err(bad) => format!("{shown}: cannot be read\n  {}\n", settings::lines(bad).replace('\n', "\n  ")),
        Ok(definition) => {
            let mode = definition.mode.map_or("the mode of who starts it", Mode::as_str);
            let standing = match (file.hidden, definition.trusted) {
                (true, _) => ", another of this name counts instead",
                (false, false) => ", not trusted: it only takes away (pinfold trust)",
                (false, true) => "",
            };
            let about = output::visible(&definition.description);
            format!("{:<20} {about}\n  {mode}, {shown}{standing}\n", definition.name)
        }
    }
}

fn as_value(file: &AgentFile) -> Value {
    match &file.said {
        Err(bad) => json!({"file": &*file.shown, "error": settings::lines(bad)}),
        Ok(definition) => json!({
            "name": definition.name,
            "description": definition.description,
            "mode": definition.mode.map(Mode::as_str),
            "allow_tools": definition.allow_tools.as_ref().map(|rules| texts(rules)),
            "deny_tools": texts(&definition.deny_tools),
            "model": definition.model,
            "file": &*file.shown,
            "trusted": definition.trusted,
            "hidden": file.hidden,
        }),
    }
}

fn texts(rules: &[SourcedRule]) -> Vec<&str> {
    rules.iter().map(|rule| rule.rule.text()).collect()
}

pub(super) fn show(place: &AgentPlace, name: &str) -> Result<ExitCode, Failure> {
    let found = found(place, &settings::locations(place.folder.as_deref())?)?;
    let definition = named(&found, name)?;
    let mut text = format!("{}: {}\n", definition.name, output::visible(&definition.description));
    let mut add = |label: &str, value: &str| text.extend([&format!("{label:<8} "), value, "\n"]);
    add("file", &output::visible(&definition.source.to_string()));
    add("mode", definition.mode.map_or("that of who starts it", Mode::as_str));
    if !definition.trusted {
        add("trust", "not trusted: its list allows nothing by itself (pinfold trust)");
    }
    match &definition.allow_tools {
        None => add("tools", "all that its mode lets it use"),
        Some(listed) => listed.iter().for_each(|rule| add("allow", &format_rule(rule))),
    }
    definition.deny_tools.iter().for_each(|rule| add("deny", &format_rule(rule)));
    if let Some(model) = &definition.model {
        add("model", &output::visible(model));
    }
    if definition.limits != AgentLimits::default() {
        add("limits", &limits(&definition.limits));
    }
    text.push('\n');
    text.push_str(&output::lines(&definition.instructions));
    text.push('\n');
    output::out(&text)?;
    Ok(ExitCode::from(DONE))
}

fn format_rule(rule: &SourcedRule) -> String {
    format!("{}  ({})", rule.rule, output::visible(&rule.source.to_string()))
}

fn limits(limits: &AgentLimits) -> String {
    let AgentLimits { turns, tokens, cost, time, bytes, agents, fetches } = *limits;
    let seconds = time.map(|time| time.as_secs());
    let named = [
        ("turns", turns),
        ("tokens", tokens),
        ("millionths of money", cost),
        ("seconds", seconds),
        ("bytes", bytes),
        ("agents", agents),
        ("fetches", fetches),
    ];
    let said = named.iter().filter_map(|(name, limit)| Some(format!("{} {name}", (*limit)?)));
    said.collect::<Vec<_>>().join(", ")
}

pub(super) fn check(place: &AgentPlace) -> Result<ExitCode, Failure> {
    let found = found(place, &settings::locations(place.folder.as_deref())?)?;
    let mut code = DONE;
    for file in &found.files {
        match &file.said {
            Err(bad) => {
                code = USAGE;
                output::out(&format!("{}\n", settings::lines(bad)))?;
            }
            Ok(definition) => {
                // What stands in one list is compared with itself alone: that a rule is listed and denied is meant.
                let listed = lint(definition.allow_tools.as_deref().unwrap_or_default());
                for remark in listed.into_iter().chain(lint(&definition.deny_tools)) {
                    code = code.max(FAILED);
                    output::out(&format!("{}\n", output::lines(&remark.to_string())))?;
                }
            }
        }
    }
    if code == DONE {
        output::out(&format!("{} definitions, nothing to remark\n", found.files.len()))?;
    }
    Ok(ExitCode::from(code))
}

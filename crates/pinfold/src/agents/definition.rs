//! The definition of an agent: `AGENT.md`, whose front matter says what it may do and whose body tells it what to do.

use std::sync::Arc;

use pinfold_policy::rule::Rule;
use pinfold_policy::tool::nearest_name;
use pinfold_policy::{BadSetting, BadSettings, Effect, Layer, Mode, Source, SourcedRule};
use serde_json::Value;

use super::front_matter::{File, FrontMatter};
use super::limits::AgentLimits;
use super::tool_lists::{FORMS, listed};
use crate::yaml::Field;

/// The definition of a kind of agent: read from a file, in full or not at all.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// The name.
    pub name: String,
    /// The occasions to use it, for the agent or person that may start it.
    pub description: String,
    /// The mode, which decides when no rule has an opinion; without it, the mode of the session that starts it.
    pub mode: Option<Mode>,
    /// The tools that it may use; without a list nothing is left out.
    pub allow_tools: Option<Vec<SourcedRule>>,
    /// The tools and calls that it may not use.
    pub deny_tools: Vec<SourcedRule>,
    /// The model that it wants.
    pub model: Option<String>,
    /// The limits of what it may use up.
    pub limits: AgentLimits,
    /// The instructions.
    pub instructions: String,
    /// The file.
    pub source: Source,
    /// A person stands behind it: it is their own, or they trusted it as it is. What it allows counts only then.
    pub trusted: bool,
}

/// The fields of the front matter.
const FIELDS: &[&str] = &["name", "description", "mode", "allow_tools", "deny_tools", "model", "limits"];

impl Definition {
    /// Parses a definition. It is not trusted until the person trusts it.
    ///
    /// # Errors
    /// Each place that cannot be meant, with its line and a mend.
    pub fn parse(bytes: &[u8], layer: Layer, shown: &Arc<str>) -> Result<Self, BadSettings> {
        let FrontMatter { file, fields, body } = FrontMatter::parse(bytes, layer, shown)?;
        let mut reading = DefinitionReader { file, bad: Vec::new() };
        let mut definition = Self {
            name: String::new(),
            description: String::new(),
            mode: None,
            allow_tools: None,
            deny_tools: Vec::new(),
            model: None,
            limits: AgentLimits::default(),
            instructions: body.trim().to_owned(),
            source: Source { layer, file: Some(Arc::clone(shown)), at: None },
            trusted: false,
        };
        for (name, field) in &fields {
            reading.field(&mut definition, name, field);
        }
        if !fields.contains_key("name") {
            let missing =
                file.one(1, 1, "`name` is missing", "write `name: reviewer`, by which it is started");
            reading.bad.extend(missing.bad);
        }
        if reading.bad.is_empty() { Ok(definition) } else { Err(file.all(reading.bad)) }
    }

    /// Lists what the definition allows that nothing else allows, in words: it counts only once the definition is
    /// trusted.
    pub fn widens(&self) -> Vec<String> {
        let rules = self.allow_tools.iter().flatten().map(|rule| format!("allow {}", rule.rule));
        let model = self.model.iter().map(|model| format!("model {model}"));
        rules.chain(model).map(|what| format!("the agent {}: {what}", self.name)).collect()
    }
}

struct DefinitionReader<'a> {
    file: File<'a>,
    bad: Vec<BadSetting>,
}

impl DefinitionReader<'_> {
    fn field(&mut self, definition: &mut Definition, name: &str, field: &Field) {
        if field.value.is_null() {
            // A name without a value says nothing, unless it is the agent's own.
            if name == "name" {
                self.wrong(field, name, "`name` is empty", "write `name: reviewer`");
            }
            return;
        }
        match name {
            "name" => definition.name = self.name(field),
            "description" => definition.description = self.text(name, field),
            "model" => definition.model = Some(self.text(name, field)).filter(|model| !model.is_empty()),
            "mode" => definition.mode = self.mode(field),
            // An empty list is no list; an object that allows nothing does.
            "allow_tools" => {
                let rules = self.rules(name, field, Effect::Allow);
                definition.allow_tools = (!rules.is_empty() || field.value.is_object()).then_some(rules);
            }
            "deny_tools" => definition.deny_tools = self.rules(name, field, Effect::Deny),
            "limits" => definition.limits = self.limits(field),
            other => {
                let mend = format!("write `{}`, or take it away", nearest_name(other, FIELDS));
                self.wrong(field, other, &format!("there is no field `{}`", shown(other)), &mend);
            }
        }
    }

    fn wrong(&mut self, field: &Field, part: &str, what: &str, mend: &str) {
        self.bad.push(self.file.wrong(field, part, what.to_owned(), mend.to_owned()));
    }

    fn text(&mut self, name: &str, field: &Field) -> String {
        if let Value::String(text) = &field.value {
            return text.clone();
        }
        self.wrong(field, name, &format!("`{name}` is not a text"), "write it in quotes");
        String::new()
    }

    /// Names are words on command lines, in rules and in messages.
    fn name(&mut self, field: &Field) -> String {
        const MAX_NAME_LEN: usize = 64;
        let name = self.text("name", field);
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let fits = name.len() <= MAX_NAME_LEN
            && name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.chars().all(plain);
        if !fits && field.value.is_string() {
            let mend = "use letters, digits, `-`, `_` and `.`, at most 64 of them, a letter or digit first";
            self.wrong(field, "name", &format!("`{}` is no name for an agent", shown(&name)), mend);
        }
        if name == "main" {
            self.wrong(field, "name", "`main` is the agent that the user starts", "choose another name");
        }
        name
    }

    fn mode(&mut self, field: &Field) -> Option<Mode> {
        let word = self.text("mode", field);
        if word.is_empty() {
            return None;
        }
        match Mode::parse(&word) {
            Ok(mode) => Some(mode),
            Err(unknown) => {
                let mend = format!("write `mode: {}`", unknown.nearest);
                self.wrong(field, &word, &format!("`mode`: {unknown}"), &mend);
                None
            }
        }
    }

    fn rules(&mut self, name: &str, field: &Field, effect: Effect) -> Vec<SourcedRule> {
        let Some(texts) = listed(&field.value) else {
            let mend = "write one rule in a line: `- Bash(git diff*)`";
            self.wrong(field, name, &format!("`{name}` is not {FORMS}"), mend);
            return Vec::new();
        };
        let mut rules = Vec::with_capacity(texts.len());
        for text in texts {
            match Rule::parse_written(&text) {
                Ok(rule) => {
                    let source = self.file.source_of(field, &text);
                    rules.push(SourcedRule { effect, rule, source });
                }
                Err(bad) => {
                    let what = format!("the rule `{}` cannot be read: {}", bad.text, bad.why);
                    self.wrong(field, &text, &what, &bad.mend);
                }
            }
        }
        rules
    }

    fn limits(&mut self, field: &Field) -> AgentLimits {
        let mut limits = AgentLimits::default();
        let Value::Object(said) = &field.value else {
            self.wrong(
                field,
                "limits",
                "`limits` holds no names",
                "write `limits:` and below it `turns: 20`",
            );
            return limits;
        };
        for (name, value) in said {
            if !AgentLimits::NAMES.contains(&name.as_str()) {
                let nearest = nearest_name(name, AgentLimits::NAMES);
                let what = format!("there is no limit `{}`", shown(name));
                self.wrong(field, name, &what, &format!("write `{nearest}`, or take it away"));
            } else if let Err(expected) = limits.set(name, value) {
                let what = format!("the limit `{name}` is not {expected}");
                self.wrong(field, name, &what, &format!("write {expected}"));
            }
        }
        limits
    }
}

/// Words of a file, short and with nothing in them that acts on a screen.
fn shown(text: &str) -> String {
    const SHOWN: usize = 80;
    text.chars().take(SHOWN).flat_map(char::escape_debug).collect()
}

//! The hooks of a settings file, in the form that the most used agent writes: events, in each groups with a matcher, in
//! each group hooks.

use std::net::IpAddr;
use std::time::Duration;

use jsonc_parser::ast::{ObjectProp, Value};
use serde_json::json;

use super::reader::{SettingsReader, quoted, span};
use super::section::section;
use super::value::Setting;
use crate::hook::{
    About, DEFAULT_TIMEOUT, Hook, HookEvent, HookGroup, HookKind, HookShell, MAX_TIMEOUT, Matcher,
};
use crate::mode::choices;
use crate::rule::Rule;
use crate::source::Located;

section! {
    /// Programs that are asked before and after calls.
    HookSettings {
        /// Before a call is judged: allow, ask, deny, another input, text for the model.
        pre_tool_use = "PreToolUse": CallGroups,
        /// Before an approval request: yes or no in place of the approver, to what is routine.
        permission_request = "PermissionRequest": CallGroups,
        /// A call was refused in the end.
        permission_denied = "PermissionDenied": CallGroups,
        /// A call has been carried out: text for the model.
        post_tool_use = "PostToolUse": CallGroups,
        /// A call was let through and failed: text for the model.
        post_tool_use_failure = "PostToolUseFailure": CallGroups,
        /// A session starts: text for the model.
        session_start = "SessionStart": KindGroups,
        /// A session has ended.
        session_end = "SessionEnd": KindGroups,
        /// A subagent starts: text for its model.
        subagent_start = "SubagentStart": KindGroups,
        /// A subagent wants to stop.
        subagent_stop = "SubagentStop": KindGroups,
        /// A message is shown to the user.
        notification = "Notification": KindGroups,
        /// The user sent a prompt to the agent.
        user_prompt_submit = "UserPromptSubmit": PlainGroups,
        /// The agent wants to stop.
        stop = "Stop": PlainGroups,
        /// The agent is about to shorten what it remembers.
        pre_compact = "PreCompact": KindGroups,
        /// As `PreToolUse`, where other agents write it.
        pre_tool_call = "pre_tool_call": CallGroups,
        /// As `PostToolUse`, where other agents write it.
        post_tool_call = "post_tool_call": CallGroups,
    }
}

impl HookSettings {
    /// The groups of an event, in the order of the file.
    pub fn groups(&self, event: HookEvent) -> impl Iterator<Item = &HookGroup> {
        let (own, also): (&[HookGroup], &[HookGroup]) = match event {
            HookEvent::PreToolUse => (&self.pre_tool_use.0, &self.pre_tool_call.0),
            HookEvent::PermissionRequest => (&self.permission_request.0, &[]),
            HookEvent::PermissionDenied => (&self.permission_denied.0, &[]),
            HookEvent::PostToolUse => (&self.post_tool_use.0, &self.post_tool_call.0),
            HookEvent::PostToolUseFailure => (&self.post_tool_use_failure.0, &[]),
            HookEvent::SessionStart => (&self.session_start.0, &[]),
            HookEvent::SessionEnd => (&self.session_end.0, &[]),
            HookEvent::SubagentStart => (&self.subagent_start.0, &[]),
            HookEvent::SubagentStop => (&self.subagent_stop.0, &[]),
            HookEvent::Notification => (&self.notification.0, &[]),
            HookEvent::UserPromptSubmit => (&self.user_prompt_submit.0, &[]),
            HookEvent::Stop => (&self.stop.0, &[]),
            HookEvent::PreCompact => (&self.pre_compact.0, &[]),
        };
        own.iter().chain(also)
    }

    /// Every hook, with its event.
    pub fn all(&self) -> impl Iterator<Item = (HookEvent, &Located<Hook>)> {
        let of = |event: HookEvent| {
            self.groups(event).flat_map(move |group| group.hooks.iter().map(move |h| (event, h)))
        };
        HookEvent::ALL.iter().copied().flat_map(of)
    }
}

/// Groups of an event that is about a call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CallGroups(pub Vec<HookGroup>);

/// Groups of an event that has kinds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KindGroups(pub Vec<HookGroup>);

/// Groups of an event that is about nothing else.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlainGroups(pub Vec<HookGroup>);

macro_rules! groups {
    ($($name:ident = $about:expr, $definition:literal;)+) => { $(
        impl Setting for $name {
            fn read(value: &Value<'_>, reader: &mut SettingsReader<'_>) -> Option<Self> {
                let Value::Array(list) = value else {
                    return reader.wrong_type(value, "a list in square brackets");
                };
                Some(Self(list.elements.iter().map(|value| group(value, reader, $about)).collect()))
            }

            fn schema() -> serde_json::Value {
                json!({"$ref": concat!("#/$defs/", $definition)})
            }
        }
    )+

    /// The schemas that those of events refer to, by their names.
    pub(super) fn definitions() -> serde_json::Value {
        json!({ $( $definition: groups_schema($about), )+ })
    }
    };
}

groups! {
    CallGroups = About::Call, "hooksOfCalls";
    KindGroups = About::Kind(""), "hooksOfKinds";
    PlainGroups = About::Nothing, "hooks";
}

/// The keys of a group.
pub(super) const GROUP: &[&str] = &["matcher", "hooks"];

fn group(value: &Value<'_>, reader: &mut SettingsReader<'_>, about: About) -> HookGroup {
    let mut group = HookGroup { matcher: Matcher::default(), hooks: Vec::new() };
    reader.section(value, GROUP, |reader, key, value| match key {
        "matcher" => group.matcher = matcher(value, reader, about).unwrap_or_default(),
        _ => group.hooks = hooks(value, reader, about),
    });
    reader.needs(value, &["hooks"]);
    group
}

fn matcher(value: &Value<'_>, reader: &mut SettingsReader<'_>, about: About) -> Option<Matcher> {
    let Value::StringLit(text) = value else { return reader.wrong_type(value, "a text in double quotes") };
    match Matcher::parse(&text.value) {
        Ok(matcher) if about == About::Nothing && !matcher.is_everything() => {
            reader.report(
                span(value),
                "this event has no kinds that could be matched",
                "take the matcher away",
            );
            None
        }
        Ok(matcher) => Some(matcher),
        Err(bad) => {
            reader.report(
                span(value),
                format!("the matcher {} cannot be meant: {}", quoted(&text.value), bad.why),
                bad.mend,
            );
            None
        }
    }
}

fn hooks(value: &Value<'_>, reader: &mut SettingsReader<'_>, about: About) -> Vec<Located<Hook>> {
    let Value::Array(list) = value else {
        reader.wrong_type::<()>(value, "a list in square brackets");
        return Vec::new();
    };
    let mut located = |value: &Value<'_>| {
        let source = reader.source(span(value).start);
        Some(Located { value: hook(value, reader, about)?, source })
    };
    list.elements.iter().filter_map(&mut located).collect()
}

choices! {
    /// The kind of a hook.
    HookType {
        /// A program.
        #[default]
        Command = "command";
        /// An address.
        Http = "http";
    }
}

choices! {
    /// The effect of a failing hook on its call.
    OnFailure {
        /// The hook has no say.
        #[default]
        Continue = "continue";
        /// Denies the call.
        Block = "block";
    }
}

section! {
    /// A program that is asked.
    CommandHook needs ["type", "command"] {
        /// `command`.
        kind = "type": HookType,
        /// The command line, for `sh -c` in the folder of the session; with `args` the program alone.
        command = "command": String,
        /// The arguments; then the program is started without a shell.
        args = "args": Option<Vec<String>>,
        /// The shell.
        shell = "shell": HookShell,
        /// A rule: asked only about calls that it covers.
        only = "if": Option<Rule>,
        /// The time limit for an answer, in seconds.
        timeout = "timeout": Option<Seconds>,
        /// A failure is a no.
        fail_closed = "failClosed": bool,
        /// As `failClosed`, where other agents write it.
        on_failure = "onFailure": OnFailure,
        /// Started and not waited for; it has no say.
        in_background = "async": bool,
        /// Asked the first time only.
        once = "once": bool,
        /// Shown to the user where other agents show it.
        status_message = "statusMessage": Option<String>,
    }
}

section! {
    /// An address that is asked.
    HttpHook needs ["type", "url"] {
        /// `http`.
        kind = "type": HookType,
        /// The address that the same JSON is posted to.
        url = "url": String,
        /// Header lines to send along. `$NAME` and `${NAME}` stand for variables of `allowedEnvVars`.
        headers = "headers": Headers,
        /// The variables that header lines may name.
        variables = "allowedEnvVars": Vec<String>,
        /// Without TLS, and to another machine.
        plain = "allowPlainHttp": bool,
        /// A rule: asked only about calls that it covers.
        only = "if": Option<Rule>,
        /// The time limit for an answer, in seconds.
        timeout = "timeout": Option<Seconds>,
        /// A failure is a no.
        fail_closed = "failClosed": bool,
        /// As `failClosed`, where other agents write it.
        on_failure = "onFailure": OnFailure,
        /// Started and not waited for; it has no say.
        in_background = "async": bool,
        /// Asked the first time only.
        once = "once": bool,
        /// Shown to the user where other agents show it.
        status_message = "statusMessage": Option<String>,
    }
}

fn entry<'e, 'v>(value: &'e Value<'v>, key: &str) -> Option<&'e ObjectProp<'v>> {
    let Value::Object(object) = value else { return None };
    object.properties.iter().find(|entry| entry.name.as_str() == key)
}

fn hook(value: &Value<'_>, reader: &mut SettingsReader<'_>, about: About) -> Option<Hook> {
    if let (About::Kind(_) | About::Nothing, Some(entry)) = (about, entry(value, "if")) {
        reader.report(span(&entry.name), "`if` is about calls, and this event is about none", "take it away");
    }
    let kind = match entry(value, "type") {
        // A type that is not known is told alone: nothing is known of its keys either.
        Some(entry) => HookType::read(&entry.value, reader)?,
        None => HookType::default(),
    };
    match kind {
        HookType::Command => command(value, reader),
        HookType::Http => http(value, reader),
    }
}

fn command(value: &Value<'_>, reader: &mut SettingsReader<'_>) -> Option<Hook> {
    let parsed = CommandHook::read(value, reader)?;
    if let (Some(_), Some(entry)) = (&parsed.args, entry(value, "shell")) {
        reader.report(span(&entry.name), "with `args` no shell is started", "keep one of the two");
    }
    Some(Hook {
        asks: HookKind::Command { command: parsed.command, args: parsed.args, shell: parsed.shell },
        only: parsed.only,
        timeout: parsed.timeout.unwrap_or_default().0,
        fail_closed: parsed.fail_closed || parsed.on_failure == OnFailure::Block,
        in_background: parsed.in_background,
        once: parsed.once,
    })
}

fn http(value: &Value<'_>, reader: &mut SettingsReader<'_>) -> Option<Hook> {
    let parsed = HttpHook::read(value, reader)?;
    let tell = |reader: &mut SettingsReader<'_>, key, (what, mend): (String, &str)| {
        if let Some(entry) = entry(value, key) {
            reader.report(span(&entry.value), what, mend);
        }
    };
    if !parsed.url.is_empty()
        && let Err(bad) = address(&parsed.url, parsed.plain)
    {
        tell(reader, "url", bad);
    }
    for (_, line) in &parsed.headers.0 {
        if let Some(name) = named(line).find(|name| !parsed.variables.iter().any(|own| own == name)) {
            let what = format!("the variable {} is not among `allowedEnvVars`", quoted(name));
            tell(reader, "headers", (what, "name it there, or take it out"));
        }
    }
    Some(Hook {
        asks: HookKind::Http { url: parsed.url, headers: parsed.headers.0, variables: parsed.variables },
        only: parsed.only,
        timeout: parsed.timeout.unwrap_or_default().0,
        fail_closed: parsed.fail_closed || parsed.on_failure == OnFailure::Block,
        in_background: parsed.in_background,
        once: parsed.once,
    })
}

/// Returns whether something can be posted to an address, and may: without TLS only to this machine.
fn address(url: &str, plain: bool) -> Result<(), (String, &'static str)> {
    let bad = |what: &str, mend| Err((format!("{} {what}", quoted(url)), mend));
    let (rest, tls) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
        (Some(rest), _) => (rest, true),
        (None, Some(rest)) => (rest, false),
        (None, None) => return bad("is no address", "start it with `https://`"),
    };
    if url.chars().any(|c| c.is_whitespace() || c.is_control() || c == '\\' || !c.is_ascii()) {
        return bad("holds what no address can hold", "write it in percent signs");
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return bad("holds a name or password", "send it by `headers`");
    }
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    if host.is_empty() {
        return bad("names no host", "start it with `https://`");
    }
    let here = host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    if tls || here || plain {
        Ok(())
    } else {
        bad("leaves this machine without TLS", "start it with `https://`, or say \"allowPlainHttp\": true")
    }
}

/// The variables that the value of a header line names.
pub fn named(line: &str) -> impl Iterator<Item = &str> {
    line.split('$').skip(1).filter_map(|rest| {
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        rest.get(..end).filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
    })
}

/// A time in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seconds(pub Duration);

impl Default for Seconds {
    fn default() -> Self {
        Self(DEFAULT_TIMEOUT)
    }
}

impl Setting for Seconds {
    fn read(value: &Value<'_>, reader: &mut SettingsReader<'_>) -> Option<Self> {
        let Value::NumberLit(number) = value else { return reader.wrong_type(value, "a number of seconds") };
        let seconds = number.value.parse::<f64>().ok().filter(|seconds| *seconds > 0.0);
        let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let time = time.filter(|time| *time <= MAX_TIMEOUT);
        if time.is_none() {
            let what = format!("{} is no time that a hook can have", quoted(number.value));
            reader.report(span(value), what, "write seconds, at most 3600");
        }
        time.map(Self)
    }

    fn schema() -> serde_json::Value {
        json!({"type": "number", "exclusiveMinimum": 0, "maximum": MAX_TIMEOUT.as_secs(), "default": DEFAULT_TIMEOUT.as_secs()})
    }
}

/// Header lines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Headers(pub Vec<(String, String)>);

/// Header lines that are not the person's to write: the body decides them.
const NOT_OURS: &[&str] = &["content-length", "content-type", "host", "transfer-encoding", "connection"];

impl Setting for Headers {
    fn read(value: &Value<'_>, reader: &mut SettingsReader<'_>) -> Option<Self> {
        let Value::Object(object) = value else { return reader.wrong_type(value, "an object") };
        let mut headers = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for entry in &object.properties {
            let name = entry.name.as_str();
            let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
            if !reader.is_first(entry, &mut seen) {
                continue;
            }
            if name.is_empty()
                || !name.chars().all(is_token)
                || NOT_OURS.contains(&&*name.to_ascii_lowercase())
            {
                reader.report(span(&entry.name), format!("{} is no header line to choose", quoted(name)), "");
                continue;
            }
            if let Some(line) = String::read(&entry.value, reader) {
                if line.chars().any(char::is_control) {
                    reader.report(
                        span(&entry.value),
                        "a control character stands in this line",
                        "take it out",
                    );
                } else {
                    headers.push((name.to_owned(), line));
                }
            }
        }
        Some(Self(headers))
    }

    fn schema() -> serde_json::Value {
        json!({"type": "object", "additionalProperties": {"type": "string", "minLength": 1}})
    }
}

/// Returns the schema for every group of a kind of event.
fn groups_schema(about: About) -> serde_json::Value {
    let of = |word: &str, mut schema: serde_json::Value| {
        if let Some(properties) = schema.get_mut("properties").and_then(serde_json::Value::as_object_mut) {
            properties.insert("type".to_owned(), json!({"const": word, "description": "What is asked."}));
            if about != About::Call {
                properties.shift_remove("if");
            }
        }
        schema
    };
    let matcher = match about {
        About::Call => {
            json!({"type": "string", "description": "Names of tools with `|` between them, or a regular expression; empty or `*`: every tool."})
        }
        About::Kind(_) => {
            json!({"type": "string", "description": "Kinds of the event with `|` between them, or a regular expression; empty or `*`: every kind."})
        }
        About::Nothing => json!({"enum": ["", "*"], "description": "This event has no kinds."}),
    };
    let hook = json!({"anyOf": [of("command", CommandHook::schema()), of("http", HttpHook::schema())]});
    let properties = json!({"matcher": matcher, "hooks": {"type": "array", "items": hook, "description": "The hooks, asked side by side."}});
    json!({
        "type": "array",
        "items": {"type": "object", "properties": properties, "required": ["hooks"], "additionalProperties": false},
    })
}

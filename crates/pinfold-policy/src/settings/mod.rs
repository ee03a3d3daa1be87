//! One settings file as data: text in, [`Settings`] or everything that is wrong with it out.
//!
//! JSON with comments and trailing commas, and nothing looser. A key that is not known, a key that stands twice, a
//! value of the wrong type or a rule that cannot be read is told with its line and column and what to write
//! instead, all of a file at once; the file is then not used at all. What a file may say is declared once, below;
//! the reader, the list of known keys and the JSON Schema come from there.

mod approvals;
mod bad;
mod edit;
mod fetch;
mod flags;
pub mod hooks;
mod judge;
mod network;
mod reader;
mod record;
#[expect(
    unreachable_pub,
    reason = "what is declared for settings is public, also where it is only a way to read them"
)]
mod secrets;
mod section;
mod value;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::json;

pub use approvals::{ApprovalTimeout, WebhookUrl};
pub use bad::{BadSetting, BadSettings};
pub use edit::{List, SettingsChange, Word, edited};
pub use fetch::{FetchBudget, FetchSize, Fetches};
pub use flags::{Flags, separate_rules};
pub use hooks::HookSettings;
pub use judge::JudgeSettings;
pub use network::{NetworkSettings, Pins, Port, SocketPlace};
use reader::SettingsReader;
pub use record::{Count, RecordSettings, Size};
pub use secrets::{SecretFrom, SecretHost, SecretSetting, Secrets};
use section::section;
pub use value::AllowRules;
use value::Setting;

use crate::decision::Decision;
use crate::merge::Renamed;
use crate::mode::{BashMode, MinSeverity, Mode, Reads, choices};
use crate::path_scopes::ToolScopes;
use crate::rule::Rule;
use crate::source::{Layer, Located, Source};

/// The longest text that is read: more than ten thousand rules take.
pub const MAX_BYTES: usize = 4 << 20;

/// Address at which the schema of these files is published, for the key `$schema`.
pub const SCHEMA_URL: &str =
    "https://raw.githubusercontent.com/pinfold/pinfold/main/docs/settings.schema.json";

choices! {
    /// The range of a command's writes. The kernel holds it.
    SandboxMode {
        /// Nothing but a private temporary directory.
        ReadOnly = "read-only" | "ReadOnly";
        /// The folder, a private temporary directory and declared places.
        #[default]
        WorkspaceWrite = "workspace-write" | "WorkspaceWrite";
        /// Anywhere but what is guarded.
        DefaultWrite = "default-write" | "DefaultWrite";
        /// Whatever the person could.
        Off = "off";
    }
}

choices! {
    /// The network access of a command.
    Network {
        /// Nothing.
        #[default]
        Off = "off";
        /// Whatever this machine can.
        Host = "host";
    }
}

section! {
    /// Calls that need no question, calls that are asked about, and calls that are denied.
    Permissions {
        /// The mode: the decision when no rule has an opinion.
        default_mode = "defaultMode": Option<Located<Mode>>,
        /// Calls that need no question, such as `Bash(npm run *)`.
        allow = "allow": AllowRules,
        /// Calls that are asked about, whatever is allowed.
        ask = "ask": Vec<Located<Rule>>,
        /// Calls that are denied, whatever else is said anywhere.
        deny = "deny": Vec<Located<Rule>>,
        /// More folders that may be read, and written as the mode says. Nothing is configured from there.
        additional_directories = "additionalDirectories": Vec<Located<String>>,
        /// Locks `bypassPermissions`. Counts in managed settings only.
        disable_bypass = "disableBypassPermissionsMode": Option<Located<bool>>,
        /// Allow rules of others are not used. Counts in managed settings only.
        managed_rules_only = "allowManagedPermissionRulesOnly": Option<Located<bool>>,
        /// Ask rules hold in `bypassPermissions` and against grants of the session too.
        ask_rules_in_bypass = "askRulesInBypass": Option<Located<bool>>,
    }
}

section! {
    /// Places that are asked about beyond those that are built in.
    GuardSettings {
        /// Patterns of places that are guarded against writing.
        write = "write": Vec<Located<String>>,
        /// Patterns of places that are guarded against reading.
        read = "read": Vec<Located<String>>,
        /// Patterns of places that are not guarded after all. Counts in user and managed settings only.
        except = "except": Vec<Located<String>>,
    }
}

section! {
    /// The sandbox of commands.
    SandboxSettings {
        /// The range of writes.
        mode = "mode": Option<Located<SandboxMode>>,
        /// More places that can be written.
        writable = "writable": Vec<Located<String>>,
        /// Patterns of places that are asked about before they are written.
        deny_write = "denyWrite": Vec<Located<String>>,
        /// Patterns of places that are asked about before they are read.
        deny_read = "denyRead": Vec<Located<String>>,
        /// The network access.
        network = "network": Option<Located<Network>>,
    }
}

section! {
    /// A program elsewhere that is asked over HTTP.
    WebhookSettings needs ["url"] {
        /// The address that questions are sent to. `https`, or an address of this machine.
        url = "url": Option<WebhookUrl>,
        /// The environment variable that holds the secret by which both sides know each other.
        secret_env = "secretEnv": Option<String>,
    }
}

section! {
    /// The channels to approvers.
    ApprovalSettings {
        /// The time limit for an answer: `90s`, `10m`, `2h`. Silence is a no.
        timeout = "timeout": Option<Located<ApprovalTimeout>>,
        /// Questions at the terminal of the session, on or off.
        terminal = "terminal": Option<Located<bool>>,
        /// `true`: other terminals and the page of this machine are waited for although none watches yet. `false`: they cannot answer at all.
        socket = "socket": Option<Located<bool>>,
        /// A program elsewhere that is asked over HTTP.
        webhook = "webhook": Option<Located<WebhookSettings>>,
    }
}

section! {
    /// An expectation: what these settings decide about a call.
    PolicyTest needs ["call", "expect"] {
        /// The call, written like a rule: `Bash(git push)`.
        call = "call": Option<Located<String>>,
        /// The expected decision.
        expect = "expect": Option<Located<Decision>>,
        /// The mode it is decided in; without it, the one that holds.
        mode = "mode": Option<Located<Mode>>,
    }
}

section! {
    /// The content of one settings file.
    Content {
        /// The JSON Schema of this file, for editors.
        schema = "$schema": Option<String>,
        /// Calls that need no question, calls that are asked about, and calls that are denied.
        permissions = "permissions": Permissions,
        /// The conditions under which a command needs no question although no rule allows it.
        bash = "bash": Option<Located<BashMode>>,
        /// The shell of an unattended agent, on or off.
        allow_bash = "allowBash": Option<Located<bool>>,
        /// The safeguards that always ask. Counts in user and managed settings only.
        always_ask = "alwaysAsk": Option<Located<MinSeverity>>,
        /// The former name of `alwaysAsk`, read as that.
        immune = "immune": Option<Located<MinSeverity>>,
        /// The range of an agent's reads.
        reads = "reads": Option<Located<Reads>>,
        /// Places that are asked about beyond those that are built in.
        guards = "guards": GuardSettings,
        /// The sandbox of commands.
        sandbox = "sandbox": SandboxSettings,
        /// The channels to approvers. Counts in user and managed settings only.
        approvals = "approvals": ApprovalSettings,
        /// Paths that each tool is confined to.
        tools = "tools": Option<Located<serde_json::Value>>,
        /// Programs that are asked before and after calls.
        hooks = "hooks": Option<Located<HookSettings>>,
        /// Lets hooks answer questions of unattended agents. Counts in user and managed settings only.
        headless_permission_request = "headlessPermissionRequest": Option<Located<bool>>,
        /// Hooks of others are not asked. Counts in managed settings only.
        managed_hooks_only = "allowManagedHooksOnly": Option<Located<bool>>,
        /// A program that may answer routine questions in the mode `auto`. Counts in user and managed settings only.
        judge = "judge": Option<Located<JudgeSettings>>,
        /// Hosts that can be reached.
        network = "network": NetworkSettings,
        /// The limits of the audit log. Counts in user and managed settings only.
        record = "record": RecordSettings,
        /// Expectations about these settings, for `pinfold rules test`.
        tests = "tests": Vec<PolicyTest>,
        /// As in `permissions`, where other agents write it.
        disable_bypass = "disableBypassPermissionsMode": Option<Located<bool>>,
        /// As in `permissions`, where other agents write it.
        managed_rules_only = "allowManagedPermissionRulesOnly": Option<Located<bool>>,
    }
}

impl serde::Serialize for WebhookSettings {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.url.serialize(serializer)
    }
}

/// The sections with keys of their own, for a key that stands in the wrong one.
const SECTIONS: &[(&str, &[&str])] = &[
    ("in `permissions`", Permissions::KEYS),
    ("in `sandbox`", SandboxSettings::KEYS),
    ("in `guards`", GuardSettings::KEYS),
    ("in `record`", RecordSettings::KEYS),
    ("at the top", Content::KEYS),
    ("in `hooks`", HookSettings::KEYS),
    ("in an entry of an event", hooks::GROUP),
    ("in a hook of type `command`", hooks::CommandHook::KEYS),
    ("in a hook of type `http`", hooks::HttpHook::KEYS),
    ("in `approvals`", ApprovalSettings::KEYS),
    ("in `judge`", JudgeSettings::KEYS),
    ("in `network`", NetworkSettings::KEYS),
];

/// Returns the section that a key belongs to, if it is known anywhere.
fn section_of(key: &str) -> Option<&'static str> {
    SECTIONS.iter().find(|(_, keys)| keys.contains(&key)).map(|(section, _)| *section)
}

/// One settings file, understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The layer of the file.
    pub layer: Layer,
    /// The content.
    pub says: Content,
    /// Allow rules of it that cannot be read: told, and without effect.
    pub without_effect: Vec<BadSetting>,
    /// Values that were read by a former word: they count, and the person is told the new one.
    pub renamed: Vec<Renamed>,
}

impl Settings {
    /// Reads a file. `file` is its name for messages.
    ///
    /// # Errors
    /// [`BadSettings`]: everything in it that cannot be meant.
    pub fn parse(bytes: &[u8], layer: Layer, file: &Arc<str>) -> Result<Self, BadSettings> {
        let text = text(bytes).map_err(|(what, mend)| whole_file(layer, file, what, mend))?;
        let mut reader = SettingsReader::new(text, layer, Arc::clone(file));
        let says = content(text, &mut reader);
        let SettingsReader { mut bad, mut without_effect, renamed, .. } = reader;
        if layer == Layer::Managed {
            bad.append(&mut without_effect);
        }
        bad.sort_by_key(|bad| bad.span.start);
        match says {
            Some(says) if bad.is_empty() => Ok(Self { layer, says, without_effect, renamed }),
            _ => Err(BadSettings { text: text.into(), bad }),
        }
    }

    /// A layer that says nothing yet.
    pub fn silent(layer: Layer) -> Self {
        Self { layer, says: Content::default(), without_effect: Vec::new(), renamed: Vec::new() }
    }

    /// The JSON Schema of a settings file.
    pub fn schema() -> serde_json::Value {
        let mut schema = Content::schema();
        if let Some(tools) =
            schema.pointer_mut("/properties/tools").and_then(serde_json::Value::as_object_mut)
            && let serde_json::Value::Object(section) = ToolScopes::schema()
        {
            tools.extend(section);
        }
        if let Some(object) = schema.as_object_mut() {
            object.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
            object.insert("$id".to_owned(), json!(SCHEMA_URL));
            object.insert("title".to_owned(), json!("Settings of pinfold"));
            object.insert("allowTrailingCommas".to_owned(), json!(true));
            object.insert("$defs".to_owned(), hooks::definitions());
        }
        schema
    }
}

/// The text of a file, without the mark that some editors put in front.
fn text(bytes: &[u8]) -> Result<&str, (&'static str, &'static str)> {
    if bytes.len() > MAX_BYTES {
        return Err(("the file is longer than 4 MiB", "that is no settings file"));
    }
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        return Err(("the file is written in UTF-16", "save it as UTF-8"));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| ("the file is not UTF-8", "save it as UTF-8"))?;
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    // Alone it ends a comment for the parser and not for most editors: what looks commented out would count.
    if text.split('\r').skip(1).any(|rest| !rest.starts_with('\n')) {
        return Err(("a carriage return stands alone in the file", "end lines with a line feed"));
    }
    Ok(text)
}

fn whole_file(layer: Layer, file: &Arc<str>, what: &str, mend: &str) -> BadSettings {
    let source = Source::in_file(layer, Arc::clone(file), 1, 1);
    BadSettings::one("", BadSetting { source, span: 0..0, what: what.to_owned(), mend: mend.to_owned() })
}

/// The content; what is wrong with it is left with the reader.
fn content(text: &str, reader: &mut SettingsReader<'_>) -> Option<Content> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &STRICT);
    let value = match parsed {
        Ok(parsed) => parsed.value,
        Err(bad) => {
            let range = bad.range();
            let what = bad.kind().to_string();
            reader.report(range.start..range.end, lower_first(&what), "");
            return None;
        }
    };
    let Some(value) = value else {
        reader.report(0..0, "the file is empty", "write `{}`, or take the file away");
        return None;
    };
    Content::read(&value, reader)
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// Comments and trailing commas, and no other liberty: what an editor marks as wrong is wrong here.
const STRICT: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

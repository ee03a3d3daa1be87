//! Claude Code: `settings.json`, where rules are written as ours are. Its sandbox holds commands by the kernel.
//!
//! Follows <https://code.claude.com/docs/en/permissions> and <https://code.claude.com/docs/en/sandboxing>.

use pinfold_host::HostRule;
use pinfold_policy::pattern::Base;
use pinfold_policy::rule::{Effect, RuleSubject};
use pinfold_policy::settings::SandboxMode;
use pinfold_policy::{Layer, Merged, Mode, Rule};
use serde_json::Value;

use super::command::{PatternForm, UnexportedPrograms, is_allowed_bare};
use super::path_rule::{ExportedPathRule, PathOperation, hidden};
use super::text::{Content, Edit};
use super::{ASKED, BESIDE, EnforcedBy, Export, ExportedFile, Rows, format_rule};

/// Returns the lists of the agent that an effect belongs to.
fn list(effect: Effect) -> &'static [&'static str] {
    match effect {
        Effect::Allow => &["permissions", "allow"],
        Effect::Ask => &["permissions", "ask"],
        Effect::Deny => &["permissions", "deny"],
    }
}

const SANDBOX: &str = "/sandbox/enabled";
const MODE: &str = "/permissions/defaultMode";
const HOLDS: &str = "where its sandbox can be started";

pub(super) fn export(ours: &Merged, layer: Layer) -> Export {
    let mut made = Claude { ours, layer, rows: Rows::default(), edits: Vec::new() };
    made.line();
    made.mode();
    let unsaid = UnexportedPrograms::collect(ours, |_| true);
    for rule in &ours.rules {
        made.rule(rule.effect, &rule.rule, &unsaid);
    }
    made.places();
    made.hosts();
    let name = if layer == Layer::Local { "settings.local.json" } else { "settings.json" };
    Export { rows: made.rows.0, parts: vec![ExportedFile { name, content: Content::Json(made.edits) }] }
}

struct Claude<'a> {
    ours: &'a Merged,
    layer: Layer,
    rows: Rows,
    edits: Vec<Edit>,
}

impl Claude<'_> {
    fn include(&mut self, path: &'static [&'static str], entry: impl Into<String>) {
        self.edits.push(Edit::Include(path, entry.into()));
    }

    fn set(&mut self, path: &'static [&'static str], value: impl Into<Value>) {
        self.edits.push(Edit::Say(path, value.into()));
    }

    fn rule(&mut self, effect: Effect, rule: &Rule, unsaid: &UnexportedPrograms) {
        let ours = format_rule(effect, rule);
        match rule.covers() {
            RuleSubject::Command(_) => self.command(&ours, effect, rule, unsaid),
            RuleSubject::Path(..) => self.path(&ours, effect, rule),
            RuleSubject::Tool(_) if effect == Effect::Allow && rule.text() != "WebSearch" => {
                self.rows.nothing(ours, ASKED);
            }
            RuleSubject::Host(_) if effect == Effect::Allow && rule.text().ends_with(":*)") => {
                self.rows.nothing(ours, ASKED);
            }
            RuleSubject::Tool(_) | RuleSubject::Host(_) => self.same(&ours, effect, rule.text()),
            RuleSubject::Skill(_) | RuleSubject::Agent(_) => {
                let text = rule.text().replacen("Task(", "Agent(", 1);
                match effect {
                    Effect::Allow if text.contains(['*', '?']) => self.rows.nothing(ours, ASKED),
                    _ => self.same(&ours, effect, &text),
                }
            }
            RuleSubject::Mcp(_) => self.server(&ours, effect, rule.text()),
        }
    }

    fn same(&mut self, ours: &str, effect: Effect, text: &str) {
        self.rows.held(ours, EnforcedBy::Gate, "");
        self.include(list(effect), text);
    }

    fn command(&mut self, ours: &str, effect: Effect, rule: &Rule, unsaid: &UnexportedPrograms) {
        let Some(form) = PatternForm::from_rule(rule) else {
            let why = match effect {
                Effect::Allow => ASKED,
                Effect::Ask | Effect::Deny => "its words mean something else there",
            };
            return self.rows.nothing(ours, why);
        };
        if effect == Effect::Allow && unsaid.concerns(&form) {
            return self.rows.nothing(ours, BESIDE);
        }
        match (&form, effect) {
            (PatternForm::Glob(_), Effect::Allow) => self.rows.nothing(ours, ASKED),
            (PatternForm::Exact(words), _) => self.same(ours, effect, &format!("Bash({words})")),
            (PatternForm::Any(words), _) => {
                self.same(ours, effect, &format!("Bash({words} *)"));
                self.include(list(effect), format!("Bash({words})"));
            }
            (PatternForm::More(words), Effect::Allow) => {
                self.same(ours, effect, &format!("Bash({words} *)"));
                if !is_allowed_bare(self.ours, words) {
                    // There the pattern is about the words alone, too.
                    self.include(list(Effect::Ask), format!("Bash({words})"));
                }
            }
            (PatternForm::More(words), Effect::Ask | Effect::Deny) => {
                self.same(ours, effect, &format!("Bash({words} *)"));
            }
            (PatternForm::Glob(text), Effect::Ask | Effect::Deny) => {
                self.same(ours, effect, &format!("Bash({})", text.replace('?', "*")));
            }
        }
    }

    fn path(&mut self, ours: &str, effect: Effect, rule: &Rule) {
        let Some(place) = ExportedPathRule::from_rule(rule) else { return self.rows.nothing(ours, ASKED) };
        let from_its_file = place.base == Base::Project && self.layer == Layer::User;
        if place.is_odd() || from_its_file {
            let why = if from_its_file {
                "there it would start at your own file"
            } else {
                "its pattern means something else there"
            };
            return self.rows.nothing(ours, why);
        }
        // There a pattern starts where the agent works, unless it starts at the root.
        let pattern = match place.base {
            Base::Anywhere => format!("//{}", place.pattern),
            _ => place.pattern.to_owned(),
        };
        match (effect, place.deed) {
            (Effect::Allow, deed) => self.allowed(ours, &place, deed, &pattern),
            (Effect::Ask, deed) => self.same(ours, effect, &format!("{}({pattern})", tool(deed))),
            (Effect::Deny, deed) => {
                self.include(list(effect), format!("{}({pattern})", tool(deed)));
                match place.absolute() {
                    None => {
                        self.rows.held(ours, EnforcedBy::Gate, "commands only as far as it understands them");
                    }
                    Some(at) => {
                        self.rows.held(ours, EnforcedBy::KernelAndGate, HOLDS).needs(SANDBOX, true);
                        self.include(denied(deed), at);
                    }
                }
            }
        }
    }

    /// There a name covers what lies beneath, and one rule is about all tools that change files.
    fn allowed(&mut self, ours: &str, place: &ExportedPathRule<'_>, deed: PathOperation, pattern: &str) {
        let fits = place.anchored && place.is_plain() && place.pattern.ends_with("/**");
        let has = |tool: &str| {
            let text = format!("{tool}({})", place.pattern);
            self.ours.rules.iter().any(|r| r.effect == Effect::Allow && r.rule.text() == text)
        };
        match deed {
            _ if !fits => self.rows.nothing(ours, ASKED),
            PathOperation::Reads if place.tool.as_str() == "Read" => {
                self.same(ours, Effect::Allow, &format!("Read({pattern})"));
            }
            PathOperation::Reads => self.rows.nothing(ours, ASKED),
            PathOperation::Changes if has("Edit") && has("Write") => {
                self.same(ours, Effect::Allow, &format!("Edit({pattern})"));
            }
            PathOperation::Changes => {
                self.rows.nothing(
                    ours,
                    "there it would be about every tool that changes files; allow Edit and Write here",
                );
            }
        }
    }

    fn server(&mut self, ours: &str, effect: Effect, text: &str) {
        let name = text.strip_prefix("MCP(").and_then(|rest| rest.strip_suffix(')')).unwrap_or(text).trim();
        let literal = !name.strip_suffix("__*").unwrap_or(name).contains(['*', '?']);
        match (effect, name) {
            (Effect::Allow, "MCP") => self.rows.nothing(ours, ASKED),
            (Effect::Allow, _) if !literal => self.rows.nothing(ours, ASKED),
            (_, "MCP") => self.same(ours, effect, "mcp__*"),
            (_, name) if name.starts_with("mcp__") => self.same(ours, effect, name),
            _ => self.rows.nothing(ours, "it names no server"),
        }
    }

    /// The folder, what is hidden, and that nothing runs without a question only because the kernel holds it.
    fn line(&mut self) {
        let mode = self.ours.sandbox.mode.as_ref().map_or(SandboxMode::default(), |mode| mode.value);
        let told = format!("sandbox.mode = {}", mode.as_str());
        match mode {
            SandboxMode::Off => {
                return self.rows.nothing(told, "a line that is switched off is not handed on");
            }
            SandboxMode::WorkspaceWrite => {
                self.rows.held(told, EnforcedBy::Kernel, HOLDS).needs(SANDBOX, true);
            }
            SandboxMode::ReadOnly | SandboxMode::DefaultWrite => {
                let why = "its sandbox lets commands write the folder and nothing else";
                self.rows.held(told, EnforcedBy::Kernel, why).needs(SANDBOX, true);
            }
        }
        self.set(&["sandbox", "enabled"], true);
        self.set(&["sandbox", "autoAllowBashIfSandboxed"], false);
        self.rows
            .held(
                "commands need a rule or a question",
                EnforcedBy::Gate,
                "but for those that it knows to only read",
            )
            .needs("/sandbox/autoAllowBashIfSandboxed", false);
        for place in hidden() {
            self.include(denied(PathOperation::Reads), place);
        }
        self.rows
            .held("credentials are hidden from commands", EnforcedBy::Kernel, HOLDS)
            .needs(SANDBOX, true);
    }

    fn mode(&mut self) {
        let mode = &self.ours.mode;
        let told = format!("defaultMode = {}", mode.value.as_str());
        match mode.value {
            _ if mode.source.layer == Layer::BuiltIn => {
                self.rows.nothing(told, "not set here; the agent's own default applies");
            }
            Mode::BypassPermissions => {
                self.rows.nothing(told, "a line that is switched off is not handed on");
            }
            Mode::Default | Mode::DontAsk => {
                self.set(&["permissions", "defaultMode"], mode.value.as_str());
                self.rows.held(told, EnforcedBy::Gate, "").needs(MODE, mode.value.as_str());
            }
            Mode::AcceptEdits | Mode::Auto | Mode::Explore => {
                self.set(&["permissions", "defaultMode"], "default");
                let why = "as `default`: there it would let commands run, too";
                self.rows.held(told, EnforcedBy::Gate, why).needs(MODE, "default");
            }
        }
    }

    fn places(&mut self) {
        for folder in &self.ours.additional_directories {
            let told = format!("additionalDirectories {}", folder.value);
            if starts_somewhere(&folder.value) {
                self.edits
                    .push(Edit::Include(&["permissions", "additionalDirectories"], folder.value.clone()));
                self.rows.held(told, EnforcedBy::Gate, "");
            } else {
                self.rows.nothing(told, "there it would start elsewhere");
            }
        }
        for place in &self.ours.sandbox.writable {
            let told = format!("sandbox.writable {}", place.value);
            if starts_somewhere(&place.value) {
                let said = if place.value.starts_with('/') {
                    format!("/{}", place.value)
                } else {
                    place.value.clone()
                };
                self.edits.push(Edit::Include(&["sandbox", "filesystem", "allowWrite"], said));
                self.rows.held(told, EnforcedBy::Kernel, HOLDS).needs(SANDBOX, true);
            } else {
                self.rows.nothing(told, "there it would start elsewhere");
            }
        }
        for (deed, guards) in [
            (PathOperation::Changes, &self.ours.guards.write),
            (PathOperation::Reads, &self.ours.guards.read),
        ] {
            for guard in guards {
                let told = format!(
                    "guards.{} {}",
                    if deed == PathOperation::Reads { "read" } else { "write" },
                    guard.value
                );
                let pattern = match guard.value.as_str() {
                    odd if odd.contains([' ', '!', '[', ']', '\\', '(', ')']) => None,
                    home if home.starts_with("~/") => Some(home.to_owned()),
                    root if root.starts_with('/') => Some(format!("/{root}")),
                    anywhere if anywhere.starts_with("**/") => Some(format!("//{anywhere}")),
                    _ => None,
                };
                match pattern {
                    Some(pattern) => {
                        self.edits
                            .push(Edit::Include(list(Effect::Ask), format!("{}({pattern})", tool(deed))));
                        self.rows.held(told, EnforcedBy::Gate, "commands only as far as it understands them");
                    }
                    None => self.rows.nothing(told, "its pattern means something else there"),
                }
            }
        }
    }

    fn hosts(&mut self) {
        for host in &self.ours.network.allow {
            let why = "there a host is open at every port; it is asked about";
            self.rows.nothing(format!("network.allow {}", host.value), why);
        }
        for host in &self.ours.network.deny {
            let told = format!("network.deny {}", host.value);
            if is_name(&host.value) {
                let name = host.value.to_string();
                self.edits.push(Edit::Include(list(Effect::Deny), format!("WebFetch(domain:{name})")));
                self.edits.push(Edit::Include(&["sandbox", "network", "deniedDomains"], name));
                self.rows.held(told, EnforcedBy::KernelAndGate, HOLDS).needs(SANDBOX, true);
            } else {
                self.rows.nothing(told, "there hosts are names, at every port");
            }
        }
    }
}

fn tool(deed: PathOperation) -> &'static str {
    match deed {
        PathOperation::Reads => "Read",
        PathOperation::Changes => "Edit",
    }
}

fn denied(deed: PathOperation) -> &'static [&'static str] {
    match deed {
        PathOperation::Reads => &["sandbox", "filesystem", "denyRead"],
        PathOperation::Changes => &["sandbox", "filesystem", "denyWrite"],
    }
}

fn starts_somewhere(place: &str) -> bool {
    let plain = !place.contains(['*', '?', '[', '!', '\\']) && !place.split('/').any(|part| part == "..");
    plain && (place.starts_with('/') || place.starts_with("~/")) && place.trim_matches('/').len() > 2
}

/// Names alone, without a port, an address or a network.
pub(super) fn is_name(host: &HostRule) -> bool {
    let text = host.to_string();
    let name = text.strip_prefix("*.").unwrap_or(&text);
    host.port().is_none()
        && name.parse::<std::net::IpAddr>().is_err()
        && !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'.' || b == b'-')
}

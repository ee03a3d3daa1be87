//! opencode: `opencode.json`. Of its own accord it asks about next to nothing, and the last pattern that fits decides: so
//! questions come first, then what is allowed, then what is asked about or denied whatever is allowed.
//!
//! Follows <https://opencode.ai/docs/permissions/>.

use pinfold_policy::pattern::Base;
use pinfold_policy::rule::{Effect, RuleSubject};
use pinfold_policy::{Merged, Mode, Rule};

use super::command::{PatternForm, UnexportedPrograms, is_allowed_bare};
use super::path_rule::{ExportedPathRule, PathOperation};
use super::text::{Content, Edit, Order};
use super::{ASKED, BESIDE, EnforcedBy, Export, ExportedFile, Rows, format_rule};

/// Its permissions that are objects of patterns here, in the order in which they are written.
#[derive(Default)]
struct Orders {
    bash: Order,
    edit: Order,
    read: Order,
    /// Knows no patterns: what rules say about all of it.
    webfetch: Option<Effect>,
    websearch: Option<Effect>,
    task: Order,
    skill: Order,
    servers: Vec<(String, &'static str)>,
}

pub(super) fn export(ours: &Merged) -> Export {
    let mut rows = Rows::default();
    let mut orders = Orders::default();
    orders.bash.first = Some("ask");
    let edits = ours.mode.value;
    if edits != Mode::AcceptEdits {
        orders.edit.first = Some("ask");
    }
    rows.nothing(
        "the folder, credentials and hosts",
        "it has no sandbox; `pinfold run -- opencode` is the sandbox",
    );
    rows.held("commands need a rule or a question", EnforcedBy::Gate, "").needs("/permission/bash/*", "ask");
    match edits {
        Mode::AcceptEdits => {
            rows.held("defaultMode = acceptEdits", EnforcedBy::Gate, "as it does by itself");
        }
        mode => {
            rows.held(format!("defaultMode = {}", mode.as_str()), EnforcedBy::Gate, "")
                .needs("/permission/edit/*", "ask");
        }
    }
    rows.held("a place outside is asked about", EnforcedBy::Gate, "for its file tools")
        .needs("/permission/external_directory", "ask");
    rows.nothing("tools of MCP servers need a rule or a question", "those that no rule names run there");
    let unsaid = UnexportedPrograms::collect(ours, |_| true);
    // What decides last is written last.
    for effect in [Effect::Allow, Effect::Ask, Effect::Deny] {
        for rule in ours.rules.iter().filter(|rule| rule.effect == effect) {
            translate_rule(ours, effect, &rule.rule, &unsaid, &mut orders, &mut rows);
        }
    }
    for guard in ours.guards.write.iter().chain(&ours.guards.read) {
        rows.nothing(
            format!("guards {}", guard.value),
            "commands are not looked at, and patterns start at the folder",
        );
    }
    for host in ours.network.allow.iter().chain(&ours.network.deny) {
        rows.nothing(format!("network {}", host.value), "its permissions are not about hosts of commands");
    }
    Export {
        rows: rows.0,
        parts: vec![ExportedFile { name: "opencode.json", content: Content::Json(orders.edits()) }],
    }
}

impl Orders {
    fn edits(self) -> Vec<Edit> {
        let all: [(&'static [&'static str], Order); 5] = [
            (&["permission", "bash"], self.bash),
            (&["permission", "edit"], self.edit),
            (&["permission", "read"], self.read),
            (&["permission", "task"], self.task),
            (&["permission", "skill"], self.skill),
        ];
        let mut edits = vec![Edit::Say(&["permission", "external_directory"], "ask".into())];
        let pages: [(&'static [&'static str], Option<Effect>); 2] =
            [(&["permission", "webfetch"], self.webfetch), (&["permission", "websearch"], self.websearch)];
        edits.extend(pages.map(|(path, said)| match said {
            None | Some(Effect::Allow) => Edit::Say(path, "ask".into()),
            Some(effect) => Edit::Narrow(path, effect.as_str()),
        }));
        let said = all.into_iter().filter(|(_, order)| *order != Order::default());
        edits.extend(said.map(|(path, order)| Edit::Order(path, order)));
        if !self.servers.is_empty() {
            let narrowed = self.servers;
            edits.push(Edit::Order(&["permission"], Order { narrowed, ..Order::default() }));
        }
        edits
    }
}

fn translate_rule(
    ours: &Merged,
    effect: Effect,
    rule: &Rule,
    unsaid: &UnexportedPrograms,
    orders: &mut Orders,
    rows: &mut Rows,
) {
    let told = format_rule(effect, rule);
    match rule.covers() {
        RuleSubject::Command(_) => match command(ours, effect, rule, unsaid, &mut orders.bash) {
            Ok(Some(allowed)) => {
                let pointer = format!("/permission/bash/{}", allowed.replace('~', "~0").replace('/', "~1"));
                rows.held(told, EnforcedBy::Gate, "").needs(&pointer, "allow");
            }
            Ok(None) => {
                rows.held(told, EnforcedBy::Gate, "");
            }
            Err(why) => rows.nothing(told, why),
        },
        RuleSubject::Path(..) => {
            match ExportedPathRule::from_rule(rule)
                .and_then(|place| Some((place.deed, patterns(effect, &place)?)))
            {
                Some((deed, patterns)) => {
                    let order =
                        if deed == PathOperation::Reads { &mut orders.read } else { &mut orders.edit };
                    for pattern in patterns {
                        order.narrow(pattern, effect);
                    }
                    rows.held(told, EnforcedBy::Gate, "commands are not looked at");
                }
                None => rows.nothing(told, "patterns start at the folder there, and mean more"),
            }
        }
        RuleSubject::Tool(tool) => whole(told, effect, tool, orders, rows),
        RuleSubject::Agent(_) | RuleSubject::Skill(_) if effect != Effect::Allow => {
            let name = rule.text().split_once('(').map_or("*", |(_, rest)| rest.trim_end_matches(')'));
            let order = if matches!(rule.covers(), RuleSubject::Agent(_)) {
                &mut orders.task
            } else {
                &mut orders.skill
            };
            order.narrow(name.replace(":*", "*"), effect);
            rows.held(told, EnforcedBy::Gate, "");
        }
        RuleSubject::Mcp(_) if effect != Effect::Allow => match tool_name(rule.text()) {
            Some(name) => {
                orders.servers.retain(|(there, _)| *there != name);
                orders.servers.push((name, effect.as_str()));
                rows.held(told, EnforcedBy::Gate, "");
            }
            None => rows.nothing(told, "there names of tools do not tell the server"),
        },
        RuleSubject::Host(_) => rows.nothing(told, "its permission for pages knows no hosts"),
        RuleSubject::Agent(_) | RuleSubject::Skill(_) | RuleSubject::Mcp(_) => rows.nothing(told, ASKED),
    }
}

/// Returns the entry for an allow; nothing where it narrows.
fn command(
    ours: &Merged,
    effect: Effect,
    rule: &Rule,
    unsaid: &UnexportedPrograms,
    order: &mut Order,
) -> Result<Option<String>, &'static str> {
    let form = PatternForm::from_rule(rule).ok_or("its words mean something else there")?;
    if effect != Effect::Allow {
        let pattern = match form {
            PatternForm::Exact(words) | PatternForm::Glob(words) => words,
            PatternForm::More(words) | PatternForm::Any(words) => format!("{words} *"),
        };
        order.narrow(pattern, effect);
        return Ok(None);
    }
    let pattern = match &form {
        _ if unsaid.concerns(&form) => return Err(BESIDE),
        PatternForm::Glob(_) => return Err(ASKED),
        PatternForm::Exact(words) => words.clone(),
        PatternForm::Any(words) => format!("{words} *"),
        PatternForm::More(words) => {
            if !is_allowed_bare(ours, words) {
                // There the pattern is about the words alone, too.
                order.narrow(words.clone(), Effect::Ask);
            }
            format!("{words} *")
        }
    };
    if !order.allowed.contains(&pattern) {
        order.allowed.push(pattern.clone());
    }
    Ok(Some(pattern))
}

impl Order {
    /// Asks about or denies a pattern, behind all that is allowed. A name stands once, where it decides.
    fn narrow(&mut self, pattern: String, effect: Effect) {
        let was_denied = self.narrowed.iter().any(|(there, word)| *there == pattern && *word == "deny");
        self.allowed.retain(|there| *there != pattern);
        self.narrowed.retain(|(there, _)| *there != pattern);
        self.narrowed.push((pattern, if was_denied { "deny" } else { effect.as_str() }));
    }
}

/// Patterns start at the folder, and a `*` passes over slashes.
fn patterns(effect: Effect, place: &ExportedPathRule<'_>) -> Option<Vec<String>> {
    let relative = matches!(place.base, Base::Cwd | Base::BelowCwd | Base::Project | Base::Anywhere);
    if effect == Effect::Allow || !relative || place.is_odd() {
        return None;
    }
    let below = place.pattern.trim_start_matches("./").trim_matches('/');
    let below = below.strip_prefix("**/").unwrap_or(below).replace("**", "*");
    let ends = below.strip_suffix("/*").unwrap_or(&below);
    // At any depth: where the agent works is not where its patterns start.
    Some([ends.to_owned(), format!("*/{ends}"), format!("{ends}/*"), format!("*/{ends}/*")].into())
}

fn whole(told: String, effect: Effect, tool: &str, orders: &mut Orders, rows: &mut Rows) {
    let order = match tool {
        _ if effect == Effect::Allow => return rows.nothing(told, ASKED),
        "WebFetch" | "WebSearch" => {
            let said = if tool == "WebFetch" { &mut orders.webfetch } else { &mut orders.websearch };
            *said = Some(effect);
            rows.held(told, EnforcedBy::Gate, "");
            return;
        }
        "Bash" => &mut orders.bash,
        "Edit" => &mut orders.edit,
        "Read" => &mut orders.read,
        "Agent" | "Task" => &mut orders.task,
        "Skill" => &mut orders.skill,
        _ => return rows.nothing(told, "it has no permission for that tool alone"),
    };
    // Nothing can be allowed beside it, and what is denied is not asked about.
    order.allowed.clear();
    if effect == Effect::Deny {
        order.narrowed.clear();
    }
    order.narrow("*".to_owned(), effect);
    rows.held(told, EnforcedBy::Gate, "");
}

/// `mcp__server__tool` is `server_tool` there.
fn tool_name(text: &str) -> Option<String> {
    let name = text.strip_prefix("MCP(").and_then(|rest| rest.strip_suffix(')')).unwrap_or(text).trim();
    let (server, tool) = match name.strip_prefix("mcp__")?.split_once("__") {
        Some((server, tool)) => (server, tool),
        None => (name.strip_prefix("mcp__")?, "*"),
    };
    let plain = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
    (plain(server) && !server.is_empty() && plain(&tool.replace('*', ""))).then(|| format!("{server}_{tool}"))
}

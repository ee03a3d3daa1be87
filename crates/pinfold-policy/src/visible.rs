//! Tools that a model is shown: all but those of which no call could be allowed.

use std::sync::Arc;

use crate::foreign::{level_of, reaches_hosts};
use crate::mode::{BashMode, Mode};
use crate::policy::Policy;
use crate::rule::{Effect, Rule, RuleSubject};
use crate::rules::RuleSet;
use crate::scope::{Interaction, Scope};
use crate::tool::{Level, ToolName};

/// Returns `true` if a model is shown a tool. What is shown is still judged call by call.
pub fn is_visible(policy: &Policy, scope: &Scope, interaction: Interaction, tool: &str) -> bool {
    if is_denied(policy, tool) || (is_shell(tool) && !scope.allow_bash) {
        return false;
    }
    if !policy.lists().is_empty() {
        let lists = |listed: &Arc<RuleSet>| listed.rules().iter().any(|rule| is_about(&rule.rule, tool));
        return policy.lists().iter().all(lists);
    }
    let by_rule = || policy.rules(Effect::Allow).rules().iter().any(|rule| is_about(&rule.rule, tool));
    // The host decides, which is not known yet: it takes a person to ask, or a host that is allowed.
    let level = if reaches_hosts(tool) { Level::Dangerous } else { level_of(tool) };
    let by_mode = match (policy.mode, level) {
        (_, Level::ReadOnly)
        | (Mode::BypassPermissions, _)
        | (Mode::AcceptEdits | Mode::Auto, Level::Write) => true,
        (Mode::DontAsk | Mode::Explore, _) => false,
        (Mode::Default | Mode::AcceptEdits | Mode::Auto, _) => interaction == Interaction::Interactive,
    };
    let by_host = || tool == ToolName::WebFetch.as_str() && !policy.hosts.is_empty();
    by_mode || by_rule() || by_host() || (is_shell(tool) && policy.bash != BashMode::Ask)
}

/// Returns `true` if every call of the tool is denied.
fn is_denied(policy: &Policy, tool: &str) -> bool {
    let class = match ToolName::parse(tool).filter(|tool| tool.takes_paths()).map(ToolName::level) {
        Some(Level::Write) => Some(ToolName::Edit.as_str()),
        Some(Level::ReadOnly) => Some(ToolName::Read.as_str()),
        Some(Level::Dangerous) | None => None,
    };
    let deny = policy.rules(Effect::Deny);
    let named = std::iter::once(tool).chain(class).any(|name| deny.tool(name).is_some());
    named || (tool.starts_with(crate::rule::MCP_PREFIX) && deny.mcp(tool).is_some())
}

fn is_shell(tool: &str) -> bool {
    tool == ToolName::Bash.as_str()
}

/// Returns `true` if a rule can be about some call of the tool.
fn is_about(rule: &Rule, tool: &str) -> bool {
    match rule.covers() {
        RuleSubject::Mcp(pattern) => pattern.matches(tool),
        RuleSubject::Agent(_) => tool == "Agent" || tool == "Task",
        _ => rule.tool() == tool,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Bases;
    use crate::rule::SourcedRule;
    use crate::source::{Layer, Source};

    fn policy(mode: Mode, rules: &[(Effect, &str)]) -> Policy {
        let rule = |(effect, text): &(Effect, &str)| SourcedRule {
            effect: *effect,
            rule: Rule::parse(text).unwrap(),
            source: Source::plain(Layer::User),
        };
        with_mode(mode).with_rules(rules.iter().map(rule), &Bases::default())
    }

    fn with_mode(mode: Mode) -> Policy {
        let mut policy = Policy::default();
        policy.mode = mode;
        policy
    }

    fn shown(policy: &Policy, interaction: Interaction) -> Vec<&'static str> {
        let scope =
            Scope { root: "/w".into(), display_root: "/w".into(), enforce_write: false, allow_bash: true };
        let all = ["Read", "WebSearch", "Edit", "Write", "Bash", "Agent", "mcp__a__b"];
        all.into_iter().filter(|tool| is_visible(policy, &scope, interaction, tool)).collect()
    }

    #[test]
    fn tools_that_can_never_be_allowed_are_not_shown() {
        use Effect::{Allow, Deny};
        for (mode, rules, interaction, expected) in [
            (
                Mode::Default,
                &[][..],
                Interaction::Interactive,
                "Read WebSearch Edit Write Bash Agent mcp__a__b",
            ),
            (Mode::AcceptEdits, &[], Interaction::Headless, "Read Edit Write"),
            (Mode::Explore, &[], Interaction::Headless, "Read"),
            (Mode::Explore, &[(Allow, "WebSearch")], Interaction::Headless, "Read WebSearch"),
            (Mode::Explore, &[(Allow, "Bash(git diff*)")], Interaction::Headless, "Read Bash"),
            (
                Mode::BypassPermissions,
                &[(Deny, "Edit"), (Deny, "MCP(mcp__a__*)")],
                Interaction::Headless,
                "Read WebSearch Bash Agent",
            ),
        ] {
            let policy = policy(mode, rules);
            assert_eq!(shown(&policy, interaction).join(" "), expected, "{mode:?} {rules:?}");
        }
    }

    #[test]
    fn a_list_of_tools_shows_those_and_no_others() {
        let listed = policy(Mode::Default, &[(Effect::Allow, "Read"), (Effect::Allow, "Bash(ls)")]);
        let rules = listed.rules(Effect::Allow).rules().iter().map(|rule| (**rule).clone()).collect();
        let held = with_mode(Mode::BypassPermissions).held_to(Some(rules), &Bases::default());
        assert_eq!(shown(&held, Interaction::Headless), ["Read", "Bash"]);
        let nothing = Policy::default().held_to(Some(Vec::new()), &Bases::default());
        assert!(shown(&nothing, Interaction::Interactive).is_empty());
    }
}

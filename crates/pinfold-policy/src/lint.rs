//! Rules that do less or more than they seem to.
//!
//! Nothing here changes a decision. What is said of a pair of rules is certain: one is said to cover another only when
//! there is no call that the other matches alone.

use std::collections::HashMap;
use std::fmt;

use pinfold_commands::{ProgramKind, can_launch, program_kind};

use crate::known_tools::{known_tools, tools_of_agents};
use crate::pattern::{Base, PathPattern, ends_its_quotes};
use crate::rule::{Effect, Rule, RuleSubject, SourcedRule};
use crate::source::Source;
use crate::tool::{Level, ToolName};

/// Something to know about a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Source of the rule.
    pub source: Source,
    /// The rule with its effect: `allow Bash(git*)`.
    pub rule: String,
    /// The kind of remark, as one word that stays the same.
    pub kind: &'static str,
    /// The finding, and what to write instead.
    pub text: String,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: `{}` {} [{}]", self.source, self.rule, self.text, self.kind)
    }
}

/// A check of one rule by itself: its kind, and what it says if it has something to say.
type Check = (&'static str, fn(Effect, &Rule) -> Option<String>);

/// Checks of a rule by itself. All of them run.
const CHECKS: &[Check] = &[
    ("wrong-case", wrong_case),
    ("unknown-tool", unknown_tool),
    ("never-matches", never_matches),
    ("everything", everything),
    ("any-program", any_program),
    ("part-of-a-word", part_of_a_word),
    ("project-root", project_root),
    ("one-level", one_level),
    ("other-tools", other_tools),
];

/// Looks at every rule, and at every pair that could say the same.
pub fn lint(rules: &[SourcedRule]) -> Vec<Remark> {
    let mut remarks: Vec<Remark> = rules.iter().flat_map(alone).collect();
    let index = RuleIndex::new(rules);
    let dead = rules.iter().enumerate().filter_map(|(at, rule)| {
        let by = index.candidates(&rule.rule).filter_map(|other| Some((other, rules.get(other)?)));
        by.filter(|(other, _)| *other != at).find_map(|(other, by)| overtaken(rule, by, other < at))
    });
    remarks.extend(dead);
    remarks
}

fn alone(rule: &SourcedRule) -> impl Iterator<Item = Remark> {
    CHECKS.iter().filter_map(|(kind, check)| Some(remark(rule, kind, check(rule.effect, &rule.rule)?)))
}

fn remark(rule: &SourcedRule, kind: &'static str, text: String) -> Remark {
    Remark {
        source: rule.source.clone(),
        rule: format!("{} {}", rule.effect.as_str(), rule.rule),
        kind,
        text,
    }
}

/// Returns the remark about a rule that `by` leaves without effect. `earlier`: of two equal rules the later is reported.
fn overtaken(rule: &SourcedRule, by: &SourcedRule, earlier: bool) -> Option<Remark> {
    if !covers(by, &rule.rule) {
        return None;
    }
    let stands = || format!("`{} {}` ({})", by.effect.as_str(), by.rule, by.source);
    let back = by.effect == rule.effect && covers(rule, &by.rule);
    match (rule.effect, by.effect) {
        (Effect::Allow | Effect::Ask, Effect::Deny) => {
            Some(remark(rule, "dead", format!("never has an effect: {} denies all of it", stands())))
        }
        (Effect::Allow, Effect::Ask) => {
            Some(remark(rule, "dead", format!("never has an effect: {} asks about all of it", stands())))
        }
        (one, other) if one == other && back => {
            earlier.then(|| remark(rule, "duplicate", format!("says the same as {}", stands())))
        }
        (one, other) if one == other => {
            Some(remark(rule, "shadowed", format!("adds nothing: {} covers all of it", stands())))
        }
        // An ask rule beside a wider allow rule, and a deny rule beside anything, are what rules are for.
        (Effect::Allow | Effect::Ask | Effect::Deny, _) => None,
    }
}

/// Returns whether `by` matches whatever `rule` does. A rule that restricts reaches further than its tool.
fn covers(by: &SourcedRule, rule: &Rule) -> bool {
    let restricts = by.effect != Effect::Allow;
    match (by.rule.covers(), rule.covers()) {
        (RuleSubject::Tool(tool), _) if tool == rule.tool() => true,
        (RuleSubject::Tool(tool), RuleSubject::Path(other, _)) => {
            restricts && reaches(ToolName::parse(tool), *other)
        }
        (RuleSubject::Tool(tool), RuleSubject::Tool(other)) => {
            let other = ToolName::parse(other).filter(|tool| tool.takes_paths());
            restricts && other.is_some_and(|other| reaches(ToolName::parse(tool), other))
        }
        (RuleSubject::Command(one), RuleSubject::Command(other)) => one.covers(other),
        (RuleSubject::Path(tool, one), RuleSubject::Path(other, two)) => {
            (tool == other || restricts && reaches(Some(*tool), *other)) && one.covers(two)
        }
        (RuleSubject::Host(one), RuleSubject::Host(other)) => one.covers(other),
        (RuleSubject::Skill(one), RuleSubject::Skill(_))
        | (RuleSubject::Agent(one), RuleSubject::Agent(_))
        | (RuleSubject::Mcp(one), RuleSubject::Mcp(_)) => one.matches(&any_for_star(rule)),
        _ => false,
    }
}

/// A deny or ask rule on `Edit` is one on every tool that edits, one on `Read` on every tool that reads.
fn reaches(tool: Option<ToolName>, other: ToolName) -> bool {
    match tool {
        Some(ToolName::Edit) => other.level() == Level::Write,
        Some(ToolName::Read) => other.level() == Level::ReadOnly,
        _ => false,
    }
}

/// Returns the text of a rule between its brackets.
fn pattern(rule: &Rule) -> &str {
    rule.text().split_once('(').map_or(rule.text(), |(_, rest)| rest.strip_suffix(')').unwrap_or(rest).trim())
}

/// The pattern of names with something that only a star matches where it has one.
fn any_for_star(rule: &Rule) -> String {
    pattern(rule).replace('*', "\u{1}")
}

/// Rules by what they start with, so that only those are compared of which one could cover the other.
struct RuleIndex {
    by: HashMap<Vec<Box<[u8]>>, Vec<usize>>,
}

impl RuleIndex {
    fn new(rules: &[SourcedRule]) -> Self {
        let mut by: HashMap<_, Vec<usize>> = HashMap::new();
        for (at, SourcedRule { rule, .. }) in rules.iter().enumerate() {
            by.entry(start(rule)).or_default().push(at);
        }
        Self { by }
    }

    /// The rules that could cover this one: those that start as it does, and say no more.
    fn candidates(&self, rule: &Rule) -> impl Iterator<Item = usize> {
        let start = start(rule);
        let starts = (0..=start.len()).filter_map(move |n| self.by.get(start.get(..n)?));
        starts.flatten().copied()
    }
}

/// Returns the beginning of a rule: its kind, and the first names or words without wildcards.
fn start(rule: &Rule) -> Vec<Box<[u8]>> {
    const NAMES: usize = 2;
    let (kind, names): (&str, Vec<&[u8]>) = match rule.covers() {
        RuleSubject::Tool(_) => return Vec::new(),
        RuleSubject::Command(command) => {
            ("command", command.leading().iter().map(|word| word.as_bytes()).collect())
        }
        RuleSubject::Path(_, path) => ("path", path.leading().collect()),
        RuleSubject::Host(_) if !pattern(rule).contains('*') => ("host", vec![pattern(rule).as_bytes()]),
        RuleSubject::Host(_) => ("host", Vec::new()),
        RuleSubject::Skill(_) => ("skill", Vec::new()),
        RuleSubject::Agent(_) => ("agent", Vec::new()),
        RuleSubject::Mcp(_) => ("mcp", Vec::new()),
    };
    std::iter::once(kind.as_bytes()).chain(names.into_iter().take(NAMES)).map(Into::into).collect()
}

fn unknown_name(rule: &Rule) -> Option<&str> {
    match rule.covers() {
        RuleSubject::Tool(tool) if !known_tools().chain(tools_of_agents()).any(|known| known == tool) => {
            Some(tool)
        }
        _ => None,
    }
}

fn wrong_case(_: Effect, rule: &Rule) -> Option<String> {
    let name = unknown_name(rule)?;
    let right = known_tools().find(|known| known.eq_ignore_ascii_case(name))?;
    Some(format!("never matches: names of tools are case-sensitive; write `{right}`"))
}

fn unknown_tool(effect: Effect, rule: &Rule) -> Option<String> {
    let name = unknown_name(rule)?;
    let nearest = crate::tool::nearest_name(name, &known_tools().collect::<Vec<_>>());
    wrong_case(effect, rule).is_none().then(|| {
        format!("names a tool that is not known; if it is no tool of another program, write `{nearest}`")
    })
}

/// Patterns that no command can match, since commands are compared without what is in them.
fn never_matches(effect: Effect, rule: &Rule) -> Option<String> {
    let RuleSubject::Command(command) = rule.covers() else { return None };
    let text = pattern(rule);
    let first = text.split([' ', ':']).next().unwrap_or_default();
    if command.has_operator() {
        return Some(match effect {
            Effect::Allow => "never matches: each command of a line is compared by itself; write a rule for each".to_owned(),
            Effect::Ask | Effect::Deny => {
                "matches only a line that is written just so; a rule for one of its commands holds in every line".to_owned()
            }
        });
    }
    if text.contains('\\') || !ends_its_quotes(text) {
        return Some(
            "never matches: words are compared without their quotes; leave out backslashes and quotes that do not end"
                .to_owned(),
        );
    }
    if text.contains("$(") || text.contains('`') {
        return Some("never matches: what a substitution says is known only at run time".to_owned());
    }
    // It is taken off before allow rules are asked.
    let is_wrapper = program_kind(first) == Some(ProgramKind::Wrapper);
    (effect == Effect::Allow && is_wrapper).then(|| {
        format!(
            "never matches: `{first}` is taken off before a command is compared; write the command behind it"
        )
    })
}

fn everything(effect: Effect, rule: &Rule) -> Option<String> {
    let all = match rule.covers() {
        RuleSubject::Tool(tool) => tool == "Bash",
        RuleSubject::Command(_) => pattern(rule) == "*",
        RuleSubject::Host(_) => pattern(rule) == "domain:*",
        RuleSubject::Mcp(_) => matches!(pattern(rule), "MCP" | "*" | "mcp__*"),
        RuleSubject::Path(..) => matches!(pattern(rule), "//**" | "**/*"),
        RuleSubject::Skill(_) | RuleSubject::Agent(_) => false,
    };
    (effect == Effect::Allow && all)
        .then(|| "lets every call of its kind through without a question".to_owned())
}

fn any_program(effect: Effect, rule: &Rule) -> Option<String> {
    let RuleSubject::Command(_) = rule.covers() else { return None };
    let text = pattern(rule);
    if effect != Effect::Allow || !text.contains('*') || text == "*" {
        return None;
    }
    if text.starts_with('*') {
        return Some("matches whatever program stands in front; name the program".to_owned());
    }
    let runner = text.strip_suffix('*')?;
    let runner = runner.strip_suffix([' ', ':']).unwrap_or(runner);
    let words: Vec<&str> = runner.split(' ').collect();
    can_launch(&words)
        .then(|| format!("lets any program run: `{runner}` starts what its arguments name; name them"))
}

fn part_of_a_word(effect: Effect, rule: &Rule) -> Option<String> {
    let RuleSubject::Command(_) = rule.covers() else { return None };
    let start = pattern(rule).strip_suffix('*')?;
    let last = start.rsplit(' ').next().filter(|last| last.ends_with(|c: char| c.is_ascii_alphanumeric()))?;
    (effect == Effect::Allow && !start.contains('*')).then(|| {
        format!("covers every word that only starts with `{last}`; for that word alone write `{start}:*`")
    })
}

/// Folders at the root of a file system, which a single slash does not mean.
const TOP: &[&str] = &[
    "Applications",
    "Library",
    "Users",
    "Volumes",
    "bin",
    "boot",
    "dev",
    "etc",
    "home",
    "lib",
    "media",
    "mnt",
    "opt",
    "private",
    "proc",
    "root",
    "run",
    "sbin",
    "srv",
    "sys",
    "tmp",
    "usr",
    "var",
];

fn project_root(_: Effect, rule: &Rule) -> Option<String> {
    let path = path(rule).filter(|path| path.base() == Base::Project)?;
    let first = pattern(rule).trim_start_matches('/').split('/').next()?;
    let text = pattern(rule);
    (path.is_anchored() && TOP.contains(&first)).then(|| {
        format!(
            "starts at the root of the project; for that of the file system write `{}(/{text})`",
            rule.tool()
        )
    })
}

fn one_level(effect: Effect, rule: &Rule) -> Option<String> {
    path(rule)?;
    let folder = pattern(rule).strip_suffix("/*")?;
    (effect != Effect::Allow).then(|| {
        format!(
            "covers only what lies directly in that folder; for all below it write `{}({folder}/**)`",
            rule.tool()
        )
    })
}

fn other_tools(effect: Effect, rule: &Rule) -> Option<String> {
    let RuleSubject::Path(tool, _) = rule.covers() else { return None };
    let wide = if tool.level() == Level::Write { ToolName::Edit } else { ToolName::Read };
    (effect != Effect::Allow && *tool != wide).then(|| {
        let (wide, text) = (wide.as_str(), pattern(rule));
        format!("leaves the same files to other tools; a rule on all of them is `{wide}({text})`")
    })
}

fn path(rule: &Rule) -> Option<&PathPattern> {
    match rule.covers() {
        RuleSubject::Path(_, path) => Some(path),
        _ => None,
    }
}

#[cfg(test)]
mod tests;

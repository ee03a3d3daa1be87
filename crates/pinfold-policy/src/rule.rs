//! `Tool` or `Tool(pattern)`: parsed, printed back as it was written, and what it covers.

use std::fmt;

use pinfold_host::HostPattern;

use crate::known_tools::{NameLookup, look_up};

use crate::pattern::{CommandPattern, NamePattern, PathPattern};
use crate::source::Source;
use crate::tool::{ToolName, near_name};

/// The effect of a rule where it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Allows without a question.
    Allow,
    /// Approval is requested.
    Ask,
    /// Denies.
    Deny,
}

impl Effect {
    /// The word for it, as in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// One rule, as it was written and as it is understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    text: String,
    covers: RuleSubject,
}

/// The calls that a rule covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleSubject {
    /// Every call of this tool.
    Tool(String),
    /// Commands of `Bash`.
    Command(CommandPattern),
    /// Paths, for one of the file tools.
    Path(ToolName, PathPattern),
    /// `WebFetch` of hosts.
    Host(HostPattern),
    /// `Skill` by name.
    Skill(NamePattern),
    /// `Agent` by type.
    Agent(NamePattern),
    /// MCP tools by their whole name; `MCP` alone covers all.
    Mcp(NamePattern),
}

/// A rule with its effect and the place it was written at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcedRule {
    /// The effect.
    pub effect: Effect,
    /// The rule.
    pub rule: Rule,
    /// The source.
    pub source: Source,
}

/// Why a text is no rule: one clause, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no rule: {why}; {mend}")]
pub struct BadRule {
    /// The text.
    pub text: String,
    /// The problem.
    pub why: String,
    /// The text to write instead.
    pub mend: String,
}

/// Longest rule in bytes: more than a person writes, and short enough to be compared with anything.
pub const MAX_RULE_LEN: usize = 4096;

impl Rule {
    /// Understands a rule.
    ///
    /// # Errors
    /// [`BadRule`] says what is wrong and what to write instead. A rule for a tool that is not known is no
    /// error: other programs have tools of their own. It never matches a tool of ours.
    pub fn parse(text: &str) -> Result<Self, BadRule> {
        let bad = |why: &str, mend: &str| BadRule {
            text: shorten(text),
            why: why.to_owned(),
            mend: mend.to_owned(),
        };
        let trimmed = text.trim();
        if trimmed.len() > MAX_RULE_LEN {
            return Err(bad("it is longer than 4096 bytes", "split it into several"));
        }
        if trimmed.chars().any(char::is_control) {
            return Err(bad("it has control characters", "write plain text"));
        }
        let (tool, pattern) = match trimmed.split_once('(') {
            None => (trimmed, None),
            Some((tool, rest)) => match rest.strip_suffix(')') {
                Some(pattern) => (tool, Some(pattern.trim())),
                None => return Err(bad("its bracket is not closed", "end it with `)`")),
            },
        };
        if !is_tool_name(tool) {
            return Err(bad("it does not start with the name of a tool", "write `Tool` or `Tool(pattern)`"));
        }
        let covers = match pattern {
            None => match nearest_tool(tool) {
                Some(near) if !near.eq_ignore_ascii_case(tool) => {
                    let why = format!("no tool is called `{tool}`");
                    return Err(bad(&why, &format!("did you mean `{near}`?")));
                }
                Some(_) | None => bare(tool),
            },
            Some("") => {
                return Err(bad("its pattern is empty", "leave the brackets out to cover every call"));
            }
            Some(pattern) => patterned(tool, pattern).map_err(|(why, mend)| bad(&why, &mend))?,
        };
        Ok(Self { text: trimmed.to_owned(), covers })
    }

    /// Parses a rule that is written down and relied on: one about a tool under whose name no call comes, and which is
    /// nearly that of another, would hold nothing. A name that is like no other may be a tool that an agent has got since.
    ///
    /// # Errors
    /// Those of [`Self::parse`]; and the name of a known tool in other capitals, cut short, or as another program has it.
    pub fn parse_written(text: &str) -> Result<Self, BadRule> {
        let rule = Self::parse(text)?;
        let tool = rule.tool();
        let NameLookup::Meant(near) = look_up(tool) else { return Ok(rule) };
        Err(BadRule {
            text: shorten(text),
            why: format!("no tool is called `{}`", shorten(tool)),
            mend: format!("did you mean `{near}`?"),
        })
    }

    /// The rule as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the calls that it covers.
    pub fn covers(&self) -> &RuleSubject {
        &self.covers
    }

    /// The name of the tool in front of the pattern.
    pub fn tool(&self) -> &str {
        self.text.split('(').next().unwrap_or_default()
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn is_tool_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b':');
    let mcp = name.starts_with(MCP_PREFIX);
    !name.is_empty() && name.bytes().all(|b| plain(b) || (mcp && b == b'*'))
}

/// Prefix of the name of every MCP tool.
pub const MCP_PREFIX: &str = "mcp__";

fn bare(tool: &str) -> RuleSubject {
    match tool {
        "MCP" => RuleSubject::Mcp(NamePattern::any()),
        // The name of a server covers its tools.
        server if server.starts_with(MCP_PREFIX) => RuleSubject::Mcp(NamePattern::server(server)),
        tool => RuleSubject::Tool(tool.to_owned()),
    }
}

/// Names in rules beside those of tools that take calls.
const KINDS: &[&str] = &["Skill", "Agent", "Task", "MCP"];

/// The tool that a name which is none seems to mean: one or two letters are wrong. Other programs have tools of their own
/// with other names, some of which differ in capitals alone.
fn nearest_tool(name: &str) -> Option<&'static str> {
    let known = ToolName::ALL.iter().map(|tool| tool.as_str()).chain(KINDS.iter().copied());
    let known: Vec<&'static str> = known.collect();
    if known.contains(&name) || ToolName::parse(name).is_some() || name.starts_with(MCP_PREFIX) {
        return None;
    }
    near_name(name, &known)
}

type RuleMistake = (String, String);

fn patterned(tool: &str, pattern: &str) -> Result<RuleSubject, RuleMistake> {
    match tool {
        "Bash" => CommandPattern::parse(pattern).map(RuleSubject::Command).map_err(|why| {
            (
                why.to_owned(),
                "name a program: `Bash(git status)`, `Bash(npm run *)`, `Bash(git:*)`".to_owned(),
            )
        }),
        "WebFetch" => HostPattern::parse(pattern).map(RuleSubject::Host).map_err(|why| {
            (
                why.to_owned(),
                "write `WebFetch(domain:example.org)` or `WebFetch(domain:*.example.org)`".to_owned(),
            )
        }),
        "Skill" => Ok(RuleSubject::Skill(NamePattern::parse(pattern))),
        "Agent" | "Task" => Ok(RuleSubject::Agent(NamePattern::parse(pattern))),
        "MCP" if pattern.starts_with(MCP_PREFIX) || pattern.starts_with('*') => {
            Ok(RuleSubject::Mcp(NamePattern::server(pattern)))
        }
        "MCP" => Err((
            "an MCP tool is called `mcp__server__tool`".to_owned(),
            "write `MCP(mcp__server__*)`".to_owned(),
        )),
        other => match ToolName::ALL.iter().copied().find(|name| name.as_str() == other) {
            Some(name) if name.takes_paths() => {
                PathPattern::parse(pattern).map(|pattern| RuleSubject::Path(name, pattern)).map_err(|why| {
                    (why.to_owned(), format!("write `{other}(./src/**)` or `{other}(~/notes/*.md)`"))
                })
            }
            Some(_) => Err((format!("{other} takes no pattern"), format!("write `{other}`"))),
            None if other.starts_with(MCP_PREFIX) => Err((
                "the arguments of MCP tools have no patterns".to_owned(),
                format!("write `{other}`, and declare path scopes under `tools`"),
            )),
            None => Err((
                format!("no pattern is known for the tool `{other}`"),
                match nearest_tool(other) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("write `{other}` without a pattern, if another program has such a tool"),
                },
            )),
        },
    }
}

fn shorten(text: &str) -> String {
    const SHOWN: usize = 80;
    if text.chars().count() <= SHOWN {
        return text.escape_debug().to_string();
    }
    text.chars().take(SHOWN).collect::<String>().escape_debug().to_string() + "…"
}

//! The names of tools that a rule can be about.

use crate::foreign::KNOWN;
use crate::rule::MCP_PREFIX;
use crate::tool::{ToolName, near_name};

/// Names that are no tools of ours and known all the same.
const FOREIGN: &[&str] = &["Skill", "Agent", "Task", "MCP", "code_execution", "file_append", "search_files"];

/// Tools of known agents that are none of ours, and come under their own names.
const OF_AGENTS: &str = include_str!("agents_tools.txt");

/// The names that are worth proposing.
pub(crate) fn known_tools() -> impl Iterator<Item = &'static str> {
    let ours = ToolName::ALL.iter().map(|tool| tool.as_str());
    ours.chain(FOREIGN.iter().copied()).chain(KNOWN.iter().map(|(name, _)| *name))
}

/// The tools of known agents that come under their own names.
pub(crate) fn tools_of_agents() -> impl Iterator<Item = &'static str> {
    OF_AGENTS.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_ascii_whitespace)
}

/// The meaning of a name in a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameLookup {
    /// Calls come under this name.
    Known,
    /// None does: this one is meant, in other capitals or by the name that another program gives it.
    Meant(&'static str),
    /// No known tool has such a name, nor nearly.
    Unknown,
}

/// Returns whether calls come under this name.
pub(crate) fn look_up(name: &str) -> NameLookup {
    let known: Vec<&'static str> = known_tools().collect();
    if name.starts_with(MCP_PREFIX) || known.contains(&name) || tools_of_agents().any(|tool| tool == name) {
        return NameLookup::Known;
    }
    let alias = || {
        ToolName::parse(name).or_else(|| ToolName::parse(&name.to_ascii_lowercase())).map(ToolName::as_str)
    };
    let capitals = || known.iter().copied().find(|known| known.eq_ignore_ascii_case(name));
    let cut = || {
        let begins =
            |known: &&str| known.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        (name.len() > 2).then(|| known.iter().copied().find(begins)).flatten()
    };
    let near = alias().or_else(capitals).or_else(|| near_name(name, &known)).or_else(cut);
    near.map_or(NameLookup::Unknown, NameLookup::Meant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_under_which_no_call_comes_is_found_out() {
        for name in ["Bash", "Edit", "Task", "MCP", "WebSearch", "mcp__any__thing", "mcp__x", "computer_use"]
        {
            assert_eq!(look_up(name), NameLookup::Known, "{name}");
        }
        for (name, meant) in [
            ("bash", "Bash"),
            ("EDIT", "Edit"),
            ("Edi", "Edit"),
            ("Wrte", "Write"),
            ("read_file", "Read"),
            ("shell", "Bash"),
            ("Shell", "Bash"),
            ("KillShell", "KillBash"),
            ("websearch", "WebSearch"),
            ("mcp", "MCP"),
            ("Raed", "Read"),
            ("Bsh", "Bash"),
            ("Bahs", "Bash"),
            ("Edti", "Edit"),
            ("Gerp", "Grep"),
            ("Golb", "Glob"),
            ("Taks", "Task"),
            ("LSS", "LS"),
            ("raed", "Read"),
            ("Wirte", "Write"),
        ] {
            assert_eq!(look_up(name), NameLookup::Meant(meant), "{name}");
        }
        for name in
            ["Foo", "Launch", "x", "é", "NotebookRead", "Run", "Map", "Git", "sh", "cd", "ps", "View", "Plan"]
        {
            assert_eq!(look_up(name), NameLookup::Unknown, "{name}");
        }
    }

    /// A rule for one of those would hold nothing: its calls come under another name.
    #[test]
    fn no_tool_of_an_agent_is_one_of_ours_by_another_name() {
        for name in tools_of_agents() {
            assert_eq!(ToolName::parse(name), None, "{name}");
            assert!(!known_tools().any(|known| known == name), "{name} stands in two lists");
        }
    }
}

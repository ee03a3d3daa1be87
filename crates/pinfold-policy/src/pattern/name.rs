//! Patterns for names of skills, agents and MCP tools.

use super::Glob;

/// A pattern for names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamePattern {
    glob: Glob,
    /// Also what follows the name behind this: the tools of a server, the parts of a skill.
    then: &'static str,
}

impl NamePattern {
    /// Every name.
    pub fn any() -> Self {
        Self { glob: Glob::new(b"*"), then: "" }
    }

    /// A name with wildcards; `git:*` covers `git` and what stands behind its colon.
    pub fn parse(text: &str) -> Self {
        match text.strip_suffix(":*") {
            Some(name) => Self { glob: Glob::new(name.as_bytes()), then: ":" },
            None => Self { glob: Glob::new(text.as_bytes()), then: "" },
        }
    }

    /// The name of an MCP tool with wildcards, or of a server, which covers its tools.
    pub fn server(text: &str) -> Self {
        Self { glob: Glob::new(text.as_bytes()), then: "__" }
    }

    /// Returns `true` if a name matches.
    pub fn matches(&self, name: &str) -> bool {
        let parts = |then: &'static str| name.match_indices(then).map(|(at, _)| at);
        self.glob.matches(name.as_bytes())
            || (!self.then.is_empty()
                && self.glob.literal().is_some()
                && parts(self.then).any(|at| name.get(..at).is_some_and(|n| self.glob.matches(n.as_bytes()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_covers_its_tools() {
        for (pattern, name, matches) in [
            ("mcp__github", "mcp__github__get_issue", true),
            ("mcp__git", "mcp__github__get_issue", false),
            ("mcp__puppeteer__*", "mcp__puppeteer__click", true),
            ("mcp__puppeteer__click", "mcp__puppeteer__click", true),
            ("mcp__puppeteer__click", "mcp__puppeteer__clicks", false),
        ] {
            assert_eq!(NamePattern::server(pattern).matches(name), matches, "{pattern} {name}");
        }
        assert!(NamePattern::parse("git:*").matches("git:log"));
        assert!(NamePattern::parse("git:*").matches("git"));
        assert!(!NamePattern::parse("git:*").matches("gitlab"));
    }
}

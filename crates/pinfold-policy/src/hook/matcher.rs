//! The tools that a hook is asked about: every one, some by name, or a regular expression.
//!
//! As the most used agent reads it: letters, digits, `_`, `-`, blanks, commas and `|` are names, anything else is a
//! regular expression, found anywhere in the name. Matching takes time linear in the name, whatever the expression is,
//! and an expression that would take much room is refused.

use regex::bytes::{Regex, RegexBuilder};

/// A set of names.
#[derive(Debug, Clone)]
pub struct Matcher {
    text: String,
    means: MatcherKind,
}

#[derive(Debug, Clone)]
enum MatcherKind {
    Everything,
    Names(Vec<String>),
    Pattern(Regex),
}

/// Why a matcher cannot be meant, in one clause, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadMatcher {
    /// Why not.
    pub why: String,
    /// The text to write instead.
    pub mend: String,
}

/// The longest matcher that is read.
const MAX_LEN: usize = 1000;
/// Most memory of a compiled expression.
const MAX_ROOM: usize = 64 << 10;
/// Deepest nesting of brackets.
const DEEPEST: u32 = 24;

impl Default for Matcher {
    fn default() -> Self {
        Self { text: String::new(), means: MatcherKind::Everything }
    }
}

impl PartialEq for Matcher {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Matcher {}

impl Matcher {
    /// Reads a matcher.
    ///
    /// # Errors
    /// [`BadMatcher`] for an expression that is none, or takes too much.
    pub fn parse(text: &str) -> Result<Self, BadMatcher> {
        let means = match text {
            "" | "*" => MatcherKind::Everything,
            text if text.chars().all(is_of_names) => MatcherKind::Names(names(text)),
            text => MatcherKind::Pattern(pattern(text)?),
        };
        Ok(Self { text: text.to_owned(), means })
    }

    /// Returns `true` if a name is meant.
    pub fn covers(&self, name: &str) -> bool {
        match &self.means {
            MatcherKind::Everything => true,
            MatcherKind::Names(names) => names.iter().any(|own| own == name),
            MatcherKind::Pattern(pattern) => pattern.is_match(name.as_bytes()),
        }
    }

    /// Returns `true` if every name is meant.
    pub fn is_everything(&self) -> bool {
        matches!(self.means, MatcherKind::Everything)
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

fn is_of_names(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ' ' | ',' | '|')
}

fn names(text: &str) -> Vec<String> {
    text.split(['|', ',']).map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn pattern(text: &str) -> Result<Regex, BadMatcher> {
    let bad = |why: &str, mend: &str| BadMatcher { why: why.to_owned(), mend: mend.to_owned() };
    if text.len() > MAX_LEN {
        return Err(bad("it is longer than any that is read", "write several entries"));
    }
    let mut builder = RegexBuilder::new(text);
    // Names of tools are ASCII, and so are the classes of the other agents' expressions.
    builder.unicode(false).size_limit(MAX_ROOM).dfa_size_limit(MAX_ROOM).nest_limit(DEEPEST);
    builder.build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => bad("it takes too much room", "write a shorter one"),
        _ if ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|looks| text.contains(looks)) => {
            bad("it looks ahead or behind", "name what is meant, and let the hook itself decide the rest")
        }
        other => {
            let message = other.to_string();
            let why = message.lines().last().unwrap_or_default().trim_start_matches("error: ");
            bad(why, "mend the expression, or list names with `|` between them")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_whole_and_expressions_are_found_anywhere() {
        for (matcher, meant, not_meant) in [
            ("", "Bash Write mcp__a__b", ""),
            ("*", "Bash Write mcp__a__b", ""),
            ("Bash", "Bash", "bash BashOutput KillBash"),
            ("Edit|Write", "Edit Write", "MultiEdit NotebookEdit Read"),
            ("Edit, Write", "Edit Write", "MultiEdit"),
            ("|", "", "Bash"),
            ("mcp__fs", "mcp__fs", "mcp__fs__read"),
            ("mcp__fs__.*", "mcp__fs__read", "mcp__f__read Bash"),
            ("mcp__.*__write.*", "mcp__a__write_file", "mcp__a__read"),
            ("Edit.*", "Edit MultiEdit NotebookEdit", "Write"),
            ("^Edit$", "Edit", "MultiEdit"),
            ("^(Bash|Write)$", "Bash Write", "BashOutput"),
            ("(?i)bash", "Bash BashOutput", "Write"),
        ] {
            let matcher = Matcher::parse(matcher).unwrap();
            for name in meant.split(' ').filter(|name| !name.is_empty()) {
                assert!(matcher.covers(name), "{} {name}", matcher.text());
            }
            for name in not_meant.split(' ').filter(|name| !name.is_empty()) {
                assert!(!matcher.covers(name), "{} {name}", matcher.text());
            }
        }
    }

    #[test]
    fn what_is_no_expression_or_takes_too_much_is_refused() {
        for (matcher, why) in [
            ("(Bash", "unclosed group"),
            ("Bash(", "unclosed group"),
            ("^(?!mcp__).*", "looks ahead"),
            ("(a)\\1", "backreferences"),
            ("(a{1000}){1000}", "room"),
            ("(?:.{100}){100}", "room"),
            (&"(".repeat(400), "unclosed"),
            (&format!("{}a{}", "(".repeat(100), ")".repeat(100)), "nest"),
            (&format!("{}.", "a".repeat(2000)), "longer"),
            ("\\p{Greek}", "Unicode"),
        ] {
            let bad = Matcher::parse(matcher).unwrap_err();
            assert!(bad.why.contains(why), "{matcher:.40}: {}", bad.why);
        }
    }

    #[test]
    fn hostile_expressions_and_names_take_linear_time() {
        let from = std::time::Instant::now();
        let name = format!("{}!", "a".repeat(100_000));
        for hostile in ["(a+)+$", "(a|aa)+$", "(.*a){20}$", "^(([a-z])+.)+[A-Z]([a-z])+$"] {
            assert!(!Matcher::parse(hostile).unwrap().covers(&name), "{hostile}");
        }
        assert!(from.elapsed().as_secs() < 5, "{:?}", from.elapsed());
    }
}

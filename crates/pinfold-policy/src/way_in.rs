//! Defaults of mode and `bash` by way in: one table, and the function that reads it.
//!
//! A way in has defaults for what was *not* chosen. What a person chose holds in all of them, commands included: a mode
//! that was chosen alone asks about commands as its table says, whatever the kernel would hold.

use crate::mode::{BashMode, Mode};

/// Way in of a call, as far as defaults depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WayIn {
    /// A call that is judged and not made: `check`, `why`, tests of settings.
    Check,
    /// A call of our own tools in a folder that a person gave them: `call`, `mcp serve`, `serve`, `agent run`.
    OwnTools,
    /// A call that another agent carries out itself, and asks its hook about.
    Hook,
    /// A hook, where a run of ours holds the agent with everything that it starts.
    HookInRun,
}

impl WayIn {
    /// Every way in, in the order of the documentation.
    pub const ALL: [Self; 4] = [Self::Check, Self::OwnTools, Self::Hook, Self::HookInRun];

    /// Defaults where neither a mode was chosen nor which commands need no question.
    fn unsaid(self) -> (Mode, BashMode) {
        match self {
            // Nothing is promised without a person's consent.
            Self::Check => (Mode::Default, BashMode::Ask),
            // The folder is granted, and the kernel holds each command to it.
            Self::OwnTools | Self::HookInRun => (Mode::AcceptEdits, BashMode::Sandboxed),
            // The folder is granted; nothing of ours holds a command, so that only what merely reads is known to stay in it.
            Self::Hook => (Mode::AcceptEdits, BashMode::ReadOnly),
        }
    }

    /// The mode, and which commands need no question, given what was chosen of either.
    #[must_use]
    pub fn settle(self, mode: Option<Mode>, bash: Option<BashMode>) -> (Mode, BashMode) {
        let (unsaid_mode, unsaid_bash) = self.unsaid();
        let beside_mode = if mode.is_some() { BashMode::default() } else { unsaid_bash };
        (mode.unwrap_or(unsaid_mode), bash.unwrap_or(beside_mode))
    }

    /// The name of the way in, as the documentation has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::OwnTools => "own tools",
            Self::Hook => "hook",
            Self::HookInRun => "hook in a run",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Way in, mode that was chosen, `bash` that was chosen, what holds: `-` is nothing.
    const TABLE: &str = include_str!("way_in/table.txt");

    fn parse_unless_dash<T>(word: &str, parse: impl Fn(&str) -> T) -> Option<T> {
        (word != "-").then(|| parse(word))
    }

    #[test]
    fn what_was_chosen_holds_in_every_way_in_and_what_was_not_as_the_table_says() {
        let mode = |word: &str| Mode::parse(word).unwrap();
        let bash = |word: &str| BashMode::parse(word).unwrap();
        let mut seen = 0;
        for line in TABLE.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
            let fields: Vec<&str> = line.split('|').map(str::trim).collect();
            let [ways, chosen_mode, chosen_bash, holds_mode, holds_bash] = fields.as_slice() else {
                panic!("five columns: {line}");
            };
            let named = |way: &&WayIn| *ways == "every" || ways.split(", ").any(|name| name == way.name());
            for way in WayIn::ALL.iter().filter(named) {
                let modes = if *chosen_mode == "any" { Mode::CHOSEN.to_vec() } else { vec![*chosen_mode] };
                for word in modes {
                    let bashes =
                        if *chosen_bash == "any" { BashMode::WORDS.to_vec() } else { vec![*chosen_bash] };
                    for bash_word in bashes {
                        let held = |column: &str, chosen: &str| {
                            if column == "as chosen" { chosen.to_owned() } else { column.to_owned() }
                        };
                        let expected = (mode(&held(holds_mode, word)), bash(&held(holds_bash, bash_word)));
                        let settled =
                            way.settle(parse_unless_dash(word, mode), parse_unless_dash(bash_word, bash));
                        assert_eq!(settled, expected, "{}: {word} {bash_word}", way.name());
                        seen += 1;
                    }
                }
            }
        }
        let all = WayIn::ALL.len() * (Mode::CHOSEN.len() + 1) * (BashMode::WORDS.len() + 1);
        assert_eq!(seen, all, "the table says each combination once");
    }

    #[test]
    fn the_page_has_the_table() {
        let page = include_str!("../../../docs/decision.md");
        for line in TABLE.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
            let row = line.split('|').map(|field| match field.trim() {
                "-" => "–".to_owned(),
                word if word == "every" || word == "any" || word == "as chosen" => word.to_owned(),
                word if Mode::parse(word).is_ok() || BashMode::parse(word).is_ok() => format!("`{word}`"),
                word => word.to_owned(),
            });
            let row = format!("| {} |", row.collect::<Vec<_>>().join(" | "));
            assert!(page.contains(&row), "docs/decision.md lacks the row\n{row}");
        }
    }
}

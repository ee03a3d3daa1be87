//! One program with its arguments, as it would be started.

use pinfold_shell::Word;

use super::words;

/// One program with its arguments, as it would be started.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Invocation {
    /// The program and its arguments. Braces are expanded: `git pu{sh,ll}` has three words.
    pub words: Vec<Word>,
    /// What starts it, outermost first; empty for a command as it is written.
    pub through: Vec<Through>,
    /// More arguments follow that are not known here, as `xargs` adds them.
    pub open_ended: bool,
}

/// A program that starts another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Through {
    /// Its name: `sudo`, `xargs`.
    pub name: String,
}

impl Invocation {
    /// The program by its last component, when that is known: `git` for `/usr/bin/git`.
    pub fn name(&self) -> Option<&str> {
        let program = self.program()?;
        Some(program.rsplit('/').next().unwrap_or(program))
    }

    /// The program as it is written, when that is known.
    pub fn program(&self) -> Option<&str> {
        self.words.first()?.as_static()
    }

    /// The arguments.
    pub fn args(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }

    /// The arguments as far as they are known, in order; `None` stands for one or more unknown ones.
    pub fn known_args(&self) -> impl Iterator<Item = Option<&str>> {
        self.args().iter().map(Word::as_static)
    }

    /// The arguments up to `--`, as far as they are known: where options can stand.
    pub fn before_dashes(&self) -> impl Iterator<Item = &str> {
        self.args().iter().map(words::known_start).take_while(|text| *text != "--")
    }

    /// Whether one of the letters of `short` stands in a cluster of short options, or `long` (without its dashes)
    /// as a long option, with or without `=value`. GNU abbreviations count, so that `--forc` is `--force`; an
    /// option's value that looks like an option counts too. For deciding to ask, never for letting through.
    pub fn may_have(&self, short: &str, long: &[&str]) -> bool {
        self.before_dashes().any(|text| match text.strip_prefix("--") {
            Some(name) => {
                let name = name.split('=').next().unwrap_or(name);
                name.len() > 1 && long.iter().any(|long| long.starts_with(name))
            }
            None => text.strip_prefix('-').is_some_and(|letters| letters.chars().any(|c| short.contains(c))),
        })
    }

    /// The arguments that are no options: those without a dash in front, and all behind `--`. The value of an
    /// option that stands in a word of its own is among them.
    pub fn operands(&self) -> impl Iterator<Item = &Word> {
        let mut behind = false;
        self.args().iter().filter(move |word| {
            let text = words::known_start(word);
            if behind {
                return true;
            }
            behind = text == "--" && word.as_static().is_some();
            !behind && (text == "-" || !text.starts_with('-'))
        })
    }
}

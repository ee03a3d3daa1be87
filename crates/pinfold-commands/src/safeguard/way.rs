//! Destination of a word, as far as its text says: from the root, from a home directory, from here.
//!
//! Nothing is looked up. `.` and `..` are taken as text, globs are kept, and a piece that is known only at
//! run time may be any name.

use pinfold_shell::{Part, Word};

use crate::wild::{Token, matches, tokens};

/// The start of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    Root,
    Home,
    /// The folder the command works in, which is not known.
    Here,
    /// A value that is not known: a variable, what a command prints.
    Unknown,
}

/// A path as a word says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WordPath {
    pub(super) start: Start,
    steps: Vec<String>,
}

/// Stands for text that is not known; no argument holds it.
const UNKNOWN: char = '\0';

impl Start {
    /// The start of the path that a word names.
    pub(super) fn from_word(word: &Word) -> Self {
        beginning(&word.parts).0
    }
}

impl WordPath {
    /// Returns where the word leads for a command that works in this folder.
    pub(super) fn from_word(word: &Word, work_dir: Option<&str>) -> Self {
        let (start, parts) = beginning(&word.parts);
        let mut way = Self { start, steps: Vec::new() };
        if let (Start::Here, Some(folder)) = (start, work_dir) {
            way = Self::from_text(folder);
        }
        way.follow(&text(parts));
        way
    }

    /// Returns where a literal text leads.
    pub(super) fn from_text(text: &str) -> Self {
        Self::of_claim(&escaped(text))
    }

    /// Returns where a claimed path leads; `*` and its kind in it are globs.
    pub(super) fn of_claim(text: &str) -> Self {
        let (start, rest) = match text.strip_prefix('~') {
            Some(rest) => (Start::Home, rest.split_once('/').map_or("", |(_, below)| below)),
            None if text.starts_with('/') => (Start::Root, text),
            None => (Start::Here, text),
        };
        let mut way = Self { start, steps: Vec::new() };
        way.follow(rest);
        way
    }

    fn follow(&mut self, text: &str) {
        for step in text.split('/') {
            match step {
                "" | "." => {}
                ".." => self.up(),
                _ => self.down(step),
            }
        }
    }

    fn up(&mut self) {
        if self.steps.last().is_some_and(|step| step != "..") {
            self.steps.pop();
            return;
        }
        match self.start {
            Start::Root => {}
            // The folder that home directories lie in.
            Start::Home => *self = Self { start: Start::Root, steps: vec!["home".to_owned()] },
            Start::Here | Start::Unknown => self.steps.push("..".to_owned()),
        }
    }

    fn down(&mut self, step: &str) {
        self.steps.push(step.to_owned());
        // `/proc/self/root` is the root once more.
        if self.start == Start::Root
            && matches!(self.steps.as_slice(), [proc, _, root] if proc == "proc" && root == "root")
        {
            self.steps.clear();
        }
    }

    /// The steps behind the start.
    pub(super) fn steps(&self) -> Vec<Step<'_>> {
        self.steps.iter().map(|step| Step(step)).collect()
    }
}

/// Splits off what a path starts with.
fn beginning(parts: &[Part]) -> (Start, &[Part]) {
    let Some((first, rest)) = parts.split_first() else { return (Start::Here, parts) };
    let opens = |rest: &[Part]| match rest.first() {
        None => true,
        Some(Part::Literal(text)) => text.starts_with('/'),
        Some(_) => false,
    };
    match first {
        Part::Tilde(user) if user == "+" => (Start::Here, rest),
        Part::Tilde(user) if user == "-" => (Start::Unknown, rest),
        Part::Tilde(_) => (Start::Home, rest),
        Part::Parameter { name, .. } if name == "HOME" && opens(rest) => (Start::Home, rest),
        Part::Parameter { name, plain: true, .. } if name == "PWD" && opens(rest) => (Start::Here, rest),
        Part::Literal(text) if text.starts_with('/') => (Start::Root, parts),
        Part::Literal(_) | Part::Glob(_) | Part::Brace(_) => (Start::Here, parts),
        Part::Parameter { .. } | Part::Substitution { .. } | Part::Process | Part::Arithmetic => {
            (Start::Unknown, parts)
        }
    }
}

/// The text of the parts: literal characters that a glob would read otherwise get a backslash.
fn text(parts: &[Part]) -> String {
    let mut out = String::new();
    for part in parts {
        match part {
            Part::Literal(text) => out.push_str(&escaped(text)),
            Part::Glob(glob) => out.push_str(glob),
            Part::Tilde(user) => {
                out.push('~');
                out.push_str(user);
            }
            Part::Parameter { .. }
            | Part::Substitution { .. }
            | Part::Process
            | Part::Arithmetic
            | Part::Brace(_) => out.push(UNKNOWN),
        }
    }
    out
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '(' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// One name on the way, perhaps a glob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step<'a>(&'a str);

impl<'a> Step<'a> {
    /// Returns whether it can be this name.
    pub(super) fn may_be(self, name: &str) -> bool {
        self.0 == name || (self.is_open() && matches(&tokens(self.0), name.as_bytes()))
    }

    /// Returns whether it can be a name that begins so.
    pub(super) fn may_begin(self, name: &str) -> bool {
        if !self.is_open() {
            return self.0.starts_with(name);
        }
        let mut tokens = tokens(self.0);
        // Only as much of the glob as could have to do with the beginning.
        tokens.truncate(tokens.iter().position(|token| *token == Token::Any).map_or(name.len(), |at| at + 1));
        matches(&tokens, name.as_bytes())
    }

    /// Returns whether it can be one of these names.
    pub(super) fn may_be_any(self, names: &[&str]) -> bool {
        names.iter().any(|name| self.may_be(name))
    }

    /// As it is written, a backslash in front of what a glob would read.
    pub(super) fn text(self) -> &'a str {
        self.0
    }

    /// Returns whether some of it is written out: it is not just any name.
    pub(super) fn is_named(self) -> bool {
        tokens(self.0).iter().any(|token| matches!(token, Token::Byte(byte) if *byte != b'.'))
    }

    /// Returns whether it is `..`.
    pub(super) fn is_up(self) -> bool {
        self.0 == ".."
    }

    /// Returns whether it stands for all names: `*`, `.*`, `.[!.]*`.
    pub(super) fn is_everything(self) -> bool {
        let tokens = tokens(self.0);
        tokens.contains(&Token::Any)
            && tokens.iter().all(|token| matches!(token, Token::Any | Token::One | Token::Byte(b'.')))
    }

    fn is_open(self) -> bool {
        self.0.contains(['*', '?', '[', '(', '\\', UNKNOWN])
    }
}

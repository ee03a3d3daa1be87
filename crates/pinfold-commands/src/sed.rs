//! The part of sed's language that matters: commands that run programs or write and read files.
//!
//! Versions of sed differ in whether a delimiter within `[…]` ends a pattern. A script in which that makes a difference is
//! read in both ways, and what it does in either counts, unless sed would refuse it.

use std::borrow::Cow;

use pinfold_shell::Word;

use super::program::{InvocationEffects, Purpose};
use super::words::literal;
use crate::Operation;

/// Addresses, separators, and commands that only change lines or say them.
const QUIET: &str = " \t\r\n;{}!,~+$0123456789IM=dDgGhHlLnNpPqQxzF";

/// Reads a script; what it does beside changing lines goes to `effects`.
pub(super) fn script(effects: &mut InvocationEffects<'_>, script: &Word) {
    let Some(text) = script.as_static() else { return effects.exclude_script("is known only at run time") };
    for effect in read(text) {
        match effect {
            Effect::NotAllowlistable(why) => effects.exclude_script(why),
            Effect::File(name, operation) => {
                let purpose = if operation.writes() { Purpose::Aside } else { Purpose::Command };
                effects.touch(Cow::Owned(literal(&name, script)), operation, purpose);
            }
        }
    }
}

/// Returns the effects of a script beside changing lines, in every version of sed.
fn read(script: &str) -> Vec<Effect> {
    let mut usual = Reader::new(script, true);
    usual.all();
    let mut found = usual.effects;
    if usual.differs {
        let mut other = Reader::new(script, false);
        other.all();
        if !other.refused {
            found.extend(other.effects);
        }
    }
    found
}

/// An effect of a script beside changing lines.
enum Effect {
    NotAllowlistable(&'static str),
    File(String, Operation),
}

struct Reader<'r> {
    text: &'r str,
    at: usize,
    /// A delimiter within `[…]` belongs to it.
    brackets: bool,
    /// The brackets made a difference.
    differs: bool,
    /// sed would not take the script, and does nothing.
    refused: bool,
    effects: Vec<Effect>,
}

impl<'r> Reader<'r> {
    fn new(text: &'r str, brackets: bool) -> Self {
        Self { text, at: 0, brackets, differs: false, refused: false, effects: Vec::new() }
    }

    fn all(&mut self) {
        while let Some(next) = self.next() {
            match next {
                _ if QUIET.contains(next) => {}
                '#' => {
                    self.line();
                }
                '/' => self.skip_pattern('/'),
                '\\' => {
                    if let Some(delimiter) = self.next() {
                        self.skip_pattern(delimiter);
                    }
                }
                's' => self.substitute(),
                'y' => self.transliterate(),
                'a' | 'i' | 'c' => self.skip_text(),
                ':' | 'b' | 't' | 'T' | 'v' => self.skip_label(),
                'w' | 'W' => self.file(Operation::Write),
                'r' | 'R' => self.file(Operation::Read),
                'e' => return self.not_allowlistable("runs a command by `e`"),
                _ => {
                    self.refused = !self.brackets;
                    return self.not_allowlistable("has a command that is not known");
                }
            }
        }
    }

    fn not_allowlistable(&mut self, why: &'static str) {
        self.effects.push(Effect::NotAllowlistable(why));
    }

    fn next(&mut self) -> Option<char> {
        let next = self.text.get(self.at..)?.chars().next()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn peek(&self) -> Option<char> {
        self.text.get(self.at..)?.chars().next()
    }

    /// Up to an unescaped delimiter of a pattern.
    fn skip_pattern(&mut self, delimiter: char) {
        while let Some(next) = self.next() {
            match next {
                '\\' => {
                    self.next();
                }
                _ if next == delimiter => return,
                '[' => self.skip_bracket(delimiter),
                _ => {}
            }
        }
    }

    /// A bracket expression, from behind its `[`. `]` right at the start is a member of it, and so is what stands in
    /// `[:…:]`, `[.….]`, `[=…=]`.
    fn skip_bracket(&mut self, delimiter: char) {
        let start = self.at;
        if self.peek() == Some('^') {
            self.next();
        }
        if self.peek() == Some(']') {
            self.next();
        }
        let mut ended = false;
        while let Some(next) = self.next() {
            match next {
                ']' => {
                    ended = true;
                    break;
                }
                '\n' => break,
                '[' if matches!(self.peek(), Some(':' | '.' | '=')) => {
                    let kind = self.next();
                    while let Some(inner) = self.next() {
                        if Some(inner) == kind && self.peek() == Some(']') {
                            self.next();
                            break;
                        }
                    }
                }
                _ => {}
            }
        }
        let held = self.text.get(start..self.at).unwrap_or_default();
        self.differs |= !ended || held.contains([delimiter, '\\']);
        if !self.brackets {
            self.at = start;
        }
    }

    /// Up to an unescaped delimiter, where brackets mean nothing.
    fn skip_plain(&mut self, delimiter: char) {
        while let Some(next) = self.next() {
            if next == '\\' {
                self.next();
            } else if next == delimiter {
                return;
            }
        }
    }

    fn substitute(&mut self) {
        let Some(delimiter) = self.next() else { return };
        self.skip_pattern(delimiter);
        self.skip_plain(delimiter);
        while let Some(next) = self.peek() {
            match next {
                'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9' | ' ' | '\t' => {
                    self.next();
                }
                'e' => {
                    self.next();
                    self.not_allowlistable("runs what it makes by the flag `e`");
                }
                'w' => {
                    self.next();
                    return self.file(Operation::Write);
                }
                ';' | '\n' | '\r' | '}' | '#' => return,
                _ => {
                    // sed says that it does not know the flag, and does nothing at all.
                    self.refused = true;
                    return;
                }
            }
        }
    }

    fn transliterate(&mut self) {
        let Some(delimiter) = self.next() else { return };
        self.skip_plain(delimiter);
        self.skip_plain(delimiter);
    }

    /// The text of `a`, `i`, `c`: to the end of a line that does not end in a backslash.
    fn skip_text(&mut self) {
        while let Some(next) = self.next() {
            match next {
                '\\' => {
                    self.next();
                }
                '\n' => return,
                _ => {}
            }
        }
    }

    /// Some versions end a label at a blank; what follows is read on.
    fn skip_label(&mut self) {
        while self.peek().is_some_and(|next| next == ' ' || next == '\t') {
            self.next();
        }
        while let Some(next) = self.next() {
            if matches!(next, ';' | '\n' | '}' | ' ' | '\t') {
                return;
            }
        }
    }

    /// The rest of the line.
    fn line(&mut self) -> &'r str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let line = rest.split('\n').next().unwrap_or_default();
        self.at += line.len();
        line
    }

    fn file(&mut self, operation: Operation) {
        let name = self.line().trim().to_owned();
        if !name.is_empty() {
            self.effects.push(Effect::File(name, operation));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Describes the effects of a script.
    fn does(script: &str) -> String {
        let told = |effect: &Effect| match effect {
            Effect::NotAllowlistable(why) => why.split(' ').next().unwrap().to_owned(),
            Effect::File(name, operation) => format!("{} {name}", operation.as_str()),
        };
        read(script).iter().map(told).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn a_script_is_read_as_versions_of_sed_read_it() {
        for (script, wanted) in [
            ("s/a/b/g", ""),
            ("s/[/]/touch x/e", "runs"),
            ("s/[/]/_/g", ""),
            ("s/[^/]*$//", ""),
            ("s/[]/]/_/e", "runs"),
            ("s/[[:alpha:]/]/y/e", "runs"),
            (r"s/[\/]/_/g", ""),
            ("s,[,],_,w x", "write x"),
            ("/[/]/e touch x", "runs"),
            ("/[/]/d;s/a/x/", ""),
            ("s/a/b/ e", "runs"),
            ("s/a/b/;e touch x", "runs"),
            ("1e touch x", "runs"),
            ("s/a/b/w out.txt", "write out.txt"),
            ("$r in.txt", "read in.txt"),
            ("/x/W out", "write out"),
            ("R in", "read in"),
            (":a;N;$!ba;s/\\n/ /g", ""),
            (":a e touch x", "runs"),
            ("y/[/]/ab/", ""),
            ("a\\\ne touch x", ""),
            ("5q;$=", ""),
            ("s/a/b/q", ""),
        ] {
            assert_eq!(does(script), wanted, "{script}");
        }
    }
}

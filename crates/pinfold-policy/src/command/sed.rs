//! The part of sed's language that matters: commands that run programs or write and read files.

use std::borrow::Cow;

use pinfold_shell::Word;

use super::program::{Acts, Purpose};
use super::words::literal;
use crate::claim::Operation;

/// Addresses, separators, and commands that only change lines or say them.
const QUIET: &str = " \t\n;{}!,~+$0123456789IM=dDgGhHlnNpPqQxzF";

/// Reads a script; what it does beside changing lines goes to `acts`.
pub(super) fn script(acts: &mut Acts<'_>, script: &Word) {
    match script.as_static() {
        Some(text) => Reader { acts, like: script, text, at: 0 }.all(),
        None => acts.script_bar("is known only by running"),
    }
}

struct Reader<'r, 'a> {
    acts: &'r mut Acts<'a>,
    like: &'r Word,
    text: &'r str,
    at: usize,
}

impl Reader<'_, '_> {
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
                'e' => return self.acts.script_bar("runs a command by `e`"),
                _ => return self.acts.script_bar("has a command that is not known"),
            }
        }
    }

    fn next(&mut self) -> Option<char> {
        let next = self.text.get(self.at..)?.chars().next()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn peek(&self) -> Option<char> {
        self.text.get(self.at..)?.chars().next()
    }

    /// Up to an unescaped delimiter. A bracket expression may hold it in `/…/`, but sed's own reading differs
    /// between versions, so such a script is read on behind the first delimiter and what follows is looked at too.
    fn skip_pattern(&mut self, delimiter: char) {
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
        self.skip_pattern(delimiter);
        while let Some(next) = self.peek() {
            match next {
                'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9' => {
                    self.next();
                }
                'e' => {
                    self.next();
                    self.acts.script_bar("runs what it makes by the flag `e`");
                }
                'w' => {
                    self.next();
                    return self.file(Operation::Write);
                }
                _ => return,
            }
        }
    }

    fn transliterate(&mut self) {
        let Some(delimiter) = self.next() else { return };
        self.skip_pattern(delimiter);
        self.skip_pattern(delimiter);
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

    fn skip_label(&mut self) {
        while let Some(next) = self.next() {
            if matches!(next, ';' | '\n' | '}') {
                return;
            }
        }
    }

    /// The rest of the line.
    fn line(&mut self) -> &str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let line = rest.split('\n').next().unwrap_or_default();
        self.at += line.len();
        line
    }

    fn file(&mut self, operation: Operation) {
        let name = self.line().trim().to_owned();
        if !name.is_empty() {
            let word = literal(&name, self.like);
            let purpose = if operation.writes() { Purpose::Aside } else { Purpose::Command };
            self.acts.path(Cow::Owned(word), operation, purpose);
        }
    }
}

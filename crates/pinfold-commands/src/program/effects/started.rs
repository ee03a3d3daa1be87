//! Programs and command lines that an invocation starts.

use std::borrow::Cow;

use pinfold_shell::Word;

use super::{InvocationEffects, StartedProgram, StartedWords};
use crate::words::literal;

impl<'a> InvocationEffects<'a> {
    /// Starts a program with its arguments.
    pub(crate) fn start(&mut self, words: &[&Word]) {
        if !words.is_empty() {
            for word in words {
                self.mark_no_path(word);
            }
            let words = words.iter().map(|word| (*word).clone()).collect();
            self.started.push(StartedProgram {
                words: StartedWords::Words(words),
                open_ended: false,
                elsewhere: false,
            });
        }
    }

    /// Notes that more arguments, which are not known here, follow those of the program that was started last.
    pub(crate) fn mark_last_open_ended(&mut self) {
        if let Some(inner) = self.started.last_mut() {
            inner.open_ended = true;
        }
    }

    /// Notes that the program that was started last runs where its paths are not those of this machine.
    pub(crate) fn mark_last_elsewhere(&mut self) {
        if let Some(inner) = self.started.last_mut() {
            inner.elsewhere = true;
        }
    }

    /// Starts a shell with words that are joined by blanks.
    pub(crate) fn start_joined(&mut self, words: &[&Word]) {
        let Some(first) = words.first() else { return };
        let mut text = String::new();
        for word in words {
            self.mark_no_path(word);
        }
        for word in words {
            let Some(known) = word.as_static() else {
                self.started.push(StartedProgram::unknown());
                return;
            };
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(known);
        }
        self.start_line(Cow::Owned(literal(&text, first)));
    }

    /// Starts a shell with a command line.
    pub(crate) fn start_line(&mut self, line: Cow<'a, Word>) {
        self.mark_no_path(&line);
        self.started.push(StartedProgram {
            words: StartedWords::CommandLine(line),
            open_ended: false,
            elsewhere: false,
        });
    }
}

impl StartedProgram<'_> {
    pub(crate) fn unknown() -> Self {
        Self { words: StartedWords::Unknown, open_ended: false, elsewhere: false }
    }
}

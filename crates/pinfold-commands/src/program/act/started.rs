//! Programs and command lines that an invocation starts.

use std::borrow::Cow;

use pinfold_shell::Word;

use super::{Acts, Inner, InnerWords};
use crate::words::literal;

impl<'a> Acts<'a> {
    /// A program with its arguments is started.
    pub(crate) fn start(&mut self, words: &[&Word]) {
        if !words.is_empty() {
            for word in words {
                self.take(word);
            }
            let words = words.iter().map(|word| (*word).clone()).collect();
            self.inner.push(Inner { words: InnerWords::Words(words), open_ended: false, elsewhere: false });
        }
    }

    /// What was started last gets more arguments, which are not known here.
    pub(crate) fn open_last(&mut self) {
        if let Some(inner) = self.inner.last_mut() {
            inner.open_ended = true;
        }
    }

    /// What was started last runs where its paths are not ours.
    pub(crate) fn elsewhere_last(&mut self) {
        if let Some(inner) = self.inner.last_mut() {
            inner.elsewhere = true;
        }
    }

    /// Words that are joined by blanks and read by a shell.
    pub(crate) fn joined(&mut self, words: &[&Word]) {
        let Some(first) = words.first() else { return };
        let mut text = String::new();
        for word in words {
            self.take(word);
        }
        for word in words {
            let Some(known) = word.as_static() else {
                self.inner.push(Inner::unknown());
                return;
            };
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(known);
        }
        self.line(Cow::Owned(literal(&text, first)));
    }

    /// A command line for a shell.
    pub(crate) fn line(&mut self, line: Cow<'a, Word>) {
        self.take(&line);
        self.inner.push(Inner { words: InnerWords::Line(line), open_ended: false, elsewhere: false });
    }
}

impl Inner<'_> {
    pub(crate) fn unknown() -> Self {
        Self { words: InnerWords::Unknown, open_ended: false, elsewhere: false }
    }
}

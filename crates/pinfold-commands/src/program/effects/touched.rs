//! Places that an invocation reads, writes or searches.

use std::borrow::Cow;

use pinfold_shell::{Part, Word};

use super::{InvocationEffects, NamedFileWord};
use crate::Operation;
use crate::program::Purpose;
use crate::words::{known_start, literal};

impl<'a> InvocationEffects<'a> {
    /// Adds a place that this is done to, unless the word is standard input, an address or `{}`.
    pub(crate) fn touch(&mut self, word: Cow<'a, Word>, operation: Operation, purpose: Purpose) {
        if word.as_static() == Some("-") {
            return;
        }
        if !operation.writes() && known_start(&word).contains("://") {
            return self.reach_host(&word);
        }
        if self.open_ended && known_start(&word).contains("{}") {
            if operation.writes() {
                self.exclude_unknown_write();
            }
            return;
        }
        let unless_there = Vec::new();
        self.paths.push(NamedFileWord {
            word,
            operation,
            purpose,
            skips_hidden: false,
            tracked: false,
            unless_there,
        });
    }

    /// Adds a path in the middle of a static word.
    pub(crate) fn touch_text(&mut self, text: &str, like: &Word, operation: Operation, purpose: Purpose) {
        self.touch(Cow::Owned(literal(text, like)), operation, purpose);
    }

    /// Adds a place that is searched. `skips_hidden`: names that start with a dot are passed over.
    pub(crate) fn search(&mut self, word: Cow<'a, Word>, skips_hidden: bool) {
        let before = self.paths.len();
        self.touch(word, Operation::Search, Purpose::Command);
        self.paths.iter_mut().skip(before).for_each(|touched| touched.skips_hidden = skips_hidden);
    }

    /// Adds a word by which git reads files, or their content in a commit.
    pub(crate) fn touch_tracked(&mut self, word: Cow<'a, Word>) {
        let before = self.paths.len();
        self.touch(word, Operation::Search, Purpose::Command);
        self.paths.iter_mut().skip(before).for_each(|touched| touched.tracked = true);
    }

    /// Adds all that git tracks below the folder that it works in, unless one of these words is a path.
    pub(crate) fn search_tracked(&mut self, unless_there: Vec<&'a str>) {
        self.touch_folder(Operation::Search, true);
        if let Some(touched) = self.paths.last_mut() {
            touched.unless_there = unless_there;
        }
    }

    /// Adds the folder that it works in.
    pub(crate) fn touch_folder(&mut self, operation: Operation, skips_hidden: bool) {
        let here = Word { parts: vec![Part::Literal(".".to_owned())], ..Word::default() };
        self.touch(Cow::Owned(here), operation, Purpose::Command);
        self.paths.iter_mut().last().into_iter().for_each(|touched| touched.skips_hidden = skips_hidden);
    }

    /// Adds a file of this name in the person's home, which is changed.
    pub(crate) fn write_at_home(&mut self, name: &str) {
        let parts = vec![Part::Tilde(String::new()), Part::Literal(format!("/{name}"))];
        let word = Word { parts, span: 0..0, quoted: false };
        self.touch(Cow::Owned(word), Operation::Write, Purpose::Command);
    }

    /// Adds the folder that it works in, where a file with a name of its own is written.
    pub(crate) fn write_in_folder(&mut self, purpose: Purpose) {
        let here = Word { parts: vec![Part::Literal(".".to_owned())], ..Word::default() };
        self.touch(Cow::Owned(here), Operation::Write, purpose);
    }
}

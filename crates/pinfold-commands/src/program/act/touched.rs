//! Places that an invocation reads, writes or searches.

use std::borrow::Cow;

use pinfold_shell::{Part, Word};

use super::{Acts, Touched};
use crate::Operation;
use crate::program::Purpose;
use crate::words::{known_start, literal};

impl<'a> Acts<'a> {
    pub(crate) fn path(&mut self, word: Cow<'a, Word>, operation: Operation, purpose: Purpose) {
        if word.as_static() == Some("-") {
            return;
        }
        if !operation.writes() && known_start(&word).contains("://") {
            return self.host(&word);
        }
        if self.open_ended && known_start(&word).contains("{}") {
            if operation.writes() {
                self.unknown_operand();
            }
            return;
        }
        self.paths.push(Touched { word, operation, purpose, visible: false, tracked: false });
    }

    /// A path in the middle of a static word.
    pub(crate) fn path_text(&mut self, text: &str, like: &Word, operation: Operation, purpose: Purpose) {
        self.path(Cow::Owned(literal(text, like)), operation, purpose);
    }

    /// A place that is searched. `visible`: names that start with a dot are passed over.
    pub(crate) fn search(&mut self, word: Cow<'a, Word>, visible: bool) {
        let before = self.paths.len();
        self.path(word, Operation::Search, Purpose::Command);
        self.paths.iter_mut().skip(before).for_each(|touched| touched.visible = visible);
    }

    /// A word by which git reads files, or their content in a commit.
    pub(crate) fn tracked(&mut self, word: Cow<'a, Word>) {
        let before = self.paths.len();
        self.path(word, Operation::Search, Purpose::Command);
        self.paths.iter_mut().skip(before).for_each(|touched| touched.tracked = true);
    }

    /// The folder that it works in.
    pub(crate) fn here_by(&mut self, operation: Operation, visible: bool) {
        let here = Word { parts: vec![Part::Literal(".".to_owned())], ..Word::default() };
        self.path(Cow::Owned(here), operation, Purpose::Command);
        self.paths.iter_mut().last().into_iter().for_each(|touched| touched.visible = visible);
    }

    /// A file of this name in the person's home is changed.
    pub(crate) fn at_home(&mut self, name: &str) {
        let parts = vec![Part::Tilde(String::new()), Part::Literal(format!("/{name}"))];
        let word = Word { parts, span: 0..0, quoted: false };
        self.path(Cow::Owned(word), Operation::Write, Purpose::Command);
    }

    /// A file with a name of its own is written to the folder that it works in.
    pub(crate) fn write_in_folder(&mut self, purpose: Purpose) {
        let here = Word { parts: vec![Part::Literal(".".to_owned())], ..Word::default() };
        self.path(Cow::Owned(here), Operation::Write, purpose);
    }
}

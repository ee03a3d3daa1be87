//! The search: words in one pass, a run for each, spans out.
//!
//! The trap: whatever is kept between two calls must not depend on where the text was cut. Runs of one form therefore
//! look at their secrets one after the other, in the order in which their words were found, cut or not.

use std::collections::HashMap;
use std::ops::Range;

use crate::edge::BEHIND;
use crate::keywords::{MAX_WORD_LEN, WordSearch};
use crate::kind::{Form, SecretKind};
use crate::marker;
use crate::run::{MatchStep, Run, ScannedText};
use crate::table::Table;

/// Bytes that are a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SecretSpan {
    pub(crate) range: Range<usize>,
    /// Index of the kind. Where two begin at the same place the first one gives the name.
    pub(crate) kind: usize,
    /// Set where the span continues a secret that was reported before.
    pub(crate) goes_on: bool,
}

impl SecretSpan {
    /// Returns `true` if it belongs to a secret that goes on to this place.
    pub(crate) fn is_more(&self, end: usize) -> bool {
        self.range.start < end || self.goes_on && self.range.start == end
    }
}

/// A form: its kind and its place there.
type FormId = (usize, usize);

/// A search, between two pieces of its text.
#[derive(Debug)]
pub(crate) struct Scan {
    table: &'static Table,
    words: WordSearch,
    /// End of the bytes that were searched for words.
    seen: usize,
    /// Runs that need more text, in the order of their words.
    runs: Vec<(FormId, Run)>,
    /// The last secret of each form: a word inside is no other secret of that form.
    told: HashMap<FormId, Range<usize>>,
    /// Spans that were found and not taken yet.
    pub(crate) spans: Vec<SecretSpan>,
}

impl Scan {
    pub(crate) fn new() -> Self {
        let table = Table::get();
        let (runs, told, spans) = (Vec::new(), HashMap::new(), Vec::new());
        Self { table, words: WordSearch::START, seen: 0, runs, told, spans }
    }

    /// Goes on with a text that has grown. `text` has everything from [`Self::needs_from`] on.
    pub(crate) fn go_on(&mut self, text: &ScannedText<'_>) {
        for (form, mut run) in std::mem::take(&mut self.runs) {
            if self.step(form, &mut run, text) {
                self.runs.push((form, run));
            }
        }
        while let Some(len) = self.words.find(text.from(self.seen)) {
            self.seen += len;
            for (kind, len) in self.words.ending() {
                self.meet(kind, self.seen - len..self.seen, text);
            }
        }
        self.seen = text.end();
    }

    /// Returns the position of the first byte that may still turn out to be secret, or the end of the text.
    pub(crate) fn holds_from(&self, text: &ScannedText<'_>) -> usize {
        if text.last {
            return text.end();
        }
        let begun = text.end() - self.table.begun(text.bytes);
        self.runs.iter().map(|(_, run)| run.holds_from()).fold(begun, usize::min)
    }

    /// Returns the position of the first byte that is needed when the text goes on.
    pub(crate) fn needs_from(&self, text: &ScannedText<'_>) -> usize {
        let behind = text.end().saturating_sub(MAX_WORD_LEN + BEHIND);
        self.runs.iter().map(|(_, run)| run.needs_from()).fold(behind, usize::min)
    }

    /// A word of a kind stands here.
    fn meet(&mut self, kind: usize, word: Range<usize>, text: &ScannedText<'_>) {
        let before = text.get(word.start.saturating_sub(BEHIND).max(text.base)..word.start);
        // What a marker says was put there by us.
        if marker::is_inside(before) {
            return;
        }
        for number in 0..self.kind(kind).map_or(0, |kind| kind.forms.len()) {
            let id = (kind, number);
            let Some(form) = self.form(id).filter(|form| form.edge.holds(before)) else { continue };
            let Some(automata) = form.automata(&self.table.parts) else { continue };
            let mut run = Run::new(word.clone(), automata);
            if self.step(id, &mut run, text) {
                self.runs.push((id, run));
            }
        }
    }

    /// Takes a run as far as it goes. Whether it needs more text.
    fn step(&mut self, id: FormId, run: &mut Run, text: &ScannedText<'_>) -> bool {
        let table = self.table;
        let Some(form) = form(table, id) else { return false };
        let Some(automata) = form.automata(&table.parts) else { return false };
        loop {
            match run.go_on(form, automata, text) {
                MatchStep::Waits => return true,
                MatchStep::Over => return false,
                MatchStep::Enters if self.is_told(id, run) => return false,
                MatchStep::Enters if self.runs.iter().any(|(earlier, _)| *earlier == id) => return true,
                MatchStep::Enters => run.enter(),
                MatchStep::Grows(range) => self.report(id, range, run),
                MatchStep::Ends(range) => {
                    self.report(id, range, run);
                    return false;
                }
            }
        }
    }

    /// Returns `true` if the run lies in a span that was reported already.
    fn is_told(&self, id: FormId, run: &Run) -> bool {
        let told = self.told.get(&id);
        told.is_some_and(|told| told.contains(&run.word) || run.secret().is_some_and(|at| told.contains(&at)))
    }

    fn report(&mut self, id: FormId, range: Range<usize>, run: &Run) {
        let start = run.secret().unwrap_or(range.start);
        self.told.insert(id, start..range.end);
        self.spans.push(SecretSpan { goes_on: range.start > start, kind: id.0, range });
    }

    fn kind(&self, kind: usize) -> Option<&'static SecretKind> {
        self.table.kinds.get(kind)
    }

    fn form(&self, id: FormId) -> Option<&'static Form> {
        form(self.table, id)
    }
}

fn form(table: &'static Table, (kind, number): FormId) -> Option<&'static Form> {
    table.kinds.get(kind)?.forms.get(number)
}

//! The list of commands that is gathered while a text is read.

use std::ops::Range;
use std::sync::Arc;

use crate::numbers::{ArithmeticReads, print_a_number};
use crate::opaque::{MAX_COMMANDS, MAX_LISTED, MAX_OPAQUE, MAX_REDIRECTS};
use crate::script::{
    Assignment, CommandContext, Opaque, OpaqueReason, Redirect, Script, SimpleCommand, Span, Word,
};

/// A script in the making, shared by the parsers of a text and of the texts within it.
#[derive(Debug)]
pub(crate) struct Listing {
    script: Script,
    pub(crate) evaluated: ArithmeticReads,
}

impl Listing {
    pub(crate) fn new() -> Self {
        let script = Script { commands: Vec::with_capacity(4), shells: vec![0], ..Script::default() };
        Self { script, evaluated: ArithmeticReads::default() }
    }

    pub(crate) fn finish(mut self) -> Script {
        self.script.numbers = self.evaluated.set_names();
        self.doubt_arithmetic();
        self.script
    }

    pub(crate) fn len(&self) -> usize {
        self.script.commands.len()
    }

    /// A part that is not understood.
    pub(crate) fn opaque(&mut self, why: OpaqueReason, span: Span) {
        let known = |one: &Opaque| one.why == why && one.span == span;
        if self.script.opaque.len() < MAX_OPAQUE && !self.script.opaque.iter().any(known) {
            self.script.opaque.push(Opaque { why, span });
        }
    }

    /// Opens the entry of a command; its words follow. The position is past the end when the list is full.
    pub(crate) fn open(&mut self, place: CommandContext, at: usize) -> usize {
        let position = self.len();
        if position == MAX_COMMANDS {
            self.opaque(OpaqueReason::TooMuch("more than 1000 commands"), at..at);
        }
        if position < MAX_LISTED {
            self.script.commands.push(SimpleCommand {
                assignments: Vec::new(),
                words: Arc::default(),
                redirects: Vec::new(),
                span: at..at,
                place,
            });
        }
        position
    }

    pub(crate) fn command(&mut self, position: usize) -> Option<&mut SimpleCommand> {
        self.script.commands.get_mut(position)
    }

    pub(crate) fn range(&mut self, range: Range<usize>) -> &mut [SimpleCommand] {
        let end = range.end.min(self.len());
        self.script.commands.get_mut(range.start.min(end)..end).unwrap_or_default()
    }

    /// Adds a word to a command.
    pub(crate) fn push_word(&mut self, position: usize, word: Word) {
        if let Some(command) = self.command(position) {
            Arc::make_mut(&mut command.words).push(word);
        }
    }

    /// Adds an assignment to a command.
    pub(crate) fn assignment(&mut self, position: usize, assignment: Assignment) {
        if let Some(command) = self.command(position) {
            command.assignments.push(assignment);
        }
    }

    /// Adds a redirect to each command of a range.
    pub(crate) fn redirect(&mut self, range: Range<usize>, redirect: &Redirect) {
        let mut full = false;
        for command in self.range(range) {
            if command.redirects.len() < MAX_REDIRECTS {
                command.redirects.push(redirect.clone());
            } else {
                full = true;
            }
        }
        if full {
            self.opaque(
                OpaqueReason::TooMuch("more than 64 redirects of one command"),
                redirect.target.span.clone(),
            );
        }
    }

    /// A new shell that comes out of `parent`.
    pub(crate) fn shell(&mut self, parent: usize) -> usize {
        self.script.shells.push(parent);
        self.script.shells.len() - 1
    }

    pub(crate) fn shells(&self) -> usize {
        self.script.shells.len()
    }

    /// Moves what runs in shell `from`, among the commands of `range` and the shells opened since `opened`, into a
    /// shell of its own: only behind it stands the `|` or `&` that says so.
    pub(crate) fn split_shell(&mut self, range: Range<usize>, from: usize, opened: usize) {
        let own = self.shell(from);
        for parent in self.script.shells.iter_mut().take(own).skip(opened) {
            if *parent == from {
                *parent = own;
            }
        }
        for command in self.range(range) {
            if command.place.shell == from {
                command.place.shell = own;
            }
        }
    }

    /// Notes that the commands of a range read from another one, unless their input comes from one of themselves.
    pub(crate) fn pipe(&mut self, range: Range<usize>, from: Option<usize>) {
        for command in self.range(range) {
            command.place.piped_from = command.place.piped_from.or(from);
        }
    }

    /// The last command of `range` that is not within a substitution deeper than `depth`.
    pub(crate) fn last_at(&mut self, range: Range<usize>, depth: usize) -> Option<usize> {
        let start = range.start;
        let last = self.range(range).iter().rposition(|command| command.place.substitution == depth)?;
        Some(start + last)
    }

    /// A loop sets a variable to one word after the other. Returns its position, for [`Listing::close_loop`].
    pub(crate) fn loop_over(&mut self, variable: Assignment) -> usize {
        self.script.loops.push(variable);
        self.script.loops.len() - 1
    }

    /// The loop at this position ends here.
    pub(crate) fn close_loop(&mut self, position: usize, end: usize) {
        if let Some(over) = self.script.loops.get_mut(position) {
            over.value.span.end = end.max(over.value.span.start);
        }
    }

    /// A word that stands in no command, loop or redirect.
    pub(crate) fn loose(&mut self, word: Word) {
        self.script.loose.push(word);
    }

    /// A word that stands in place of the value of a parameter.
    pub(crate) fn operand(&mut self, operand: Assignment) {
        self.script.operands.push(operand);
    }

    pub(crate) fn function(&mut self, name: &str) {
        self.script.functions.push(name.to_owned());
    }

    /// Takes back the entry of a command that turned out to be the name of a function. Nothing follows it.
    pub(crate) fn close_function(&mut self, position: usize) -> Option<Word> {
        let command = (position + 1 == self.len()).then(|| self.script.commands.pop()).flatten()?;
        Arc::unwrap_or_clone(command.words).into_iter().next()
    }

    pub(crate) fn nesting(&mut self, depth: usize) {
        self.script.nesting = self.script.nesting.max(depth);
    }

    /// Returns `true` if the commands from `first` on, those of one substitution, print nothing but numbers.
    pub(crate) fn print_a_number(&self, first: usize, depth: usize) -> bool {
        print_a_number(self.script.commands.get(first..).unwrap_or_default(), first, depth)
    }

    fn doubt_arithmetic(&mut self) {
        if let Some(span) = std::mem::take(&mut self.evaluated).doubtful(&self.script) {
            self.opaque(OpaqueReason::Construct("a value that arithmetic may run as code"), span);
        }
    }
}

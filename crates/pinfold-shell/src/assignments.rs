//! Assignments: `NAME=value`, `NAME[…]=value`, `NAME=(…)`.

use crate::lexer::{breaks, in_name, is_name};
use crate::opaque::Stop;
use crate::parse::Parser;
use crate::patterns::join;
use crate::script::{Assignment, Part, Word};
use crate::words::{AssignedValue, Builder, Position};

impl Parser<'_, '_> {
    /// A `=`: in front of a value, when a name is in front of it.
    pub(crate) fn equals(&mut self, builder: &mut Builder, position: Position) -> Result<(), Stop> {
        self.bare_byte(builder);
        if builder.value.is_some() {
            return Ok(());
        }
        let Some(text) = builder.only_text() else { return Ok(()) };
        let name = text.strip_suffix('=').unwrap_or(text);
        let (name, appends) = name.strip_suffix('+').map_or((name, false), |name| (name, true));
        if is_name(name) {
            builder.value = Some(AssignedValue { name: name.len(), at: text.len(), appends });
            if position.takes_arrays() && self.peek() == Some(b'(') {
                self.array(builder)?;
            }
        }
        Ok(())
    }

    /// `NAME[…]` in front of a command; a value has to follow.
    pub(crate) fn subscript_of(&mut self, builder: &mut Builder) -> Result<(), Stop> {
        let start = self.pos;
        self.pos += 1;
        self.subscript()?;
        self.doubt_subscript(start, self.pos);
        let assigns = self.peek() == Some(b'=') || self.peek() == Some(b'+') && self.ahead() == Some(b'=');
        if !assigns || builder.subscripted.is_some() {
            self.doubt("a subscript without a value", start);
            builder.part(Part::Glob(self.slice(start, self.pos).to_owned()));
        }
        builder.subscripted = Some(start);
        Ok(())
    }

    /// bash reads a subscript several times, each time by other rules. They agree where it is plain.
    fn doubt_subscript(&mut self, start: usize, end: usize) {
        let plain = |byte: u8| in_name(byte) || b" $@*+./:\"{}-[]".contains(&byte);
        let text = self.slice(start, end);
        if !text.bytes().all(plain) || text.contains("$$") {
            self.doubt("an involved subscript", start);
        }
    }

    /// `(…)` behind `NAME=`.
    fn array(&mut self, builder: &mut Builder) -> Result<(), Stop> {
        let start = self.pos;
        self.pos += 1;
        let mut elements = Vec::new();
        self.nested(|parser| parser.elements(&mut elements))?;
        if !self.peek().is_none_or(breaks) {
            self.doubt("text behind an array", start);
        }
        builder.elements = Some(elements);
        Ok(())
    }

    fn elements(&mut self, elements: &mut Vec<Word>) -> Result<(), Stop> {
        loop {
            self.line_breaks();
            match self.peek() {
                None => return Err(self.syntax("`)` behind the elements of an array")),
                Some(b')') => {
                    self.pos += 1;
                    return Ok(());
                }
                Some(b'[') => self.element_subscript()?,
                Some(_) => {}
            }
            elements.push(self.plain_word(Position::Element)?);
        }
    }

    /// `[…]=` in front of an element. Anything else in brackets is a pattern.
    fn element_subscript(&mut self) -> Result<(), Stop> {
        let start = self.pos;
        self.pos += 1;
        let Some(end) = self.pair_end(self.pos, b'[', b']') else {
            return Err(self.syntax("`]` in an array"));
        };
        self.doubt_subscript(start, end);
        if !matches!(self.byte_at(end), Some(b'=' | b'+')) {
            self.pos = start;
            return Ok(());
        }
        self.subscript()?;
        self.eat(b'+');
        if !self.eat(b'=') {
            self.doubt("brackets in front of an element", start);
        }
        if self.peek().is_none_or(breaks) {
            self.doubt("an element without a value", start);
        }
        Ok(())
    }

    /// The assignment that a word in front of a command is.
    pub(crate) fn assignment(&self, mut builder: Builder, value: AssignedValue, start: usize) -> Assignment {
        let elements = builder.elements.take().unwrap_or_default();
        let mut name = String::new();
        if let Some(Part::Literal(text)) = builder.parts.first_mut() {
            let rest = text.split_off(value.at.min(text.len()));
            name = std::mem::replace(text, rest);
            name.truncate(value.name);
        }
        for mark in builder.marks.iter_mut().filter(|mark| mark.part == 0) {
            mark.at = mark.at.saturating_sub(value.at);
        }
        let mut word = self.complete(builder, Position::Single, start);
        word.span.start = word.span.start.max(self.origin(self.value_start(start)));
        // In backticks a backslash may stand between the name and nothing.
        word.span.end = word.span.end.max(word.span.start);
        word.parts.retain(|part| !matches!(part, Part::Literal(text) if text.is_empty()));
        Assignment { name, value: word, elements, appends: value.appends }
    }

    /// Returns the position of the value of the assignment at `start`, when its name has nothing odd in it.
    fn value_start(&self, start: usize) -> usize {
        let mut at = start;
        while self.byte_at(at).is_some_and(in_name) {
            at += 1;
        }
        match (self.byte_at(at), self.byte_at(at + 1)) {
            (Some(b'='), _) => at + 1,
            (Some(b'+'), Some(b'=')) => at + 2,
            _ => start,
        }
    }
}

/// An array as an argument: its elements between parentheses.
pub(crate) fn list(elements: Vec<Word>, parts: &mut Vec<Part>) {
    let inside = elements.into_iter().flat_map(|word| word.parts);
    let [open, close] = ["(", ")"].map(|end| Part::Glob(end.to_owned()));
    [open].into_iter().chain(inside).chain([close]).for_each(|part| join(parts, part));
}

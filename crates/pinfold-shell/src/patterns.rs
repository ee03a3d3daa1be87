//! Braces, tildes and patterns: what the marks of a complete word mean.
//!
//! bash expands braces first, as text; then tildes; then patterns. Here one pass over the pieces does all three,
//! with a stack for braces. A brace that turns out to be none is put back as text.

use crate::opaque::{MAX_NESTING, MAX_SEQUENCE};
use crate::script::{Part, Span, Word};
use crate::words::Mark;

/// Reads the marks of a word.
pub(crate) fn resolve(parts: Vec<Part>, marks: &[Mark], braces: bool, span: &Span) -> Vec<Part> {
    let mut reading = Reading::new(marks, braces, span.clone());
    let mut marks = marks.iter().peekable();
    let last = parts.len().saturating_sub(1);
    for (index, part) in parts.into_iter().enumerate() {
        let text = if let Part::Literal(text) = &part { text.as_str() } else { "" };
        let mut from = 0;
        while let Some(mark) = marks.next_if(|mark| mark.part == index) {
            reading.text(text.get(from..mark.at).unwrap_or_default());
            let next = marks.peek().filter(|next| next.part == index);
            let ends = if index == last { Ends::Word } else { Ends::Part };
            from = mark.at
                + reading.mark(mark, Rest { text: text.get(mark.at..).unwrap_or_default(), next, ends });
        }
        reading.text(text.get(from..).unwrap_or_default());
        if !matches!(part, Part::Literal(_)) {
            reading.add(part);
        }
    }
    reading.finish()
}

/// What follows a mark.
#[derive(Debug, Clone, Copy)]
struct Rest<'a> {
    /// The literal text, from the character of the mark on.
    text: &'a str,
    next: Option<&'a &'a Mark>,
    ends: Ends,
}

/// What ends with a literal text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    Word,
    Part,
}

/// An open brace: the alternatives before the current one.
#[derive(Debug, Default)]
struct Brace {
    alternatives: Vec<Word>,
    /// Something in it was quoted.
    quoted: bool,
}

#[derive(Debug)]
struct Reading {
    braces: bool,
    span: Span,
    open: Vec<Brace>,
    /// The parts of each open alternative, innermost last; the word itself first.
    parts: Vec<Vec<Part>>,
    /// The last `]`, as a position of its mark: a `[` behind it is no pattern.
    brackets: usize,
    seen: usize,
}

impl Reading {
    fn new(marks: &[Mark], braces: bool, span: Span) -> Self {
        let brackets = marks.iter().rposition(|mark| mark.byte == b']').unwrap_or(0);
        Self { braces, span, open: Vec::new(), parts: vec![Vec::new()], brackets, seen: 0 }
    }

    /// Reads a mark. Gives how much of the text behind it was used.
    fn mark(&mut self, mark: &Mark, rest: Rest<'_>) -> usize {
        self.seen += 1;
        match mark.byte {
            b'"' => {
                self.open.iter_mut().for_each(|brace| brace.quoted = true);
                return 0;
            }
            b':' => return self.tilde(mark, rest),
            b'~' => return self.tilde_at_start(mark, rest),
            b'*' => self.glob("*"),
            b'?' => self.glob("?"),
            b'[' if self.seen <= self.brackets => self.glob("["),
            b']' => self.close_bracket(),
            b'{' if self.braces && self.open.len() < MAX_NESTING => {
                self.open.push(Brace::default());
                self.parts.push(Vec::new());
            }
            b',' if !self.open.is_empty() => self.next_alternative(),
            b'}' if !self.open.is_empty() => self.close_brace(),
            byte => self.text(char::from(byte).encode_utf8(&mut [0; 4])),
        }
        1
    }

    /// The parts that are added to.
    fn current(&mut self) -> &mut Vec<Part> {
        if self.parts.is_empty() {
            self.parts.push(Vec::new());
        }
        let last = self.parts.len() - 1;
        #[expect(clippy::indexing_slicing, reason = "the line above")]
        &mut self.parts[last]
    }

    fn add(&mut self, part: Part) {
        add(self.current(), part);
    }

    fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.add(Part::Literal(text.to_owned()));
        }
    }

    fn glob(&mut self, text: &str) {
        self.add(Part::Glob(text.to_owned()));
    }

    /// `]`: with the text since `[` one pattern.
    fn close_bracket(&mut self) {
        let parts = self.current();
        match parts.as_mut_slice() {
            [.., Part::Glob(open), Part::Literal(inside)] if open.ends_with('[') => {
                open.push_str(inside);
                open.push(']');
                parts.pop();
            }
            [.., Part::Glob(open)] if open.contains('[') => open.push(']'),
            parts if parts.iter().any(|part| matches!(part, Part::Glob(text) if text.contains('['))) => {
                self.glob("]");
            }
            _ => self.text("]"),
        }
    }

    /// `~` at the start of the word, or of an alternative of braces, which may be at the start of the word.
    fn tilde_at_start(&mut self, mark: &Mark, rest: Rest<'_>) -> usize {
        let before = || self.parts.iter().flatten();
        if before().next().is_none() {
            return self.tilde(mark, rest);
        }
        let unclear = |part: &Part| match part {
            Part::Brace(_) => true,
            Part::Literal(text) => text.contains('='),
            _ => false,
        };
        if before().any(unclear) {
            self.glob("~");
        } else {
            self.text("~");
        }
        1
    }

    /// `~` and the name behind it, up to a `/` or `:`. With something quoted or expanded in it, it is no tilde.
    fn tilde(&mut self, mark: &Mark, rest: Rest<'_>) -> usize {
        let stops = |c: char| matches!(c, '/' | ':') || !self.open.is_empty() && matches!(c, ',' | '}');
        let end = rest.text.find(stops).unwrap_or(rest.text.len());
        let name = rest.text.get(1..end).unwrap_or_default();
        let marked = rest.next.map(|next| (next.byte, next.at - mark.at));
        match marked {
            Some((b'"', at)) if at <= end => self.text("~"),
            Some((_, at)) if at < end => self.glob("~"),
            _ if end == rest.text.len() && rest.ends == Ends::Part => self.text("~"),
            _ => {
                self.add(Part::Tilde(name.to_owned()));
                return end;
            }
        }
        1
    }

    fn next_alternative(&mut self) {
        let parts = std::mem::take(self.current());
        let word = self.word(parts);
        if let Some(brace) = self.open.last_mut() {
            brace.alternatives.push(word);
        }
    }

    fn close_brace(&mut self) {
        let Some(mut brace) = self.open.pop() else { return };
        let parts = self.parts.pop().unwrap_or_default();
        if brace.alternatives.is_empty() {
            match sequence(&parts).filter(|_| !brace.quoted) {
                Some(words) => self.add(Part::Brace(words)),
                None => self.put_back(brace, parts, "}"),
            }
            return;
        }
        let last = self.word(parts);
        brace.alternatives.push(last);
        self.add(Part::Brace(brace.alternatives));
    }

    /// A brace that is none.
    fn put_back(&mut self, brace: Brace, last: Vec<Part>, close: &str) {
        self.text("{");
        for word in brace.alternatives {
            word.parts.into_iter().for_each(|part| self.add(part));
            self.text(",");
        }
        for part in last {
            self.add(part);
        }
        self.text(close);
    }

    fn word(&self, parts: Vec<Part>) -> Word {
        Word { parts, span: self.span.clone(), quoted: false }
    }

    fn finish(mut self) -> Vec<Part> {
        // The outermost first: what is put back into the word must come before what stands in it.
        let levels: Vec<_> = self.parts.drain(1..).collect();
        for (brace, parts) in std::mem::take(&mut self.open).into_iter().zip(levels) {
            self.put_back(brace, parts, "");
        }
        self.parts.pop().unwrap_or_default()
    }
}

/// Adds a part; text joins text before it.
fn add(parts: &mut Vec<Part>, part: Part) {
    match (parts.last_mut(), part) {
        (Some(Part::Literal(last)), Part::Literal(text)) | (Some(Part::Glob(last)), Part::Glob(text)) => {
            last.push_str(&text);
        }
        (_, part) => parts.push(part),
    }
}

/// `1..3`, `a..c` or `1..9..2` as words; none when it is no sequence, no words when there are too many.
fn sequence(parts: &[Part]) -> Option<Vec<Word>> {
    let [Part::Literal(text)] = parts else { return None };
    let mut pieces = text.split("..");
    let (first, last, step) = (pieces.next()?, pieces.next()?, pieces.next());
    if pieces.next().is_some() {
        return None;
    }
    let step = step.map_or(Ok(1), str::parse::<i64>).ok()?;
    let numbers = first.parse::<i64>().ok().zip(last.parse::<i64>().ok());
    if numbers.is_some_and(|_| padded(first) || padded(last)) {
        // Numbers with zeros in front are filled up with zeros: which words these are is not said.
        return Some(Vec::new());
    }
    let letters = letter(first).zip(letter(last));
    if letters.is_some_and(|(first, last)| (first < 97) != (last < 97)) {
        // What stands between capital and small letters has meanings of its own.
        return Some(Vec::new());
    }
    let (first, last) = numbers.or(letters)?;
    let show = |value: i64| match (numbers, u8::try_from(value)) {
        (None, Ok(byte)) => char::from(byte).to_string(),
        _ => value.to_string(),
    };
    Some(steps(first, last, step).into_iter().map(|value| literal(show(value))).collect())
}

fn letter(text: &str) -> Option<i64> {
    match text.as_bytes() {
        [byte] if byte.is_ascii_alphabetic() => Some(i64::from(*byte)),
        _ => None,
    }
}

fn padded(number: &str) -> bool {
    let digits = number.trim_start_matches(['-', '+']);
    number.starts_with('+') || digits.len() > 1 && digits.starts_with('0') || number == "-0"
}

fn steps(first: i64, last: i64, step: i64) -> Vec<i64> {
    let step = i128::from(step.unsigned_abs().max(1));
    let (first, last) = (i128::from(first), i128::from(last));
    let count = (last - first).unsigned_abs() / step.unsigned_abs() + 1;
    if count > MAX_SEQUENCE as u128 {
        return Vec::new();
    }
    let direction = if last < first { -step } else { step };
    let values = (0..count).filter_map(|n| i128::try_from(n).ok()).map(|n| first + n * direction);
    values.filter_map(|value| i64::try_from(value).ok()).collect()
}

fn literal(text: String) -> Word {
    Word { parts: vec![Part::Literal(text)], ..Word::default() }
}

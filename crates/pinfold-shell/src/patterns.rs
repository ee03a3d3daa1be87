//! Braces, tildes and patterns: what the marks of a complete word mean.

use crate::braces::{BracePiece, expand};
use crate::opaque::MAX_BRACES;
use crate::script::{Part, Span, Word};
use crate::words::Mark;

/// An indivisible piece of a word.
#[derive(Debug)]
pub(crate) enum Atom {
    /// Text that is neither quoted nor special.
    Bare(String),
    Quoted(String),
    /// A character that may be more than itself.
    Special(u8),
    Part(Part),
}

impl Atom {
    pub(crate) fn is(&self, byte: u8) -> bool {
        matches!(self, Self::Special(own) if *own == byte)
    }
}

/// Reads the marks of a word.
pub(crate) fn resolve(parts: Vec<Part>, marks: &[Mark], braces: bool, span: &Span) -> Vec<Part> {
    let atoms = atoms(parts, marks);
    let opens = atoms.iter().filter(|atom| atom.is(b'{')).count();
    if braces && opens > MAX_BRACES {
        return vec![Part::Brace(Vec::new())];
    }
    let pieces =
        if braces && opens > 0 { expand(&atoms) } else { atoms.iter().map(BracePiece::Atom).collect() };
    let brackets = atoms.iter().filter(|atom| atom.is(b']')).count();
    let mut reading = PatternScan { span, brackets, in_brackets: false };
    let mut word = Word::default();
    reading.pieces(&pieces, PieceStart::Word, false, &mut word);
    word.parts
}

/// Cuts the text at its marks.
fn atoms(parts: Vec<Part>, marks: &[Mark]) -> Vec<Atom> {
    let mut atoms = Vec::with_capacity(marks.len() * 2 + parts.len());
    let mut marks = marks.iter().peekable();
    let mut quoted = false;
    for (index, part) in parts.into_iter().enumerate() {
        let text = if let Part::Literal(text) = &part { text.as_str() } else { "" };
        let mut from = 0;
        while let Some(mark) = marks.next_if(|mark| mark.part == index) {
            let before = text.get(from..mark.at).unwrap_or_default().to_owned();
            from = mark.at;
            match mark.byte {
                b'"' if !before.is_empty() => atoms.push(Atom::Bare(before)),
                b'"' => {}
                b'\'' => atoms.push(Atom::Quoted(before)),
                byte => {
                    atoms.extend((!before.is_empty()).then_some(Atom::Bare(before)));
                    atoms.push(Atom::Special(byte));
                    from += 1;
                }
            }
            quoted = mark.byte == b'"' || quoted && mark.byte != b'\'';
        }
        let rest = text.get(from..).unwrap_or_default().to_owned();
        if !rest.is_empty() {
            atoms.push(if quoted { Atom::Quoted(rest) } else { Atom::Bare(rest) });
        }
        if !matches!(part, Part::Literal(_)) {
            atoms.push(Atom::Part(part));
        }
    }
    // Quotes with nothing in them, at the very end.
    atoms.extend(marks.any(|mark| mark.byte == b'"').then(|| Atom::Quoted(String::new())));
    atoms
}

/// The construct in front of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PieceStart {
    /// Nothing: a `~` here begins the word.
    Word,
    /// Braces, which may leave nothing.
    Braces,
    /// Text.
    Text,
}

#[derive(Debug)]
struct PatternScan<'a> {
    span: &'a Span,
    /// Number of `]` still to come.
    brackets: usize,
    /// A `[` that begins a pattern was seen.
    in_brackets: bool,
}

impl PatternScan<'_> {
    /// Reads pieces into a word. `followed`: more text comes directly behind them.
    fn pieces(&mut self, pieces: &[BracePiece<'_>], mut start: PieceStart, followed: bool, word: &mut Word) {
        let mut rest = pieces;
        while let Some((piece, behind)) = rest.split_first() {
            rest = behind;
            match piece {
                BracePiece::Alternatives(words) => {
                    let followed = followed || !rest.is_empty();
                    let words =
                        words.iter().map(|pieces| self.alternative(pieces, start, followed)).collect();
                    add(&mut word.parts, Part::Brace(words));
                }
                BracePiece::Sequence(words) => {
                    let words = words.iter().map(|text| self.literal(text)).collect();
                    add(&mut word.parts, Part::Brace(words));
                }
                BracePiece::Atom(atom) => {
                    self.atom(atom, Tilde { start, rest, followed }, word);
                    start = PieceStart::Text;
                }
            }
            if start == PieceStart::Word {
                start = PieceStart::Braces;
            }
        }
    }

    fn alternative(&mut self, pieces: &[BracePiece<'_>], start: PieceStart, followed: bool) -> Word {
        let mut word = Word { span: self.span.clone(), ..Word::default() };
        self.pieces(pieces, start, followed, &mut word);
        word
    }

    fn literal(&self, text: &str) -> Word {
        Word { parts: vec![Part::Literal(text.to_owned())], span: self.span.clone(), quoted: false }
    }

    fn atom(&mut self, atom: &Atom, tilde: Tilde<'_>, word: &mut Word) {
        match atom {
            Atom::Bare(text) => add(&mut word.parts, Part::Literal(text.clone())),
            Atom::Quoted(text) => {
                word.quoted = true;
                if !text.is_empty() {
                    add(&mut word.parts, Part::Literal(text.clone()));
                }
            }
            Atom::Part(part) => add(&mut word.parts, part.clone()),
            Atom::Special(byte) => {
                let part = self.special(*byte, tilde, &mut word.parts);
                add(&mut word.parts, part);
            }
        }
    }

    fn special(&mut self, byte: u8, tilde: Tilde<'_>, parts: &mut Vec<Part>) -> Part {
        match byte {
            b'~' | b':' | b'%' => tilde.read(byte),
            b'*' | b'?' => Part::Glob(char::from(byte).to_string()),
            b'[' if self.brackets > 0 => {
                self.in_brackets = true;
                Part::Glob("[".to_owned())
            }
            b']' => {
                self.brackets = self.brackets.saturating_sub(1);
                if self.in_brackets { close_bracket(parts) } else { Part::Literal("]".to_owned()) }
            }
            byte => Part::Literal(char::from(byte).to_string()),
        }
    }
}

/// `]`: with the text since `[` one pattern.
fn close_bracket(parts: &mut Vec<Part>) -> Part {
    match parts.as_slice() {
        [.., Part::Glob(open), Part::Literal(_)] if open.ends_with('[') => {
            let Some(Part::Literal(inside)) = parts.pop() else { return Part::Glob("]".to_owned()) };
            Part::Glob(inside + "]")
        }
        _ => Part::Glob("]".to_owned()),
    }
}

/// The text around a `~`.
#[derive(Debug, Clone, Copy)]
struct Tilde<'a> {
    start: PieceStart,
    rest: &'a [BracePiece<'a>],
    followed: bool,
}

impl Tilde<'_> {
    fn read(self, mark: u8) -> Part {
        match (mark, self.start) {
            (b':', _) | (b'~', PieceStart::Word) => self.named(),
            (b'~', PieceStart::Text) => Part::Literal("~".to_owned()),
            _ => Part::Glob("~".to_owned()),
        }
    }

    /// With something quoted or expanded in its name it is no tilde; what braces and patterns make of it is not
    /// said. The name itself stays text, and is joined with the tilde by [`add`].
    fn named(self) -> Part {
        let (name, next) = match self.rest {
            [] => ("", None),
            [BracePiece::Atom(Atom::Bare(text)), next @ ..] => match text.find(['/', ':']) {
                Some(end) => return Part::Tilde(text.get(..end).unwrap_or_default().to_owned()),
                None => (text.as_str(), next.first()),
            },
            [next, ..] => ("", Some(next)),
        };
        match next {
            None if !self.followed => Part::Tilde(name.to_owned()),
            Some(BracePiece::Atom(Atom::Quoted(_) | Atom::Part(_))) => Part::Literal("~".to_owned()),
            _ => Part::Glob("~".to_owned()),
        }
    }
}

/// Adds a part. Text joins text before it; behind a tilde the name is there already.
fn add(parts: &mut Vec<Part>, part: Part) {
    match (parts.last_mut(), part) {
        (Some(Part::Tilde(name)), Part::Literal(text)) => {
            let rest = text.strip_prefix(name.as_str()).unwrap_or(&text);
            if !rest.is_empty() {
                parts.push(Part::Literal(rest.to_owned()));
            }
        }
        (_, part) => join(parts, part),
    }
}

/// Puts a part behind others; one of characters is joined with one of its kind.
pub(crate) fn join(parts: &mut Vec<Part>, part: Part) {
    match (parts.last_mut(), part) {
        (Some(Part::Literal(last)), Part::Literal(text)) | (Some(Part::Glob(last)), Part::Glob(text)) => {
            last.push_str(&text);
        }
        (_, part) => parts.push(part),
    }
}

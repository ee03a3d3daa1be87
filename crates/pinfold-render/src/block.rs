//! Blocks of text that a request is shown in.

use std::borrow::Cow;

use crate::piece::Piece;

/// A text with what we say about it.
#[derive(Clone, Debug)]
pub struct Block<'a> {
    /// A label in one short word; left of the gutter, where no text gets.
    pub label: &'static str,
    /// A sign before every line of it.
    pub sign: char,
    /// The text.
    pub text: Cow<'a, str>,
    /// The way in which it is cut into lines.
    pub kind: LineBreaks,
    /// Its colour, as a hint.
    pub tone: Tone,
}

/// The way in which a text is cut into lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineBreaks {
    /// Its line breaks are shown and marked.
    Exact,
    /// Its line breaks are shown.
    Lines,
    /// One line; a line break in it is a character like others.
    Inline,
    /// Our words: one line, cut between words where it is too long.
    Prose,
}

/// The meaning that colours give to a text. Nothing depends on a colour alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Nothing special.
    Plain,
    /// The most important text.
    Strong,
    /// Removed text.
    Gone,
    /// Added text.
    Come,
    /// Text that can be passed over.
    Faint,
}

impl<'a> Block<'a> {
    /// A text of one line.
    pub fn inline(label: &'static str, text: impl Into<Cow<'a, str>>) -> Self {
        Self { label, sign: ' ', text: text.into(), kind: LineBreaks::Inline, tone: Tone::Plain }
    }

    /// Words of ours, in which there may be some of theirs.
    pub fn prose(label: &'static str, text: impl Into<Cow<'a, str>>) -> Self {
        Self { kind: LineBreaks::Prose, ..Self::inline(label, text) }
    }

    /// A text of many lines.
    pub fn lines(label: &'static str, text: impl Into<Cow<'a, str>>) -> Self {
        Self { kind: LineBreaks::Lines, ..Self::inline(label, text) }
    }

    /// Its text, piece by piece, as it is shown.
    pub fn pieces(&self) -> impl Iterator<Item = Piece> {
        Piece::all(&self.text).map(|piece| self.kind.shown(piece))
    }

    /// Returns the block in another tone.
    #[must_use]
    pub fn tone(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }

    /// Returns the block with a sign before each of its lines.
    #[must_use]
    pub fn sign(self, sign: char) -> Self {
        Self { sign, ..self }
    }
}

impl LineBreaks {
    /// Returns the form of a piece in such a text.
    #[must_use]
    pub fn shown(self, piece: Piece) -> Piece {
        match self {
            Self::Exact | Self::Lines => piece,
            Self::Inline | Self::Prose => piece.join_lines(),
        }
    }
}

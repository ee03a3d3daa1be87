//! What a sheet is made of.

use std::borrow::Cow;

use ratatui_core::style::{Color, Modifier, Style};

/// A text with what we say about it.
#[derive(Clone, Debug)]
pub(crate) struct Block<'a> {
    /// What it is, in one short word; left of the gutter, where no text gets.
    pub(crate) label: &'static str,
    /// A sign before every line of it.
    pub(crate) sign: char,
    /// The text.
    pub(crate) text: Cow<'a, str>,
    pub(crate) kind: Kind,
    pub(crate) tone: Tone,
}

/// How a text is cut into lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Its line breaks are shown and marked.
    Exact,
    /// Its line breaks are shown.
    Lines,
    /// It has one line; a line break in it is a character like others.
    Inline,
    /// Our words: one line, cut between words where it is too long.
    Prose,
}

/// What a text is, in the colours of a terminal. Nothing is told by a colour alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    /// What matters most.
    Strong,
    /// What goes.
    Gone,
    /// What comes.
    Come,
    /// What can be passed over.
    Faint,
}

impl Tone {
    pub(crate) fn style(self) -> Style {
        match self {
            Self::Plain => Style::new(),
            Self::Strong => Style::new().add_modifier(Modifier::BOLD),
            Self::Gone => Style::new().fg(Color::Red),
            Self::Come => Style::new().fg(Color::Green),
            Self::Faint => Style::new().add_modifier(Modifier::DIM),
        }
    }
}

impl<'a> Block<'a> {
    /// A text of one line.
    pub(crate) fn inline(label: &'static str, text: impl Into<Cow<'a, str>>) -> Self {
        Self { label, sign: ' ', text: text.into(), kind: Kind::Inline, tone: Tone::Plain }
    }

    /// Words of ours, in which there may be some of theirs.
    pub(crate) fn prose(label: &'static str, text: impl Into<Cow<'a, str>>) -> Self {
        Self { kind: Kind::Prose, ..Self::inline(label, text) }
    }

    /// A text of many lines.
    pub(crate) fn lines(label: &'static str, text: impl Into<Cow<'a, str>>) -> Self {
        Self { kind: Kind::Lines, ..Self::inline(label, text) }
    }

    pub(crate) fn tone(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }

    pub(crate) fn sign(self, sign: char) -> Self {
        Self { sign, ..self }
    }
}

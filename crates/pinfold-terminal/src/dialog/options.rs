//! The lines that can be chosen: their keys and their words.

use pinfold_render::Answerable;

use crate::surface::{Key, KeyCode};

/// A line that can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OptionLine {
    Answer(Answerable),
    /// No, and a message to the model.
    Message,
}

/// Width from which on there is room for whole sentences.
const WIDE: u16 = 64;

impl OptionLine {
    /// The number under which it can be chosen: always the same, whatever else is offered.
    pub(super) fn number(self) -> char {
        match self {
            Self::Answer(Answerable::Yes) => '1',
            Self::Answer(Answerable::Session) => '2',
            Self::Answer(Answerable::Always) => '3',
            Self::Answer(Answerable::No) => '4',
            Self::Answer(Answerable::NoToProcess) => '5',
            Self::Message => '6',
        }
    }

    /// Its letter.
    pub(super) fn letter(self) -> char {
        match self {
            Self::Answer(Answerable::Yes) => 'y',
            Self::Answer(Answerable::Session) => 's',
            Self::Answer(Answerable::Always) => 'a',
            Self::Answer(Answerable::No) => 'n',
            Self::Answer(Answerable::NoToProcess) => 'p',
            Self::Message => 'm',
        }
    }

    /// Its words, for a screen of this width. A plain yes may keep something until the session ends.
    pub(super) fn label(self, width: u16, keeps: bool) -> &'static str {
        match (self, width >= WIDE) {
            (Self::Answer(Answerable::Yes), true) if keeps => {
                "Yes, and do not ask about this again in this session"
            }
            (Self::Answer(Answerable::Yes), false) if keeps => "Yes, in this session",
            (Self::Answer(Answerable::Yes), true) => "Yes, this once",
            (Self::Answer(Answerable::Yes), false) => "Yes",
            (Self::Answer(Answerable::Session), true) => "Yes, and more until the session ends …",
            (Self::Answer(Answerable::Session), false) => "Yes, and more …",
            (Self::Answer(Answerable::Always), true) => "Always allow: write a rule …",
            (Self::Answer(Answerable::Always), false) => "Always allow …",
            (Self::Answer(Answerable::No), _) => "No",
            (Self::Answer(Answerable::NoToProcess), true) => "No, and no to all else that this process tries",
            (Self::Answer(Answerable::NoToProcess), false) => "No to all of this process",
            (Self::Message, true) => "No, with a message to the model …",
            (Self::Message, false) => "No, with a message …",
        }
    }

    /// Returns `true` if a key names it.
    pub(super) fn is_named_by(self, key: Key) -> bool {
        let KeyCode::Char(c) = key.code else { return false };
        let c = c.to_ascii_lowercase();
        !key.ctrl && !key.alt && (c == self.letter() || c == self.number())
    }
}

/// Returns `true` if a key names a line, whether that is there or not.
pub(super) fn is_name(key: Key) -> bool {
    let all =
        [Answerable::Yes, Answerable::Session, Answerable::Always, Answerable::No, Answerable::NoToProcess];
    all.map(OptionLine::Answer).into_iter().chain([OptionLine::Message]).any(|line| line.is_named_by(key))
}

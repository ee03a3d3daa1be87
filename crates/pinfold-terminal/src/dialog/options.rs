//! The keys and the words for what can be answered.

use pinfold_render::Answerable;

use crate::stage::{Key, KeyCode};

/// The number under which an answer can be chosen: always the same, whatever else is offered.
pub(crate) fn number(option: Answerable) -> char {
    match option {
        Answerable::Yes => '1',
        Answerable::Session => '2',
        Answerable::Always => '3',
        Answerable::No => '4',
    }
}

/// Its letter.
pub(crate) fn letter(option: Answerable) -> char {
    match option {
        Answerable::Yes => 'y',
        Answerable::Session => 's',
        Answerable::Always => 'a',
        Answerable::No => 'n',
    }
}

/// Its words, for a screen of this width. A plain yes may keep something until the session ends.
pub(crate) fn words(option: Answerable, width: u16, keeps: bool) -> &'static str {
    match (option, width >= 64) {
        (Answerable::Yes, true) if keeps => "Yes, and no more questions about these places in this session",
        (Answerable::Yes, false) if keeps => "Yes, for these places",
        (Answerable::Yes, true) => "Yes, this once",
        (Answerable::Session, true) => "Yes, and all of this kind in this session …",
        (Answerable::Always, true) => "Always allow: write a rule …",
        (Answerable::No, true) => "No                m  No, with a message to the model",
        (Answerable::Yes, false) => "Yes",
        (Answerable::Session, false) => "Yes, all of this kind …",
        (Answerable::Always, false) => "Always allow …",
        (Answerable::No, false) => "No    m No, with a message",
    }
}

/// The answer that a key means, whether it is offered or not.
pub(crate) fn meant_by(key: Key) -> Option<Answerable> {
    let KeyCode::Char(c) = key.code else { return None };
    if key.ctrl || key.alt {
        return None;
    }
    let c = c.to_ascii_lowercase();
    [Answerable::Yes, Answerable::Session, Answerable::Always, Answerable::No]
        .into_iter()
        .find(|option| letter(*option) == c || number(*option) == c)
}

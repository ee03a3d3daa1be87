//! What can be answered, and by which keys.

use pinfold::consent::Request;

use crate::stage::{Key, KeyCode};

/// One of the answers that can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answerable {
    /// This once.
    Yes,
    /// All of this kind until the session ends.
    Session,
    /// From now on.
    Always,
    /// No.
    No,
}

/// What can be answered to a request, in the order in which it is shown.
pub(crate) fn offered(request: &Request, is_whole: bool) -> Vec<Answerable> {
    let standing = !request.immune;
    let all = [
        (Answerable::Yes, is_whole),
        (Answerable::Session, is_whole && standing && !request.offer.session.is_empty()),
        (Answerable::Always, is_whole && standing && !request.offer.always.is_empty()),
        (Answerable::No, true),
    ];
    all.into_iter().filter(|(_, is_offered)| *is_offered).map(|(option, _)| option).collect()
}

impl Answerable {
    /// The number under which it can be chosen: always the same, whatever else is offered.
    pub(crate) fn number(self) -> char {
        match self {
            Self::Yes => '1',
            Self::Session => '2',
            Self::Always => '3',
            Self::No => '4',
        }
    }

    /// Its letter.
    pub(crate) fn letter(self) -> char {
        match self {
            Self::Yes => 'y',
            Self::Session => 's',
            Self::Always => 'a',
            Self::No => 'n',
        }
    }

    /// Its words, for a screen of this width. A plain yes may keep something until the session ends.
    pub(crate) fn words(self, width: u16, keeps: bool) -> &'static str {
        match (self, width >= 64) {
            (Self::Yes, true) if keeps => "Yes, and no more questions about these places in this session",
            (Self::Yes, false) if keeps => "Yes, for these places",
            (Self::Yes, true) => "Yes, this once",
            (Self::Session, true) => "Yes, and all of this kind in this session …",
            (Self::Always, true) => "Always allow: write a rule …",
            (Self::No, true) => "No                m  No, with a message to the model",
            (Self::Yes, false) => "Yes",
            (Self::Session, false) => "Yes, all of this kind …",
            (Self::Always, false) => "Always allow …",
            (Self::No, false) => "No    m No, with a message",
        }
    }

    /// The one that a key means, whether it is offered or not.
    pub(crate) fn of(key: Key) -> Option<Self> {
        let KeyCode::Char(c) = key.code else { return None };
        if key.ctrl || key.alt {
            return None;
        }
        let c = c.to_ascii_lowercase();
        [Self::Yes, Self::Session, Self::Always, Self::No]
            .into_iter()
            .find(|option| option.letter() == c || option.number() == c)
    }
}

//! Places that words of a command name, while no row of the tables says what the command does with them.
//!
//! A rule for a program means the program in its folder. A word that leads out of it (`../x`, `/abs`, `~/x`, also behind
//! `=`, `,`, `:`, `@` or glued to an option) and that is no claim of any kind may be read, written or run.

use pinfold_shell::{Part, Word};

use super::invocation::Invocation;
use super::program::{InvocationEffects, Reach};
use super::state::EnteredFolders;
use super::value::Values;
use super::working_directory::FileWord;
use crate::PathText;
use crate::pieces::{PathCertainty, Piece, PossibleText, of_word};

/// More places than an honest command names outside its claims.
const MAX_PLACES: usize = 64;

/// More parts than one word has that is a list of places.
const MAX_PIECES: usize = 256;

/// A place that a word names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPlace {
    /// The place, from the folder of the call if it is relative.
    pub path: PathText,
    /// The word that names it, as it stands in a rule that means it.
    pub word: String,
    /// Begins as only a path does. Others are compared with rules for paths alone.
    pub is_path: bool,
    /// Some of it is a wildcard.
    pub wild: bool,
    /// The command reads it at most.
    pub reads: bool,
}

/// Places that words name beyond the claims.
#[derive(Debug, Default)]
pub(super) struct Unclaimed {
    pub(super) places: Vec<NamedPlace>,
    /// A word that is known only at run time may name any file.
    pub(super) open: bool,
    /// There are more places than are looked at.
    pub(super) too_many: bool,
    /// Number of places that are plainly paths.
    paths: usize,
    others: usize,
}

/// Returns the places that the arguments of `invocation` name beyond the claims of `effects`.
pub(super) fn unclaimed(
    invocation: &Invocation,
    effects: &InvocationEffects<'_>,
    values: &Values<'_>,
    at: usize,
    found: &EnteredFolders,
) -> Unclaimed {
    let mut out = Unclaimed::default();
    if effects.reach == Reach::Text {
        return out;
    }
    let paths = effects.paths.iter().map(|touched| &touched.word.span);
    let mut claimed: Vec<_> = paths.chain(&effects.no_paths).map(|span| (span.start, span.end)).collect();
    claimed.sort_unstable();
    for word in invocation.args() {
        if claimed.binary_search(&(word.span.start, word.span.end)).is_ok() {
            continue;
        }
        match values.fill(word, at) {
            None => out.open |= could_be_path(word),
            Some(words) => words.iter().for_each(|word| out.add(word, effects.reach, found)),
        }
    }
    out
}

/// Returns whether a word that is known only at run time may turn out to be a path: not behind the beginning of an address.
fn could_be_path(word: &Word) -> bool {
    !word.literal_prefix().contains("://")
}

/// The text of a word; `None` for one that is no text. `~` stands for the home directory, `.` for the folder.
fn spelled(word: &Word) -> Option<PossibleText> {
    if let Some(text) = word.as_static() {
        return Some(PossibleText::plain(text));
    }
    let mut spelled = PossibleText::default();
    for part in &word.parts {
        match part {
            Part::Literal(text) => spelled.text.push_str(text),
            Part::Glob(text) => {
                spelled.open.get_or_insert(spelled.text.len());
                spelled.text.push_str(text);
            }
            Part::Tilde(user) if user == "+" => spelled.text.push('.'),
            Part::Tilde(user) => {
                spelled.text.push('~');
                spelled.text.push_str(user);
            }
            Part::Parameter { name, plain: true, .. } if name == "HOME" => spelled.text.push('~'),
            Part::Parameter { name, plain: true, .. } if name == "PWD" => spelled.text.push('.'),
            Part::Parameter { .. }
            | Part::Substitution { .. }
            | Part::Process
            | Part::Arithmetic
            | Part::Brace(_) => return None,
        }
    }
    Some(spelled)
}

impl Unclaimed {
    fn add(&mut self, word: &Word, reach: Reach, found: &EnteredFolders) {
        let Some(spelled) = spelled(word) else {
            self.open |= !matches!(word.parts.as_slice(), [Part::Process]);
            return;
        };
        let pieces = of_word(&spelled);
        for piece in pieces.iter().take(MAX_PIECES) {
            self.piece(piece, &spelled.text, reach, found);
        }
        if pieces.len() > MAX_PIECES {
            (self.open, self.too_many) = (true, true);
        }
    }

    fn piece(&mut self, piece: &Piece<'_>, word: &str, reach: Reach, found: &EnteredFolders) {
        for stand in &found.folders {
            let (path, wild) = match stand.name_text(&piece.text, piece.is_open()) {
                FileWord::Path(path) => (path, false),
                FileWord::Matching(path) => (path, true),
                FileWord::NoFile => continue,
                FileWord::Unknown => {
                    self.open = true;
                    continue;
                }
            };
            let place = NamedPlace {
                path: PathText::new(path),
                word: word.to_owned(),
                is_path: piece.sure == PathCertainty::Yes,
                wild,
                reads: reach == Reach::Reads,
            };
            self.push(place);
        }
    }
    /// Keeps a place; beyond the limit those that are plainly paths speak against the command, and others may be any.
    fn push(&mut self, place: NamedPlace) {
        let count = if place.is_path { &mut self.paths } else { &mut self.others };
        if *count >= MAX_PLACES {
            self.too_many |= place.is_path;
            self.open = true;
        } else if !self.places.contains(&place) {
            *count += 1;
            self.places.push(place);
        }
    }
}

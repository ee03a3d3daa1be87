//! Characters that shells, terminals and readers disagree about.
//!
//! What is looked for: anything that is a blank to one and a letter to another, that a terminal obeys instead of
//! shows, or that does not show at all. Letters of every script, symbols and emoji are ordinary.

use crate::listing::Listing;
use crate::script::OpaqueWhy;

/// Adds an opaque part for each character in `text` that is not plain to see.
pub(crate) fn inspect(text: &str, list: &mut Listing) {
    if text.bytes().all(plain) {
        return;
    }
    let mut before = '\0';
    for (at, character) in text.char_indices() {
        if deceives(character) && !joins_emoji(character, before) {
            list.opaque(OpaqueWhy::Character(character), at..at + character.len_utf8());
        }
        before = character;
    }
}

/// Printable ASCII, tab and newline.
const fn plain(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b' '..=b'~')
}

/// Whether a character is something else than it looks like, or looks like nothing.
pub(crate) fn deceives(character: char) -> bool {
    if character.is_ascii() {
        return !plain(character as u8);
    }
    character.is_control()
        || character.is_whitespace()
        || INVISIBLE.iter().any(|&(first, last)| (first..=last).contains(&character))
}

/// A selector or joiner behind a pictograph is part of an emoji, and shows.
fn joins_emoji(character: char, before: char) -> bool {
    matches!(character, '\u{fe0f}' | '\u{200d}')
        && (before >= '\u{2190}' && !deceives(before) || before == '\u{fe0f}')
}

/// Characters of the categories format, surrogate and separator, fillers, selectors and tags.
#[rustfmt::skip]
const INVISIBLE: &[(char, char)] = &[
    ('\u{00ad}', '\u{00ad}'),   // soft hyphen
    ('\u{034f}', '\u{034f}'),   // combining grapheme joiner
    ('\u{061c}', '\u{061c}'),   // Arabic letter mark
    ('\u{115f}', '\u{1160}'),   // Hangul fillers
    ('\u{17b4}', '\u{17b5}'),   // Khmer inherent vowels
    ('\u{180b}', '\u{180f}'),   // Mongolian selectors and vowel separator
    ('\u{200b}', '\u{200f}'),   // zero-width characters and marks of direction
    ('\u{2028}', '\u{202e}'),   // separators, embeddings and overrides of direction
    ('\u{2060}', '\u{206f}'),   // joiners, isolates, deprecated format characters
    ('\u{2800}', '\u{2800}'),   // blank Braille pattern
    ('\u{3164}', '\u{3164}'),   // Hangul filler
    ('\u{fe00}', '\u{fe0f}'),   // variation selectors
    ('\u{feff}', '\u{feff}'),   // byte order mark
    ('\u{ffa0}', '\u{ffa0}'),   // halfwidth Hangul filler
    ('\u{fff0}', '\u{fffb}'),   // annotation marks
    ('\u{13430}', '\u{1345f}'), // Egyptian format controls
    ('\u{1bca0}', '\u{1bca3}'), // shorthand format controls
    ('\u{1d173}', '\u{1d17a}'), // musical format controls
    ('\u{e0000}', '\u{e0fff}'), // tags and further selectors
];

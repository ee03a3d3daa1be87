//! Characters that shells, terminals and readers disagree about.
//!
//! What is looked for: anything that is a blank to one and a letter to another, that a terminal obeys instead of
//! shows, or that does not show at all. Letters of every script, symbols and emoji are ordinary.

use crate::listing::Listing;
use crate::script::OpaqueReason;

/// Adds an opaque part for each character in `text` that is not plain to see.
pub(crate) fn inspect(text: &str, list: &mut Listing) {
    if text.bytes().all(plain) {
        return;
    }
    let mut before = '\0';
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let behind = characters.peek().map_or('\0', |&(_, behind)| behind);
        if deceives(character) && !joins_emoji(before, character, behind) {
            list.opaque(OpaqueReason::Character(character), at..at + character.len_utf8());
        }
        before = character;
    }
}

/// Printable ASCII, tab and newline.
const fn plain(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b' '..=b'~')
}

/// Returns `true` if a character is something else than it looks like, or looks like nothing.
pub(crate) fn deceives(character: char) -> bool {
    if character.is_ascii() {
        return !plain(character as u8);
    }
    character.is_control()
        || character.is_whitespace()
        || INVISIBLE.iter().any(|&(first, last)| (first..=last).contains(&character))
}

/// A selector behind a pictograph, or a joiner between two, is part of an emoji, and shows.
fn joins_emoji(before: char, character: char, behind: char) -> bool {
    match character {
        '\u{fe0f}' => is_pictograph(before),
        '\u{200d}' => (is_pictograph(before) || before == '\u{fe0f}') && is_pictograph(behind),
        _ => false,
    }
}

/// Arrows, symbols, dingbats and emoji.
fn is_pictograph(character: char) -> bool {
    matches!(character, '\u{2190}'..='\u{27ff}' | '\u{2900}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
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
    ('\u{fff0}', '\u{ffff}'),   // annotation marks, replacements, no characters
    ('\u{13430}', '\u{1345f}'), // Egyptian format controls
    ('\u{1bca0}', '\u{1bca3}'), // shorthand format controls
    ('\u{1d173}', '\u{1d17a}'), // musical format controls
    ('\u{e0000}', '\u{10ffff}'), // tags, further selectors, private use
];

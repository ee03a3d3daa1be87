//! What programs write: texts by their names, from `tests/hostile/contents.txt`.

use super::world_path::Roots;

const TEXTS: &str = include_str!("../../hostile/contents.txt");

/// The names of all texts.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    sections().map(|(name, _)| name)
}

/// A text, with the places of one world in it. A name that is not listed stands for itself.
pub(super) fn text(name: &str, roots: &Roots, planted: &str) -> String {
    let found = sections().find(|(known, _)| *known == name).map_or(name, |(_, text)| text);
    expand(found, roots, planted)
}

/// Puts the places of one world into a text or a command: `$F`, `$H`, `$O`, and `$X`, the program whose start shows
/// that something planted has run.
pub(super) fn expand(text: &str, roots: &Roots, planted: &str) -> String {
    let at = |path: &std::path::Path| path.display().to_string();
    text.replace("$F", &at(&roots.folder))
        .replace("$H", &at(&roots.home))
        .replace("$O", &at(&roots.outside))
        .replace("$X", planted)
}

fn sections() -> impl Iterator<Item = (&'static str, &'static str)> {
    let sections = TEXTS.split("\n[[").skip(1).filter_map(|section| section.split_once("]]\n"));
    // The blank line between two texts belongs to neither.
    sections.map(|(name, text)| (name, if text.ends_with("\n\n") { &text[..text.len() - 1] } else { text }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_names_and_know_the_world() {
        let roots = Roots { folder: "/w".into(), home: "/h".into(), outside: "/o".into() };
        assert!(names().count() > 5);
        assert_eq!(text("hook", &roots, "/x"), "#!/bin/sh\n/x\n");
        assert_eq!(text("no-such-text", &roots, "/x"), "no-such-text");
    }
}

//! What holds for the script of every text.

use pinfold_shell::{Part, Script, Span, Word, parse};

/// Fails when the script of a text breaks a promise.
pub(crate) fn holds(text: &str) {
    let script = parse(text);
    for (at, command) in script.commands.iter().enumerate() {
        spans(text, &command.span);
        let assigned = command.assignments.iter().flat_map(|one| one.elements.iter().chain([&one.value]));
        let targets = command.redirects.iter().map(|redirect| &redirect.target);
        command.words.iter().chain(assigned).chain(targets).for_each(|word| word_holds(text, word));
        let place = &command.place;
        assert!(place.shell < script.shells.len(), "{text:?}: a shell that is not there");
        assert!(place.piped_from.is_none_or(|from| from < at), "{text:?}: piped from behind");
        assert!(place.after.is_none_or(|after| after < at), "{text:?}: waits for what comes behind");
    }
    script.opaque.iter().for_each(|opaque| spans(text, &opaque.span));
    script.loose.iter().for_each(|word| word_holds(text, word));
    shells_hold(text, &script);
    assert_eq!(script, parse(text), "{text:?}: not the same twice");
}

fn spans(text: &str, span: &Span) {
    assert!(text.get(span.clone()).is_some(), "{text:?}: no text at {span:?}");
}

fn word_holds(text: &str, word: &Word) {
    spans(text, &word.span);
    let both =
        |pair: &[Part]| matches!(pair, [Part::Literal(_), Part::Literal(_)] | [Part::Glob(_), Part::Glob(_)]);
    assert!(!word.parts.windows(2).any(both), "{text:?}: parts of one kind in a row: {:?}", word.parts);
    for part in &word.parts {
        if let Part::Brace(words) = part {
            for word in words {
                word_holds(text, word);
            }
        }
    }
}

/// Every shell comes, in the end, out of the first.
fn shells_hold(text: &str, script: &Script) {
    let parents = &script.shells;
    for start in 0..parents.len() {
        let mut shell = start;
        for _ in 0..parents.len() {
            assert!(shell < parents.len(), "{text:?}: a shell out of nowhere");
            shell = parents[shell];
        }
        assert_eq!(shell, 0, "{text:?}: shell {start} comes out of itself");
    }
}

//! A script as text that is easy to proof-read.

use pinfold_shell::{Assignment, CommandContext, OpaqueReason, Part, Redirect, RedirectKind, Script, Word};
use std::fmt::Write;

/// One line for each command and for each thing that is opaque.
pub(crate) fn script(script: &Script) -> String {
    let mut text = String::new();
    for (at, command) in script.commands.iter().enumerate() {
        let mut pieces: Vec<_> = command.assignments.iter().map(assignment).collect();
        pieces.extend(command.words.iter().map(word));
        pieces.extend(command.redirects.iter().map(redirect));
        let _ = write!(text, "  {at} {}", pieces.join(" "));
        let notes = place(&command.place);
        let _ = if notes.is_empty() { writeln!(text) } else { writeln!(text, "   ({})", notes.join(", ")) };
    }
    for variable in &script.loops {
        let _ = writeln!(text, "  loop {}", assignment(variable));
    }
    let words = |words: &[Word]| words.iter().map(word).collect::<Vec<_>>().join(" ");
    if !script.loose.is_empty() {
        let _ = writeln!(text, "  loose {}", words(&script.loose));
    }
    if !script.functions.is_empty() {
        let _ = writeln!(text, "  functions {}", script.functions.join(" "));
    }
    if script.shells.len() > 1 {
        let _ = writeln!(text, "  shells {:?}", script.shells);
    }
    for opaque in &script.opaque {
        let why = match &opaque.why {
            OpaqueReason::Character(character) => format!("character {}", character.escape_unicode()),
            OpaqueReason::Syntax(expected) => format!("syntax: {expected}"),
            OpaqueReason::Construct(construct) => format!("construct: {construct}"),
            OpaqueReason::TooMuch(limit) => format!("too much: {limit}"),
        };
        let _ = writeln!(text, "  ! {why}");
    }
    text
}

fn place(place: &CommandContext) -> Vec<String> {
    let mut notes = Vec::new();
    let mut note = |wanted: bool, text: String| notes.extend(wanted.then_some(text));
    note(place.shell > 0, format!("shell {}", place.shell));
    note(place.substitution > 0, format!("substitution {}", place.substitution));
    note(place.piped_from.is_some(), format!("from {}", place.piped_from.unwrap_or_default()));
    note(place.after.is_some(), format!("after {}", place.after.unwrap_or_default()));
    note(place.function.is_some(), format!("in {}", place.function.clone().unwrap_or_default()));
    note(place.background, "background".to_owned());
    note(place.conditional, "conditional".to_owned());
    notes
}

fn assignment(assignment: &Assignment) -> String {
    let elements: Vec<_> = assignment.elements.iter().map(word).collect();
    let value =
        if elements.is_empty() { word(&assignment.value) } else { format!("({})", elements.join(" ")) };
    format!("{}{}{value}", assignment.name, if assignment.appends { "+=" } else { "=" })
}

fn redirect(redirect: &Redirect) -> String {
    let operator = match redirect.kind {
        RedirectKind::Read => "<",
        RedirectKind::Write => ">",
        RedirectKind::Append => ">>",
        RedirectKind::ReadWrite => "<>",
        RedirectKind::Duplicate => ">&",
        RedirectKind::HereDocument => "<<",
        RedirectKind::HereString => "<<<",
    };
    let fd = redirect.fd.map(|fd| fd.to_string()).unwrap_or_default();
    let inherited = if redirect.inherited { "^" } else { "" };
    format!("{inherited}{fd}{operator}{}", word(&redirect.target))
}

/// Literal text as it is, with blanks and newlines made visible; what is dynamic between `‹›`.
fn word(word: &Word) -> String {
    if word.parts.is_empty() {
        return "''".to_owned();
    }
    word.parts.iter().map(part).collect()
}

fn part(part: &Part) -> String {
    let in_quotes = |quoted: &bool| if *quoted { "\"" } else { "" };
    match part {
        Part::Literal(text) => text.chars().map(visible).collect(),
        Part::Glob(text) => format!("‹glob {text}›"),
        Part::Tilde(name) => format!("‹~{name}›"),
        Part::Parameter { name, quoted, plain } => {
            let operator = if *plain { "" } else { "…" };
            format!("‹{quote}${name}{operator}{quote}›", quote = in_quotes(quoted))
        }
        Part::Substitution { quoted } => format!("‹{quote}$(){quote}›", quote = in_quotes(quoted)),
        Part::Process => "‹<()›".to_owned(),
        Part::Arithmetic => "‹$(())›".to_owned(),
        Part::Brace(words) => format!("‹{}›", words.iter().map(self::word).collect::<Vec<_>>().join("|")),
    }
}

fn visible(character: char) -> String {
    match character {
        '\n' => "↵".to_owned(),
        '\t' => "⇥".to_owned(),
        ' ' => "·".to_owned(),
        _ if character.is_ascii_graphic() || character.is_alphanumeric() => character.to_string(),
        _ => character.escape_unicode().to_string(),
    }
}

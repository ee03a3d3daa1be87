//! Whether what bash ran is on the list.

use pinfold_shell::{Part, RedirectKind, Script, Word};

/// What a word may become: text and places where anything may stand.
#[derive(Debug, Clone)]
enum Shape {
    /// Exactly one argument, with these pieces in order and anything between them.
    One(Vec<String>),
    /// Any number of arguments.
    Any,
}

/// Whether some listed command is what ran.
pub(crate) fn covers(script: &Script, argv: &[String]) -> bool {
    script.commands.iter().any(|command| lines(&command.words).iter().any(|shapes| fits(shapes, argv)))
}

/// Whether some listed command may be that program. bash names a coprocess itself.
pub(crate) fn covers_name(script: &Script, name: &str) -> bool {
    let mut first = script.commands.iter().filter_map(|command| command.words.first());
    name == "COPROC"
        || first.any(|word| lines(std::slice::from_ref(word)).iter().any(|shapes| begins(shapes, name)))
}

fn begins(shapes: &[Shape], name: &str) -> bool {
    shapes.iter().any(|shape| match shape {
        Shape::Any => true,
        Shape::One(pieces) => holds(pieces, name),
    })
}

/// Whether some listed redirect makes a file of that name.
pub(crate) fn covers_file(script: &Script, name: &str) -> bool {
    let writes = |kind| matches!(kind, RedirectKind::Write | RedirectKind::Append | RedirectKind::ReadWrite);
    let redirects = script.commands.iter().flat_map(|command| &command.redirects);
    let targets = redirects.filter(|redirect| writes(redirect.kind)).map(|redirect| &redirect.target);
    targets.into_iter().any(|target| {
        lines(std::slice::from_ref(target)).iter().any(|shapes| fits(shapes, &[name.to_owned()]))
    })
}

/// The lines that the words may become, one for each way through braces; all kinds at once where these are many.
fn lines(words: &[Word]) -> Vec<Vec<Shape>> {
    let shapes = |word: &Word| -> Vec<Shape> {
        let braces = word.parts.iter().any(|part| matches!(part, Part::Brace(_)));
        // What braces leave empty vanishes.
        let vanishes = |parts: &Vec<Part>| braces && parts.is_empty();
        let words = alternatives(&word.parts);
        words.iter().map(|parts| if vanishes(parts) { Shape::Any } else { shape(parts) }).collect()
    };
    vec![words.iter().flat_map(shapes).collect()]
}

/// A word without its braces: every word that they make of it.
fn alternatives(parts: &[Part]) -> Vec<Vec<Part>> {
    let mut words = vec![Vec::new()];
    for part in parts {
        let choices: Vec<Vec<Part>> = match part {
            Part::Brace(inner) if !inner.is_empty() => {
                inner.iter().flat_map(|word| alternatives(&word.parts)).collect()
            }
            other => vec![vec![other.clone()]],
        };
        let longer = |word: &Vec<Part>| {
            choices.iter().map(|choice| [word.clone(), choice.clone()].concat()).collect::<Vec<_>>()
        };
        words = words.iter().flat_map(longer).collect();
        if words.len() > 1000 {
            return vec![vec![Part::Brace(Vec::new())]];
        }
    }
    words
}

fn shape(parts: &[Part]) -> Shape {
    let mut pieces = vec![String::new()];
    for part in parts {
        match part {
            Part::Literal(text) => pieces.last_mut().expect("never empty").push_str(text),
            Part::Parameter { quoted: true, name, .. } if name != "@" => pieces.push(String::new()),
            Part::Substitution { quoted: true } | Part::Process | Part::Arithmetic | Part::Tilde(_) => {
                pieces.push(String::new());
            }
            Part::Glob(_) | Part::Parameter { .. } | Part::Substitution { .. } | Part::Brace(_) => {
                return Shape::Any;
            }
        }
    }
    Shape::One(pieces)
}

fn fits(shapes: &[Shape], argv: &[String]) -> bool {
    match shapes.split_first() {
        None => argv.is_empty(),
        Some((Shape::Any, rest)) => (0..=argv.len()).any(|skip| fits(rest, &argv[skip..])),
        Some((Shape::One(pieces), rest)) => {
            argv.split_first().is_some_and(|(first, others)| holds(pieces, first) && fits(rest, others))
        }
    }
}

/// The pieces stand in the argument, the first at its start, the last at its end.
fn holds(pieces: &[String], argument: &str) -> bool {
    let [first, middle @ .., last] = pieces else { return pieces.concat() == argument };
    let Some(mut rest) = argument.strip_prefix(first.as_str()) else { return false };
    for piece in middle {
        let Some(at) = rest.find(piece.as_str()) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last.as_str())
}

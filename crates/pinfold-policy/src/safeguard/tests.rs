use super::*;
use pinfold_shell::parse;

/// Every hit of a command line.
fn hits_of(text: &str) -> Vec<SafeguardHit> {
    let script = parse(text);
    let claims: Vec<CommandClaim> = script.commands.iter().map(|command| claim(&script, command)).collect();
    let mut hits = of_line(text, &script, &claims);
    for (command, claim) in script.commands.iter().zip(&claims) {
        hits.extend(of_command(command, &claim.readings, works_in(&script, command)));
        for inner in inner_texts(&claim.readings) {
            hits.extend(hits_of(&inner));
        }
    }
    hits
}

fn ids_of(text: &str) -> Vec<&'static str> {
    hits_of(text).into_iter().map(|hit| hit.id).collect()
}

fn claim(_: &Script, command: &SimpleCommand) -> CommandClaim {
    let written = Invocation { words: command.words.clone(), ..Invocation::default() };
    CommandClaim {
        span: command.span.clone(),
        allowable: written.clone(),
        readings: readings(written),
        bars: Vec::new(),
        safeguards: Vec::new(),
        read_only: false,
        inert: false,
        works_in: Vec::new(),
    }
}

/// A stand-in: takes plain launchers off.
fn readings(written: Invocation) -> Vec<Invocation> {
    let mut all = vec![written];
    while let Some(inner) = all.last().and_then(launched) {
        all.push(inner);
    }
    all
}

fn launched(outer: &Invocation) -> Option<Invocation> {
    let args = outer.args();
    let from = match outer.name()? {
        "sudo" | "command" | "builtin" | "exec" | "npx" => 0,
        "timeout" => 1,
        "env" | "xargs" => args.iter().position(|word| {
            let text = word.as_static().unwrap_or_default();
            !text.starts_with('-') && !text.contains('=')
        })?,
        "find" => {
            args.iter().position(|word| word.as_static().is_some_and(|text| text.starts_with("-exec")))? + 1
        }
        _ => return None,
    };
    let words = args.get(from..)?.to_vec();
    let open_ended = outer.open_ended || outer.name() == Some("xargs");
    (!words.is_empty()).then_some(Invocation { words, open_ended, ..Invocation::default() })
}

/// A stand-in: texts for another shell.
fn inner_texts(readings: &[Invocation]) -> Vec<String> {
    let text = |reading: &Invocation| match reading.name()? {
        "bash" | "sh" => match reading.args() {
            [option, text, ..] if option.as_static() == Some("-c") => text.as_static().map(str::to_owned),
            _ => None,
        },
        "eval" => reading.args().first()?.as_static().map(str::to_owned),
        _ => None,
    };
    readings.iter().filter_map(text).collect()
}

/// A stand-in: the `cd` in front.
fn works_in<'a>(script: &'a Script, command: &SimpleCommand) -> Option<&'a str> {
    let before = script.commands.get(command.place.after?)?;
    let [cd, folder] = before.words.as_slice() else { return None };
    (cd.as_static() == Some("cd")).then(|| folder.as_static().unwrap_or("~"))
}

/// The examples of all safeguards for which the safeguard's own hit is not what it should be.
fn wrong_examples(examples: fn(&Safeguard) -> &'static [&'static str], should_hit: bool) -> Vec<String> {
    ALL.iter()
        .flat_map(|safeguard| examples(safeguard).iter().map(move |text| (safeguard.id, *text, ids_of(text))))
        .filter(|(id, _, ids)| ids.contains(id) != should_hit)
        .map(|(id, text, ids)| format!("{id}: {text:?} gives {ids:?}"))
        .collect()
}

#[test]
fn every_safeguard_hits_what_it_says() {
    assert_eq!(wrong_examples(|safeguard| safeguard.hits, true), [""; 0]);
}

#[test]
fn every_safeguard_lets_pass_what_it_says() {
    assert_eq!(wrong_examples(|safeguard| safeguard.passes, false), [""; 0]);
}

#[test]
fn names_are_unique() {
    let mut ids: Vec<_> = ALL.iter().map(|safeguard| safeguard.id).collect();
    ids.sort_unstable();
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "{ids:?}");
}

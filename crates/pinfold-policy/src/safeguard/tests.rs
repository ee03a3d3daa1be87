use super::*;
use crate::command::understand;
use pinfold_shell::parse;

/// Every hit of a command line.
fn hits_of(text: &str) -> Vec<SafeguardHit> {
    let commands = understand(text, &parse(text));
    commands.commands.into_iter().flat_map(|claim| claim.safeguards).chain(commands.safeguards).collect()
}

fn ids_of(text: &str) -> Vec<&'static str> {
    hits_of(text).into_iter().map(|hit| hit.id).collect()
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

//! `fork-bomb`: a function that starts itself twice and waits for neither, until the machine stands still.

use std::collections::{HashMap, HashSet};

use pinfold_shell::SimpleCommand;

use super::{Line, Safeguard, Watch};
use crate::Severity;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "fork-bomb",
    about: "starts itself without end until the machine stands still",
    severity: Severity::High,
    hits: &[":(){ :|:& };:", "b(){ b|b& };b", "f() { f & f; }; f", "a(){ b & }; b(){ a & }; a"],
    passes: &[
        "f() { f; }; f",
        "walk() { for x in $1/*; do walk \"$x\"; done; }; walk .",
        "f() { sleep 1 & }; f",
        "rg --fixed-strings ':(){ :|:& };:'",
        "git log --grep=':(){ :|:& };:'",
    ],
    blind: "a program or script that starts itself, and rings of more than two functions",
    watch: Watch::Line(hits),
};

fn hits(line: &Line<'_>) -> bool {
    let script = line.script;
    if script.functions.is_empty() {
        return false;
    }
    let functions: HashSet<&str> = script.functions.iter().map(String::as_str).collect();
    // Which function calls which, from its body, and whether it goes on without waiting.
    let mut calls: HashMap<(&str, &str), bool> = HashMap::new();
    for command in &script.commands {
        let Some((from, to)) = call(command, &functions) else { continue };
        let side_by_side = command.place.background || command.place.piped_from.is_some();
        *calls.entry((from, to)).or_default() |= side_by_side;
    }
    calls.iter().any(|(&(from, to), side_by_side)| *side_by_side && calls.contains_key(&(to, from)))
}

/// A call of one of the functions in the body of one.
fn call<'a>(command: &'a SimpleCommand, functions: &HashSet<&'a str>) -> Option<(&'a str, &'a str)> {
    let from = functions.get(command.place.function.as_deref()?)?;
    let to = functions.get(command.words.first()?.as_static()?)?;
    Some((from, to))
}

//! Uses and attacks as data: pieces of Python that are run inside, and free.

use std::fs;
use std::process::Output;
use std::thread;

use serde_json::Value;

use crate::missing::all_there;
use crate::output::describe;
use crate::outside::{TOOLS, World, data};
use crate::{Tier, Who};

/// Who gets out with it where nothing holds them.
#[derive(Clone, Copy, PartialEq)]
pub enum Free {
    /// Whoever tries.
    Everybody,
    /// The superuser alone.
    Superuser,
    /// Nobody: it can be tried inside alone.
    Nobody,
}

/// A section of a data file: lines `key: value`, then code.
pub struct Case {
    /// What it is called, which the code is told.
    pub name: String,
    free: Free,
    arrives: String,
    /// What the report says about it.
    named: Vec<String>,
    /// What is run.
    pub code: String,
}

impl Case {
    /// One of a test's own.
    pub fn new(name: &str, code: &str) -> Self {
        Self {
            name: name.into(),
            free: Free::Nobody,
            arrives: name.into(),
            named: Vec::new(),
            code: code.into(),
        }
    }
}

/// The sections of a data file.
///
/// # Panics
/// When it cannot be read.
pub fn cases(file: &str) -> Vec<Case> {
    let text = fs::read_to_string(data(file)).expect("a data file");
    let only = std::env::var("ONLY").unwrap_or_default();
    let cases = text.split("\n=== ").skip(1).map(|section| {
        let (name, rest) = section.split_once('\n').expect("a name");
        let mut case = Case { free: Free::Everybody, ..Case::new(name, "") };
        for line in rest.lines() {
            match line.split_once(": ") {
                Some(("free", "superuser")) => case.free = Free::Superuser,
                Some(("free", _)) => case.free = Free::Nobody,
                Some(("arrives", value)) => case.arrives = value.into(),
                Some(("named", value)) => case.named.push(value.into()),
                _ => case.code.extend([line.strip_prefix("    ").unwrap_or(line), "\n"]),
            }
        }
        case
    });
    cases.filter(|case| case.name.contains(&only)).collect()
}

/// Runs a piece of Python inside, or free; what it says.
///
/// # Panics
/// When it cannot be started.
pub fn python(world: &World, case: &Case, confined: Option<Tier>) -> Output {
    let code = format!("from inside import *\n{}\nprint('done')\n", case.code);
    fs::write(world.bed.folder().join("case.py"), code).expect("a script");
    let options = ["--json", "--ask", "nobody"];
    let mut command = confined.map_or_else(|| world.bed.free("env"), |tier| world.bed.run(tier, &options));
    world.tell(command.args(["python3", "case.py", &case.name]));
    command.output().expect("python3")
}

/// What a run has told as JSON.
///
/// # Panics
/// When it has told nothing.
pub fn report(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said.lines().rev().find(|line| line.starts_with('{'));
    line.and_then(|line| serde_json::from_str(line).ok())
        .unwrap_or_else(|| panic!("no report: {}", describe(output)))
}

/// How many worlds attacks are tried in at one time: they spend most of it waiting.
const WORLDS: usize = 4;

/// Tries attacks on a tier, where that user can have it.
///
/// # Panics
/// When one of them gets out, is not named by the report, or is harmless even free.
pub fn all_lose(who: Who, tier: Tier, attacks: &[Case]) {
    if !all_there("hosts that were allowed", &TOOLS) || !tier.is_possible_for(who) {
        return;
    }
    let lot = attacks.len().div_ceil(WORLDS).max(1);
    let wrong: Vec<String> = thread::scope(|scope| {
        let tried: Vec<_> = attacks
            .chunks(lot)
            .map(|lot| {
                scope.spawn(move || {
                    let world = World::new(who);
                    lot.iter().flat_map(|case| wrong(&world, tier, case)).collect::<Vec<_>>()
                })
            })
            .collect();
        tried.into_iter().flat_map(|lot| lot.join().expect("every attack is tried")).collect()
    });
    assert!(wrong.is_empty(), "{who}: {}", wrong.join("\n"));
}

/// What is wrong with an attack: it gets out, the report does not name it, or it is harmless even free.
///
/// # Panics
/// When it cannot be tried.
fn wrong(world: &World, tier: Tier, case: &Case) -> Vec<String> {
    let mut wrong = Vec::new();
    let output = python(world, case, Some(tier));
    if world.arrives(&case.arrives) {
        wrong.push(format!("{} got out: {}", case.name, describe(&output)));
    }
    let said = report(&output)["refused"].to_string();
    for named in case.named.iter().filter(|named| !said.contains(*named)) {
        wrong.push(format!("{} is not named as `{named}`: {said}", case.name));
    }
    let wins = match case.free {
        Free::Everybody => true,
        Free::Superuser => world.bed.who() == Who::Superuser,
        Free::Nobody => false,
    };
    if wins {
        fs::write(world.bed.outside().join("hits"), "").expect("a file");
        let output = python(world, case, None);
        if !world.arrives(&case.arrives) {
            wrong.push(format!("{} is harmless even free: {}", case.name, describe(&output)));
        }
    }
    wrong
}

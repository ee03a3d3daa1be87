//! The machine of `tests/src/hostile`, by hand, and the actor that it starts inside runs.
//!
//! ```text
//! hostile hunt [--user ordinary|superuser] [--tier full|landlock-only|none] [--seed N] [--programs N] [--jobs N]
//!              [--kinds N] [--each N] [--no-shrink]
//! hostile replay FILE [--user …] [--tier …] [--times N]
//! hostile show SEED [--tier …]
//! hostile act PROGRAM STAGE RUN FOLDER HOME OUTSIDE PLANTED      (started by the machine)
//! ```

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use pinfold_tests::hostile::{Actor, ActorProgram, Held, Hunt, Machine, Person, Program, Roots, hunt, read};
use pinfold_tests::product::offered;
use pinfold_tests::{Tier, Who};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match &words[..] {
        ["act", rest @ ..] => act(rest),
        ["hunt", options @ ..] => hunt_by(&Options::read(options)),
        ["replay", file, options @ ..] => replay(Path::new(file), &Options::read(options)),
        ["show", seed, options @ ..] => {
            let options = Options::read(options);
            let actor = actor();
            let mut machine = Machine::new(options.user, options.held, ActorProgram(&actor));
            print!("{}", machine.program_of(seed.parse().expect("a seed")));
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("hostile hunt|replay FILE|show SEED; see the head of tests/src/bin/hostile.rs");
            ExitCode::from(2)
        }
    }
}

/// Carries out one run of a program, inside.
fn act(words: &[&str]) -> ExitCode {
    let [program, stage, run, folder, home, outside, planted] = words[..] else {
        panic!("PROGRAM STAGE RUN FOLDER HOME OUTSIDE PLANTED, not {words:?}");
    };
    let text = std::fs::read_to_string(program).expect("a program");
    let program: Program = text.parse().expect("a program");
    let number = |word: &str| word.parse::<usize>().expect("a number");
    let run = program.stages.get(number(stage)).and_then(|stage| stage.get(number(run))).expect("a run");
    let roots = Roots { folder: folder.into(), home: home.into(), outside: outside.into() };
    Actor { roots, planted: planted.to_owned() }.act(run);
    ExitCode::SUCCESS
}

struct Options {
    user: Who,
    held: Held,
    hunt: Hunt,
    times: u32,
}

impl Options {
    fn read(words: &[&str]) -> Self {
        let mut options = Self {
            user: Who::Ordinary,
            held: Held::By(Tier::Full),
            hunt: Hunt::of_environment(1000),
            times: 1,
        };
        let mut words = words.iter();
        while let Some(option) = words.next() {
            let mut value = || *words.next().unwrap_or_else(|| panic!("{option} needs a value"));
            let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("{option} {text}: no number"));
            match *option {
                "--user" => options.user = user(value()),
                "--tier" => options.held = held_by(value()),
                "--seed" => options.hunt.seed = number(value()),
                "--programs" => options.hunt.programs = number(value()),
                "--jobs" => options.hunt.jobs = number(value()),
                "--kinds" => options.hunt.kinds = usize::try_from(number(value())).unwrap_or(usize::MAX),
                "--each" => options.hunt.each = usize::try_from(number(value())).unwrap_or(usize::MAX),
                "--times" => options.times = u32::try_from(number(value())).unwrap_or(1),
                "--no-shrink" => options.hunt.shrinks = false,
                _ => panic!("{option}: no such option"),
            }
        }
        options
    }
}

fn user(name: &str) -> Who {
    let users = [Who::Superuser, Who::Ordinary];
    users
        .into_iter()
        .find(|who| who.to_string() == name)
        .unwrap_or_else(|| panic!("--user {name}: {} or {}", users[0], users[1]))
}

/// Returns what holds the actor: a tier, or for `none` nothing, as a control.
fn held_by(name: &str) -> Held {
    let tier = Tier::ALL.into_iter().find(|tier| tier.to_string() == name);
    match tier {
        Some(tier) => Held::By(tier),
        None if name == "none" => Held::ByNothing,
        None => panic!("--tier {name}: one of {:?}, or none", Tier::ALL.map(|tier| tier.to_string())),
    }
}

/// This program, where every user can run it.
fn actor() -> PathBuf {
    offered("hostile", &std::env::current_exe().expect("this program is there"))
}

fn hunt_by(options: &Options) -> ExitCode {
    let actor = actor();
    let began = Instant::now();
    let bag = hunt(options.user, options.held, ActorProgram(&actor), &options.hunt);
    println!("{bag}in {:.1} s", began.elapsed().as_secs_f64());
    if bag.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn replay(file: &Path, options: &Options) -> ExitCode {
    let actor = actor();
    let mut machine = Machine::new(options.user, options.held, ActorProgram(&actor));
    let mut code = ExitCode::SUCCESS;
    for _ in 0..options.times {
        let outcome = machine.try_out(&read(file).program, Person::Thorough);
        println!("{outcome}");
        if !outcome.violations.is_empty() {
            code = ExitCode::FAILURE;
        }
    }
    code
}

//! The hunt: programs of many seeds, by several machines, and the smallest of those that violate something.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt;
use std::str::FromStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::SystemTime;

use super::machine::{Machine, Outcome, Person};
use super::oracle::Violation;
use super::program::{Program, is_concurrent};
use super::runs::{ActorProgram, Held};
use super::shrink::shrink;
use crate::Who;
use crate::missing::print_uncaptured;

/// What is hunted for, and how long.
#[derive(Clone, Copy, Debug)]
pub struct Hunt {
    /// The seed of the first program; the others follow.
    pub seed: u64,
    /// How many programs.
    pub programs: u64,
    /// Machines side by side.
    pub jobs: u64,
    /// Kinds of violations after which the hunt is over.
    pub kinds: usize,
    /// Whether they are made smaller.
    pub shrinks: bool,
    /// How many different programs are shown for one kind of violation.
    pub each: usize,
}

impl Hunt {
    /// What the environment says; see `tests/tests/hostile.rs`.
    pub fn of_environment(programs: u64) -> Self {
        Self {
            seed: variable("PINFOLD_HOSTILE_SEED").map_or(1, |seed| if seed == 0 { of_now() } else { seed }),
            programs: variable("PINFOLD_HOSTILE_PROGRAMS").unwrap_or(programs),
            jobs: variable("PINFOLD_HOSTILE_JOBS").unwrap_or(1),
            kinds: variable("PINFOLD_HOSTILE_KINDS").unwrap_or(3),
            shrinks: true,
            each: 1,
        }
    }
}

/// A seed that is another one each time.
fn of_now() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos() % 1_000_000_000_000).unwrap_or(1)
}

fn variable<T: FromStr>(name: &str) -> Option<T> {
    let text = env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// A program that violates something.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The seed that it came from.
    pub seed: u64,
    /// Who ran it.
    pub who: Who,
    /// What held it.
    pub held: Held,
    /// As small as it could be made.
    pub program: Program,
    /// What was violated.
    pub violations: Vec<Violation>,
}

impl Failure {
    /// The names of its calls, by runs: what tells one cause from another.
    fn shape(&self) -> String {
        let text = self.program.to_string();
        let words = text.lines().filter_map(|line| line.split_whitespace().next());
        words.skip(1).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" ")
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = match self.held {
            Held::By(tier) => tier.to_string(),
            Held::ByNothing => "nothing".into(),
        };
        writeln!(f, "# seed {}, {}, held by: {held}", self.seed, self.who)?;
        self.violations.iter().try_for_each(|violation| writeln!(f, "# {violation}"))?;
        write!(f, "{}", self.program)
    }
}

/// What a hunt has come to.
#[derive(Debug, Default)]
pub struct Bag {
    /// The failures.
    pub failures: Vec<Failure>,
    /// How often each kind of violation was met.
    pub met: BTreeMap<(&'static str, String), u64>,
    /// Which kinds by which calls have been shown.
    shown: BTreeMap<(&'static str, String), BTreeSet<String>>,
    /// Programs that were tried.
    pub programs: u64,
    /// What they did in all.
    pub total: Outcome,
}

impl fmt::Display for Bag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} programs: {}", self.programs, self.total)?;
        self.met.iter().try_for_each(|((kind, class), times)| writeln!(f, "{times:6} {kind} [{class}]"))
    }
}

/// Hunts as one user against one tier.
pub fn hunt(who: Who, held: Held, actor: ActorProgram<'_>, hunt: &Hunt) -> Bag {
    let next = AtomicU64::new(0);
    let bag = Mutex::new(Bag::default());
    thread::scope(|scope| {
        for _ in 0..hunt.jobs.max(1) {
            scope.spawn(|| {
                let mut machine = Machine::new(who, held, actor);
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let enough = bag.lock().map_or(true, |bag| bag.failures.len() >= hunt.kinds);
                    if number >= hunt.programs || enough {
                        break;
                    }
                    try_seed(&mut machine, (who, held), hunt, hunt.seed.wrapping_add(number), &bag);
                }
            });
        }
    });
    bag.into_inner().unwrap_or_default()
}

fn try_seed(machine: &mut Machine<'_>, (who, held): (Who, Held), hunt: &Hunt, seed: u64, bag: &Mutex<Bag>) {
    let program = machine.program_of(seed);
    // What the person does costs more than all else.
    let person = match seed % 8 {
        0 => Person::Thorough,
        1..=3 => Person::Daily,
        _ => Person::Away,
    };
    let outcome = machine.try_out(&program, person);
    let mut new = Vec::new();
    if let Ok(mut bag) = bag.lock() {
        bag.count(&outcome);
        for violation in outcome.violations {
            let kind = (violation.kind, violation.class.clone());
            *bag.met.entry(kind.clone()).or_default() += 1;
            if bag.shown.entry(kind).or_default().len() < hunt.each {
                new.push(violation);
            }
        }
    }
    while let Some(violation) = new.pop() {
        let program = if hunt.shrinks {
            smallest(machine, program.clone(), &violation, person)
        } else {
            program.clone()
        };
        // What the smallest program violates as well has the same cause.
        let mut violations = vec![violation];
        if !new.is_empty() {
            let also = if hunt.shrinks { machine.try_out(&program, person).violations } else { new.clone() };
            let is_same = |one: &Violation| also.iter().any(|other| other.signature() == one.signature());
            violations.extend(new.extract_if(.., |one| is_same(one)));
        }
        let failure = Failure { seed, who, held, program, violations };
        if let Ok(mut bag) = bag.lock() {
            bag.show(failure);
        }
    }
}

impl Bag {
    /// Shows a failure, unless one of its kind by the same calls has been shown.
    fn show(&mut self, failure: Failure) {
        let shape = failure.shape();
        let new = failure.violations.iter().filter(|violation| {
            let kind = (violation.kind, violation.class.clone());
            self.shown.entry(kind).or_default().insert(shape.clone())
        });
        if new.count() > 0 {
            print_uncaptured(&failure.to_string());
            self.failures.push(failure);
        }
    }

    fn count(&mut self, outcome: &Outcome) {
        self.programs += 1;
        self.total.calls += outcome.calls;
        self.total.done += outcome.done;
        self.total.runs += outcome.runs;
        self.total.not_started += outcome.not_started;
    }
}

/// Makes a failure smaller. What happens by chance is tried several times.
fn smallest(machine: &mut Machine<'_>, program: Program, violation: &Violation, person: Person) -> Program {
    let person = if PERSONAL.contains(&violation.kind) { person } else { Person::Away };
    shrink(program, |smaller| {
        let by_chance = smaller
            .stages
            .iter()
            .any(|stage| is_concurrent(stage) || stage.iter().any(|run| run.killed.is_some()));
        (0..if by_chance { 3 } else { 1 }).any(|_| {
            let outcome = machine.try_out(smaller, person);
            outcome.violations.iter().any(|found| found.signature() == violation.signature())
        })
    })
}

/// Violations that only show when the person goes on.
const PERSONAL: [&str; 2] = ["a planted program ran", "git of the person changed what is none of its"];

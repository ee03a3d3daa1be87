//! The machine: puts a world up, carries a program out, asks the oracle.

use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

use super::generate;
use super::oracle::{Look, Violation, grow_old, has_run_directories, left_behind, person_goes_on};
use super::program::{Program, Run, WorldName};
use super::roles::Roles;
use super::runs::{self, ActorProgram, Held, Ran};
use super::snapshot::Snapshot;
use super::vocabulary::Vocabulary;
use super::world::{Ground, Standing, World};
use crate::Who;

/// What the person does when the runs are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Person {
    /// Nothing.
    Away,
    /// What is done every day.
    Daily,
    /// And what is done less often.
    Thorough,
}

/// What became of one program.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// What must not have happened, sorted, each once.
    pub violations: Vec<Violation>,
    /// Calls that were made.
    pub calls: usize,
    /// Calls that the kernel carried out.
    pub done: usize,
    /// Runs that were started.
    pub runs: usize,
    /// Runs that refused to start.
    pub not_started: usize,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { violations, calls, done, runs, not_started } = self;
        writeln!(f, "{runs} runs ({not_started} not started), {calls} calls ({done} carried out)")?;
        violations.iter().try_for_each(|violation| writeln!(f, "  {violation}"))
    }
}

/// A machine for one user and one tier, or for none as a control.
#[derive(Debug)]
pub struct Machine<'a> {
    ground: Ground,
    held: Held,
    actor: ActorProgram<'a>,
    vocabularies: HashMap<WorldName, Vocabulary>,
}

/// The exit code of a run that could not be started.
const NOT_STARTED: [i32; 2] = [2, 125];

impl<'a> Machine<'a> {
    /// A machine with ground of its own.
    pub fn new(who: Who, held: Held, actor: ActorProgram<'a>) -> Self {
        Self { ground: Ground::new(who), held, actor, vocabularies: HashMap::new() }
    }

    /// The program of a seed.
    pub fn program_of(&mut self, seed: u64) -> Program {
        let name = generate::world_of(seed);
        let tier = match self.held {
            Held::By(tier) => Some(tier),
            Held::ByNothing => None,
        };
        let ground = &mut self.ground;
        let vocabulary = self.vocabularies.entry(name).or_insert_with_key(|name| {
            let Standing { world, roles, seen } = ground.put_up(name);
            Vocabulary::of(&world, &roles, &seen)
        });
        generate::program_of(seed, tier, vocabulary)
    }

    /// Carries a program out and says what was violated.
    pub fn try_out(&mut self, program: &Program, person: Person) -> Outcome {
        let Standing { world, roles, seen: first } = self.ground.put_up(&program.world);
        runs::lay_out(&world, program);
        let mut course =
            Course { world: &world, roles: &roles, held: self.held, now: Rc::clone(&first), killed: false };
        let mut outcome = Outcome::default();
        for (number, stage) in program.stages.iter().enumerate() {
            let ran = runs::stage(&world, program, number, self.held, self.actor);
            course.judge(stage, &ran, &mut outcome);
        }
        // What a killed run leaves is taken away by the next one.
        if course.killed {
            grow_old(&world);
            let ran = runs::sweep(&world, self.held);
            course.judge(&[Run::default()], &[ran], &mut outcome);
            if has_run_directories(&world) {
                runs::clear_temporary(&world);
            }
        }
        if self.held != Held::ByNothing {
            outcome.violations.extend(left_behind(&world, self.ground.mark()));
        }
        if person != Person::Away {
            let look = course.look((&first, &course.now), (&[], &[]));
            outcome.violations.extend(person_goes_on(&look, person == Person::Thorough));
        }
        outcome.violations.sort();
        outcome.violations.dedup_by(|a, b| a.signature() == b.signature());
        outcome
    }
}

/// The stages of one program, one after the other.
struct Course<'a> {
    world: &'a World,
    roles: &'a Roles,
    held: Held,
    now: Rc<Snapshot>,
    killed: bool,
}

impl Course<'_> {
    fn look<'l>(&'l self, seen: (&'l Snapshot, &'l Snapshot), done: (&'l [Run], &'l [Ran])) -> Look<'l> {
        Look::new((self.world, self.roles, self.held), seen, done)
    }

    /// Looks at what a stage has done.
    fn judge(&mut self, stage: &[Run], ran: &[Ran], outcome: &mut Outcome) {
        let after = self.now.again(&self.world.top);
        outcome.violations.extend(self.look((&self.now, &after), (stage, ran)).violations());
        let calls = || ran.iter().flat_map(|ran| &ran.calls);
        outcome.calls += calls().count();
        outcome.done += calls().filter(|call| call.is_done()).count();
        outcome.runs += ran.len();
        let refused =
            |ran: &&Ran| ran.report.is_none() && ran.code.is_some_and(|code| NOT_STARTED.contains(&code));
        outcome.not_started += ran.iter().filter(refused).count();
        self.killed |= ran.iter().any(|ran| ran.killed || ran.hung);
        self.now = Rc::new(after);
    }
}

//! A machine that tries: random programs of file system calls inside runs, judged from outside. Nothing outside is
//! changed, what is held is what it was, no link leads git out of its directory, what runs later and was changed is
//! reported, and what is reported has happened. `tests/src/hostile` is the machine, `tests/hostile` what it knows.
//!
//! Cases come first: programs that once violated something, each also tried with nothing around it, where it has to win.
//! Then some hundreds of random programs for each user and tier. By the environment:
//!
//! - `PINFOLD_HOSTILE_SEED`: the first seed (1); the others follow. `0`: another one each time. It is printed.
//! - `PINFOLD_HOSTILE_PROGRAMS`: how many programs for each user and tier.
//! - `PINFOLD_HOSTILE_JOBS`: machines side by side, for each test (1).
//! - `PINFOLD_HOSTILE_KINDS`: the number of different violations after which a hunt ends (3).
//! - `PINFOLD_HOSTILE_CASE`: only cases with this in their names.
//! - `PINFOLD_BIN`: another binary to be tried; `PINFOLD_TESTS_GROUND`: where worlds are put up. On a `tmpfs` (not below
//!   `/tmp`, `/run` or `/dev`, which a run covers) a program takes a third of the time.
//!
//! By hand, for hundreds of thousands, and to try again what a failure has printed:
//!
//! ```sh
//! cargo run --release -p pinfold-tests --bin hostile -- hunt --tier full --user ordinary --seed 1 --programs 100000 --jobs 8
//! cargo run -p pinfold-tests --bin hostile -- replay FILE --tier landlock-only
//! ```

use std::path::Path;
use std::sync::OnceLock;

use pinfold_tests::hostile::{ActorProgram, Case, Held, Hunt, Machine, Person, cases, hunt};
use pinfold_tests::missing::{all_there, say};
use pinfold_tests::product::offered;
use pinfold_tests::{Tier, Who};

/// Programs of one user on one tier: what an idle machine of two cores does in some half a minute.
const PROGRAMS: u64 = 150;

fn actor() -> ActorProgram<'static> {
    static ACTOR: OnceLock<std::path::PathBuf> = OnceLock::new();
    ActorProgram(ACTOR.get_or_init(|| offered("hostile", Path::new(env!("CARGO_BIN_EXE_hostile")))))
}

/// Users who can be tried on a tier here.
fn users(tier: Tier) -> Vec<Who> {
    if !all_there("hostile programs", &["git", "cp", "sh", "bash", "timeout"]) {
        return Vec::new();
    }
    Who::present().into_iter().filter(|who| tier.is_possible_for(*who)).collect()
}

fn nothing_is_violated(tier: Tier) {
    let plan = Hunt::of_environment(PROGRAMS);
    for who in users(tier) {
        let bag = hunt(who, Held::By(tier), actor(), &plan);
        say(&format!("{who}, {tier}, seeds from {}: {bag}", plan.seed));
        let failures: Vec<String> = bag.failures.iter().map(ToString::to_string).collect();
        assert!(
            failures.is_empty(),
            "{} programs violate something:\n\n{}",
            failures.len(),
            failures.join("\n")
        );
        assert!(bag.total.done > bag.total.runs, "programs do something");
    }
}

#[test]
fn random_programs_violate_nothing_on_the_full_tier() {
    nothing_is_violated(Tier::Full);
}

#[test]
fn random_programs_violate_nothing_on_the_landlock_tier() {
    nothing_is_violated(Tier::LandlockOnly);
}

fn chosen() -> Vec<Case> {
    let only = std::env::var("PINFOLD_HOSTILE_CASE").unwrap_or_default();
    cases().into_iter().filter(|case| case.name.contains(&only)).collect()
}

fn each_case_is_held(tier: Tier) {
    let mut wrong = Vec::new();
    for who in users(tier) {
        let mut machine = Machine::new(who, Held::By(tier), actor());
        for case in chosen().iter().filter(|case| case.tiers.contains(&tier)) {
            let outcome = machine.try_out(&case.program, Person::Thorough);
            if !outcome.violations.is_empty() {
                wrong.push(format!("{}, {who}, {tier}: {outcome}{}", case.name, case.program));
            }
        }
    }
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn each_case_is_held_on_the_full_tier() {
    each_case_is_held(Tier::Full);
}

#[test]
fn each_case_is_held_on_the_landlock_tier() {
    each_case_is_held(Tier::LandlockOnly);
}

/// The control: a case that does nothing would prove nothing.
#[test]
fn each_case_wins_when_nothing_holds_it() {
    let mut wrong = Vec::new();
    for who in users(Tier::LandlockOnly) {
        let mut machine = Machine::new(who, Held::ByNothing, actor());
        for case in chosen() {
            let Some(expected) = &case.free else { continue };
            let outcome = machine.try_out(&case.program, Person::Thorough);
            if !outcome.violations.iter().any(|found| found.kind == expected) {
                wrong.push(format!("{}, {who}: harmless even free: {outcome}{}", case.name, case.program));
            }
        }
    }
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

/// The control of the random part: the machine sees what programs do that nothing holds.
#[test]
fn random_programs_win_when_nothing_holds_them() {
    const SOME: u64 = 12;
    let plan = Hunt { seed: 1, programs: SOME, jobs: 1, kinds: usize::MAX, shrinks: false, each: 1 };
    for who in users(Tier::LandlockOnly) {
        let bag = hunt(who, Held::ByNothing, actor(), &plan);
        assert!(bag.failures.len() as u64 > SOME / 2, "{who}: {bag}");
    }
}

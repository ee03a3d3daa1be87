//! A machine that tries: random programs of file system calls inside runs, judged from outside. Nothing outside is
//! changed, what is held is what it was, no link leads git out of its directory, what runs later and was changed is
//! reported, and what is reported has happened. `tests/src/hostile` is the machine, `tests/hostile` what it knows.
//!
//! Cases come first: programs that once violated something, each also tried with nothing around it, where it has to win.
//! Then a hundred random programs for each user and tier, and in `.ci/run hostile` hundreds more. By the environment:
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
use pinfold_tests::missing::{all_there, print_uncaptured};
use pinfold_tests::product::offered;
use pinfold_tests::{Tier, Who, each};

/// Programs of one user on one tier: what an idle machine of two cores does in some twelve seconds. `.ci/run hostile` tries
/// several times as many, with other seeds.
const PROGRAMS: u64 = 100;

fn actor() -> ActorProgram<'static> {
    static ACTOR: OnceLock<std::path::PathBuf> = OnceLock::new();
    ActorProgram(ACTOR.get_or_init(|| offered("hostile", Path::new(env!("CARGO_BIN_EXE_hostile")))))
}

/// Whether programs can be tried here.
fn can_try() -> bool {
    all_there("hostile programs", &["git", "cp", "sh", "bash", "timeout"])
}

#[each(user, tier)]
fn random_programs_violate_nothing(who: Who, tier: Tier) {
    if !can_try() {
        return;
    }
    let plan = Hunt::of_environment(PROGRAMS);
    let bag = hunt(who, Held::By(tier), actor(), &plan);
    print_uncaptured(&format!("{who}, {tier}, seeds from {}: {bag}", plan.seed));
    let failures: Vec<String> = bag.failures.iter().map(ToString::to_string).collect();
    assert!(failures.is_empty(), "{} programs violate something:\n\n{}", failures.len(), failures.join("\n"));
    assert!(bag.total.done > bag.total.runs, "programs do something");
}

fn chosen() -> Vec<Case> {
    let only = std::env::var("PINFOLD_HOSTILE_CASE").unwrap_or_default();
    cases().into_iter().filter(|case| case.name.contains(&only)).collect()
}

#[each(user, tier)]
fn each_case_is_held(who: Who, tier: Tier) {
    if !can_try() {
        return;
    }
    let mut wrong = Vec::new();
    let mut machine = Machine::new(who, Held::By(tier), actor());
    for case in chosen().iter().filter(|case| case.tiers.contains(&tier)) {
        let outcome = machine.try_out(&case.program, Person::Thorough);
        if !outcome.violations.is_empty() {
            wrong.push(format!("{}, {who}, {tier}: {outcome}{}", case.name, case.program));
        }
    }
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

/// The control: a case that does nothing would prove nothing.
#[each(user)]
fn each_case_wins_when_nothing_holds_it(who: Who) {
    if !can_try() {
        return;
    }
    let mut wrong = Vec::new();
    let mut machine = Machine::new(who, Held::ByNothing, actor());
    for case in chosen() {
        let Some(expected) = &case.free else { continue };
        let outcome = machine.try_out(&case.program, Person::Thorough);
        if !outcome.violations.iter().any(|found| found.kind == expected) {
            wrong.push(format!("{}, {who}: harmless even free: {outcome}{}", case.name, case.program));
        }
    }
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

/// The control of the random part: the machine sees what programs do that nothing holds.
#[each(user)]
fn random_programs_win_when_nothing_holds_them(who: Who) {
    const SOME: u64 = 12;
    if !can_try() {
        return;
    }
    let plan = Hunt { seed: 1, programs: SOME, jobs: 1, kinds: usize::MAX, shrinks: false, each: 1 };
    let bag = hunt(who, Held::ByNothing, actor(), &plan);
    assert!(bag.failures.len() as u64 > SOME / 2, "{who}: {bag}");
}

//! Shrinking: the smallest program that still violates the same.

use std::time::{Duration, Instant};

use super::program::{Call, Program, Stage, Way};

/// How long one failure may be made smaller.
const SHRINK_TIMEOUT: Duration = Duration::from_secs(90);

/// Makes a program smaller for as long as `still` says that it violates the same.
pub(super) fn shrink(program: Program, mut still: impl FnMut(&Program) -> bool) -> Program {
    let until = Instant::now() + SHRINK_TIMEOUT;
    let mut still = |smaller: &Program| Instant::now() < until && still(smaller);
    let mut smallest = program;
    loop {
        let before = smallest.clone();
        steps(&mut smallest, &mut still);
        for change in CHANGES {
            change(&mut smallest, &mut still);
        }
        if smallest == before || Instant::now() >= until {
            return smallest;
        }
    }
}

type Still<'a> = &'a mut dyn FnMut(&Program) -> bool;

const CHANGES: [fn(&mut Program, Still<'_>); 5] = [runs, threads, extras, ways, layouts];

/// Takes a smaller program where it still violates the same.
fn take(smallest: &mut Program, smaller: Program, still: Still<'_>) -> bool {
    let taken = smaller != *smallest && still(&smaller);
    if taken {
        *smallest = smaller;
    }
    taken
}

/// Removes steps, many at a time at first.
fn steps(smallest: &mut Program, still: Still<'_>) {
    let mut size = smallest.steps().count().div_ceil(2);
    while size > 0 {
        let mut from = 0;
        while from < smallest.steps().count() {
            if !take(smallest, without(smallest, from, from + size), still) {
                from += size;
            }
        }
        size /= 2;
    }
}

/// The program without its steps from one number to another.
fn without(program: &Program, from: usize, to: usize) -> Program {
    let mut smaller = program.clone();
    let mut number = 0;
    for thread in smaller.stages.iter_mut().flatten().flat_map(|run| &mut run.threads) {
        thread.steps.retain(|_| {
            number += 1;
            !(from..to).contains(&(number - 1))
        });
    }
    smaller
}

/// Removes whole runs, what kills them and what delays them.
fn runs(smallest: &mut Program, still: Still<'_>) {
    let mut stage = 0;
    while stage < smallest.stages.len() {
        let mut smaller = smallest.clone();
        smaller.stages.remove(stage);
        if smaller.stages.is_empty() || !take(smallest, smaller, still) {
            one_stage(smallest, stage, still);
            stage += 1;
        }
    }
}

fn one_stage(smallest: &mut Program, stage: usize, still: Still<'_>) {
    let change = |program: &Program, change: &dyn Fn(&mut Stage)| {
        let mut smaller = program.clone();
        smaller.stages.get_mut(stage).into_iter().for_each(change);
        smaller
    };
    let sides = |program: &Program| program.stages.get(stage).map_or(0, Vec::len);
    let mut side = 0;
    while side < sides(smallest) {
        let without = change(smallest, &|stage| drop(stage.remove(side)));
        if sides(&without) > 0 && take(smallest, without, still) {
            continue;
        }
        let calm =
            change(smallest, &|stage| stage.get_mut(side).into_iter().for_each(|run| run.killed = None));
        take(smallest, calm, still);
        let early = change(smallest, &|stage| stage.get_mut(side).into_iter().for_each(|run| run.delay = 0));
        take(smallest, early, still);
        side += 1;
    }
}

/// Removes threads without steps, and lets the others do theirs once, or one after the other.
fn threads(smallest: &mut Program, still: Still<'_>) {
    let mut smaller = smallest.clone();
    for run in smaller.stages.iter_mut().flatten() {
        run.threads.retain(|thread| !thread.steps.is_empty());
    }
    take(smallest, smaller, still);
    let mut smaller = smallest.clone();
    smaller.stages.iter_mut().flatten().flat_map(|run| &mut run.threads).for_each(|thread| thread.times = 1);
    take(smallest, smaller, still);
    let mut smaller = smallest.clone();
    for run in smaller.stages.iter_mut().flatten() {
        let mut all = run.threads.drain(..);
        let first = all.next().map(|mut first| {
            all.for_each(|thread| first.steps.extend(thread.steps));
            first
        });
        run.threads.extend(first);
    }
    take(smallest, smaller, still);
}

fn extras(smallest: &mut Program, still: Still<'_>) {
    let mut at = 0;
    while at < smallest.world.extras.len() {
        let mut smaller = smallest.clone();
        smaller.world.extras.remove(at);
        if !take(smallest, smaller, still) {
            at += 1;
        }
    }
}

/// Spells places plainly, and lets waits and fills be as short as they can.
fn ways(smallest: &mut Program, still: Still<'_>) {
    for number in 0..smallest.steps().count() {
        let mut smaller = smallest.clone();
        let threads = smaller.stages.iter_mut().flatten().flat_map(|run| &mut run.threads);
        let step = threads.flat_map(|thread| &mut thread.steps).nth(number);
        let Some(step) = step.filter(|step| !matches!(step.way, Way::Opened(_))) else { continue };
        step.way = Way::Absolute;
        if let Call::Write { flags, .. } = &mut step.call {
            *flags = super::program::Flags::default();
        }
        take(smallest, smaller, still);
    }
}

/// The simplest layouts, where they will do.
fn layouts(smallest: &mut Program, still: Still<'_>) {
    for layout in ["none", "plain"] {
        if smallest.world.layout == layout {
            return;
        }
        let mut smaller = smallest.clone();
        layout.clone_into(&mut smaller.world.layout);
        if take(smallest, smaller, still) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_needed_remains() {
        let text = "world nested autorun build\nrun killed at 9 ms\nthread times 9\nmkdir F/a\nwrite F/b plain trunc\n\
                    thread\nunlink F/c\nbeside delay 4 ms\nmkdir F/d\nnext\nwait 9\nchmod F/e 000 @directory\n";
        let program: Program = text.parse().unwrap();
        // What is needed: something at F/e, after something at F/b.
        let needed = |program: &Program| {
            let text = program.to_string();
            text.find("write F/b").is_some_and(|b| text.find("chmod F/e").is_some_and(|e| b < e))
        };
        let smallest = shrink(program, needed).to_string();
        assert_eq!(smallest, "world none\nrun\nwrite F/b plain\nnext\nchmod F/e 000\n");
    }
}

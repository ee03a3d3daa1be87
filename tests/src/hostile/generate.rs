//! Random programs: sequences of `tests/hostile/sequences.txt` with places of one world in them.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::contents;
use super::program::{Killed, Program, Run, Step, Thread, Way, WorldName};
use super::random::Random;
use super::vocabulary::{Class, Vocabulary, bait};
use super::world;
use super::world_path::WorldPath;
use crate::Tier;
use crate::git_bed::{Section, sections};

const SEQUENCES: &str = include_str!("../../hostile/sequences.txt");

/// Sequences of one program, at most.
const MAX_SEQUENCES: usize = 14;

/// Runs one after the other, at most.
const MAX_STAGES: usize = 3;

/// Modes that hide something, open it, or give rights.
const MODES: [&str; 11] = ["000", "000", "111", "300", "400", "500", "700", "755", "755", "4755", "1755"];

fn all() -> &'static [(Section, usize)] {
    static ALL: OnceLock<Vec<(Section, usize)>> = OnceLock::new();
    ALL.get_or_init(|| {
        let weighed = |section: Section| {
            let weight = section.key("weight").and_then(|weight| weight.parse().ok());
            let weight = weight.unwrap_or_else(|| panic!("`{}` has no weight", section.name));
            (section, weight)
        };
        sections(SEQUENCES, &["weight"]).into_iter().map(weighed).collect()
    })
}

/// The world of a seed.
pub(super) fn world_of(seed: u64) -> WorldName {
    /// Sets of extras that stand in a world together: few, since each one has to be built.
    const SETS: [&[&str]; 4] = [
        &[],
        &["autorun", "packages", "shared-files", "links-below", "hooks-below"],
        &["hooks-path", "include", "packages", "build-links"],
        &["hooks-path", "include", "autorun", "packages", "build"],
    ];
    let mut random = Random::new(seed);
    let layout = random.one(&world::layouts()).copied().unwrap_or_default().to_owned();
    let extras = random.one(&SETS).copied().unwrap_or_default();
    WorldName { layout, extras: extras.iter().map(|extra| (*extra).to_owned()).collect() }
}

/// The program of a seed. Of several threads only where races are not what the tier is known not to hold.
pub(super) fn program_of(seed: u64, tier: Option<Tier>, vocabulary: &Vocabulary) -> Program {
    let mut random = Random::new(seed ^ 0x5bd1_e995);
    let races = tier != Some(Tier::LandlockOnly);
    let stages = random.between(1, MAX_STAGES);
    let mut program = Program { world: world_of(seed), stages: vec![vec![Run::default()]; stages] };
    for _ in 0..random.between(1, MAX_SEQUENCES) {
        let Some((section, _)) = random.weighed(all(), |(_, weight)| *weight) else { continue };
        if let Some(parts) = Draw::new(vocabulary, &mut random).parts(section) {
            place(&mut program, &parts, races, &mut random);
        }
    }
    for stage in &mut program.stages {
        // Now and then two runs do the same at the same time.
        if random.happens(1, 12) {
            stage.extend(stage.first().cloned());
        }
        for run in stage.iter_mut().skip(1) {
            run.delay = random.below(60) as u64;
        }
        for run in stage.iter_mut() {
            run.killed = killed(&mut random);
            if !races {
                let steps = run.threads.drain(..).flat_map(|thread| thread.steps).collect();
                run.threads.push(Thread { times: 1, steps });
            }
        }
    }
    program
}

fn killed(random: &mut Random) -> Option<Killed> {
    match random.below(24) {
        0 => Some(Killed::AfterCalls(random.below(20))),
        1 => Some(Killed::AfterMillis(random.below(60) as u64)),
        _ => None,
    }
}

/// A part of a sequence, and the border in front of it.
struct Part {
    border: Border,
    steps: Vec<Step>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Border {
    Start,
    Next,
    Beside,
    Thread,
}

/// Puts the parts of a sequence into the runs of a program.
fn place(program: &mut Program, parts: &[Part], races: bool, random: &mut Random) {
    let mut stage = random.below(program.stages.len());
    let mut side = 0;
    for part in parts {
        match part.border {
            Border::Next => (stage, side) = (stage + 1, 0),
            Border::Beside => side += 1,
            Border::Start | Border::Thread => {}
        }
        while program.stages.len() <= stage {
            program.stages.push(vec![Run::default()]);
        }
        let Some(runs) = program.stages.get_mut(stage) else { return };
        while runs.len() <= side {
            runs.push(Run::default());
        }
        let Some(run) = runs.get_mut(side) else { return };
        let new = part.border == Border::Thread && races || run.threads.is_empty();
        if new {
            let times = if part.border == Border::Thread { random.between(1, 40) } else { 1 };
            run.threads.push(Thread { times: u32::try_from(times).unwrap_or(1), steps: Vec::new() });
        }
        let thread = if new { run.threads.last_mut() } else { run.threads.first_mut() };
        if let Some(thread) = thread {
            thread.steps.extend(part.steps.iter().cloned());
        }
    }
}

/// What was drawn for the words of one sequence.
struct Draw<'a> {
    vocabulary: &'a Vocabulary,
    random: &'a mut Random,
    drawn: BTreeMap<String, String>,
}

impl<'a> Draw<'a> {
    fn new(vocabulary: &'a Vocabulary, random: &'a mut Random) -> Self {
        Self { vocabulary, random, drawn: BTreeMap::new() }
    }

    /// The parts of a sequence. `None`: the world has not what it needs.
    fn parts(&mut self, section: &Section) -> Option<Vec<Part>> {
        let mut parts = vec![Part { border: Border::Start, steps: Vec::new() }];
        for line in section.script.lines() {
            let border = match line {
                "next" => Border::Next,
                "beside" => Border::Beside,
                "thread" => Border::Thread,
                line => {
                    let step = self.step(line)?;
                    parts.last_mut().into_iter().for_each(|part| part.steps.push(Step::clone(&step)));
                    continue;
                }
            };
            parts.push(Part { border, steps: Vec::new() });
        }
        Some(parts)
    }

    fn step(&mut self, line: &str) -> Option<Step> {
        let line = self.fill(line)?;
        let mut step: Step = line.parse().unwrap_or_else(|wrong| panic!("`{line}`: {wrong}"));
        if step.way == Way::Absolute {
            step.way = self.way();
        }
        Some(step)
    }

    fn way(&mut self) -> Way {
        const WAYS: [(Way, usize); 7] = [
            (Way::Absolute, 12),
            (Way::Relative, 3),
            (Way::Dots, 1),
            (Way::Directory, 2),
            (Way::ProcDirectory, 1),
            (Way::ProcWorking, 1),
            (Way::ThroughLink, 1),
        ];
        self.random.weighed(&WAYS, |(_, weight)| *weight).map_or(Way::Absolute, |(way, _)| *way)
    }

    /// A line with its words in braces drawn.
    fn fill(&mut self, line: &str) -> Option<String> {
        let is_shell = line.starts_with("sh ");
        let mut filled = String::new();
        let mut rest = line;
        while let Some((before, word, after)) = hole(rest) {
            filled.push_str(before);
            let drawn = self.word(word, &filled)?;
            // A shell is told places by its variables.
            let of_shell = is_shell && drawn.parse::<WorldPath>().is_ok();
            filled.extend([if of_shell { "$" } else { "" }, &drawn]);
            rest = after;
        }
        filled.push_str(rest);
        Some(filled)
    }

    fn word(&mut self, word: &str, so_far: &str) -> Option<String> {
        // These are drawn anew each time.
        match word {
            "flags" => return Some(self.flags()),
            "mode" => return Some((*self.random.one(&MODES)?).to_owned()),
            "text" => {
                let names: Vec<&str> = contents::names().collect();
                return Some((*self.random.one(&names)?).to_owned());
            }
            "bait" => {
                let place = so_far.split_whitespace().nth(1).unwrap_or_default();
                return Some(bait(place).to_owned());
            }
            _ => {}
        }
        if let Some(known) = self.drawn.get(word) {
            return Some(known.clone());
        }
        let drawn = self.drawn(word)?;
        self.drawn.insert(word.to_owned(), drawn.clone());
        Some(drawn)
    }

    fn drawn(&mut self, word: &str) -> Option<String> {
        let kind = word.trim_end_matches(|c: char| c.is_ascii_digit());
        let class = match kind {
            "held" => Class::Held,
            "git" => Class::Git,
            "thing" => Class::Thing,
            "kept" => Class::Kept,
            "out" => Class::Out,
            "outdir" => Class::OutDir,
            "guarded" => Class::Guarded,
            "runs" => Class::Runs,
            "dir" => Class::Dir,
            "file" => Class::File,
            "new" => Class::New,
            "repo" => Class::Repo,
            "any" => Class::Any,
            "slot" => return Some(self.random.below(3).to_string()),
            "above" | "rest" => return self.above(word),
            unknown => panic!("`{{{unknown}}}` is no word of sequences"),
        };
        let needs_git = matches!(class, Class::Thing | Class::Kept);
        let git = if needs_git { Some(self.word("git", "")?.parse().ok()?) } else { None };
        self.vocabulary.draw(class, git.as_ref(), self.random).map(|place| place.to_string())
    }

    /// A directory above what is held, and the way down from it.
    fn above(&mut self, word: &str) -> Option<String> {
        let held: WorldPath = self.word("held", "")?.parse().ok()?;
        let above = held.above();
        let drawn = self.random.one(&above)?;
        let rest = held.within(drawn)?.to_owned();
        self.drawn.insert("above".into(), drawn.to_string());
        self.drawn.insert("rest".into(), rest.clone());
        Some(if word == "rest" { rest } else { drawn.to_string() })
    }

    fn flags(&mut self) -> String {
        const FLAGS: [&str; 6] = ["", "trunc", "append", "excl", "nofollow", "nocreate trunc"];
        let flags = if self.random.happens(1, 2) { Some(&"trunc") } else { self.random.one(&FLAGS) };
        flags.copied().unwrap_or_default().to_owned()
    }
}

/// The next word in braces, with what stands before and behind it. `${…}` belongs to a shell.
fn hole(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let open = from + text.get(from..)?.find('{')?;
        if text.get(..open)?.ends_with('$') {
            from = open + 1;
            continue;
        }
        let close = open + text.get(open..)?.find('}')?;
        return Some((text.get(..open)?, text.get(open + 1..close)?, text.get(close + 1..)?));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary() -> Vocabulary {
        Vocabulary::example()
    }

    #[test]
    fn every_sequence_can_be_drawn() {
        let vocabulary = vocabulary();
        for (section, _) in all() {
            let mut random = Random::new(1);
            assert!(Draw::new(&vocabulary, &mut random).parts(section).is_some(), "{}", section.name);
        }
    }

    #[test]
    fn a_seed_is_one_program_and_its_text_is_that_program() {
        let vocabulary = vocabulary();
        for seed in 0..200 {
            let program = program_of(seed, None, &vocabulary);
            assert_eq!(program_of(seed, None, &vocabulary), program);
            assert_eq!(
                program.to_string().parse::<Program>().unwrap().to_string(),
                program.to_string(),
                "{seed}"
            );
        }
    }
}

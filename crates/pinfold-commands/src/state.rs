//! Which folder each command of a line runs in, when earlier ones moved.
//!
//! A change of folder may fail, and what stands behind it may run all the same: such a command has several folders,
//! and whoever judges looks at what it would do in each.

use pinfold_shell::{Script, SimpleCommand, Span, Word};

use super::value::Values;
use super::working_directory::{Base, WorkingDirectory};

/// How many folders a command may possibly stand in before that is simply unknown.
const MOST_FOLDERS: usize = 8;

/// How many `&&` are followed back; beyond that it is not known what a command waits for.
const LONGEST_CHAIN: usize = 64;

/// The shells of one script.
pub(super) struct Shells {
    by_number: Vec<Option<Shell>>,
    start: Shell,
    /// Where functions and changes of folder meet, a body runs wherever it is called.
    unsure: bool,
}

/// One shell, before its next command.
#[derive(Clone)]
struct Shell {
    folders: Folders,
    /// What the last command did, not counted yet: its own substitutions run before it.
    pending: Option<(Span, Change)>,
}

/// The folders that a shell may stand in.
#[derive(Clone)]
struct Folders {
    now: Vec<WorkingDirectory>,
    /// Where it stands if the last change of folder failed, and the command that made it.
    otherwise: Option<(usize, Vec<WorkingDirectory>)>,
}

/// What a command does to its shell.
#[derive(Clone)]
enum Change {
    Nothing,
    /// To another folder, by the command at that position.
    Folder(usize, Goes),
}

/// Where a change of folder leads.
#[derive(Clone)]
enum Goes {
    /// To this one.
    To(Word),
    /// To the one before.
    Back,
    /// Known only by running.
    Somewhere,
}

/// What a command finds.
#[derive(Clone)]
pub(super) struct Found {
    /// The folders that it may run in, the likeliest first.
    pub(super) folders: Vec<WorkingDirectory>,
    /// How many of them, from the first, are where the line means it to run.
    pub(super) meant: usize,
}

impl Shells {
    pub(super) fn new(script: &Script, start: Vec<WorkingDirectory>) -> Self {
        let folders = Folders { now: start, otherwise: None };
        let moves = |command: &SimpleCommand| {
            let name = command.words.first().and_then(Word::as_static);
            name.is_some_and(|name| matches!(name, "cd" | "pushd" | "popd"))
        };
        Self {
            by_number: Vec::new(),
            start: Shell { folders, pending: None },
            unsure: !script.functions.is_empty() && script.commands.iter().any(moves),
        }
    }

    /// What the command at `at` finds, and from then on what it leaves.
    pub(super) fn enter(
        &mut self,
        script: &Script,
        at: usize,
        command: &SimpleCommand,
        values: &Values<'_>,
    ) -> Found {
        let number = command.place.shell;
        self.settle(script, number, &command.span);
        let change = if self.unsure { Change::Nothing } else { change(at, command, values) };
        let Some(Some(shell)) = self.by_number.get_mut(number) else { return Found::unknown() };
        if self.unsure {
            shell.folders = Folders::unknown();
        }
        let found = shell.find(script, command);
        shell.pending = Some((command.span.clone(), change));
        found
    }

    /// Makes sure that the shell is there and has taken in what its earlier commands did.
    fn settle(&mut self, script: &Script, number: usize, span: &Span) {
        if number > script.commands.len() + script.shells.len() {
            return;
        }
        if self.by_number.len() <= number {
            self.by_number.resize_with(number + 1, || None);
        }
        if self.by_number.get(number).is_some_and(Option::is_none) {
            let parent = script.shells.get(number).copied().filter(|parent| *parent < number);
            let shell = self.born(script, number, parent, span);
            if let Some(slot) = self.by_number.get_mut(number) {
                *slot = Some(shell);
            }
        }
        if let Some(Some(shell)) = self.by_number.get_mut(number) {
            shell.take_in(span);
        }
    }

    /// A shell starts where the one that it comes out of stands.
    fn born(&mut self, script: &Script, number: usize, parent: Option<usize>, span: &Span) -> Shell {
        if number == 0 {
            return self.start.clone();
        }
        // Walk up to one that is there; a parent without commands so far stands where its own parent stands.
        let mut next = parent;
        while let Some(number) = next {
            if let Some(Some(shell)) = self.by_number.get_mut(number) {
                let mut shell = shell.clone();
                shell.take_in(span);
                shell.pending = None;
                return shell;
            }
            next = script.shells.get(number).copied().filter(|parent| *parent < number);
        }
        if parent.is_some() || self.by_number.iter().flatten().next().is_none() {
            return self.start.clone();
        }
        Shell { folders: Folders::unknown(), pending: None }
    }
}

impl Found {
    fn unknown() -> Self {
        Self { folders: vec![WorkingDirectory::new(Base::Unknown)], meant: 1 }
    }
}

impl Shell {
    /// Counts what the last command did, unless `span` stands inside it.
    fn take_in(&mut self, span: &Span) {
        let inside = |outer: &Span| outer.start <= span.start && span.end <= outer.end && outer != span;
        if self.pending.as_ref().is_some_and(|(outer, _)| inside(outer)) {
            return;
        }
        match self.pending.take() {
            None | Some((_, Change::Nothing)) => {}
            Some((_, Change::Folder(at, to))) => self.folders.moved(at, &to),
        }
    }

    fn find(&self, script: &Script, command: &SimpleCommand) -> Found {
        let mut folders = self.folders.now.clone();
        let meant = folders.len();
        if let Some((at, otherwise)) = &self.folders.otherwise
            && !follows(script, command, *at)
        {
            folders.extend(otherwise.iter().cloned());
        }
        Found { folders, meant }
    }
}

impl Folders {
    fn unknown() -> Self {
        Self { now: vec![WorkingDirectory::new(Base::Unknown)], otherwise: None }
    }

    fn moved(&mut self, at: usize, to: &Goes) {
        let mut from = std::mem::take(&mut self.now);
        if let Some((_, otherwise)) = self.otherwise.take() {
            from.extend(otherwise);
        }
        once_each(&mut from);
        if from.len() > MOST_FOLDERS {
            from = vec![WorkingDirectory::new(Base::Unknown)];
        }
        let leads = |stand: &WorkingDirectory| match to {
            Goes::To(word) => stand.change_to(word),
            Goes::Back => vec![stand.change_back()],
            Goes::Somewhere => vec![stand.change_to_unknown()],
        };
        self.now = from.iter().flat_map(leads).collect();
        once_each(&mut self.now);
        self.otherwise = Some((at, from));
    }
}

/// Leaves the first of several that are the same.
fn once_each(stands: &mut Vec<WorkingDirectory>) {
    let mut seen: Vec<WorkingDirectory> = Vec::with_capacity(stands.len());
    for stand in stands.drain(..) {
        if !seen.contains(&stand) {
            seen.push(stand);
        }
    }
    *stands = seen;
}

/// Returns whether `command` runs only if the one at `at` succeeded.
fn follows(script: &Script, command: &SimpleCommand, at: usize) -> bool {
    let mut next = command.place.after;
    for _ in 0..LONGEST_CHAIN {
        let Some(number) = next else { return false };
        if number <= at {
            return number == at;
        }
        next = script
            .commands
            .get(number)
            .and_then(|command| command.place.after)
            .filter(|after| *after < number);
    }
    false
}

fn change(at: usize, command: &SimpleCommand, values: &Values<'_>) -> Change {
    let Some((program, args)) = command.words.split_first() else { return Change::Nothing };
    let goes = match program.as_static() {
        // Without a folder it changes places with the one below it on the stack.
        Some("pushd") if args.is_empty() => Goes::Somewhere,
        Some("cd" | "pushd") => folder(args),
        Some("popd") => Goes::Somewhere,
        _ => return Change::Nothing,
    };
    let goes = match goes {
        Goes::To(word) => values.fill_one(word, at).map_or(Goes::Somewhere, Goes::To),
        other => other,
    };
    Change::Folder(
        at,
        match goes {
            Goes::To(word) if !is_fixed(&word) && command.place.repeats => Goes::Somewhere,
            Goes::Back if command.place.repeats => Goes::Somewhere,
            other => other,
        },
    )
}

/// The folder that `cd` goes to.
fn folder(args: &[Word]) -> Goes {
    let mut operands =
        args.iter().filter(|word| !matches!(word.as_static(), Some("-P" | "-L" | "-e" | "-@" | "--")));
    let word = match operands.next() {
        None => Word { parts: vec![pinfold_shell::Part::Tilde(String::new())], ..Word::default() },
        Some(word) => word.clone(),
    };
    match word.as_static() {
        _ if operands.next().is_some() => Goes::Somewhere,
        Some("-") => Goes::Back,
        Some(text) if text.starts_with(['-', '+']) => Goes::Somewhere,
        Some(_) | None => Goes::To(word),
    }
}

/// Returns whether a folder is the same from wherever it is looked for.
fn is_fixed(word: &Word) -> bool {
    word.literal_prefix().starts_with('/')
        || matches!(word.parts.first(), Some(pinfold_shell::Part::Tilde(_)))
}

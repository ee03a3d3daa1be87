//! Which folder each command of a line runs in, when earlier ones moved.
//!
//! A change of folder may fail, and what stands behind it may run all the same: such a command has several folders,
//! and the judge looks at what it would do in each.

use std::collections::BTreeMap;
use std::sync::Arc;

use pinfold_shell::{Part, Script, SimpleCommand, Span, Word, builtin};

use super::value::Values;
use super::working_directory::{BaseDirectory, WorkingDirectory};

/// Most folders that a command may possibly stand in before that is simply unknown.
const MAX_FOLDERS: usize = 8;

/// Most names that a program that is a variable may have.
const MAX_NAMES: usize = 64;

/// Most `&&` that are followed back; beyond that it is not known what a command waits for.
const MAX_CHAIN_LEN: usize = 64;

/// Builtins that change the folder of their shell.
const MOVERS: &[&str] = &["cd", "chdir", "pushd", "popd"];

/// Returns whether a command may change the folder of its shell: a builtin that does, or a program that is known only at run time.
pub fn may_move(command: &SimpleCommand) -> bool {
    builtin(&command.words).is_some_and(|(name, _)| name.is_none_or(|name| MOVERS.contains(&name)))
}

/// Returns whether a `cd` of the script has a plain name as its folder, which is looked for below those of `CDPATH` first.
pub fn searches_cdpath(script: &Script) -> bool {
    let plain = |command: &SimpleCommand| match builtin(&command.words) {
        Some((Some("cd" | "chdir" | "pushd"), args)) => {
            matches!(folder(args), DirectoryTarget::To(word) if is_looked_for(&word))
        }
        _ => false,
    };
    script.commands.iter().any(plain)
}

/// The folders that each command of a script may stand in, from the folder of the call.
pub(super) fn folders(script: &Script) -> Vec<CommandFolders> {
    let values = Values::new(script);
    let mut shells = Shells::new(script, vec![WorkingDirectory::new(BaseDirectory::Call)], &values);
    let commands = script.commands.iter().enumerate();
    commands.map(|(at, command)| shells.enter(script, at, command, &values).into()).collect()
}

/// The shells of one script.
pub(super) struct Shells {
    by_number: Vec<Option<Shell>>,
    start: Shell,
    /// There is a change of folder. Without one every command stands where the script starts.
    moves: bool,
    /// Functions meet changes of folder: a body runs in each folder that it is called in.
    unsure: bool,
    /// The last change of folder of each shell that may be made several times: what stands in front of it in its loop stands behind it
    /// the next time.
    again: BTreeMap<usize, usize>,
}

/// One shell, before its next command.
#[derive(Clone)]
struct Shell {
    folders: Folders,
    /// Changes by the last command and those around it, not counted yet: what stands in their words runs before them. The innermost is
    /// last.
    pending: Vec<(Span, Option<Change>)>,
}

/// The folders that a shell may stand in.
#[derive(Clone)]
struct Folders {
    now: Vec<WorkingDirectory>,
    /// Its directories if the last change of folder failed, and the command that made it.
    otherwise: Option<(usize, Vec<WorkingDirectory>)>,
}

/// A change of the folder of a shell.
#[derive(Clone)]
struct Change {
    /// The position of the command that makes it.
    at: usize,
    /// The directories of the shell if it succeeds.
    now: Vec<WorkingDirectory>,
}

/// Target of a change of folder.
#[derive(Clone)]
enum DirectoryTarget {
    /// To this one.
    To(Word),
    /// To the one that this word names, of which the line does not say what it is.
    Named(Arc<Word>),
    /// To the one before.
    Back,
    /// Known only at run time.
    Somewhere,
}

impl DirectoryTarget {
    /// Returns whether it leads to the same folder from wherever it is made, however often.
    fn is_settled(&self) -> bool {
        match self {
            Self::To(word) => is_fixed(word),
            Self::Named(_) | Self::Back | Self::Somewhere => false,
        }
    }

    /// Returns the folders that it leads to from one.
    fn apply(&self, folder: &WorkingDirectory) -> Vec<WorkingDirectory> {
        match self {
            Self::To(word) => folder.change_to(word),
            Self::Named(word) => vec![folder.named(word)],
            Self::Back => vec![folder.change_back()],
            Self::Somewhere => vec![WorkingDirectory::unknown()],
        }
    }
}

/// Folders of a command when it is entered.
#[derive(Clone)]
pub(super) struct EnteredFolders {
    /// The folders that it may run in, the likeliest first.
    pub(super) folders: Vec<WorkingDirectory>,
    /// Number of them, from the first, that the line means it to run in.
    pub(super) meant: usize,
    /// The folders that it takes its shell to.
    leads_to: Vec<WorkingDirectory>,
}

/// The folders of one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandFolders {
    /// Directories that it may run in, the likeliest first.
    pub stands_in: Vec<WorkingDirectory>,
    /// Directories that it takes its shell to. None for a command that is known to move nowhere.
    pub leads_to: Vec<WorkingDirectory>,
}

impl From<EnteredFolders> for CommandFolders {
    fn from(found: EnteredFolders) -> Self {
        Self { stands_in: found.folders, leads_to: found.leads_to }
    }
}

impl Shells {
    pub(super) fn new(script: &Script, start: Vec<WorkingDirectory>, values: &Values<'_>) -> Self {
        let folders = Folders { now: start, otherwise: None };
        let commands = script.commands.iter().enumerate();
        let movers = commands.filter(|(_, command)| mover(command, values).is_some());
        let (mut any, mut again) = (false, BTreeMap::new());
        for (at, command) in movers {
            any = true;
            if command.place.repeats {
                again.insert(command.place.shell, at);
            }
        }
        Self {
            by_number: Vec::new(),
            start: Shell { folders, pending: Vec::new() },
            moves: any,
            unsure: !script.functions.is_empty() && any,
            again,
        }
    }

    /// Returns the folders that the command at `at` finds, and notes those that it leaves.
    pub(super) fn enter(
        &mut self,
        script: &Script,
        at: usize,
        command: &SimpleCommand,
        values: &Values<'_>,
    ) -> EnteredFolders {
        if !self.moves {
            return EnteredFolders::new(self.start.folders.now.clone());
        }
        let number = command.place.shell;
        self.settle(script, number, &command.span);
        let to = change(at, command, values);
        let Some(Some(shell)) = self.by_number.get_mut(number) else { return EnteredFolders::unknown() };
        if self.unsure {
            shell.folders = Folders::unknown();
        }
        let mut found = shell.find(script, command);
        let change = to.map(|to| {
            let mut now = found.go(&to, command.place.repeats);
            // `cd` gives `OLDPWD` the value of `PWD`, whatever that is.
            if values.constants().is_given("PWD") {
                now.iter_mut().for_each(WorkingDirectory::forget_before);
            }
            if self.unsure {
                found.leads_to.extend(self.start.folders.now.iter().flat_map(|folder| to.apply(folder)));
            }
            Change { at, now }
        });
        shell.pending.push((command.span.clone(), change.filter(|_| !self.unsure)));
        if self.is_moved_before(script, at, command) {
            found.folders.push(WorkingDirectory::unknown());
        }
        found
    }

    /// Returns whether a change of folder behind the command may have been made when it runs once more.
    fn is_moved_before(&self, script: &Script, at: usize, command: &SimpleCommand) -> bool {
        let place = &command.place;
        if self.again.is_empty() || !(place.repeats || place.conditional) {
            return false;
        }
        let behind = |shell: usize| self.again.get(&shell).is_some_and(|by| *by > at);
        script.shells_around(place.shell).any(behind)
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
            let shell = self.born(script, number, span);
            if let Some(slot) = self.by_number.get_mut(number) {
                *slot = Some(shell);
            }
        }
        if let Some(Some(shell)) = self.by_number.get_mut(number) {
            shell.take_in(span);
        }
    }

    /// A shell starts where the one that it comes out of stands.
    fn born(&mut self, script: &Script, number: usize, span: &Span) -> Shell {
        // One without commands so far stands where its own parent stands.
        for around in script.shells_around(number) {
            if let Some(Some(shell)) = self.by_number.get_mut(around) {
                let mut shell = shell.clone();
                shell.take_in(span);
                shell.pending.clear();
                return shell;
            }
            if around == 0 {
                return self.start.clone();
            }
        }
        Shell { folders: Folders::unknown(), pending: Vec::new() }
    }
}

impl EnteredFolders {
    /// A command that runs in one of these, and moves nowhere.
    fn new(folders: Vec<WorkingDirectory>) -> Self {
        Self { meant: folders.len(), folders, leads_to: Vec::new() }
    }

    fn unknown() -> Self {
        Self::new(vec![WorkingDirectory::unknown()])
    }

    /// Notes the folders that the command takes its shell to. Returns those that the shell stands in then: made `again` and again, it
    /// leads on each time.
    fn go(&mut self, to: &DirectoryTarget, again: bool) -> Vec<WorkingDirectory> {
        let mut from = self.folders.clone();
        once_each(&mut from);
        if from.len() > MAX_FOLDERS {
            from = vec![WorkingDirectory::unknown()];
        }
        self.leads_to = from.iter().flat_map(|folder| to.apply(folder)).collect();
        once_each(&mut self.leads_to);
        if again && !to.is_settled() {
            self.leads_to.push(WorkingDirectory::unknown());
            return vec![WorkingDirectory::unknown()];
        }
        self.leads_to.clone()
    }
}

impl Shell {
    /// Counts what the last commands did, but for those that `span` stands inside.
    fn take_in(&mut self, span: &Span) {
        let inside = |outer: &Span| outer.start <= span.start && span.end <= outer.end && outer != span;
        while let Some((_, change)) = self.pending.pop_if(|(outer, _)| !inside(outer)) {
            if let Some(change) = change {
                self.folders.moved(change);
            }
        }
    }

    fn find(&self, script: &Script, command: &SimpleCommand) -> EnteredFolders {
        let mut found = EnteredFolders::new(self.folders.now.clone());
        if let Some((at, otherwise)) = &self.folders.otherwise
            && !follows(script, command, *at)
        {
            found.folders.extend(otherwise.iter().cloned());
        }
        found
    }
}

impl Folders {
    fn unknown() -> Self {
        Self { now: vec![WorkingDirectory::unknown()], otherwise: None }
    }

    fn moved(&mut self, change: Change) {
        let mut from = std::mem::replace(&mut self.now, change.now);
        if let Some((_, otherwise)) = self.otherwise.take() {
            from.extend(otherwise);
        }
        once_each(&mut from);
        if from.len() > MAX_FOLDERS {
            from = vec![WorkingDirectory::unknown()];
        }
        self.otherwise = Some((change.at, from));
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
    for _ in 0..MAX_CHAIN_LEN {
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

/// The builtin by which a command changes the folder of its shell, and its arguments. One whose name holds a variable that the line
/// sets counts by every value, and where one is not known; its folder is unknown: it has no arguments.
fn mover<'c>(command: &'c SimpleCommand, values: &Values<'_>) -> Option<(&'c str, Option<&'c [Word]>)> {
    let (name, args) = builtin(&command.words)?;
    if let Some(name) = name {
        return MOVERS.contains(&name).then_some((name, Some(args)));
    }
    let program = command.words.iter().rev().nth(args.len())?;
    let constants = values.constants();
    let is_set = |part: &Part| match part {
        Part::Parameter { name, .. } => !constants.table().changes(name).is_empty(),
        _ => false,
    };
    let moves = |word: &Word| match word.as_static() {
        Some(name) => MOVERS.contains(&name),
        None => word.parts.iter().any(is_set),
    };
    constants.every(program, MAX_NAMES).is_none_or(|names| names.iter().any(moves)).then_some(("", None))
}

/// Returns the change of folder that a command makes in its shell; `None` for one that makes none.
fn change(at: usize, command: &SimpleCommand, values: &Values<'_>) -> Option<DirectoryTarget> {
    let goes = match mover(command, values)? {
        // Without a folder it changes places with the one below it on the stack.
        ("pushd", Some([])) => DirectoryTarget::Somewhere,
        ("cd" | "chdir" | "pushd", Some(args)) => folder(args),
        _ => DirectoryTarget::Somewhere,
    };
    let constants = values.constants();
    Some(match goes {
        DirectoryTarget::To(word) => match values.fill_one(word.clone(), at) {
            Some(word) if is_looked_for(&word) && constants.is_given("CDPATH") => DirectoryTarget::Somewhere,
            // As a value it is no folder either.
            Some(word) if word.literal_prefix().starts_with(['-', '+']) => DirectoryTarget::Somewhere,
            Some(word) => DirectoryTarget::To(word),
            None => DirectoryTarget::Named(Arc::new(word)),
        },
        DirectoryTarget::Back if constants.is_given("OLDPWD") => DirectoryTarget::Somewhere,
        other => other,
    })
}

/// Returns whether `cd` looks for a folder of this name below those of `CDPATH`.
fn is_looked_for(word: &Word) -> bool {
    match word.parts.first() {
        Some(Part::Literal(text)) => !text.starts_with(['/', '.']),
        Some(Part::Tilde(_)) => false,
        Some(Part::Parameter { name, .. }) => !matches!(name.as_str(), "HOME" | "PWD" | "OLDPWD"),
        _ => true,
    }
}

/// The folder that `cd` goes to.
fn folder(args: &[Word]) -> DirectoryTarget {
    let mut operands =
        args.iter().filter(|word| !matches!(word.as_static(), Some("-P" | "-L" | "-e" | "-@" | "--")));
    let word = match operands.next() {
        None => Word { parts: vec![Part::Tilde(String::new())], ..Word::default() },
        Some(word) => word.clone(),
    };
    match word.as_static() {
        _ if operands.next().is_some() => DirectoryTarget::Somewhere,
        Some("-") => DirectoryTarget::Back,
        Some(text) if text.starts_with(['-', '+']) => DirectoryTarget::Somewhere,
        Some(_) | None => DirectoryTarget::To(word),
    }
}

/// Returns whether a folder is the same from wherever it is looked for, which `~+`, `~-` and `~2` are not.
fn is_fixed(word: &Word) -> bool {
    let is_home = |user: &str| !user.starts_with(|c: char| matches!(c, '+' | '-') || c.is_ascii_digit());
    word.literal_prefix().starts_with('/')
        || matches!(word.parts.first(), Some(Part::Tilde(user)) if is_home(user))
}

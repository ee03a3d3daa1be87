//! Effects that need a person whatever rules and modes say: the list of safeguards, and one look with all of them.
//!
//! Each safeguard is one file: why it is there, what it hits, what it lets pass, what it cannot see. They look at
//! programs and their arguments, never at text that merely mentions them: `git commit -m 'rm -rf /'` is a commit.
//! What launchers (`sudo`, `xargs`, `sh -c`, …) would run is among the readings they are given.
//!
//! The trap: a false alarm costs as much as a miss, since a person who is asked too often stops reading.

mod hosts;
mod way;

mod branch_deletion;
mod content_loss;
mod device_write;
mod discarded_changes;
mod disguised_flag;
mod disk_change;
mod eval;
mod file_upload;
mod find_removal;
mod force_push;
mod fork_bomb;
mod hard_reset;
mod hidden_character;
mod history_loss;
mod host_administration;
mod host_mount;
mod indirect_expansion;
mod injected_code;
mod inline_command;
mod mass_kill;
mod nested_substitution;
mod network_device;
mod own_policy;
mod process_environment;
mod protected_write;
mod raw_channel;
mod raw_copy;
mod rebound_name;
mod recursive_removal;
mod root_removal;
mod stash_loss;
mod too_much;
mod unknown_program;
mod unleashed_agent;
mod unseen_code;
mod untracked_removal;
mod word_splitting;
mod worktree_removal;
mod world_writable;
mod zsh_builtin;

#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::sync::{Arc, LazyLock};

use pinfold_shell::{Assignment, Redirect, RedirectKind, Script, SimpleCommand, Word};

pub(crate) use self::root_removal::is_root_kind;
use self::way::WordPath;
use crate::PathClaim;
use crate::constants::Constants;
use crate::name_map::NameMap;
use crate::program::{
    Arg, Program, ProgramKind, Scanned, UNLISTED, command, find, find_or_unlisted, first_operand, kind,
    scan_everywhere,
};
use crate::value::Values;
use crate::words::{last_name, program_name};
use crate::{CommandClaim, CommandEffects, Invocation, SafeguardHit, Severity, analyze};

/// Every safeguard, in the order in which they are listed and shown: what destroys, then what hides.
pub static ALL: &[&Safeguard] = &[
    &root_removal::SAFEGUARD,
    &recursive_removal::SAFEGUARD,
    &find_removal::SAFEGUARD,
    &content_loss::SAFEGUARD,
    &device_write::SAFEGUARD,
    &disk_change::SAFEGUARD,
    &raw_copy::SAFEGUARD,
    &fork_bomb::SAFEGUARD,
    &force_push::SAFEGUARD,
    &history_loss::SAFEGUARD,
    &hard_reset::SAFEGUARD,
    &untracked_removal::SAFEGUARD,
    &discarded_changes::SAFEGUARD,
    &branch_deletion::SAFEGUARD,
    &stash_loss::SAFEGUARD,
    &worktree_removal::SAFEGUARD,
    &world_writable::SAFEGUARD,
    &host_administration::SAFEGUARD,
    &mass_kill::SAFEGUARD,
    &host_mount::SAFEGUARD,
    &protected_write::SAFEGUARD,
    &unseen_code::SAFEGUARD,
    &inline_command::SAFEGUARD,
    &eval::SAFEGUARD,
    &unknown_program::SAFEGUARD,
    &nested_substitution::SAFEGUARD,
    &indirect_expansion::SAFEGUARD,
    &word_splitting::SAFEGUARD,
    &disguised_flag::SAFEGUARD,
    &hidden_character::SAFEGUARD,
    &too_much::SAFEGUARD,
    &injected_code::SAFEGUARD,
    &rebound_name::SAFEGUARD,
    &zsh_builtin::SAFEGUARD,
    &process_environment::SAFEGUARD,
    &network_device::SAFEGUARD,
    &raw_channel::SAFEGUARD,
    &file_upload::SAFEGUARD,
    &unleashed_agent::SAFEGUARD,
    &own_policy::SAFEGUARD,
];

/// A built-in check that no rule and no mode can silence.
#[derive(Debug)]
pub struct Safeguard {
    /// Its stable name: `force-push`.
    pub id: &'static str,
    /// One clause: `rewrites a remote branch`.
    pub about: &'static str,
    /// Severity of a hit.
    pub severity: Severity,
    /// Command lines that it hits.
    pub hits: &'static [&'static str],
    /// Command lines like them that it lets pass.
    pub passes: &'static [&'static str],
    /// Command lines like them that it misses.
    pub blind: &'static str,
    watch: Watch,
}

/// Part of a command line that a safeguard looks at.
#[derive(Debug)]
enum Watch {
    /// Programs of these names, wherever they lie. A name that ends with `.` or `_` stands for all that start so.
    Programs(&'static [&'static str], fn(&Invoked<'_>) -> bool),
    /// Programs that run code of a language.
    Interpreters(fn(&Invoked<'_>) -> bool),
    /// These subcommands of git.
    Git(&'static [&'static str], fn(&Invoked<'_>) -> bool),
    /// Every simple command: its assignments and redirects, and each reading of its words.
    Commands(fn(&Command<'_>) -> bool),
    /// The line as a whole.
    Line(fn(&Line<'_>) -> bool),
}

impl Watch {
    fn is_hit_by(&self, invoked: &Invoked<'_>) -> bool {
        match self {
            Self::Programs(_, check) | Self::Interpreters(check) | Self::Git(_, check) => check(invoked),
            Self::Commands(_) | Self::Line(_) => false,
        }
    }
}

/// A program that is known by name, with its arguments; for git, a subcommand.
struct Invoked<'a> {
    name: &'a str,
    program: &'static Program,
    args: &'a [Word],
    work_dir: Option<&'a str>,
    scanned: OnceCell<Scanned<'a>>,
}

impl<'a> Invoked<'a> {
    /// The arguments by the program's grammar, wherever options may stand.
    fn scanned(&self) -> &Scanned<'a> {
        self.scanned.get_or_init(|| scan_everywhere(self.program, self.args))
    }

    /// Returns whether any argument is one of these options of one letter, or this long one, also cut short.
    fn has(&self, letters: &str, long: &str) -> bool {
        self.scanned().has(letters, long)
    }

    /// Returns whether [`has`](Self::has) holds however options are completed of which a part is known only at run time.
    fn surely_has(&self, letters: &str, long: &str) -> bool {
        self.scanned().surely_has(letters, long)
    }

    /// Returns whether any argument is of this kind.
    fn any(&self, is_meant: impl Fn(&Arg<'a>) -> bool) -> bool {
        self.scanned().args.iter().any(is_meant)
    }

    /// Returns whether any argument with its value is of this kind.
    fn any_with_value(&self, is_meant: impl Fn(&Arg<'a>, Option<&str>) -> bool) -> bool {
        self.scanned().with_values().any(|(arg, value)| is_meant(arg, value))
    }

    fn operands(&self) -> impl Iterator<Item = &'a Word> {
        self.scanned().operands()
    }
}

/// A simple command with everything that it would run.
struct Command<'a> {
    written: &'a SimpleCommand,
    readings: &'a [Invocation],
    work_dir: Option<&'a str>,
}

/// A command line.
struct Line<'a> {
    text: &'a str,
    script: &'a Script,
    /// Claims of each command of the script, in its order.
    commands: &'a [CommandClaim],
    /// Paths that the commands would write and read.
    paths: &'a [PathClaim],
    values: &'a Values<'a>,
    hands_over: OnceCell<bool>,
    written: OnceCell<Vec<WordPath>>,
}

impl<'a> Line<'a> {
    /// Values that the line gives to variables.
    fn constants(&self) -> &Constants<'a> {
        self.values.constants()
    }

    /// Everything that the line would start, as far as its words say.
    fn readings(&self) -> impl Iterator<Item = &'a Invocation> {
        self.commands.iter().flat_map(|claim| &claim.readings)
    }

    /// Returns whether the line gives a function, or itself, arguments that would be hit as a command.
    fn hands_over(&self) -> bool {
        *self.hands_over.get_or_init(|| unknown_program::hands_over(self.script))
    }

    /// Places that the line writes, as far as they can be places of the system: what its redirects and programs
    /// claim, and redirects to a name of which a variable hides the end.
    fn written(&self) -> &[WordPath] {
        self.written.get_or_init(|| {
            let claims = self.paths.iter().filter(|claim| claim.operation.writes());
            let texts = claims.filter_map(|claim| claim.path.as_ref()?.as_os_str().to_str());
            let claimed = texts.filter(|text| leads_out(text)).map(WordPath::of_claim);
            let redirects = self.script.commands.iter().flat_map(|command| &command.redirects);
            let hidden = redirects
                .filter(|redirect| opens_for_writing(redirect) && redirect.target.as_static().is_none());
            claimed.chain(hidden.map(|redirect| WordPath::from_word(&redirect.target, None))).collect()
        })
    }
}

/// Returns whether a path can be more than an ordinary name below the folder.
fn leads_out(text: &str) -> bool {
    text.starts_with(['/', '~', '.']) || text.contains("/.")
}

impl Safeguard {
    fn hit(&self) -> SafeguardHit {
        SafeguardHit { id: self.id, about: self.about, severity: self.severity }
    }
}

/// Finds what the line as a whole would do that needs a person. `claims` is what its commands would do, one for each of
/// the script; text that another shell would read (`sh -c`) is a line of its own.
pub(crate) fn of_line(
    text: &str,
    script: &Script,
    values: &Values<'_>,
    claims: &CommandEffects,
) -> Vec<SafeguardHit> {
    let CommandEffects { commands, paths, .. } = claims;
    let line =
        Line { text, script, commands, paths, values, hands_over: OnceCell::new(), written: OnceCell::new() };
    let mut hits = Vec::new();
    for safeguard in &INDEX.line {
        if matches!(safeguard.watch, Watch::Line(check) if check(&line)) {
            add(safeguard, &mut hits);
        }
    }
    of_constants(&line, &mut hits);
    hits
}

/// Finds what the commands would do with the values that the line itself gives to variables.
fn of_constants(line: &Line<'_>, hits: &mut Vec<SafeguardHit>) {
    if line.constants().table().is_empty() {
        return;
    }
    for reading in line.readings() {
        let watched = match reading.words.first().and_then(program_name) {
            Some(name) => watches(name),
            None => true,
        };
        if watched {
            for filled in line.constants().put_into(reading) {
                of_program(&filled, None, hits);
            }
        }
    }
}

/// Returns the safeguards that one simple command hits. `work_dir` is the folder it runs in, as far as a `cd` in
/// front of it says.
pub fn of_command(
    command: &SimpleCommand,
    readings: &[Invocation],
    work_dir: Option<&str>,
) -> Vec<SafeguardHit> {
    let mut hits = Vec::new();
    for reading in readings {
        of_program(reading, work_dir, &mut hits);
    }
    let command = Command { written: command, readings, work_dir };
    for safeguard in &INDEX.commands {
        if matches!(safeguard.watch, Watch::Commands(check) if check(&command)) {
            add(safeguard, &mut hits);
        }
    }
    hits
}

/// Finds what the program of one reading would do.
fn of_program(reading: &Invocation, work_dir: Option<&str>, hits: &mut Vec<SafeguardHit>) {
    let Some((program, args)) = reading.words.split_first() else { return };
    let Some(program) = program_name(program) else { return };
    let of_git = match program.strip_prefix("git-") {
        Some(subcommand) => Some((subcommand, args)),
        None if program == "git" => match git_subcommand(args) {
            Some(subcommand) => Some(subcommand),
            None => return,
        },
        None => None,
    };
    let (name, args) = of_git.unwrap_or((program, args));
    let (program, watching) = if of_git.is_some() {
        let program = find("git").and_then(|git| command(git, name)).unwrap_or(&UNLISTED);
        (program, [INDEX.git(name), &[]])
    } else {
        let program = find_or_unlisted(name);
        (program, [INDEX.program(name), INDEX.kind(program.kind)])
    };
    let invoked = Invoked { name, program, args, work_dir, scanned: OnceCell::new() };
    for safeguard in watching.into_iter().flatten() {
        if safeguard.watch.is_hit_by(&invoked) {
            add(safeguard, hits);
        }
    }
}

/// The subcommand of git with its arguments: what comes after git's own options.
fn git_subcommand(args: &[Word]) -> Option<(&str, &[Word])> {
    let first = first_operand(find("git")?, args)?;
    Some((args.get(first)?.as_static()?, args.get(first + 1..)?))
}

/// Adds a hit, once.
fn add(safeguard: &Safeguard, hits: &mut Vec<SafeguardHit>) {
    if hits.iter().all(|hit| hit.id != safeguard.id) {
        hits.push(safeguard.hit());
    }
}

/// Returns whether a safeguard looks at programs of this name, wherever it lies.
pub(crate) fn watches(program: &str) -> bool {
    let name = last_name(program);
    name == "git" || !INDEX.program(name).is_empty() || kind(name) == Some(ProgramKind::Interpreter)
}

/// Finds what a program with its arguments would do that needs a person.
pub(crate) fn of_hidden_program(words: &[Word]) -> Vec<SafeguardHit> {
    let mut hits = Vec::new();
    of_program(&Invocation { words: Arc::new(words.to_vec()), ..Invocation::default() }, None, &mut hits);
    hits
}

/// Finds what a text would do as a command line that needs a person. A text that does not begin with a known program is prose.
pub(crate) fn of_hidden_line(text: &str) -> Vec<SafeguardHit> {
    let script = pinfold_shell::parse(text);
    let first = script.commands.first().and_then(|command| command.words.first()).and_then(Word::as_static);
    if !first.is_some_and(|program| crate::is_in_catalog(program) || watches(program)) {
        return Vec::new();
    }
    let claims = analyze(text, &script);
    let of_commands = claims.commands.into_iter().flat_map(|claim| claim.safeguards);
    claims.safeguards.into_iter().chain(of_commands).collect()
}

/// Returns whether a program with its arguments is hit.
fn program_hits<'w>(words: impl Iterator<Item = &'w Word>) -> bool {
    let mut hits = Vec::new();
    of_program(
        &Invocation { words: Arc::new(words.cloned().collect()), ..Invocation::default() },
        None,
        &mut hits,
    );
    !hits.is_empty()
}

/// Returns whether text would be hit as a command line. Text in text in it stands in quotes within quotes, which end soon.
fn text_hits(text: &str) -> bool {
    let claims = analyze(text, &pinfold_shell::parse(text));
    !claims.safeguards.is_empty() || claims.commands.iter().any(|claim| !claim.safeguards.is_empty())
}

/// Returns whether a redirect opens its file for writing.
fn opens_for_writing(redirect: &Redirect) -> bool {
    match redirect.kind {
        RedirectKind::Write | RedirectKind::Append | RedirectKind::ReadWrite => true,
        RedirectKind::Read
        | RedirectKind::Duplicate
        | RedirectKind::HereDocument
        | RedirectKind::HereString => false,
    }
}

/// Every word of a script.
fn all_words(script: &Script) -> impl Iterator<Item = &Word> {
    script
        .commands
        .iter()
        .flat_map(|command| {
            let redirects = command.redirects.iter().map(|redirect| &redirect.target);
            command.words.iter().chain(of_assignments(&command.assignments)).chain(redirects)
        })
        .chain(of_assignments(&script.loops))
        .chain(&script.loose)
}

fn of_assignments(assignments: &[Assignment]) -> impl Iterator<Item = &Word> {
    assignments.iter().flat_map(|one| std::iter::once(&one.value).chain(&one.elements))
}

/// The safeguards by what they watch.
struct Index {
    programs: NameMap<&'static str, Vec<&'static Safeguard>>,
    interpreters: Vec<&'static Safeguard>,
    git: NameMap<&'static str, Vec<&'static Safeguard>>,
    commands: Vec<&'static Safeguard>,
    line: Vec<&'static Safeguard>,
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut index = Index {
        programs: NameMap::default(),
        interpreters: Vec::new(),
        git: NameMap::default(),
        commands: Vec::new(),
        line: Vec::new(),
    };
    for safeguard in ALL {
        match safeguard.watch {
            Watch::Programs(names, _) => {
                for name in names {
                    index.programs.entry(name).or_default().push(safeguard);
                }
            }
            Watch::Interpreters(_) => index.interpreters.push(safeguard),
            Watch::Git(names, _) => {
                for name in names {
                    index.git.entry(name).or_default().push(safeguard);
                }
            }
            Watch::Commands(_) => index.commands.push(safeguard),
            Watch::Line(_) => index.line.push(safeguard),
        }
    }
    index
});

impl Index {
    fn git(&self, subcommand: &str) -> &[&'static Safeguard] {
        self.git.get(subcommand).map_or(&[], Vec::as_slice)
    }

    fn program(&self, name: &str) -> &[&'static Safeguard] {
        let family = || self.programs.get(name.get(..=name.find(['.', '_'])?)?);
        self.programs.get(name).or_else(family).map_or(&[], Vec::as_slice)
    }

    fn kind(&self, kind: ProgramKind) -> &[&'static Safeguard] {
        if kind == ProgramKind::Interpreter { &self.interpreters } else { &[] }
    }
}

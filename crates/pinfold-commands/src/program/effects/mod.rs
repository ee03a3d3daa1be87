//! Effects of one invocation, read off its arguments by the catalog.

mod not_allowlistable;
mod operands;
mod options;
mod started;
mod touched;
mod values;

use std::borrow::Cow;

use pinfold_shell::{Span, Word};

use self::options::OperandOptions;
use super::scan::{Arg, Scanned};
use super::{Operands, OptionEffect, Options, ProgramKind, Purpose, Reach, Style, find_versioned, scan};
pub(crate) use crate::WorkDirUse;
use crate::invocation::Invocation;
use crate::{HostClaim, NotAllowlistable, Operation};

/// The effects of one invocation: files, hosts, programs that it starts, and reasons against allow rules.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about one command")]
#[derive(Default)]
pub(crate) struct InvocationEffects<'a> {
    /// The program's name.
    pub(crate) name: &'a str,
    /// The word of its subcommand.
    command: Option<&'a str>,
    /// Files and folders that it touches, in the order of its arguments.
    pub(crate) paths: Vec<NamedFileWord<'a>>,
    /// Reasons for which no rule may allow it.
    pub(crate) not_allowlistable: Vec<NotAllowlistable>,
    /// Words that may turn out to be options that matter.
    pub(crate) hidden: Vec<&'a Word>,
    /// True if it is told code in a language of its own.
    pub(crate) told_code: bool,
    /// Values of options that run the program or the line that they name.
    pub(crate) run_values: Vec<Cow<'a, Word>>,
    /// Hosts that it reaches.
    pub(crate) hosts: Vec<HostClaim>,
    /// Programs and command lines that it starts.
    pub(crate) started: Vec<StartedProgram<'a>>,
    /// Folders that it moves to before anything else, each from the one before.
    pub(crate) folders: Vec<Cow<'a, Word>>,
    /// Set where it searches the folder if no place is named and nothing is piped into it: whether hidden names are passed over.
    pub(crate) default_search: Option<bool>,
    /// Files that get another name: the present one and the new one.
    pub(crate) renamed: Vec<(Cow<'a, Word>, Cow<'a, Word>)>,
    /// Other folders that it takes code from.
    pub(crate) sources: Vec<Cow<'a, Word>>,
    /// Things that it takes from the folder that it works in.
    pub(crate) folder: WorkDirUse,
    /// True if the catalog knows the program and each option that stands there.
    pub(crate) exact: bool,
    /// The use of its standard input.
    pub(crate) input: StandardInput,
    /// True if some of its arguments are put in by another program, at `{}` or at the end.
    open_ended: bool,
    /// Words that were read as something else than a path: code, text, a host, a program.
    pub(crate) no_paths: Vec<Span>,
    /// True if it reads files that no word of it names.
    pub(crate) reads_unnamed: bool,
    /// The number of the first argument behind `--`.
    pub(crate) behind_dashes: Option<usize>,
    /// The use of a place that any other word names.
    pub(crate) reach: Reach,
    /// True if the program, or its subcommand, is not in the catalog: its words may name another to start.
    pub(crate) unanalyzed: bool,
    /// The kind of the program, where it is in the catalog.
    pub(crate) kind: Option<ProgramKind>,
    /// The arguments as the program reads them, where it is in the catalog.
    pub(crate) scanned: Option<Scanned<'a>>,
}

/// The use of a program's standard input.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum StandardInput {
    /// Data, if anything.
    #[default]
    Data,
    /// A script in its own language.
    Code,
    /// Commands of a shell.
    Commands,
    /// A script that may run programs or write files.
    Script,
    /// Queries, some of which may.
    Queries,
}

/// A word that names a file.
pub(crate) struct NamedFileWord<'a> {
    pub(crate) word: Cow<'a, Word>,
    pub(crate) operation: Operation,
    pub(crate) purpose: Purpose,
    /// True if names below it that start with a dot are passed over.
    pub(crate) skips_hidden: bool,
    /// True if it names files as git does: by a revision, by a pattern, from the root of the repository.
    pub(crate) tracked: bool,
    /// Words that are paths where something stands there, and then it touches no more than that.
    pub(crate) unless_there: Vec<&'a str>,
}

/// A program that is started.
pub(crate) struct StartedProgram<'a> {
    pub(crate) words: StartedWords<'a>,
    /// True if more arguments follow that are not known here.
    pub(crate) open_ended: bool,
    /// True if it runs in a container or on another host: its paths are not of this machine.
    pub(crate) elsewhere: bool,
}

/// The words of a program that is started.
pub(crate) enum StartedWords<'a> {
    /// Its words.
    Words(Vec<Word>),
    /// A command line for a shell.
    CommandLine(Cow<'a, Word>),
    /// Not known.
    Unknown,
}

impl<'a> InvocationEffects<'a> {
    /// The effects of `invocation`, by the catalog.
    pub(crate) fn from_invocation(invocation: &'a Invocation) -> Self {
        let Some(name) = invocation.name() else {
            return Self { folder: WorkDirUse::ExecutedFiles, ..Self::default() };
        };
        let Some(program) = find_versioned(name) else {
            return Self { name, folder: WorkDirUse::ExecutedFiles, unanalyzed: true, ..Self::default() };
        };
        let scanned = scan(program, invocation.args());
        let open_ended = invocation.open_ended;
        let mut effects =
            Self { name, exact: !scanned.unknown, open_ended, kind: Some(program.kind), ..Self::default() };
        effects.note_unknown_words(&scanned);
        effects.read(&scanned);
        effects.exclude_unknown_options(&scanned);
        if open_ended {
            effects.exclude_open_end(&scanned);
        }
        effects.scanned = Some(scanned);
        effects
    }

    /// Notes how far the catalog knows the program and its subcommand.
    fn note_unknown_words(&mut self, scanned: &Scanned<'a>) {
        let Some(leaf) = scanned.levels.last() else { return };
        self.reach = leaf.reach;
        self.no_paths.extend(scanned.commands.iter().cloned());
        let first = scanned.args.iter().find_map(Arg::operand);
        let unknown_command = first.filter(|_| !leaf.commands().is_empty());
        self.unanalyzed = unknown_command.is_some();
        if let Some(command) = unknown_command.filter(|_| leaf.closed) {
            self.exclude_unknown_command(command);
        }
    }

    /// Excludes options of a program whose rows are complete that are in none of them. Where its subcommand has to be named by a
    /// rule, that means its options too.
    fn exclude_unknown_options(&mut self, scanned: &Scanned<'a>) {
        let named = |reason: &NotAllowlistable| {
            reason.lifted_by.is_some() && reason.lifted_by.as_deref() == scanned.command
        };
        if !scanned.levels.iter().any(|level| level.closed) || self.not_allowlistable.iter().any(named) {
            return;
        }
        for arg in &scanned.args {
            let Arg::Option { known, name, .. } = arg else { continue };
            // Whatever can be switched on is switched off as well; that compares files of no repository.
            let is_negation = || name.starts_with("--no-") && *name != "--no-index";
            // What is cut short may be short for something else in another version.
            let is_cut = |known: &Options| {
                name.starts_with("--") && !known.is_named(name) && matches!(known.effect, OptionEffect::Plain)
            };
            if !is_negation() && known.is_none_or(is_cut) {
                self.exclude_option("unknown-option", name, "is not known, and may do anything");
            }
        }
    }

    /// Excludes a subcommand that is not in the catalog, but for a rule that names it. A name with a slash leads to a program that lies
    /// somewhere else than those of the tool.
    fn exclude_unknown_command(&mut self, command: &Word) {
        let Some(text) = command.as_static() else {
            return self.exclude_script("is known only at run time");
        };
        let why = format!("`{} {text}` is not known, and may do anything", self.name);
        let lifted_by = (!text.contains('/')).then(|| text.to_owned());
        self.not_allowlistable
            .push(NotAllowlistable { lifted_by, ..NotAllowlistable::new("unknown-command", why) });
    }

    /// Returns the word of its subcommand.
    pub(crate) fn command_word(&self) -> Option<&'a str> {
        self.command
    }

    /// Returns whether a word that is put in by another program may name a file.
    pub(crate) fn may_touch(&self) -> bool {
        self.reach != Reach::Text
    }

    /// Notes that a word is no path, whatever it looks like.
    pub(crate) fn mark_no_path(&mut self, word: &Word) {
        self.no_paths.push(word.span.clone());
    }

    fn read(&mut self, scanned: &Scanned<'a>) {
        let Some(leaf) = scanned.levels.last() else { return };
        self.command = scanned.command;
        self.behind_dashes = scanned.operands_from;
        self.folder = scanned.levels.iter().map(|level| level.folder).max().unwrap_or_default();
        if leaf.style == Style::Glued {
            self.exclude_option_files(&scanned.args);
        }
        let mut operands = leaf.operands;
        let mut reading = OperandOptions::default();
        for arg in &scanned.args {
            if let Arg::Option { known: Some(known), name, value, .. } = arg {
                if let OptionEffect::Otherwise(other) = known.effect {
                    operands = other;
                }
                self.read_option(&mut reading, known.effect, name, value.as_ref());
            }
        }
        if !scanned.hidden.is_empty() && scanned.levels.iter().any(|level| level.has_dangers()) {
            self.hidden.extend_from_slice(&scanned.hidden);
        }
        self.read_operands(&reading, operands, &scanned.args);
    }

    /// Excludes writes where more arguments follow that are not known: they are read like the last operands.
    fn exclude_open_end(&mut self, scanned: &Scanned<'a>) {
        for inner in &mut self.started {
            inner.open_ended = true;
        }
        let writes = scanned.levels.last().is_some_and(|leaf| leaf.operands.writes());
        if writes || self.paths.iter().any(|touched| touched.operation.writes()) {
            self.exclude_unknown_write();
        }
    }
}

impl Operands {
    fn writes(self) -> bool {
        match self {
            Self::Each(operation, _) | Self::AfterFirst(operation, _) => operation.writes(),
            Self::Last(_, to) => to.writes(),
            _ => false,
        }
    }
}

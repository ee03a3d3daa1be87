//! What one invocation does, read off its arguments by the tables.

mod bars;
mod operands;
mod options;
mod started;
mod touched;
mod values;

use std::borrow::Cow;

use pinfold_shell::{Span, Word};

use self::options::OperandOptions;
use super::scan::{Arg, Scanned};
use super::{Does, Operands, Options, ProgramKind, Purpose, Reach, Style, find, interpreter, scan};
pub(crate) use crate::FolderUse;
use crate::invocation::Invocation;
use crate::{HostClaim, NotAllowlistable, Operation};

/// What one invocation does.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about one command")]
#[derive(Default)]
pub(crate) struct Acts<'a> {
    /// The program's name.
    pub(crate) name: &'a str,
    /// The word of its subcommand.
    command: Option<&'a str>,
    /// What it touches, in the order of its arguments.
    pub(crate) paths: Vec<Touched<'a>>,
    /// Why no rule may allow it.
    pub(crate) bars: Vec<NotAllowlistable>,
    /// Words that may turn out to be options that matter.
    pub(crate) hidden: Vec<&'a Word>,
    /// It is told code in a language of its own.
    pub(crate) told_code: bool,
    /// Values of options that run what they name.
    pub(crate) run_values: Vec<Cow<'a, Word>>,
    /// Hosts it reaches.
    pub(crate) hosts: Vec<HostClaim>,
    /// What it starts.
    pub(crate) inner: Vec<Inner<'a>>,
    /// Folders it moves to before anything else, each from the one before.
    pub(crate) folders: Vec<Cow<'a, Word>>,
    /// Without a place it searches the folder, unless something is piped into it; whether it passes over hidden names.
    pub(crate) default_search: Option<bool>,
    /// What gets another name: what it has now, and the new one.
    pub(crate) renamed: Vec<(Cow<'a, Word>, Cow<'a, Word>)>,
    /// Other folders that it takes code from.
    pub(crate) sources: Vec<Cow<'a, Word>>,
    /// What it takes from the folder that it works in.
    pub(crate) folder: FolderUse,
    /// The tables know the program and every option that stands there.
    pub(crate) exact: bool,
    /// What its standard input is to it.
    pub(crate) input: Input,
    /// Some of its arguments are put in by another program, at `{}` or at the end.
    open_ended: bool,
    /// Words that were read as something else than a path: code, text, a host, a program.
    pub(crate) taken: Vec<Span>,
    /// It reads files that no word of it names.
    pub(crate) reads_unnamed: bool,
    /// What it does with a place that any other word names.
    pub(crate) reach: Reach,
    /// Which program it is, or which of its subcommands, is not in the tables: its words may name another to start.
    pub(crate) unread: bool,
    /// The kind of the program, where it is in the tables.
    pub(crate) kind: Option<ProgramKind>,
    /// The arguments as the program reads them, where it is in the tables.
    pub(crate) scanned: Option<Scanned<'a>>,
}

/// What standard input is to a program.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Input {
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
pub(crate) struct Touched<'a> {
    pub(crate) word: Cow<'a, Word>,
    pub(crate) operation: Operation,
    pub(crate) purpose: Purpose,
    /// Names below it that start with a dot are passed over.
    pub(crate) visible: bool,
    /// It names files as git does: by a revision, by a pattern, from the root of the repository.
    pub(crate) tracked: bool,
}

/// A program that is started.
pub(crate) struct Inner<'a> {
    pub(crate) words: InnerWords<'a>,
    /// More arguments follow that are not known here.
    pub(crate) open_ended: bool,
    /// It runs in a container or on another host: what it touches is not here.
    pub(crate) elsewhere: bool,
}

/// What is known of a program that is started.
pub(crate) enum InnerWords<'a> {
    /// Its words.
    Words(Vec<Word>),
    /// A command line for a shell.
    Line(Cow<'a, Word>),
    /// Nothing.
    Unknown,
}

/// What `invocation` does.
pub(crate) fn act(invocation: &Invocation) -> Acts<'_> {
    let Some(name) = invocation.name() else { return Acts { folder: FolderUse::Code, ..Acts::default() } };
    let Some(program) = find(name).or_else(|| interpreter(name)) else {
        return Acts { name, folder: FolderUse::Code, unread: true, ..Acts::default() };
    };
    let scanned = scan(program, invocation.args());
    let open_ended = invocation.open_ended;
    let mut acts =
        Acts { name, exact: !scanned.unknown, open_ended, kind: Some(program.kind), ..Acts::default() };
    acts.known_as_far(&scanned);
    acts.read(&scanned);
    acts.unknown_options(&scanned);
    if invocation.open_ended {
        acts.open_end(&scanned);
    }
    acts.scanned = Some(scanned);
    acts
}

impl<'a> Acts<'a> {
    /// What the tables know of the program and its subcommand, and what they do not.
    fn known_as_far(&mut self, scanned: &Scanned<'a>) {
        let Some(leaf) = scanned.levels.last() else { return };
        self.reach = leaf.reach;
        self.taken.extend(scanned.commands.iter().cloned());
        let first = scanned.args.iter().find_map(Arg::operand);
        let unknown_command = first.filter(|_| !leaf.commands().is_empty());
        self.unread = unknown_command.is_some();
        if let Some(command) = unknown_command.filter(|_| leaf.closed) {
            self.unknown_command(command);
        }
    }

    /// Options of a program whose rows are complete that are in none of them. Where its subcommand has to be named by a
    /// rule, that means its options too.
    fn unknown_options(&mut self, scanned: &Scanned<'a>) {
        let named =
            |bar: &NotAllowlistable| bar.lifted_by.is_some() && bar.lifted_by.as_deref() == scanned.command;
        if !scanned.levels.iter().any(|level| level.closed) || self.bars.iter().any(named) {
            return;
        }
        for arg in &scanned.args {
            let Arg::Option { known, name, .. } = arg else { continue };
            // Whatever can be switched on is switched off as well; that compares files of no repository.
            let is_negation = || name.starts_with("--no-") && *name != "--no-index";
            // What is cut short may be short for something else in another version.
            let is_cut = |known: &Options| {
                name.starts_with("--") && !known.is_named(name) && matches!(known.does, Does::Nothing)
            };
            if !is_negation() && known.is_none_or(is_cut) {
                self.option_bar("unknown-option", name, "is not known, and may do anything");
            }
        }
    }

    /// A subcommand that is not in the tables: a rule has to name it. A name with a slash leads to a program that lies
    /// somewhere else than those of the tool.
    fn unknown_command(&mut self, command: &Word) {
        let Some(text) = command.as_static() else {
            return self.script_bar("is known only by running");
        };
        let why = format!("`{} {text}` is not known, and may do anything", self.name);
        let lifted_by = (!text.contains('/')).then(|| text.to_owned());
        self.bars.push(NotAllowlistable { lifted_by, ..NotAllowlistable::new("unknown-command", why) });
    }

    /// The word of its subcommand.
    pub(crate) fn command_word(&self) -> Option<&'a str> {
        self.command
    }

    /// Returns whether a word that is put in by another program may name a file.
    pub(crate) fn may_touch(&self) -> bool {
        self.reach != Reach::Text
    }

    /// A word that is no path, whatever it looks like.
    pub(crate) fn take(&mut self, word: &Word) {
        self.taken.push(word.span.clone());
    }

    fn read(&mut self, scanned: &Scanned<'a>) {
        let Some(leaf) = scanned.levels.last() else { return };
        self.command = scanned.command;
        self.folder = scanned.levels.iter().map(|level| level.folder).max().unwrap_or_default();
        if leaf.style == Style::Glued {
            self.option_files(&scanned.args);
        }
        let mut operands = leaf.operands;
        let mut reading = OperandOptions::default();
        for arg in &scanned.args {
            if let Arg::Option { known: Some(known), name, value, .. } = arg {
                if let Does::Otherwise(other) = known.does {
                    operands = other;
                }
                self.option(&mut reading, known.does, name, value.as_ref());
            }
        }
        if !scanned.hidden.is_empty() && scanned.levels.iter().any(|level| level.has_dangers()) {
            self.hidden.extend_from_slice(&scanned.hidden);
        }
        self.operands(&reading, operands, &scanned.args);
    }

    /// More arguments follow that nobody knows: they are what the last operands would be.
    fn open_end(&mut self, scanned: &Scanned<'a>) {
        for inner in &mut self.inner {
            inner.open_ended = true;
        }
        let writes = scanned.levels.last().is_some_and(|leaf| leaf.operands.writes());
        if writes || self.paths.iter().any(|touched| touched.operation.writes()) {
            self.unknown_operand();
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

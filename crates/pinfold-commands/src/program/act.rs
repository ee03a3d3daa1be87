//! What one invocation does, read off its arguments by the tables.

use std::borrow::Cow;

use pinfold_shell::{Part, Span, Word};

use super::super::environment;
use super::super::invocation::Invocation;
use super::super::sed;
use super::super::words::{known_start, literal, strip_start};
use super::super::{HostClaim, NotAllowlistable};
use super::scan::{Arg, Scanned};
use super::setting::{self, Setting};
use super::{
    Does, Operands, Options, Program, ProgramKind, Purpose, Reach, Style, find, interpreter, kind, scan,
};
use crate::Operation;

pub(crate) use super::super::FolderUse;

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

/// Number of words behind the line of a shell that are looked at as if each were the line.
const MOST_LINES_OF_SHELL: usize = 32;

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
        let mut reading = Reading::default();
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

    /// `@file` among the arguments of compilers and their kin: options that stand in no word.
    fn option_files(&mut self, args: &[Arg<'a>]) {
        for word in args.iter().filter_map(Arg::operand) {
            if known_start(word).starts_with('@') {
                self.named_bar(word.as_static(), "takes options from a file");
            }
        }
    }

    fn option(&mut self, reading: &mut Reading<'a>, does: Does, name: &str, value: Option<&Cow<'a, Word>>) {
        match value {
            Some(value) => self.option_with_value(reading, does, name, value),
            None => self.option_alone(reading, does, name),
        }
    }

    fn option_alone(&mut self, reading: &mut Reading<'a>, does: Does, name: &str) {
        match does {
            Does::Bars(why) => self.option_bar("option", name, why.as_str()),
            Does::Code => self.code_bar(name, "holds code, which no pattern can judge"),
            Does::InPlace | Does::Suffix => reading.in_place = true,
            Does::ForFirst => reading.has_first = true,
            Does::Here => self.write_in_folder(Purpose::Aside),
            Does::Unnamed => self.reads_unnamed = true,
            Does::FirstIsLine => {
                reading.first_is_line = true;
                self.option_bar("inline-code", name, "holds commands, which no pattern can judge");
            }
            _ => {}
        }
    }

    #[expect(clippy::ptr_arg, reason = "what is taken of it lives as long as the command")]
    fn option_with_value(
        &mut self,
        reading: &mut Reading<'a>,
        does: Does,
        name: &str,
        value: &Cow<'a, Word>,
    ) {
        match does {
            // The last of these are looked for by the program's own reading.
            Does::Nothing
            | Does::Otherwise(_)
            | Does::FirstIsLine
            | Does::Here
            | Does::ConfigFile
            | Does::Into
            | Does::Archive => {}
            Does::Text => self.take(value),
            Does::Unnamed => {
                self.take(value);
                self.reads_unnamed = true;
            }
            Does::Tracked => self.tracked(value.clone()),
            Does::Path(operation, purpose) => self.path(value.clone(), operation, purpose),
            Does::Folder => {
                self.take(value);
                self.folders.push(value.clone());
            }
            Does::Source => {
                self.take(value);
                self.sources.push(value.clone());
            }
            Does::FolderOf => self.folder_of(value),
            Does::Bars(why) => {
                self.run_values.push(value.clone());
                self.option_bar("option", name, why.as_str());
            }
            Does::Line => {
                reading.has_first = true;
                self.option_bar("option", name, "runs a command line");
                self.line(value.clone());
            }
            Does::Code => {
                reading.has_first = true;
                self.take(value);
                self.code_bar(name, "holds code, which no pattern can judge");
            }
            Does::InPlace => reading.in_place = true,
            // The program's own reading looks at the suffix.
            Does::Suffix => {
                self.take(value);
                reading.in_place = true;
            }
            Does::ForFirst => {
                reading.has_first = true;
                self.take(value);
            }
            Does::Module => {
                reading.has_first = true;
                reading.module = Some(value.clone());
                self.take(value);
            }
            Does::FirstFile => {
                reading.has_first = true;
                self.path(value.clone(), Operation::Read, Purpose::Command);
            }
            Does::Words => reading.split = Some(value.clone()),
            Does::Piped if known_start(value).starts_with(['|', '!']) => {
                self.option_bar("option", name, "runs a command line");
                self.line(Cow::Owned(strip_start(value, 1)));
            }
            Does::Piped => self.path(value.clone(), Operation::Write, Purpose::Aside),
            Does::SedScript => {
                reading.has_first = true;
                self.take(value);
                sed::script(self, value);
            }
            Does::Target => reading.target = Some(value.clone()),
            Does::AtFile => {
                self.take(value);
                self.at_file(value, "@");
            }
            Does::Encoded => {
                self.take(value);
                self.encoded(value);
            }
            Does::FormFile => {
                self.take(value);
                self.form_file(value);
            }
            Does::Host => self.host(value),
            Does::Setting
            | Does::WriteOut
            | Does::Define
            | Does::Pass
            | Does::Network
            | Does::Query
            | Does::Format => {
                self.judged_value(does, name, value);
            }
            Does::Mount => self.mount(value),
            Does::Output => self.output(value),
        }
    }

    fn operands(&mut self, reading: &Reading<'a>, operands: Operands, args: &[Arg<'a>]) {
        let words: Vec<&'a Word> = args.iter().filter_map(Arg::operand).collect();
        match operands {
            Operands::Nothing => {}
            Operands::Each(operation, purpose) => self.each(reading, &words, operation, purpose),
            Operands::AfterFirst(operation, purpose) => {
                let skip = usize::from(!reading.has_first);
                words.iter().take(skip).for_each(|word| self.take(word));
                self.each(reading, words.get(skip..).unwrap_or_default(), operation, purpose);
            }
            Operands::Last(from, to) => self.last(reading, &words, from, to),
            Operands::Command(skip) => self.start(words.get(usize::from(skip)..).unwrap_or_default()),
            Operands::Environment => self.environment(reading, &words),
            Operands::Elsewhere(skip) => {
                self.start(words.get(usize::from(skip)..).unwrap_or_default());
                self.elsewhere_last();
            }
            Operands::Line(skip) => self.joined(words.get(usize::from(skip)..).unwrap_or_default()),
            Operands::Script => self.script(reading, &words, Input::Code),
            Operands::ShellScript => self.script(reading, &words, Input::Commands),
            Operands::Hosts => words.iter().for_each(|word| self.host(word)),
            Operands::Own(own) => own.read(self, args),
        }
    }

    fn each(&mut self, reading: &Reading<'a>, words: &[&'a Word], operation: Operation, purpose: Purpose) {
        let operation = if reading.in_place { Operation::Edit } else { operation };
        for word in words {
            self.path(Cow::Borrowed(word), operation, purpose);
        }
    }

    /// `cp a b`, `mv a b folder`, `ln -s a`, `cp -t folder a`.
    fn last(&mut self, reading: &Reading<'a>, words: &[&'a Word], from: Operation, to: Operation) {
        let (sources, target) = match (&reading.target, words.split_last()) {
            (Some(target), _) => (words, target.clone()),
            (None, Some((last, sources))) if !sources.is_empty() => (sources, Cow::Borrowed(*last)),
            (None, _) => {
                let here = words.first().map(|word| literal(".", word));
                let Some(here) = here else { return };
                (words, Cow::Owned(here))
            }
        };
        for source in sources {
            self.path(Cow::Borrowed(source), from, Purpose::Command);
        }
        let folder = reading.target.is_some() || sources.len() > 1 || is_folder(&target);
        if folder {
            for source in sources {
                if let Some(inside) = copy_destination(&target, source) {
                    self.renamed.push((Cow::Borrowed(source), Cow::Owned(inside.clone())));
                    self.path(Cow::Owned(inside), to, Purpose::Command);
                }
            }
        }
        for source in sources {
            self.renamed.push((Cow::Borrowed(source), target.clone()));
            // Where the target is a folder that is there, the name is kept below it.
            if !folder && let Some(inside) = copy_destination(&target, source) {
                self.renamed.push((Cow::Borrowed(source), Cow::Owned(inside)));
            }
        }
        self.path(target, to, Purpose::Command);
    }

    /// `NAME=value… command…`.
    fn environment(&mut self, reading: &Reading<'a>, words: &[&'a Word]) {
        if let Some(split) = &reading.split {
            // Its escapes are not those of a shell.
            self.told_code = true;
            let all: Vec<&Word> = std::iter::once(split.as_ref()).chain(words.iter().copied()).collect();
            return self.joined(&all);
        }
        // Whatever holds `=` is put into the environment, whether a shell would call it a name or not.
        let assigned = words.iter().take_while(|word| known_start(word).contains('=')).count();
        let (assignments, command) = words.split_at(assigned.min(words.len()));
        for word in assignments {
            self.take(word);
        }
        self.bars.extend(assignments.iter().filter_map(|word| environment::of_word(word)));
        self.start(command);
    }

    /// A program with its arguments is started.
    pub(crate) fn start(&mut self, words: &[&Word]) {
        if !words.is_empty() {
            for word in words {
                self.take(word);
            }
            let words = words.iter().map(|word| (*word).clone()).collect();
            self.inner.push(Inner { words: InnerWords::Words(words), open_ended: false, elsewhere: false });
        }
    }

    /// What was started last gets more arguments, which are not known here.
    pub(crate) fn open_last(&mut self) {
        if let Some(inner) = self.inner.last_mut() {
            inner.open_ended = true;
        }
    }

    /// What was started last runs where its paths are not ours.
    pub(crate) fn elsewhere_last(&mut self) {
        if let Some(inner) = self.inner.last_mut() {
            inner.elsewhere = true;
        }
    }

    /// Words that are joined by blanks and read by a shell.
    pub(crate) fn joined(&mut self, words: &[&Word]) {
        let Some(first) = words.first() else { return };
        let mut text = String::new();
        for word in words {
            self.take(word);
        }
        for word in words {
            let Some(known) = word.as_static() else {
                self.inner.push(Inner::unknown());
                return;
            };
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(known);
        }
        self.line(Cow::Owned(literal(&text, first)));
    }

    /// A command line for a shell.
    pub(crate) fn line(&mut self, line: Cow<'a, Word>) {
        self.take(&line);
        self.inner.push(Inner { words: InnerWords::Line(line), open_ended: false, elsewhere: false });
    }

    /// A script of an interpreter: what it does stands elsewhere, so its place must be what it says.
    fn script(&mut self, reading: &Reading<'a>, words: &[&'a Word], input: Input) {
        if reading.in_place {
            let skip = usize::from(!reading.has_first);
            self.each(reading, words.get(skip..).unwrap_or_default(), Operation::Edit, Purpose::Command);
        }
        if let Some(module) = &reading.module {
            // `python3 -m pytest x` is `pytest x`, where a program of that name is known.
            return self.module(module, words);
        }
        // `fish -C line -c line` has both.
        if reading.has_first && !reading.first_is_line {
            return;
        }
        let Some(script) = words.first().filter(|script| reading.first_is_line || !is_input(script)) else {
            self.input = input;
            return;
        };
        if reading.first_is_line {
            // Options may stand between `-c` and its line: what looks like an argument of it may be it.
            let others = words.iter().skip(1).take(MOST_LINES_OF_SHELL);
            self.run_values.extend(others.map(|word| Cow::Borrowed(*word)));
            self.told_code |= kind(self.name) == Some(ProgramKind::ForeignShell);
            return self.line(Cow::Borrowed(*script));
        }
        if script.parts.iter().any(|part| matches!(part, Part::Process)) {
            self.inner.push(Inner::unknown());
        }
        self.path(Cow::Borrowed(*script), Operation::Read, Purpose::Command);
        if climbs(script) {
            let why =
                format!("`..` in the script of `{}` leads to another one than the rule names", self.name);
            self.bars.push(NotAllowlistable::new("dot-dot", why));
        }
    }

    /// A module that is run in place of a script, with its arguments.
    fn module(&mut self, module: &Word, args: &[&'a Word]) {
        let Some(name) = module.as_static() else { return self.inner.push(Inner::unknown()) };
        let name = name.strip_suffix(".__main__").unwrap_or(name);
        let program = literal(name, module);
        let words: Vec<&Word> = std::iter::once(&program).chain(args.iter().copied()).collect();
        self.start(&words);
    }

    pub(crate) fn path(&mut self, word: Cow<'a, Word>, operation: Operation, purpose: Purpose) {
        if word.as_static() == Some("-") {
            return;
        }
        if !operation.writes() && known_start(&word).contains("://") {
            return self.host(&word);
        }
        if self.open_ended && known_start(&word).contains("{}") {
            if operation.writes() {
                self.unknown_operand();
            }
            return;
        }
        self.paths.push(Touched { word, operation, purpose, visible: false, tracked: false });
    }

    /// A place that is searched. `visible`: names that start with a dot are passed over.
    pub(crate) fn search(&mut self, word: Cow<'a, Word>, visible: bool) {
        let before = self.paths.len();
        self.path(word, Operation::Search, Purpose::Command);
        self.paths.iter_mut().skip(before).for_each(|touched| touched.visible = visible);
    }

    /// A word by which git reads files, or their content in a commit.
    pub(crate) fn tracked(&mut self, word: Cow<'a, Word>) {
        let before = self.paths.len();
        self.path(word, Operation::Search, Purpose::Command);
        self.paths.iter_mut().skip(before).for_each(|touched| touched.tracked = true);
    }

    /// The folder that it works in.
    pub(crate) fn here_by(&mut self, operation: Operation, visible: bool) {
        let here = Word { parts: vec![Part::Literal(".".to_owned())], ..Word::default() };
        self.path(Cow::Owned(here), operation, Purpose::Command);
        self.paths.iter_mut().last().into_iter().for_each(|touched| touched.visible = visible);
    }

    /// A file of this name in the person's home is changed.
    pub(crate) fn at_home(&mut self, name: &str) {
        let parts = vec![Part::Tilde(String::new()), Part::Literal(format!("/{name}"))];
        let word = Word { parts, span: 0..0, quoted: false };
        self.path(Cow::Owned(word), Operation::Write, Purpose::Command);
    }

    /// What it writes stands in no word.
    pub(crate) fn unknown_operand(&mut self) {
        if self.bars.iter().all(|bar| bar.id != "unknown-file") {
            let why = format!("what `{}` writes is known only by running", self.name);
            self.bars.push(NotAllowlistable::new("unknown-file", why));
        }
    }

    /// What it reads stands in no word.
    pub(crate) fn unknown_read(&mut self) {
        let why = format!("what `{}` reads is known only by running", self.name);
        self.bars.push(NotAllowlistable::new("unknown-file", why));
    }

    /// A path in the middle of a static word.
    pub(crate) fn path_text(&mut self, text: &str, like: &Word, operation: Operation, purpose: Purpose) {
        self.path(Cow::Owned(literal(text, like)), operation, purpose);
    }

    fn folder_of(&mut self, file: &Word) {
        if is_input(file) {
            return self.script_bar("comes from its input and is known only by running");
        }
        // `--format json` names no file.
        if file.as_static().is_none_or(|text| text.contains(['/', '.'])) {
            self.path(Cow::Owned(file.clone()), Operation::Read, Purpose::Command);
        }
        match file.as_static().map(|text| text.rsplit_once('/')) {
            Some(Some((folder, _))) => {
                let folder = if folder.is_empty() { "/" } else { folder };
                self.sources.push(Cow::Owned(literal(folder, file)));
            }
            Some(None) => {}
            None => self.sources.push(Cow::Owned(file.clone())),
        }
    }

    /// `@file` or plain data.
    fn at_file(&mut self, value: &Word, mark: &str) {
        if known_start(value).starts_with(mark) {
            self.path(Cow::Owned(strip_start(value, mark.len())), Operation::Read, Purpose::Command);
        }
    }

    /// `@file`, `name@file`; with `=` in front of it data.
    fn encoded(&mut self, value: &Word) {
        let start = known_start(value);
        if let Some((name, _)) = start.split_once('@').filter(|(name, _)| !name.contains('=')) {
            self.path(Cow::Owned(strip_start(value, name.len() + 1)), Operation::Read, Purpose::Command);
        }
    }

    /// `name=@file;type=x`, `name=<file`.
    fn form_file(&mut self, value: &Word) {
        let start = known_start(value);
        let Some((name, content)) = start.split_once('=') else { return };
        if content.starts_with(['@', '<']) {
            let file = strip_start(value, name.len() + 2);
            match file.as_static().and_then(|text| text.split_once(';')) {
                Some((path, _)) => self.path_text(path, value, Operation::Read, Purpose::Command),
                None => self.path(Cow::Owned(file), Operation::Read, Purpose::Command),
            }
        }
    }

    pub(crate) fn host(&mut self, word: &Word) {
        self.take(word);
        let start = known_start(word);
        // A host that ends before the part that is not known is known.
        let whole = word.as_static().is_some()
            || start.split_once("://").is_some_and(|(_, rest)| rest.contains(['/', '?', '#']));
        let host = whole.then(|| super::super::host::of_address(start)).flatten();
        self.hosts.push(HostClaim::of_command(host));
    }

    /// A file with a name of its own is written to the folder that it works in.
    pub(crate) fn write_in_folder(&mut self, purpose: Purpose) {
        let here = Word { parts: vec![Part::Literal(".".to_owned())], ..Word::default() };
        self.path(Cow::Owned(here), Operation::Write, purpose);
    }

    /// Values that matter only when they say certain things.
    fn judged_value(&mut self, does: Does, option: &str, value: &Word) {
        let matters = match does {
            Does::Setting => match setting::classify(value) {
                Setting::Harmless => return self.take(value),
                Setting::Runs(line) => {
                    self.line(Cow::Owned(literal(line, value)));
                    true
                }
                Setting::Unknown => true,
            },
            Does::WriteOut => {
                value.as_static().is_none_or(|text| text.contains("%output") || text.starts_with('@'))
            }
            Does::Format => value.as_static().is_none_or(|text| text.contains('/') || text.contains(".lua")),
            Does::Define => setting::defines_program(value),
            Does::Pass => setting::passes_program(value),
            Does::Network => value.as_static().is_none_or(|text| text == "host" || text.contains(':')),
            Does::Query => return self.query(value),
            _ => false,
        };
        if matters {
            self.option_bar("option", option, "sets what may name a program, a file or another way");
        }
    }

    /// A query that goes beyond the database.
    pub(crate) fn query(&mut self, query: &Word) {
        self.take(query);
        match query.as_static() {
            None => self.script_bar("is known only by running"),
            Some(text) if setting::query_goes_beyond(text) => {
                self.script_bar("runs programs or touches files");
            }
            Some(_) => {}
        }
    }

    /// `source:target[:options]`, `type=bind,source=…,target=…`: a place of this machine, or the name of a volume.
    fn mount(&mut self, value: &Word) {
        self.take(value);
        let text = value.literal_prefix();
        let source = text
            .split(',')
            .find_map(|pair| pair.strip_prefix("source=").or_else(|| pair.strip_prefix("src=")));
        if let Some(source) = source {
            return self.path_text(source, value, Operation::Write, Purpose::Command);
        }
        if text.contains("type=") {
            return;
        }
        // Up to the first colon, wherever the known text ends.
        let mut parts = Vec::new();
        for part in &value.parts {
            if let Part::Literal(text) = part
                && let Some((front, _)) = text.split_once(':')
            {
                if !front.is_empty() {
                    parts.push(Part::Literal(front.to_owned()));
                }
                break;
            }
            parts.push(part.clone());
        }
        let source = Word { parts, span: value.span.clone(), quoted: value.quoted };
        if source.as_static().is_some_and(|name| !name.contains('/') && !name.starts_with(['.', '~'])) {
            return;
        }
        self.path(Cow::Owned(source), Operation::Write, Purpose::Command);
    }

    /// `folder`, `type=local,dest=folder`, `-`.
    fn output(&mut self, value: &Word) {
        self.take(value);
        let text = value.literal_prefix();
        match text.split(',').find_map(|pair| pair.strip_prefix("dest=")) {
            Some(folder) => self.path_text(folder, value, Operation::Write, Purpose::Aside),
            None if text.contains('=') => {}
            None => self.path(Cow::Owned(value.clone()), Operation::Write, Purpose::Aside),
        }
    }

    /// No rule allows this subcommand, but for one that names it.
    pub(crate) fn subcommand_bar(&mut self, why: &str) {
        match self.command {
            Some(command) => self.option_bar("option", command, why),
            None => self.program_bar(None, why),
        }
    }

    /// No rule allows this program, but for one that says what with.
    pub(crate) fn program_bar(&mut self, what: Option<&Word>, why: &str) {
        self.named_bar(what.and_then(Word::as_static), why);
    }

    /// The same by the text of what has to be said.
    pub(crate) fn named_bar(&mut self, what: Option<&str>, why: &str) {
        let lifted_by = what.map(str::to_owned);
        self.bars.push(NotAllowlistable {
            lifted_by,
            ..NotAllowlistable::new("program", format!("`{}` {why}", self.name))
        });
    }

    /// A script that runs programs or touches files, whatever the rule on its program says.
    pub(crate) fn script_bar(&mut self, why: &str) {
        self.told_code = true;
        self.bars.push(NotAllowlistable::new("script", format!("the script of `{}` {why}", self.name)));
    }

    /// Code in the program's own language, which only a rule that names the option allows.
    pub(crate) fn code_bar(&mut self, option: &str, why: &str) {
        self.told_code = true;
        self.option_bar("inline-code", option, why);
    }

    /// No rule allows this, but for one that names the option.
    pub(crate) fn option_bar(&mut self, id: &'static str, option: &str, why: &str) {
        let why = format!("`{option}` of `{}` {why}", self.name);
        self.bars
            .push(NotAllowlistable { lifted_by: Some(option.to_owned()), ..NotAllowlistable::new(id, why) });
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

/// What options say about the operands.
#[derive(Default)]
struct Reading<'a> {
    in_place: bool,
    has_first: bool,
    first_is_line: bool,
    split: Option<Cow<'a, Word>>,
    target: Option<Cow<'a, Word>>,
    module: Option<Cow<'a, Word>>,
}

impl Inner<'_> {
    pub(crate) fn unknown() -> Self {
        Self { words: InnerWords::Unknown, open_ended: false, elsewhere: false }
    }
}

impl Program {
    /// Returns whether it has options that a rule on its name does not mean.
    fn has_dangers(&self) -> bool {
        self.style != Style::Plain
            && self.options().iter().any(|options| {
                matches!(options.does, Does::Bars(_) | Does::Line | Does::Code | Does::InPlace)
                    || matches!(options.does, Does::Path(operation, _) if operation.writes())
            })
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

/// Returns whether a word names a folder by its looks.
fn is_folder(word: &Word) -> bool {
    let by_name =
        |text: &str| text.ends_with('/') || matches!(text.rsplit('/').next(), Some("." | ".." | "~"));
    match word.as_static() {
        Some(text) => by_name(text),
        None => match word.parts.as_slice() {
            [Part::Tilde(_)] => true,
            [.., Part::Literal(text)] => text.ends_with('/'),
            _ => false,
        },
    }
}

/// What a copy of `source` is called in the folder `target`.
fn copy_destination(target: &Word, source: &Word) -> Option<Word> {
    let name = match source.parts.last()? {
        Part::Literal(text) => text.trim_end_matches('/').rsplit('/').next()?,
        _ => return None,
    };
    if name.is_empty() || matches!(name, "." | "..") {
        return None;
    }
    let mut parts = target.parts.clone();
    match parts.last_mut() {
        Some(Part::Literal(text)) => {
            if !text.ends_with('/') {
                text.push('/');
            }
            text.push_str(name);
        }
        _ => parts.push(Part::Literal(format!("/{name}"))),
    }
    Some(Word { parts, span: source.span.clone(), quoted: target.quoted })
}

/// Returns whether a script's name stands for standard input.
fn is_input(script: &Word) -> bool {
    matches!(script.as_static(), Some("-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0"))
}

/// Returns whether there is a `..` among the components.
pub(crate) fn climbs(word: &Word) -> bool {
    word.parts.iter().any(|part| match part {
        Part::Literal(text) => text.split('/').any(|name| name == ".."),
        _ => false,
    })
}

//! From a script to what its commands would do.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use pinfold_shell::{Part, Script, SimpleCommand, Word};

use super::invocation::{Invocation, LaunchingProgram};
use super::named::{self, NamedPlace};
use super::program::{self, InvocationEffects, StandardInput, StartedWords};
use super::state::{EnteredFolders, Shells};
use super::value::Values;
use super::working_directory::{BaseDirectory, WorkingDirectory};
use super::{
    CommandClaim, CommandEffects, InnerLine, NotAllowlistable, PathText, SafeguardHit, Unknown, WorkDirUse,
    WorkFolder, builtin, environment, hidden, is_system_path, links, opaque, words, wrapper,
};
use crate::pieces::climbs;
use crate::read_only::{self, ReadsIn};
use crate::safeguard;
use crate::{Operation, Origin, PathClaim};

/// Deepest nesting of launchers, and of scripts in scripts. Nothing deeper is written by hand.
const DEEPEST: usize = 8;
/// Most readings of one command.
const MAX_READINGS: usize = 64;

/// Analyzes a line of the call.
pub(super) fn analyze(text: &str, script: &Script) -> CommandEffects {
    let here = ScriptContext {
        folders: vec![WorkingDirectory::new(BaseDirectory::Call)],
        through: Vec::new(),
        depth: 0,
        elsewhere: false,
    };
    analyze_script(text, script, &here)
}

/// Context in which a script is read.
struct ScriptContext {
    /// The folders that it may start in.
    folders: Vec<WorkingDirectory>,
    /// Programs that start the shell that reads it, outermost first.
    through: Vec<LaunchingProgram>,
    /// Number of programs around it.
    depth: usize,
    /// Runs where its paths are not ours.
    elsewhere: bool,
}

/// Analyzes `script`, read from `text`.
fn analyze_script(text: &str, script: &Script, surroundings: &ScriptContext) -> CommandEffects {
    let mut out = CommandEffects::default();
    out.commands.reserve_exact(script.commands.len());
    out.not_allowlistable.extend(script.opaque.iter().map(opaque::exclusion));
    out.not_allowlistable.extend(loose(script));
    let values = Values::new(script);
    let mut shells = Shells::new(script, surroundings.folders.clone(), &values);
    for (at, command) in script.commands.iter().enumerate() {
        let found = shells.enter(script, at, command, &values);
        let mut analyzer = CommandAnalyzer::new(&mut out, at, script, &values);
        analyzer.analyze_command(command, &found, surroundings);
        let claim = analyzer.finish(command, found);
        out.commands.push(claim);
    }
    links::follow(&mut out);
    out.safeguards = safeguard::of_line(text, script, &values, &out);
    out
}

/// Reasons outside every command: loops that set variables that matter, tests that evaluate.
fn loose(script: &Script) -> impl Iterator<Item = NotAllowlistable> {
    let set = script.loops.iter().filter(|name| environment::matters(&name.name)).map(|assignment| {
        NotAllowlistable::new(
            "env-assignment",
            format!("a loop sets `{}`, which changes what runs", assignment.name),
        )
    });
    let counted = script.numbers.iter().filter(|name| environment::matters(name)).map(|name| {
        NotAllowlistable::new("env-assignment", format!("arithmetic sets `{name}`, which changes what runs"))
    });
    let evaluated = script.loose.iter().filter(|word| builtin::holds_code(word)).map(|_| {
        NotAllowlistable::new("evaluated-later", "a substitution in the text of a condition may be run by it")
    });
    set.chain(counted).chain(evaluated)
}

/// One command of the line, with all that it starts.
pub(super) struct CommandAnalyzer<'o, 's> {
    pub(super) out: &'o mut CommandEffects,
    pub(super) at: usize,
    script: &'s Script,
    pub(super) values: &'s Values<'s>,
    readings: Vec<Invocation>,
    /// Which reading allow rules look at.
    allowable: usize,
    pub(super) not_allowlistable: Vec<NotAllowlistable>,
    safeguards: Vec<SafeguardHit>,
    pub(super) work_dirs: Vec<WorkFolder>,
    /// Folders that one of its readings may run in.
    exec_dirs: Vec<PathText>,
    /// One of its readings may run in a folder that is not known.
    runs_anywhere: bool,
    pub(super) start_dir_use: WorkDirUse,
    named: Vec<NamedPlace>,
    /// Patterns of files that git reads.
    pub(super) patterns: Vec<NamedPlace>,
    /// A word that is known only at run time may name any file.
    pub(super) may_name_any_file: bool,
    /// The text of programs that are not known, or of code, which may start others.
    pub(super) unanalyzed: Vec<String>,
    writes_by_redirect: bool,
    pub(super) inner_lines: Vec<InnerLine>,
    unknown: Vec<Unknown>,
    /// The folders in which what allow rules look at only reads. `None`: it does more.
    read_dirs: Option<ReadsIn>,
}

/// An invocation that waits to be read.
struct PendingInvocation<'f> {
    invocation: Invocation,
    folders: Cow<'f, EnteredFolders>,
    depth: usize,
    /// Only wrappers that change nothing stand in front of it.
    surface: bool,
    /// Runs where its paths are not ours.
    elsewhere: bool,
}

impl<'o, 's> CommandAnalyzer<'o, 's> {
    fn new(out: &'o mut CommandEffects, at: usize, script: &'s Script, values: &'s Values<'s>) -> Self {
        Self {
            out,
            at,
            script,
            values,
            readings: Vec::with_capacity(1),
            allowable: 0,
            not_allowlistable: Vec::new(),
            safeguards: Vec::new(),
            work_dirs: Vec::new(),
            exec_dirs: Vec::new(),
            runs_anywhere: false,
            start_dir_use: WorkDirUse::Nothing,
            named: Vec::new(),
            patterns: Vec::new(),
            may_name_any_file: false,
            unanalyzed: Vec::new(),
            writes_by_redirect: false,
            inner_lines: Vec::new(),
            unknown: Vec::new(),
            read_dirs: None,
        }
    }

    fn exclude(&mut self, reason: NotAllowlistable) {
        if !self
            .not_allowlistable
            .iter()
            .any(|there| there.id == reason.id && there.lifted_by == reason.lifted_by)
        {
            self.not_allowlistable.push(reason);
        }
    }

    pub(super) fn unknown(&mut self, what: Unknown) {
        if !self.unknown.contains(&what) {
            self.unknown.push(what);
        }
    }

    fn finish(mut self, command: &SimpleCommand, found: EnteredFolders) -> CommandClaim {
        let written = self.readings.first();
        let inert = self.not_allowlistable.is_empty()
            && !self.writes_by_redirect
            && written.is_none_or(|reading| reading.words.is_empty() || builtin::is_inert(reading));
        for stand in &found.folders {
            for hit in safeguard::of_command(command, &self.readings, stand.now.folder()) {
                add_safeguard(&mut self.safeguards, hit);
            }
        }
        let read_dirs = self.read_dirs.filter(|_| self.not_allowlistable.is_empty());
        let read_dirs = read_dirs.and_then(|read_dirs| folders_read_in(&read_dirs, &found));
        let read_only = read_dirs.as_ref().is_some_and(Vec::is_empty);
        // What only reads was looked through word by word, and claims what it reads.
        let mut named = if read_only { Vec::new() } else { self.named };
        named.extend(self.patterns);
        CommandClaim {
            span: command.span.clone(),
            readings: self.readings,
            allowable: self.allowable,
            not_allowlistable: self.not_allowlistable,
            safeguards: self.safeguards,
            read_only,
            read_dirs: read_dirs.unwrap_or_default(),
            inert,
            work_dirs: self.work_dirs,
            exec_dirs: self.exec_dirs,
            runs_anywhere: self.runs_anywhere,
            start_dir_use: self.start_dir_use,
            named,
            may_name_any_file: self.may_name_any_file,
            unanalyzed: self.unanalyzed,
            inner_lines: self.inner_lines,
            unknown: self.unknown,
            folders: found.into(),
        }
    }

    /// The invocation with the values that the line gives its variables. Other words stay as they are, and most lines give none.
    fn filled<'i>(&self, invocation: &'i Invocation) -> Cow<'i, Invocation> {
        if invocation.words.iter().all(|word| word.as_static().is_some()) {
            return Cow::Borrowed(invocation);
        }
        // Without quotes a value falls into words, which stays something to ask about.
        let splits =
            |word: &Word| word.parts.iter().any(|part| matches!(part, Part::Parameter { quoted: false, .. }));
        let mut words = Vec::with_capacity(invocation.words.len());
        for word in invocation.words.iter() {
            match self.values.fill(word, self.at) {
                Some(Cow::Owned(filled)) if !splits(word) => words.extend(filled),
                Some(_) | None => words.push(word.clone()),
            }
        }
        Cow::Owned(Invocation::new(words, invocation.through.clone(), invocation.open_ended))
    }

    /// Returns the folders in which an invocation only reads. `None`: it does more.
    fn read_dirs(
        &self,
        command: &SimpleCommand,
        invocation: &Invocation,
        effects: &InvocationEffects<'_>,
    ) -> Option<ReadsIn> {
        match self.filled(invocation) {
            Cow::Borrowed(_) => read_only::read_dirs(command, invocation, effects.scanned.as_ref()),
            Cow::Owned(filled) => read_only::read_dirs(command, &filled, None),
        }
    }

    /// The command as it is written, and everything that it starts.
    fn analyze_command(
        &mut self,
        command: &SimpleCommand,
        found: &EnteredFolders,
        surroundings: &ScriptContext,
    ) {
        self.analyze_assignments_and_redirects(command, found, surroundings.elsewhere);
        let words = self.substitute_pwd(words::expand(&command.words));
        let invocation = Invocation { words, through: surroundings.through.clone(), open_ended: false };
        let mut next = Some(PendingInvocation {
            invocation,
            folders: Cow::Borrowed(found),
            depth: surroundings.depth,
            surface: surroundings.depth == 0,
            elsewhere: surroundings.elsewhere,
        });
        let mut waiting = VecDeque::new();
        while let Some(this) = next {
            if self.readings.len() >= MAX_READINGS || this.depth > DEEPEST {
                self.exclude_once(
                    "launcher",
                    "it starts more programs, one by another, than are looked through",
                );
                self.unknown(Unknown::TooMuch);
                self.readings.push(this.invocation);
                return;
            }
            self.analyze_invocation(this, command, &mut waiting);
            next = waiting.pop_front();
        }
    }

    /// The words with `$(pwd)` put as `$PWD`, which is the folder that is known.
    fn substitute_pwd(&self, mut words: Arc<Vec<Word>>) -> Arc<Vec<Word>> {
        if !words.iter().any(|word| self.values.prints_folder(word)) {
            return words;
        }
        for word in Arc::make_mut(&mut words) {
            if self.values.prints_folder(word) {
                for part in &mut word.parts {
                    if let Part::Substitution { quoted } = *part {
                        *part = Part::Parameter { name: "PWD".to_owned(), quoted, plain: true };
                    }
                }
            }
        }
        words
    }

    /// Its assignments and redirects.
    fn analyze_assignments_and_redirects(
        &mut self,
        command: &SimpleCommand,
        found: &EnteredFolders,
        elsewhere: bool,
    ) {
        self.not_allowlistable.extend(builtin::planted(command));
        let alone = command.words.is_empty();
        let counted = command.assignments.iter().filter(|one| !alone || environment::matters(&one.name));
        self.not_allowlistable.extend(counted.filter_map(environment::of_assignment));
        if !elsewhere {
            for redirect in &command.redirects {
                self.writes_by_redirect |= self.redirect(redirect, found);
            }
        }
    }

    pub(super) fn exclude_once(&mut self, id: &'static str, why: &str) {
        if !self.not_allowlistable.iter().any(|reason| reason.id == id) {
            self.not_allowlistable.push(NotAllowlistable::new(id, why));
        }
    }

    fn analyze_invocation<'f>(
        &mut self,
        next: PendingInvocation<'f>,
        command: &SimpleCommand,
        waiting: &mut VecDeque<PendingInvocation<'f>>,
    ) {
        let PendingInvocation { invocation, folders, depth, surface, elsewhere } = next;
        self.program_word(&invocation, surface);
        let mut effects = InvocationEffects::from_invocation(&invocation);
        let found = Self::moved(&effects, folders);
        self.runs_anywhere |= elsewhere;
        if surface || !elsewhere {
            let not_allowlistable =
                effects.not_allowlistable.drain(..).chain(builtin::not_allowlistable(&invocation));
            not_allowlistable.for_each(|reason| self.exclude(reason));
            if effects.hidden.iter().any(|word| self.values.may_be_option(word)) {
                self.exclude_once(
                    "hidden-option",
                    "an argument that is known only at run time may be an option",
                );
            }
        }
        if !elsewhere {
            self.add_places(&invocation, &mut effects, command, &found);
        }
        if invocation.open_ended && effects.may_touch() {
            self.may_name_any_file = true;
        }
        if self.is_unanalyzed(&invocation, &effects) {
            self.unanalyzed(&invocation, &effects, command);
        }
        let copied = effects.renamed.iter().filter_map(|(source, _)| source.as_static());
        self.unanalyzed.extend(copied.filter(|source| is_system_path(source)).map(str::to_owned));
        let stripped = surface && wrapper::strips(&invocation, &effects);
        if surface && !stripped && wrapper::is_wrapper(&invocation, &effects) && !effects.started.is_empty() {
            self.exclude_once(
                "wrapper",
                "the wrapper is not called in a way that is known to change nothing",
            );
        }
        match effects.input {
            StandardInput::Data => {}
            StandardInput::Code => self.code_input(command, effects.name),
            StandardInput::Script | StandardInput::Queries => self.script_input(command, &effects),
            StandardInput::Commands if elsewhere => {}
            StandardInput::Commands => self.standard_input(command, &mut effects),
        }
        if (surface || self.readings.is_empty()) && self.not_allowlistable.is_empty() {
            self.read_dirs = self.read_dirs(command, &invocation, &effects);
        }
        if effects.told_code {
            self.unknown(Unknown::Code(effects.name.to_owned()));
        }
        for value in &effects.run_values {
            match value.as_static() {
                Some(text) => self.aside(text, &found, depth + 1),
                None => self.unknown(Unknown::Started(effects.name.to_owned())),
            }
        }
        let mut lines = Vec::new();
        for inner in effects.started {
            // What a search finds lies below the folders that it is told.
            if inner.open_ended && !invocation.open_ended && !program::is_search(effects.name) {
                self.unknown(Unknown::Arguments(effects.name.to_owned()));
            }
            let mut through = invocation.through.clone();
            through.push(LaunchingProgram { name: effects.name.to_owned() });
            let elsewhere = elsewhere || inner.elsewhere;
            match inner.words {
                StartedWords::Unknown => self.launches_unknown(effects.name),
                StartedWords::Words(words) => {
                    // `npx 'cat x'`: some launchers hand their words to a shell.
                    let program = words.first().and_then(Word::as_static);
                    if let Some(line) = program.filter(|text| text.contains(char::is_whitespace)) {
                        self.aside(line, &found, depth + 1);
                    }
                    waiting.push_back(PendingInvocation {
                        invocation: Invocation::new(words, through, inner.open_ended),
                        folders: found.clone(),
                        depth: depth + 1,
                        surface: stripped,
                        elsewhere,
                    });
                }
                StartedWords::CommandLine(line) => {
                    if inner.open_ended || line.as_static().is_none() {
                        self.launches_unknown(effects.name);
                    }
                    lines.extend(line.as_static().map(|text| (text.to_owned(), elsewhere, through)));
                }
            }
        }
        if surface {
            self.allowable = self.readings.len();
        }
        self.readings.push(invocation);
        for (text, elsewhere, through) in lines {
            self.script(&text, &found, depth + 1, elsewhere, through);
        }
    }

    fn add_folders(&mut self, folders: impl IntoIterator<Item = PathText>) {
        for folder in folders {
            if !self.exec_dirs.contains(&folder) {
                self.exec_dirs.push(folder);
            }
        }
    }

    /// Adds the files, folders and hosts that an invocation touches here, and what it may touch unnamed.
    fn add_places(
        &mut self,
        invocation: &Invocation,
        effects: &mut InvocationEffects<'_>,
        command: &SimpleCommand,
        found: &EnteredFolders,
    ) {
        if let Some(skips_hidden) = effects.default_search
            && command.place.piped_from.is_none()
        {
            effects.touch_folder(Operation::Search, skips_hidden);
        }
        for touched in &effects.paths {
            self.touched(touched, found);
        }
        self.may_name_any_file |= effects.reads_unnamed;
        self.runs_anywhere |= found.folders.iter().any(|stand| stand.now.is_unknown());
        self.add_folders(found.folders.iter().filter_map(|stand| stand.now.folder()).map(PathText::new));
        self.work_dirs(invocation, effects, found);
        self.name_unclaimed(invocation, effects, found);
        self.out.hosts.append(&mut effects.hosts);
        self.out.links.extend(links::made_by(invocation, effects, self.at, self.values, found));
    }

    fn name_unclaimed(
        &mut self,
        invocation: &Invocation,
        effects: &InvocationEffects<'_>,
        found: &EnteredFolders,
    ) {
        let unclaimed = named::unclaimed(invocation, effects, self.values, self.at, found);
        self.may_name_any_file |= unclaimed.open;
        if unclaimed.too_many {
            self.exclude_once("outside-place", "it names more places than are looked at");
        }
        self.name(unclaimed.places);
    }

    /// Places that words name beyond the claims, each once.
    fn name(&mut self, places: Vec<NamedPlace>) {
        if self.named.is_empty() {
            self.named = places;
            return;
        }
        for place in places {
            if !self.named.contains(&place) {
                self.named.push(place);
            }
        }
    }

    /// Returns whether a program, or a subcommand of one, is not known. What the line itself defines is listed besides.
    fn is_unanalyzed(&self, invocation: &Invocation, effects: &InvocationEffects<'_>) -> bool {
        let defined =
            || self.script.functions.iter().any(|function| Some(function.as_str()) == invocation.program());
        effects.unanalyzed && !read_only::is_in_catalog(effects.name) && !defined()
    }

    /// A program, or a subcommand of one, that is not known: its words may name another that it starts.
    fn unanalyzed(
        &mut self,
        invocation: &Invocation,
        effects: &InvocationEffects<'_>,
        command: &SimpleCommand,
    ) {
        // `docker rm x`: what a known program is told first is a subcommand of its own.
        let skip = usize::from(effects.kind.is_some());
        let args = invocation.args().get(skip..).unwrap_or_default();
        for hit in hidden::safeguards(args) {
            add_safeguard(&mut self.safeguards, hit);
        }
        self.unanalyzed.push(hidden::text(args, command));
        if let Some(starts) = hidden::may_start(args) {
            self.unknown(Unknown::MayStart { program: effects.name.to_owned(), starts });
        }
    }

    /// A line that another shell reads: each of its commands is a reading of this one.
    fn script(
        &mut self,
        text: &str,
        found: &EnteredFolders,
        depth: usize,
        elsewhere: bool,
        through: Vec<LaunchingProgram>,
    ) {
        if depth > DEEPEST {
            self.unknown(Unknown::TooMuch);
            return self
                .exclude_once("launcher", "it starts more shells, one in another, than are looked through");
        }
        let script = pinfold_shell::parse(text);
        let folders = found.folders.clone();
        let inner = analyze_script(text, &script, &ScriptContext { folders, through, depth, elsewhere });
        self.take_in(inner);
        self.inner_lines.push(InnerLine::new(script, found));
    }

    /// A text that may be run like a line. Its commands are no readings; what they would run is looked at where every word
    /// counts.
    fn aside(&mut self, text: &str, found: &EnteredFolders, depth: usize) {
        if depth > DEEPEST {
            return self.unknown(Unknown::TooMuch);
        }
        let script = pinfold_shell::parse(text);
        let folders = found.folders.clone();
        let surroundings = ScriptContext { folders, through: Vec::new(), depth, elsewhere: false };
        for claim in analyze_script(text, &script, &surroundings).commands {
            self.add_folders(claim.exec_dirs);
            self.runs_anywhere |= claim.runs_anywhere;
            self.inner_lines.extend(claim.inner_lines);
            claim.unknown.into_iter().for_each(|what| self.unknown(what));
        }
        self.inner_lines.push(InnerLine::new(script, found));
    }

    /// Adds the effects of another shell to those of this command.
    fn take_in(&mut self, inner: CommandEffects) {
        inner.not_allowlistable.into_iter().for_each(|reason| self.exclude(reason));
        self.safeguards.extend(inner.safeguards);
        for claim in inner.commands {
            if self.readings.len() + claim.readings.len() > MAX_READINGS {
                self.exclude_once("launcher", "it starts more programs than are looked through");
                self.unknown(Unknown::TooMuch);
            }
            self.readings.extend(claim.readings);
            claim.not_allowlistable.into_iter().for_each(|reason| self.exclude(reason));
            self.work_dirs.extend(claim.work_dirs);
            self.add_folders(claim.exec_dirs);
            self.runs_anywhere |= claim.runs_anywhere;
            self.name(claim.named);
            self.may_name_any_file |= claim.may_name_any_file;
            self.unanalyzed.extend(claim.unanalyzed);
            self.inner_lines.extend(claim.inner_lines);
            claim.unknown.into_iter().for_each(|what| self.unknown(what));
            for hit in claim.safeguards {
                add_safeguard(&mut self.safeguards, hit);
            }
        }
        for path in inner.paths {
            let origin = match path.origin {
                Origin::Aside(_) => Origin::Aside(self.at),
                Origin::Command(_)
                | Origin::Call
                | Origin::Foreign
                | Origin::Supposed(_)
                | Origin::Process => Origin::Command(self.at),
            };
            self.writes_by_redirect |= path.operation.writes();
            self.out.paths.push(PathClaim { origin, ..path });
        }
        self.out.hosts.extend(inner.hosts);
    }

    fn launches_unknown(&mut self, name: &str) {
        self.unknown(Unknown::Started(name.to_owned()));
        self.exclude_once("launcher", &format!("what `{name}` starts is known only at run time"));
    }

    /// The program itself has to be known, and to be where its name says.
    fn program_word(&mut self, invocation: &Invocation, surface: bool) {
        let Some(word) = invocation.words.first() else { return };
        let Some(program) = word.as_static() else {
            self.unknown(Unknown::Program);
            return self.exclude_once("dynamic-program", "which program runs is known only at run time");
        };
        if program.is_empty() {
            self.exclude_once("dynamic-program", "the program has no name");
        }
        if climbs(program) {
            self.exclude_once("dot-dot", "`..` in the program leads to another one than its name says");
        }
        if surface && self.script.functions.iter().any(|function| function == program) {
            self.exclude_once("function", "the command line defines a function of that name");
        }
    }

    /// The folders after those that the program itself moves to.
    fn moved<'f>(
        effects: &InvocationEffects<'_>,
        mut found: Cow<'f, EnteredFolders>,
    ) -> Cow<'f, EnteredFolders> {
        for folder in &effects.folders {
            let found = found.to_mut();
            found.folders = found.folders.iter().flat_map(|stand| stand.change_to(folder)).collect();
        }
        found
    }
}

/// The folders other than that of the call in which what only reads there may work. `None`: where it works is known only at
/// run time.
fn folders_read_in(read_dirs: &ReadsIn, found: &EnteredFolders) -> Option<Vec<PathText>> {
    let ReadsIn::Repository(sent) = read_dirs else { return Some(Vec::new()) };
    let mut stands = found.folders.clone();
    for folder in sent {
        stands = stands.iter().flat_map(|stand| stand.change_to(folder)).collect();
    }
    let mut folders = Vec::new();
    for stand in stands {
        match stand.now {
            BaseDirectory::Call => {}
            BaseDirectory::At(path) => folders.push(PathText::new(path)),
            BaseDirectory::Named(_) | BaseDirectory::Unknown => return None,
        }
    }
    Some(folders)
}

fn add_safeguard(hits: &mut Vec<SafeguardHit>, hit: SafeguardHit) {
    if hits.iter().all(|there| there.id != hit.id) {
        hits.push(hit);
    }
}

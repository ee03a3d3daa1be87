//! From a script to what its commands would do.

use std::borrow::Cow;
use std::collections::VecDeque;

use pinfold_shell::{Part, Redirect, RedirectKind, Script, SimpleCommand, Word};

use super::invocation::{Invocation, Through};
use super::place::{Base, Named};
use super::program::{self, Acts, InnerWords, Input, Purpose, act};
use super::state::{Found, Shells};
use super::value::Values;
use super::{
    Bar, CommandClaim, Commands, FolderUse, SafeguardHit, WorkFolder, builtin, environment, opaque, words,
    wrapper,
};
use crate::claim::{Operation, Origin, PathClaim};
use crate::input::PathText;
use crate::{read_only, safeguard};

/// How deep launchers may stand in each other, and scripts in scripts. Nobody writes more by hand.
const DEEPEST: usize = 8;
/// How many readings one command may have.
const MOST_READINGS: usize = 64;

/// What a line of the call would do.
pub(super) fn understand(text: &str, script: &Script) -> Commands {
    let here = Surroundings { folders: vec![Base::Start], through: Vec::new(), depth: 0, elsewhere: false };
    lower(text, script, &here)
}

/// Where a script is read.
struct Surroundings {
    /// The folders that it may start in.
    folders: Vec<Base>,
    /// What starts the shell that reads it, outermost first.
    through: Vec<Through>,
    /// How many programs stand around it.
    depth: usize,
    /// It runs where its paths are not ours.
    elsewhere: bool,
}

/// What `script`, read from `text`, would do.
fn lower(text: &str, script: &Script, surroundings: &Surroundings) -> Commands {
    let mut out = Commands::default();
    out.commands.reserve(script.commands.len());
    out.bars.extend(script.opaque.iter().map(opaque::bar));
    out.bars.extend(loose(script));
    let mut shells = Shells::new(script, surroundings.folders.clone());
    let values = Values::of(script);
    for (at, command) in script.commands.iter().enumerate() {
        let found = shells.enter(script, at, command);
        let mut lowering = Lowering::new(&mut out, at, script, &values);
        lowering.whole(command, &found, surroundings);
        let claim = lowering.finish(command, &found);
        out.commands.push(claim);
    }
    out.safeguards = safeguard::of_line(text, script, &out);
    out
}

/// What stands in no command: loops that set variables that matter, tests that evaluate.
fn loose(script: &Script) -> impl Iterator<Item = Bar> {
    let set = script.loops.iter().filter(|name| environment::matters(&name.name)).map(|assignment| {
        Bar::new("env-assignment", format!("a loop sets `{}`, which changes what runs", assignment.name))
    });
    let evaluated =
        script.loose.iter().filter(|word| builtin::holds_code(word)).map(|_| {
            Bar::new("evaluated-later", "a substitution in the text of a condition may be run by it")
        });
    set.chain(evaluated)
}

/// One command of the line, with all that it starts.
struct Lowering<'o, 's> {
    out: &'o mut Commands,
    at: usize,
    script: &'s Script,
    values: &'s Values<'s>,
    readings: Vec<Invocation>,
    /// Which reading allow rules look at.
    allowable: usize,
    bars: Vec<Bar>,
    safeguards: Vec<SafeguardHit>,
    works_in: Vec<WorkFolder>,
    writes_by_redirect: bool,
}

/// An invocation that waits to be read.
struct Waiting {
    invocation: Invocation,
    folders: Found,
    depth: usize,
    /// Only wrappers that change nothing stand in front of it.
    surface: bool,
    /// It runs where its paths are not ours.
    elsewhere: bool,
}

impl<'o, 's> Lowering<'o, 's> {
    fn new(out: &'o mut Commands, at: usize, script: &'s Script, values: &'s Values<'s>) -> Self {
        Self {
            out,
            at,
            script,
            values,
            readings: Vec::with_capacity(1),
            allowable: 0,
            bars: Vec::new(),
            safeguards: Vec::new(),
            works_in: Vec::new(),
            writes_by_redirect: false,
        }
    }

    fn bar(&mut self, bar: Bar) {
        if !self.bars.iter().any(|there| there.id == bar.id && there.lifted_by == bar.lifted_by) {
            self.bars.push(bar);
        }
    }

    fn finish(mut self, command: &SimpleCommand, found: &Found) -> CommandClaim {
        let written = self.readings.first();
        let inert = self.bars.is_empty()
            && !self.writes_by_redirect
            && written.is_none_or(|reading| reading.words.is_empty() || builtin::is_inert(reading));
        for base in &found.folders {
            for hit in safeguard::of_command(command, &self.readings, base.folder()) {
                add_safeguard(&mut self.safeguards, hit);
            }
        }
        let moved = found.folders.iter().any(|base| *base != Base::Start);
        let allowable = self.readings.get(self.allowable).cloned().unwrap_or_default();
        let read_only = read_only::is_read_only(command, &allowable, moved);
        CommandClaim {
            span: command.span.clone(),
            allowable,
            readings: self.readings,
            bars: self.bars,
            safeguards: self.safeguards,
            read_only,
            inert,
            works_in: self.works_in,
        }
    }

    /// The command as it is written, and everything that it starts.
    fn whole(&mut self, command: &SimpleCommand, found: &Found, surroundings: &Surroundings) {
        self.around(command, found, surroundings.elsewhere);
        let words = words::expand(&command.words).into_owned();
        let words = self.here(words);
        let invocation = Invocation { words, through: surroundings.through.clone(), open_ended: false };
        let mut next = Some(Waiting {
            invocation,
            folders: found.clone(),
            depth: surroundings.depth,
            surface: surroundings.depth == 0,
            elsewhere: surroundings.elsewhere,
        });
        let mut waiting = VecDeque::new();
        while let Some(this) = next {
            if self.readings.len() >= MOST_READINGS || this.depth > DEEPEST {
                self.bar_once("launcher", "it starts more programs, one by another, than are looked through");
                self.readings.push(this.invocation);
                return;
            }
            self.one(this, command, &mut waiting);
            next = waiting.pop_front();
        }
    }

    /// The words with `$(pwd)` put as `$PWD`, which is the folder that is known.
    fn here(&self, mut words: Vec<Word>) -> Vec<Word> {
        for word in &mut words {
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
    fn around(&mut self, command: &SimpleCommand, found: &Found, elsewhere: bool) {
        self.bars.extend(builtin::planted(command));
        let alone = command.words.is_empty();
        let counted = command.assignments.iter().filter(|one| !alone || environment::matters(&one.name));
        self.bars.extend(counted.filter_map(environment::of_assignment));
        if !elsewhere {
            for redirect in &command.redirects {
                self.redirect(redirect, found);
            }
        }
    }

    fn redirect(&mut self, redirect: &Redirect, found: &Found) {
        let operation = match redirect.kind {
            RedirectKind::Read => Operation::Read,
            RedirectKind::Write | RedirectKind::Append | RedirectKind::ReadWrite => Operation::Write,
            RedirectKind::Duplicate | RedirectKind::HereDocument | RedirectKind::HereString => return,
        };
        if let Some(address) = redirect.target.literal_prefix().strip_prefix("/dev/tcp/") {
            self.socket(address);
        } else if let Some(address) = redirect.target.literal_prefix().strip_prefix("/dev/udp/") {
            self.socket(address);
        } else {
            self.writes_by_redirect |= self.path(&redirect.target, operation, Purpose::Aside, found);
        }
    }

    /// bash itself connects.
    fn socket(&mut self, address: &str) {
        let host = address.split('/').next().unwrap_or_default();
        self.out.hosts.push(super::HostClaim::of_command(super::host::of_address(host)));
        self.bars.push(Bar::new("socket", "the redirect opens a connection, which no pattern can judge"));
    }

    /// Claims a path in each folder that it may be looked for in. True when it is, or may be, a file.
    fn path(&mut self, word: &Word, operation: Operation, purpose: Purpose, found: &Found) -> bool {
        let origin = match purpose {
            Purpose::Command => Origin::Command(self.at),
            Purpose::Aside => Origin::Aside(self.at),
        };
        // Where the line means the file to be is what counts for reading, and for names that climb: those lead
        // nowhere from a folder that is not there.
        let climbs = word.literal_prefix().starts_with("..");
        let many = if operation.writes() && !climbs { found.folders.len() } else { found.meant };
        let mut file = false;
        for base in found.folders.iter().take(many) {
            match base.name(word) {
                Named::NoFile => {}
                Named::Path(path) => {
                    file = true;
                    let path = Some(PathText::new(path));
                    let claim = PathClaim { path, operation, origin };
                    if !self.out.paths.iter().rev().take(MOST_COMPARED).any(|there| *there == claim) {
                        self.out.paths.push(claim);
                    }
                }
                Named::Unknown => {
                    file = true;
                    if operation.writes() {
                        self.unknown_file();
                    } else if place_hides(word) {
                        self.bar_once("unknown-file", "which hidden files it reads is known only by running");
                    }
                }
            }
        }
        file
    }

    fn unknown_file(&mut self) {
        self.bar_once("unknown-file", "what it writes is known only by running");
    }

    fn bar_once(&mut self, id: &'static str, why: &str) {
        if !self.bars.iter().any(|bar| bar.id == id) {
            self.bars.push(Bar::new(id, why));
        }
    }

    fn one(&mut self, next: Waiting, command: &SimpleCommand, waiting: &mut VecDeque<Waiting>) {
        let Waiting { invocation, folders, depth, surface, elsewhere } = next;
        self.program_word(&invocation, surface);
        let mut acts = act(&invocation);
        let found = Self::moved(&acts, folders);
        if surface || !elsewhere {
            let bars = acts.bars.drain(..).chain(builtin::bars(&invocation));
            bars.for_each(|bar| self.bar(bar));
            if acts.hidden.iter().any(|word| self.values.may_be_option(word)) {
                self.bar_once("hidden-option", "an argument that is known only by running may be an option");
            }
        }
        if !elsewhere {
            for touched in &acts.paths {
                self.path(&touched.word, touched.operation, touched.purpose, &found);
            }
            self.works_in(&invocation, &acts, &found);
            self.out.hosts.append(&mut acts.hosts);
        }
        let stripped = surface && wrapper::strips(&invocation, &acts);
        if surface && !stripped && wrapper::is_wrapper(&invocation) && !acts.inner.is_empty() {
            self.bar_once("wrapper", "the wrapper is not called in a way that is known to change nothing");
        }
        match acts.input {
            Input::Data => {}
            Input::Code if command.place.piped_from.is_none() => {}
            Input::Code => self.bar_once("inline-code", "the code that it runs comes from another program"),
            Input::Script | Input::Queries => self.script_input(command, acts.input),
            Input::Commands if elsewhere => {}
            Input::Commands => self.standard_input(command, &mut acts),
        }
        let mut lines = Vec::new();
        for inner in acts.inner {
            let mut through = invocation.through.clone();
            through.push(Through { name: acts.name.to_owned() });
            let elsewhere = elsewhere || inner.elsewhere;
            match inner.words {
                InnerWords::Unknown => self.launches_unknown(acts.name),
                InnerWords::Words(words) => waiting.push_back(Waiting {
                    invocation: Invocation { words, through, open_ended: inner.open_ended },
                    folders: found.clone(),
                    depth: depth + 1,
                    surface: stripped,
                    elsewhere,
                }),
                InnerWords::Line(line) => {
                    if inner.open_ended || line.as_static().is_none() {
                        self.launches_unknown(acts.name);
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

    /// A line that another shell reads: each of its commands is a reading of this one.
    fn script(&mut self, text: &str, found: &Found, depth: usize, elsewhere: bool, through: Vec<Through>) {
        if depth > DEEPEST {
            return self
                .bar_once("launcher", "it starts more shells, one in another, than are looked through");
        }
        let script = pinfold_shell::parse(text);
        let folders = found.folders.clone();
        let inner = lower(text, &script, &Surroundings { folders, through, depth, elsewhere });
        self.take_in(inner);
    }

    /// What another shell would do is what this command does.
    fn take_in(&mut self, inner: Commands) {
        inner.bars.into_iter().for_each(|bar| self.bar(bar));
        self.safeguards.extend(inner.safeguards);
        for claim in inner.commands {
            if self.readings.len() + claim.readings.len() > MOST_READINGS {
                self.bar_once("launcher", "it starts more programs than are looked through");
            }
            self.readings.extend(claim.readings);
            claim.bars.into_iter().for_each(|bar| self.bar(bar));
            self.works_in.extend(claim.works_in);
            for hit in claim.safeguards {
                add_safeguard(&mut self.safeguards, hit);
            }
        }
        for path in inner.paths {
            let origin = match path.origin {
                Origin::Aside(_) => Origin::Aside(self.at),
                Origin::Command(_) | Origin::Call | Origin::Foreign | Origin::Process => {
                    Origin::Command(self.at)
                }
            };
            self.writes_by_redirect |= path.operation.writes();
            self.out.paths.push(PathClaim { origin, ..path });
        }
        self.out.hosts.extend(inner.hosts);
    }

    /// A shell that reads its commands from standard input.
    fn standard_input<'a>(&mut self, command: &'a SimpleCommand, acts: &mut Acts<'a>) {
        let fed = |redirect: &&Redirect| {
            matches!(
                redirect.kind,
                RedirectKind::HereDocument | RedirectKind::HereString | RedirectKind::Read
            )
        };
        let last = command.redirects.iter().rev().find(fed);
        match last.filter(|redirect| redirect.kind != RedirectKind::Read) {
            Some(document) => acts.line(Cow::Borrowed(&document.target)),
            None => {
                self.bar_once("launcher", "what it runs comes from its input and is known only by running");
            }
        }
    }

    /// A program that reads a script of its own language from standard input.
    fn script_input(&mut self, command: &SimpleCommand, input: Input) {
        let why = "what its script does comes from its input, and may run programs or write files";
        let mut fed = command.place.piped_from.is_some();
        for redirect in &command.redirects {
            match redirect.kind {
                RedirectKind::HereDocument | RedirectKind::HereString if input == Input::Queries => {
                    fed |= redirect.target.as_static().is_none_or(program::query_goes_beyond);
                }
                RedirectKind::HereDocument | RedirectKind::HereString | RedirectKind::Read => fed = true,
                _ => {}
            }
        }
        if fed {
            self.bar_once("script", why);
        }
    }

    fn launches_unknown(&mut self, name: &str) {
        self.bar_once("launcher", &format!("what `{name}` starts is known only by running"));
    }

    /// The program itself has to be known, and to be where its name says.
    fn program_word(&mut self, invocation: &Invocation, surface: bool) {
        let Some(word) = invocation.words.first() else { return };
        let Some(program) = word.as_static() else {
            return self.bar_once("dynamic-program", "which program runs is known only by running");
        };
        if program.is_empty() {
            self.bar_once("dynamic-program", "the program has no name");
        }
        if program.split('/').any(|name| name == "..") {
            self.bar_once("dot-dot", "`..` in the program leads to another one than its name says");
        }
        if surface && self.script.functions.iter().any(|function| function == program) {
            self.bar_once("function", "the line defines a function of that name");
        }
    }

    /// The folders after those that the program itself moves to.
    fn moved(acts: &Acts<'_>, mut found: Found) -> Found {
        for folder in &acts.folders {
            found.folders = found.folders.iter().map(|base| base.moved(folder)).collect();
        }
        found
    }

    /// Where it takes code or configuration from, when that is not the folder of the call.
    fn works_in(&mut self, invocation: &Invocation, acts: &Acts<'_>, found: &Found) {
        let relative =
            invocation.program().is_some_and(|program| program.contains('/') && !program.starts_with('/'));
        let takes = if relative { FolderUse::Code } else { acts.folder };
        if takes == FolderUse::Nothing || invocation.words.is_empty() || builtin::is_inert(invocation) {
            return;
        }
        let sources =
            || found.folders.iter().flat_map(|base| acts.sources.iter().map(|source| base.moved(source)));
        for base in found.folders.iter().cloned().chain(sources()) {
            if let Some(folder) = base.folder() {
                let folder = WorkFolder { path: PathText::new(folder), takes };
                if !self.works_in.contains(&folder) {
                    self.works_in.push(folder);
                }
            } else if base == Base::Unknown {
                self.bar_once("unknown-folder", "the folder that it works in is known only by running");
            }
        }
    }
}

fn add_safeguard(hits: &mut Vec<SafeguardHit>, hit: SafeguardHit) {
    if hits.iter().all(|there| there.id != hit.id) {
        hits.push(hit);
    }
}

/// So many of the last paths are looked at for the same one.
const MOST_COMPARED: usize = 16;

/// Whether a component that holds a glob starts with a dot: what matches is hidden, and much of that is guarded.
fn place_hides(word: &Word) -> bool {
    let mut starts = true;
    let mut dotted = false;
    for part in &word.parts {
        match part {
            Part::Literal(text) => {
                let last = text.rsplit('/').next().unwrap_or_default();
                let begins = starts || text.contains('/');
                dotted = if begins { last.starts_with('.') } else { dotted };
                starts = text.ends_with('/');
            }
            Part::Glob(_) if dotted => return true,
            Part::Glob(_) | Part::Tilde(_) => starts = false,
            _ => return false,
        }
    }
    false
}

//! Operands of an invocation: files, a program to start, a script.

use std::borrow::Cow;

use pinfold_shell::{Part, Word};

use super::options::OperandOptions;
use super::values::is_input;
use super::{InvocationEffects, StandardInput, StartedProgram};
use crate::program::scan::Arg;
use crate::program::{Operands, ProgramKind, Purpose, kind};
use crate::words::{known_start, literal};
use crate::{NotAllowlistable, Operation, environment};

/// Number of words behind the line of a shell that are looked at as if each were the line.
const MAX_LINES_OF_SHELL: usize = 32;

impl<'a> InvocationEffects<'a> {
    pub(super) fn read_operands(
        &mut self,
        reading: &OperandOptions<'a>,
        operands: Operands,
        args: &[Arg<'a>],
    ) {
        let words: Vec<&'a Word> = args.iter().filter_map(Arg::operand).collect();
        match operands {
            Operands::Nothing => {}
            Operands::Each(operation, purpose) => self.touch_each(reading, &words, operation, purpose),
            Operands::AfterFirst(operation, purpose) => {
                let skip = usize::from(!reading.has_first);
                words.iter().take(skip).for_each(|word| self.mark_no_path(word));
                self.touch_each(reading, words.get(skip..).unwrap_or_default(), operation, purpose);
            }
            Operands::Last(from, to) => self.touch_copied(reading, &words, from, to),
            Operands::Command(skip) => self.start(words.get(usize::from(skip)..).unwrap_or_default()),
            Operands::Environment => self.start_with_environment(reading, &words),
            Operands::Elsewhere(skip) => {
                self.start(words.get(usize::from(skip)..).unwrap_or_default());
                self.mark_last_elsewhere();
            }
            Operands::Line(skip) => self.start_joined(words.get(usize::from(skip)..).unwrap_or_default()),
            Operands::Script => self.read_script(reading, &words, StandardInput::Code),
            Operands::ShellScript => self.read_script(reading, &words, StandardInput::Commands),
            Operands::Hosts => words.iter().for_each(|word| self.reach_host(word)),
            Operands::Own(own) => own.read(self, args),
        }
    }

    fn touch_each(
        &mut self,
        reading: &OperandOptions<'a>,
        words: &[&'a Word],
        operation: Operation,
        purpose: Purpose,
    ) {
        let operation = if reading.in_place { Operation::Edit } else { operation };
        for word in words {
            self.touch(Cow::Borrowed(word), operation, purpose);
        }
    }

    /// Reads `cp a b`, `mv a b folder`, `ln -s a`, `cp -t folder a`.
    pub(super) fn touch_copied(
        &mut self,
        reading: &OperandOptions<'a>,
        words: &[&'a Word],
        from: Operation,
        to: Operation,
    ) {
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
            self.touch(Cow::Borrowed(source), from, Purpose::Command);
        }
        let folder = reading.target.is_some() || sources.len() > 1 || is_folder(&target);
        if folder {
            for source in sources {
                if let Some(inside) = copy_destination(&target, source) {
                    self.renamed.push((Cow::Borrowed(source), Cow::Owned(inside.clone())));
                    self.touch(Cow::Owned(inside), to, Purpose::Command);
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
        self.touch(target, to, Purpose::Command);
    }

    /// Reads `NAME=value… command…`.
    fn start_with_environment(&mut self, reading: &OperandOptions<'a>, words: &[&'a Word]) {
        if let Some(split) = &reading.split {
            // Its escapes are not those of a shell.
            self.told_code = true;
            let all: Vec<&Word> = std::iter::once(split.as_ref()).chain(words.iter().copied()).collect();
            return self.start_joined(&all);
        }
        // Whatever holds `=` is put into the environment, whether a shell would call it a name or not.
        let assigned = words.iter().take_while(|word| known_start(word).contains('=')).count();
        let (assignments, command) = words.split_at(assigned.min(words.len()));
        for word in assignments {
            self.mark_no_path(word);
        }
        self.not_allowlistable.extend(assignments.iter().filter_map(|word| environment::of_word(word)));
        self.start(command);
    }

    /// Reads a script of an interpreter: what it does stands elsewhere, so its place must be what it says.
    pub(super) fn read_script(
        &mut self,
        reading: &OperandOptions<'a>,
        words: &[&'a Word],
        input: StandardInput,
    ) {
        if reading.in_place {
            let skip = usize::from(!reading.has_first);
            self.touch_each(
                reading,
                words.get(skip..).unwrap_or_default(),
                Operation::Edit,
                Purpose::Command,
            );
        }
        if let Some(module) = &reading.module {
            // `python3 -m pytest x` is `pytest x`, where a program of that name is known.
            return self.start_module(module, words);
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
            let others = words.iter().skip(1).take(MAX_LINES_OF_SHELL);
            self.run_values.extend(others.map(|word| Cow::Borrowed(*word)));
            self.told_code |= kind(self.name) == Some(ProgramKind::ForeignShell);
            return self.start_line(Cow::Borrowed(*script));
        }
        if script.parts.iter().any(|part| matches!(part, Part::Process)) {
            self.started.push(StartedProgram::unknown());
        }
        self.touch(Cow::Borrowed(*script), Operation::Read, Purpose::Command);
        if climbs(script) {
            let why =
                format!("`..` in the script of `{}` leads to another one than the rule names", self.name);
            self.not_allowlistable.push(NotAllowlistable::new("dot-dot", why));
        }
    }

    /// Starts a module that is run in place of a script, with its arguments.
    fn start_module(&mut self, module: &Word, args: &[&'a Word]) {
        let Some(name) = module.as_static() else { return self.started.push(StartedProgram::unknown()) };
        let name = name.strip_suffix(".__main__").unwrap_or(name);
        let program = literal(name, module);
        let words: Vec<&Word> = std::iter::once(&program).chain(args.iter().copied()).collect();
        self.start(&words);
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

/// Returns the name of a copy of `source` in the folder `target`.
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

/// Returns whether there is a `..` among the components.
fn climbs(word: &Word) -> bool {
    word.parts.iter().any(|part| match part {
        Part::Literal(text) => text.split('/').any(|name| name == ".."),
        _ => false,
    })
}

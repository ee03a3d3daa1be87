//! Names of files that a command line may run or read, wherever its text says them: words with the values that the line gives its
//! variables, patterns, lines within words.
//!
//! For the digest of a consent, which has to notice that one of those files changes. A name too many does no harm there, so no order is kept, every value
//! counts, and a text that could be a line is read like one. What is known only at run time is missing: what a substitution prints, what a
//! program finds or is fed, values that come with the environment.

mod texts;
mod values;

use std::collections::BTreeSet;

use pinfold_shell::{NewValue, Part, RedirectKind, Script, SimpleCommand, Word, builtin, changes_by};

use self::texts::{TextLimits, Texts};
use self::values::Values;
use super::pieces::{PossibleText, of_word};
use super::working_directory::WorkingDirectory;
use super::{CommandClaim, PathText, program_kind};
use crate::words;

/// Rounds in which lines within words are read, each within those of the round before.
const MAX_ROUNDS: usize = 4;

/// Names of files that a line says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PossibleFiles {
    /// The names, by the folders that they count from.
    pub named: Vec<NamedFrom>,
    /// Some command may stand in a folder that is known only at run time: each name counts from every folder that names which move lead to.
    pub moves_unseen: bool,
    /// Number of folders that the line may go up by `..`, if that is limited.
    pub climbs: Option<usize>,
    /// Folders in which programs or code are looked for: each file in them counts.
    pub searched: BTreeSet<String>,
    /// Matches of patterns.
    pub patterns: Patterns,
    /// There are no more of them.
    pub is_complete: bool,
}

/// Matches of patterns, by options of the shell that the line speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Patterns {
    /// `**` goes through folders.
    pub deep: bool,
    /// Names that start with a dot are matched like others.
    pub hidden: bool,
    /// Letters match in either case.
    pub any_case: bool,
}

impl Patterns {
    fn new<'t>(values: &Values, texts: impl Iterator<Item = &'t str>) -> Self {
        let mut own = Self { hidden: values.get("GLOBIGNORE").next().is_some(), ..Self::default() };
        for text in texts {
            own.deep |= text.contains("globstar") || matches!(text.rsplit('/').next(), Some("zsh" | "fish"));
            own.hidden |= text.contains("dotglob");
            own.any_case |= text.contains("nocaseglob");
        }
        own
    }
}

/// Reach of a command to the folders that its words name, beyond those that it is known to run in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Moves {
    /// Not at all.
    #[default]
    Nowhere,
    /// Programs that it starts may run there.
    Own,
    /// Commands behind it may run there as well.
    Shell,
}

/// Names of files, and the folders that they count from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NamedFrom {
    /// The folders beside that of the call, from which they start if they are relative.
    pub folders: Vec<PathText>,
    /// Reach of these names beyond those folders.
    pub moves: Moves,
    /// The names. Behind the place where one is open it is a pattern, in which `\` takes its meaning from the next character.
    pub names: BTreeSet<PossibleText>,
}

/// The names of files that a line may run or read. `text` was parsed to `script`, and `commands` are what was found about its commands.
pub fn possible_files(text: &str, script: &Script, commands: &[CommandClaim]) -> PossibleFiles {
    let mut groups: Vec<CommandTexts<'_>> =
        commands.iter().enumerate().map(|(at, claim)| CommandTexts::new(script, at, claim)).collect();
    let every_folder: Vec<PathText> =
        commands.iter().flat_map(|claim| claim.exec_dirs.iter().cloned()).collect();
    let mut whole = CommandTexts { folders: &every_folder, ..CommandTexts::default() };
    if !script.opaque.is_empty() {
        whole.add(PossibleText::plain(text));
    }
    groups.push(whole);
    let evaluates = commands.iter().any(feeds_shell);
    let mut limits = TextLimits::default();
    let (mut values, mut told) = (Values::default(), Vec::new());
    for _ in 0..MAX_ROUNDS {
        let inner = groups.iter().flat_map(CommandTexts::scripts);
        let scripts: Vec<(&Script, bool)> = std::iter::once((script, true)).chain(inner).collect();
        values = Values::new(&scripts, &told, &mut limits);
        let mut grew = false;
        for group in &mut groups {
            grew |= group.read(&values, evaluates, &mut limits);
        }
        let before = std::mem::replace(&mut told, values::assigned_in_words(&groups));
        if !grew && told == before {
            break;
        }
    }
    let patterns =
        Patterns::new(&values, groups.iter().flat_map(|group| &group.texts).map(|text| text.text.as_str()));
    let stands_unseen = |claim: &CommandClaim| claim.folders.stands_in.iter().any(is_unseen);
    let moves_unseen = limits.looks_back
        || commands.iter().any(stands_unseen)
        || groups.iter().any(CommandTexts::is_moved_by_text);
    let mut named: Vec<NamedFrom> = groups.iter_mut().map(|group| group.named(&mut limits)).collect();
    let folders = ["CDPATH", "OLDPWD", "HOME"].into_iter().flat_map(|name| values.get(name)).cloned();
    let folders = folders.flat_map(|text| {
        of_word(&text).into_iter().map(super::pieces::Piece::into_spelled).collect::<Vec<_>>()
    });
    named.push(NamedFrom { moves: Moves::Shell, names: folders.collect(), ..NamedFrom::default() });
    let started = values.started().collect();
    named.push(NamedFrom { folders: every_folder.clone(), names: started, ..NamedFrom::default() });
    let scripts = groups.iter().flat_map(CommandTexts::scripts).map(|(script, _)| script);
    let climbs = climbs(std::iter::once(script).chain(scripts));
    let searched = values.searched();
    PossibleFiles { named, searched, moves_unseen, climbs, patterns, is_complete: !limits.exceeded }
}

/// Number of times that `..` stands in scripts. `None`: any number of times, since some of it is repeated.
fn climbs<'s>(scripts: impl Iterator<Item = &'s Script>) -> Option<usize> {
    let mut count = 0;
    for script in scripts {
        if script.commands.iter().any(|command| command.place.repeats) || !script.loops.is_empty() {
            return None;
        }
        let words = script
            .commands
            .iter()
            .flat_map(|command| command.words.iter().chain(command.assignments.iter().map(|set| &set.value)));
        count += words.map(|word| word.parts.iter().map(climbs_of).sum::<usize>()).sum::<usize>();
    }
    Some(count)
}

fn climbs_of(part: &Part) -> usize {
    match part {
        Part::Literal(text) => text.matches("..").count(),
        Part::Brace(words) => words.iter().flat_map(|word| &word.parts).map(climbs_of).sum(),
        _ => 0,
    }
}

fn is_unseen(stand: &WorkingDirectory) -> bool {
    stand.now.is_unknown()
}

/// Returns whether what a command starts may stand in a folder that is not known. A program that is not known may move.
fn starts_unseen(claim: &CommandClaim) -> bool {
    let lines = claim.inner_lines.iter();
    let mut inner = lines
        .flat_map(|line| line.folders.iter().flat_map(|folders| &folders.stands_in).chain(&line.starts_in));
    claim.runs_anywhere || !claim.unanalyzed.is_empty() || inner.any(is_unseen)
}

/// Returns whether a text that a command of the line is fed may be read by a shell or into a variable.
fn feeds_shell(claim: &CommandClaim) -> bool {
    claim.readings.iter().any(|reading| match reading.name() {
        Some("." | "source" | "eval") | None => true,
        Some(name) => {
            program_kind(name).is_some_and(super::ProgramKind::launches) || reads_variable(&reading.words)
        }
    })
}

/// Returns whether words are a builtin that sets a variable to what it is fed.
fn reads_variable(words: &[Word]) -> bool {
    let mut reads = false;
    changes_by(words, |_, value| reads |= value == NewValue::Unknown);
    reads
}

/// A text that was read like a line.
struct Line {
    script: Script,
    /// A shell reads it for certain.
    sure: bool,
    /// Some of it runs in another folder than the first.
    moves: bool,
}

impl Line {
    fn new(text: &str, sure: bool) -> Self {
        let script = pinfold_shell::parse(text);
        let moves = |claim: &CommandClaim| {
            let stands = &claim.folders;
            !claim.exec_dirs.is_empty()
                || !stands.leads_to.is_empty()
                || stands.stands_in.iter().any(is_unseen)
                || claim.runs_anywhere
        };
        let moves = super::analyze(text, &script).commands.iter().any(moves);
        Self { script, sure, moves }
    }
}

/// The texts of one command of the line.
#[derive(Default)]
struct CommandTexts<'c> {
    folders: &'c [PathText],
    command: Option<&'c SimpleCommand>,
    claim: Option<&'c CommandClaim>,
    /// Lines that its words turned out to be.
    lines: Vec<Line>,
    /// Every text that one of its words may become.
    texts: BTreeSet<PossibleText>,
    /// The texts among them that were read like a line.
    read: BTreeSet<PossibleText>,
}

impl<'c> CommandTexts<'c> {
    fn new(script: &'c Script, at: usize, claim: &'c CommandClaim) -> Self {
        Self {
            folders: &claim.exec_dirs,
            command: script.commands.get(at),
            claim: Some(claim),
            ..Self::default()
        }
    }

    fn add(&mut self, text: PossibleText) {
        self.texts.insert(text);
    }

    /// The lines within it, and whether a shell reads each for certain.
    fn scripts(&self) -> impl Iterator<Item = (&Script, bool)> {
        let inner =
            self.claim.iter().flat_map(|claim| claim.inner_lines.iter().map(|line| (&line.script, true)));
        inner.chain(self.lines.iter().map(|line| (&line.script, line.sure)))
    }

    /// Reads its words with the values that are known so far. Returns whether some of them turned out to be a further line.
    fn read(&mut self, values: &Values, evaluates: bool, limits: &mut TextLimits) -> bool {
        let mut found = BTreeSet::new();
        if let Some(command) = self.command {
            let sure = is_evaluated(&command.words);
            let mut texts = Texts { values, limits, sure: true };
            found.extend(of_command(command, evaluates, &mut texts).map(|text| (text, sure)));
        }
        for word in
            self.claim.iter().flat_map(|claim| claim.readings.iter().flat_map(|reading| reading.words.iter()))
        {
            found.extend(
                Texts { values, limits, sure: true }.of_word(word).into_iter().map(|text| (text, false)),
            );
        }
        for (script, sure) in self.scripts() {
            let mut texts = Texts { values, limits, sure };
            for command in &script.commands {
                let is_line = sure && is_evaluated(&command.words);
                found.extend(of_command(command, evaluates, &mut texts).map(|text| (text, is_line)));
            }
            for over in script
                .loops
                .iter()
                .flat_map(|over| &over.elements)
                .chain(script.operands.iter().map(|one| &one.value))
            {
                found.extend(texts.of_word(over).into_iter().map(|text| (text, false)));
            }
        }
        found.extend(self.texts.iter().map(|text| (text.clone(), false)));
        let mut grew = false;
        for (text, sure) in found {
            // `alias a='cd b'`, `env 'C=cd b; c'`: a value may be a line, and the whole another.
            let value = text.text.split_once('=').map(|(_, value)| PossibleText::plain(value));
            for line in [Some(&text), value.as_ref()].into_iter().flatten() {
                grew |= self.read_line(line, sure, limits);
            }
            self.texts.insert(text);
        }
        grew
    }

    /// Reads a text like a line, once. Returns whether it may be one.
    fn read_line(&mut self, text: &PossibleText, sure: bool, limits: &mut TextLimits) -> bool {
        let is_new = texts::may_be_line(&text.text) && self.read.insert(text.clone());
        let is_read = is_new && limits.takes_line(&text.text);
        if is_read {
            self.lines.push(Line::new(&text.text, sure));
        }
        is_read
    }

    /// Returns whether a text among its words may lead the line to another folder.
    fn is_moved_by_text(&self) -> bool {
        let says = |text: &PossibleText| {
            matches!(text.text.as_str(), "-execdir" | "-okdir" | "expand_aliases")
                || text.text.contains("/fd/")
        };
        self.lines.iter().any(|line| line.moves) || self.texts.iter().any(says)
    }

    fn moves(&self) -> Moves {
        let is_mover = self.command.is_some_and(super::may_move);
        match self.claim {
            _ if is_mover || self.is_moved_by_text() => Moves::Shell,
            Some(claim) if starts_unseen(claim) => Moves::Own,
            Some(_) | None => Moves::Nowhere,
        }
    }

    /// Each text, what it consists of where it is a line, and the parts of each that can be a path.
    fn named(&mut self, limits: &mut TextLimits) -> NamedFrom {
        let moves = self.moves();
        let mut names = BTreeSet::new();
        for text in std::mem::take(&mut self.texts) {
            for token in texts::tokens(&text).chain([text.clone()]).flat_map(texts::with_places) {
                let pieces = of_word(&token);
                names.extend(pieces.into_iter().map(super::pieces::Piece::into_spelled));
                names.insert(token);
            }
            if !limits.has_room_for(names.len()) {
                break;
            }
        }
        if let Some(claim) = self.claim {
            let places = claim
                .named
                .iter()
                .filter(|place| !place.wild)
                .filter_map(|place| place.path.as_os_str().to_str());
            names.extend(places.map(PossibleText::plain));
        }
        NamedFrom { folders: self.folders.to_vec(), moves, names }
    }
}

/// Returns whether the words of a command are a line that the shell reads again.
fn is_evaluated(words: &[Word]) -> bool {
    matches!(builtin(words), Some((Some("eval" | "trap" | "alias"), _)))
}

/// The texts of a command as it is written: its words, its assignments, what it is fed.
fn of_command(
    command: &SimpleCommand,
    evaluates: bool,
    texts: &mut Texts<'_>,
) -> impl Iterator<Item = PossibleText> {
    let mut found = Vec::new();
    for word in words::expand(&command.words).iter() {
        found.extend(texts.of_word(word));
    }
    if is_evaluated(&command.words) {
        found.extend(texts.joined(&command.words));
    }
    for set in &command.assignments {
        for word in std::iter::once(&set.value).chain(&set.elements) {
            found.extend(texts.of_word(word));
        }
    }
    // What is written is no part of what runs: a log may grow.
    let counts = |kind| match kind {
        RedirectKind::Read | RedirectKind::ReadWrite | RedirectKind::HereString => true,
        RedirectKind::HereDocument => evaluates,
        RedirectKind::Write | RedirectKind::Append | RedirectKind::Duplicate => false,
    };
    for redirect in command.redirects.iter().filter(|redirect| counts(redirect.kind)) {
        found.extend(texts.of_word(&redirect.target));
    }
    found.into_iter()
}

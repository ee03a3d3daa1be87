//! Audit of a command line: every path in its words, for a scope that is declared for the terminal.
//!
//! Pure: words in, claims out; what cannot be told from the words is said to be so, and the scope decides whether
//! that is refused. Nothing is looked up, and nothing is left out because it looks harmless: a word that may be a
//! path is claimed as one that counts where something is there.
//!
//! Trap: this is about words. `grep -r x .` reads what lies below, `tar -T list` what a file names, a script what it
//! likes. Only the kernel holds those.

mod code;
mod folders;
mod programs;
mod spelled;
mod system;
#[cfg(test)]
mod tests;
mod variables;

use std::collections::BTreeSet;
use std::path::Path;

use pinfold_commands::PathText;
use pinfold_commands::pieces::{PathCertainty, Piece, PossibleText, UNKNOWN, of_word};
use pinfold_commands::{CommandClaim, CommandFolders, InnerLine, Invocation};
use pinfold_commands::{Operation, Origin, PathClaim};
use pinfold_shell::{OpaqueReason, Redirect, RedirectKind, Script, SimpleCommand, Span, Word};

use super::drawn::PathMention;
use super::expand::ExpandContext;

use folders::Folders;
use spelled::Tail;
use variables::{TouchedVariables, Variables};

/// Result of the audit of a command line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Audit {
    /// The places, each once.
    pub claims: Vec<WordClaim>,
    /// The parts that cannot be audited.
    pub unauditable: Vec<Unauditable>,
}

/// A place that a word names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordClaim {
    /// The place, absolute, and what would be done to it as far as the words say.
    pub claim: PathClaim,
    /// Certainty that a path is meant.
    pub mention: PathMention,
    /// Names that the shell fills in below it, as a pattern.
    pub pattern: Option<String>,
    /// The word as it came to be after expansion, for showing.
    pub written: String,
}

/// A part of a command line that cannot be audited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unauditable {
    /// The reason.
    pub what: UnauditableReason,
    /// Position in the text of the outermost command.
    pub span: Span,
}

/// Reason why a part of a command line cannot be audited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnauditableReason {
    /// `$( )` or backticks.
    Substitution,
    /// `<( )` or `>( )`.
    Process,
    /// `<<<`.
    HereString,
    /// `eval`, `source` and their kind.
    Builtin(String),
    /// A value that the environment does not state.
    Variable(String),
    /// `~name` or `~-`.
    Tilde(String),
    /// A program that is known only at run time.
    Program,
    /// Code for an interpreter among the words.
    Inline(String),
    /// Code for an interpreter from its input.
    Input(String),
    /// Arguments that come from input.
    Arguments(String),
    /// A change of folder that is known only at run time.
    Folder,
    /// Syntax that the parser does not understand.
    Opaque(String),
    /// A program that no table describes, and what it may start.
    MayStart(String, String),
    /// The program that another one starts.
    Started(String),
    /// More than is looked at.
    TooMuch,
}

impl Unauditable {
    /// The part in words.
    pub fn clause(&self) -> String {
        match &self.what {
            UnauditableReason::Substitution => "a command substitution".to_owned(),
            UnauditableReason::Process => "a process substitution".to_owned(),
            UnauditableReason::HereString => "a here-string".to_owned(),
            UnauditableReason::Builtin(name) => format!("`{name}`"),
            UnauditableReason::Variable(name) => format!("the value of `${name}`"),
            UnauditableReason::Tilde(name) => format!("`~{name}`"),
            UnauditableReason::Program => "a program that is known only at run time".to_owned(),
            UnauditableReason::Inline(program) => format!("code for `{program}` on the command line"),
            UnauditableReason::Input(program) => format!("code for `{program}` from its input"),
            UnauditableReason::Arguments(program) => format!("what `{program}` adds from its input"),
            UnauditableReason::Folder => "a change of folder that is known only at run time".to_owned(),
            UnauditableReason::Opaque(why) => format!("a command line with {why}"),
            UnauditableReason::MayStart(program, starts) => format!("what `{program}` starts by `{starts}`"),
            UnauditableReason::Started(program) => format!("what `{program}` starts"),
            UnauditableReason::TooMuch => "a command line of this size".to_owned(),
        }
    }
}

/// More claims than any honest line has; each is looked up.
const MAX_CLAIMS: usize = 4000;
/// Folders that one command names for its other words.
const MAX_FOLDERS: usize = 8;
/// Lines within lines that are read: `sh -c "sh -c …"`.
const MAX_LINES: usize = 16;

/// Reads off what `script` names. `commands`: what the analysis of the same line says of each command. `cwd` is the folder
/// that it starts in, absolute.
pub fn audit(script: &Script, commands: &[CommandClaim], cwd: &Path, around: &ExpandContext) -> Audit {
    let mut auditor = Auditor::new(around);
    let folders = commands.iter().map(|claim| &claim.folders);
    auditor.script(
        script,
        folders,
        commands,
        &AuditStart::with_folders(vec![cwd.to_string_lossy().into_owned()]),
    );
    auditor.audit
}

/// Reads a command line and what it names, for a caller that has no [`Script`] of it.
pub fn audit_line(line: &str, cwd: &Path, around: &ExpandContext) -> Audit {
    let script = pinfold_shell::parse(line);
    let effects = pinfold_commands::analyze(line, &script);
    audit(&script, &effects.commands, cwd, around)
}

/// The paths that stand as literals in code of another language, in the same shape. The code itself stays
/// unauditable.
pub fn audit_code(code: &str, cwd: &Path, around: &ExpandContext) -> Audit {
    let mut auditor = Auditor::new(around);
    auditor.blind(UnauditableReason::Inline("code".to_owned()), 0..code.len());
    auditor.all_of(code::literals(code), &[cwd.to_string_lossy().into_owned()]);
    auditor.audit
}

/// Context in which a script is read.
#[derive(Debug, Clone, Default)]
struct AuditStart {
    /// The folders that it may start in.
    folders: Vec<String>,
    /// Variables that what stands around it may have set.
    touched: TouchedVariables,
    /// The part of the outermost command line that it stands in, when it is not the whole.
    within: Option<Span>,
    /// Programs that are started in it, as they are written.
    programs: BTreeSet<String>,
}

impl AuditStart {
    fn with_folders(folders: Vec<String>) -> Self {
        Self { folders, ..Self::default() }
    }
}

struct Auditor<'a> {
    around: &'a ExpandContext,
    audit: Audit,
    seen: BTreeSet<(String, Option<String>, bool, u8)>,
    /// Lines for inner shells that were read.
    lines: usize,
}

impl<'a> Auditor<'a> {
    fn new(around: &'a ExpandContext) -> Self {
        Self { around, audit: Audit::default(), seen: BTreeSet::new(), lines: 0 }
    }
}

impl Auditor<'_> {
    fn blind(&mut self, what: UnauditableReason, span: Span) {
        if self.audit.unauditable.len() < MAX_CLAIMS {
            self.audit.unauditable.push(Unauditable { what, span });
        }
    }

    /// Reads a script, of whose commands these are the folders and, for the outermost one, the claims. Returns all folders that it
    /// stands in.
    fn script<'c>(
        &mut self,
        script: &Script,
        folders: impl Iterator<Item = &'c CommandFolders>,
        claims: &[CommandClaim],
        start: &AuditStart,
    ) -> Vec<String> {
        let at = |span: &Span| start.within.clone().unwrap_or_else(|| span.clone());
        for opaque in &script.opaque {
            self.blind(UnauditableReason::Opaque(clause(&opaque.why)), at(&opaque.span));
        }
        let variables = Variables::from_script(script, self.around, &start.touched);
        let folders = Folders::new(script, folders, &start.folders, &variables);
        if let Some(span) = &folders.unknown {
            self.blind(UnauditableReason::Folder, at(span));
        }
        let mut reader =
            ScriptReader { auditor: self, variables: &variables, folders: folders.all.clone(), start };
        let goes_over = script.loops.iter().flat_map(|set| &set.elements);
        for word in goes_over.chain(&script.loose) {
            reader.argument(word, Origin::Call);
        }
        for (index, command) in script.commands.iter().enumerate() {
            folders.working_folders(index).clone_into(&mut reader.folders);
            reader.command(index, command, claims.get(index));
        }
        folders.all
    }

    /// Reads the lines that a command gives to shells, from the outermost in. Whatever one of them sets or moves to counts
    /// for those behind it. `outer` and `call`: the variables and the folder of the outermost line.
    fn inner_lines(
        &mut self,
        lines: &[InnerLine],
        mut start: AuditStart,
        outer: &Variables<'_>,
        call: &[String],
    ) {
        for line in lines.iter().rev() {
            self.lines += 1;
            if self.lines > MAX_LINES {
                let span = start.within.unwrap_or_default();
                return self.blind(UnauditableReason::TooMuch, span);
            }
            // A folder that is not known is noted where the line around it goes there.
            let starts_in = line.starts_in.iter().filter_map(|folder| folders::resolve(folder, call, outer));
            starts_in.for_each(|paths| folders::add(&mut start.folders, paths));
            start.folders = self.script(&line.script, line.folders.iter(), &[], &start);
            let variables = Variables::from_script(&line.script, self.around, &start.touched);
            start.touched = variables.touched();
        }
    }

    /// Claims one piece of a word, from each folder that the command may stand in.
    fn claim(
        &mut self,
        piece: &Piece<'_>,
        operation: Operation,
        mention: PathMention,
        origin: Origin,
        folders: &[String],
    ) {
        let (path, pattern) = piece.split();
        for place in places(path, folders, self.around) {
            let key = (place.clone(), pattern.clone(), operation.writes(), mention as u8);
            if !self.seen.insert(key) {
                continue;
            }
            if self.audit.claims.len() >= MAX_CLAIMS {
                return self.too_much();
            }
            self.audit.claims.push(WordClaim {
                mention: if system::is_stream(&place) { PathMention::System } else { mention },
                claim: PathClaim::new(Some(PathText::new(place)), operation, origin),
                pattern: pattern.clone(),
                written: piece.text.clone().into_owned(),
            });
        }
    }

    /// Marks the audit as incomplete, so that paths beyond the limit are not allowed unseen.
    fn too_much(&mut self) {
        if self.audit.unauditable.last().is_none_or(|last| last.what != UnauditableReason::TooMuch) {
            self.audit.unauditable.push(Unauditable { what: UnauditableReason::TooMuch, span: 0..0 });
        }
    }

    /// Claims these, as far as they are paths.
    fn all_of<'t>(&mut self, literals: impl Iterator<Item = &'t str>, folders: &[String]) {
        for literal in literals {
            let spelled = PossibleText::plain(literal);
            for piece in of_word(&spelled).into_iter().filter(|piece| piece.sure == PathCertainty::Yes) {
                self.claim(&piece, Operation::Read, PathMention::Named, Origin::Call, folders);
            }
        }
    }
}

/// A path as absolute ones: `~` put in, joined to each folder.
fn places(path: &str, folders: &[String], around: &ExpandContext) -> Vec<String> {
    if path.starts_with('/') {
        return vec![path.to_owned()];
    }
    if let Some(rest) = path.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/')) {
        let home = around.home.as_deref().map(Path::to_string_lossy);
        // Without a home the target is unknown; the text stays as it is and is not resolved.
        return vec![home.map_or_else(|| path.to_owned(), |home| format!("{home}{rest}"))];
    }
    folders.iter().map(|folder| format!("{}/{path}", folder.trim_end_matches('/'))).collect()
}

/// Reads the commands of one script.
struct ScriptReader<'a, 'b> {
    auditor: &'a mut Auditor<'b>,
    variables: &'a Variables<'a>,
    folders: Vec<String>,
    start: &'a AuditStart,
}

impl ScriptReader<'_, '_> {
    fn blind(&mut self, what: UnauditableReason, span: &Span) {
        let span = self.outermost_span(span);
        self.auditor.blind(what, span);
    }

    /// The part of the outermost line that is meant.
    fn outermost_span(&self, span: &Span) -> Span {
        self.start.within.clone().unwrap_or_else(|| span.clone())
    }

    /// `claim`: what the analysis says of the command; a line within another is a part of the outermost command's.
    fn command(&mut self, index: usize, command: &SimpleCommand, claim: Option<&CommandClaim>) {
        let origin = Origin::Command(index);
        for set in &command.assignments {
            for word in std::iter::once(&set.value).chain(&set.elements) {
                self.argument(word, origin);
            }
        }
        for redirect in &command.redirects {
            self.redirect(redirect, Origin::Aside(index));
        }
        let words: Vec<Vec<PossibleText>> = command.words.iter().map(|word| self.expand(word)).collect();
        let known: Vec<Option<&str>> = words.iter().map(|texts| only(texts)).collect();
        if known.first() == Some(&None) {
            self.blind(UnauditableReason::Program, &command.span);
        }
        let more = programs::starts_from(&known);
        if more.len() > MAX_FOLDERS {
            self.blind(UnauditableReason::TooMuch, &command.span);
        }
        let more = more.iter().take(MAX_FOLDERS);
        let more: Vec<String> = more.flat_map(|to| places(to, &self.folders, self.auditor.around)).collect();
        self.folders.extend(more);
        let own = claim.map(started);
        for (at, texts) in words.iter().enumerate() {
            match at {
                0 => self.program(texts, origin),
                _ => self.texts(texts, origin, own.as_ref().unwrap_or(&self.start.programs)),
            }
        }
        if let Some(claim) = claim {
            self.code(command, claim, &known, own.unwrap_or_default());
        }
    }

    fn argument(&mut self, word: &Word, origin: Origin) {
        let texts = self.expand(word);
        self.texts(&texts, origin, &BTreeSet::new());
    }

    /// `programs`: those that the command starts, which the word may name.
    fn texts(&mut self, texts: &[PossibleText], origin: Origin, programs: &BTreeSet<String>) {
        for spelled in texts {
            if programs.contains(&spelled.text) && system::is_system_program(spelled) {
                self.system_program(spelled, origin);
                continue;
            }
            for piece in of_word(spelled) {
                let mention =
                    if piece.sure == PathCertainty::Yes { PathMention::Named } else { PathMention::Perhaps };
                self.auditor.claim(&piece, Operation::Read, mention, origin, &self.folders);
            }
        }
    }

    /// The word that names the program. A name without a slash is looked up elsewhere.
    fn program(&mut self, texts: &[PossibleText], origin: Origin) {
        for spelled in texts {
            if system::is_system_program(spelled) {
                self.system_program(spelled, origin);
            } else if spelled.text.contains('/') || spelled.open.is_some() {
                let piece = Piece::whole(spelled, PathCertainty::Yes);
                self.auditor.claim(&piece, Operation::Read, PathMention::Named, origin, &self.folders);
            }
        }
    }

    fn system_program(&mut self, spelled: &PossibleText, origin: Origin) {
        let piece = Piece::whole(spelled, PathCertainty::Yes);
        self.auditor.claim(&piece, Operation::Read, PathMention::System, origin, &self.folders);
    }

    fn redirect(&mut self, redirect: &Redirect, origin: Origin) {
        let operation = match redirect.kind {
            RedirectKind::Read => Operation::Read,
            RedirectKind::Write | RedirectKind::Append | RedirectKind::ReadWrite => Operation::Write,
            RedirectKind::Duplicate => return,
            RedirectKind::HereString => {
                return self.blind(UnauditableReason::HereString, &redirect.target.span);
            }
            // Data, and variables in it are data too; what runs in it is not.
            RedirectKind::HereDocument => return self.substitutions(&redirect.target),
        };
        for spelled in self.expand(&redirect.target) {
            let piece = Piece::whole(&spelled, PathCertainty::Yes);
            self.auditor.claim(&piece, operation, PathMention::Named, origin, &self.folders);
        }
    }

    fn substitutions(&mut self, word: &Word) {
        for blind in spelled::substitutions(word) {
            self.blind(blind, &word.span);
        }
    }

    /// Expands a word to the texts that the shell can make of it. Unknown parts are noted; known parts stay.
    fn expand(&mut self, word: &Word) -> Vec<PossibleText> {
        let (all, blinds) = spelled::expand(word, self.variables);
        for blind in blinds {
            self.blind(blind, &word.span);
        }
        all
    }

    /// Text that the command would run.
    fn code(
        &mut self,
        command: &SimpleCommand,
        claim: &CommandClaim,
        known: &[Option<&str>],
        programs: BTreeSet<String>,
    ) {
        for what in code::blinds(claim) {
            self.blind(what, &command.span);
        }
        let named = code::named_in_code(claim, command);
        self.auditor.all_of(named.iter().map(String::as_str), &self.folders);
        let span = self.outermost_span(&command.span);
        let touched = self.variables.touched().with_words(known);
        let start = AuditStart { folders: self.folders.clone(), touched, within: Some(span), programs };
        self.auditor.inner_lines(&claim.inner_lines, start, self.variables, &self.start.folders);
    }
}

/// The programs that a command starts by others, as they are written.
fn started(claim: &CommandClaim) -> BTreeSet<String> {
    let inner = claim.readings.iter().filter(|reading| !reading.through.is_empty());
    inner.filter_map(Invocation::program).map(str::to_owned).collect()
}

/// The text of a word that can only become this one.
fn only(texts: &[PossibleText]) -> Option<&str> {
    match texts {
        [PossibleText { text, open: None }] => Some(text),
        _ => None,
    }
}

/// Why a part was not understood, as a clause.
fn clause(why: &OpaqueReason) -> String {
    match why {
        OpaqueReason::Character(c) => format!("the character {}", c.escape_unicode()),
        OpaqueReason::Syntax(expected) => format!("an error: {expected}"),
        OpaqueReason::Construct(name) => (*name).to_owned(),
        OpaqueReason::TooMuch(limit) => (*limit).to_owned(),
    }
}

/// A tail behind what is known: how much of the rest is open.
const fn marks(tail: Tail) -> &'static str {
    match tail {
        Tail::Names => "*",
        Tail::Anything => UNKNOWN,
    }
}

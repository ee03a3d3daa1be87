//! The result of parsing a command line: plain data.

use std::ops::Range;
use std::sync::Arc;

/// Bytes of the text.
pub type Span = Range<usize>;

/// Everything a command line says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Script {
    /// Every simple command, in the order of the text (an outer command before those in its substitutions).
    pub commands: Vec<SimpleCommand>,
    /// Constructs that were not understood. With any of these, nothing in the script is known for certain.
    pub opaque: Vec<Opaque>,
    /// Functions the text defines. A call of one is a simple command like any other; its body is listed once.
    pub functions: Vec<String>,
    /// Deepest nesting of command substitutions: 0 without any, 2 for `$(a $(b))`.
    pub nesting: usize,
    /// For each shell (see [`CommandContext::shell`]) the one that it comes out of, whose folder and variables it starts
    /// with. Number 0 is the shell that reads the text; it is its own.
    pub shells: Vec<usize>,
    /// Loop variables: `for NAME in WORDS` and `select`, the words as elements. Without `in` the only element
    /// is the parameter `@`. The value is empty, and its span is that of the loop from the name to its end. `for ((…))`
    /// sets only numbers and is not here.
    pub loops: Vec<Assignment>,
    /// Words that stand in no simple command, loop or redirect: what `case` and `[[ ]]` look at, and their patterns.
    pub loose: Vec<Word>,
    /// Words that `${NAME-word}`, `${NAME:+word}` and their kind put in place of the value of `NAME`.
    pub operands: Vec<Assignment>,
    /// Variables that arithmetic sets (`((i++))`, `$((x=1))`, `a[n+=2]`), each once: all they get is numbers.
    pub numbers: Vec<String>,
}

/// One program, builtin or function with its words, and what surrounds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimpleCommand {
    /// `NAME=value` in front of the words, or alone.
    pub assignments: Vec<Assignment>,
    /// The program and its arguments. Empty when there are only assignments or redirects. Shared, since what looks at a command
    /// keeps them.
    pub words: Arc<Vec<Word>>,
    /// Its redirects, in the order of the text, and those of every compound command around it.
    pub redirects: Vec<Redirect>,
    /// Position in the text.
    pub span: Span,
    /// The constructs around it.
    pub place: CommandContext,
}

/// The constructs around a simple command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandContext {
    /// The command whose output is its input in a pipe: its position in [`Script::commands`]. For a compound
    /// command in front, its last simple command.
    pub piped_from: Option<usize>,
    /// Depth of the `$( )`, backticks, `<( )` or `>( )` around it.
    pub substitution: usize,
    /// The shell that runs it: a number of its own for each `( )`, substitution, pipe and background job. Its changes (`cd`,
    /// variables) ends with that shell. Commands with the same number share one shell.
    pub shell: usize,
    /// The command that has to succeed before it runs: a simple command directly in front of its `&&`. A position in
    /// [`Script::commands`]; `None` where that is not so, or not known.
    pub after: Option<usize>,
    /// The function of the text in whose body it stands.
    pub function: Option<String>,
    /// Set for a command that ends with `&`, or a coprocess.
    pub background: bool,
    /// Set if it may run any number of times, or not at all: in a loop, a branch, or after `&&` or `||`.
    pub conditional: bool,
    /// Set if it may run several times in one shell: in a loop or a function, and no subshell in between.
    pub repeats: bool,
}

/// `NAME=value`, `NAME+=value`, `NAME[index]=value` or `NAME=(values)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The name.
    pub name: String,
    /// The value; for an array its elements' text is one word each in `elements`.
    pub value: Word,
    /// The elements of an array.
    pub elements: Vec<Word>,
    /// `+=`.
    pub appends: bool,
}

/// A word, as the shell would expand it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Word {
    /// Its parts in order, quotes removed. Never two literal parts of the same kind in a row.
    pub parts: Vec<Part>,
    /// Position in the text.
    pub span: Span,
    /// Some of it was quoted or escaped: it cannot be a reserved word or be assigned to, and it never vanishes.
    pub quoted: bool,
}

/// A piece of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// These characters.
    Literal(String),
    /// `*`, `?`, `[…]` or an extended pattern, unquoted: any names that match. Kept as written.
    Glob(String),
    /// `~`, `~user`, `~+` at the start of a word or of an assigned value: the text behind the tilde.
    Tilde(String),
    /// `$name`, `${name…}`, `$1`, `$?`, `$@`: the value of a parameter.
    Parameter {
        /// The name.
        name: String,
        /// In double quotes: it stays one word (but for `@`).
        quoted: bool,
        /// No operator: exactly the value.
        plain: bool,
    },
    /// `$( )` or backticks: what a command prints.
    Substitution {
        /// In double quotes: it stays one word.
        quoted: bool,
    },
    /// `<( )` or `>( )`: the name of a pipe.
    Process,
    /// `$(( ))`: a number.
    Arithmetic,
    /// `{a,b}` or `{1..3}`, unquoted: several words. Each alternative as a word of its own, in order; empty when
    /// there are too many.
    Brace(Vec<Word>),
}

/// A redirect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// The effect of the redirect.
    pub kind: RedirectKind,
    /// The descriptor in front, if one is written; `{name}` counts as none.
    pub fd: Option<u32>,
    /// The file, the descriptor (`1`, `-`), the text of a here-string, or the body of a here-document.
    pub target: Word,
    /// Set if it stands on a compound command around the simple one.
    pub inherited: bool,
}

/// The effect of a redirect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RedirectKind {
    /// `<`: opens for reading.
    Read,
    /// `>`, `>|`, `&>`, and `>&` with a file: creates or truncates.
    Write,
    /// `>>`, `&>>`: creates or appends.
    Append,
    /// `<>`: opens for both, and creates.
    ReadWrite,
    /// `<&`, `>&` with a number or `-`: no file.
    Duplicate,
    /// `<<`, `<<-`: the text below.
    HereDocument,
    /// `<<<`: the word.
    HereString,
}

/// A part of the text that is not understood for certain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opaque {
    /// Why.
    pub why: OpaqueReason,
    /// Position, as far as it is known.
    pub span: Span,
}

/// Reason why a part of a text is not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpaqueReason {
    /// A character that shells, terminals or readers disagree about: a control character, a blank that is not
    /// ASCII, a character that does not show.
    Character(char),
    /// bash would not take it either; one clause that says what was expected.
    Syntax(&'static str),
    /// Understood by bash, not by this; one clause that names the construct.
    Construct(&'static str),
    /// Longer, deeper or of more parts than is read; one clause that names the limit.
    TooMuch(&'static str),
}

/// Most shells around a command that are looked at: more than is written by hand.
const DEEPEST_SHELL: usize = 64;

impl Script {
    /// A shell and those that it comes out of, from the innermost. Shell 0 is missing where they are more than are looked at.
    pub fn shells_around(&self, shell: usize) -> impl Iterator<Item = usize> {
        let parent = |shell: &usize| self.shells.get(*shell).copied().filter(|parent| parent != shell);
        std::iter::successors(Some(shell), parent).take(DEEPEST_SHELL)
    }
}

impl Word {
    /// The text, when bash makes exactly this one word of it whatever variables and files there are.
    pub fn as_static(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// The characters in front of the first part that is not literal.
    pub fn literal_prefix(&self) -> &str {
        match self.parts.first() {
            Some(Part::Literal(text)) => text,
            _ => "",
        }
    }
}

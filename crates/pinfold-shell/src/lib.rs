//! Parser of bash command lines: text in, every simple command that bash could run from it out.
//!
//! Pure, total and linear: every text has a [`Script`], none panics, none takes more than time and memory in
//! proportion to its length. What is not understood for certain is [`Opaque`]: it may be asked about or
//! denied, and it never satisfies a rule that allows.
//!
//! ```
//! use pinfold_shell::{OpaqueReason, parse};
//!
//! let script = parse("cd core && git log --format=\"$(cat format)\" >log");
//! let programs = script.commands.iter().map(|command| command.words[0].as_static());
//! assert_eq!(programs.collect::<Vec<_>>(), [Some("cd"), Some("git"), Some("cat")]);
//! assert!(script.opaque.is_empty());
//!
//! // bash runs the first line and refuses the second. Both are listed, and nothing is certain.
//! let script = parse("make\nrm -rf build && ;");
//! assert_eq!(script.commands.len(), 2);
//! assert_eq!(script.opaque[0].why, OpaqueReason::Syntax("a command"));
//! ```
//!
//! # Vocabulary
//! [`parse()`], [`Script`], [`SimpleCommand`], [`Word`], [`Redirect`], [`Opaque`], [`VariableTable`].
//!
//! # Invariants
//! 1. A script without [`Opaque`] parts lists every simple command that bash would run from the text, wherever
//!    it stands: substitutions, functions, loops, conditions, here-documents that are expanded, arithmetic.
//! 2. A word is static only if bash, whatever its variables and files, makes exactly that one word of it.
//! 3. A script without commands and without opaque parts starts nothing and touches nothing: blanks, comments,
//!    conditions, arithmetic, loops and functions around nothing.
//! 4. With opaque parts the list is a best effort, with more rather than less: it is there for rules that deny.
//! 5. Arithmetic is code where its values are: what is evaluated is a number as far as the text tells, or opaque.
//!
//! # What this does not see
//! What a program does with its arguments, what a variable holds, what a sourced file says. `eval`, `source`,
//! `trap` and their kind are ordinary commands here; the analysis of commands knows them by name.

mod assignments;
mod braces;
mod characters;
mod compound;
mod conditions;
mod escapes;
mod expansions;
mod functions;
mod heredocs;
mod lexer;
mod listing;
mod numbers;
mod opaque;
mod origins;
mod parameters;
mod parse;
mod patterns;
mod redirects;
mod salvage;
mod script;
mod setter;
mod variables;
mod words;

pub use script::{
    Assignment, CommandContext, Opaque, OpaqueReason, Part, Redirect, RedirectKind, Script, SimpleCommand,
    Span, Word,
};
pub use setter::{ChangedName, Setter, builtin, changes_by, is_number_by_bash, is_set_by_bash};
pub use variables::{ChangedBy, NewValue, VariableChange, VariableTable};

/// Reads a command line as bash would.
pub fn parse(text: &str) -> Script {
    let mut list = listing::Listing::new();
    characters::inspect(text, &mut list);
    if text.len() > opaque::MAX_TEXT {
        list.opaque(OpaqueReason::TooMuch("more than 64 KiB of text"), 0..text.len());
    }
    parse::Parser::new(text, &mut list).program();
    list.finish()
}

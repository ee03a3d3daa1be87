//! Read-only class of git. Its subcommands and their options stand in `programs/git.txt`.
//!
//! git runs programs that a repository's own settings name: a file system monitor, filters, converters and external
//! programs for differences, a pager, signature programs. The settings of the folder's repository are the person's:
//! they stand in a guarded place, where no command of an agent writes unasked, and what a checked-out tree says
//! (`.gitattributes`) can only choose among the programs that those settings name. So in the folder itself git reads
//! as the person set it up to read. In every other repository that would be someone else's word: `-C`,
//! `--git-dir`, `-c` and a `cd` in front are not let through, and neither is an option that asks for such a program
//! (`--ext-diff`, `--textconv`, `--show-signature`, a format with `%G`) or writes (`--output`).
//!
//! A plain `git diff` with two paths of which one lies outside compares any files: it is let through only with
//! names inside.

use pinfold_shell::Word;

use super::operands;
use super::strict::{Argument, read};
use crate::program::{Program, command, find};

/// Returns whether git with these arguments only reads.
pub(super) fn only_reads(args: &[Word]) -> bool {
    let Some(git) = find("git") else { return false };
    let mut rest = args;
    while let Some((word, behind)) = rest.split_first() {
        let Some(text) = word.as_static() else { return false };
        if !text.starts_with('-') {
            return command(git, text).is_some_and(|subcommand| accepts(subcommand, behind));
        }
        match text {
            "--version" | "-v" | "--help" | "-h" => return behind.is_empty(),
            _ if git.safe_options().any(|option| option == text) => {}
            _ => return false,
        }
        rest = behind;
    }
    false
}

fn accepts(subcommand: &'static Program, args: &[Word]) -> bool {
    read(subcommand, args).is_some_and(|arguments| {
        arguments.iter().all(is_tame_value) && operands::accept(subcommand.read_only, args, &arguments)
    })
}

/// Returns whether the value of an option asks for nothing that runs: formats with `%G` or `signature` check signatures.
fn is_tame_value(argument: &Argument<'_>) -> bool {
    match argument {
        Argument::Option("--format" | "--pretty" | "--batch" | "--batch-check", Some(value)) => {
            value.as_static().is_some_and(|value| !value.contains("%G") && !value.contains("signature"))
        }
        Argument::Option(..) | Argument::Operand(_) => true,
    }
}

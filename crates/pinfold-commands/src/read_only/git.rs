//! Read-only class of git. Its subcommands and their options stand in `programs/git.txt`.
//!
//! git runs programs that a repository's own settings name: a file system monitor, filters, converters and external
//! programs for differences, a pager, signature programs. The settings of the folder's repository are the person's:
//! they stand in a guarded place, where no command of an agent writes unasked, and what a checked-out tree says
//! (`.gitattributes`) can only choose among the programs that those settings name. So in the folder itself git reads
//! as the person set it up to read. In every other repository that would be someone else's word:
//! `--git-dir` and `-c` are not let through, `-C` and a `cd` in front only where they lead back to the folder itself, which
//! the gate has to find, and neither is an option that asks for such a program
//! (`--ext-diff`, `--textconv`, `--show-signature`, a format with `%G`) or writes (`--output`).
//!
//! A plain `git diff` with two paths of which one lies outside compares any files: it is let through only with
//! names inside.

use pinfold_shell::Word;

use super::operands;
use super::strict::{Argument, read};
use crate::program::{Program, Scanned, command, find};

/// The folders that git is sent to by `-C`, each from the one before, if it only reads with these arguments.
pub(super) fn folders_read_in<'a>(args: &'a [Word], scanned: Option<&Scanned<'a>>) -> Option<Vec<&'a Word>> {
    let git = find("git")?;
    let mut folders = Vec::new();
    let mut rest = args;
    while let Some((word, mut behind)) = rest.split_first() {
        let text = word.as_static()?;
        if !text.starts_with('-') {
            return command(git, text)
                .is_some_and(|subcommand| accepts(subcommand, behind, scanned))
                .then_some(folders);
        }
        match text {
            "--version" | "-v" | "--help" | "-h" => return behind.is_empty().then_some(folders),
            "-C" => {
                let (folder, others) = behind.split_first()?;
                folder.as_static()?;
                folders.push(folder);
                behind = others;
            }
            _ if git.safe_options().any(|option| option == text) => {}
            _ => return None,
        }
        rest = behind;
    }
    None
}

fn accepts<'a>(subcommand: &'static Program, args: &'a [Word], scanned: Option<&Scanned<'a>>) -> bool {
    read(subcommand, args, scanned).is_some_and(|arguments| {
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

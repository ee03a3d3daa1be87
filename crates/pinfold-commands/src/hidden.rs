//! Programs that the words of an unknown program could start.
//!
//! `sshpass -p x rm -rf x` is `rm -rf x` for one who knows `sshpass`. Of a program without a row each word may be the
//! program that it starts, and a word with blanks may be a command line.

use std::sync::Arc;

use pinfold_shell::{RedirectKind, SimpleCommand, Word};

use super::SafeguardHit;
use super::invocation::Invocation;
use super::program::{InvocationEffects, interpreter};
use super::words::last_name;
use crate::safeguard;

/// Words of everyday language, subcommands and builtins of the shell that are programs too: they say nothing where they
/// are no command.
const WORDS: &[&str] =
    &["eval", "exec", "init", "halt", "reboot", "shutdown", "poweroff", "service", "mount", "umount"];

/// Most words of one command that are tried as a program. More that a safeguard watches are not named by hand.
const MAX_TRIED: usize = 32;

/// Safeguards hit by the programs and command lines that the arguments of a program would be.
pub(super) fn safeguards(args: &[Word]) -> Vec<SafeguardHit> {
    let mut hits = Vec::new();
    let mut tried = 0;
    for (at, word) in args.iter().enumerate() {
        let Some(text) = word.as_static() else { continue };
        let value = text.split_once('=').map_or(text, |(_, value)| value);
        let first = value.split(' ').next().unwrap_or_default();
        if WORDS.contains(&first) || first.contains('/') && !first.starts_with('/') {
            continue;
        }
        if value.contains(' ') {
            hits.extend(safeguard::of_hidden_line(value));
        } else if let Some(words) = args.get(at..).filter(|_| safeguard::watches(value)) {
            tried += 1;
            if tried > MAX_TRIED {
                break;
            }
            hits.extend(safeguard::of_hidden_program(words));
        }
    }
    hits
}

/// Number of words behind the name of an interpreter that say what it is told.
const MAX_TOLD: usize = 8;

/// A shell or an interpreter that one of the words names, with a line or code behind it.
pub(super) fn may_start(args: &[Word]) -> Option<String> {
    let tried = args.iter().enumerate().take(MAX_TRIED);
    let mut named = tried.filter_map(|(at, word)| Some((word.as_static()?, args.get(at..)?)));
    named.find_map(|(name, words)| {
        interpreter(last_name(name))?;
        let words = words.iter().take(MAX_TOLD).cloned().collect();
        let invocation = Invocation { words: Arc::new(words), ..Invocation::default() };
        let effects = InvocationEffects::from_invocation(&invocation);
        (effects.told_code || !effects.started.is_empty()).then(|| name.to_owned())
    })
}

/// The text in which a rule that denies looks for the names of programs: the arguments, and what is written to it.
pub(super) fn text(args: &[Word], command: &SimpleCommand) -> String {
    let written = command
        .redirects
        .iter()
        .filter(|redirect| matches!(redirect.kind, RedirectKind::HereDocument | RedirectKind::HereString));
    let words = args.iter().chain(written.map(|redirect| &redirect.target));
    let known: Vec<&str> = words.filter_map(Word::as_static).collect();
    known.join(" ")
}

//! Reads arguments strictly: every option has to be one that was reviewed, spelled out.

use std::borrow::Cow;

use pinfold_shell::Word;

use super::words::is_no_option;
use crate::program::{Arg, Program, Scanned, Style, Takes, scan_as};

/// One argument.
#[derive(Debug, Clone)]
pub(super) enum Argument<'a> {
    /// An option by its name in the catalog, with its value.
    Option(&'static str, Option<Cow<'a, Word>>),
    Operand(&'a Word),
}

impl<'a> Argument<'a> {
    /// The word, if it is an operand.
    pub(super) fn operand(&self) -> Option<&'a Word> {
        match self {
            Self::Operand(word) => Some(word),
            Self::Option(..) => None,
        }
    }
}

/// The arguments, if every option among them is one of the safe options of `program`, and its value is known and written as none. They
/// are read as getopt reads them, whatever else the catalog says of the program's style. `scanned`: what was read of them before.
pub(super) fn read<'a>(
    program: &'static Program,
    args: &'a [Word],
    scanned: Option<&Scanned<'a>>,
) -> Option<Vec<Argument<'a>>> {
    let style = if program.style == Style::Apart { Style::Apart } else { Style::Gnu };
    match scanned.filter(|scanned| program.style == style && scanned.is_of(program, args)) {
        Some(scanned) => arguments(program, scanned),
        None => Some(scan_as(program, style, args))
            .filter(|scanned| scanned.levels.len() == 1)
            .and_then(|scanned| arguments(program, &scanned)),
    }
}

fn arguments<'a>(program: &'static Program, scanned: &Scanned<'a>) -> Option<Vec<Argument<'a>>> {
    if scanned.doubtful {
        return None;
    }
    let operands_from = scanned.operands_from.unwrap_or(usize::MAX);
    let argument = |(at, arg): (usize, &Arg<'a>)| match arg {
        Arg::Operand(word) => {
            let tame = program.tame && word.as_static().is_none() && word.literal_prefix().is_empty();
            (at >= operands_from || is_no_option(word) || tame).then_some(Argument::Operand(word))
        }
        Arg::Option { known, name, value, .. } => {
            let fits = match (*known)?.takes {
                Takes::Nothing => value.is_none(),
                Takes::Value => value.is_some(),
                Takes::Glued => true,
            };
            let is_known = value.as_ref().is_none_or(|value| value.as_static().is_some());
            (fits && is_known).then_some(Argument::Option(safe(program, name)?, value.clone()))
        }
    };
    scanned.own_args().map(argument).collect()
}

/// The safe option that is written so, whole or as the last letter of a cluster: `--all`, `-a`, `-la`.
fn safe(program: &'static Program, name: &str) -> Option<&'static str> {
    let last = name.chars().next_back().filter(|_| !name.starts_with("--"));
    let letter = |option: &str| {
        let own = option.strip_prefix('-');
        last.is_some_and(|last| own.and_then(|own| own.strip_prefix(last)).is_some_and(str::is_empty))
    };
    program.safe_options().find(|option| *option == name || letter(option))
}

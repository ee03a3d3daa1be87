//! Text that a command would run, by what the analysis of the line says of it. Lines for shells were parsed with the line;
//! of other languages only what stands in quotes can be seen.

use pinfold_commands::{CommandClaim, Invocation, Unknown};
use pinfold_shell::{RedirectKind, SimpleCommand, Word};

use super::UnauditableReason;

/// Builtins that run text, or make text that runs later.
const RUNNERS: &[&str] = &["eval", "source", ".", "alias", "bind", "complete", "compgen", "enable", "fc"];

/// Returns the parts of a command that cannot be audited.
pub(super) fn blinds(claim: &CommandClaim) -> impl Iterator<Item = UnauditableReason> {
    let builtins =
        claim.readings.iter().filter_map(builtin).map(|name| UnauditableReason::Builtin(name.to_owned()));
    let scripts = claim.readings.iter().filter(|reading| opens_files(reading)).filter_map(Invocation::name);
    let scripts = scripts.map(|name| UnauditableReason::Inline(name.to_owned()));
    claim.unknown.iter().map(blind).chain(builtins).chain(scripts)
}

fn blind(unknown: &Unknown) -> UnauditableReason {
    match unknown {
        Unknown::Program => UnauditableReason::Program,
        Unknown::Started(name) => UnauditableReason::Started(name.clone()),
        Unknown::Arguments(name) => UnauditableReason::Arguments(name.clone()),
        Unknown::Code(name) => UnauditableReason::Inline(name.clone()),
        Unknown::Input(name) => UnauditableReason::Input(name.clone()),
        Unknown::MayStart { program, starts } => UnauditableReason::MayStart(program.clone(), starts.clone()),
        Unknown::TooMuch => UnauditableReason::TooMuch,
    }
}

/// The builtin that runs text, if the reading is one with arguments.
fn builtin(reading: &Invocation) -> Option<&str> {
    reading.program().filter(|name| RUNNERS.contains(name) && reading.words.len() > 1)
}

/// Returns whether a program of awk says which files it opens; most only print columns.
fn opens_files(reading: &Invocation) -> bool {
    let opens = |text: &str| {
        ["getline", "system", "ENVIRON", "@include", "@load"].iter().any(|word| text.contains(word))
            || text.replace("||", "").contains('|')
    };
    is_awk(reading) && reading.known_args().flatten().any(opens)
}

fn is_awk(reading: &Invocation) -> bool {
    reading.name().is_some_and(pinfold_commands::is_awk)
}

/// The paths that code of the command names in quotes, and a script of sed bare.
pub(super) fn named_in_code(claim: &CommandClaim, command: &SimpleCommand) -> Vec<String> {
    let has_code = claim.unknown.iter().any(|what| matches!(what, Unknown::Code(_) | Unknown::Input(_)));
    let documents = command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::HereDocument);
    let documents = documents.filter(|_| has_code).filter_map(|redirect| redirect.target.as_static());
    let words = claim.readings.iter().filter(|reading| has_code || is_awk(reading));
    let words = words.flat_map(Invocation::args).filter_map(Word::as_static);
    let quoted = words.chain(documents).flat_map(literals);
    let scripts =
        claim.readings.iter().filter(|reading| reading.name().is_some_and(pinfold_commands::is_sed));
    let scripts = scripts.flat_map(Invocation::known_args).flatten().flat_map(bare);
    quoted.chain(scripts).map(str::to_owned).collect()
}

/// Words of a sed script, behind a blank, that begin like a path.
fn bare(code: &str) -> impl Iterator<Item = &str> {
    code.split([' ', '\t', '\n', ';', '{', '}']).skip(1).filter(|text| text.starts_with(['/', '~']))
}

/// Quoted texts in code that begin like a path.
pub(super) fn literals(code: &str) -> impl Iterator<Item = &str> {
    let starts =
        |text: &&str| text.starts_with(['/', '~']) || text.starts_with("../") || text.starts_with("file:");
    code.split(['"', '\'', '`']).skip(1).filter(starts)
}

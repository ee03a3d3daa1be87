//! The programs that are known, by theme.

mod archives;
mod build;
mod containers;
mod files;
mod git;
mod languages;
mod launchers;
mod network;
mod others;
mod text;

use std::borrow::Cow;
use std::sync::LazyLock;

use super::super::host;
use super::{Acts, Arg, Program, Purpose};
use crate::claim::Operation;

/// All of them by name. Sorted once a process; a look-up is a few comparisons.
static BY_NAME: LazyLock<Vec<(&'static str, &'static Program)>> = LazyLock::new(|| {
    let themes = [
        archives::PROGRAMS,
        build::PROGRAMS,
        containers::PROGRAMS,
        files::PROGRAMS,
        git::PROGRAMS,
        languages::PROGRAMS,
        launchers::PROGRAMS,
        network::PROGRAMS,
        others::PROGRAMS,
        text::PROGRAMS,
    ];
    let programs = themes.into_iter().flatten();
    let mut names: Vec<_> =
        programs.flat_map(|program| program.names.iter().map(move |name| (*name, program))).collect();
    names.sort_by_key(|(name, _)| *name);
    names
});

/// What is known of a program, by its name.
pub(in super::super) fn find(name: &str) -> Option<&'static Program> {
    let at = BY_NAME.binary_search_by_key(&name, |(name, _)| name).ok()?;
    BY_NAME.get(at).map(|(_, program)| *program)
}

/// The programs that run a program, a line or a script that they are told as their operands.
#[cfg(test)]
pub(in super::super) fn starters() -> impl Iterator<Item = &'static str> {
    use super::Operands as O;
    let starts = |program: &Program| {
        matches!(
            program.operands,
            O::Command(_) | O::Environment | O::Elsewhere(_) | O::Line(_) | O::Script | O::ShellScript
        )
    };
    BY_NAME.iter().filter(move |(_, program)| starts(program)).map(|(name, _)| *name)
}

/// Copies of which either end may be on another host: those are reached, the others touched.
fn remote_copy(acts: &mut Acts<'_>, args: &[Arg<'_>], from: Operation, to: Operation) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let Some((target, sources)) = words.split_last() else { return };
    let ends = sources.iter().map(|word| (*word, from)).chain([(*target, to)]);
    for (word, operation) in ends {
        if host::is_remote(word.literal_prefix()) {
            acts.host(word);
        } else {
            acts.path(Cow::Owned(word.clone()), operation, Purpose::Command);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::BY_NAME;

    #[test]
    fn no_program_is_described_twice() {
        let twice: Vec<_> =
            BY_NAME.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| pair[0].0).collect();
        assert_eq!(twice, Vec::<&str>::new());
    }
}

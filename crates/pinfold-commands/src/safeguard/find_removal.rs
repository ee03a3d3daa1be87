//! `find-removal`: removes every file that a search finds, however many those turn out to be.

use pinfold_shell::Word;

use super::{Invoked, Safeguard, Watch};
use crate::Severity;
use crate::program::{ProgramKind, kind};
use crate::words::{known_start, program_name};

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "find-removal",
    about: "removes every file that a search finds",
    severity: Severity::Medium,
    hits: &[
        "find . -name '*.o' -delete",
        "find . -type f -exec rm {} +",
        "find . -exec sudo -n rm {} +",
        "find . -exec busybox rm {} +",
        "find . -name x -execdir /bin/unlink {} \\;",
    ],
    passes: &[
        "find . -name '*.rm'",
        "find . -name delete",
        "find . -exec nice -n 5 grep rm {} +",
        "find . -exec grep -l rm {} +",
        "echo find . -delete",
    ],
    blind: "names that are handed on through a pipe (`find … | xargs rm`)",
    watch: Watch::Programs(&["find", "gfind"], hits),
};

fn hits(invoked: &Invoked<'_>) -> bool {
    removes(invoked.args)
}

fn removes(args: &[Word]) -> bool {
    args.iter().any(|word| known_start(word) == "-delete")
        || args.iter().enumerate().any(|(at, action)| {
            matches!(known_start(action), "-exec" | "-execdir" | "-ok" | "-okdir")
                && args
                    .iter()
                    .skip(at + 1)
                    .find(|word| !is_of_launcher(word))
                    .and_then(program_name)
                    .is_some_and(|name| matches!(name, "rm" | "grm" | "unlink" | "shred"))
        })
}

/// Returns whether a word stands in front of the program that another one starts: `sudo`, `env`, `A=b`, `-n`, `5`.
fn is_of_launcher(word: &Word) -> bool {
    let text = known_start(word);
    let launches = |name: &str| matches!(kind(name), Some(ProgramKind::Wrapper | ProgramKind::Launcher));
    text.starts_with('-')
        || text.contains('=')
        || text.bytes().all(|b| b.is_ascii_digit())
        || program_name(word).is_some_and(|name| launches(name) || matches!(name, "busybox" | "toybox"))
}

/// Returns whether the search removes, and nothing but types and depths narrows what it finds.
pub(super) fn removes_everything(args: &[Word]) -> bool {
    removes(args) && !args.iter().any(|word| NARROWS.contains(&known_start(word)))
}

/// Tests that keep most files out.
const NARROWS: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-regex",
    "-iregex",
    "-lname",
    "-ilname",
    "-size",
    "-empty",
    "-mtime",
    "-mmin",
    "-atime",
    "-amin",
    "-ctime",
    "-cmin",
    "-newer",
    "-newermt",
    "-user",
    "-uid",
    "-group",
    "-gid",
    "-perm",
    "-inum",
    "-samefile",
    "-nouser",
    "-nogroup",
];

/// Returns where the search starts; `None` stands for the folder it works in.
pub(super) fn starts(args: &[Word]) -> impl Iterator<Item = Option<&Word>> {
    let first =
        args.iter().position(|word| !matches!(known_start(word), "-H" | "-L" | "-P")).unwrap_or(args.len());
    let rest = args.get(first..).unwrap_or_default();
    let named = rest
        .iter()
        .position(|word| {
            let text = known_start(word);
            text.starts_with('-') || matches!(text, "(" | ")" | "!" | ",")
        })
        .unwrap_or(rest.len());
    let here = (named == 0).then_some(None);
    rest.get(..named).unwrap_or_default().iter().map(Some).chain(here)
}

//! `world-writable`: lets every user of the machine change a file.

use pinfold_shell::Word;

use super::arguments::{Argument, Valued, known, operands, read};
use super::{Invoked, Safeguard, Watch};
use crate::Severity;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "world-writable",
    about: "lets every user change the file",
    severity: Severity::Medium,
    hits: &[
        "chmod 777 f",
        "chmod 0777 f",
        "chmod -R 777 .",
        "chmod 1777 d",
        "chmod 666 f",
        "chmod a+rwx f",
        "chmod a+rwX f",
        "chmod o+w f",
        "chmod u=rw,o=rw f",
        "chmod ugo+w f",
        "chmod a=rwx f",
        "chmod -v -- 777 f",
        "sudo chmod 777 f",
        "mkdir -m 777 d",
        "install -m0777 a b",
        "install --mode=777 a b",
    ],
    passes: &[
        "chmod 755 scripts/run.sh",
        "chmod 644 f",
        "chmod +x f",
        "chmod +w f",
        "chmod u+w f",
        "chmod o-w f",
        "chmod a+r f",
        "chmod o= f",
        "chmod -w f",
        "chmod 775 777",
        "mkdir -m 755 777",
        "echo \"run chmod 777 never\"",
        "grep -r 'chmod 777'",
    ],
    blind: "`umask`, `--reference`, and lists of access rights (`setfacl`)",
    watch: Watch::Programs(&["chmod", "gchmod", "mkdir", "install"], hits),
};

fn hits(invoked: &Invoked<'_>) -> bool {
    match invoked.name {
        "mkdir" | "install" => read(invoked.args, Valued { short: "mgot", long: &["mode"] }).any(sets_mode),
        _ => mode(invoked.args).is_some_and(is_open),
    }
}

/// The mode of `chmod`: the first operand. A mode that takes away (`-w`) looks like an option.
fn mode(args: &[Word]) -> Option<&str> {
    operands(args).next().map(known)
}

fn sets_mode(argument: Argument<'_>) -> bool {
    match argument {
        Argument::Short('m', Some(mode)) => is_open(mode),
        Argument::Long(name, Some(mode)) => name == "mode" && is_open(mode),
        Argument::Short(..) | Argument::Long(..) | Argument::Operand(_) => false,
    }
}

/// Returns whether a mode lets others write.
fn is_open(mode: &str) -> bool {
    match mode.bytes().last() {
        Some(last) if mode.bytes().all(|digit| digit.is_ascii_digit()) => last & 2 != 0,
        _ => mode.split(',').any(opens),
    }
}

/// Returns whether one clause of a symbolic mode lets others write: `o+w`, `a=rwx`, `u+r+w` with `a` or `o` in front.
fn opens(clause: &str) -> bool {
    let Some(at) = clause.find(['+', '-', '=']) else { return false };
    let (who, actions) = clause.split_at(at);
    let mut adds = false;
    who.contains(['a', 'o'])
        && actions.chars().any(|c| {
            match c {
                '+' | '=' => adds = true,
                '-' => adds = false,
                _ => {}
            }
            adds && c == 'w'
        })
}

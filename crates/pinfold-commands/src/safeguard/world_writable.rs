//! `world-writable`: lets every user of the machine change a file.

use super::{Invoked, Safeguard, Watch};
use crate::Severity;
use crate::program::Arg;
use crate::words::known_start;

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
        "install -S -m 777 a b",
        "mkdir --mode\"$x\" 777 d",
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
        "mkdir" | "install" => invoked.any_with_value(sets_mode),
        // The mode of `chmod` is the first operand. One that takes away (`-w`) looks like an option.
        _ => invoked.operands().next().map(known_start).is_some_and(is_open),
    }
}

fn sets_mode(arg: &Arg<'_>, value: Option<&str>) -> bool {
    (arg.is_letter("m") || arg.is_long("mode")) && value.is_some_and(is_open)
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

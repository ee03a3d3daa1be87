//! `mass-kill`: ends processes by name, or all of them, no matter who started them.

use super::{Invoked, Safeguard, Watch};
use crate::Severity;
use crate::words::known_start;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "mass-kill",
    about: "ends processes that it did not start",
    severity: Severity::Medium,
    hits: &[
        "kill -9 -1",
        "kill -- -1",
        "kill -s KILL -1",
        "kill 1",
        "kill -9 1 2",
        "killall node",
        "pkill -f server",
        "sudo killall -9 x",
    ],
    passes: &[
        "kill 4711",
        "kill -9 4711",
        "kill %1",
        "kill -l",
        "kill -1 4711",
        "kill $!",
        "kill -- -4711",
        "pgrep node",
        "killall -l",
        "echo killall",
    ],
    blind: "numbers that are found by running something (`kill $(pgrep x)`)",
    watch: Watch::Programs(&["kill", "killall", "killall5", "pkill", "skill", "xkill"], hits),
};

fn hits(invoked: &Invoked<'_>) -> bool {
    match invoked.name {
        "kill" => ends_all(invoked),
        _ => {
            !invoked.surely_has("lV", "list")
                && !invoked.surely_has("", "help")
                && !invoked.surely_has("", "version")
        }
    }
}

/// A target `-1` is everything; 1 is what everything else hangs on. The first `-1` is a signal if a number follows.
fn ends_all(invoked: &Invoked<'_>) -> bool {
    let mut targets = invoked.args.iter().map(known_start).peekable();
    match targets.peek() {
        Some(&("-s" | "-n" | "--signal")) => {
            targets.next();
            targets.next();
        }
        Some(&"--") | None => {}
        Some(first) if first.starts_with('-') => {
            targets.next();
        }
        Some(_) => {}
    }
    targets.any(|target| matches!(target, "-1" | "1"))
}

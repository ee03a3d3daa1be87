//! `root-removal`: takes away, or gives away, a root directory, a system directory or a whole home.
//!
//! It is the one that stays when a person has switched all others off: there is nothing to go on with afterwards.

use pinfold_shell::Word;

use super::way::{Start, Step, WordPath};
use super::{Invoked, Safeguard, Watch, find_removal, recursive_removal};
use crate::Severity;
use crate::words::known_start;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "root-removal",
    about: "removes or changes a root, system or home directory as a whole",
    severity: Severity::Critical,
    hits: &[
        "rm -rf /",
        "rm -rf /*",
        "rm -rf -- /",
        "rm -rf --no-preserve-root /",
        "rm -rf //usr/./",
        "rm -rf /tmp/../etc",
        "rm -rf ~",
        "rm -r ~/*",
        "rm -rf ~/.*",
        "rm -rf $HOME",
        "rm -rf \"$HOME\"",
        "rm -rf ${HOME}/",
        "rm -rf ${HOME:?}/*",
        "rm -rf ~/..",
        "rm -rf ..",
        "rm -rf /home/u",
        "rm -rf /home/*",
        "rm -rf /Users/u/",
        "rm -rf /usr/lib",
        "rm -rf /{etc,opt}",
        "rm -rf /proc/self/root",
        "cd / && rm -rf *",
        "cd ~ && rm -rf .",
        "sudo rm -rf /",
        "echo \"$(rm -rf ~)\"",
        "chmod -R 755 /",
        "chown -R u:u /usr",
        "find / -delete",
        "find ~ -type f -exec rm {} +",
        "mv ~ /tmp/x",
        "mv -t /tmp ~",
        "mv /* /tmp/x",
        "rsync -a --delete empty/ ~/",
    ],
    passes: &[
        "rm -rf ./build",
        "rm -rf build/*",
        "rm -rf ~/proj/target",
        "rm -rf ~/.cache/pip",
        "rm -rf /tmp/x",
        "rm -rf /home/u/proj/build",
        "rm -rf '~'",
        "cd sub && rm -rf *",
        "rm -rf ~/*.log",
        "chmod 755 /usr/local/bin/x",
        "chown -R u:u .",
        "find . -delete",
        "find / -name core -delete",
        "mv x ~",
        "mv -t ~ x",
        "ls /",
        "echo rm -rf /",
    ],
    blind: "a path that a variable holds, and a home directory that lies elsewhere and is named in full",
    watch: Watch::Programs(
        &["rm", "grm", "srm", "rimraf", "chmod", "chown", "chgrp", "find", "gfind", "mv", "rsync"],
        hits,
    ),
};

fn hits(invoked: &Invoked<'_>) -> bool {
    let args = invoked.args;
    let is_root = |word: &Word| is_root_kind(word, invoked.work_dir);
    match invoked.name {
        "chmod" | "chown" | "chgrp" => invoked.has("R", "recursive") && invoked.operands().any(is_root),
        "find" | "gfind" => {
            find_removal::removes_everything(args) && find_removal::starts(args).any(is_root_way(invoked))
        }
        "mv" => sources(invoked).iter().any(|word| is_root(word)),
        "rsync" => {
            args.iter().any(|word| known_start(word).starts_with("--del"))
                && invoked.operands().last().is_some_and(is_root)
        }
        _ => recursive_removal::is_recursive(invoked) && invoked.operands().any(is_root),
    }
}

/// Operands that `mv` takes away: all but the last, which is where they go.
fn sources<'a>(invoked: &Invoked<'a>) -> Vec<&'a Word> {
    let mut all: Vec<_> = invoked.operands().collect();
    if !invoked.has("t", "target-directory") {
        all.pop();
    }
    all
}

fn is_root_way(invoked: &Invoked<'_>) -> impl Fn(Option<&Word>) -> bool {
    move |start| match start {
        Some(word) => is_root_kind(word, invoked.work_dir),
        None => invoked.work_dir.is_some_and(|folder| leads_to_root(&WordPath::from_text(folder))),
    }
}

/// Returns whether a word leads to a root, system or home directory, or to everything in one.
pub(crate) fn is_root_kind(word: &Word, work_dir: Option<&str>) -> bool {
    leads_to_root(&WordPath::from_word(word, work_dir))
}

/// Returns whether a way leads to a directory of that kind, or to everything in one.
pub(super) fn leads_to_root(way: &WordPath) -> bool {
    let all = way.steps();
    let steps = match all.split_last() {
        Some((last, before)) if last.is_everything() => before,
        _ => all.as_slice(),
    };
    match way.start {
        Start::Root => is_system(steps),
        Start::Home => steps.is_empty(),
        // Up and nothing else: from a project that is a home directory soon.
        Start::Here => !steps.is_empty() && steps.iter().all(|step| step.is_up()),
        Start::Unknown => false,
    }
}

fn is_system(steps: &[Step<'_>]) -> bool {
    match steps {
        [] => true,
        [top] => top.may_be_any(TOP),
        [homes, _] if homes.may_be_any(&["home", "Users"]) => true,
        [top, below] => below.may_be_any(BELOW) && top.may_be_any(&["usr", "var", "private", "System"]),
        _ => false,
    }
}

/// Directories right below the root that a system cannot do without, or where all homes and mounts lie.
const TOP: &[&str] = &[
    "bin",
    "boot",
    "dev",
    "etc",
    "home",
    "lib",
    "lib32",
    "lib64",
    "libx32",
    "media",
    "mnt",
    "opt",
    "proc",
    "root",
    "run",
    "sbin",
    "srv",
    "sys",
    "usr",
    "var",
    "Applications",
    "Library",
    "System",
    "Users",
    "Volumes",
    "private",
];

/// The same one step further down.
const BELOW: &[&str] = &[
    "bin", "etc", "include", "lib", "lib32", "lib64", "libexec", "local", "sbin", "share", "var", "Library",
];

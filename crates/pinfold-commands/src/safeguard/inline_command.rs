//! `inline-command`: a command line inside the code of another language does what it does anywhere.

use super::{Invoked, Safeguard, Watch, text_hits};
use crate::Severity;
use crate::words::known_start;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "inline-command",
    about: "runs a command that is asked about, from the code of another language",
    severity: Severity::Medium,
    hits: &[
        "python3 -c 'import os; os.system(\"rm -rf x\")'",
        "python3 -c \"import subprocess; subprocess.run('rm -rf x', shell=True)\"",
        "perl -e 'system(\"rm -rf x\")'",
        "ruby -e 'system(\"git push --force\")'",
        "node -e 'require(\"child_process\").execSync(\"rm -rf x\")'",
        "awk 'BEGIN{system(\"rm -rf x\")}'",
        "python3 -c 'import shutil; shutil.rmtree(\"x\")'",
        "python3.11 -c 'import shutil; shutil.rmtree(\"x\")'",
        "node -e 'require(\"fs\").rmSync(\"x\", {recursive: true})'",
    ],
    passes: &[
        "python3 -c 'print(\"rm -rf /\")'",
        "node -e 'console.log(\"git push --force\")'",
        "python3 -c 'import os; os.system(\"ls -la\")'",
        "awk '{print $1}' f",
        "perl -pe 's/rm -rf//' f",
        "python3 script.py 'system(\"rm -rf x\")'",
        "echo 'system(\"rm -rf x\")'",
    ],
    blind: "commands that the code puts together, gives as a list of words, or reads from elsewhere",
    watch: Watch::Interpreters(hits),
};

/// Functions that run the text they are given.
const RUNS: &[&str] = &[
    "system(",
    "popen(",
    "exec(",
    "execSync(",
    "spawn(",
    "run(",
    "call(",
    "check_call(",
    "check_output(",
    "shell_exec(",
    "passthru(",
    "getoutput(",
    "os.execute(",
    "do shell script ",
];

/// Functions that remove a folder with everything in it.
const REMOVES: &[&str] = &["rmtree(", "rm_rf", "rm_r(", "remove_tree(", "rmSync(", "rimraf("];

fn hits(invoked: &Invoked<'_>) -> bool {
    code(invoked).is_some_and(|code| REMOVES.iter().any(|name| code.contains(name)) || runs_what_is_hit(code))
}

/// The argument that is program text.
fn code<'a>(invoked: &Invoked<'a>) -> Option<&'a str> {
    if invoked.name.ends_with("awk") {
        return invoked.args.iter().map(known_start).find(|text| !text.starts_with('-'));
    }
    let is_option = |text: &str| text.starts_with('-') && text.ends_with(['c', 'e', 'E', 'r', 'n', 'p']);
    let at =
        invoked.args.iter().map(known_start).take_while(|text| text.starts_with('-')).position(is_option)?;
    invoked.args.get(at + 1).map(known_start)
}

/// Returns whether a function that runs text is given one that would be hit. Each place is looked at once.
fn runs_what_is_hit(code: &str) -> bool {
    RUNS.iter().any(|name| code.split(name).skip(1).any(|behind| quoted(behind).is_some_and(text_hits)))
}

/// The text in quotes that something starts with.
fn quoted(behind: &str) -> Option<&str> {
    let behind = behind.trim_start();
    let quote = behind.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
    behind.get(1..)?.split(quote).next()
}

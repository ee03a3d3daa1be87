//! `process-environment`: reads the environment or memory of processes, where tokens and passwords lie.

use pinfold_shell::{RedirectKind, Word};

use super::way::{Start, Step, WordPath};
use super::{Command, Safeguard, Watch};
use crate::program::{ProgramKind, find_or_unlisted, kind, scan_everywhere};
use crate::read_only::may_be_read_as_bsd;
use crate::words::{known_start, program_name};
use crate::{Invocation, Severity};

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "process-environment",
    about: "reads the environment or memory of processes",
    severity: Severity::Medium,
    hits: &[
        "cat /proc/self/environ",
        "cat /proc/1/environ",
        "cat /proc/$PPID/environ",
        "cat /proc//self/./environ",
        "strings /proc/*/environ",
        "cat /proc/self/env*",
        "cat /proc/self/task/1/environ",
        "tr '\\0' '\\n' < /proc/self/environ",
        "cat ../../../proc/self/environ",
        "cd /proc/self && cat environ",
        "grep TOKEN /proc/self/environ",
        "grep -m 1 TOKEN /proc/self/environ",
        "cat /proc/self/mem",
        "python3 -c 'print(open(\"/proc/self/environ\").read())'",
        "ps eww",
        "ps auxe",
        "sudo cat /proc/1/environ",
    ],
    passes: &[
        "find . -name '*.environ'",
        "rg '/proc/self/environ' src",
        "grep -rn /proc/self/environ src",
        "rg -t rust /proc/self/environ",
        "echo /proc/self/environ",
        "git commit -m 'do not read /proc/self/environ in tests'",
        "cat /proc/cpuinfo",
        "cat /proc/self/status",
        "ls /proc/self/fd",
        "cat src/proc/environ",
        "ps -ef",
        "ps aux",
        "ps -eo pid,cmd",
        "ps -C node",
        "ps axo user",
    ],
    blind: "a program that reads it by itself, and the command's own environment (`env`)",
    watch: Watch::Commands(hits),
};

fn hits(command: &Command<'_>) -> bool {
    let leads_there = |word: &Word| leads_to_secrets(word, command.work_dir);
    command.written.redirects.iter().any(|redirect| {
        matches!(redirect.kind, RedirectKind::Read | RedirectKind::ReadWrite) && leads_there(&redirect.target)
    }) || command.readings.iter().any(|reading| reads(reading, leads_there))
}

fn reads(reading: &Invocation, leads_there: impl Fn(&Word) -> bool) -> bool {
    let Some(name) = reading.words.first().and_then(program_name) else { return false };
    match name {
        "echo" | "printf" => false,
        "ps" => shows_environments(reading.args()),
        "grep" | "egrep" | "fgrep" | "rg" | "ag" | "ack" => {
            reading.args().iter().any(&leads_there)
                && files_of_search(name, reading.args()).into_iter().any(leads_there)
        }
        _ => {
            let is_code = |word: &Word| is_code_for_it(known_start(word));
            reading.args().iter().any(leads_there)
                || reading.args().iter().any(is_code) && kind(name) == Some(ProgramKind::Interpreter)
        }
    }
}

/// The files that a search looks through: all operands but the pattern.
fn files_of_search<'a>(name: &str, args: &'a [Word]) -> Vec<&'a Word> {
    let scanned = scan_everywhere(find_or_unlisted(name), args);
    let has_pattern = scanned.has("ef", "regexp") || scanned.has("", "file") || scanned.has("", "files");
    scanned.operands().skip(usize::from(!has_pattern)).collect()
}

/// Program text that names such a file.
fn is_code_for_it(text: &str) -> bool {
    text.contains("/proc/")
        && text.split_once("/proc/").is_some_and(|(_, behind)| behind.contains("/environ"))
}

fn leads_to_secrets(word: &Word, work_dir: Option<&str>) -> bool {
    // The common word is a plain name; nothing is worked out for it unless the folder says so.
    let is_elsewhere = match Start::from_word(word) {
        Start::Unknown => true,
        Start::Here => work_dir.is_none() && !known_start(word).starts_with(".."),
        Start::Root | Start::Home => word.as_static().is_some_and(|text| !text.contains("/proc")),
    };
    if is_elsewhere {
        return false;
    }
    let way = WordPath::from_word(word, work_dir);
    let all = way.steps();
    let steps = match way.start {
        Start::Root => all.as_slice(),
        // Enough `..` lead to the root.
        Start::Here if known_start(word).starts_with("..") => {
            let ups = all.iter().take_while(|step| step.is_up()).count();
            if ups == 0 { &[] } else { all.get(ups..).unwrap_or_default() }
        }
        Start::Here | Start::Home | Start::Unknown => &[],
    };
    match steps {
        [proc, kcore] => proc.may_be("proc") && kcore.is_named() && kcore.may_be("kcore"),
        [proc, _, file] => is_secret(*proc, *file),
        [proc, _, task, _, file] => task.may_be("task") && is_secret(*proc, *file),
        _ => false,
    }
}

/// One of the two has to say so: `/*/*/*` is no path into `/proc`.
fn is_secret(proc: Step<'_>, file: Step<'_>) -> bool {
    proc.may_be("proc") && file.may_be_any(&["environ", "mem"]) && (proc.is_named() || file.is_named())
}

/// Words without a dash are options too, and `e` among them shows the environments; so do some with a dash.
fn shows_environments(args: &[Word]) -> bool {
    let letters = args.iter().filter_map(|word| known_start(word).strip_prefix('-'));
    if letters.filter(|letters| !letters.starts_with('-')).any(may_be_read_as_bsd) {
        return true;
    }
    let mut takes_value = false;
    scan_everywhere(find_or_unlisted("ps"), args).operands().any(|word| {
        let letters = known_start(word);
        if std::mem::take(&mut takes_value) || !letters.bytes().all(|c| c.is_ascii_alphabetic()) {
            return false;
        }
        takes_value = letters.ends_with(['o', 'O', 'k', 'p', 'q', 't', 'U']);
        letters.contains('e')
    })
}

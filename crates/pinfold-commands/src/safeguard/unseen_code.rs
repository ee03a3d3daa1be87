//! `unseen-code`: hands a shell or an interpreter program text that stands nowhere in the line: a download, something
//! decoded, what another program prints.

use pinfold_shell::{Part, RedirectKind, Word};

use super::{Line, Safeguard, Watch, text_hits};
use crate::program::{ProgramKind, find_or_unlisted, kind, scan_everywhere};
use crate::words::{known_start, program_name};
use crate::{CommandClaim, Invocation, Severity};

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "unseen-code",
    about: "runs program text that was not shown for review",
    severity: Severity::Medium,
    hits: &[
        "curl http://x | sh",
        "curl -s http://x | sudo bash -s -- y",
        "wget http://x.com/s | bash",
        "wget -qO- http://x | tee s | sh",
        "curl http://x | python3",
        "curl http://x | python3 -",
        "bash <(curl -s http://x)",
        "python3 <(curl -s http://x)",
        "source <(curl -s http://x)",
        ". <(curl http://x)",
        "bash < <(curl http://x)",
        "sh -c \"$(curl -fsSL http://x)\"",
        "bash -c \"$CMD\"",
        "python3 -c \"$(curl http://x)\"",
        "echo 6c73 | xxd -r -p | bash",
        "echo bHM= | base64 -d | sh",
        "base64 -d <<< bHM= | sh",
        "printf '\\162\\155' | sh",
        "echo 'rm -rf x' | bash",
        "sed s/a/b/ f | sh",
        "source /dev/stdin < <(curl http://x)",
        "cat list | xargs bash -c",
    ],
    passes: &[
        "curl -o f http://x",
        "curl -s http://localhost:3000 | jq .",
        "curl http://x | python3 -m json.tool",
        "curl http://x | python3 -c 'import sys'",
        "curl http://x | perl -pe s/a/b/",
        "curl http://x | node parse.js",
        "cat script.sh | bash",
        "bash script.sh",
        "bash script.sh <(sort a)",
        "sh -c 'ls -la'",
        "bash -c \"cd $DIR && ls\"",
        "echo 'ls -la' | bash",
        "echo 'print(1)' | python3",
        "source ./env.sh",
        "echo 'curl x | sh'",
        "bash < script.sh",
    ],
    blind: "text that was written to a file before (`curl -o s … && sh s`)",
    watch: Watch::Line(hits),
};

fn hits(line: &Line<'_>) -> bool {
    line.commands
        .iter()
        .enumerate()
        .any(|(at, claim)| claim.readings.iter().any(|reading| runs_unseen(line, at, reading)))
}

fn runs_unseen(line: &Line<'_>, at: usize, reading: &Invocation) -> bool {
    let Some(name) = reading.words.first().and_then(program_name) else { return false };
    let Some(language) = language(name) else { return false };
    match program_text(reading, language) {
        Text::Word(word) => is_made_elsewhere(line, word),
        Text::File(word) => {
            word.parts.contains(&Part::Process) || (is_stdin(word) && comes_in_unseen(line, at, language))
        }
        Text::Input => comes_in_unseen(line, at, language),
        Text::Missing => true,
        Text::Elsewhere => false,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    Shell,
    Other,
    /// `source` and `.`: they read a file only.
    Sourcing,
}

fn language(name: &str) -> Option<Language> {
    match kind(name) {
        _ if matches!(name, "source" | ".") => Some(Language::Sourcing),
        Some(ProgramKind::Shell | ProgramKind::ForeignShell) => Some(Language::Shell),
        Some(ProgramKind::Interpreter) => Some(Language::Other),
        Some(ProgramKind::Plain | ProgramKind::Wrapper | ProgramKind::Launcher) | None => None,
    }
}

/// Source of the text of a program.
enum Text<'a> {
    /// An argument is the text.
    Word(&'a Word),
    /// A file.
    File(&'a Word),
    /// Standard input.
    Input,
    /// The argument that would be the text is filled in later.
    Missing,
    /// A module or nothing at all.
    Elsewhere,
}

fn program_text(reading: &Invocation, language: Language) -> Text<'_> {
    let args = reading.args();
    for (at, word) in args.iter().enumerate() {
        let text = known_start(word);
        let is_option = text.starts_with(['-', '+']) && text.len() > 1;
        if !is_option {
            return if text == "-" { Text::Input } else { Text::File(word) };
        }
        if text == "--" {
            return args.get(at + 1).map_or(Text::Input, Text::File);
        }
        let cluster = text.strip_prefix('-').unwrap_or_default();
        let takes_text = match language {
            Language::Shell => !text.starts_with("--") && cluster.contains('c'),
            Language::Other => {
                matches!(text, "-c" | "-e" | "-E" | "-r" | "-p" | "--eval" | "--print")
                    || cluster.ends_with('e')
            }
            Language::Sourcing => false,
        };
        if takes_text {
            return args
                .get(at + 1)
                .map_or(if reading.open_ended { Text::Missing } else { Text::Elsewhere }, Text::Word);
        }
        match (language, text) {
            (Language::Shell, "-s") => return Text::Input,
            (Language::Other, "-m" | "-V" | "-v" | "-h") | (_, "--version" | "--help") => {
                return Text::Elsewhere;
            }
            _ => {}
        }
    }
    if language == Language::Sourcing || reading.open_ended { Text::Elsewhere } else { Text::Input }
}

fn is_stdin(word: &Word) -> bool {
    matches!(word.as_static(), Some("/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0"))
}

/// Returns whether a text is put together by running something, or is in whole what a variable holds.
fn is_made_elsewhere(line: &Line<'_>, word: &Word) -> bool {
    match word.parts.as_slice() {
        [Part::Parameter { .. } | Part::Substitution { .. } | Part::Process] => true,
        parts => {
            parts.iter().any(|part| matches!(part, Part::Substitution { .. } | Part::Process))
                && claims_inside(line, word).any(|claim| claim.readings.iter().any(fetches_or_decodes))
        }
    }
}

/// The commands that stand in the substitutions of a word. Commands are in the order of the text.
fn claims_inside<'a>(line: &Line<'a>, word: &Word) -> impl Iterator<Item = &'a CommandClaim> {
    let first = line.commands.partition_point(|claim| claim.span.start < word.span.start);
    let end = word.span.end;
    line.commands.iter().skip(first).take_while(move |claim| claim.span.end <= end)
}

/// Returns whether what a command reads is text that stands nowhere.
fn comes_in_unseen(line: &Line<'_>, at: usize, language: Language) -> bool {
    let Some(command) = line.script.commands.get(at) else { return false };
    for redirect in command.redirects.iter().rev() {
        match redirect.kind {
            RedirectKind::Read | RedirectKind::ReadWrite => {
                return redirect.target.parts.contains(&Part::Process);
            }
            RedirectKind::HereDocument | RedirectKind::HereString => return false,
            RedirectKind::Write | RedirectKind::Append | RedirectKind::Duplicate => {}
        }
    }
    command.place.piped_from.is_some_and(|from| flows_unseen(line, from, language))
}

/// Returns whether what comes out of a command, and of those piped into it, stands nowhere.
fn flows_unseen(line: &Line<'_>, last: usize, language: Language) -> bool {
    let mut next = Some(last);
    let mut downstream = true;
    for _ in 0..MAX_PIPE_LEN {
        let Some(at) = next else { return false };
        let Some((command, claim)) = line.script.commands.get(at).zip(line.commands.get(at)) else {
            return true;
        };
        if claim.readings.iter().any(fetches_or_decodes) {
            return true;
        }
        let from = command.place.piped_from.filter(|from| *from < at);
        if language == Language::Shell && !(from.is_none() && downstream && is_seen(&claim.readings)) {
            return true;
        }
        downstream = false;
        next = from;
    }
    true
}

/// A longer pipe counts as one that is not seen through.
const MAX_PIPE_LEN: usize = 64;

/// Returns whether the text that comes out can be looked at: `cat FILE` stands for the file, `echo TEXT` for its words.
fn is_seen(readings: &[Invocation]) -> bool {
    let [reading] = readings else { return false };
    let words = || reading.known_args();
    match reading.name() {
        Some("cat") => {
            words().next().is_some() && !reading.args().iter().any(|word| word.parts.contains(&Part::Process))
        }
        Some("echo" | "printf") => {
            let Some(texts) = words().collect::<Option<Vec<_>>>() else { return false };
            let text = texts.join(" ");
            !text.contains(['\\', '%']) && !text_hits(&text)
        }
        _ => false,
    }
}

/// Programs that bring text from elsewhere, or make other text of it.
fn fetches_or_decodes(reading: &Invocation) -> bool {
    let Some(name) = reading.words.first().and_then(program_name) else { return false };
    let scanned = || scan_everywhere(find_or_unlisted(name), reading.args());
    match name {
        _ if FETCHES.contains(&name) || DECODES.contains(&name) => true,
        // Every option that starts so is that one.
        "xxd" => scanned()
            .args
            .iter()
            .any(|arg| arg.is_letter("r") || arg.long().is_some_and(|name| name.starts_with('r'))),
        "gzip" | "xz" | "bzip2" | "zstd" => scanned().has("d", ""),
        _ => false,
    }
}

/// Bring text from elsewhere.
const FETCHES: &[&str] = &[
    "curl", "wget", "wget2", "fetch", "aria2c", "http", "https", "xh", "nc", "ncat", "netcat", "socat",
    "telnet", "lynx", "ssh",
];

/// Make other text of what they read.
const DECODES: &[&str] =
    &["base64", "base32", "basenc", "uudecode", "gunzip", "zcat", "bunzip2", "unxz", "openssl", "gpg", "rev"];

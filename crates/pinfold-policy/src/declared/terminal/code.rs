//! Text that a command would run: for a shell it is read like the command line itself, for other interpreters it
//! cannot be audited.

use pinfold_shell::{RedirectKind, SimpleCommand};

use super::Blind;
use super::programs::{base_name, is_launcher, says_nothing};

/// Code that stands in a command.
pub(super) enum Code {
    /// It cannot be audited.
    Blind(Blind),
    /// A command line for a shell.
    Shell(String),
    /// Another language: only what stands in quotes can be seen.
    Literals(String),
    /// A script of sed, which names files bare: `w FILE`.
    Words(String),
}

/// Shells whose language is that of the command line.
const SHELLS: &[&str] = &["ash", "bash", "dash", "ksh", "mksh", "rbash", "sh"];

/// Interpreters, by the beginning of their name, with the letters of options that take code and long options
/// or words that do.
const INTERPRETERS: &[(&str, &str, &[&str])] = &[
    ("python", "c", &[]),
    ("pypy", "c", &[]),
    ("perl", "eE", &[]),
    ("ruby", "e", &[]),
    ("node", "ep", &["--eval", "--print"]),
    ("bun", "ep", &["--eval", "--print"]),
    ("deno", "", &["eval"]),
    ("php", "rBRE", &["--run"]),
    ("lua", "e", &[]),
    ("osascript", "e", &[]),
    ("Rscript", "e", &[]),
    ("julia", "eE", &["--eval", "--print"]),
    ("tclsh", "", &[]),
    ("vi", "cS", &["--cmd"]),
    ("vim", "cS", &["--cmd"]),
    ("nvim", "cSl", &["--cmd"]),
    ("ex", "cS", &[]),
    ("emacs", "", &["--eval", "--execute", "-eval", "--load", "-l"]),
    ("gdb", "", &["-ex", "--eval-command", "-iex"]),
    ("expect", "c", &[]),
    ("zsh", "c", &[]),
    ("fish", "c", &["--command", "--init-command"]),
    ("csh", "c", &[]),
    ("tcsh", "c", &[]),
    ("nu", "ce", &["--commands", "--execute"]),
    ("elvish", "c", &[]),
    ("xonsh", "c", &[]),
    ("pwsh", "cC", &["-Command", "-EncodedCommand", "-ec"]),
];

/// Programs that hand a text of theirs to a shell.
const HAND_ON: &[&str] = &["flock", "runuser", "script", "su", "watch"];

/// Builtins that run text, or make text that runs later.
const RUNNERS: &[&str] = &["eval", "source", ".", "alias", "bind", "complete", "compgen", "enable", "fc"];

/// How many words of one command may start another. Each is read with all that stands behind it.
const MOST_STARTS: usize = 16;

/// The code that a command would run; `None` for a command in which more words start others than are looked at.
pub(super) fn of(command: &SimpleCommand, known: &[Option<&str>]) -> Option<Vec<Code>> {
    let mut found = Vec::new();
    let mut starts = 0;
    let mut in_front = true;
    let many = if is_launcher(known) { known.len() } else { 1 };
    for (at, word) in known.iter().enumerate().take(many) {
        let name = word.map(base_name).unwrap_or_default();
        let runs_text = in_front && RUNNERS.contains(&word.unwrap_or_default());
        in_front &= word.is_some_and(says_nothing);
        if runs_text || takes_code(name) {
            starts += 1;
            if starts > MOST_STARTS {
                return None;
            }
            found.extend(of_start(name, known.get(at + 1..).unwrap_or_default(), runs_text, command));
        }
    }
    Some(found)
}

/// Whether a program of this name may be told code.
fn takes_code(name: &str) -> bool {
    matches!(name, "trap" | "sed" | "gsed" | "awk" | "gawk" | "mawk" | "nawk" | "xargs" | "parallel" | "env")
        || SHELLS.contains(&name)
        || HAND_ON.contains(&name)
        || interpreter(name).is_some()
}

/// The code that one program would run of the words behind it.
fn of_start(name: &str, rest: &[Option<&str>], runs_text: bool, command: &SimpleCommand) -> Vec<Code> {
    let texts =
        |code: fn(String) -> Code| rest.iter().flatten().map(|text| code((*text).to_owned())).collect();
    if runs_text && !rest.is_empty() {
        let blind = Code::Blind(Blind::Builtin(name.to_owned()));
        return std::iter::once(blind).chain(joined(rest).map(Code::Shell)).collect();
    }
    if SHELLS.contains(&name) {
        return shell(name, rest, command);
    }
    if let Some((_, letters, long)) = interpreter(name) {
        return inline(name, rest, letters, long, command);
    }
    let splits = |arg: &&str| arg.starts_with("-S") || arg.starts_with("--split");
    match name {
        "trap" => trap(rest),
        _ if HAND_ON.contains(&name) => texts(Code::Shell),
        "sed" | "gsed" => texts(Code::Words),
        "awk" | "gawk" | "mawk" | "nawk" => awk(name, rest),
        "xargs" | "parallel" => vec![Code::Blind(Blind::Arguments(name.to_owned()))],
        "env" if rest.iter().flatten().any(splits) => vec![Code::Blind(Blind::Inline(name.to_owned()))],
        _ => Vec::new(),
    }
}

/// The words of `eval` as the text that it runs, when all of them are known.
fn joined(words: &[Option<&str>]) -> Option<String> {
    let words: Option<Vec<&str>> = words.iter().copied().collect();
    Some(words?.join(" "))
}

/// The action of `trap`.
fn trap(rest: &[Option<&str>]) -> Vec<Code> {
    match rest.iter().find(|word| **word != Some("--")) {
        Some(Some(action)) if !action.starts_with('-') => vec![Code::Shell((*action).to_owned())],
        Some(None) => vec![Code::Blind(Blind::Builtin("trap".to_owned()))],
        Some(Some(_)) | None => Vec::new(),
    }
}

fn shell(name: &str, rest: &[Option<&str>], command: &SimpleCommand) -> Vec<Code> {
    match option_with(rest, "c") {
        Some(at) => {
            // Options may stand between `-c` and its text: every word is read as if it were the text.
            let texts = rest.get(at + 1..).unwrap_or_default();
            let texts = texts.iter().map(|text| match text {
                Some(text) if text.starts_with('-') => None,
                Some(text) => Some(Code::Shell((*text).to_owned())),
                None => Some(Code::Blind(Blind::Inline(name.to_owned()))),
            });
            texts.flatten().collect()
        }
        None if operand(rest).is_some() => Vec::new(),
        None => from_input(name, command, true),
    }
}

fn inline(
    name: &str,
    rest: &[Option<&str>],
    letters: &str,
    long: &[&str],
    command: &SimpleCommand,
) -> Vec<Code> {
    let operand = operand(rest);
    let options = rest.get(..operand.unwrap_or(rest.len())).unwrap_or_default();
    let by_word = |arg: &&str| long.iter().any(|long| arg == long || arg.starts_with(&format!("{long}=")));
    let by_letter = !letters.is_empty() && option_with(options, letters).is_some();
    // `deno eval` is a word, not an option; a word that is not known may be an option.
    let first = rest.first().copied().flatten();
    let hidden = operand.is_some_and(|at| rest.get(at) == Some(&None));
    if by_letter || hidden || options.iter().flatten().chain(&first).any(by_word) {
        let literals = rest.iter().flatten().map(|text| Code::Literals((*text).to_owned()));
        return [Code::Blind(Blind::Inline(name.to_owned()))].into_iter().chain(literals).collect();
    }
    if operand.is_some() { Vec::new() } else { from_input(name, command, false) }
}

/// Options of interpreters that take the next word as their value.
const VALUED: &[&str] =
    &["-C", "-I", "-L", "-M", "-O", "-W", "-X", "-d", "-l", "-r", "--import", "--loader", "--require"];

/// Where the words name what to run: the first one that is no option and no option's value.
fn operand(rest: &[Option<&str>]) -> Option<usize> {
    let mut valued = false;
    rest.iter().position(|word| {
        let value = std::mem::replace(&mut valued, word.is_some_and(|word| VALUED.contains(&word)));
        !value && word.is_none_or(|word| !word.starts_with('-'))
    })
}

/// Code that comes by a pipe or a here-document.
fn from_input(name: &str, command: &SimpleCommand, shell: bool) -> Vec<Code> {
    let mut found = Vec::new();
    for redirect in command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::HereDocument) {
        match redirect.target.as_static() {
            Some(text) if shell => found.push(Code::Shell(text.to_owned())),
            Some(text) => {
                found.push(Code::Literals(text.to_owned()));
                found.push(Code::Blind(Blind::Input(name.to_owned())));
            }
            None => found.push(Code::Blind(Blind::Input(name.to_owned()))),
        }
    }
    if found.is_empty() && command.place.piped_from.is_some() {
        found.push(Code::Blind(Blind::Input(name.to_owned())));
    }
    found
}

/// A program of awk says which files it opens; most only print columns.
fn awk(name: &str, rest: &[Option<&str>]) -> Vec<Code> {
    let opens = |text: &str| {
        ["getline", "system", "ENVIRON", "@include", "@load"].iter().any(|word| text.contains(word))
            || text.replace("||", "").contains('|')
    };
    let mut found: Vec<Code> = Vec::new();
    for text in rest.iter().flatten() {
        if opens(text) {
            found.push(Code::Blind(Blind::Inline(name.to_owned())));
        }
        found.push(Code::Literals((*text).to_owned()));
    }
    found
}

fn interpreter(name: &str) -> Option<&'static (&'static str, &'static str, &'static [&'static str])> {
    // `python3.12`, `lua5.4`, `node22`: a name with a version behind it.
    INTERPRETERS.iter().find(|(own, ..)| {
        let rest = name.strip_prefix(own);
        rest.is_some_and(|rest| {
            rest.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | 'j' | 's' | 'i' | 't'))
        })
    })
}

/// The first word of short options that holds one of `letters`, in front of the first operand.
fn option_with(rest: &[Option<&str>], letters: &str) -> Option<usize> {
    rest.iter().position(|word| {
        word.and_then(|word| word.strip_prefix(['-', '+']))
            .is_some_and(|cluster| !cluster.starts_with('-') && cluster.contains(|c| letters.contains(c)))
    })
}

/// What stands behind a blank in a script of sed and begins like a path.
pub(super) fn bare(code: &str) -> impl Iterator<Item = &str> {
    code.split([' ', '\t', '\n', ';', '{', '}']).skip(1).filter(|text| text.starts_with(['/', '~']))
}

/// What stands in quotes in code and begins like a path.
pub(super) fn literals(code: &str) -> impl Iterator<Item = &str> {
    let starts =
        |text: &&str| text.starts_with(['/', '~']) || text.starts_with("../") || text.starts_with("file:");
    code.split(['"', '\'', '`']).skip(1).filter(starts)
}

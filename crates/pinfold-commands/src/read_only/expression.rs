//! Programs whose arguments are a language of their own.
//!
//! Reviewed against: GNU findutils 4.9, POSIX `test` and bash 5.2, procps 4.0, GNU sed 4.9, jq 1.7, vim's xxd.

use pinfold_shell::Word;

use super::strict::{Argument, read};
use super::words::{is_no_option, names_files};
use crate::program::{Program, Scanned, Takes};

/// `find`: where it starts, then tests and actions that only show. `-exec`, `-ok`, `-delete`, `-fprint` and
/// `-files0-from` are not among them.
pub(super) fn find(program: &'static Program, args: &[Word]) -> bool {
    let mut words = args.iter().peekable();
    while words
        .next_if(|word| matches!(word.as_static(), Some("-H" | "-L" | "-P" | "-O1" | "-O2" | "-O3")))
        .is_some()
    {}
    while let Some(start) = words.next_if(|word| is_no_option(word) && !is_operator(word)) {
        if !names_files(start) {
            return false;
        }
    }
    while let Some(word) = words.next() {
        let Some(text) = word.as_static() else { return false };
        let known = match find_test(program, text) {
            _ if is_operator(word) => true,
            Some(Takes::Nothing) => true,
            Some(Takes::Value) => words.next().is_some_and(|value| value.as_static().is_some()),
            Some(Takes::Glued) | None => false,
        };
        if !known {
            return false;
        }
    }
    true
}

fn is_operator(word: &Word) -> bool {
    matches!(word.as_static(), Some("(" | ")" | "!" | ","))
}

/// Returns whether a test or an action of find that was reviewed takes the next word; nothing if it was not.
fn find_test(program: &'static Program, name: &str) -> Option<Takes> {
    let safe = program.safe_options().any(|option| option == name);
    program.option(name).filter(|_| safe).map(|options| options.takes)
}

/// `test` and `[`: compares texts and asks about files. An array index in `-v` could run something.
pub(super) fn test(name: &str, args: &[Word]) -> bool {
    let closed = name != "[" || args.last().and_then(Word::as_static) == Some("]");
    closed && args.iter().all(|word| word.as_static().is_some_and(|text| !matches!(text, "-v" | "-R" | "-t")))
}

/// `ps`: everything but what shows environments.
pub(super) fn ps(args: &[Word]) -> bool {
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let Some(takes_next) = word.as_static().and_then(ps_option) else { return false };
        if takes_next && words.next().and_then(Word::as_static).is_none_or(|value| value.contains("env")) {
            return false;
        }
    }
    true
}

/// Returns whether an option of `ps` takes the next word; nothing if it is not listed. Letters without a dash are options
/// as well, and `e` among them is the one that shows environments.
fn ps_option(text: &str) -> Option<bool> {
    if let Some(long) = text.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let valued = PS_VALUED.contains(&name);
        let listed = valued || (PS_PLAIN.contains(&name) && value.is_none());
        return (listed && value.is_none_or(|value| !value.contains("env")))
            .then_some(valued && value.is_none());
    }
    if let Some(letters) = text.strip_prefix('-') {
        return letters_and_value(letters, "AaNdefFlMjPyZcHLmTVw", "CGgopqstuU")
            .filter(|_| !may_be_read_as_bsd(letters));
    }
    if text.bytes().all(|c| c.is_ascii_digit() || c == b',') {
        return Some(false);
    }
    letters_and_value(text, "agTrxjlsuvXZcfhHmnSLVw", "opqtU")
}

/// Returns whether `ps` may read the letters behind a dash as those without one, with an `e` among them. It does so where it cannot
/// make sense of them: `-auxe` has no user `xe`.
pub(crate) fn may_be_read_as_bsd(letters: &str) -> bool {
    let valued = letters.find(|letter| "GgpqstuU".contains(letter));
    let value = valued.and_then(|at| letters.get(at + 1..)).unwrap_or_default();
    let is_known =
        |letter: char| letter.is_ascii_digit() || "AaCdefFGgHjlLmMNoOPpqstTuUVwyZc".contains(letter);
    letters.contains('e') && (value.contains('e') || !letters.chars().all(is_known))
}

/// Returns whether the letters are listed; `Some(true)` if the last one takes the next word as its value.
fn letters_and_value(letters: &str, plain: &str, valued: &str) -> Option<bool> {
    let at = letters.find(|letter| valued.contains(letter)).unwrap_or(letters.len());
    let (before, from) = letters.split_at(at);
    if !before.chars().all(|letter| plain.contains(letter)) {
        return None;
    }
    match from.len() {
        0 => Some(false),
        1 => Some(true),
        _ => (!from.contains("env")).then_some(false),
    }
}

const PS_VALUED: &[&str] = &[
    "pid",
    "ppid",
    "user",
    "User",
    "group",
    "Group",
    "tty",
    "sid",
    "quick-pid",
    "sort",
    "format",
    "cols",
    "columns",
    "rows",
    "lines",
    "width",
];

const PS_PLAIN: &[&str] = &[
    "forest",
    "headers",
    "no-headers",
    "no-heading",
    "deselect",
    "context",
    "cumulative",
    "info",
    "version",
    "help",
];

/// `sed -n`, with nothing but lines and ranges to print: `5p`, `1,20p`, `$p`, `/x/p`, `/x/,/y/p`, `$=`. Everything
/// else in its language may write files or run commands.
pub(super) fn sed<'a>(program: &'static Program, args: &'a [Word], scanned: Option<&Scanned<'a>>) -> bool {
    let Some(arguments) = read(program, args, scanned) else { return false };
    let mut quiet = false;
    let mut scripts = Vec::new();
    let mut operands = Vec::new();
    for argument in &arguments {
        match argument {
            Argument::Option("-n" | "--quiet" | "--silent", _) => quiet = true,
            Argument::Option("-e" | "--expression", Some(script)) => scripts.extend(script.as_static()),
            Argument::Option(..) => {}
            Argument::Operand(word) => operands.push(*word),
        }
    }
    let files = if scripts.is_empty() {
        let Some((script, files)) = operands.split_first() else { return false };
        let Some(script) = script.as_static() else { return false };
        scripts.push(script);
        files
    } else {
        operands.as_slice()
    };
    quiet
        && scripts.iter().all(|script| script.split([';', '\n']).all(only_prints))
        && files.iter().all(|word| names_files(word))
}

/// Returns whether a command of sed prints lines that addresses name, and nothing else. Patterns may not hold `;`.
fn only_prints(command: &str) -> bool {
    let command = command.trim();
    if command.is_empty() {
        return true;
    }
    let Some(addresses) = command.strip_suffix(['p', '=', 'q']) else { return false };
    let Some(rest) = address(addresses.trim_end_matches('!').trim_end()) else { return false };
    match rest.strip_prefix(',') {
        None => rest.is_empty(),
        Some(second) => {
            let relative = second.strip_prefix(['+', '~']).unwrap_or(second);
            address(relative) == Some("")
        }
    }
}

/// Returns the text behind one address: a number, `$`, `/pattern/`; nothing at all is one too.
fn address(text: &str) -> Option<&str> {
    if let Some(pattern) = text.strip_prefix('/') {
        let mut escaped = false;
        let end = pattern.find(|c| {
            let ends = c == '/' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        })?;
        return pattern.get(end + 1..);
    }
    match text.strip_prefix('$') {
        Some(rest) => Some(rest),
        None => Some(text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '~')),
    }
}

/// `jq`: a filter on the line, then files. Its language cannot write or run; it can show the environment, and load
/// what `import` names.
pub(super) fn jq(program: &'static Program, args: &[Word]) -> bool {
    let mut plain = Vec::with_capacity(args.len());
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.as_static() {
            // Behind it every word is an operand.
            Some("--") => {
                plain.push(word.clone());
                plain.extend(words.by_ref().cloned());
            }
            // A name and a value.
            Some("--arg" | "--argjson") => {
                if words.by_ref().take(2).filter(|word| word.as_static().is_some()).count() < 2 {
                    return false;
                }
            }
            _ => plain.push(word.clone()),
        }
    }
    let Some(arguments) = read(program, &plain, None) else { return false };
    let mut operands = arguments.iter().filter_map(Argument::operand);
    let filter = operands.next().map(|word| word.as_static());
    filter.is_none_or(|filter| filter.is_some_and(is_closed_filter)) && operands.all(names_files)
}

/// Returns whether a filter names neither the environment nor a module. A field of such a name (`.env`) is fine.
fn is_closed_filter(filter: &str) -> bool {
    let mut before = None;
    filter.split_inclusive(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).all(|piece| {
        let name = piece.trim_end_matches(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let is_field = before == Some('.');
        before = piece.chars().last();
        is_field
            || !matches!(
                name,
                "env" | "ENV" | "import" | "include" | "input_filename" | "modulemeta" | "get_search_list"
            )
    })
}

/// `command -v NAME`: says what the name stands for.
pub(super) fn command(args: &[Word]) -> bool {
    match args.split_first() {
        Some((option, names)) => {
            matches!(option.as_static(), Some("-v" | "-V"))
                && names.iter().all(|name| name.as_static().is_some_and(|name| !name.starts_with('-')))
        }
        None => false,
    }
}

/// `xxd`: reads the first operand; a second one would be written, and `-r` makes bytes of text.
pub(super) fn xxd(args: &[Word]) -> bool {
    let mut operands = 0;
    let mut words = args.iter();
    while let Some(word) = words.next() {
        // Options end at the first operand.
        if operands > 0 || is_no_option(word) {
            operands += 1;
            if operands > 1 || !names_files(word) || word.as_static().is_none() {
                return false;
            }
            continue;
        }
        let Some(text) = word.as_static() else { return false };
        let glued = text
            .get(2..)
            .is_some_and(|value| !value.is_empty() && value.bytes().all(|c| c.is_ascii_digit() || c == b'x'));
        match text {
            "-a" | "-b" | "-C" | "-d" | "-e" | "-E" | "-h" | "-i" | "-p" | "-ps" | "-u" | "-v" => {}
            "-c" | "-g" | "-l" | "-n" | "-o" | "-s" | "-R" => {
                if words.next().is_none_or(|value| value.as_static().is_none()) {
                    return false;
                }
            }
            _ if glued
                && text.starts_with(['-'])
                && matches!(text.as_bytes().get(1), Some(b'c' | b'g' | b'l' | b'o' | b's')) => {}
            _ => return false,
        }
    }
    operands <= 1
}

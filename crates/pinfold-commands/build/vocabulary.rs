//! The words of the catalog, and the types of `src/program` that they stand for.

/// Operations on a file, by the word for it; with `-aside` behind it, beside the purpose of the program.
const OPERATIONS: &[(&str, &str)] = &[
    ("reads", "Read"),
    ("lists", "List"),
    ("searches", "Search"),
    ("writes", "Write"),
    ("edits", "Edit"),
    ("deletes", "Delete"),
    ("makes-folder", "MakeDir"),
    ("copies-from", "CopyFrom"),
    ("copies-to", "CopyTo"),
    ("moves-from", "MoveFrom"),
    ("moves-to", "MoveTo"),
];

/// Effects of options that one word says; each is a variant of `OptionEffect` by that name.
const EFFECTS: &[&str] = &[
    "plain",
    "text",
    "works-in",
    "code-folder",
    "code-file",
    "command-line",
    "code",
    "in-place",
    "in-place-suffix",
    "for-first",
    "for-first-file",
    "first-is-command-line",
    "split-words",
    "writes-or-pipes",
    "setting",
    "config-file",
    "writes-here",
    "write-out",
    "define",
    "pass-on",
    "module",
    "mount",
    "container-network",
    "build-output",
    "into",
    "archive",
    "query",
    "sed-script",
    "target-folder",
    "at-file",
    "form-file",
    "encoded-file",
    "format",
    "host",
    "tracked",
    "unnamed-files",
];

/// Reasons that have a word of their own.
const REASONS: &[(&str, &str)] =
    &[("runs", "runs the program that it names"), ("loads", "loads code or settings from where it says")];

/// Styles of options.
pub(crate) const STYLES: &[(&str, &str)] = &[
    ("gnu", "Gnu"),
    ("go", "Go"),
    ("single", "Single"),
    ("glued", "Glued"),
    ("apart", "Apart"),
    ("none", "Plain"),
];

/// Kinds of programs. One whose operands are a program, a line or a script is of that kind without a word.
pub(crate) const KINDS: &[(&str, &str)] = &[
    ("wrapper", "Wrapper"),
    ("launcher", "Launcher"),
    ("shell", "Shell"),
    ("foreign-shell", "ForeignShell"),
    ("interpreter", "Interpreter"),
];

/// Returns the kind of a program by its operands, as source.
pub(crate) fn kind_by_operands(operands: &str) -> &'static str {
    match operands.strip_prefix("Operands::").unwrap_or_default().split('(').next().unwrap_or_default() {
        "Command" | "Environment" | "Elsewhere" | "Line" => "Launcher",
        "Script" => "Interpreter",
        "ShellScript" => "Shell",
        _ => "Plain",
    }
}

/// Things that a program takes from the folder that it works in.
pub(crate) const FOLDERS: &[(&str, &str)] =
    &[("repository", "Repository"), ("changes-repository", "ChangesRepository"), ("code", "ExecutedFiles")];

/// Uses of a place that a word names of which nothing is said.
pub(crate) const REACHES: &[(&str, &str)] = &[("text", "Text"), ("reads", "Reads")];

/// Effect of an option.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Effect {
    /// Source of a `OptionEffect`.
    Source(String),
    /// The reason why only a rule that names the option covers it.
    OnlyByName(String),
}

/// The name that a word stands for.
pub(crate) fn look_up(words: &[(&str, &'static str)], word: &str) -> Option<&'static str> {
    words.iter().find(|(own, _)| *own == word).map(|(_, name)| *name)
}

/// The variant that a word names: `for-first` is `ForFirst`.
fn variant(word: &str) -> String {
    let part =
        |part: &str| part.get(..1).unwrap_or_default().to_uppercase() + part.get(1..).unwrap_or_default();
    word.split('-').map(part).collect()
}

/// Returns the effect of the options of a line, by its first word, the words behind it that are no options, and its quoted text.
pub(crate) fn effect(key: &str, words: &[&str], quoted: Option<&str>) -> Option<Effect> {
    if key == "only-by-name" {
        return quoted.filter(|_| words.is_empty()).map(|why| Effect::OnlyByName(why.to_owned()));
    }
    if key == "otherwise" {
        return Some(Effect::Source(format!("OptionEffect::Otherwise({})", operands(words)?)));
    }
    if !words.is_empty() || quoted.is_some() {
        return None;
    }
    let by_word = EFFECTS.contains(&key).then(|| format!("OptionEffect::{}", variant(key)));
    let by_operation = || path(key).map(|path| format!("OptionEffect::Path({path})"));
    let by_reason = || look_up(REASONS, key).map(|why| Effect::OnlyByName(why.to_owned()));
    by_word.or_else(by_operation).map(Effect::Source).or_else(by_reason)
}

/// Returns the operands that a program that only reads may have: the kind, and the names that belong to it.
pub(crate) fn read_only<'a>(words: &[&'a str]) -> Option<(String, Vec<&'a str>)> {
    let (kind, names) = match words {
        ["none"] => ("None".to_owned(), &[][..]),
        ["text"] => ("Text".to_owned(), &[][..]),
        ["files"] => ("Files".to_owned(), &[][..]),
        ["objects"] => ("Objects".to_owned(), &[][..]),
        ["trees"] => ("Trees".to_owned(), &[][..]),
        ["any"] => ("Any".to_owned(), &[][..]),
        ["at-most", most] => (format!("AtMost({})", most.parse::<u8>().ok()?), &[][..]),
        ["starting", first] => (format!("Starting({:?})", first.chars().next()?), &[][..]),
        ["own", reading] => (format!("Own(OwnCheck::{})", pascal(reading)), &[][..]),
        ["search", names @ ..] => ("Search".to_owned(), names),
        ["with", names @ ..] => ("With".to_owned(), names),
        ["verb", names @ ..] => ("Verb".to_owned(), names),
        ["needs", names @ ..] => ("Needs".to_owned(), names),
        _ => return None,
    };
    Some((kind, names.to_vec()))
}

/// `reads`, `writes-aside`.
fn path(word: &str) -> Option<String> {
    let (word, purpose) = match word.strip_suffix("-aside") {
        Some(word) => (word, "Aside"),
        None => (word, "Command"),
    };
    look_up(OPERATIONS, word).map(|name| format!("Operation::{name}, Purpose::{purpose}"))
}

/// Returns the kind of the operands.
pub(crate) fn operands(words: &[&str]) -> Option<String> {
    let behind = |words: &[&str]| match words {
        [] => Some(0),
        ["after", count] => count.parse::<u8>().ok(),
        _ => None,
    };
    let inner = match words {
        ["nothing"] => "Nothing".to_owned(),
        ["each", operation] => format!("Each({})", path(operation)?),
        ["after-first", operation] => format!("AfterFirst({})", path(operation)?),
        ["last", from, to] => {
            let (from, to) = (look_up(OPERATIONS, from)?, look_up(OPERATIONS, to)?);
            format!("Last(Operation::{from}, Operation::{to})")
        }
        ["program", rest @ ..] => format!("Command({})", behind(rest)?),
        ["environment-and-program"] => "Environment".to_owned(),
        ["program-elsewhere", rest @ ..] => format!("Elsewhere({})", behind(rest)?),
        ["command-line", rest @ ..] => format!("Line({})", behind(rest)?),
        ["script"] => "Script".to_owned(),
        ["shell-script"] => "ShellScript".to_owned(),
        ["hosts"] => "Hosts".to_owned(),
        ["own", reading] => format!("Own(OwnReading::{})", pascal(reading)),
        _ => return None,
    };
    Some(format!("Operands::{inner}"))
}

/// `first-program` as `FirstProgram`.
fn pascal(word: &str) -> String {
    let capital = |part: &str| {
        let mut letters = part.chars();
        letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect::<String>()
    };
    word.split('-').map(capital).collect()
}

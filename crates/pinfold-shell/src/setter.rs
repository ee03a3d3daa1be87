//! Builtins of the shell that set variables which their words name.

use crate::lexer::{begins_name, in_name};
use crate::numbers::set_in;
use crate::script::{Part, Word};
use crate::variables::NewValue;

/// The way a builtin sets variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setter {
    /// By `NAME=value` among its words: `export A=1`.
    Declares,
    /// Words that are no options are names that it fills: `read a b`.
    Reads,
    /// The word behind this option is a name that it fills: `v` for `printf -v a`.
    ByOption(char),
    /// By arithmetic: `let`.
    Counts,
    /// Takes the value away: `unset`.
    Removes,
}

impl Setter {
    /// Returns the way of a builtin, by its name; nothing for one that sets no variable.
    pub fn from_name(builtin: &str) -> Option<Self> {
        Some(match builtin {
            "export" | "declare" | "typeset" | "local" | "readonly" => Self::Declares,
            "read" | "mapfile" | "readarray" | "getopts" => Self::Reads,
            "printf" => Self::ByOption('v'),
            "wait" => Self::ByOption('p'),
            "let" => Self::Counts,
            "unset" => Self::Removes,
            _ => return None,
        })
    }

    /// Returns whether it gives variables a value, which some of its words name.
    pub fn has_values(self) -> bool {
        match self {
            Self::Declares | Self::Reads | Self::ByOption(_) => true,
            Self::Counts | Self::Removes => false,
        }
    }
}

/// Returns whether bash sets a variable by itself, whatever a script assigns to it.
fn is_kept_by_bash(name: &str) -> bool {
    matches!(
        name,
        "_" | "DIRSTACK"
            | "FUNCNAME"
            | "GROUPS"
            | "PIPESTATUS"
            | "OPTARG"
            | "REPLY"
            | "MAPFILE"
            | "COPROC"
            | "HOME"
            | "PWD"
            | "OLDPWD"
    )
}

/// Returns whether such a variable holds a number.
fn is_counted_by_bash(name: &str) -> bool {
    matches!(
        name,
        "RANDOM"
            | "SRANDOM"
            | "SECONDS"
            | "LINENO"
            | "HISTCMD"
            | "UID"
            | "EUID"
            | "PPID"
            | "OPTIND"
            | "BASHPID"
            | "BASH_SUBSHELL"
            | "EPOCHSECONDS"
    )
}

/// Returns whether a parameter holds a number that bash gives it, where a script has not unset or assigned it.
pub fn is_number_by_bash(name: &str) -> bool {
    is_counted_by_bash(name) || matches!(name, "?" | "#" | "$" | "!" | "SHLVL")
}

/// Returns whether bash sets a variable of this name by itself, at its start or later, whatever a script assigns to it.
pub fn is_set_by_bash(name: &str) -> bool {
    is_kept_by_bash(name) || is_counted_by_bash(name) || name.starts_with("BASH") || name.starts_with("EPOCH")
}

/// Returns the builtin that a command is, behind words that only say that one follows, and its arguments. Its name is `None`
/// where that is known only at run time; a program that is named by its path is no builtin.
pub fn builtin(words: &[Word]) -> Option<(Option<&str>, &[Word])> {
    let says_nothing = |word: &&Word| {
        matches!(word.as_static(), Some("builtin" | "command" | "exec" | "time" | "-p" | "--"))
    };
    let at = words.iter().take_while(says_nothing).count();
    let (name, args) = words.get(at..)?.split_first()?;
    let by_path = name.parts.iter().any(|part| matches!(part, Part::Literal(text) if text.contains('/')));
    (!by_path).then(|| (name.as_static(), args))
}

/// The name of a variable that a builtin changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangedName<'w> {
    /// This one.
    Known(&'w str),
    /// Known only at run time.
    Any,
    /// Known only at run time, and so is whether it is such a builtin at all.
    AnyByProgram,
}

/// Calls `each` with every variable that the words of a command change, if it is a builtin that does, and the value.
pub fn changes_by<'w>(words: &'w [Word], mut each: impl FnMut(ChangedName<'w>, NewValue<'w>)) {
    let Some((name, args)) = builtin(words) else { return };
    let Some(name) = name else { return by_unknown_program(args, &mut each) };
    match Setter::from_name(name) {
        Some(Setter::Declares) => declares(name, args, &mut each),
        Some(Setter::Reads) => {
            for word in args {
                named(word, NewValue::Unknown, &mut each);
            }
            for (default, value) in defaults(name) {
                each(ChangedName::Known(default), *value);
            }
        }
        Some(Setter::ByOption(letter)) => by_option(args, letter, &mut each),
        Some(Setter::Counts) => {
            for word in args {
                counts(word, &mut each);
            }
        }
        Some(Setter::Removes) => {
            for word in args {
                named(word, NewValue::Removed, &mut each);
            }
        }
        None => {}
    }
}

/// The variables that a builtin sets by itself.
fn defaults(reader: &str) -> &'static [(&'static str, NewValue<'static>)] {
    match reader {
        "read" => &[("REPLY", NewValue::Unknown)],
        "getopts" => &[("OPTARG", NewValue::Unknown), ("OPTIND", NewValue::Number)],
        _ => &[("MAPFILE", NewValue::Unknown)],
    }
}

/// A word as the name of a variable.
enum Name<'w> {
    /// This one.
    Is(&'w str),
    /// Known only at run time.
    Any,
    /// No name, whatever the rest of the word is: an option, a number, a text with blanks.
    No,
}

impl<'w> Name<'w> {
    /// `NAME`, `NAME=…`, `NAME+=…`, `NAME[…]=…`.
    fn from_word(word: &'w Word) -> Self {
        let front = word.literal_prefix();
        let name = front.split(['=', '[', '+']).next().unwrap_or(front);
        let ends = name.len() < front.len() || word.as_static().is_some();
        let may_be_name = name.bytes().all(in_name) && name.bytes().next().is_none_or(begins_name);
        match (may_be_name, ends) {
            (false, _) => Self::No,
            (true, false) => Self::Any,
            (true, true) if name.is_empty() => Self::No,
            (true, true) => Self::Is(name),
        }
    }
}

fn named<'w>(word: &'w Word, value: NewValue<'w>, each: &mut impl FnMut(ChangedName<'w>, NewValue<'w>)) {
    match Name::from_word(word) {
        Name::Is(name) => each(ChangedName::Known(name), value),
        Name::Any => each(ChangedName::Any, value),
        Name::No => {}
    }
}

/// Letters of options by which a variable holds something else than what is written.
const ALTERING: &[char] = &['a', 'A', 'c', 'i', 'l', 'n', 'u'];

fn declares<'w>(name: &str, args: &'w [Word], each: &mut impl FnMut(ChangedName<'w>, NewValue<'w>)) {
    let options = || args.iter().filter_map(|word| Some((word, word.literal_prefix().strip_prefix('-')?)));
    let altered = options().any(|(_, letters)| letters.contains(ALTERING));
    // A name that stands for another one.
    let refers = matches!(name, "declare" | "typeset" | "local")
        && options().any(|(word, letters)| letters.contains('n') || word.as_static().is_none());
    if refers {
        each(ChangedName::Any, NewValue::Unknown);
    }
    for word in args {
        named(word, argument(word, altered), each);
    }
}

/// The value that `NAME=value` gives, as an argument.
fn argument(word: &Word, altered: bool) -> NewValue<'_> {
    let Some((name, text)) = word.literal_prefix().split_once('=') else {
        return NewValue::Kept { altered };
    };
    NewValue::Argument { word, text, altered: altered || name.ends_with(['+', ']']) }
}

fn by_option<'w>(args: &'w [Word], letter: char, each: &mut impl FnMut(ChangedName<'w>, NewValue<'w>)) {
    let mut args = args.iter();
    let mut found = false;
    while let Some(word) = args.next() {
        let Some(letters) = word.literal_prefix().strip_prefix('-') else {
            // In front of the operands this may be another such option.
            if found && word.literal_prefix().is_empty() && word.as_static().is_none() {
                each(ChangedName::Any, NewValue::Unknown);
            }
            return;
        };
        let name = letters.split_once(letter).map(|(_, glued)| glued);
        match (name, word.as_static()) {
            (_, Some("--")) => return,
            (None, Some(_)) => {}
            (Some(""), Some(_)) => {
                if let Some(word) = args.next() {
                    named(word, NewValue::Unknown, each);
                }
            }
            (Some(glued), Some(_)) => {
                let end = glued.find('[').unwrap_or(glued.len());
                each(ChangedName::Known(glued.get(..end).unwrap_or(glued)), NewValue::Unknown);
            }
            (_, None) => each(ChangedName::Any, NewValue::Unknown),
        }
        found |= name.is_some();
    }
}

/// An expression: what it sets becomes a number.
fn counts<'w>(word: &'w Word, each: &mut impl FnMut(ChangedName<'w>, NewValue<'w>)) {
    for part in &word.parts {
        match part {
            Part::Literal(text) => {
                set_in(text).for_each(|name| each(ChangedName::Known(name), NewValue::Number));
            }
            _ => each(ChangedName::Any, NewValue::Number),
        }
    }
}

/// Whatever a builtin could change by these words.
fn by_unknown_program<'w>(args: &'w [Word], each: &mut impl FnMut(ChangedName<'w>, NewValue<'w>)) {
    for word in args {
        match Name::from_word(word) {
            Name::Is(name) => each(ChangedName::Known(name), argument(word, true)),
            Name::Any => each(ChangedName::AnyByProgram, NewValue::Unknown),
            Name::No => {}
        }
    }
}

//! Builtins of the shell: those that evaluate their arguments or change what later commands mean satisfy no rule,
//! and a few do nothing at all.

use pinfold_shell::{Part, Setter, SimpleCommand, Word};

use super::NotAllowlistable;
use super::environment;
use super::invocation::Invocation;

/// Builtins that no rule allows, however they are called, and why.
const NEVER: &[(&str, &str)] = &[
    ("eval", "`eval` runs what its words make"),
    ("exec", "`exec` puts another program or other files in place of the shell"),
    ("builtin", "`builtin` evaluates its words"),
    ("trap", "`trap` runs a command line at another time"),
    ("alias", "`alias` changes what later words mean"),
    ("unalias", "`unalias` changes what later words mean"),
    ("shopt", "`shopt` changes how later commands are read"),
    ("enable", "`enable` changes which program a word means"),
    ("let", "`let` evaluates its words"),
    ("fc", "`fc` runs what was run before"),
    ("bind", "`bind` runs commands at a key"),
    ("complete", "`complete` runs commands later"),
    ("compgen", "`compgen` evaluates its words"),
    ("compopt", "`compopt` changes what is run later"),
    ("umask", "`umask` changes who may use the files that are made"),
    ("ulimit", "`ulimit` changes the limits of later commands"),
    ("getopts", "`getopts` sets variables by name"),
    ("coproc", "`coproc` runs its words beside the shell"),
    ("emulate", "`emulate` runs a command line in another dialect"),
    ("zmodload", "`zmodload` loads code into the shell"),
    ("autoload", "`autoload` loads code into the shell"),
    ("repeat", "`repeat` runs its words"),
    ("noglob", "`noglob` runs its words"),
    ("nocorrect", "`nocorrect` runs its words"),
    ("setopt", "`setopt` changes how later commands are read"),
    ("unsetopt", "`unsetopt` changes how later commands are read"),
];

/// Returns whether a builtin assigns or asks by the name of a variable.
fn names_variables(builtin: &str) -> bool {
    matches!(builtin, "test" | "[" | "[[" | "unset")
        || Setter::from_name(builtin).is_some_and(Setter::has_values)
}

/// Options of `set` that only make a script stricter or louder.
const HARMLESS_SET: &[&str] =
    &["-e", "-u", "-x", "-v", "-eu", "-ue", "-ex", "-eux", "+e", "+u", "+x", "+v", "-E", "-eE", "-Ee"];

/// Why no rule may allow this builtin, if it is one.
pub(super) fn not_allowlistable(invocation: &Invocation) -> Vec<NotAllowlistable> {
    let Some(name) = invocation.program() else { return Vec::new() };
    if let Some((_, why)) = NEVER.iter().find(|(never, _)| *never == name) {
        return vec![NotAllowlistable::new("shell-builtin", *why)];
    }
    let args = invocation.args();
    match name {
        "." | "source" => vec![source(args)],
        "command" if !asks(args) => {
            vec![NotAllowlistable::new("shell-builtin", "`command` runs its words past functions")]
        }
        "set" if !is_harmless_set(args) => {
            vec![NotAllowlistable::new("shell-builtin", "`set` changes how later commands are read")]
        }
        "hash" if !args.is_empty() => {
            vec![NotAllowlistable::new("shell-builtin", "`hash` changes which program a word means")]
        }
        _ if names_variables(name) => by_name(name, args),
        _ => Vec::new(),
    }
}

/// A file that is run in the shell itself: a rule has to name it.
fn source(args: &[Word]) -> NotAllowlistable {
    let why = "it runs a file in the shell itself, which may change what every later command means";
    let file =
        args.first().and_then(Word::as_static).filter(|file| !file.split('/').any(|name| name == ".."));
    NotAllowlistable { lifted_by: file.map(str::to_owned), ..NotAllowlistable::new("shell-builtin", why) }
}

/// `command -v name` and `command -V name` only ask.
fn asks(args: &[Word]) -> bool {
    matches!(args.first().and_then(Word::as_static), Some("-v" | "-V"))
}

fn is_harmless_set(args: &[Word]) -> bool {
    let mut args = args.iter();
    let mut any = false;
    while let Some(arg) = args.next() {
        any = true;
        let Some(text) = arg.as_static() else { return false };
        let named =
            matches!(text.strip_suffix('o'), Some("-" | "+" | "-e" | "-u" | "-eu" | "-ue" | "-eux" | "-Eeu"));
        if named {
            if !matches!(
                args.next().and_then(Word::as_static),
                Some("pipefail" | "errexit" | "nounset" | "xtrace")
            ) {
                return false;
            }
        } else if !HARMLESS_SET.contains(&text) {
            return false;
        }
    }
    any
}

/// Builtins that take names of variables: a name may hold an index that is evaluated, or be one that matters.
fn by_name(name: &str, args: &[Word]) -> Vec<NotAllowlistable> {
    let mut not_allowlistable = Vec::new();
    if args.iter().any(evaluates) {
        not_allowlistable.push(NotAllowlistable::new(
            "shell-builtin",
            format!("`{name}` evaluates the index of a variable's name"),
        ));
    }
    let takes_names = match name {
        "test" | "[" | "[[" => {
            if names_variable(args) {
                not_allowlistable.push(NotAllowlistable::new(
                    "shell-builtin",
                    format!("`{name} -v` evaluates the name of a variable"),
                ));
            }
            return not_allowlistable;
        }
        "printf" | "wait" => {
            args.iter().any(|word| starts_option(word, if name == "printf" { 'v' } else { 'p' }))
        }
        _ => true,
    };
    if takes_names {
        not_allowlistable.extend(names(name, args));
    }
    not_allowlistable
}

fn names(name: &str, args: &[Word]) -> Vec<NotAllowlistable> {
    let mut not_allowlistable = Vec::new();
    for word in args {
        let start = word.literal_prefix();
        if start.starts_with(['-', '+']) {
            // Functions, references to other variables, numbers that are evaluated, callbacks.
            let evaluated = match name {
                "mapfile" | "readarray" => "C",
                "unset" => "fn",
                _ if Setter::from_name(name) == Some(Setter::Declares) => "fni",
                _ => "",
            };
            if start.contains(|letter| evaluated.contains(letter)) {
                not_allowlistable.push(NotAllowlistable::new(
                    "shell-builtin",
                    format!("`{name} {start}` evaluates what it is given"),
                ));
            }
            continue;
        }
        if environment::is_assignment(word) {
            not_allowlistable.extend(environment::of_word(word));
        } else if word.as_static().is_none() {
            not_allowlistable.push(NotAllowlistable::new(
                "shell-builtin",
                format!("`{name}` with a name that is known only at run time"),
            ));
        } else if environment::matters(start) && name != "printf" {
            not_allowlistable.push(NotAllowlistable::new(
                "env-assignment",
                format!("`{name} {start}` changes what runs or where it reaches"),
            ));
        } else if environment::matters(start) {
            not_allowlistable
                .push(NotAllowlistable::new("env-assignment", format!("`{name}` may set `{start}`")));
        }
    }
    not_allowlistable
}

fn starts_option(word: &Word, letter: char) -> bool {
    word.literal_prefix().strip_prefix('-').is_some_and(|letters| letters.starts_with(letter))
}

/// `-v NAME[…]`, or `-v` with a name that is not known, or `-R`.
fn names_variable(args: &[Word]) -> bool {
    let asks = |word: &Word| matches!(word.as_static(), Some("-v" | "-R"));
    let plain = |word: &Word| word.as_static().is_some_and(|name| !name.contains('['));
    args.windows(2).any(|pair| matches!(pair, [option, name] if asks(option) && !plain(name)))
}

/// Returns whether the literal text of a word holds a substitution that would be evaluated with it.
fn evaluates(word: &Word) -> bool {
    word.parts.iter().any(|part| match part {
        Part::Literal(text) => text.contains('[') && holds_substitution(text),
        _ => false,
    })
}

fn holds_substitution(text: &str) -> bool {
    text.contains("$(") || text.contains('`') || text.contains("${")
}

/// Returns whether the literal text of a word holds a substitution, which is run where the text is evaluated.
pub(super) fn holds_code(word: &Word) -> bool {
    word.parts
        .iter()
        .any(|part| matches!(part, Part::Literal(text) if text.contains("$(") || text.contains('`')))
}

/// Why an assignment by itself is not let through: what it holds is run where it is evaluated later.
pub(super) fn planted(command: &SimpleCommand) -> Option<NotAllowlistable> {
    let plants = command
        .assignments
        .iter()
        .any(|assignment| holds_code(&assignment.value) || assignment.elements.iter().any(holds_code));
    plants.then(|| {
        NotAllowlistable::new(
            "evaluated-later",
            "a substitution in a variable's text is run where it is evaluated",
        )
    })
}

/// Returns whether a command has no effect beyond its shell, and says at most what it was told. Its redirects and its exclusions
/// are another's.
pub(super) fn is_inert(invocation: &Invocation) -> bool {
    let args = invocation.args();
    match invocation.program() {
        Some(
            "true" | ":" | "false" | "pwd" | "test" | "[" | "[[" | "echo" | "printf" | "break" | "continue"
            | "exit" | "return",
        ) => true,
        Some("set") => is_harmless_set(args),
        Some("cd") => args.iter().all(|word| word.as_static().is_some()),
        Some("cat" | "wait") => args.is_empty(),
        _ => false,
    }
}

//! Arithmetic runs code: reading `x[$(c)]` runs `c`, wherever that text comes from.
//!
//! So it matters what a variable that arithmetic reads can hold. Numbers, names of other such variables and what
//! certain programs print are harmless; a text with a subscript, the content of a file or an argument may be code.
//! Variables that the text does not set are those of the environment, and taken as they are.

use crate::lexer::{begins_name, is_name};
use crate::script::{Part, Script, SimpleCommand, Span, Word};
use crate::variables::{ChangedBy, NewValue, VariableChange, VariableTable};
use std::collections::{BTreeSet, HashSet};

/// Names and substitutions that arithmetic may read.
#[derive(Debug, Default)]
pub(crate) struct ArithmeticReads {
    names: HashSet<String>,
    /// Positions of substitutions that may print anything.
    foreign: Vec<Span>,
    /// There is arithmetic at all.
    any: bool,
    /// Names that it sets.
    set: BTreeSet<String>,
}

impl ArithmeticReads {
    /// Takes note of a piece of arithmetic.
    pub(crate) fn piece(&mut self, text: &str) {
        self.any = true;
        names_in(text).for_each(|name| self.name(name));
        self.set.extend(set_in(text).map(str::to_owned));
    }

    /// The names that it sets, in alphabetical order.
    pub(crate) fn set_names(&self) -> Vec<String> {
        self.set.iter().cloned().collect()
    }

    fn name(&mut self, name: &str) {
        if !self.names.contains(name) {
            self.names.insert(name.to_owned());
        }
    }

    /// Returns the number of foreign substitutions so far.
    pub(crate) fn mark(&self) -> usize {
        self.foreign.len()
    }

    /// Forgets those within a substitution: only what the outer one prints comes out.
    pub(crate) fn forget(&mut self, mark: usize) {
        self.foreign.truncate(mark);
    }

    pub(crate) fn foreign(&mut self, span: Span) {
        self.foreign.push(span);
    }

    /// Returns `true` if a part of the text holds a foreign substitution.
    pub(crate) fn is_foreign(&self, span: &Span) -> bool {
        let from = self.foreign.partition_point(|one| one.start < span.start);
        self.foreign.iter().skip(from).take(1).any(|one| one.start < span.end)
    }

    /// The first value that may be code and is read by arithmetic.
    pub(crate) fn doubtful(mut self, script: &Script) -> Option<Span> {
        if self.names.is_empty() && !self.any {
            return None;
        }
        if script.functions.iter().any(|name| PRINTERS.contains(&name.as_str())) {
            return Some(0..0);
        }
        self.foreign.sort_by_key(|span| span.start);
        let table = VariableTable::from_script(script);
        if let Some(span) = table.any() {
            return Some(span.clone());
        }
        let mut seen: HashSet<String> = HashSet::new();
        let mut waiting: Vec<_> = self.names.iter().cloned().collect();
        while let Some(name) = waiting.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            let doubtful = |change: &VariableChange<'_>| self.code(change, script, &mut waiting);
            if let Some(span) = table.changes(&name).iter().find_map(doubtful) {
                return Some(span);
            }
        }
        None
    }

    /// Finds a change of a variable that gives it what may be code; names in the value are added to those that are read.
    fn code(&self, change: &VariableChange<'_>, script: &Script, names: &mut Vec<String>) -> Option<Span> {
        let mut doubtful = |word: &Word| (!self.harmless(word, names)).then(|| word.span.clone());
        match change.value {
            NewValue::Word(word) | NewValue::Appended(word) => doubtful(word),
            NewValue::List(words) | NewValue::Each(words) => words.iter().find_map(doubtful),
            NewValue::Argument { word, text, .. } => {
                let rest = word.parts.get(1..).unwrap_or_default();
                let harmless = Self::harmless_text(text, names) && self.harmless_parts(rest, word, names);
                (!harmless).then(|| word.span.clone())
            }
            NewValue::Unknown => Some(match change.by {
                ChangedBy::Command(at) => {
                    script.commands.get(at).map_or(0..0, |command| command.span.clone())
                }
                ChangedBy::Loop(_) | ChangedBy::Arithmetic => 0..0,
            }),
            NewValue::Kept { .. } | NewValue::Removed | NewValue::Number => None,
        }
    }

    /// Returns `true` if a value is no code; names in it are added to those that are read.
    fn harmless(&self, word: &Word, names: &mut Vec<String>) -> bool {
        self.harmless_parts(&word.parts, word, names)
    }

    fn harmless_parts(&self, parts: &[Part], word: &Word, names: &mut Vec<String>) -> bool {
        parts.iter().all(|part| match part {
            Part::Literal(text) => Self::harmless_text(text, names),
            Part::Parameter { name, .. } => {
                names.push(name.clone());
                is_name(name) && name != "_" || matches!(name.as_str(), "#" | "?" | "$" | "!" | "-")
            }
            Part::Brace(words) => !words.is_empty() && words.iter().all(|word| self.harmless(word, names)),
            Part::Substitution { .. } => !self.is_foreign(&word.span),
            Part::Glob(_) => false,
            Part::Tilde(_) | Part::Process | Part::Arithmetic => true,
        })
    }

    /// A value is an expression of its own, and one that sets variables could set any.
    fn harmless_text(text: &str, names: &mut Vec<String>) -> bool {
        names.extend(names_in(text).map(str::to_owned));
        !text.contains(['[', '$', '`']) && set_in(text).next().is_none()
    }
}

/// The names in a piece of arithmetic.
fn names_in(text: &str) -> impl Iterator<Item = &str> {
    let pieces = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    pieces.filter(|name| name.bytes().next().is_some_and(begins_name))
}

/// The names that a piece of arithmetic sets: in front of `=` or an operator with `=`, beside `++` or `--`. A name with
/// a subscript counts when anything behind it is set.
pub(crate) fn set_in(text: &str) -> impl Iterator<Item = &str> {
    let last = ["=", "++", "--"].iter().filter_map(|sign| text.rfind(sign)).max();
    names_in(text).filter(move |name| {
        let at = name.as_ptr().addr() - text.as_ptr().addr();
        let end = at + name.len();
        let (before, behind) = (text.get(..at).unwrap_or_default(), text.get(end..).unwrap_or_default());
        let behind = behind.trim_start();
        let counted =
            ["++", "--"].iter().any(|step| before.trim_end().ends_with(step) || behind.starts_with(step));
        counted || is_assigned(behind) || behind.starts_with('[') && last > Some(end)
    })
}

/// Returns `true` if `=`, `+=`, `<<=` … stands here, and not a comparison.
fn is_assigned(text: &str) -> bool {
    let shift = text.strip_prefix("<<").or_else(|| text.strip_prefix(">>"));
    let rest =
        shift.unwrap_or_else(|| text.strip_prefix(['+', '-', '*', '/', '%', '&', '|', '^']).unwrap_or(text));
    rest.starts_with('=') && !rest.starts_with("==")
}

/// Returns `true` if `$1`, `$@` or something in braces stands in a piece of arithmetic.
pub(crate) fn reads_arguments(text: &str) -> bool {
    let argument =
        |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '@' | '*' | '{'));
    text.split('$').skip(1).any(argument)
}

fn name(command: &SimpleCommand) -> Option<&str> {
    command.words.first()?.as_static()
}

fn argument_is(command: &SimpleCommand, position: usize, text: &str) -> bool {
    command.words.get(position).and_then(Word::as_static) == Some(text)
}

/// Returns `true` if these commands, those of one substitution, print nothing but numbers: one pipe that ends with such a
/// program.
pub(crate) fn print_a_number(commands: &[SimpleCommand], first: usize, depth: usize) -> bool {
    let mut last: Option<(usize, &SimpleCommand)> = None;
    for (at, command) in
        commands.iter().enumerate().filter(|(_, command)| command.place.substitution == depth)
    {
        if last.is_some_and(|(before, _)| command.place.piped_from != Some(first + before)) {
            return false;
        }
        last = Some((at, command));
    }
    last.is_some_and(|(_, command)| prints_a_number(command))
}

fn prints_a_number(command: &SimpleCommand) -> bool {
    let arguments: Option<Vec<&str>> = command.words.iter().map(Word::as_static).collect();
    match (name(command), arguments.as_deref()) {
        (Some("wc"), Some([_, options @ ..])) => options.iter().all(|option| option.starts_with('-')),
        (Some("date"), Some([_, .., format])) => format.strip_prefix('+').is_some_and(is_numeric_date),
        (Some("nproc"), Some([_])) | (Some("id"), Some([_, "-u" | "-g"])) => true,
        (Some("seq"), Some([_, numbers @ ..])) => numbers.iter().all(|number| number.parse::<i64>().is_ok()),
        // With several files it names them.
        (Some("grep"), Some([_, "-c", arguments @ ..])) => {
            arguments.len() < 3 && !arguments.iter().any(|argument| argument.starts_with('-'))
        }
        (Some("stat"), _) => {
            argument_is(command, 1, "-c") && STAT.iter().any(|one| argument_is(command, 2, one))
        }
        (Some("git"), _) => argument_is(command, 1, "rev-list") && argument_is(command, 2, "--count"),
        _ => false,
    }
}

/// The programs above; a function of such a name prints what it likes.
const PRINTERS: &[&str] = &["wc", "date", "nproc", "id", "seq", "grep", "stat", "git"];

/// Formats of `stat` that are numbers: size, times, mode, owner, group, links, inode.
const STAT: &[&str] = &["%s", "%W", "%X", "%Y", "%Z", "%a", "%u", "%g", "%h", "%i"];

/// `%s`, `%Y%m%d`: nothing but digits comes out.
fn is_numeric_date(format: &str) -> bool {
    let pieces = format.split('%').skip(1);
    format.starts_with('%')
        && pieces
            .into_iter()
            .all(|piece| matches!(piece, "s" | "N" | "Y" | "m" | "d" | "H" | "M" | "S" | "j" | "u"))
}
#[cfg(test)]
mod tests {
    use crate::parse;

    #[test]
    fn names_that_arithmetic_sets_are_listed_and_those_it_reads_are_not() {
        for (text, set) in [
            ("((PATH=1))", "PATH"),
            ("echo $((x=1,PATH=1))", "PATH x"),
            ("(( a <= b, c >= d, e == f, g != h ))", ""),
            ("((i++)); ((--j)); (( k <<= 2 ))", "i j k"),
            ("(( n += m ))", "n"),
            ("((a[i]=1))", "a"),
            ("echo $(( 1 + two ))", ""),
            ("for ((i=0; i<10; i++)); do :; done", "i"),
            ("[[ PATH=1 -eq 1 ]]", "PATH"),
            ("echo ${x:y=1}", "y"),
            ("echo $((1a))", ""),
        ] {
            assert_eq!(parse(text).numbers.join(" "), set, "{text}");
        }
    }

    #[test]
    fn what_a_builtin_fills_is_opaque_where_arithmetic_reads_it() {
        for text in [
            "read n; echo $((n))",
            "read <<< x; echo $((REPLY))",
            "builtin read n; echo $((n))",
            "printf -vn x; echo $((n))",
            "read m; n=m; echo $((n))",
            "export \"$x\"; echo $((n))",
            "declare -i n='a[$(x)]'; echo $((n))",
        ] {
            assert!(!parse(text).opaque.is_empty(), "{text}");
        }
        for text in [
            "read m; echo $((n))",
            "declare -i n=0; ((n++))",
            "export n=1 m; echo $((n + m))",
            "unset n; echo $((n))",
            "printf -v m '%s' \"$x\"; echo $((n))",
            "while getopts ab: o; do :; done; shift $((OPTIND - 1))",
        ] {
            assert!(parse(text).opaque.is_empty(), "{text}");
        }
    }

    #[test]
    fn a_value_that_sets_a_variable_when_it_is_evaluated_is_opaque() {
        assert!(!parse("x=PATH=1; echo $((x)); ls").opaque.is_empty());
        assert!(parse("x=1; echo $((x)); ls").opaque.is_empty());
    }
}

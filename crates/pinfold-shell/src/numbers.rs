//! Arithmetic runs code: reading `x[$(c)]` runs `c`, wherever that text comes from.
//!
//! So it matters what a variable that arithmetic reads can hold. Numbers, names of other such variables and what
//! certain programs print are harmless; a text with a subscript, the content of a file or an argument may be code.
//! Variables that the text does not set are those of the environment, and taken as they are.

use crate::lexer::{begins_name, is_name};
use crate::script::{Assignment, Part, Script, SimpleCommand, Span, Word};
use crate::setter::Setter;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Names and substitutions that arithmetic may read.
#[derive(Debug, Default)]
pub(crate) struct Evaluated {
    names: HashSet<String>,
    /// Positions of substitutions that may print anything.
    foreign: Vec<Span>,
    /// There is arithmetic at all.
    any: bool,
    /// Names that it sets.
    set: BTreeSet<String>,
}

impl Evaluated {
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
        let read = script.commands.iter().flat_map(read_names).find(|word| self.holds(word));
        if let Some(word) = read {
            return Some(word.span.clone());
        }
        let sets = sets(script);
        let mut by_name: HashMap<&str, Vec<&Assignment>> = HashMap::new();
        for set in &sets {
            by_name.entry(&set.name).or_default().push(set);
        }
        let mut waiting: Vec<_> = self.names.iter().cloned().collect();
        while let Some(name) = waiting.pop() {
            let sets = by_name.remove(name.as_str()).unwrap_or_default();
            for word in sets.into_iter().flat_map(|set| set.elements.iter().chain([&set.value])) {
                if !self.harmless(word, &mut waiting) {
                    return Some(word.span.clone());
                }
            }
        }
        None
    }

    fn holds(&self, word: &Word) -> bool {
        word.as_static().is_none_or(|name| self.names.contains(name))
    }

    /// Returns `true` if a value is no code; names in it are added to those that are read.
    fn harmless(&self, word: &Word, names: &mut Vec<String>) -> bool {
        word.parts.iter().all(|part| match part {
            Part::Literal(text) => {
                names.extend(names_in(text).map(str::to_owned));
                // A value is an expression of its own, and one that sets variables could set any.
                !text.contains(['[', '$', '`']) && set_in(text).next().is_none()
            }
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
}

/// The names in a piece of arithmetic.
fn names_in(text: &str) -> impl Iterator<Item = &str> {
    let pieces = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    pieces.filter(|name| name.bytes().next().is_some_and(begins_name))
}

/// The names that a piece of arithmetic sets: in front of `=` or an operator with `=`, beside `++` or `--`. A name with
/// a subscript counts when anything behind it is set.
fn set_in(text: &str) -> impl Iterator<Item = &str> {
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

/// Everything that sets a variable: in front of commands, as an argument of a builtin, in a loop.
fn sets(script: &Script) -> Vec<Cow<'_, Assignment>> {
    let mut sets: Vec<_> = script.loops.iter().map(Cow::Borrowed).collect();
    for command in &script.commands {
        sets.extend(command.assignments.iter().map(Cow::Borrowed));
        if setter(command) == Some(Setter::Declares) {
            sets.extend(command.words.iter().skip(1).filter_map(argument).map(Cow::Owned));
        }
    }
    sets
}

/// `NAME=value` as an argument.
fn argument(word: &Word) -> Option<Assignment> {
    let (Part::Literal(first), rest) = word.parts.split_first()? else { return None };
    let (name, text) = first.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name).to_owned();
    let mut parts = vec![Part::Literal(text.to_owned())];
    parts.extend(rest.iter().cloned());
    let value = Word { parts, span: word.span.clone(), quoted: word.quoted };
    Some(Assignment { name, value, elements: Vec::new(), appends: false })
}

fn setter(command: &SimpleCommand) -> Option<Setter> {
    Setter::from_name(name(command)?)
}

fn name(command: &SimpleCommand) -> Option<&str> {
    command.words.first()?.as_static()
}

/// Arguments that name a variable which a builtin fills with whatever it reads.
fn read_names(command: &SimpleCommand) -> impl Iterator<Item = &Word> {
    let names = match setter(command) {
        Some(Setter::Reads) => true,
        Some(Setter::ByOption(letter)) => argument_is(command, 1, &format!("-{letter}")),
        Some(Setter::Declares | Setter::Changes) | None => false,
    };
    let skip = if names { 1 } else { usize::MAX };
    command.words.iter().skip(skip)
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
    fn a_value_that_sets_a_variable_when_it_is_evaluated_is_opaque() {
        assert!(!parse("x=PATH=1; echo $((x)); ls").opaque.is_empty());
        assert!(parse("x=1; echo $((x)); ls").opaque.is_empty());
    }
}

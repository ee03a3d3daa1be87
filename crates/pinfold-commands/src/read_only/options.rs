//! Reads arguments strictly: every option has to be one that the table lists, spelled out.

use pinfold_shell::{Part, Word};

use super::words::{is_no_option, names_files};
use crate::safeguard::is_root_kind;

/// A program with the options that only change what it reads and how it shows that.
pub(super) struct Program {
    pub(super) names: &'static [&'static str],
    pub(super) options: Options,
    pub(super) operands: Operands,
    /// No option of it at all runs or writes anything, so that a name which turns out to be an option does not
    /// matter.
    pub(super) tame: bool,
}

/// Options that are let through.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options {
    /// Letters without a value.
    pub(super) plain: &'static str,
    /// Letters whose value is the rest of the cluster, or the next word.
    pub(super) valued: &'static str,
    /// Letters whose value is the rest of the cluster, which may be empty.
    pub(super) glued: &'static str,
    /// Long names: `all` takes no value, `width=` takes one, `color?` takes one behind `=` or none.
    pub(super) long: &'static [&'static str],
}

/// What the operands may be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Operands {
    /// None at all.
    None,
    /// Text that names no file; each has to be known.
    Text,
    /// Files and folders.
    Files,
    /// Files, none of which starts with `@`: such a one is read as options.
    Objects,
    /// Files and folders that are gone through, so that no folder may be among them that holds whole homes.
    Trees,
    /// At most so many files: a further one would be written.
    AtMost(usize),
    /// Text that starts so.
    Starting(char),
    /// A pattern, then `Trees`. One of these options takes the pattern's place.
    Search(&'static [&'static str]),
}

/// One argument.
#[derive(Debug, Clone, Copy)]
pub(super) enum Argument<'a> {
    /// An option of the table by its name, with its value.
    Option(&'a str, Option<&'a str>),
    Operand(&'a Word),
}

impl Program {
    pub(super) fn accepts(&self, args: &[Word]) -> bool {
        match read(std::slice::from_ref(&self.options), args, self.tame) {
            Some(arguments) => self.operands.accept(&arguments),
            None => false,
        }
    }
}

impl Operands {
    pub(super) fn accept(self, arguments: &[Argument<'_>]) -> bool {
        let mut operands = arguments.iter().filter_map(|argument| match argument {
            Argument::Operand(word) => Some(*word),
            Argument::Option(..) => None,
        });
        match self {
            Self::None => operands.next().is_none(),
            Self::Text => operands.all(|word| word.as_static().is_some()),
            Self::Files => operands.all(names_files),
            Self::Objects => {
                operands.all(|word| names_files(word) && !word.literal_prefix().starts_with('@'))
            }
            Self::Trees => operands.all(is_narrow_tree),
            Self::AtMost(most) => {
                operands.clone().count() <= most && operands.all(|word| names_files(word) && is_one(word))
            }
            Self::Starting(first) => {
                operands.all(|word| word.as_static().is_some_and(|text| text.starts_with(first)))
            }
            Self::Search(instead) => {
                let given = arguments
                    .iter()
                    .any(|argument| matches!(argument, Argument::Option(name, _) if instead.contains(name)));
                if !given && operands.next().is_some_and(|pattern| pattern.as_static().is_none()) {
                    return false;
                }
                operands.all(is_narrow_tree)
            }
        }
    }
}

/// Whether a word names files, or folders below which no guarded file of a home lies unnamed.
pub(super) fn is_narrow_tree(word: &Word) -> bool {
    names_files(word) && !is_root_kind(word, None)
}

/// Whether a word stays one word.
fn is_one(word: &Word) -> bool {
    word.as_static().is_some() || !word.parts.iter().any(|part| matches!(part, Part::Glob(_)))
}

/// The arguments, if every option among them is in one of the lists, the first that has it. `tame`: words that may
/// become options do no harm.
pub(super) fn read<'a>(lists: &[Options], args: &'a [Word], tame: bool) -> Option<Vec<Argument<'a>>> {
    let mut found = Vec::with_capacity(args.len());
    let mut words = args.iter();
    while let Some(word) = words.next() {
        if is_no_option(word) || (tame && word.as_static().is_none() && word.literal_prefix().is_empty()) {
            found.push(Argument::Operand(word));
            continue;
        }
        let text = word.as_static()?;
        if text == "--" {
            found.extend(words.by_ref().map(Argument::Operand));
        } else if let Some(long) = text.strip_prefix("--") {
            found.push(read_long(lists, long, &mut words)?);
        } else {
            read_cluster(lists, text.strip_prefix('-')?, &mut words, &mut found)?;
        }
    }
    Some(found)
}

fn read_long<'a>(
    lists: &[Options],
    text: &'a str,
    words: &mut std::slice::Iter<'a, Word>,
) -> Option<Argument<'a>> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    let mut listed = lists.iter().flat_map(|list| list.long);
    let listed = listed.find(|listed| listed.trim_end_matches(['=', '?']) == name)?;
    let value = match (listed.bytes().last(), value) {
        (Some(b'='), None) => Some(words.next()?.as_static()?),
        (Some(b'=' | b'?'), value) => value,
        (_, None) => None,
        (_, Some(_)) => return None,
    };
    Some(Argument::Option(name, value))
}

fn read_cluster<'a>(
    lists: &[Options],
    cluster: &'a str,
    words: &mut std::slice::Iter<'a, Word>,
    found: &mut Vec<Argument<'a>>,
) -> Option<()> {
    let mut rest = cluster;
    while let Some(letter) = rest.chars().next() {
        let (name, behind) = rest.split_at(letter.len_utf8());
        rest = behind;
        let value = match lists.iter().find_map(|list| list.takes(letter))? {
            Takes::Nothing => None,
            Takes::Value if rest.is_empty() => Some(words.next()?.as_static()?),
            Takes::Value | Takes::Rest => Some(std::mem::take(&mut rest)),
        };
        found.push(Argument::Option(name, value));
    }
    Some(())
}

/// What a short option takes.
enum Takes {
    Nothing,
    Value,
    Rest,
}

impl Options {
    /// Whether a long option is listed.
    pub(super) fn has_long(&self, name: &str) -> bool {
        self.long.iter().any(|listed| listed.trim_end_matches(['=', '?']) == name)
    }

    /// What a letter takes, if it is listed.
    fn takes(&self, letter: char) -> Option<Takes> {
        [(self.plain, Takes::Nothing), (self.glued, Takes::Rest), (self.valued, Takes::Value)]
            .into_iter()
            .find_map(|(letters, takes)| letters.contains(letter).then_some(takes))
    }
}

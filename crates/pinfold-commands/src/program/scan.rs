//! Arguments read by a program's own grammar of options.

use std::borrow::Cow;

use pinfold_shell::{Part, Span, Word};

use super::super::words::{known_start, strip_start};
use super::{OptionEffect, Options, Program, Style, Takes, command};

/// One argument, or an option with its value.
#[derive(Clone)]
pub(crate) enum Arg<'a> {
    /// An option.
    Option {
        /// The rows that describe it.
        known: Option<&'static Options>,
        /// As it is written, without its value: `-C`, `-pO`, `--outp`.
        name: &'a str,
        /// The letter that it is, also out of a cluster: `O` of `-pO`.
        letter: Option<char>,
        /// Its value.
        value: Option<Cow<'a, Word>>,
    },
    /// Anything else.
    Operand(&'a Word),
}

/// Arguments as a program reads them.
pub(crate) struct Scanned<'a> {
    /// The program, then its subcommand, and so on.
    pub(crate) levels: Vec<&'static Program>,
    /// The word of the subcommand, if there is one.
    pub(crate) command: Option<&'a str>,
    /// Spans of the words of subcommands.
    pub(crate) commands: Vec<Span>,
    /// In the order of the words, without the words of subcommands and without `--`.
    pub(crate) args: Vec<Arg<'a>>,
    /// There is an option that the tables do not know, or one without its value.
    pub(crate) unknown: bool,
    /// The value of an option looks like an option, and was read as both.
    pub(crate) doubtful: bool,
    /// Words that may turn out to be options.
    pub(crate) hidden: Vec<&'a Word>,
    /// An option, of which a part is known only at run time, may take the word behind it as its value.
    cut_off: bool,
    /// From this argument on a `--` says that there are only operands.
    pub(crate) operands_from: Option<usize>,
    /// Index of the first word that is no option and no value of one: the subcommand, or the first operand.
    pub(crate) first: Option<usize>,
    /// Words of the innermost subcommand: those behind its own.
    own_words: &'a [Word],
    /// Index of the first argument among them.
    own_from: usize,
}

impl<'a> Arg<'a> {
    /// The word, if it is an operand.
    pub(crate) fn operand(&self) -> Option<&'a Word> {
        match self {
            Self::Operand(word) => Some(word),
            Self::Option { .. } => None,
        }
    }

    /// Returns whether it is one of these options of one letter.
    pub(crate) fn is_letter(&self, letters: &str) -> bool {
        matches!(self, Self::Option { letter: Some(letter), .. } if letters.contains(*letter))
    }

    /// Its name without dashes, if it is a long option. It may be the beginning of the full name.
    pub(crate) fn long(&self) -> Option<&'a str> {
        match self {
            Self::Option { name, letter: None, .. } => Some(name.trim_start_matches('-')),
            Self::Option { .. } | Self::Operand(_) => None,
        }
    }

    /// Returns whether it is this long option, also cut short.
    pub(crate) fn is_long(&self, full: &str) -> bool {
        self.long().is_some_and(|name| !name.is_empty() && full.starts_with(name))
    }
}

impl<'a> Scanned<'a> {
    /// Returns whether any argument is one of these options of one letter, or this long one, also cut short.
    pub(crate) fn has(&self, letters: &str, long: &str) -> bool {
        self.args.iter().any(|arg| arg.is_letter(letters) || arg.is_long(long))
    }

    /// Returns whether [`has`](Self::has) holds however the options are completed of which a part is known only at run time:
    /// such a one may take what stands behind it. One that is taken back (`--no-LONG`) does not count.
    pub(crate) fn surely_has(&self, letters: &str, long: &str) -> bool {
        let negates = |arg: &Arg<'_>| {
            let negated = arg.long().and_then(|name| name.strip_prefix("no-"));
            negated.is_some_and(|name| !name.is_empty() && long.starts_with(name))
        };
        !self.cut_off && !self.args.iter().any(negates) && self.has(letters, long)
    }

    /// Each argument with what is known of its value from the beginning on. An option that the catalog does not list, or
    /// whose name is cut off, may have the operand behind it as its value.
    pub(crate) fn with_values(&self) -> impl Iterator<Item = (&Arg<'a>, Option<&str>)> {
        let next = self.args.iter().skip(1).map(Some).chain([None]);
        self.args.iter().zip(next).map(|(arg, next)| {
            let value = match arg {
                Arg::Option { value: Some(value), .. } => Some(known_start(value)),
                Arg::Option { known: None, .. } => next.and_then(Arg::operand).map(known_start),
                Arg::Option { .. } | Arg::Operand(_) => None,
            };
            (arg, value)
        })
    }

    /// The program whose arguments these are: the innermost subcommand.
    pub(crate) fn leaf(&self) -> Option<&'static Program> {
        self.levels.last().copied()
    }

    /// Returns whether `args`, as `program` reads them, are the arguments from [`own_args`](Self::own_args) on.
    pub(crate) fn is_of(&self, program: &'static Program, args: &'a [Word]) -> bool {
        self.leaf().is_some_and(|leaf| std::ptr::eq(leaf, program)) && std::ptr::eq(self.own_words, args)
    }

    /// The arguments of the innermost subcommand, each with its index.
    pub(crate) fn own_args(&self) -> impl Iterator<Item = (usize, &Arg<'a>)> {
        self.args.iter().enumerate().skip(self.own_from)
    }

    /// The operands, in their order.
    pub(crate) fn operands(&self) -> impl Iterator<Item = &'a Word> {
        self.args.iter().filter_map(Arg::operand)
    }
}

/// Reads `args` as `program` would.
pub(crate) fn scan<'a>(program: &'static Program, args: &'a [Word]) -> Scanned<'a> {
    read(program, ArgumentStyle::default(), args)
}

/// Reads `args` as `program` would if its options were written in another style.
pub(crate) fn scan_as<'a>(program: &'static Program, style: Style, args: &'a [Word]) -> Scanned<'a> {
    read(program, ArgumentStyle { style: Some(style), everywhere: false }, args)
}

/// Reads `args` as `program` would if its options could stand behind operands too, and words that start with a dash were
/// options: nothing that looks like one is passed over.
pub(crate) fn scan_everywhere<'a>(program: &'static Program, args: &'a [Word]) -> Scanned<'a> {
    let style = (program.style == Style::Plain).then_some(Style::Gnu);
    read(program, ArgumentStyle { style, everywhere: true }, args)
}

/// Number of programs and subcommands in most commands: `git stash push`.
const USUAL_LEVELS: usize = 3;

/// Manner of reading arguments, beside the catalog.
#[derive(Clone, Copy, Default)]
struct ArgumentStyle {
    /// In place of the style of the program.
    style: Option<Style>,
    /// Options do not end at the first operand.
    everywhere: bool,
}

/// Returns the index of the first word that is no option of `program` and no value of one.
pub(crate) fn first_operand(program: &'static Program, args: &[Word]) -> Option<usize> {
    let begins_operand = |letter: char| !matches!(letter, '-' | '+');
    if args.first().is_some_and(|word| known_start(word).starts_with(begins_operand)) {
        return Some(0);
    }
    let mut scanner = Scanner::new(program, ArgumentStyle::default(), args);
    while scanner.out.first.is_none() {
        let word = scanner.left.next()?;
        scanner.word_with_doubts(word);
    }
    scanner.out.first
}

fn read<'a>(program: &'static Program, manner: ArgumentStyle, args: &'a [Word]) -> Scanned<'a> {
    let mut scanner = Scanner::new(program, manner, args);
    scanner.out.args.reserve(args.len());
    while let Some(word) = scanner.left.next() {
        scanner.word_with_doubts(word);
    }
    scanner.out
}

struct Scanner<'a> {
    left: std::slice::Iter<'a, Word>,
    /// Number of words in all.
    count: usize,
    out: Scanned<'a>,
    manner: ArgumentStyle,
    /// Only operands follow.
    ended: bool,
    /// The value of an option that looks like an option itself.
    doubtful: Option<&'a Word>,
}

impl<'a> Scanner<'a> {
    fn new(program: &'static Program, manner: ArgumentStyle, args: &'a [Word]) -> Self {
        let mut levels = Vec::with_capacity(USUAL_LEVELS);
        levels.push(program);
        let out = Scanned {
            levels,
            command: None,
            commands: Vec::new(),
            args: Vec::new(),
            unknown: false,
            doubtful: false,
            hidden: Vec::new(),
            cut_off: false,
            operands_from: None,
            first: None,
            own_words: args,
            own_from: 0,
        };
        Self { left: args.iter(), count: args.len(), out, manner, ended: false, doubtful: None }
    }

    /// Reads a word and the values that its options take. A value that looks like an option is read as one too: programs differ,
    /// from version to version, in whether an option takes the next word, and the stricter reading counts.
    fn word_with_doubts(&mut self, word: &'a Word) {
        self.scan_word(word);
        if let Some(value) = self.doubtful.take() {
            self.out.doubtful = true;
            self.out.unknown = true;
            let (behind, ended) = (self.left.clone(), self.ended);
            self.scan_word(value);
            (self.left, self.ended, self.doubtful) = (behind, ended, None);
        }
    }

    fn scan_word(&mut self, word: &'a Word) {
        let start = known_start(word);
        let style = self.manner.style.or_else(|| Some(self.out.leaf()?.style)).unwrap_or(Style::Plain);
        if self.ended || style == Style::Plain {
            return self.operand(word);
        }
        let whole = word.as_static().is_some();
        match start {
            "--" if whole => {
                self.ended = true;
                self.out.operands_from = Some(self.out.args.len());
            }
            "-" if whole => self.operand(word),
            "" => {
                if may_be_option(word) {
                    self.out.hidden.push(word);
                }
                self.operand(word);
            }
            _ if !start.starts_with(['-', '+']) => self.operand(word),
            _ if start.starts_with('+') => self.plus(word, start),
            _ => match style {
                Style::Gnu | Style::Go | Style::Apart if start.starts_with("--") => self.long(word, start),
                Style::Gnu | Style::Go => self.cluster(word, start),
                Style::Apart => self.cluster_with_values_apart(word, start),
                Style::Single => self.single(word, start),
                Style::Glued => self.glued(word, start),
                Style::Plain => self.operand(word),
            },
        }
    }

    fn operand(&mut self, word: &'a Word) {
        if let Some(program) = self.out.leaf() {
            // `cargo +nightly test`: the tool chain stands in front of the subcommand.
            let before_command = !program.commands().is_empty() && known_start(word).starts_with('+');
            if before_command && !self.ended && self.out.args.iter().all(|arg| arg.operand().is_none()) {
                return self.push(None, known_start(word), None, None);
            }
            let at = self.count.saturating_sub(self.left.len() + 1);
            self.out.first.get_or_insert(at);
            let first = !self.out.args.iter().any(|arg| matches!(arg, Arg::Operand(_)));
            if first
                && !self.ended
                && let Some(name) = word.as_static()
                && let Some(command) = command(program, name)
            {
                self.out.levels.push(command);
                self.out.commands.push(word.span.clone());
                self.out.command = Some(name);
                (self.out.own_words, self.out.own_from) = (self.left.as_slice(), self.out.args.len());
                return;
            }
            if program.stops && program.style != Style::Plain && !self.manner.everywhere {
                self.ended = true;
            }
        }
        self.out.args.push(Arg::Operand(word));
    }

    fn push(
        &mut self,
        known: Option<&'static Options>,
        name: &'a str,
        letter: Option<char>,
        value: Option<Cow<'a, Word>>,
    ) {
        let missing = known.is_some_and(|options| options.takes == Takes::Value) && value.is_none();
        self.out.unknown |= known.is_none() || missing;
        // What stands behind `-m MODULE` is for the module.
        self.ended |=
            known.is_some_and(|options| matches!(options.effect, OptionEffect::Module)) && value.is_some();
        self.out.args.push(Arg::Option { known, name, letter, value });
    }

    fn next_value(&mut self, known: Option<&'static Options>) -> Option<Cow<'a, Word>> {
        known.filter(|options| options.takes == Takes::Value)?;
        let value = self.left.next()?;
        if looks_like_option(value) {
            self.doubtful = Some(value);
        }
        Some(Cow::Borrowed(value))
    }

    /// `--name`, `--name=value`, and GNU abbreviations of both.
    fn long(&mut self, word: &'a Word, start: &'a str) {
        match start.split_once('=') {
            Some((name, _)) => {
                let value = Cow::Owned(strip_start(word, name.len() + 1));
                self.push(self.long_option(name), name, None, Some(value));
            }
            None if word.as_static().is_none() => self.cut_off(word, start),
            None => {
                let known = self.long_option(start);
                let value = self.next_value(known);
                self.push(known, start, None, value);
            }
        }
    }

    fn long_option(&self, name: &str) -> Option<&'static Options> {
        if let Some(options) = self.named(name) {
            return Some(options);
        }
        if name.len() < 3 {
            return None;
        }
        // Some programs read both the same way (npm).
        if name.contains('_') {
            let is_same = |long: &str| {
                long.len() == name.len()
                    && long.bytes().zip(name.bytes()).all(|(a, b)| a == b || (a, b) == (b'-', b'_'))
            };
            let all = self.out.levels.iter().rev().flat_map(|program| program.options());
            if let Some(options) = all.into_iter().find(|options| options.names().any(is_same)) {
                return Some(options);
            }
        }
        // What it abbreviates is not looked into further than this: the one that matters is assumed.
        let groups = || self.out.levels.iter().rev().flat_map(|program| program.options());
        let abbreviates = |options: &&Options| options.names().any(|long| long.starts_with(name));
        groups()
            .find(|options| !matches!(options.effect, OptionEffect::Plain) && abbreviates(options))
            .or_else(|| groups().find(abbreviates))
    }

    fn named(&self, name: &str) -> Option<&'static Options> {
        self.out.levels.iter().rev().find_map(|program| program.option(name))
    }

    /// `-abc`, `-ovalue`.
    fn cluster(&mut self, word: &'a Word, start: &'a str) {
        // `zip -TT`, `nmap -oN`: a name of its own, not two letters.
        if start.len() > 2
            && word.as_static().is_some()
            && let Some(known) = self.named(start)
        {
            let value = self.next_value(Some(known));
            return self.push(Some(known), start, None, value);
        }
        for (at, letter) in start.char_indices().skip(1) {
            let end = at + letter.len_utf8();
            let known = self.letter(start.get(at..end).unwrap_or_default());
            let name = start.get(..end).unwrap_or(start);
            let glued = end < start.len() || word.as_static().is_none();
            if known.is_none_or(|options| options.takes == Takes::Nothing) {
                self.push(known, name, Some(letter), None);
                continue;
            }
            let equals = start.get(end..).is_some_and(|rest| rest.starts_with('='));
            let skip = usize::from(
                equals && self.out.levels.first().is_some_and(|program| program.style == Style::Go),
            );
            // `-o"$x"` with nothing in it takes the next word.
            self.out.cut_off |= end == start.len() && word.as_static().is_none();
            let value =
                if glued { Some(Cow::Owned(strip_start(word, end + skip))) } else { self.next_value(known) };
            return self.push(known, name, Some(letter), value);
        }
        if word.as_static().is_none() {
            self.hide(word);
        }
    }

    /// `-abc VALUE`: the values of letters stand in the next words, in their order. What stands behind such a letter counts as its value
    /// besides, as other versions may read it; digits are nothing else.
    fn cluster_with_values_apart(&mut self, word: &'a Word, start: &'a str) {
        for (at, letter) in start.char_indices().skip(1) {
            let end = at + letter.len_utf8();
            let (name, rest) = (start.get(..end).unwrap_or(start), start.get(end..).unwrap_or_default());
            let known = self.letter(start.get(at..end).unwrap_or_default());
            if known.is_some_and(|options| options.takes == Takes::Value) && !rest.is_empty() {
                self.push(known, name, Some(letter), Some(Cow::Owned(strip_start(word, end))));
                if rest.bytes().all(|b| b.is_ascii_digit()) {
                    break;
                }
            }
            let value = self.next_value(known);
            self.push(known, name, Some(letter), value);
        }
        if word.as_static().is_none() {
            self.hide(word);
        }
    }

    fn letter(&self, letter: &str) -> Option<&'static Options> {
        let mut name = [b'-'; 1 + char::MAX_LEN_UTF8];
        let end = 1 + letter.len();
        name.get_mut(1..end)?.copy_from_slice(letter.as_bytes());
        self.named(std::str::from_utf8(name.get(..end)?).ok()?)
    }

    /// `-name value`, `-name=value`, with one or two dashes.
    fn single(&mut self, word: &'a Word, start: &'a str) {
        let one_dash =
            |name: &'a str| if name.starts_with("--") { name.get(1..).unwrap_or(name) } else { name };
        if let Some((name, _)) = start.split_once('=') {
            let value = Cow::Owned(strip_start(word, name.len() + 1));
            return self.push(self.named(one_dash(name)), name, None, Some(value));
        }
        if word.as_static().is_none() {
            return self.cut_off(word, start);
        }
        let known = self.named(one_dash(start)).or_else(|| self.named(start));
        let value = self.next_value(known);
        self.push(known, start, only_letter(start), value);
    }

    /// `-name`, `-name value`, `-namevalue`: the longest name that the word starts with.
    fn glued(&mut self, word: &'a Word, start: &'a str) {
        let mut best: Option<(&'static Options, usize)> = None;
        for options in self.out.levels.iter().rev().flat_map(|program| program.options()) {
            for name in options.names() {
                let fits = start == name || options.takes != Takes::Nothing && start.starts_with(name);
                if fits && best.is_none_or(|(_, length)| length < name.len()) {
                    best = Some((options, name.len()));
                }
            }
        }
        let Some((options, length)) = best else { return self.push(None, start, None, None) };
        let name = start.get(..length).unwrap_or(start);
        let whole = length == start.len() && word.as_static().is_some();
        let value = if whole {
            self.next_value(Some(options))
        } else {
            let equals = usize::from(start.get(length..).is_some_and(|rest| rest.starts_with('=')));
            Some(Cow::Owned(strip_start(word, length + equals)))
        };
        self.push(Some(options), name, only_letter(name), value);
    }

    /// `+word`: an option of editors and pagers, an operand for others.
    fn plus(&mut self, word: &'a Word, start: &'a str) {
        match self.letter("+") {
            None if self.named("+").is_none() => self.operand(word),
            _ => {
                let value = Some(Cow::Owned(strip_start(word, 1)));
                self.push(self.named("+"), start.get(..1).unwrap_or(start), None, value);
            }
        }
    }

    /// An option of which only the beginning of the name is known.
    fn cut_off(&mut self, word: &'a Word, start: &'a str) {
        self.push(None, start, None, None);
        self.hide(word);
    }

    /// Options that are known only at run time.
    fn hide(&mut self, word: &'a Word) {
        self.out.hidden.push(word);
        self.out.unknown = true;
        self.out.cut_off = true;
    }
}

/// Returns whether a word that an option would take as its value is written as an option. `-5` and `-` are values as often.
fn looks_like_option(word: &Word) -> bool {
    let mut letters = known_start(word).chars();
    letters.next() == Some('-')
        && letters.next().is_some_and(|letter| letter == '-' || letter.is_alphabetic())
}

/// The letter of an option of one letter.
fn only_letter(name: &str) -> Option<char> {
    let mut letters = name.strip_prefix('-')?.chars();
    letters.next().filter(|_| letters.next().is_none())
}

/// Returns whether a word that starts with no known character could start with a dash.
fn may_be_option(word: &Word) -> bool {
    match word.parts.first() {
        Some(Part::Parameter { name, .. }) => {
            !matches!(name.as_str(), "?" | "#" | "$" | "!" | "HOME" | "PWD" | "OLDPWD" | "UID" | "RANDOM")
        }
        Some(Part::Substitution { .. } | Part::Brace(_)) => true,
        _ => false,
    }
}

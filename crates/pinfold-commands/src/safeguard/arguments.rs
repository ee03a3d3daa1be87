//! Reads a program's arguments the way most programs do: clusters of short options, long ones that may be cut
//! short, `--`, operands anywhere.
//!
//! Of a word that is known only in part the known beginning counts: `-r"$x"` has the option `-r`.

use pinfold_shell::{Part, Word};

/// One thing among the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Argument<'a> {
    /// `-r`, also out of a cluster, with the value that belongs to it.
    Short(char, Option<&'a str>),
    /// `--recursive`, `--prune=now`: name and value. The name may be the beginning of the full one.
    Long(&'a str, Option<&'a str>),
    /// Anything else.
    Operand(&'a Word),
}

impl Argument<'_> {
    /// Returns whether it is one of these short options.
    pub(super) fn is_short(self, letters: &str) -> bool {
        matches!(self, Self::Short(letter, _) if letters.contains(letter))
    }

    /// Returns whether it is this long option, also cut short.
    pub(super) fn is_long(self, full: &str) -> bool {
        matches!(self, Self::Long(name, _) if !name.is_empty() && full.starts_with(name))
    }
}

/// Which options take the next word as their value when none is attached.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Valued {
    /// Letters of short options.
    pub(super) short: &'static str,
    /// Full names of long options.
    pub(super) long: &'static [&'static str],
}

/// The arguments, one by one.
pub(super) fn read(args: &[Word], valued: Valued) -> Arguments<'_> {
    Arguments { rest: args.iter(), cluster: None, operands_only: false, valued }
}

/// Returns whether any argument is one of these short options or this long one, for programs whose options take no
/// separate values.
pub(super) fn has(args: &[Word], letters: &str, long: &str) -> bool {
    read(args, Valued::default()).any(|argument| argument.is_short(letters) || argument.is_long(long))
}

/// The operands of a program whose options take no separate values.
pub(super) fn operands(args: &[Word]) -> impl Iterator<Item = &Word> {
    read(args, Valued::default()).filter_map(|argument| match argument {
        Argument::Operand(word) => Some(word),
        Argument::Short(..) | Argument::Long(..) => None,
    })
}

/// See [`read`].
#[derive(Debug)]
pub(super) struct Arguments<'a> {
    rest: std::slice::Iter<'a, Word>,
    /// What is left of a cluster of short options.
    cluster: Option<&'a str>,
    operands_only: bool,
    valued: Valued,
}

impl<'a> Iterator for Arguments<'a> {
    type Item = Argument<'a>;

    fn next(&mut self) -> Option<Argument<'a>> {
        if let Some(cluster) = self.cluster.take() {
            return self.short(cluster).or_else(|| self.next_word());
        }
        self.next_word()
    }
}

impl<'a> Arguments<'a> {
    fn next_word(&mut self) -> Option<Argument<'a>> {
        let word = self.rest.next()?;
        let text = known(word);
        if self.operands_only {
            return Some(Argument::Operand(word));
        }
        if text == "--" && word.as_static().is_some() {
            self.operands_only = true;
            return self.rest.next().map(Argument::Operand);
        }
        if let Some(long) = text.strip_prefix("--") {
            return Some(self.long(long));
        }
        match text.strip_prefix('-') {
            Some(cluster) if !cluster.is_empty() => self.short(cluster),
            _ => Some(Argument::Operand(word)),
        }
    }

    fn short(&mut self, cluster: &'a str) -> Option<Argument<'a>> {
        let letter = cluster.chars().next()?;
        let rest = cluster.get(letter.len_utf8()..).unwrap_or_default();
        if !self.valued.short.contains(letter) {
            self.cluster = (!rest.is_empty()).then_some(rest);
            return Some(Argument::Short(letter, None));
        }
        let value = if rest.is_empty() { self.rest.next().map(known) } else { Some(rest) };
        Some(Argument::Short(letter, value))
    }

    fn long(&mut self, long: &'a str) -> Argument<'a> {
        match long.split_once('=') {
            Some((name, value)) => Argument::Long(name, Some(value)),
            None if self.valued.long.contains(&long) => Argument::Long(long, self.rest.next().map(known)),
            None => Argument::Long(long, None),
        }
    }
}

/// What is known of a word from its beginning on.
pub(super) fn known(word: &Word) -> &str {
    word.as_static().unwrap_or_else(|| word.literal_prefix())
}

/// The program's last component. A program in an unknown folder (`$(npm bin)/eslint`) still has its name.
pub(super) fn program_name(program: &Word) -> Option<&str> {
    let (Part::Literal(text), before) = program.parts.split_last()? else { return None };
    match text.rsplit_once('/') {
        Some((_, name)) => Some(name),
        None if before.is_empty() => Some(text),
        None => None,
    }
}

/// The subcommand of git with its arguments: what comes after git's own options.
pub(super) fn subcommand(args: &[Word]) -> Option<(&str, &[Word])> {
    let mut rest = args;
    loop {
        let (word, behind) = rest.split_first()?;
        let text = known(word);
        if !text.starts_with('-') {
            return Some((word.as_static()?, behind));
        }
        rest = if GIT_VALUED.contains(&text) { behind.get(1..)? } else { behind };
    }
}

/// Options of git itself whose value is the next word.
const GIT_VALUED: &[&str] = &[
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--exec-path",
    "--super-prefix",
    "--config-env",
    "--attr-source",
    "--list-cmds",
];

/// Returns whether the words are a builtin that sets a variable which this names: `export A=1`, `read A`, `printf -v A`.
pub(super) fn sets_variable(words: &[Word], names: impl Fn(&str) -> bool) -> bool {
    let Some((program, args)) = words.split_first() else { return false };
    let is_meant = |word: &Word| names(known(word).split(['=', '+', '[']).next().unwrap_or_default());
    match known(program) {
        "export" | "declare" | "typeset" | "local" | "readonly" => {
            args.iter().any(|word| known(word).contains('=') && is_meant(word))
        }
        "read" | "mapfile" | "readarray" | "getopts" => args.iter().any(is_meant),
        "printf" => matches!(args, [option, variable, ..] if known(option) == "-v" && is_meant(variable)),
        _ => false,
    }
}

//! Patterns for commands. They are compared word by word, after the shell's quotes are gone: a blank in the
//! pattern stands between two words and never inside one.

use pinfold_shell::{Part, Word};

use super::Glob;

/// Stands between the words of a command: no word can hold it.
pub const SEPARATOR: u8 = 0;

/// Stands for what only running can tell: no word that is read can hold it, and only `*` matches it.
pub const DYNAMIC: u8 = 1;

/// A pattern for the words of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandPattern {
    /// Whole words without wildcards at the start.
    leading: Vec<Box<str>>,
    /// The rest behind them: with the separator in front, when there is one.
    rest: Rest,
}

/// The rest of a pattern behind its leading words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Nothing: the command ends there.
    End,
    /// Anything, or nothing: the `cmd:*` form.
    Anything,
    /// This.
    Glob(Glob),
}

impl CommandPattern {
    /// Reads a pattern: `git status`, `npm run *`, `git*`, `git:*`, and the stored form `git:commit *`.
    ///
    /// # Errors
    /// One clause.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let prefix = text.strip_suffix(":*");
        let mut words = words_of(prefix.unwrap_or(text));
        let Some(first) = words.first() else { return Err("it names no program") };
        if let Some((program, rest)) = stored_form(first) {
            let (program, rest) = (program.to_owned(), rest.to_owned());
            words.splice(..1, [program, rest]);
        }
        let literal = words.iter().take_while(|word| !word.contains(['*', '?'])).count();
        let wild = words.split_off(literal);
        let leading = words.into_iter().map(Into::into).collect::<Vec<Box<str>>>();
        let rest = match (wild.is_empty(), prefix) {
            (true, None) => Rest::End,
            (true, Some(_)) => Rest::Anything,
            (false, None) => Rest::Glob(Glob::new(&join(&wild, &leading))),
            (false, Some(_)) => return Err("`:*` follows a wildcard"),
        };
        Ok(Self { leading, rest })
    }

    /// Whole words at the start, by which rules are found.
    pub(crate) fn leading(&self) -> &[Box<str>] {
        &self.leading
    }

    pub(crate) fn rest(&self) -> &Rest {
        &self.rest
    }

    /// Returns `true` if one command matches, and no other.
    pub fn is_exact(&self) -> bool {
        matches!(self.rest, Rest::End)
    }

    /// Returns `true` if a rule of this pattern names `word` itself, wherever it stands.
    pub fn names(&self, word: &str) -> bool {
        match &self.rest {
            _ if self.leading.iter().any(|own| **own == *word) => true,
            Rest::Glob(glob) => glob.names(word.as_bytes()),
            Rest::End | Rest::Anything => false,
        }
    }

    /// Returns `true` if `word` begins as the rule says in front of its first star: `git diff*` means `git diffx` too.
    pub fn begins(&self, word: &str) -> bool {
        let Rest::Glob(glob) = &self.rest else { return false };
        let start = glob.literal_prefix();
        let start = start.strip_prefix(&[SEPARATOR]).unwrap_or(start);
        !start.is_empty() && !start.contains(&SEPARATOR) && word.as_bytes().starts_with(start)
    }

    /// Returns `true` if it holds an operator of the shell, which no word of a command is.
    pub fn has_operator(&self) -> bool {
        let found = |text: &[u8]| text.iter().any(|b| matches!(b, b'|' | b'&' | b';' | b'<' | b'>'));
        self.leading.iter().any(|word| found(word.as_bytes()))
            || matches!(&self.rest, Rest::Glob(glob) if glob.any_piece(found))
    }

    /// Returns `true` if a whole command line matches, blanks apart and as it is written.
    pub fn matches_text(&self, text: &str) -> bool {
        self.matches(&CommandKey::of_text(text))
    }

    /// Returns `true` if every command that `other` matches is matched by this. `false` also where that cannot be told.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        other.samples().iter().all(|sample| self.matches(sample))
    }

    /// Commands that stand for all it matches: where a star stands, something that only a star matches.
    fn samples(&self) -> Vec<CommandKey> {
        let mut key = CommandKey::default();
        self.leading.iter().for_each(|word| key.push_bytes(word.as_bytes()));
        match &self.rest {
            Rest::End => vec![key],
            Rest::Anything => {
                let mut more = key.clone();
                more.push_bytes(&[DYNAMIC]);
                vec![key, more]
            }
            Rest::Glob(glob) => {
                let sample = glob.sample();
                let words = sample.strip_prefix(&[SEPARATOR]).unwrap_or(&sample);
                let inside = sample.len() == words.len() && !self.leading.is_empty();
                words.split(|&b| b == SEPARATOR).for_each(|word| key.push_bytes(word));
                // A star that goes on in the last whole word would make that word another one.
                if inside { Vec::new() } else { vec![key] }
            }
        }
    }

    /// Returns `true` if the words match.
    pub fn matches(&self, key: &CommandKey) -> bool {
        let mut at = 0;
        for (i, word) in self.leading.iter().enumerate() {
            if key.nth_word(i) != Some(word.as_bytes()) {
                return false;
            }
            at = i + 1;
        }
        self.rest.matches(key, at)
    }
}

/// The words of a pattern, without the quotes that a shell would take away: a rule is often a command that was copied.
/// Wildcards stay wildcards within quotes. Quotes that do not end stand for themselves.
fn words_of(text: &str) -> Vec<String> {
    unquoted(text).unwrap_or_else(|| text.split_whitespace().map(str::to_owned).collect())
}

/// Returns `true` if every quote of a pattern ends.
pub(crate) fn ends_its_quotes(text: &str) -> bool {
    unquoted(text).is_some()
}

fn unquoted(text: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('"'), '\\') => match chars.next()? {
                c @ ('"' | '\\' | '$' | '`') => word.get_or_insert_default().push(c),
                c => word.get_or_insert_default().extend(['\\', c]),
            },
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

impl Rest {
    /// Returns `true` if what follows the first `at` words matches.
    pub(crate) fn matches(&self, key: &CommandKey, at: usize) -> bool {
        match self {
            Self::End => key.len() == at,
            Self::Anything => true,
            Self::Glob(glob) => glob.matches(key.text_after(at)),
        }
    }
}

/// `program:rest` as older settings store it: exactly one colon in the first word, and no address.
fn stored_form(first: &str) -> Option<(&str, &str)> {
    let (program, rest) = first.split_once(':')?;
    let plain = !program.is_empty() && !rest.is_empty() && !rest.contains([':', '/']);
    plain.then_some((program, rest))
}

fn join(words: &[String], leading: &[Box<str>]) -> Vec<u8> {
    let mut joined = Vec::new();
    for (i, word) in words.iter().enumerate() {
        if i > 0 || !leading.is_empty() {
            joined.push(SEPARATOR);
        }
        joined.extend_from_slice(word.as_bytes());
    }
    joined
}

/// The words of a command as patterns see them.
#[derive(Debug, Clone, Default)]
pub struct CommandKey {
    text: Vec<u8>,
    /// End of each word.
    ends: Vec<usize>,
    /// Some of it is known only at run time.
    is_dynamic: bool,
}

impl CommandKey {
    /// The words; `program` instead of the first, when it is given.
    pub fn new(words: &[Word], program: Option<&str>) -> Self {
        let (text, ends) = (Vec::with_capacity(64), Vec::with_capacity(words.len()));
        let mut key = Self { text, ends, is_dynamic: false };
        for (i, word) in words.iter().enumerate() {
            if i > 0 {
                key.text.push(SEPARATOR);
            }
            match (i, program) {
                (0, Some(program)) => key.text.extend_from_slice(program.as_bytes()),
                _ => key.push(word),
            }
            key.ends.push(key.text.len());
        }
        key
    }

    /// The words of a text that are separated by blanks, read as they stand.
    pub(crate) fn of_text(text: &str) -> Self {
        let mut key = Self::default();
        for word in text.split_whitespace() {
            if !key.ends.is_empty() {
                key.text.push(SEPARATOR);
            }
            key.text.extend(word.bytes().filter(|&b| b > DYNAMIC));
            key.ends.push(key.text.len());
        }
        key
    }

    fn push_bytes(&mut self, word: &[u8]) {
        if !self.ends.is_empty() {
            self.text.push(SEPARATOR);
        }
        self.text.extend_from_slice(word);
        self.ends.push(self.text.len());
    }

    fn push(&mut self, word: &Word) {
        for part in &word.parts {
            match part {
                Part::Literal(text) if text.bytes().all(|b| b > DYNAMIC) => {
                    self.text.extend_from_slice(text.as_bytes());
                }
                Part::Literal(text) => self.text.extend(text.bytes().filter(|&b| b > DYNAMIC)),
                // Brackets are no wildcards of rules: who writes `[x]` in one means a command that has it.
                Part::Glob(text) if !text.contains('(') => {
                    self.text
                        .extend(text.bytes().map(|b| if matches!(b, b'*' | b'?') { DYNAMIC } else { b }));
                    self.is_dynamic = true;
                }
                Part::Glob(_)
                | Part::Tilde(_)
                | Part::Parameter { .. }
                | Part::Substitution { .. }
                | Part::Process
                | Part::Arithmetic
                | Part::Brace(_) => {
                    self.text.push(DYNAMIC);
                    self.is_dynamic = true;
                }
            }
        }
    }

    /// Adds unknown further words.
    #[must_use]
    pub fn and_more(mut self) -> Self {
        self.text.extend([SEPARATOR, DYNAMIC]);
        self.ends.push(self.text.len());
        self.is_dynamic = true;
        self
    }

    /// Returns `true` if some of it is known only at run time.
    pub fn is_dynamic(&self) -> bool {
        self.is_dynamic
    }

    /// Returns the number of words.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns `true` if there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// One word.
    pub(crate) fn nth_word(&self, i: usize) -> Option<&[u8]> {
        let start = if i == 0 { 0 } else { self.ends.get(i - 1)? + 1 };
        self.text.get(start..*self.ends.get(i)?)
    }

    /// Returns the text behind the first `count` words, the separator included.
    pub(crate) fn text_after(&self, count: usize) -> &[u8] {
        let start = if count == 0 { 0 } else { self.ends.get(count - 1).copied().unwrap_or(self.text.len()) };
        self.text.get(start..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(command: &str) -> CommandKey {
        let word = |text: &str| Word { parts: vec![Part::Literal(text.to_owned())], ..Word::default() };
        CommandKey::new(&command.split(' ').map(word).collect::<Vec<_>>(), None)
    }

    #[test]
    fn a_blank_stands_between_words_and_a_star_for_any_number_of_them() {
        for (pattern, command, matches) in [
            ("git status", "git status", true),
            ("git status", "git status -s", false),
            ("git *", "git status -s", true),
            ("git *", "git", false),
            ("git *", "gitk x", false),
            ("git*", "gitk x", true),
            ("git*", "git", true),
            ("git:*", "git", true),
            ("git:*", "git a b", true),
            ("git:*", "gitk", false),
            ("npm run test:*", "npm run test", true),
            ("npm run test:*", "npm run test:unit", false),
            ("npm run test:unit", "npm run test:unit", true),
            ("git:commit *", "git commit -m x", true),
            ("*:install", "npm install", true),
            ("npm:*:lodash", "npm:x:lodash", true),
            ("* --version", "rustc --version", true),
            ("* --version", "--version", false),
            ("ls -?", "ls -a", true),
            ("ls -?", "ls -la", false),
            ("curl http://x:80/*", "curl http://x:80/y", true),
            ("echo [x]", "echo [x]", true),
            ("git .*", "git status", false),
        ] {
            assert_eq!(
                CommandPattern::parse(pattern).map(|p| p.matches(&key(command))),
                Ok(matches),
                "{pattern} | {command}"
            );
        }
    }

    #[test]
    fn a_pattern_needs_a_program() {
        assert!(CommandPattern::parse(":*").is_err());
        assert!(CommandPattern::parse("  ").is_err());
    }

    #[test]
    fn what_is_known_only_by_running_matches_a_star_and_nothing_else() {
        let word = Word { parts: vec![Part::Arithmetic], ..Word::default() };
        let key = CommandKey::new(&[word.clone(), word], Some("echo"));
        let matches = |pattern: &str| CommandPattern::parse(pattern).map(|p| p.matches(&key));
        assert_eq!(matches("echo *"), Ok(true));
        assert_eq!(matches("echo ?"), Ok(false));
    }
}

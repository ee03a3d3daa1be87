//! The texts that a word may become.

use pinfold_shell::{Part, Word, is_number_by_bash};

use super::super::pieces::PossibleText;
use super::values::{Values, is_positional};

/// Most texts that one word may become.
const MAX_WORD_SHOWN: usize = 2_048;

/// Most texts that are made of one word that is a sentence, a list or a line: its parts count one by one as well.
const MAX_SENTENCE_SHOWN: usize = 8;

/// Most texts, and bytes of them, that are looked at for one line.
const MAX_TEXTS: usize = 40_000;
const MAX_BYTES: usize = 4 << 20;

/// Most texts, and bytes of them, that are read as if they were a line. The longest line has 64 KiB.
const MAX_LINES: usize = 4_096;
const MAX_LINE_BYTES: usize = 1 << 19;

/// Most names that are gathered of one command.
const MAX_NAMES: usize = 20_000;

/// Any number, as a pattern.
const NUMBER: &str = "[0-9]*";

/// Amounts that were made so far.
#[derive(Debug, Default)]
pub(super) struct TextLimits {
    texts: usize,
    bytes: usize,
    lines: usize,
    line_bytes: usize,
    /// More than is looked at.
    pub(super) exceeded: bool,
    /// A word names a folder that the shell stood in before.
    pub(super) looks_back: bool,
}

impl TextLimits {
    /// Returns whether one more text is made.
    fn takes(&mut self, text: &str) -> bool {
        self.texts += 1;
        self.bytes += text.len();
        self.exceeded |= self.texts > MAX_TEXTS || self.bytes > MAX_BYTES;
        !self.exceeded
    }

    /// Returns whether one more text is read like a line.
    pub(super) fn takes_line(&mut self, text: &str) -> bool {
        self.lines += 1;
        self.line_bytes += text.len();
        self.exceeded |= self.lines > MAX_LINES || self.line_bytes > MAX_LINE_BYTES;
        !self.exceeded
    }

    /// Returns whether so many names of one command are looked at.
    pub(super) fn has_room_for(&mut self, names: usize) -> bool {
        self.exceeded |= names > MAX_NAMES;
        !self.exceeded
    }
}

/// Puts values into words.
pub(super) struct Texts<'v> {
    pub(super) values: &'v Values,
    pub(super) limits: &'v mut TextLimits,
    /// The words are words of a line for certain: where they become more than is looked at, that is said.
    pub(super) sure: bool,
}

impl Texts<'_> {
    /// The texts that a word may become. A sentence, a list and a line count as a whole and by their parts.
    pub(super) fn of_word(&mut self, word: &Word) -> Vec<PossibleText> {
        if self.limits.exceeded {
            return Vec::new();
        }
        if let Some(text) = word.as_static() {
            return if self.limits.takes(text) { vec![PossibleText::plain(text)] } else { Vec::new() };
        }
        let mut parts = split(word);
        if parts.len() < 2 {
            return self.whole(word, MAX_WORD_SHOWN);
        }
        parts.retain(|part| part.as_static().is_none());
        let mut texts = self.whole(word, MAX_SENTENCE_SHOWN);
        for part in &parts {
            texts.extend(self.whole(part, MAX_WORD_SHOWN));
        }
        texts
    }

    /// The texts that words make with blanks between them.
    pub(super) fn joined(&mut self, words: &[Word]) -> Vec<PossibleText> {
        let blank = Part::Literal(" ".to_owned());
        let parts =
            words.iter().skip(1).flat_map(|word| word.parts.iter().chain([&blank])).cloned().collect();
        self.whole(&Word { parts, ..Word::default() }, MAX_SENTENCE_SHOWN)
    }

    fn whole(&mut self, word: &Word, most: usize) -> Vec<PossibleText> {
        let found = self.with_values(word, true, most).or_else(|| self.with_values(word, false, most));
        let found = found.unwrap_or_else(|| {
            self.limits.exceeded |= self.sure && most == MAX_WORD_SHOWN;
            self.with_values(word, false, usize::MAX).unwrap_or_default()
        });
        let says_nothing =
            |text: &PossibleText| text.open == Some(0) && text.text.replace(NUMBER, "").is_empty();
        found
            .into_iter()
            .filter(|text| !text.text.is_empty() && !says_nothing(text) && self.limits.takes(&text.text))
            .collect()
    }

    /// Every text with each value in each place. `None`: more than `most`, or with all of them at most the first few.
    fn with_values(&mut self, word: &Word, may_be_unset: bool, most: usize) -> Option<Vec<PossibleText>> {
        let mut texts = vec![PossibleText::default()];
        let has_text = word.parts.iter().any(|part| matches!(part, Part::Literal(_) | Part::Glob(_)));
        for part in &word.parts {
            let mut choices = self.choices(part, may_be_unset, has_text);
            if texts.len() * choices.len() > most {
                return None;
            }
            if most == usize::MAX {
                choices.truncate((MAX_SENTENCE_SHOWN / texts.len()).max(1));
            }
            // What stands behind the name of a folder begins there: `/$PWD/x`.
            let begins =
                matches!(part, Part::Parameter { name, .. } if matches!(name.as_str(), "PWD" | "OLDPWD"));
            let again =
                (begins && texts.iter().any(|text| !text.text.is_empty())).then(|| PossibleText::plain("."));
            texts = texts.iter().flat_map(|text| choices.iter().map(|choice| append(text, choice))).collect();
            texts.extend(again);
        }
        Some(texts)
    }

    /// Texts that a part may stand for.
    fn choices(&mut self, part: &Part, may_be_unset: bool, has_text: bool) -> Vec<PossibleText> {
        match part {
            Part::Literal(text) => vec![PossibleText::plain(text)],
            Part::Glob(pattern) => vec![PossibleText::default().with_open(pattern)],
            Part::Tilde(user) => {
                self.limits.looks_back |=
                    user.starts_with('-') || user.starts_with(|c: char| c.is_ascii_digit());
                match user.as_str() {
                    "" => self.of_variable("HOME", may_be_unset),
                    "+" | "-" => self.of_variable(if user == "+" { "PWD" } else { "OLDPWD" }, may_be_unset),
                    user => vec![PossibleText::plain(&format!("~{user}")), PossibleText::plain(".")],
                }
            }
            Part::Parameter { name, plain, .. } => {
                let mut found = self.of_variable(name, may_be_unset || !plain);
                found.extend(self.values.operands(name).filter(|_| !plain).cloned());
                // Of the list of folders that programs are in, an operator only adds to it.
                if !plain && name != "PATH" {
                    let changed: Vec<PossibleText> = found.iter().flat_map(changed).collect();
                    found.extend(changed);
                    found.extend(has_text.then(|| PossibleText::default().with_open("*")));
                }
                found
            }
            // What it prints is known only at run time; most often it is a folder, and the one that the shell stands in.
            Part::Substitution { .. } => vec![PossibleText::default(), PossibleText::plain(".")],
            Part::Process => vec![PossibleText::default()],
            Part::Arithmetic => vec![PossibleText::default().with_open(NUMBER)],
            Part::Brace(words) if words.is_empty() => vec![PossibleText::default().with_open("*")],
            Part::Brace(words) => words
                .iter()
                .flat_map(|word| self.with_values(word, may_be_unset, MAX_WORD_SHOWN).unwrap_or_default())
                .collect(),
        }
    }

    fn of_variable(&mut self, name: &str, may_be_unset: bool) -> Vec<PossibleText> {
        self.limits.looks_back |= name == "OLDPWD";
        let name = if is_positional(name) { "@" } else { name };
        let mut found: Vec<PossibleText> = self.values.get(name).map(active).collect();
        match name {
            "HOME" => found.push(PossibleText::plain("~")),
            "PWD" | "OLDPWD" => found.push(PossibleText::plain(".")),
            // What else is on it is not the line's.
            "PATH" => found.push(PossibleText::plain("/usr/bin")),
            _ if is_number_by_bash(name) => found.push(PossibleText::default().with_open(NUMBER)),
            _ if may_be_unset || found.is_empty() => found.push(PossibleText::default()),
            _ => {}
        }
        found
    }
}

/// Texts that a value may become by an operator that cuts it, or exchanges parts of it: the same in other letters, or any name in its folder.
fn changed(value: &PossibleText) -> Vec<PossibleText> {
    if value.text.is_empty() {
        return Vec::new();
    }
    let folder = value.text.rfind('/').map_or(0, |slash| slash + 1);
    let folder = value.text.get(..folder.min(value.open.unwrap_or(folder))).unwrap_or_default();
    let cases = [value.text.to_uppercase(), value.text.to_lowercase()];
    let cases =
        cases.map(|text| PossibleText { open: value.open.filter(|open| text.is_char_boundary(*open)), text });
    let tails =
        value.text.match_indices('/').filter_map(|(at, _)| value.text.get(at + 1..)).map(PossibleText::plain);
    [PossibleText::plain(folder).with_open("*")].into_iter().chain(cases).chain(tails).collect()
}

/// A text with another behind it. Where the first is open, the second is a pattern too, which stands for itself.
fn append(text: &PossibleText, next: &PossibleText) -> PossibleText {
    let (plain, pattern) = next.text.split_at(next.open.unwrap_or(next.text.len()));
    let text = match text.open {
        Some(_) => text.with_suffix(&escaped(plain)),
        None => text.with_suffix(plain),
    };
    if pattern.is_empty() { text } else { text.with_open(pattern) }
}

/// A text as a pattern that only it matches.
fn escaped(text: &str) -> String {
    let special = |c: char| matches!(c, '*' | '?' | '[' | '(' | '\\');
    text.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
}

/// A value in whose place the shell looks for wildcards.
fn active(value: &PossibleText) -> PossibleText {
    match value.open {
        Some(_) => value.clone(),
        None => PossibleText { text: value.text.clone(), open: value.text.find(WILD) },
    }
}

const WILD: &[char] = &['*', '?', '['];

/// A word cut at blanks and colons.
fn split(word: &Word) -> Vec<Word> {
    let mut words = vec![Word { parts: Vec::new(), ..word.clone() }];
    for part in &word.parts {
        let Part::Literal(text) = part else {
            words.last_mut().into_iter().for_each(|word| word.parts.push(part.clone()));
            continue;
        };
        for (at, piece) in text.split(|c: char| c.is_whitespace() || c == ':').enumerate() {
            if at > 0 {
                words.push(Word { parts: Vec::new(), ..word.clone() });
            }
            if !piece.is_empty() {
                words
                    .last_mut()
                    .into_iter()
                    .for_each(|word| word.parts.push(Part::Literal(piece.to_owned())));
            }
        }
    }
    words
}

/// Characters that a line has and a path rarely.
const OF_LINES: &[char] = &[';', '&', '|', '<', '>', '(', ')', '$', '`', '"', '\'', '{', '}', '\\', '!'];

/// Returns whether a text may be a line of a shell.
pub(super) fn may_be_line(text: &str) -> bool {
    text.contains(|c: char| c.is_whitespace() || OF_LINES.contains(&c))
}

/// A text, and the pattern that it is where `{}` stands for what a program finds or is fed.
pub(super) fn with_places(text: PossibleText) -> impl Iterator<Item = PossibleText> {
    let is_sign = text.text.len() == 2 || text.text.starts_with('-') && !text.text.contains('/');
    let pattern = text.text.find("{}").filter(|_| !is_sign).map(|at| PossibleText {
        open: Some(text.open.map_or(at, |open| open.min(at))),
        text: text.text.replace("{}", "*"),
    });
    std::iter::once(text).chain(pattern)
}

/// A format of `printf` as the pattern of what it makes.
pub(super) fn of_format(text: &PossibleText) -> Option<PossibleText> {
    let first = text.text.find('%').filter(|_| text.open.is_none())?;
    let (front, rest) = text.text.split_at(first);
    let mut pattern = String::new();
    for (at, piece) in rest.split('%').enumerate() {
        let letter = piece.find(|c: char| c.is_ascii_alphabetic()).map_or(0, |at| at + 1);
        pattern.push_str(if at == 0 { piece } else { "*" });
        pattern.push_str(if at == 0 { "" } else { piece.get(letter..).unwrap_or_default() });
    }
    Some(PossibleText::plain(front).with_open(&pattern))
}

/// The words that a text would have in a language of whatever kind.
pub(super) fn tokens(text: &PossibleText) -> impl Iterator<Item = PossibleText> {
    let cuts = |c: char| c.is_whitespace() || c == ',' || OF_LINES.contains(&c);
    let several = text.text.contains(cuts);
    let tokens = text.text.split(cuts).filter(move |token| several && !token.is_empty());
    tokens.map(|token| PossibleText { text: token.to_owned(), open: token.find(WILD) })
}

//! The place in the text: bytes, lines that go on, blanks, comments, reserved words.
//!
//! A backslash before a newline is no character at all, wherever [`Parser::peek`] looks. In single quotes,
//! comments and quoted here-documents, where it is one, [`Parser::byte`] looks.

use crate::parse::Parser;

/// A byte that means nothing special in a word.
const PLAIN: u8 = 0;
/// A byte that is special only behind another one: `,` and `}` behind `{`, `]` behind `[`.
const LOOSE: u8 = 1;
/// A byte that is special in a word.
const SPECIAL: u8 = 2;
/// A byte that ends a word.
const BREAK: u8 = 3;

static CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut classes = [PLAIN; 256];
    let mut byte = 0;
    while byte < 128 {
        #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, in bounds by the loop")]
        #[expect(clippy::cast_possible_truncation, reason = "below 128")]
        {
            classes[byte] = match byte as u8 {
                b',' | b'}' | b']' => LOOSE,
                b'\'' | b'"' | b'\\' | b'`' | b'$' | b'{' | b'[' | b'*' | b'?' | b'~' | b'=' => SPECIAL,
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' => BREAK,
                _ => PLAIN,
            };
        }
        byte += 1;
    }
    classes
}

fn class(byte: u8) -> u8 {
    CLASS.get(usize::from(byte)).copied().unwrap_or(SPECIAL)
}

/// A byte that ends a word.
pub(crate) fn breaks(byte: u8) -> bool {
    class(byte) == BREAK
}

/// A byte that may begin a name.
pub(crate) fn begins_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

/// A byte that may stand in a name.
pub(crate) fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Returns `true` if a text is a name that a variable can have.
pub(crate) fn is_name(text: &str) -> bool {
    text.bytes().next().is_some_and(begins_name) && text.bytes().all(in_name)
}

/// A word that the grammar gives a meaning, where a command may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keyword {
    Bang,
    Case,
    CloseBrace,
    CloseTest,
    Coproc,
    Do,
    Done,
    Elif,
    Else,
    Esac,
    Fi,
    For,
    Function,
    If,
    In,
    OpenBrace,
    Select,
    Test,
    Then,
    Time,
    Until,
    While,
}

impl Keyword {
    pub(crate) fn from_word(word: &[u8]) -> Option<Self> {
        Some(match word {
            b"!" => Self::Bang,
            b"case" => Self::Case,
            b"}" => Self::CloseBrace,
            b"]]" => Self::CloseTest,
            b"coproc" => Self::Coproc,
            b"do" => Self::Do,
            b"done" => Self::Done,
            b"elif" => Self::Elif,
            b"else" => Self::Else,
            b"esac" => Self::Esac,
            b"fi" => Self::Fi,
            b"for" => Self::For,
            b"function" => Self::Function,
            b"if" => Self::If,
            b"in" => Self::In,
            b"{" => Self::OpenBrace,
            b"select" => Self::Select,
            b"[[" => Self::Test,
            b"then" => Self::Then,
            b"time" => Self::Time,
            b"until" => Self::Until,
            b"while" => Self::While,
            _ => return None,
        })
    }

    /// Returns `true` if one of them begins with this byte. Most names of programs are told from them by it.
    fn begins_with(byte: u8) -> bool {
        let letter = matches!(byte, b'c'..=b'f' | b'i' | b's'..=b'u' | b'w');
        letter || matches!(byte, b'!' | b'{' | b'}' | b'[' | b']')
    }

    /// Returns `true` if it ends a list of commands, or a part of a compound command.
    pub(crate) fn closes(self) -> bool {
        use Keyword::{CloseBrace, Do, Done, Elif, Else, Esac, Fi, Then};
        matches!(self, CloseBrace | Do | Done | Elif | Else | Esac | Fi | Then)
    }
}

/// The longest keyword is `function`.
const KEYWORD: usize = 8;

impl Parser<'_, '_> {
    /// The byte here, as it stands.
    pub(crate) fn byte(&self) -> Option<u8> {
        self.byte_at(self.pos)
    }

    pub(crate) fn byte_at(&self, at: usize) -> Option<u8> {
        if at < self.end { self.text.as_bytes().get(at).copied() } else { None }
    }

    /// Text as it stands.
    pub(crate) fn slice(&self, start: usize, end: usize) -> &str {
        self.text.get(start..end).unwrap_or_default()
    }

    /// The byte here, after lines that go on.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        self.pos = self.joined(self.pos);
        self.byte()
    }

    /// The byte behind the one here.
    pub(crate) fn ahead(&self) -> Option<u8> {
        self.byte_at(self.joined(self.pos + 1))
    }

    fn joined(&self, mut at: usize) -> usize {
        while self.byte_at(at) == Some(b'\\') && self.byte_at(at + 1) == Some(b'\n') {
            at += 2;
        }
        at
    }

    /// Takes a byte if it stands here.
    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.pos += 1;
        }
        found
    }

    /// Passes over blanks, and a comment behind them.
    pub(crate) fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t') = self.peek() {
            self.pos += 1;
        }
        if self.byte() == Some(b'#') {
            while self.byte().is_some_and(|byte| byte != b'\n') {
                self.pos += 1;
            }
        }
    }

    /// The end of the bytes from here on that mean nothing special in a word.
    pub(crate) fn plain_end(&self) -> usize {
        self.run_end(|byte| class(byte) == PLAIN)
    }

    /// The end of the word that begins here, if nothing in it is special.
    pub(crate) fn plain_word_end(&self) -> Option<usize> {
        let end = self.run_end(|byte| class(byte) <= LOOSE);
        let whole = match self.byte_at(end) {
            None => true,
            Some(b'<' | b'>') => self.byte_at(end + 1).is_none_or(|next| !matches!(next, b'(' | b'\\')),
            Some(b'(') => !matches!(self.byte_at(end.saturating_sub(1)), Some(b'+' | b'@' | b'!')),
            Some(byte) => breaks(byte),
        };
        (whole && end > self.pos).then_some(end)
    }

    /// The end of the bytes from here on that are of a kind.
    pub(crate) fn run_end(&self, kind: impl Fn(u8) -> bool) -> usize {
        let rest = self.text.as_bytes().get(self.pos..self.end).unwrap_or_default();
        self.pos + rest.iter().position(|&byte| !kind(byte)).unwrap_or(rest.len())
    }

    /// The reserved word that stands here, and where it ends.
    pub(crate) fn keyword(&mut self) -> Option<(Keyword, usize)> {
        let first = self.peek()?;
        if !Keyword::begins_with(first) {
            return None;
        }
        let (mut word, mut length, mut at) = ([0; KEYWORD], 0, self.pos);
        while let Some(byte) = self.byte_at(at).filter(|&byte| !breaks(byte)) {
            *word.get_mut(length)? = byte;
            length += 1;
            at = self.joined(at + 1);
        }
        let process =
            matches!(self.byte_at(at), Some(b'<' | b'>')) && self.byte_at(self.joined(at + 1)) == Some(b'(');
        if process { None } else { Some((Keyword::from_word(word.get(..length)?)?, at)) }
    }

    /// Takes a reserved word if it stands here.
    pub(crate) fn eat_keyword(&mut self, wanted: Keyword) -> bool {
        self.skip_blanks();
        let found = self.keyword().filter(|&(keyword, _)| keyword == wanted);
        if let Some((_, end)) = found {
            self.pos = end;
        }
        found.is_some()
    }

    /// Returns the position one past the bracket that closes the one opened before `from`; quotes are passed over. Flat, in one
    /// pass: whether `((` is arithmetic is decided without reading what is inside twice.
    pub(crate) fn pair_end(&self, from: usize, open: u8, close: u8) -> Option<usize> {
        let (mut at, mut depth) = (from, 1_usize);
        loop {
            let byte = self.byte_at(at)?;
            at += 1;
            match byte {
                b'\\' => at += 1,
                b'\'' | b'"' | b'`' => at = self.quote_end(at, byte)?,
                _ if byte == open => depth += 1,
                _ if byte == close => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(at);
            }
        }
    }

    /// Returns the position one past the quote that closes the one opened before `from`.
    pub(crate) fn quote_end(&self, from: usize, quote: u8) -> Option<usize> {
        let mut at = from;
        loop {
            match self.byte_at(at)? {
                byte if byte == quote => return Some(at + 1),
                b'\\' if quote != b'\'' => at += 2,
                _ => at += 1,
            }
        }
    }
}

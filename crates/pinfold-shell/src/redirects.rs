//! Redirects: the descriptor in front, the operator, the word behind.

use crate::lexer::{begins_name, in_name};
use crate::opaque::Stop;
use crate::parse::Parser;
use crate::script::{Part, Redirect, RedirectKind, Word};
use crate::words::Position;

/// A greater number is a word to some shells, and too big for all.
const MAX_DESCRIPTOR: u32 = 0x7fff_ffff;

/// Here-documents that may wait for their texts; bash ends at more.
const MAX_DOCUMENTS: usize = 16;

/// The descriptor in front of an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fd {
    None,
    Number(u32),
    TooBig,
    /// `{name}`.
    Variable,
}

/// An operator, as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RedirectOperator {
    Plain(RedirectKind),
    /// `<&`, `>&`: a descriptor or, for the second, a file.
    To(RedirectKind),
    /// `<<-`: tabs at the start of lines are taken away.
    Stripped,
}

/// Spellings of the operators, longer before shorter.
const OPERATORS: &[(&str, RedirectOperator)] = &[
    ("<<<", RedirectOperator::Plain(RedirectKind::HereString)),
    ("<<-", RedirectOperator::Stripped),
    ("<<", RedirectOperator::Plain(RedirectKind::HereDocument)),
    ("<&", RedirectOperator::To(RedirectKind::Duplicate)),
    ("<>", RedirectOperator::Plain(RedirectKind::ReadWrite)),
    ("<", RedirectOperator::Plain(RedirectKind::Read)),
    (">>", RedirectOperator::Plain(RedirectKind::Append)),
    (">&", RedirectOperator::To(RedirectKind::Write)),
    (">|", RedirectOperator::Plain(RedirectKind::Write)),
    (">", RedirectOperator::Plain(RedirectKind::Write)),
    ("&>>", RedirectOperator::Plain(RedirectKind::Append)),
    ("&>", RedirectOperator::Plain(RedirectKind::Write)),
];

impl Parser<'_, '_> {
    /// Reads a redirect, if one begins here, on the command at `first` and those behind it.
    pub(crate) fn redirect(&mut self, first: usize) -> Result<Option<Redirect>, Stop> {
        let start = self.pos;
        let fd = self.descriptor();
        let process = matches!(self.peek(), Some(b'<' | b'>')) && self.ahead() == Some(b'(');
        let operator = if process { None } else { self.redirect_operator() };
        let Some(operator) = operator else {
            self.pos = start;
            return Ok(None);
        };
        let fd = match fd {
            Fd::Number(number) => Some(number),
            Fd::TooBig => {
                self.doubt("a descriptor of that size", start);
                None
            }
            Fd::None | Fd::Variable => None,
        };
        self.skip_blanks();
        let (kind, target) = self.redirect_target(operator, first)?;
        Ok(Some(Redirect { kind, fd, target, inherited: false }))
    }

    /// Reads the descriptor directly in front of an operator, and nothing else.
    fn descriptor(&mut self) -> Fd {
        let start = self.pos;
        let fd = match self.peek() {
            Some(b'0'..=b'9') => self.number(),
            Some(b'{') => self.variable(),
            _ => Fd::None,
        };
        let operator = matches!(self.peek(), Some(b'<' | b'>')) && self.ahead() != Some(b'(');
        if fd == Fd::None || !operator {
            self.pos = start;
            return Fd::None;
        }
        fd
    }

    /// Digits or `{name}` in front of one more operator are no word; `number`: digits may stand here.
    pub(crate) fn descriptor_ahead(&mut self, number: bool) -> bool {
        let start = self.pos;
        let fd = self.descriptor();
        self.pos = start;
        match fd {
            Fd::None => false,
            Fd::Number(_) | Fd::TooBig => !number,
            Fd::Variable => true,
        }
    }

    fn number(&mut self) -> Fd {
        let mut number = Some(0_u32);
        while let Some(byte @ b'0'..=b'9') = self.peek() {
            number = number.and_then(|n| n.checked_mul(10)?.checked_add(u32::from(byte - b'0')));
            self.pos += 1;
        }
        number.filter(|&number| number <= MAX_DESCRIPTOR).map_or(Fd::TooBig, Fd::Number)
    }

    /// `{name}`: bash chooses a number.
    fn variable(&mut self) -> Fd {
        self.pos += 1;
        let named = self.peek().is_some_and(begins_name);
        while self.peek().is_some_and(in_name) {
            self.pos += 1;
        }
        if named && self.eat(b'}') { Fd::Variable } else { Fd::None }
    }

    fn redirect_operator(&mut self) -> Option<RedirectOperator> {
        // Most words begin with no part of one.
        if !matches!(self.peek(), Some(b'<' | b'>' | b'&')) {
            return None;
        }
        let start = self.pos;
        OPERATORS.iter().find_map(|(text, operator)| {
            let taken = text.bytes().all(|byte| self.eat(byte));
            if !taken {
                self.pos = start;
            }
            taken.then_some(*operator)
        })
    }

    fn redirect_target(
        &mut self,
        operator: RedirectOperator,
        first: usize,
    ) -> Result<(RedirectKind, Word), Stop> {
        let number = matches!(operator, RedirectOperator::To(_));
        if self.descriptor_ahead(number) {
            return Err(self.syntax("a word behind a redirect"));
        }
        match operator {
            RedirectOperator::Plain(RedirectKind::HereDocument) => self.delimiter(first, false),
            RedirectOperator::Stripped => self.delimiter(first, true),
            RedirectOperator::Plain(RedirectKind::HereString) => {
                Ok((RedirectKind::HereString, self.plain_word(Position::Single)?))
            }
            RedirectOperator::Plain(kind) => Ok((kind, self.plain_word(Position::Target)?)),
            // A `-` stands by itself: what follows is a word of the command.
            RedirectOperator::To(_) if self.peek() == Some(b'-') => {
                self.pos += 1;
                let parts = vec![Part::Literal("-".to_owned())];
                let word = Word { parts, span: self.span(self.pos - 1, self.pos), quoted: false };
                Ok((RedirectKind::Duplicate, word))
            }
            RedirectOperator::To(kind) => {
                let start = self.pos;
                let word = self.plain_word(Position::Target)?;
                let descriptor = word.as_static().is_some_and(is_descriptor);
                if kind == RedirectKind::Write && (word.quoted || !descriptor && word.as_static().is_none()) {
                    // What is no number is expanded twice: text in quotes may run.
                    self.doubt("a file behind `>&` that is not plain", start);
                }
                Ok((if descriptor { RedirectKind::Duplicate } else { kind }, word))
            }
        }
    }

    fn delimiter(&mut self, first: usize, stripped: bool) -> Result<(RedirectKind, Word), Stop> {
        let start = self.pos;
        let word = self.plain_word(Position::Single)?;
        if self.waiting.len() >= MAX_DOCUMENTS {
            return Err(self.syntax("at most 16 here-documents at once"));
        }
        let placeholder = Word { span: word.span.clone(), ..Word::default() };
        self.expect_document(&word, start, first, stripped);
        Ok((RedirectKind::HereDocument, placeholder))
    }
}

/// `1`, `-`, `1-`.
fn is_descriptor(target: &str) -> bool {
    let digits = target.strip_suffix('-').unwrap_or(target);
    !target.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

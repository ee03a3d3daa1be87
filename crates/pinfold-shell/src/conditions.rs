//! `[[ ]]`.

use crate::lexer::breaks;
use crate::opaque::Stop;
use crate::parse::Parser;
use crate::script::{Part, Word};
use crate::words::Position;

/// An operator between two words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TestOperator {
    /// `==`, `=`, `!=`: the right side is a pattern.
    Match,
    /// `=~`.
    Regex,
    /// `-eq` and its kind: both sides are arithmetic.
    Arithmetic,
    /// `<`, `>`, `-nt`, `-ot`, `-ef`.
    Compare,
}

impl TestOperator {
    /// The position that the word behind it is read in.
    fn right_side(self) -> Position {
        match self {
            Self::Match => Position::Extended,
            Self::Regex => Position::Regex,
            Self::Arithmetic | Self::Compare => Position::Single,
        }
    }
}

impl Parser<'_, '_> {
    /// Reads from behind `[[` to behind `]]`.
    pub(crate) fn test(&mut self) -> Result<(), Stop> {
        self.alternatives()?;
        self.line_breaks();
        if self.at_test_end() {
            self.pos += 2;
            return Ok(());
        }
        Err(self.syntax("`]]`"))
    }

    fn at_test_end(&mut self) -> bool {
        self.peek() == Some(b']')
            && self.ahead() == Some(b']')
            && self.byte_at(self.pos + 2).is_none_or(breaks)
    }

    /// Terms joined by `&&` and `||`.
    fn alternatives(&mut self) -> Result<(), Stop> {
        self.term()?;
        self.conditionally(Self::more_terms)
    }

    /// Reads further terms; what may follow depends on the term in front.
    fn more_terms(&mut self) -> Result<(), Stop> {
        loop {
            self.line_breaks();
            let joined = matches!(self.peek(), Some(byte @ (b'&' | b'|')) if self.ahead() == Some(byte));
            if !joined {
                return Ok(());
            }
            self.pos += 1;
            self.peek();
            self.pos += 1;
            self.term()?;
        }
    }

    fn term(&mut self) -> Result<(), Stop> {
        loop {
            self.line_breaks();
            match self.peek() {
                Some(b'!') if self.ahead().is_none_or(breaks) => self.pos += 1,
                Some(b'(') => return self.nested(Self::parenthesised),
                _ => return self.primary(),
            }
        }
    }

    fn parenthesised(&mut self) -> Result<(), Stop> {
        self.pos += 1;
        self.alternatives()?;
        self.line_breaks();
        self.expect(b')', "`)` in `[[ ]]`")
    }

    fn primary(&mut self) -> Result<(), Stop> {
        if self.at_test_end() {
            return Err(self.syntax("a condition"));
        }
        let start = self.pos;
        let left = self.operand_of(Position::Single)?;
        self.skip_blanks();
        if left.as_static().is_some_and(is_unary) && !left.quoted {
            return self.unary(&left);
        }
        let Some(operator) = self.test_operator()? else {
            self.list.loose(left);
            return if self.peek() == Some(b'\n') { Err(self.syntax("an operator")) } else { Ok(()) };
        };
        self.skip_blanks();
        let right = self.operand_of(operator.right_side())?;
        if operator == TestOperator::Arithmetic {
            self.evaluates_words(start, [&left, &right]);
        }
        self.list.loose(left);
        self.list.loose(right);
        Ok(())
    }

    /// `-f x` and its kind.
    fn unary(&mut self, operator: &Word) -> Result<(), Stop> {
        if self.at_test_end() {
            return Err(self.syntax("an operand"));
        }
        let start = self.pos;
        let operand = self.operand_of(Position::Single)?;
        if matches!(operator.as_static(), Some("-v" | "-R")) {
            self.evaluates_words(start, [&operand]);
        }
        self.list.loose(operand);
        Ok(())
    }

    /// A word; operators and the end are none.
    fn operand_of(&mut self, position: Position) -> Result<Word, Stop> {
        if self.descriptor_ahead(false) {
            return Err(self.syntax("an operand"));
        }
        match self.peek() {
            None | Some(b'&' | b';' | b')' | b'\n') => Err(self.syntax("an operand")),
            Some(b'|' | b'(') if position != Position::Regex => Err(self.syntax("an operand")),
            Some(b'<' | b'>') if self.ahead() != Some(b'(') => Err(self.syntax("an operand")),
            Some(_) => self.plain_word(position),
        }
    }

    /// Words that are read as arithmetic, or as the name of a variable.
    fn evaluates_words<'w>(&mut self, start: usize, words: impl IntoIterator<Item = &'w Word>) {
        self.evaluates(start, self.pos);
        let code = |part: &Part| match part {
            Part::Literal(text) => text.contains(['[', '$', '`']),
            Part::Glob(_) => true,
            Part::Tilde(_)
            | Part::Parameter { .. }
            | Part::Substitution { .. }
            | Part::Process
            | Part::Arithmetic
            | Part::Brace(_) => false,
        };
        if words.into_iter().flat_map(|word| &word.parts).any(code) {
            self.doubt("a text that arithmetic may run as code", start);
        }
    }

    /// Reads an operator between two words, if one stands here.
    fn test_operator(&mut self) -> Result<Option<TestOperator>, Stop> {
        if let Some(b'<' | b'>') = self.peek() {
            self.pos += 1;
            if matches!(self.peek(), Some(b'<' | b'>' | b'&' | b'|')) {
                return Err(self.syntax("an operator"));
            }
            return Ok(Some(TestOperator::Compare));
        }
        let end = self.run_end(|byte| !breaks(byte));
        let goes_on = matches!(self.byte_at(end), Some(b'<' | b'>')) && self.byte_at(end + 1) == Some(b'(');
        if goes_on && end > self.pos {
            // The word goes on with a substitution.
            return Err(self.syntax("an operator"));
        }
        let operator = match self.slice(self.pos, end) {
            "=" | "==" | "!=" => TestOperator::Match,
            "=~" => TestOperator::Regex,
            "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" => TestOperator::Arithmetic,
            "-nt" | "-ot" | "-ef" => TestOperator::Compare,
            _ => return Ok(None),
        };
        self.pos = end;
        Ok(Some(operator))
    }
}

/// An operator in front of one word.
fn is_unary(word: &str) -> bool {
    match word.as_bytes() {
        [b'-', kind] => b"abcdefghkprstuwxGLNORSnvz".contains(kind) || *kind == b'o',
        _ => false,
    }
}

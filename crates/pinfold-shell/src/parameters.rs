//! `${…}`.

use crate::expansions::{BacktickQuoting, special};
use crate::lexer::{begins_name, in_name};
use crate::opaque::Stop;
use crate::parse::Parser;
use crate::script::{Assignment, CommandContext, Part};
use crate::words::{Builder, Position};

/// An operator behind a name in `${…}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ParameterOperator {
    /// `-`, `+`, `?`, with or without `:`.
    Word,
    /// `=`, with or without `:`.
    Assign,
    /// `#`, `%`, `/`, `^`, `,`, `~`.
    Pattern,
    /// `:` with arithmetic.
    Part,
    /// `@` with a letter.
    Transform,
}

impl Parser<'_, '_> {
    /// Reads from the `{` of `${` on.
    pub(crate) fn parameter(
        &mut self,
        builder: &mut Builder,
        quoted: bool,
        start: usize,
    ) -> Result<(), Stop> {
        self.pos += 1;
        match self.peek() {
            Some(b' ' | b'\t' | b'\n' | b'|' | b'(') => {
                return self.function_substitution(builder, quoted, start);
            }
            Some(b'!') if self.ahead() != Some(b'}') => self.indirect(start),
            Some(b'#') if self.ahead() != Some(b'}') => self.length(start),
            _ => {}
        }
        let unusual = self.pos > start + 2;
        let name = self.parameter_name(start);
        let subscripted = self.peek() == Some(b'[') && name.bytes().next().is_some_and(begins_name);
        let mut several = false;
        if subscripted {
            self.pos += 1;
            let from = self.pos;
            self.subscript()?;
            several = self.slice(from, self.pos).contains('@');
        }
        let plain = self.eat(b'}');
        if !plain {
            let operator = self.operator(start);
            several |= self.operand(&name, operator, quoted)?;
        }
        // Several words come out of some, quoted or not.
        let quoted = quoted && !several;
        builder.part(Part::Parameter { name, quoted, plain: plain && !unusual && !subscripted });
        Ok(())
    }

    /// `${!name}`: the name of another parameter. Lists of names and of keys are only that.
    fn indirect(&mut self, start: usize) {
        self.pos += 1;
        let at = self.run_end(in_name);
        let lists = match self.slice(at, self.end).as_bytes() {
            [b'*' | b'@', b'}', ..] | [b'[', b'*' | b'@', b']', b'}', ..] => at > self.pos,
            _ => false,
        };
        if !lists {
            self.doubt("a parameter named by another", start);
        } else if self.byte_at(at) != Some(b'[') {
            self.pos = at;
        }
    }

    /// `${#name}`, or the parameter `#` with an operator, which is rare and hard to tell.
    fn length(&mut self, start: usize) {
        self.pos += 1;
        if !self.peek().is_some_and(|byte| in_name(byte) || matches!(byte, b'@' | b'*')) {
            self.doubt("an operator on the number of arguments", start);
        }
    }

    fn parameter_name(&mut self, start: usize) -> String {
        let first = self.peek();
        if first.is_some_and(in_name) {
            let name = self.name();
            if name.bytes().next().is_some_and(|byte| byte.is_ascii_digit())
                && !name.bytes().all(|b| b.is_ascii_digit())
            {
                self.doubt("a bad name of a parameter", start);
            }
            return name;
        }
        if let Some(byte) = first.filter(|&byte| special(byte)) {
            self.pos += 1;
            return char::from(byte).to_string();
        }
        self.doubt("a bad name of a parameter", start);
        String::new()
    }

    fn operator(&mut self, start: usize) -> ParameterOperator {
        let colon = self.eat(b':');
        let operator = match self.peek() {
            Some(b'=') => ParameterOperator::Assign,
            Some(b'-' | b'+' | b'?') => ParameterOperator::Word,
            _ if colon => return ParameterOperator::Part,
            Some(b'#' | b'%' | b'/' | b'^' | b',' | b'~') => ParameterOperator::Pattern,
            Some(b'@') => ParameterOperator::Transform,
            _ => {
                self.doubt("a bad operator on a parameter", start);
                return ParameterOperator::Word;
            }
        };
        self.pos += 1;
        if operator == ParameterOperator::Transform {
            self.transformation(start);
        }
        operator
    }

    fn transformation(&mut self, start: usize) {
        let known = matches!(self.peek(), Some(b'U' | b'u' | b'L' | b'Q' | b'E' | b'A' | b'K' | b'a' | b'k'));
        if !known || self.ahead() != Some(b'}') {
            self.doubt("a transformation that may run what a value says", start);
        }
    }

    /// Reads the operand behind the operator, with the closing brace. Returns `true` if it may make several words.
    fn operand(&mut self, name: &str, operator: ParameterOperator, quoted: bool) -> Result<bool, Stop> {
        let (start, place) = (self.pos, CommandContext { conditional: true, ..self.place() });
        let assigned = (operator == ParameterOperator::Assign).then(|| {
            let at = self.origin(start);
            self.list.open(place, at)
        });
        let mut inner = Builder::default();
        self.conditionally(|parser| parser.operand_text(&mut inner, quoted))?;
        let several = inner.parts.iter().any(|part| match part {
            Part::Parameter { name, quoted, .. } => name == "@" || !quoted,
            _ => false,
        });
        if operator == ParameterOperator::Part {
            self.evaluates(start, self.pos);
        }
        if matches!(operator, ParameterOperator::Word | ParameterOperator::Assign) {
            let value = self.complete(inner, Position::Single, start);
            let given = Assignment { name: name.to_owned(), value, elements: Vec::new(), appends: false };
            match assigned {
                Some(position) => {
                    self.list.assignment(position, given);
                    self.close_span(position);
                }
                None => self.list.operand(given),
            }
        }
        self.pos += 1;
        Ok(several)
    }

    fn operand_text(&mut self, inner: &mut Builder, quoted: bool) -> Result<(), Stop> {
        loop {
            match self.peek() {
                None => return Err(self.syntax("`}` behind a parameter")),
                Some(b'}') => return Ok(()),
                Some(b'\\') => self.operand_escape(inner),
                Some(b'\'') if quoted => {
                    // Quotes for the one who looks for the end, text for the one who expands.
                    self.doubt("a single quote in a quoted parameter", self.pos);
                    self.pos += 1;
                }
                Some(b'\'') => self.single_quotes(inner)?,
                Some(b'"') => self.double_quotes(inner)?,
                Some(b'`') => self.backticks(
                    inner,
                    if quoted { BacktickQuoting::Other } else { BacktickQuoting::Nothing },
                )?,
                Some(b'$') => self.dollar(inner, quoted)?,
                Some(b'<' | b'>') if self.ahead() == Some(b'(') => self.process(inner)?,
                Some(_) => {
                    let plain =
                        |byte| !matches!(byte, b'}' | b'\\' | b'\'' | b'"' | b'`' | b'$' | b'<' | b'>');
                    let end = self.run_end(plain).max(self.pos + 1);
                    inner.text(self.slice(self.pos, end));
                    self.pos = end;
                }
            }
        }
    }

    fn operand_escape(&mut self, inner: &mut Builder) {
        let start = self.pos + 1;
        let length = self.slice(start, self.end).chars().next().map_or(0, char::len_utf8);
        inner.text(self.slice(start, start + length));
        self.pos = start + length;
    }

    /// `${ commands; }` and its kind: an error for some versions of bash, run by others.
    fn function_substitution(
        &mut self,
        builder: &mut Builder,
        quoted: bool,
        start: usize,
    ) -> Result<(), Stop> {
        self.doubt("commands in `${`, which depends on the version of bash", start);
        self.eat(b'|');
        let Some(end) = self.pair_end(self.pos, b'{', b'}') else {
            return Err(self.syntax("`}` behind a parameter"));
        };
        self.parse_range(self.pos, end - 1, Self::program);
        self.pos = end;
        builder.part(Part::Substitution { quoted });
        Ok(())
    }
}

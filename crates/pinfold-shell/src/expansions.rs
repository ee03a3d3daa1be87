//! Constructs that begin with `$`, a backtick or `<(`.

use crate::lexer::{begins_name, in_name};
use crate::numbers::reads_arguments;
use crate::opaque::Stop;
use crate::origins::Origins;
use crate::parse::Parser;
use crate::script::Part;
use crate::words::Builder;

/// The quoting around backticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BacktickQuoting {
    Nothing,
    DoubleQuotes,
    /// A here-document, arithmetic, or braces in quotes.
    Other,
}

impl Parser<'_, '_> {
    /// A `$`, which may begin an expansion.
    pub(crate) fn dollar(&mut self, builder: &mut Builder, quoted: bool) -> Result<(), Stop> {
        let start = self.pos;
        self.pos += 1;
        match self.peek() {
            Some(b'(') => self.dollar_parenthesis(builder, quoted, start),
            Some(b'{') => self.nested(|parser| parser.parameter(builder, quoted, start)),
            Some(b'[') => self.dollar_bracket(builder, quoted, start),
            Some(b'\'') if !quoted => self.ansi_quotes(builder),
            Some(b'"') if !quoted => self.double_quotes(builder),
            Some(byte) if begins_name(byte) => {
                let name = self.name();
                builder.part(Part::Parameter { name, quoted, plain: true });
                Ok(())
            }
            Some(byte) if byte.is_ascii_digit() || special(byte) => {
                self.pos += 1;
                builder.part(Part::Parameter { name: char::from(byte).to_string(), quoted, plain: true });
                Ok(())
            }
            _ => {
                if !quoted && builder.in_braces() {
                    self.doubt("a `$` that braces may join with a name", start);
                    builder.part(Part::Glob("$".to_owned()));
                } else {
                    builder.text("$");
                }
                Ok(())
            }
        }
    }

    /// A name, over lines that go on.
    pub(crate) fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(byte) = self.peek().filter(|&byte| in_name(byte)) {
            name.push(char::from(byte));
            self.pos += 1;
        }
        name
    }

    /// `$(`: commands, or arithmetic if a second parenthesis follows and both close together.
    fn dollar_parenthesis(&mut self, builder: &mut Builder, quoted: bool, start: usize) -> Result<(), Stop> {
        self.pos += 1;
        if self.peek() == Some(b'(') {
            let Some(outer) = self.pair_end(self.pos, b'(', b')') else {
                return Err(self.syntax("`))` behind `$((`"));
            };
            if self.pair_end(self.pos + 1, b'(', b')') == Some(outer - 1) {
                self.arithmetic(self.pos + 1, outer - 2)?;
                self.pos = outer;
                builder.part(Part::Arithmetic);
                return Ok(());
            }
            self.substitution(start, true)?;
            if self.pos != outer {
                self.doubt("`$((` whose parentheses do not pair", start);
            }
        } else {
            self.substitution(start, true)?;
        }
        builder.part(Part::Substitution { quoted });
        Ok(())
    }

    /// `$[ ]`: arithmetic of old, which braces do not know.
    fn dollar_bracket(&mut self, builder: &mut Builder, quoted: bool, start: usize) -> Result<(), Stop> {
        let inside = self.pos + 1;
        let Some(end) = self.pair_end(inside, b'[', b']') else {
            return Err(self.syntax("`]` behind `$[`"));
        };
        self.arithmetic(inside, end - 1)?;
        self.pos = end;
        if !quoted && (builder.in_braces() || self.slice(inside, end).contains('{')) {
            self.doubt("braces around or in `$[`", start);
        }
        builder.part(Part::Arithmetic);
        Ok(())
    }

    /// `<( )` or `>( )`.
    pub(crate) fn process(&mut self, builder: &mut Builder) -> Result<(), Stop> {
        let (start, first) = (self.pos, self.list.len());
        let writes = self.byte() == Some(b'>');
        self.pos += 1;
        self.eat(b'(');
        self.substitution(start, false)?;
        if writes {
            self.list.pipe(first..self.list.len(), self.context.command);
        }
        builder.part(Part::Process);
        Ok(())
    }

    /// Commands up to a closing parenthesis. `captured`: what they print becomes text.
    fn substitution(&mut self, start: usize, captured: bool) -> Result<(), Stop> {
        let outer = self.context.clone();
        let waiting = std::mem::take(&mut self.waiting);
        let (first, mark) = (self.list.len(), self.list.evaluated.mark());
        self.enter_substitution(captured);
        let any = self.nested(Self::list)?;
        if !any && !captured {
            self.doubt("a process substitution without commands", start);
        }
        if !self.waiting.is_empty() {
            return Err(self.syntax("the text of a here-document"));
        }
        if !self.eat(b')') {
            return Err(self.syntax("`)` behind a substitution"));
        }
        self.leave_substitution(captured.then_some(first), mark, start);
        self.context = outer;
        self.waiting = waiting;
        self.doubt_lines(!self.waiting.is_empty(), start);
        Ok(())
    }

    fn enter_substitution(&mut self, captured: bool) {
        self.context.substitution += 1;
        self.context.shell = self.list.shell(self.context.shell);
        if captured {
            self.context.nesting += 1;
            self.list.nesting(self.context.nesting);
        }
    }

    /// Takes note of what the substitution at `start` may print, if that is captured: the commands from `first` on.
    fn leave_substitution(&mut self, first: Option<usize>, mark: usize, start: usize) {
        self.list.evaluated.forget(mark);
        let foreign = |first| !self.list.print_a_number(first, self.context.substitution);
        if first.is_some_and(foreign) {
            let span = self.span(start, self.pos);
            self.list.evaluated.foreign(span);
        }
    }

    /// Backticks: a text of its own, with fewer backslashes, that is read when it runs.
    pub(crate) fn backticks(&mut self, builder: &mut Builder, around: BacktickQuoting) -> Result<(), Stop> {
        let start = self.pos + 1;
        let Some(close) = self.quote_end(start, b'`') else {
            self.pos = start;
            return Err(self.syntax("a closing backtick"));
        };
        let end = close - 1;
        let outer = self.context.clone();
        let (first, mark) = (self.list.len(), self.list.evaluated.mark());
        self.enter_substitution(true);
        self.nested(|parser| {
            parser.backtick_script(start, end, around);
            Ok(())
        })?;
        self.leave_substitution(Some(first), mark, start - 1);
        self.context = outer;
        self.pos = close;
        builder.part(Part::Substitution { quoted: around != BacktickQuoting::Nothing });
        Ok(())
    }

    fn backtick_script(&mut self, start: usize, end: usize, around: BacktickQuoting) {
        if !self.slice(start, end).contains('\\') {
            return self.parse_range(start, end, Parser::program);
        }
        if around == BacktickQuoting::Other && self.slice(start, end).contains("\\\"") {
            self.doubt("an escaped quote in quoted backticks", start);
        }
        let (text, origins) = self.without_backslashes(start, end, around == BacktickQuoting::DoubleQuotes);
        self.of_text(&text, &origins).program();
    }

    /// Takes away the backslashes in front of `$`, backticks and backslashes, in double quotes also in front of
    /// those, and lines that go on.
    fn without_backslashes(&self, start: usize, end: usize, quotes: bool) -> (String, Origins) {
        let (mut text, mut origins) = (String::with_capacity(end - start), Origins::default());
        let mut from = start;
        let mut at = start;
        origins.add(0, self.origin(start));
        while at < end {
            let escaped = if self.byte_at(at) == Some(b'\\') { self.byte_at(at + 1) } else { None };
            let skip = match escaped {
                Some(b'$' | b'`' | b'\\') => 1,
                Some(b'"') if quotes => 1,
                Some(b'\n') => 2,
                _ => 0,
            };
            if skip > 0 {
                text.push_str(self.slice(from, at));
                from = at + skip;
                origins.add(text.len(), self.origin(from));
            }
            // The character behind a backslash is text, whatever it is.
            at += if escaped.is_some() { 2 } else { 1 };
        }
        text.push_str(self.slice(from, end));
        (text, origins)
    }

    /// Reads a part of this text by itself.
    pub(crate) fn parse_range(&mut self, start: usize, end: usize, read: impl FnOnce(&mut Self)) {
        let (pos, limit, context) = (self.pos, self.end, self.context.clone());
        let waiting = std::mem::take(&mut self.waiting);
        (self.pos, self.end) = (start, end);
        read(self);
        (self.pos, self.end, self.context, self.waiting) = (pos, limit, context, waiting);
    }

    /// A parser of a text that was made from this one.
    pub(crate) fn of_text<'a>(&'a mut self, text: &'a str, origins: &'a Origins) -> Parser<'a, 'a> {
        Parser {
            text,
            pos: 0,
            end: text.len(),
            origins: Some(origins),
            list: self.list,
            context: self.context.clone(),
            waiting: Vec::new(),
        }
    }

    /// Arithmetic between two places: expansions as in double quotes, and names that are evaluated. Gives the
    /// number of semicolons.
    pub(crate) fn arithmetic(&mut self, start: usize, end: usize) -> Result<usize, Stop> {
        let limit = std::mem::replace(&mut self.end, end);
        self.pos = start;
        let result = self.nested(Self::arithmetic_text);
        self.evaluates(start, end);
        self.end = limit;
        result
    }

    fn arithmetic_text(&mut self) -> Result<usize, Stop> {
        let mut inner = Builder::default();
        let mut semicolons = 0;
        while let Some(byte) = self.peek() {
            match byte {
                b'$' => self.dollar(&mut inner, true)?,
                b'`' => self.backticks(&mut inner, BacktickQuoting::Other)?,
                b'"' => self.double_quotes(&mut inner)?,
                b'\\' => self.pos = (self.pos + 2).min(self.end),
                b'\'' => {
                    // Quotes for the one who looks for the end, text for the one who expands.
                    self.doubt("a single quote in arithmetic", self.pos);
                    self.pos += 1;
                }
                b';' => {
                    semicolons += 1;
                    self.pos += 1;
                }
                _ => self.pos = self.run_end(|byte| !b"$`\"\\';".contains(&byte)),
            }
        }
        Ok(semicolons)
    }

    /// Takes note of what a piece of arithmetic reads.
    pub(crate) fn evaluates(&mut self, start: usize, end: usize) {
        let text = self.text.get(start..end).unwrap_or_default();
        self.list.evaluated.piece(text);
        let span = self.span(start, end);
        if self.list.evaluated.is_foreign(&span) {
            self.doubt("output that arithmetic may run as code", start);
        }
        if self.context.function.is_some() && reads_arguments(text) {
            self.doubt("an argument that arithmetic may run as code", start);
        }
    }

    /// A subscript, behind its `[`: arithmetic, or the key of an associative array.
    pub(crate) fn subscript(&mut self) -> Result<(), Stop> {
        let start = self.pos;
        let Some(end) = self.pair_end(start, b'[', b']') else {
            return Err(self.syntax("`]` behind a subscript"));
        };
        self.arithmetic(start, end - 1)?;
        self.pos = end;
        Ok(())
    }

    /// The end of `$'…'`, in which a backslash keeps a quote from closing.
    fn ansi_end(&self, from: usize) -> Option<usize> {
        let mut at = from;
        loop {
            match self.byte_at(at)? {
                b'\'' => return Some(at + 1),
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
    }

    /// `$'…'`: escapes as in C.
    fn ansi_quotes(&mut self, builder: &mut Builder) -> Result<(), Stop> {
        builder.quote();
        let start = self.pos + 1;
        let Some(close) = self.ansi_end(start) else { return Err(self.syntax("a closing single quote")) };
        let end = close - 1;
        self.pos = close;
        match crate::escapes::decode(self.slice(start, end)) {
            Ok(text) => {
                for character in text.chars().filter(|&character| crate::characters::deceives(character)) {
                    let span = self.span(start, end);
                    self.list.opaque(crate::script::OpaqueReason::Character(character), span);
                }
                builder.text(&text);
            }
            Err(why) => {
                self.doubt(why, start);
                builder.part(Part::Glob(self.slice(start, end).to_owned()));
            }
        }
        builder.unquote();
        Ok(())
    }
}

/// A parameter whose name is one character that is not a letter.
pub(crate) fn special(byte: u8) -> bool {
    matches!(byte, b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!')
}

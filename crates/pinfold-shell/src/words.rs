//! Words: quotes, escapes, and the order in which their pieces are found.
//!
//! What an unquoted character means may depend on what follows (`{` on `,` and `}`, `[` on `]`). Such characters
//! are marked on the way, and the marks are read when the word is complete ([`crate::patterns`]).

use crate::expansions::BacktickQuoting;
use crate::lexer::{breaks, is_name};
use crate::opaque::Stop;
use crate::parse::Parser;
use crate::script::{Assignment, Part, Word};

/// The position of a word in the grammar, which decides what its characters mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    /// In front of a command: it may be an assignment.
    Prefix,
    /// An argument, or a word of a list.
    Argument,
    /// An argument of a builtin that takes assignments of arrays.
    Declared,
    /// An element of an array.
    Element,
    /// Behind a redirect.
    Target,
    /// One word that is neither split nor matched: of `case`, behind `<<<`, beside `[[ ]]` operators.
    Single,
    /// A pattern of `case`.
    Pattern,
    /// A pattern of `[[ ]]`, where extended patterns are always on.
    Extended,
    /// A regular expression of `[[ =~ ]]`.
    Regex,
}

impl Position {
    fn expands_braces(self) -> bool {
        matches!(self, Self::Prefix | Self::Argument | Self::Declared | Self::Element | Self::Target)
    }

    pub(crate) fn takes_arrays(self) -> bool {
        matches!(self, Self::Prefix | Self::Declared)
    }
}

/// A word, and what it turned out to be.
#[derive(Debug)]
pub(crate) struct Lexed {
    pub(crate) word: Word,
    pub(crate) assignment: Option<Assignment>,
}

/// An unquoted character of a word that may be more than itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    /// The literal part that it stands in.
    pub(crate) part: usize,
    /// Position in the part.
    pub(crate) at: usize,
    pub(crate) byte: u8,
}

/// A word in the making.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    pub(crate) parts: Vec<Part>,
    pub(crate) marks: Vec<Mark>,
    pub(crate) quoted: bool,
    /// The last thing added was an unquoted, unescaped character.
    bare: bool,
    /// End of `NAME=`, when the word begins so.
    pub(crate) value: Option<AssignedValue>,
    /// End of the name in `NAME[…]`.
    pub(crate) subscripted: Option<usize>,
    pub(crate) elements: Option<Vec<Word>>,
}

/// `NAME=` at the start of a word.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AssignedValue {
    /// End of the name.
    pub(crate) name: usize,
    /// Beginning of the value.
    pub(crate) at: usize,
    pub(crate) appends: bool,
}

impl Builder {
    pub(crate) fn text(&mut self, text: &str) {
        match self.parts.last_mut() {
            Some(Part::Literal(last)) => last.push_str(text),
            _ if text.is_empty() => {}
            _ => self.parts.push(Part::Literal(text.to_owned())),
        }
    }

    pub(crate) fn bare_text(&mut self, text: &str) {
        self.text(text);
        self.bare = true;
    }

    pub(crate) fn part(&mut self, part: Part) {
        match (self.parts.last_mut(), part) {
            // With marks the pieces are joined when those are read.
            (Some(Part::Glob(last)), Part::Glob(more)) if self.marks.is_empty() => last.push_str(&more),
            (_, part) => self.parts.push(part),
        }
        self.bare = false;
    }

    /// Something quoted follows. Behind a mark that matters: quotes keep braces and tildes from being special.
    pub(crate) fn quote(&mut self) {
        self.quoted = true;
        self.bare = false;
        if !self.marks.is_empty() {
            self.mark(b'"');
        }
    }

    /// Ends a quoted part.
    pub(crate) fn unquote(&mut self) {
        self.bare = false;
        if !self.marks.is_empty() {
            self.mark(b'\'');
        }
    }

    /// The next byte of text is special.
    pub(crate) fn mark(&mut self, byte: u8) {
        let (part, at) = match self.parts.as_slice() {
            [.., Part::Literal(last)] => (self.parts.len() - 1, last.len()),
            parts => (parts.len(), 0),
        };
        self.marks.push(Mark { part, at, byte });
    }

    /// The text, if it is all there is and none of it was special.
    pub(crate) fn only_text(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Literal(text)] if !self.quoted && self.marks.is_empty() => Some(text),
            _ => None,
        }
    }

    fn is_empty(&self) -> bool {
        self.parts.is_empty() && !self.quoted
    }

    fn ends_bare_with(&self, bytes: &[u8]) -> bool {
        let last = match self.parts.last() {
            Some(Part::Literal(text)) => text.bytes().last(),
            _ => None,
        };
        self.bare && last.is_some_and(|byte| bytes.contains(&byte))
    }

    /// The mark of a `~` here: `:` at the start of a value or behind a `:` in it, `~` at the start of a word, or
    /// where braces may make it one, `%` where they may make a value of it.
    fn tilde(&self) -> Option<u8> {
        let at_value = |value: AssignedValue| match self.parts.as_slice() {
            [Part::Literal(text)] => text.len() == value.at || self.ends_bare_with(b":"),
            _ => self.ends_bare_with(b":"),
        };
        let in_braces = self.in_braces() && self.ends_bare_with(b"{,}");
        match self.value {
            Some(value) if at_value(value) => Some(b':'),
            Some(_) => in_braces.then_some(b'%'),
            None => (self.is_empty() || in_braces).then_some(b'~'),
        }
    }

    /// A `(` here does not end the word.
    fn takes_group(&self, position: Position) -> bool {
        position == Position::Regex || self.ends_bare_with(b"?*+@!")
    }

    /// A brace was opened, perhaps closed again.
    pub(crate) fn in_braces(&self) -> bool {
        self.marks.iter().any(|mark| mark.byte == b'{')
    }
}

impl Parser<'_, '_> {
    /// Reads the word that begins here.
    pub(crate) fn parse_word(&mut self, position: Position) -> Result<Lexed, Stop> {
        let plain = self.plain_word_end().filter(|_| position != Position::Regex);
        if let Some(end) = plain {
            let word = Word {
                parts: vec![Part::Literal(self.slice(self.pos, end).to_owned())],
                span: self.span(self.pos, end),
                quoted: false,
            };
            self.pos = end;
            return Ok(Lexed { word, assignment: None });
        }
        let start = self.pos;
        let mut builder = Builder::default();
        while self.piece(&mut builder, position)? {}
        if builder.is_empty() && self.pos == start {
            return Err(self.syntax("a word"));
        }
        Ok(self.finish(builder, position, start))
    }

    /// Reads a word that cannot be an assignment.
    pub(crate) fn plain_word(&mut self, position: Position) -> Result<Word, Stop> {
        Ok(self.parse_word(position)?.word)
    }

    /// Reads the next piece of a word. Says whether there was one.
    fn piece(&mut self, builder: &mut Builder, position: Position) -> Result<bool, Stop> {
        let Some(byte) = self.peek() else { return Ok(false) };
        match byte {
            b'\'' => self.single_quotes(builder)?,
            b'"' => self.double_quotes(builder)?,
            b'\\' => self.escape(builder),
            b'`' => self.backticks(builder, BacktickQuoting::Nothing)?,
            b'$' => self.dollar(builder, false)?,
            b'(' if builder.takes_group(position) => self.pattern_group(builder, position)?,
            b'<' | b'>' if self.ahead() == Some(b'(') => self.process(builder)?,
            b'|' if position == Position::Regex => self.bare_byte(builder),
            b'=' => self.equals(builder, position)?,
            b'[' if position == Position::Prefix && builder.only_text().is_some_and(is_name) => {
                self.subscript_of(builder)?;
            }
            b'~' => self.tilde(builder),
            b'{' | b'*' | b'?' | b'[' => self.marked_byte(builder),
            b',' | b'}' | b']' if !builder.marks.is_empty() => self.marked_byte(builder),
            _ if breaks(byte) => return Ok(false),
            _ => self.bare_run(builder),
        }
        Ok(true)
    }

    fn bare_run(&mut self, builder: &mut Builder) {
        let end = self.plain_end().max(self.pos + 1);
        builder.bare_text(self.slice(self.pos, end));
        self.pos = end;
    }

    pub(crate) fn bare_byte(&mut self, builder: &mut Builder) {
        builder.bare_text(self.slice(self.pos, self.pos + 1));
        self.pos += 1;
    }

    fn tilde(&mut self, builder: &mut Builder) {
        if let Some(mark) = builder.tilde() {
            builder.mark(mark);
        }
        self.bare_byte(builder);
    }

    fn marked_byte(&mut self, builder: &mut Builder) {
        if let Some(byte) = self.byte() {
            builder.mark(byte);
        }
        self.bare_byte(builder);
    }

    pub(crate) fn single_quotes(&mut self, builder: &mut Builder) -> Result<(), Stop> {
        builder.quote();
        let start = self.pos + 1;
        self.pos = start;
        let end = self.run_end(|byte| byte != b'\'');
        if end >= self.end {
            return Err(self.syntax("a closing single quote"));
        }
        builder.text(self.slice(start, end));
        builder.unquote();
        self.pos = end + 1;
        Ok(())
    }

    pub(crate) fn double_quotes(&mut self, builder: &mut Builder) -> Result<(), Stop> {
        builder.quote();
        self.pos += 1;
        let start = self.pos;
        let read = self.nested(|parser| parser.quoted_text(builder, Some(b'"')));
        if read.is_err() {
            self.pos = start;
        }
        builder.unquote();
        read
    }

    /// Reads text in which only `$`, backticks and backslashes are special, up to `close` or the end.
    pub(crate) fn quoted_text(&mut self, builder: &mut Builder, close: Option<u8>) -> Result<(), Stop> {
        loop {
            match self.byte() {
                None if close.is_some() => return Err(self.syntax("a closing double quote")),
                None => return Ok(()),
                Some(byte) if Some(byte) == close => {
                    self.pos += 1;
                    return Ok(());
                }
                Some(b'\\') => self.quoted_escape(builder, close),
                Some(b'`') if close.is_some() => self.backticks(builder, BacktickQuoting::DoubleQuotes)?,
                Some(b'`') => self.backticks(builder, BacktickQuoting::Other)?,
                Some(b'$') => self.dollar(builder, true)?,
                Some(_) => {
                    let plain = |byte| !matches!(byte, b'\\' | b'`' | b'$') && Some(byte) != close;
                    let end = self.run_end(plain);
                    builder.text(self.slice(self.pos, end));
                    self.pos = end;
                }
            }
        }
    }

    fn quoted_escape(&mut self, builder: &mut Builder, close: Option<u8>) {
        self.pos += 1;
        match self.byte() {
            Some(b'\n') => self.pos += 1,
            Some(byte) if matches!(byte, b'$' | b'`' | b'\\') || Some(byte) == close => {
                self.bare_byte(builder);
            }
            _ => builder.text("\\"),
        }
    }

    /// A backslash takes the meaning from the character behind it. At the very end it stays.
    fn escape(&mut self, builder: &mut Builder) {
        let start = self.pos + 1;
        let length = self.slice(start, self.end).chars().next().map_or(0, char::len_utf8);
        if length == 0 {
            self.pos = start;
            self.doubt("a backslash at the end", start - 1);
        }
        builder.quote();
        builder.text(if length == 0 { "\\" } else { self.slice(start, start + length) });
        builder.unquote();
        self.pos = start + length;
    }

    /// `(…)` of a regular expression or an extended pattern.
    fn pattern_group(&mut self, builder: &mut Builder, position: Position) -> Result<(), Stop> {
        if matches!(position, Position::Regex | Position::Extended) {
            builder.bare_text("(");
        } else {
            self.doubt("an extended pattern, which depends on `extglob`", self.pos);
            builder.part(Part::Glob("(".to_owned()));
        }
        self.pos += 1;
        self.nested(|parser| parser.group_end(builder, position))
    }

    fn group_end(&mut self, builder: &mut Builder, position: Position) -> Result<(), Stop> {
        loop {
            match self.peek() {
                None => return Err(self.syntax("`)` behind a pattern")),
                Some(b')') => {
                    self.bare_byte(builder);
                    return Ok(());
                }
                Some(b'(') => self.pattern_group(builder, position)?,
                Some(b'<' | b'>') if self.ahead() == Some(b'(') => self.process(builder)?,
                Some(byte) if breaks(byte) => self.bare_byte(builder),
                Some(_) => drop(self.piece(builder, Position::Single)?),
            }
        }
    }

    fn finish(&self, builder: Builder, position: Position, start: usize) -> Lexed {
        let span = self.span(start, self.pos);
        match builder.value {
            Some(value) if position == Position::Prefix => {
                let assignment = self.assignment(builder, value, start);
                Lexed { word: Word { span, ..Word::default() }, assignment: Some(assignment) }
            }
            _ => Lexed { word: self.complete(builder, position, start), assignment: None },
        }
    }

    /// A word out of its pieces.
    pub(crate) fn complete(&self, builder: Builder, position: Position, start: usize) -> Word {
        let Builder { parts, marks, quoted, elements, .. } = builder;
        let mut word = Word { parts, span: self.span(start, self.pos), quoted };
        if !marks.is_empty() {
            word.parts = crate::patterns::resolve(word.parts, &marks, position.expands_braces(), &word.span);
        }
        if let Some(elements) = elements {
            crate::assignments::list(elements, &mut word.parts);
        }
        word
    }
}

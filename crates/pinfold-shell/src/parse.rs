//! Lists, pipes and simple commands. Compound commands are in [`crate::compound`], words in [`crate::words`].
//!
//! The parser goes through the text once, from left to right. It recurses where constructs stand in each other,
//! and no deeper than [`MAX_NESTING`]. At a syntax error it stops; bash has run the lines before, and would not
//! run the rest, but the rest is listed all the same ([`crate::salvage`]): it is there to be denied.

use crate::heredocs::Waiting;
use crate::lexer::Keyword;
use crate::listing::Listing;
use crate::opaque::{MAX_NESTING, Stop};
use crate::origins::Origins;
use crate::script::{CommandContext, OpaqueReason, Span, Word};
use crate::words::Position;
use std::rc::Rc;

/// Reads one text: the command line itself, or one that had to be unescaped from it.
#[derive(Debug)]
pub(crate) struct Parser<'t, 'l> {
    pub(crate) text: &'t str,
    /// The next byte.
    pub(crate) pos: usize,
    /// One past the last byte of the part that is read.
    pub(crate) end: usize,
    /// Map to the command line, when the text is not the command line itself.
    pub(crate) origins: Option<&'t Origins>,
    pub(crate) list: &'l mut Listing,
    pub(crate) context: Context,
    /// Here-documents whose text begins at the next newline.
    pub(crate) waiting: Vec<Waiting>,
}

/// The constructs around the position that is read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Context {
    /// Constructs that are open.
    pub(crate) depth: usize,
    /// Substitutions of any kind that are open.
    pub(crate) substitution: usize,
    /// Command substitutions that are open.
    pub(crate) nesting: usize,
    pub(crate) shell: usize,
    pub(crate) function: Option<Rc<str>>,
    pub(crate) background: bool,
    pub(crate) conditional: bool,
    pub(crate) repeats: bool,
    pub(crate) after: Option<usize>,
    /// The command whose words and redirects are read.
    pub(crate) command: Option<usize>,
}

impl<'t, 'l> Parser<'t, 'l> {
    pub(crate) fn new(text: &'t str, list: &'l mut Listing) -> Self {
        let context = Context::default();
        Self { text, pos: 0, end: text.len(), origins: None, list, context, waiting: Vec::new() }
    }

    /// Reads everything up to the end, whatever it says.
    pub(crate) fn program(&mut self) {
        if self.lines().is_err() {
            self.salvage();
        }
    }

    fn lines(&mut self) -> Result<(), Stop> {
        self.list()?;
        if self.peek().is_some() {
            return Err(self.syntax("a command"));
        }
        self.unfinished_documents();
        Ok(())
    }

    /// Reads and-or lists up to something that closes them. Says whether there were any.
    pub(crate) fn list(&mut self) -> Result<bool, Stop> {
        let mut any = false;
        loop {
            self.line_breaks();
            if self.closes() {
                return Ok(any);
            }
            let background = self.and_or()?;
            any = true;
            self.skip_blanks();
            match self.peek() {
                _ if background => {}
                Some(b'\n') => self.newline(),
                Some(b';') if !matches!(self.ahead(), Some(b';' | b'&')) => self.pos += 1,
                _ => return Ok(any),
            }
        }
    }

    /// Reads a list that may not be empty.
    pub(crate) fn some_list(&mut self) -> Result<(), Stop> {
        if self.list()? { Ok(()) } else { Err(self.syntax("a command")) }
    }

    fn closes(&mut self) -> bool {
        match self.peek() {
            None | Some(b')') => true,
            Some(b';') => matches!(self.ahead(), Some(b';' | b'&')),
            Some(_) => self.keyword().is_some_and(|(keyword, _)| keyword.closes()),
        }
    }

    /// Reads pipes joined by `&&` and `||`. Says whether they end with `&`.
    fn and_or(&mut self) -> Result<bool, Stop> {
        let (start, shells, outer) = (self.list.len(), self.list.shells(), self.context.clone());
        let mut before = self.pipe()?;
        while let Some(and) = self.and_or_operator() {
            self.line_breaks();
            self.context.conditional = true;
            self.context.after = if and { before } else { None };
            let alone = self.pipe()?;
            // Behind `||` it is not known which side succeeded.
            before = if and { alone } else { None };
        }
        self.context = outer;
        let background = self.eat(b'&');
        if background {
            self.send_to_background(start, shells);
        }
        Ok(background)
    }

    fn and_or_operator(&mut self) -> Option<bool> {
        self.skip_blanks();
        let byte = self.peek().filter(|&byte| matches!(byte, b'&' | b'|') && self.ahead() == Some(byte))?;
        self.pos += 1;
        self.eat(byte);
        Some(byte == b'&')
    }

    fn send_to_background(&mut self, start: usize, shells: usize) {
        let range = start..self.list.len();
        self.list.split_shell(range.clone(), self.context.shell, shells);
        self.list.range(range).iter_mut().for_each(|command| command.place.background = true);
    }

    /// Reads commands joined by `|`. Gives the position of the command if it is a simple one, alone and not
    /// negated.
    fn pipe(&mut self) -> Result<Option<usize>, Stop> {
        let prefixed = self.pipe_prefix();
        if prefixed.is_some() && self.pipe_ends() {
            return Ok(None);
        }
        let (start, shells) = (self.list.len(), self.list.shells());
        let alone = self.command()?;
        if !self.at_pipe() {
            return Ok(if prefixed == Some(Keyword::Bang) { None } else { alone });
        }
        let mut left = start..self.list.len();
        self.list.split_shell(left.clone(), self.context.shell, shells);
        while self.at_pipe() {
            self.pos += 1;
            self.eat(b'&');
            self.line_breaks();
            let from = self.list.last_at(left, self.context.substitution);
            let start = self.list.len();
            self.in_new_shell(|parser| parser.command().map(drop))?;
            left = start..self.list.len();
            self.list.pipe(left.clone(), from);
        }
        Ok(None)
    }

    /// Passes over `!` and `time` with its options. Gives `!` if there was one.
    fn pipe_prefix(&mut self) -> Option<Keyword> {
        let mut prefix = None;
        loop {
            self.skip_blanks();
            match self.keyword() {
                Some((Keyword::Bang, end)) => {
                    prefix = Some(Keyword::Bang);
                    let start = std::mem::replace(&mut self.pos, end);
                    if self.byte() == Some(b'(') {
                        self.doubt("`!(`, which is a pattern where `extglob` is on", start);
                    }
                }
                Some((Keyword::Time, end)) => {
                    prefix = prefix.or(Some(Keyword::Time));
                    self.pos = end;
                    self.time_options();
                }
                _ => return prefix,
            }
        }
    }

    fn time_options(&mut self) {
        for option in ["-p", "--"] {
            self.skip_blanks();
            let start = self.pos;
            let taken =
                option.bytes().all(|byte| self.eat(byte)) && self.peek().is_none_or(crate::lexer::breaks);
            if !taken {
                self.pos = start;
            }
        }
    }

    fn pipe_ends(&mut self) -> bool {
        matches!(self.peek(), None | Some(b'\n' | b';'))
    }

    fn at_pipe(&mut self) -> bool {
        self.skip_blanks();
        self.peek() == Some(b'|') && self.ahead() != Some(b'|')
    }

    /// Reads a command. Gives its position if it is a simple one.
    pub(crate) fn command(&mut self) -> Result<Option<usize>, Stop> {
        if self.compound()? {
            return Ok(None);
        }
        match self.peek() {
            None | Some(b'\n' | b';' | b'|' | b')') => Err(self.syntax("a command")),
            Some(b'&') if self.ahead() != Some(b'>') => Err(self.syntax("a command")),
            _ => self.simple_command(),
        }
    }

    /// Reads assignments, words and redirects; or a function, if that is what it turns out to be.
    fn simple_command(&mut self) -> Result<Option<usize>, Stop> {
        let place = self.place();
        let start = self.origin(self.pos);
        let position = self.list.open(place, start);
        let outer = self.context.command.replace(position);
        let mut words = CommandWords::default();
        while self.more_words() {
            let waits = !self.waiting.is_empty();
            let from = self.pos;
            if self.byte() == Some(b'(') {
                self.context.command = outer;
                return self.function_behind(position, &words);
            }
            if let Some(redirect) = self.redirect(position)? {
                words.redirects = true;
                self.list.redirect(position..position + 1, &redirect);
            } else {
                self.command_word(position, &mut words)?;
            }
            self.doubt_lines(waits, from);
            self.close_span(position);
        }
        self.context.command = outer;
        Ok(Some(position))
    }

    /// Returns `true` if the command goes on here.
    fn more_words(&mut self) -> bool {
        self.skip_blanks();
        match self.peek() {
            None | Some(b'\n' | b';' | b'|' | b')') => false,
            Some(b'&') => self.ahead() == Some(b'>'),
            Some(_) => true,
        }
    }

    fn command_word(&mut self, position: usize, words: &mut CommandWords) -> Result<(), Stop> {
        let place = match (words.count, words.declares) {
            (0, _) => Position::Prefix,
            (_, true) => Position::Declared,
            (_, false) => Position::Argument,
        };
        let lexed = self.parse_word(place)?;
        if let Some(assignment) = lexed.assignment {
            words.assignments = true;
            self.list.assignment(position, assignment);
            return Ok(());
        }
        if words.count == 0 {
            words.declares = lexed.word.as_static().is_some_and(declares);
            self.doubt_keyword(&lexed.word, words.redirects);
        }
        words.count += 1;
        self.list.push_word(position, lexed.word);
        Ok(())
    }

    /// bash prints the commands of a substitution with redirects behind the words, and reads them again.
    fn doubt_keyword(&mut self, word: &Word, redirected: bool) {
        let keyword = || word.as_static().is_some_and(|text| Keyword::from_word(text.as_bytes()).is_some());
        if redirected && !word.quoted && keyword() {
            self.doubt("a reserved word behind a redirect", self.pos);
        }
    }

    /// A `(` behind words: a function if there is one word alone.
    fn function_behind(&mut self, position: usize, words: &CommandWords) -> Result<Option<usize>, Stop> {
        if words.count != 1 || words.assignments || words.redirects {
            return Err(self.syntax("an operator or a word instead of `(`"));
        }
        let name = self.list.close_function(position);
        self.function_parentheses()?;
        self.function_body(name)?;
        Ok(None)
    }

    /// Passes over blanks, comments and newlines, with the here-documents behind these.
    pub(crate) fn line_breaks(&mut self) {
        self.skip_blanks();
        while self.peek() == Some(b'\n') {
            self.newline();
            self.skip_blanks();
        }
    }

    pub(crate) fn newline(&mut self) {
        self.pos += 1;
        if !self.waiting.is_empty() {
            self.documents();
        }
    }

    /// Runs something one level deeper.
    pub(crate) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Stop>) -> Result<T, Stop> {
        if self.context.depth >= MAX_NESTING {
            let span = self.span(self.pos, self.pos);
            self.list.opaque(OpaqueReason::TooMuch("constructs stand in each other too deep"), span);
            return Err(Stop);
        }
        self.context.depth += 1;
        let result = read(self)?;
        self.context.depth -= 1;
        Ok(result)
    }

    /// Reads something that may not run.
    pub(crate) fn conditionally<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let outer = std::mem::replace(&mut self.context.conditional, true);
        let result = read(self)?;
        self.context.conditional = outer;
        Ok(result)
    }

    /// Runs something in a subshell.
    pub(crate) fn in_new_shell(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let Context { shell, repeats, .. } = self.context;
        self.context.shell = self.list.shell(shell);
        self.context.repeats = false;
        read(self)?;
        self.context.shell = shell;
        self.context.repeats = repeats;
        Ok(())
    }

    pub(crate) fn place(&self) -> CommandContext {
        let Context { substitution, shell, background, conditional, repeats, after, .. } = self.context;
        let function = self.context.function.as_deref().map(str::to_owned);
        CommandContext {
            piped_from: None,
            substitution,
            shell,
            after,
            function,
            background,
            conditional,
            repeats,
        }
    }

    /// The end of the last word is the end of the command.
    pub(crate) fn close_span(&mut self, position: usize) {
        let end = self.origin_end(0, self.pos);
        if let Some(command) = self.list.command(position) {
            command.span.end = end.max(command.span.start);
        }
    }

    /// bash would not take it.
    pub(crate) fn syntax(&mut self, expected: &'static str) -> Stop {
        let span = self.span(self.pos, self.pos);
        self.list.opaque(OpaqueReason::Syntax(expected), span);
        Stop
    }

    /// bash takes it; what it does with it is not known for certain.
    pub(crate) fn doubt(&mut self, construct: &'static str, start: usize) {
        let span = self.span(start, self.pos);
        self.list.opaque(OpaqueReason::Construct(construct), span);
    }

    /// Returns the position in the command line of a position in this text.
    pub(crate) fn origin(&self, at: usize) -> usize {
        self.origins.map_or(at, |origins| origins.original_position(at))
    }

    pub(crate) fn span(&self, start: usize, end: usize) -> Span {
        let from = self.origin(start);
        from..self.origin_end(start, end).max(from)
    }

    /// Returns the position in the command line directly behind the last byte of a part of this text.
    fn origin_end(&self, start: usize, end: usize) -> usize {
        if end > start { self.origin(end - 1) + 1 } else { self.origin(end) }
    }
}

/// The parts of a simple command read so far.
#[derive(Debug, Default)]
struct CommandWords {
    count: usize,
    assignments: bool,
    redirects: bool,
    /// Arguments may be assignments of arrays.
    declares: bool,
}

/// Builtins whose arguments may be assignments of arrays.
fn declares(name: &str) -> bool {
    matches!(name, "alias" | "declare" | "eval" | "export" | "let" | "local" | "readonly" | "typeset")
}

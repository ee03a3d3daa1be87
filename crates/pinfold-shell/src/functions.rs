//! Functions and coprocesses: commands that get a name.

use crate::lexer::{Keyword, breaks};
use crate::opaque::Stop;
use crate::parse::Parser;
use crate::script::Word;
use crate::words::Position;
use std::rc::Rc;

impl Parser<'_, '_> {
    /// `function NAME` with or without `()`.
    pub(crate) fn function_keyword(&mut self, end: usize) -> Result<(), Stop> {
        self.pos = end;
        self.skip_blanks();
        let name = self.plain_word(Position::Argument)?;
        self.skip_blanks();
        if self.peek() == Some(b'(') && self.ahead_is_close() {
            self.function_parentheses()?;
        }
        self.function_body(Some(name))
    }

    /// `()` follows, rather than a subshell as the body.
    fn ahead_is_close(&mut self) -> bool {
        let start = self.pos;
        self.pos += 1;
        self.skip_blanks();
        let close = self.peek() == Some(b')');
        self.pos = start;
        close
    }

    pub(crate) fn function_parentheses(&mut self) -> Result<(), Stop> {
        self.pos += 1;
        self.skip_blanks();
        self.expect(b')', "`)` behind the name of a function")
    }

    pub(crate) fn function_body(&mut self, name: Option<Word>) -> Result<(), Stop> {
        let name = name.filter(|word| !word.quoted).and_then(|word| word.as_static().map(str::to_owned));
        let name = name.unwrap_or_else(|| {
            self.doubt("a name of a function that is not plain", self.pos);
            String::new()
        });
        self.list.function(&name);
        self.line_breaks();
        let outer = self.context.clone();
        self.context.function = Some(Rc::from(name));
        (self.context.conditional, self.context.repeats) = (true, true);
        self.context.after = None;
        if self.keyword().is_some_and(|(keyword, _)| matches!(keyword, Keyword::Function | Keyword::Coproc))
            || !self.compound()?
        {
            return Err(self.syntax("the body of a function"));
        }
        self.context = outer;
        Ok(())
    }

    /// `coproc command`, `coproc NAME compound`.
    pub(crate) fn coprocess(&mut self, end: usize) -> Result<(), Stop> {
        if self.context.substitution > 0 {
            // bash prints the commands of a substitution and reads them again, with a name that was not there.
            self.doubt("a coprocess in a substitution", self.pos);
        }
        self.pos = end;
        let outer = self.context.clone();
        self.context.background = true;
        self.context.shell = self.list.shell(outer.shell);
        self.nested(Self::coprocess_command)?;
        self.context = outer;
        Ok(())
    }

    fn coprocess_command(&mut self) -> Result<(), Stop> {
        self.skip_blanks();
        let start = self.pos;
        let begins_word = self.peek().is_some_and(|byte| !breaks(byte)) && self.keyword().is_none();
        if begins_word && self.plain_word_end().is_none() {
            self.doubt("a coprocess whose first word is not plain", start);
        } else if begins_word {
            self.plain_word(Position::Argument)?;
            self.skip_blanks();
            if self.peek() != Some(b'(') && self.keyword().is_none() {
                self.pos = start;
            }
        }
        self.command().map(drop)
    }
}

//! Compound commands: groups, branches, loops.

use crate::lexer::{Keyword, is_name};
use crate::opaque::Stop;
use crate::parse::Parser;
use crate::script::{Assignment, Part, Word};
use crate::words::Position;

impl Parser<'_, '_> {
    /// Reads a compound command with its redirects, if one begins here.
    pub(crate) fn compound(&mut self) -> Result<bool, Stop> {
        let first = self.list.len();
        self.skip_blanks();
        if self.peek() == Some(b'(') {
            self.nested(Self::parentheses)?;
            self.inherited_redirects(first)?;
            return Ok(true);
        }
        let Some((keyword, end)) = self.keyword() else { return Ok(false) };
        let read: fn(&mut Self) -> Result<(), Stop> = match keyword {
            // Behind a pipe it is an ordinary command.
            Keyword::Time => return Ok(false),
            Keyword::OpenBrace => Self::group,
            Keyword::If => Self::branches,
            Keyword::While | Keyword::Until => Self::loops,
            Keyword::For => Self::for_loop,
            Keyword::Select => Self::select,
            Keyword::Case => Self::case,
            Keyword::Test => Self::test,
            Keyword::Function => return self.function_keyword(end).map(|()| true),
            Keyword::Coproc => return self.coprocess(end).map(|()| true),
            Keyword::Bang
            | Keyword::CloseBrace
            | Keyword::CloseTest
            | Keyword::Do
            | Keyword::Done
            | Keyword::Elif
            | Keyword::Else
            | Keyword::Esac
            | Keyword::Fi
            | Keyword::In
            | Keyword::Then => return Err(self.syntax("a command instead of a reserved word")),
        };
        self.pos = end;
        self.nested(read)?;
        self.inherited_redirects(first)?;
        Ok(true)
    }

    /// Redirects behind a compound command, which all commands in it inherit.
    fn inherited_redirects(&mut self, first: usize) -> Result<(), Stop> {
        let (range, place) = (first..self.list.len(), self.place());
        let last = self.list.last_at(range.clone(), self.context.substitution);
        let outer = std::mem::replace(&mut self.context.command, last);
        loop {
            self.skip_blanks();
            let from = self.pos;
            let waits = !self.waiting.is_empty();
            let Some(mut redirect) = self.redirect(first)? else {
                self.context.command = outer;
                return Ok(());
            };
            if range.is_empty() {
                // No command to inherit it: it stands by itself.
                let position = self.list.open(place.clone(), self.origin(from));
                self.list.redirect(position..position + 1, &redirect);
                self.close_span(position);
            } else {
                redirect.inherited = true;
                self.list.redirect(range.clone(), &redirect);
            }
            self.doubt_lines(waits, from);
            self.skip_blanks();
            if self.keyword().is_some() {
                return Err(self.syntax("an operator behind a redirect"));
            }
        }
    }

    /// `( )` or `(( ))`.
    fn parentheses(&mut self) -> Result<(), Stop> {
        if self.ahead() == Some(b'(') && self.arithmetic_command()?.is_some() {
            return Ok(());
        }
        self.pos += 1;
        self.in_new_shell(Self::some_list)?;
        self.expect(b')', "`)` behind a subshell")
    }

    /// `((…))`, if both parentheses close together; otherwise they are two subshells. Gives the number of semicolons.
    fn arithmetic_command(&mut self) -> Result<Option<usize>, Stop> {
        let start = self.pos;
        self.pos += 1;
        if self.peek() != Some(b'(') {
            return Ok(None);
        }
        let inside = self.pos + 1;
        let Some(end) = self.pair_end(inside, b'(', b')') else {
            return Err(self.syntax("`))` behind `((`"));
        };
        match self.byte_at(end) {
            Some(b')') => {}
            Some(b'\n' | b'\\') => return Err(self.syntax("`))` behind `((`")),
            _ => {
                self.pos = start;
                return Ok(None);
            }
        }
        let semicolons = self.arithmetic(inside, end - 1)?;
        self.pos = end + 1;
        Ok(Some(semicolons))
    }

    fn group(&mut self) -> Result<(), Stop> {
        self.some_list()?;
        self.expect_keyword(Keyword::CloseBrace, "`}` behind a group")
    }

    fn branches(&mut self) -> Result<(), Stop> {
        self.some_list()?;
        self.expect_keyword(Keyword::Then, "`then`")?;
        let outer = std::mem::replace(&mut self.context.conditional, true);
        self.some_list()?;
        while self.eat_keyword(Keyword::Elif) {
            self.some_list()?;
            self.expect_keyword(Keyword::Then, "`then`")?;
            self.some_list()?;
        }
        if self.eat_keyword(Keyword::Else) {
            self.some_list()?;
        }
        self.context.conditional = outer;
        self.expect_keyword(Keyword::Fi, "`fi`")
    }

    fn loops(&mut self) -> Result<(), Stop> {
        let outer = self.enter_loop();
        self.some_list()?;
        self.expect_keyword(Keyword::Do, "`do`")?;
        self.some_list()?;
        (self.context.conditional, self.context.repeats) = outer;
        self.expect_keyword(Keyword::Done, "`done`")
    }

    fn for_loop(&mut self) -> Result<(), Stop> {
        self.skip_blanks();
        if self.peek() == Some(b'(') && self.ahead() == Some(b'(') {
            if self.conditionally(Self::arithmetic_command)? != Some(2) {
                return Err(self.syntax("three expressions and `))` behind `for ((`"));
            }
            self.skip_blanks();
            if self.peek() == Some(b';') && self.ahead() != Some(b';') {
                self.pos += 1;
            }
            return self.loop_body();
        }
        self.loop_over_words()
    }

    fn select(&mut self) -> Result<(), Stop> {
        self.loop_over_words()
    }

    /// `NAME in words; do …`.
    fn loop_over_words(&mut self) -> Result<(), Stop> {
        self.skip_blanks();
        let start = self.pos;
        let name = self.plain_word(Position::Argument)?;
        let name = name
            .as_static()
            .filter(|name| is_name(name) && !self.slice(start, self.pos).contains(['\'', '"']));
        let Some(name) = name.map(str::to_owned) else { return Err(self.syntax("a name behind `for`")) };
        let value = Word { span: self.span(start, self.pos), ..Word::default() };
        let mut variable = Assignment { name, value, elements: Vec::new(), appends: false };
        self.line_breaks();
        let read = if self.eat_keyword(Keyword::In) {
            self.list_of_words(&mut variable.elements)
        } else {
            variable.elements.push(arguments());
            if self.peek() == Some(b';') && self.ahead() != Some(b';') {
                self.pos += 1;
            }
            Ok(())
        };
        let position = self.list.loop_over(variable);
        read?;
        let body = self.loop_body();
        let end = self.span(start, self.pos).end;
        self.list.close_loop(position, end);
        body
    }

    /// Words up to the end of the line or a `;`.
    fn list_of_words(&mut self, words: &mut Vec<Word>) -> Result<(), Stop> {
        loop {
            self.skip_blanks();
            match self.peek() {
                Some(b'\n') => {
                    self.newline();
                    return Ok(());
                }
                Some(b';') if self.ahead() != Some(b';') => {
                    self.pos += 1;
                    return Ok(());
                }
                _ => words.push(self.plain_word(Position::Argument)?),
            }
        }
    }

    /// `do …; done` or `{ …; }`.
    fn loop_body(&mut self) -> Result<(), Stop> {
        self.line_breaks();
        let outer = self.enter_loop();
        if self.eat_keyword(Keyword::OpenBrace) {
            self.group()?;
        } else {
            self.expect_keyword(Keyword::Do, "`do`")?;
            self.some_list()?;
            self.expect_keyword(Keyword::Done, "`done`")?;
        }
        (self.context.conditional, self.context.repeats) = outer;
        Ok(())
    }

    /// Enters a body that runs any number of times. Returns the state before.
    fn enter_loop(&mut self) -> (bool, bool) {
        let outer = (self.context.conditional, self.context.repeats);
        (self.context.conditional, self.context.repeats) = (true, true);
        outer
    }

    fn case(&mut self) -> Result<(), Stop> {
        self.skip_blanks();
        let word = self.plain_word(Position::Single)?;
        self.list.loose(word);
        self.line_breaks();
        self.expect_keyword(Keyword::In, "`in`")?;
        self.conditionally(Self::clauses)
    }

    fn clauses(&mut self) -> Result<(), Stop> {
        loop {
            self.line_breaks();
            if self.eat_keyword(Keyword::Esac) {
                return Ok(());
            }
            self.patterns()?;
            self.list()?;
            if !self.clause_ends() {
                return self.expect_keyword(Keyword::Esac, "`esac`");
            }
        }
    }

    /// `(a | b)` or `a | b)`.
    fn patterns(&mut self) -> Result<(), Stop> {
        self.eat(b'(');
        loop {
            self.skip_blanks();
            let pattern = self.plain_word(Position::Pattern)?;
            self.list.loose(pattern);
            self.skip_blanks();
            if !self.eat(b'|') {
                return self.expect(b')', "`)` behind a pattern");
            }
        }
    }

    /// `;;`, `;&` or `;;&`.
    fn clause_ends(&mut self) -> bool {
        if !self.eat(b';') {
            return false;
        }
        self.eat(b';');
        self.eat(b'&');
        true
    }

    pub(crate) fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), Stop> {
        if self.eat(byte) { Ok(()) } else { Err(self.syntax(what)) }
    }

    fn expect_keyword(&mut self, keyword: Keyword, what: &'static str) -> Result<(), Stop> {
        if self.eat_keyword(keyword) { Ok(()) } else { Err(self.syntax(what)) }
    }
}

/// The words of a loop without `in`.
fn arguments() -> Word {
    let parts = vec![Part::Parameter { name: "@".to_owned(), quoted: true, plain: true }];
    Word { parts, ..Word::default() }
}

//! Commands that can still be found in a text behind a place where it cannot be read.
//!
//! Flat: every operator begins a command, and so does every opening of a substitution, quoted or not. The list is
//! longer than what runs; it is there for rules that deny, and the script is opaque already.

use crate::lexer::{Keyword, breaks, in_name};
use crate::opaque::MAX_LISTED;
use crate::parse::Parser;
use crate::script::{CommandContext, Part, Redirect, RedirectKind, Word};
use crate::words::Builder;

/// A command in the making.
#[derive(Debug, Default)]
struct Rough {
    words: Vec<Word>,
    targets: Vec<Redirect>,
    word: Builder,
    start: usize,
    /// The next word is the target of a redirect.
    redirects: Option<RedirectKind>,
}

impl Parser<'_, '_> {
    /// Lists what looks like commands from here to the end.
    pub(crate) fn salvage(&mut self) {
        let mut rough = Rough { start: self.pos, ..Rough::default() };
        let mut quoted = false;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    quoted = !quoted;
                    rough.word.quoted = true;
                    self.pos += 1;
                }
                b'\'' if !quoted => self.rough_quotes(&mut rough),
                b'\\' => self.rough_escape(&mut rough),
                b'`' | b'(' | b')' => {
                    // Quotes do not reach into a substitution, nor out of it.
                    quoted = false;
                    self.rough_command(&mut rough);
                }
                b'$' => self.rough_dollar(&mut rough),
                b' ' | b'\t' if !quoted => {
                    self.rough_word(&mut rough);
                    self.pos += 1;
                }
                b'<' | b'>' if !quoted => self.rough_redirect(&mut rough),
                _ if breaks(byte) && !quoted => self.rough_command(&mut rough),
                _ => {
                    let end =
                        self.run_end(|byte| !breaks(byte) && !b"\"'\\`$".contains(&byte)).max(self.pos + 1);
                    rough.word.text(self.slice(self.pos, end));
                    self.pos = end;
                }
            }
        }
        self.rough_command(&mut rough);
    }

    /// Single quotes, if they close.
    fn rough_quotes(&mut self, rough: &mut Rough) {
        self.pos += 1;
        rough.word.quoted = true;
        let end = self.run_end(|byte| byte != b'\'');
        if end < self.end {
            rough.word.text(self.slice(self.pos, end));
            self.pos = end + 1;
        }
    }

    fn rough_escape(&mut self, rough: &mut Rough) {
        let start = self.pos + 1;
        let length = self.slice(start, self.end).chars().next().map_or(0, char::len_utf8);
        rough.word.text(self.slice(start, start + length));
        self.pos = start + length;
    }

    fn rough_dollar(&mut self, rough: &mut Rough) {
        self.pos += 1;
        let end = self.run_end(in_name);
        let name = self.slice(self.pos, end).to_owned();
        rough.word.part(Part::Parameter { name, quoted: false, plain: false });
        self.pos = end;
    }

    fn rough_redirect(&mut self, rough: &mut Rough) {
        self.rough_word(rough);
        let writes = self.byte() == Some(b'>');
        rough.redirects = Some(if writes { RedirectKind::Write } else { RedirectKind::Read });
        self.pos = self.run_end(|byte| matches!(byte, b'<' | b'>' | b'&' | b'|'));
    }

    fn rough_word(&mut self, rough: &mut Rough) {
        let Builder { parts, quoted, .. } = std::mem::take(&mut rough.word);
        if parts.is_empty() && !quoted {
            return;
        }
        let word = Word { parts, quoted, span: self.span(rough.start, self.pos) };
        if let Some(kind) = rough.redirects.take() {
            rough.targets.push(Redirect { kind, fd: None, target: word, inherited: false });
        } else if !rough.words.is_empty() || !is_reserved(&word) {
            rough.words.push(word);
        }
    }

    /// Ends the command at an operator, and passes over that.
    fn rough_command(&mut self, rough: &mut Rough) {
        self.rough_word(rough);
        let Rough { words, targets, start, .. } = std::mem::take(rough);
        if !(words.is_empty() && targets.is_empty()) && self.list.len() < MAX_LISTED {
            let place =
                CommandContext { conditional: true, shell: self.list.shell(0), ..CommandContext::default() };
            let position = self.list.open(place, self.origin(start));
            self.close_span(position);
            for word in words {
                self.list.push_word(position, word);
            }
            for target in &targets {
                self.list.redirect(position..position + 1, target);
            }
        }
        self.pos = (self.pos + 1).min(self.end);
        rough.start = self.pos;
    }
}

fn is_reserved(word: &Word) -> bool {
    !word.quoted && word.as_static().is_some_and(|text| Keyword::from_word(text.as_bytes()).is_some())
}

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
struct PartialCommand {
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
        let mut partial = PartialCommand { start: self.pos, ..PartialCommand::default() };
        let mut quoted = false;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    quoted = !quoted;
                    partial.word.quoted = true;
                    self.pos += 1;
                }
                b'\'' if !quoted => self.salvage_quotes(&mut partial),
                b'\\' => self.salvage_escape(&mut partial),
                b'`' | b'(' | b')' => {
                    // Quotes do not reach into a substitution, nor out of it.
                    quoted = false;
                    self.salvage_command(&mut partial);
                }
                b'$' => self.salvage_dollar(&mut partial),
                b' ' | b'\t' if !quoted => {
                    self.salvage_word(&mut partial);
                    self.pos += 1;
                }
                b'<' | b'>' if !quoted => self.salvage_redirect(&mut partial),
                _ if breaks(byte) && !quoted => self.salvage_command(&mut partial),
                _ => {
                    let end =
                        self.run_end(|byte| !breaks(byte) && !b"\"'\\`$".contains(&byte)).max(self.pos + 1);
                    partial.word.text(self.slice(self.pos, end));
                    self.pos = end;
                }
            }
        }
        self.salvage_command(&mut partial);
    }

    /// Single quotes, if they close.
    fn salvage_quotes(&mut self, partial: &mut PartialCommand) {
        self.pos += 1;
        partial.word.quoted = true;
        let end = self.run_end(|byte| byte != b'\'');
        if end < self.end {
            partial.word.text(self.slice(self.pos, end));
            self.pos = end + 1;
        }
    }

    fn salvage_escape(&mut self, partial: &mut PartialCommand) {
        let start = self.pos + 1;
        let length = self.slice(start, self.end).chars().next().map_or(0, char::len_utf8);
        partial.word.text(self.slice(start, start + length));
        self.pos = start + length;
    }

    fn salvage_dollar(&mut self, partial: &mut PartialCommand) {
        self.pos += 1;
        let end = self.run_end(in_name);
        let name = self.slice(self.pos, end).to_owned();
        partial.word.part(Part::Parameter { name, quoted: false, plain: false });
        self.pos = end;
    }

    fn salvage_redirect(&mut self, partial: &mut PartialCommand) {
        self.salvage_word(partial);
        let writes = self.byte() == Some(b'>');
        partial.redirects = Some(if writes { RedirectKind::Write } else { RedirectKind::Read });
        self.pos = self.run_end(|byte| matches!(byte, b'<' | b'>' | b'&' | b'|'));
    }

    fn salvage_word(&mut self, partial: &mut PartialCommand) {
        let Builder { parts, quoted, .. } = std::mem::take(&mut partial.word);
        if parts.is_empty() && !quoted {
            return;
        }
        let word = Word { parts, quoted, span: self.span(partial.start, self.pos) };
        if let Some(kind) = partial.redirects.take() {
            partial.targets.push(Redirect { kind, fd: None, target: word, inherited: false });
        } else if !partial.words.is_empty() || !is_reserved(&word) {
            partial.words.push(word);
        }
    }

    /// Ends the command at an operator, and passes over that.
    fn salvage_command(&mut self, partial: &mut PartialCommand) {
        self.salvage_word(partial);
        let PartialCommand { words, targets, start, .. } = std::mem::take(partial);
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
        partial.start = self.pos;
    }
}

fn is_reserved(word: &Word) -> bool {
    !word.quoted && word.as_static().is_some_and(|text| Keyword::from_word(text.as_bytes()).is_some())
}

//! Here-documents: the text begins on the line behind the one that asks for it, and ends with its delimiter.

use crate::opaque::Stop;
use crate::origins::Origins;
use crate::parse::{Context, Parser};
use crate::script::{Part, RedirectKind, Span, Word};
use crate::words::Builder;

/// A here-document whose text has not come yet.
#[derive(Debug)]
pub(crate) struct Waiting {
    delimiter: String,
    /// The text is taken as it stands.
    quoted: bool,
    /// `<<-`: tabs at the start of lines are taken away.
    stripped: bool,
    /// The first command that may have the redirect.
    first: usize,
    /// Position of the delimiter, by which the redirect is found again.
    span: Span,
    context: Context,
}

/// Lines of a text up to its delimiter.
#[derive(Debug, Clone, Copy)]
struct Body {
    start: usize,
    end: usize,
    /// Behind the line of the delimiter.
    next: usize,
}

impl Parser<'_, '_> {
    /// Takes note of a here-document on the command at `first` or behind it, whose delimiter begins at `start`.
    pub(crate) fn expect_document(&mut self, delimiter: &Word, start: usize, first: usize, stripped: bool) {
        let text = match delimiter.parts.as_slice() {
            [] => String::new(),
            [Part::Literal(text)] if !text.contains('\n') => text.clone(),
            _ => {
                self.doubt("a delimiter that is no plain word", start);
                self.slice(start, self.pos).to_owned()
            }
        };
        self.waiting.push(Waiting {
            delimiter: text,
            quoted: delimiter.quoted,
            stripped,
            first,
            span: delimiter.span.clone(),
            context: self.context.clone(),
        });
    }

    /// Reads the texts that wait, from the start of a line.
    pub(crate) fn documents(&mut self) {
        for waiting in std::mem::take(&mut self.waiting) {
            let body = self.body(&waiting);
            let word = self.body_word(&waiting, body);
            for command in self.list.range(waiting.first..usize::MAX) {
                let mine = |kind, span: &Span| kind == RedirectKind::HereDocument && *span == waiting.span;
                let redirects = command.redirects.iter_mut();
                for redirect in redirects.filter(|redirect| mine(redirect.kind, &redirect.target.span)) {
                    redirect.target = word.clone();
                }
            }
            self.pos = body.next;
        }
    }

    /// Here-documents that still wait at the end of the text.
    pub(crate) fn unfinished_documents(&mut self) {
        if !self.waiting.is_empty() {
            self.doubt("a here-document without its text", self.pos);
            self.documents();
        }
    }

    fn body(&mut self, waiting: &Waiting) -> Body {
        let start = self.pos;
        let mut line = start;
        while line < self.end {
            let end = self.line_end(line, waiting.quoted);
            let text = self.line(line, end, waiting);
            if text == waiting.delimiter {
                return Body { start, end: line, next: (end + 1).min(self.end) };
            }
            if self.context.substitution > 0 && text.starts_with(&waiting.delimiter) && text.contains(')') {
                // The `)` may end the substitution, and with it the text.
                self.doubt("a line of a here-document that a substitution may end", line);
                let tabs = self.slice(line, end).len() - self.slice(line, end).trim_start_matches('\t').len();
                let skipped = if waiting.stripped { tabs } else { 0 };
                return Body { start, end: line, next: (line + skipped + waiting.delimiter.len()).min(end) };
            }
            line = end + 1;
        }
        self.pos = self.end;
        self.doubt("a here-document without its end", start);
        Body { start, end: self.end, next: self.end }
    }

    /// The end of the line at `start`. Where backslashes mean something, lines that go on are one line.
    fn line_end(&self, start: usize, quoted: bool) -> usize {
        let mut at = start;
        loop {
            match self.byte_at(at) {
                None => return self.end,
                Some(b'\n') => return at,
                Some(b'\\') if !quoted => at += 2,
                Some(_) => at += 1,
            }
        }
    }

    fn line(&self, start: usize, end: usize, waiting: &Waiting) -> String {
        let text = self.slice(start, end);
        let text = if waiting.stripped { text.trim_start_matches('\t') } else { text };
        if waiting.quoted { text.to_owned() } else { text.replace("\\\n", "") }
    }

    fn body_word(&mut self, waiting: &Waiting, body: Body) -> Word {
        let (text, origins) = self.body_text(waiting, body);
        let mut builder = Builder::default();
        if waiting.quoted {
            builder.text(&text);
        } else {
            let outer = std::mem::replace(&mut self.context, waiting.context.clone());
            if let [command, ..] = self.list.range(waiting.first..waiting.first + 1) {
                // A `|` or `&` behind it has moved the command into a shell of its own meanwhile.
                self.context.shell = command.place.shell;
                self.context.background = command.place.background;
            }
            self.of_text(&text, &origins).expanded(&mut builder);
            self.context = outer;
        }
        Word { parts: builder.parts, span: self.span(body.start, body.end), quoted: true }
    }

    fn expanded(&mut self, builder: &mut Builder) {
        let read: Result<(), Stop> = self.quoted_text(builder, None);
        if read.is_err() {
            self.salvage();
        }
    }

    /// The text without tabs in front of lines and without the ends of lines that go on, where these go.
    fn body_text(&self, waiting: &Waiting, body: Body) -> (String, Origins) {
        let (mut text, mut origins) = (String::with_capacity(body.end - body.start), Origins::default());
        let (mut line, mut from) = (body.start, body.start);
        origins.add(0, self.origin(from));
        while line < body.end {
            let end = self.line_end(line, waiting.quoted).min(body.end);
            if waiting.stripped {
                let tabs = self.slice(line, end).bytes().take_while(|&byte| byte == b'\t').count();
                text.push_str(self.slice(from, line));
                from = line + tabs;
                origins.add(text.len(), self.origin(from));
            }
            line = end + 1;
        }
        text.push_str(self.slice(from, body.end));
        (text, origins)
    }

    /// A word over several lines while a here-document waits: where its text begins is not sure.
    pub(crate) fn doubt_lines(&mut self, waits: bool, start: usize) {
        if waits && self.slice(start, self.pos).contains('\n') {
            self.doubt("a here-document whose line goes on", start);
        }
    }
}

//! HTML as it comes, made into HTML that is small, flat and closed: the tags that mean something in Markdown, and text.
//!
//! Trees of hostile pages are deep, and what walks trees takes long there or has no room left. So no tree is built of
//! such a page: its tokens go through here first, in pieces, and the clock is looked at between them.

use std::cell::RefCell;
use std::time::Instant;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::{Rawtext, Rcdata, ScriptData};
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

/// Most elements that stand in one another; those further in lose their tags and keep their text.
const DEEPEST: usize = 48;

/// The most that is kept of a page.
const MAX_PAGE_BYTES: usize = 2 * 1024 * 1024;

/// Bytes that are read between two looks at the clock.
const PIECE: usize = 16 * 1024;

/// Rest of a page.
#[derive(Default)]
pub(super) struct Cleaned {
    pub(super) html: String,
    pub(super) title: Option<String>,
}

/// Cleans a page. `link` says what an address in it means, if it may stay. `None` when it takes too long.
pub(super) fn clean(page: &str, link: impl Fn(&str) -> Option<String>, until: Instant) -> Option<Cleaned> {
    let sink = Sink { link, state: RefCell::default() };
    let tokenizer = Tokenizer::new(sink, TokenizerOpts::default());
    let input = BufferQueue::default();
    let mut rest = page;
    while !rest.is_empty() {
        if Instant::now() >= until {
            return None;
        }
        let (piece, more) = rest.split_at(rest.floor_char_boundary(PIECE.min(rest.len())));
        rest = more;
        input.push_back(StrTendril::from_slice(piece));
        // It stops after each script that it takes for one to be run.
        while !input.is_empty() {
            let _ = tokenizer.feed(&input);
        }
    }
    tokenizer.end();
    let mut state = tokenizer.sink.state.take();
    state.close_to(0);
    Some(Cleaned { html: state.out, title: state.title })
}

struct Sink<F> {
    link: F,
    state: RefCell<CleanerState>,
}

#[derive(Default)]
struct CleanerState {
    out: String,
    title: Option<String>,
    /// The tags that are open, as they were written.
    open: Vec<&'static str>,
    /// Element whose text is dropped.
    skipped: Option<String>,
    in_title: bool,
    /// The cells of the row so far, and whether they are headings.
    cells: usize,
    heads: bool,
}

/// Tags that mean something, and what they are written as.
fn written(name: &str) -> Option<&'static str> {
    Some(match name {
        "address" | "article" | "aside" | "caption" | "center" | "details" | "div" | "fieldset"
        | "figcaption" | "figure" | "footer" | "form" | "header" | "main" | "nav" | "section" | "summary"
        | "table" => "div",
        "p" | "dt" | "dd" => "p",
        "h1" => "h1",
        "h2" => "h2",
        "h3" => "h3",
        "h4" => "h4",
        "h5" => "h5",
        "h6" => "h6",
        "ul" | "menu" | "dir" => "ul",
        "ol" => "ol",
        "li" => "li",
        "tr" => "tr",
        "td" | "th" => "td",
        "blockquote" => "blockquote",
        "pre" | "listing" => "pre",
        "code" | "kbd" | "samp" | "tt" => "code",
        "em" | "i" | "cite" => "em",
        "strong" | "b" => "strong",
        "s" | "del" | "strike" => "s",
        "a" => "a",
        _ => return None,
    })
}

fn is_block(tag: &str) -> bool {
    !matches!(tag, "code" | "em" | "strong" | "s" | "a" | "td" | "tr")
}

impl<F: Fn(&str) -> Option<String>> TokenSink for Sink<F> {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        let mut state = self.state.borrow_mut();
        match token {
            Token::CharacterTokens(text) => state.text(&text),
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => return state.start(&tag, &self.link),
            Token::TagToken(tag) => state.end(&tag.name),
            Token::DoctypeToken(_)
            | Token::CommentToken(_)
            | Token::NullCharacterToken
            | Token::EOFToken
            | Token::ParseError(_) => {}
        }
        TokenSinkResult::Continue
    }
}

impl CleanerState {
    fn text(&mut self, text: &str) {
        if self.in_title {
            let title = self.title.get_or_insert_default();
            if title.len() < 500 {
                title.push_str(text);
            }
            return;
        }
        if self.skipped.is_some() || self.out.len() > MAX_PAGE_BYTES {
            return;
        }
        for c in text.chars() {
            match c {
                '&' => self.out.push_str("&amp;"),
                '<' => self.out.push_str("&lt;"),
                '>' => self.out.push_str("&gt;"),
                c => self.out.push(c),
            }
        }
    }

    /// Begins an element. In some of them only text follows.
    fn start(&mut self, tag: &Tag, link: &impl Fn(&str) -> Option<String>) -> TokenSinkResult<()> {
        let name = &*tag.name;
        if self.skipped.is_some() {
            return TokenSinkResult::Continue;
        }
        let raw = match name {
            "script" => Some(ScriptData),
            "style" | "xmp" | "iframe" | "noembed" | "noframes" => Some(Rawtext),
            "textarea" | "title" => Some(Rcdata),
            _ => None,
        };
        if let Some(raw) = raw {
            // An image of SVG has titles of its own.
            self.in_title = name == "title" && self.title.is_none();
            self.skipped = Some(name.to_owned());
            return TokenSinkResult::RawData(raw);
        }
        match name {
            "plaintext" => return TokenSinkResult::Plaintext,
            "br" if self.in_row() => self.out.push(' '),
            "br" => self.out.push_str("<br>"),
            "hr" if self.in_row() => {}
            "hr" => self.push_line("---"),
            "img" => self.image(tag, link),
            _ => {
                if let Some(written) = written(name) {
                    self.open(written, name, tag, link);
                }
            }
        }
        TokenSinkResult::Continue
    }

    fn image(&mut self, tag: &Tag, link: &impl Fn(&str) -> Option<String>) {
        let alt = attribute(tag, "alt").unwrap_or_default();
        if let (false, Some(at)) = (alt.trim().is_empty(), attribute(tag, "src").and_then(|src| link(&src))) {
            self.text(&format!("![{}]({at})", alt.trim()));
        }
    }

    fn open(&mut self, written: &'static str, name: &str, tag: &Tag, link: &impl Fn(&str) -> Option<String>) {
        self.close_implied(written);
        if self.open.len() >= DEEPEST || self.out.len() > MAX_PAGE_BYTES {
            return;
        }
        match written {
            "tr" => {
                (self.cells, self.heads) = (0, false);
                self.out.push_str("<div>|");
            }
            "td" => {
                self.cells += 1;
                self.heads |= name == "th";
                self.out.push(' ');
            }
            // One line is one row.
            _ if self.in_row() && is_block(written) => {
                self.out.push(' ');
                return;
            }
            "code" if self.open.contains(&"pre") => return,
            "pre" => self.out.push_str("<pre>```\n"),
            "a" => match attribute(tag, "href").and_then(|href| link(&href)) {
                Some(at) => self.out.extend(["<a href=\"", &at.replace('&', "&amp;"), "\">"]),
                None => return,
            },
            written => self.out.extend(["<", written, ">"]),
        }
        self.open.push(written);
    }

    /// A tag that says by itself that another one has ended.
    fn close_implied(&mut self, written: &str) {
        let (ends, within): (&[&str], &[&str]) = match written {
            "li" => (&["li"], &["ul", "ol"]),
            "tr" => (&["tr"], &["div"]),
            "td" => (&["td"], &["tr"]),
            "a" => (&["a"], &[]),
            _ if is_block(written) => {
                (&["p", "h1", "h2", "h3", "h4", "h5", "h6"], &["li", "td", "blockquote", "div"])
            }
            _ => return,
        };
        let bound = self.open.iter().rposition(|tag| within.contains(tag)).map_or(0, |at| at + 1);
        let inner = self.open.get(bound..).unwrap_or_default();
        if let Some(at) = inner.iter().position(|tag| ends.contains(tag)) {
            self.close_to(bound + at);
        }
    }

    fn end(&mut self, name: &str) {
        if let Some(skipped) = &self.skipped {
            if skipped == name {
                self.skipped = None;
                self.in_title = false;
            }
            return;
        }
        let Some(written) = written(name) else { return };
        if let Some(at) = self.open.iter().rposition(|tag| *tag == written) {
            self.close_to(at);
        }
    }

    /// Ends what is open, down to so many.
    fn close_to(&mut self, len: usize) {
        while self.open.len() > len {
            match self.open.pop() {
                Some("td") => self.out.push_str(" |"),
                Some("tr") => {
                    self.out.push_str("</div>");
                    if self.heads {
                        self.push_line(&format!("|{}", " --- |".repeat(self.cells.min(100))));
                    }
                }
                Some("pre") => {
                    let end = if self.out.ends_with('\n') { "```</pre>" } else { "\n```</pre>" };
                    self.out.push_str(end);
                }
                Some(tag) => self.out.extend(["</", tag, ">"]),
                None => {}
            }
        }
    }

    fn in_row(&self) -> bool {
        self.open.contains(&"tr")
    }

    fn push_line(&mut self, line: &str) {
        self.out.extend(["<div>", line, "</div>"]);
    }
}

fn attribute(tag: &Tag, name: &str) -> Option<String> {
    tag.attrs.iter().find(|attribute| &*attribute.name.local == name).map(|found| found.value.to_string())
}

//! A request in the page's format: every foreign text in visible pieces.
//!
//! A text is a list of lines, a line a list of runs: plain ASCII text, or a style and what is shown (`["mark",
//! "‹U+202E›"]`). The page creates text nodes only.

use hyper::body::Bytes;
use pinfold::consent::{PartShown, Request, ScopeShown};
use pinfold_approvals::socket::RequestSummary;
use pinfold_render::{Answerable, Block, Body, LineBreaks, Piece, Tone, default_answer, offered, title};
use serde::Serialize;

/// The largest request that is sent, in bytes: no browser draws more before the deadline, and others wait behind it.
const MAX_REQUEST_BYTES: usize = 2 << 20;

/// A pending request, ready to be sent.
#[derive(Debug)]
pub(crate) struct BoardItem {
    /// A number that is never reused.
    pub(crate) number: u64,
    /// The name of the asking process's socket.
    pub(crate) name: String,
    /// The digest of the operation.
    pub(crate) digest: String,
    /// The event in the stream's format.
    pub(crate) event: Bytes,
}

impl BoardItem {
    pub(crate) fn new(number: u64, name: &str, waiting: &RequestSummary, request: &Request) -> Self {
        let event = |body: Body<'_>| event("asked", &RequestJson::new(number, name, waiting, request, &body));
        let mut whole = event(Body::new(request));
        if whole.len() > MAX_REQUEST_BYTES {
            whole = event(Body::too_long(request, whole.len()));
        }
        Self { number, name: name.to_owned(), digest: request.digest.clone(), event: whole }
    }
}

/// Formats an event. JSON has no line feeds, so it is one line.
/// [HTML](https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream)
pub(crate) fn event(kind: &str, what: &impl Serialize) -> Bytes {
    // Serialization cannot fail for these types; if it did, nothing would be shown.
    let what = serde_json::to_string(what).unwrap_or_default();
    format!("event: {kind}\ndata: {what}\n\n").into()
}

/// A request as JSON. `name`, `id` and `digest` are sent back unchanged, and not shown.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RequestJson<'a> {
    number: u64,
    name: &'a str,
    id: &'a str,
    digest: &'a str,
    title: &'static str,
    tool: VisibleLine,
    brief: VisibleLine,
    /// In milliseconds since 1970.
    deadline: i64,
    blocks: Vec<BlockJson>,
    /// The number of blocks that have to be seen.
    what: usize,
    answers: Vec<&'static str>,
    /// The choice that is selected at first.
    at_rest: Option<&'static str>,
    /// A yes cannot be undone, or is asked for each time: it takes a second step.
    is_final: bool,
    /// A plain yes grants something until the session ends.
    keeps: bool,
    session: Vec<ScopeJson>,
    /// The first scope that is offered: those before it are granted by a plain yes.
    first: usize,
    always: Vec<RuleJson>,
    files: Vec<VisibleLine>,
}

#[derive(Serialize)]
struct BlockJson {
    label: &'static str,
    sign: char,
    kind: &'static str,
    tone: &'static str,
    lines: Vec<VisibleLine>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ScopeJson {
    says: VisibleLine,
    also: Vec<VisibleLine>,
    still_asks: Vec<VisibleLine>,
}

#[derive(Serialize)]
struct RuleJson {
    part: VisibleLine,
    usual: usize,
    scopes: Vec<ScopeJson>,
}

type VisibleLine = Vec<TextRun>;

#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
enum TextRun {
    /// Plain text.
    Plain(String),
    /// Text in another style.
    Look(&'static str, String),
}

impl<'a> RequestJson<'a> {
    fn new(
        number: u64,
        name: &'a str,
        waiting: &RequestSummary,
        request: &'a Request,
        body: &Body<'_>,
    ) -> Self {
        let answers = offered(request, body.is_whole);
        let is_offered = |answer| answers.contains(&answer);
        let offer = &request.offer;
        let scopes = |scopes: &[ScopeShown]| scopes.iter().map(ScopeJson::from_shown).collect();
        Self {
            number,
            name,
            id: &request.id,
            digest: &request.digest,
            title: title(request),
            tool: line(&request.tool),
            brief: line(&waiting.brief),
            deadline: request.deadline.as_millisecond(),
            blocks: body.blocks.iter().map(BlockJson::from_block).collect(),
            what: body.what,
            at_rest: default_answer(request).map(Answerable::as_str),
            is_final: request.destructive || request.always_ask,
            keeps: !offer.kept.is_empty(),
            session: if is_offered(Answerable::Session) { scopes(&offer.session) } else { Vec::new() },
            first: offer.first_beyond_yes(),
            always: if is_offered(Answerable::Always) {
                offer.always.iter().map(RuleJson::from_part).collect()
            } else {
                Vec::new()
            },
            files: offer.files.iter().map(|file| line(file)).collect(),
            answers: answers.into_iter().map(Answerable::as_str).collect(),
        }
    }
}

impl BlockJson {
    fn from_block(block: &Block<'_>) -> Self {
        Self {
            label: block.label,
            sign: block.sign,
            kind: match block.kind {
                LineBreaks::Exact => "exact",
                LineBreaks::Lines => "lines",
                LineBreaks::Inline => "inline",
                LineBreaks::Prose => "prose",
            },
            tone: match block.tone {
                Tone::Plain => "plain",
                Tone::Strong => "strong",
                Tone::Gone => "gone",
                Tone::Come => "come",
                Tone::Faint => "faint",
            },
            lines: lines(block),
        }
    }
}

impl ScopeJson {
    fn from_shown(scope: &ScopeShown) -> Self {
        let all = |texts: &[String]| texts.iter().map(|text| line(text)).collect();
        Self { says: line(&scope.says), also: all(&scope.also), still_asks: all(&scope.still_asks) }
    }
}

impl RuleJson {
    fn from_part(part: &PartShown) -> Self {
        let usual = part.usual.min(part.scopes.len().saturating_sub(1));
        Self {
            part: line(&part.part),
            usual,
            scopes: part.scopes.iter().map(ScopeJson::from_shown).collect(),
        }
    }
}

/// A text on one line.
fn line(text: &str) -> VisibleLine {
    lines(&Block::inline("", text)).into_iter().next().unwrap_or_default()
}

/// The lines of a block. A final line break adds no empty line.
fn lines(block: &Block<'_>) -> Vec<VisibleLine> {
    let mut lines = Vec::new();
    let mut line = Vec::new();
    for piece in block.pieces() {
        let is_break = matches!(piece, Piece::Breaks(_));
        if !(piece == Piece::Breaks(1) && block.kind == LineBreaks::Lines) {
            push(&mut line, piece);
        }
        if is_break {
            lines.push(std::mem::take(&mut line));
        }
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// Appends a piece to a line, to the last run where the style is the same.
fn push(line: &mut VisibleLine, piece: Piece) {
    let look = match piece {
        // Nearly all text takes this short path.
        Piece::Plain(c, _) if c.is_ascii() => return push_plain(line, c),
        // A letter of another script may look like an ASCII one.
        Piece::Plain(..) => "other",
        Piece::Tab | Piece::Breaks(1) => "faint",
        Piece::Breaks(_) | Piece::Spaces(_) | Piece::Hidden(..) => "mark",
    };
    match line.last_mut() {
        Some(TextRun::Look(same, before)) if *same == look => before.push_str(&piece.to_string()),
        Some(_) | None => line.push(TextRun::Look(look, piece.to_string())),
    }
}

fn push_plain(line: &mut VisibleLine, c: char) {
    match line.last_mut() {
        Some(TextRun::Plain(before)) => before.push(c),
        Some(_) | None => line.push(TextRun::Plain(c.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> TextRun {
        TextRun::Plain(text.to_owned())
    }

    fn look(look: &'static str, text: &str) -> TextRun {
        TextRun::Look(look, text.to_owned())
    }

    #[test]
    fn what_cannot_be_seen_is_a_run_of_its_own() {
        let shown = line("rm\u{202e}\u{1b}[2J <b>\n\u{430}\t.");
        let wanted = vec![
            plain("rm"),
            look("mark", "‹U+202E›‹ESC›"),
            plain("[2J <b>"),
            look("mark", "‹LF›"),
            look("other", "\u{430}"),
            look("faint", "⇥   "),
            plain("."),
        ];
        assert_eq!(shown, wanted);
    }

    #[test]
    fn lines_are_those_of_the_text() {
        let block = |kind, text| Block { kind, ..Block::lines("", text) };
        assert_eq!(
            lines(&block(LineBreaks::Lines, "a\n\nb\n")),
            [vec![plain("a")], vec![], vec![plain("b")]]
        );
        let exact = lines(&block(LineBreaks::Exact, "a\nb"));
        assert_eq!(exact, [vec![plain("a"), look("faint", "↵")], vec![plain("b")]]);
        assert_eq!(lines(&block(LineBreaks::Lines, "")), [Vec::<TextRun>::new()]);
        let far = lines(&block(LineBreaks::Lines, &format!("a{}b", "\n".repeat(500))));
        assert_eq!(far, [vec![plain("a"), look("mark", "‹500 line breaks›")], vec![plain("b")]]);
    }

    #[test]
    fn an_event_is_one_line_whatever_is_in_it() {
        let text = event("note", &"a\n\ndata: b\r\u{2028}");
        let text = String::from_utf8(text.to_vec()).unwrap();
        assert_eq!((text.matches('\n').count(), text.matches('\r').count()), (3, 0), "{text}");
    }
}

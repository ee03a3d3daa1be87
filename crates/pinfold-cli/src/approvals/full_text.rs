//! A complete request as text: the blocks of the dialog, one below the other.
//!
//! Promise: each line begins with a margin that holds pinfold's own words alone, also where the terminal is narrower than
//! the text, so that text of an agent cannot pass for text of pinfold.

use std::fmt::Write as _;
use std::io::stdout;

use pinfold::consent::{GrantOptionsShown, Request, ScopeShown};
use pinfold_render::{Block, Body, LineBreaks, Piece, Tone, note, title};
use rustix::termios::tcgetwinsize;

/// Cells left of the text, as in the dialog: a label, a sign, the gutter and a blank.
const MARGIN: usize = 11;
/// Fewer cells than this for the text are not worth cutting for.
const NARROWEST: usize = 20;

/// A request as text, and whether it is all there: what is too long to be shown cannot be said yes to.
pub(crate) fn text(request: &Request) -> (String, bool) {
    let body = Body::new(request);
    let cells =
        tcgetwinsize(stdout()).ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
    let cells = cells.map_or(usize::MAX, |columns| columns.saturating_sub(MARGIN).max(NARROWEST));
    let mut out = format!("pinfold: {}\n", title(request));
    let (offer, digest) = (offered(request), Block::inline("digest", &request.digest));
    body.blocks.iter().chain(&offer).chain([&digest]).for_each(|block| draw(block, cells, &mut out));
    (out, body.is_whole)
}

/// A block as lines of at most so many cells beside the margin.
fn draw(block: &Block<'_>, cells: usize, out: &mut String) {
    let (mut left, mut rest) = (cells, &*block.text);
    begin(block.label, block.sign, '│', out);
    while let Some((piece, bytes)) = Piece::first(rest) {
        let piece = block.kind.shown(piece);
        let ends = matches!(piece, Piece::Breaks(_));
        let is_silent = block.kind == LineBreaks::Lines && piece == Piece::Breaks(1);
        if piece.width() > left && !is_silent {
            begin("", ' ', '┆', newline(out));
            left = cells;
        }
        if !is_silent {
            let _ = write!(out, "{piece}");
        }
        left = left.saturating_sub(piece.width());
        rest = rest.get(bytes..).unwrap_or_default();
        if ends && !rest.is_empty() {
            begin("", block.sign, '│', newline(out));
            left = cells;
        }
    }
    newline(out);
}

fn begin(label: &str, sign: char, gutter: char, out: &mut String) {
    let _ = write!(out, " {label:>7}{sign}{gutter} ");
}

fn newline(out: &mut String) -> &mut String {
    out.push('\n');
    out
}

/// Returns the grants on offer beyond the call, with the flags that choose them. The sign of a block is its scope.
fn offered(request: &Request) -> Vec<Block<'_>> {
    let GrantOptionsShown { session, always, files, .. } = &request.offer;
    let mut blocks = Vec::new();
    if request.destructive {
        blocks.push(note("it cannot be undone").tone(Tone::Strong));
    }
    if request.always_ask {
        blocks.push(note("it is asked about each time: only yes and no are offered"));
        return blocks;
    }
    if !session.is_empty() {
        blocks.push(note("with --session, in one of these scopes, until the session ends:"));
        blocks.extend(scopes("session", session));
    }
    if !always.is_empty() {
        blocks.push(note("with --always, as rules, each in one of these scopes:"));
    }
    for (number, part) in (1..).zip(always) {
        if always.len() > 1 {
            blocks.push(Block::prose("rule", format!("{number} of {}", always.len())));
        }
        blocks.extend(scopes("always", &part.scopes));
    }
    if !always.is_empty() && !files.is_empty() {
        blocks.push(Block::inline("into", files.join(", or with --user ")));
    }
    blocks
}

fn scopes<'a>(label: &'static str, scopes: &'a [ScopeShown]) -> Vec<Block<'a>> {
    let sign = |number: u32| char::from_digit(number, 10).unwrap_or('+');
    let one = |(number, scope): (u32, &'a ScopeShown)| {
        let also = scope.also.iter().map(|call| Block::inline("allows", call));
        let asks = scope.still_asks.iter().map(|call| Block::inline("asks", call));
        let says = Block::inline(label, &scope.says).sign(sign(number));
        [says].into_iter().chain(also).chain(asks).collect::<Vec<_>>()
    };
    (1..).zip(scopes).flat_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(block: &Block<'_>, cells: usize) -> String {
        let mut out = String::new();
        draw(block, cells, &mut out);
        out
    }

    #[test]
    fn no_text_stands_in_the_margin_however_it_is_cut() {
        let text = "pinfold: x\n\n\r\u{1b}[2J       1│ yes\u{202e}\u{3000}\u{200b}文字\tlast\n\n\n\n\n\n";
        let kinds = [LineBreaks::Exact, LineBreaks::Lines, LineBreaks::Inline, LineBreaks::Prose];
        for (kind, cells) in kinds.into_iter().flat_map(|kind| (20..80).map(move |cells| (kind, cells))) {
            let block = Block { kind, ..Block::lines("runs", text) };
            let out = drawn(&block, cells);
            for line in out.lines() {
                let margin: String = line.chars().take(MARGIN).collect();
                assert!(["    runs │ ", "         │ ", "         ┆ "].contains(&&*margin), "{line:?}");
                assert!(line.chars().all(|c| !c.is_control() && c != '\u{202e}'), "{line:?}");
            }
            let joined: String = out.lines().flat_map(|line| line.chars().skip(MARGIN)).collect();
            assert!(joined.contains("文字⇥   last"), "{joined}");
        }
    }

    #[test]
    fn a_line_break_is_told_from_a_line_that_is_cut() {
        let text = "a".repeat(25) + "\n" + "b";
        let out = drawn(&Block { kind: LineBreaks::Exact, ..Block::lines("runs", text) }, 20);
        let long = "a".repeat(20);
        assert_eq!(out, format!("    runs │ {long}\n         ┆ aaaaa↵\n         │ b\n"));
    }
}

//! Blocks as rows of a width, and rows in a picture.

use pinfold_render::{Block, LineBreaks, Piece, Tone};
use ratatui_core::buffer::Buffer;
use ratatui_core::style::{Color, Modifier, Style};

/// Cells left of the text: a label, a sign, the gutter and a blank.
pub(crate) const MARGIN: u16 = 11;

/// The gutter before a line, and before what continues one.
const GUTTER: [&str; 2] = ["│", "┆"];

/// Blocks, cut into rows.
#[derive(Debug, Default)]
pub(crate) struct Sheet<'a> {
    blocks: Vec<Block<'a>>,
    rows: Vec<Row>,
    width: u16,
}

/// A row: where in which block it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    block: u32,
    from: u32,
}

impl<'a> Sheet<'a> {
    pub(crate) fn new(blocks: Vec<Block<'a>>) -> Self {
        Self { blocks, rows: Vec::new(), width: 0 }
    }

    /// Cuts it for a screen of this width, unless it is. Says whether it was not.
    pub(crate) fn fit(&mut self, width: u16) -> bool {
        if self.width == width {
            return false;
        }
        self.width = width;
        let cells = usize::from(width.saturating_sub(MARGIN)).max(1);
        self.rows.clear();
        for (block, number) in self.blocks.iter().zip(0..) {
            let mut from = 0;
            loop {
                self.rows.push(Row { block: number, from: u32::try_from(from).unwrap_or(u32::MAX) });
                from = end_of_row(&block.text, from, cells, block.kind);
                if from >= block.text.len() {
                    break;
                }
            }
        }
        true
    }

    /// Returns the number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The first row of a block, or the number of rows if it has none.
    pub(crate) fn row_of_block(&self, block: usize) -> usize {
        self.rows.partition_point(|row| usize::try_from(row.block).is_ok_and(|number| number < block))
    }

    /// A row by what it begins with, which another width does not change.
    pub(crate) fn place(&self, row: usize) -> Option<Row> {
        self.rows.get(row).copied()
    }

    /// The row in which a place is.
    pub(crate) fn row_of(&self, place: Row) -> usize {
        let after = |row: &Row| (row.block, row.from) <= (place.block, place.from);
        self.rows.partition_point(after).saturating_sub(1)
    }

    /// Draws a row.
    pub(crate) fn draw(&self, row: usize, y: u16, to: &mut Buffer) {
        let Some(Row { block: number, from }) = self.place(row) else { return };
        let (Ok(number), Ok(from)) = (usize::try_from(number), usize::try_from(from)) else { return };
        let Some(block) = self.blocks.get(number) else { return };
        let begins = from == 0 || block.text.as_bytes().get(from - 1) == Some(&b'\n');
        if from == 0 {
            let label = format!("{:>7}", block.label);
            to.set_stringn(1, y, label, 7, Style::new().add_modifier(Modifier::DIM));
        }
        let sign = if begins { block.sign } else { ' ' };
        put(to, 8, y, sign, style_of(block.tone));
        let gutter = Style::new().add_modifier(Modifier::DIM);
        let mark = if begins { GUTTER[0] } else { GUTTER[1] };
        to.set_stringn(9, y, mark, 1, gutter);
        self.draw_text(block, from, y, to);
    }

    fn draw_text(&self, block: &Block<'_>, from: usize, y: u16, to: &mut Buffer) {
        let cells = usize::from(self.width.saturating_sub(MARGIN)).max(1);
        let end = end_of_row(&block.text, from, cells, block.kind);
        let (mut x, mut at) = (MARGIN, from);
        // What follows the row counts too: blanks at its end are not blanks at the end of the line.
        while let Some((piece, bytes)) = block.text.get(at..).and_then(Piece::first).filter(|_| at < end) {
            let piece = block.kind.shown(piece);
            let style = look(piece, style_of(block.tone));
            if !(block.kind == LineBreaks::Lines && piece == Piece::Breaks(1)) {
                x = draw_piece(piece, x, y, style, to);
            }
            at += bytes;
        }
    }
}

/// Returns the style of a tone.
fn style_of(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Strong => Style::new().add_modifier(Modifier::BOLD),
        Tone::Gone => Style::new().fg(Color::Red),
        Tone::Come => Style::new().fg(Color::Green),
        Tone::Faint => Style::new().add_modifier(Modifier::DIM),
    }
}

/// Returns the style of a piece: replacements look like replacements.
fn look(piece: Piece, usual: Style) -> Style {
    match piece {
        Piece::Plain(c, _) if c.is_ascii() => usual,
        // A letter of another script may look like one of this.
        Piece::Plain(..) => usual.add_modifier(Modifier::UNDERLINED),
        Piece::Tab | Piece::Breaks(1) => usual.add_modifier(Modifier::DIM),
        Piece::Breaks(_) | Piece::Spaces(_) | Piece::Hidden(..) => usual.add_modifier(Modifier::REVERSED),
    }
}

fn draw_piece(piece: Piece, x: u16, y: u16, style: Style, to: &mut Buffer) -> u16 {
    let width = u16::try_from(piece.width()).unwrap_or(u16::MAX);
    let after = x.saturating_add(width);
    if after > to.area().width {
        return x;
    }
    match piece {
        Piece::Plain(c, _) => put(to, x, y, c, style),
        Piece::Tab | Piece::Breaks(_) | Piece::Spaces(_) | Piece::Hidden(..) => {
            to.set_stringn(x, y, piece.to_string(), width.into(), style);
        }
    }
    after
}

fn put(to: &mut Buffer, x: u16, y: u16, c: char, style: Style) {
    if let Some(cell) = to.cell_mut((x, y)) {
        cell.set_char(c).set_style(style);
    }
}

/// Returns the end of the row that begins at `from`.
fn end_of_row(text: &str, from: usize, cells: usize, kind: LineBreaks) -> usize {
    let (mut at, mut used, mut word) = (from, 0, None);
    while let Some((piece, bytes)) = Piece::first(text.get(at..).unwrap_or_default()) {
        let piece = kind.shown(piece);
        let is_break = matches!(piece, Piece::Breaks(_));
        if kind == LineBreaks::Lines && piece == Piece::Breaks(1) {
            return at + bytes;
        }
        used += piece.width();
        if used > cells && at > from {
            return word.unwrap_or(at);
        }
        at += bytes;
        if is_break {
            return at;
        }
        if kind == LineBreaks::Prose && piece == Piece::Plain(' ', 1) {
            word = Some(at);
        }
    }
    at
}

//! Drawing of a dialog.

use std::time::{Duration, Instant};

use pinfold_render::title;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};

use super::model::{Dialog, DialogContext, Pane};
use super::options::OptionLine;
use crate::sheet::{SMALLEST, draw_rule};
use crate::surface::TerminalSize;

/// From this height on there is a line with all the keys.
const TALL: u16 = 14;

const NO_ROOM: [&str; 3] = ["pinfold asks, and this", "window is too small:", "enlarge it; esc is No"];

impl Dialog<'_> {
    /// Draws it. What is drawn counts as seen.
    pub fn view(&mut self, size: TerminalSize, moment: &DialogContext) -> Buffer {
        let mut picture = Buffer::empty(Rect::new(0, 0, size.columns, size.rows));
        self.width = size.columns;
        self.has_room = size.rows >= SMALLEST.rows && size.columns >= SMALLEST.columns;
        if !self.has_room {
            for (words, y) in NO_ROOM.iter().zip(0..size.rows) {
                picture.set_stringn(0, y, words, size.columns.into(), Style::new());
            }
            return picture;
        }
        let below = self.footer(size, moment.now);
        let hint = size.rows >= TALL;
        let used = 2 + u16::try_from(below.len()).unwrap_or(u16::MAX) + u16::from(hint);
        let height = size.rows.saturating_sub(used);
        self.header(moment, &mut picture);
        let scroll = match &mut self.pane {
            Pane::Grant(grant) => &mut grant.scroll,
            Pane::Options | Pane::Message(_) | Pane::Over(_) => &mut self.body,
        };
        scroll.draw(1, height, &mut picture);
        let hidden = scroll.hidden();
        self.line_below(hidden, 1 + height, &mut picture);
        for ((words, style), y) in below.into_iter().zip(2 + height..) {
            picture.set_stringn(1, y, words, usize::from(size.columns) - 1, style);
        }
        if let Pane::Message(field) = &self.pane {
            field.draw(3, 3 + height, &mut picture);
        }
        if hint {
            self.hint(moment.now, size.rows - 1, &mut picture);
        }
        picture
    }

    fn header(&self, moment: &DialogContext, picture: &mut Buffer) {
        let width = picture.area().width;
        let style = Style::new().add_modifier(Modifier::REVERSED | Modifier::BOLD);
        picture.set_style(Rect::new(0, 0, width, 1), style);
        let title = match &self.pane {
            Pane::Grant(grant) => grant.title(),
            Pane::Options | Pane::Message(_) | Pane::Over(_) => title(self.request),
        };
        let left = left(moment.left);
        let right = match (moment.waiting, width >= 60) {
            (0 | 1, true) => format!("{left} left "),
            (waiting, true) => format!("1 of {waiting}, {left} left "),
            (0 | 1, false) => format!("{left} "),
            (waiting, false) => format!("1/{waiting} {left} "),
        };
        let length = u16::try_from(right.len()).unwrap_or(width);
        let room = width.saturating_sub(length + 1);
        picture.set_stringn(1, 0, format!("pinfold: {title}"), room.into(), style);
        picture.set_stringn(width.saturating_sub(length), 0, right, length.into(), style);
    }

    /// The line between the text and what is ours: what cannot be seen of the text.
    fn line_below(&self, (above, below): (usize, usize), y: u16, picture: &mut Buffer) {
        let strong = Style::new().add_modifier(Modifier::BOLD).fg(Color::Yellow);
        let (words, style) = match (self.word, above, below) {
            (Some(word), ..) => (word.to_owned(), strong),
            (None, 0, 0) => (String::new(), strong),
            (None, above, 0) => (format!("{above} above, end"), Style::new()),
            (None, 0, below) => (format!("{below} more below: space"), strong),
            (None, above, below) => (format!("{above} above, {below} more below: space"), strong),
        };
        draw_rule(&words, style, y, picture);
    }

    /// The lines below the text.
    fn footer(&self, size: TerminalSize, now: Instant) -> Vec<(String, Style)> {
        let marked = Style::new().add_modifier(Modifier::REVERSED);
        match &self.pane {
            Pane::Options => self.option_lines(size.columns, now),
            Pane::Grant(grant) => {
                let hint =
                    (size.rows < TALL).then(|| (format!("  {}", grant.keys().join(" · ")), Style::new()));
                let deed = (format!("> {} ", grant.deed()), marked);
                std::iter::once(deed).chain(hint).collect()
            }
            Pane::Message(_) => {
                let words = "no, and tell the model:".to_owned();
                vec![(words, Style::new().add_modifier(Modifier::BOLD)), (">".to_owned(), Style::new())]
            }
            Pane::Over(words) => vec![(words.clone(), Style::new().add_modifier(Modifier::BOLD))],
        }
    }

    fn option_lines(&self, width: u16, now: Instant) -> Vec<(String, Style)> {
        let keeps = !self.request.offer.kept.is_empty();
        let is_open = self.rhythm.is_open(now);
        let line = |(i, line): (usize, &OptionLine)| {
            let is_marked = self.mark.is_some_and(|mark| mark.at == i);
            let mark = if is_marked { '>' } else { ' ' };
            let words = format!("{mark} {} {}  {} ", line.number(), line.letter(), line.label(width, keeps));
            let style = match (is_marked, is_open) {
                (true, true) => Style::new().add_modifier(Modifier::REVERSED),
                (false, true) => Style::new(),
                (_, false) => Style::new().add_modifier(Modifier::DIM),
            };
            (words, style)
        };
        self.lines.iter().enumerate().map(line).collect()
    }

    fn hint(&self, now: Instant, y: u16, picture: &mut Buffer) {
        let words = match &self.pane {
            Pane::Options => self.option_hint(now).to_owned(),
            Pane::Grant(grant) => grant.keys().join(" · "),
            Pane::Message(_) => "enter: No, with this message · esc: back".to_owned(),
            Pane::Over(_) => "any key closes".to_owned(),
        };
        let width = usize::from(picture.area().width).saturating_sub(2);
        picture.set_stringn(1, y, words, width, Style::new().add_modifier(Modifier::DIM));
    }

    fn option_hint(&self, now: Instant) -> &'static str {
        if self.rhythm.is_confirmed() {
            return "taken, unless you type on";
        }
        match (self.rhythm.is_open(now), self.is_chosen()) {
            (true, true) => "enter takes the marked answer · any other key takes it back",
            (true, false) => "to answer: its letter, then enter · space or end: read on · esc: No",
            (false, _) if self.rhythm.has_text() => {
                "you are typing: the program gets that afterwards · to answer, wait a moment"
            }
            (false, _) => "keys count in a moment",
        }
    }
}

/// A time in the way that clocks show it.
fn left(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, minutes, seconds) => format!("{minutes}:{seconds:02}"),
        (hours, minutes, _) => format!("{hours} h {minutes:02}"),
    }
}

//! Lines that a change removes and adds.

use std::time::{Duration, Instant};

use pinfold::consent::Hunk;
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline, group_diff_ops};

use crate::block::{Block, Tone};
use crate::body::note;

/// Lines around a change that are shown too.
const CONTEXT: usize = 3;

/// Time limit for finding the smallest difference. A larger one is as true.
const DIFF_TIMEOUT: Duration = Duration::from_millis(20);

/// One piece of text that gives way to another.
pub(crate) fn hunk(hunk: &Hunk) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    if hunk.all {
        blocks.push(note("wherever it occurs in the file"));
    }
    let (before, after) = (TextLines::new(&hunk.before), TextLines::new(&hunk.after));
    let deadline = Instant::now() + DIFF_TIMEOUT;
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &before.each, &after.each, Some(deadline));
    let mut shown = 0;
    for group in group_diff_ops(ops, CONTEXT) {
        let begins = group.first().map_or(0, |op| op.old_range().start);
        blocks.extend(skipped(begins.saturating_sub(shown)));
        for op in &group {
            blocks.extend(lines(*op, &before, &after));
        }
        shown = group.last().map_or(shown, |op| op.old_range().end);
    }
    blocks.extend(skipped(before.each.len().saturating_sub(shown)));
    if blocks.is_empty() {
        blocks.push(note("nothing changes"));
    }
    blocks
}

fn skipped(count: usize) -> Option<Block<'static>> {
    let words = match count {
        0 => return None,
        1 => "1 line".to_owned(),
        count => format!("{count} lines"),
    };
    Some(Block::prose("same", words).tone(Tone::Faint))
}

fn lines<'a>(op: DiffOp, before: &TextLines<'a>, after: &TextLines<'a>) -> Vec<Block<'a>> {
    let gone = || before.block(op.old_range(), '-', Tone::Gone);
    let comes = || after.block(op.new_range(), '+', Tone::Come);
    match op {
        DiffOp::Equal { .. } => after.block(op.new_range(), ' ', Tone::Plain),
        DiffOp::Delete { .. } => gone(),
        DiffOp::Insert { .. } => comes(),
        DiffOp::Replace { .. } => gone().into_iter().chain(comes()).collect(),
    }
}

/// A text by its lines.
struct TextLines<'a> {
    text: &'a str,
    each: Vec<&'a str>,
    /// Beginnings of the lines, and the end of the last one.
    starts: Vec<usize>,
}

impl<'a> TextLines<'a> {
    fn new(text: &'a str) -> Self {
        let each: Vec<_> = text.split_inclusive('\n').collect();
        let mut starts = vec![0];
        starts.extend(each.iter().scan(0, |at, line| {
            *at += line.len();
            Some(*at)
        }));
        Self { text, each, starts }
    }

    /// Lines that stand together, as one block.
    fn block(&self, range: std::ops::Range<usize>, sign: char, tone: Tone) -> Vec<Block<'a>> {
        let (start, end) = (self.starts.get(range.start), self.starts.get(range.end));
        let text = start.zip(end).and_then(|(start, end)| self.text.get(*start..*end)).unwrap_or_default();
        if text.is_empty() {
            return Vec::new();
        }
        let mut blocks = vec![Block::lines("", text).tone(tone).sign(sign)];
        if !text.ends_with('\n') {
            blocks.push(note("no line break at the end"));
        }
        blocks
    }
}

/// A patch, as it is.
pub(crate) fn patch(patch: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut start = 0;
    let mut tone = None;
    let mut at = 0;
    for line in patch.split_inclusive('\n') {
        let now = tone_of(line);
        if tone.is_some_and(|tone| tone != now) {
            blocks.extend(patch.get(start..at).map(|text| part(text, tone)));
            start = at;
        }
        tone = Some(now);
        at += line.len();
    }
    blocks.extend(patch.get(start..).map(|text| part(text, tone)));
    if let Some(first) = blocks.first_mut() {
        first.label = "patch";
    }
    blocks
}

fn part(text: &str, tone: Option<Tone>) -> Block<'_> {
    Block::lines("", text).tone(tone.unwrap_or(Tone::Plain))
}

fn tone_of(line: &str) -> Tone {
    match line.as_bytes().first() {
        Some(b'+') => Tone::Come,
        Some(b'-') => Tone::Gone,
        Some(b'@' | b'*') => Tone::Strong,
        Some(_) | None => Tone::Plain,
    }
}

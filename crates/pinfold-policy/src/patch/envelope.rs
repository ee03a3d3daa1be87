//! The envelope that coding agents write: `*** Begin Patch`, one section a file, `*** End Patch`.

use pinfold_commands::PathText;

use super::{BadPatch, FileChange, Hunk, HunkLine};

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File: ";
const DELETE: &str = "*** Delete File: ";
const UPDATE: &str = "*** Update File: ";
const MOVE: &str = "*** Move to: ";
const AT_END: &str = "*** End of File";

pub(super) fn looks_like(text: &str) -> bool {
    text.lines().map(str::trim).find(|line| !line.is_empty()) == Some(BEGIN)
}

/// Returns the number of the first line by which another reader may take a text for an envelope.
pub(super) fn line_with_marker(text: &str) -> Option<usize> {
    let is_section = |line: &str| {
        let words = line.trim_start().strip_prefix("***").map(str::trim_start);
        words.is_some_and(|words| {
            ["Add", "Delete", "Update", "Move", "End"].iter().any(|word| words.starts_with(word))
        })
    };
    let is_marker = |line: &str| line.contains(BEGIN) || is_section(line);
    text.lines().position(is_marker).map(|at| at + 1)
}

pub(super) fn parse(text: &str) -> Result<Vec<FileChange>, BadPatch> {
    let mut lines = PatchLines::new(text);
    lines.skip_blank();
    lines.next(); // `looks_like` saw it
    let mut files = Vec::new();
    loop {
        lines.skip_blank();
        let Some((number, line)) = lines.next() else {
            return Err(BadPatch::new(lines.last, format!("`{END}`")));
        };
        if line.trim_end() == END {
            lines.skip_blank();
            return match lines.next() {
                None => Ok(files),
                Some((number, _)) => Err(BadPatch::new(number, format!("nothing after `{END}`"))),
            };
        }
        files.push(section(number, line, &mut lines)?);
    }
}

fn section(number: usize, line: &str, lines: &mut PatchLines<'_>) -> Result<FileChange, BadPatch> {
    if let Some(name) = line.strip_prefix(ADD) {
        Ok(FileChange::Add { path: path(number, name)?, content: added(lines)? })
    } else if let Some(name) = line.strip_prefix(DELETE) {
        Ok(FileChange::Delete { path: path(number, name)?, hunks: Vec::new() })
    } else if let Some(name) = line.strip_prefix(UPDATE) {
        update(number, name, lines)
    } else {
        Err(BadPatch::new(
            number,
            format!("`{}`, `{}`, `{}` or `{END}`", ADD.trim(), UPDATE.trim(), DELETE.trim()),
        ))
    }
}

fn path(number: usize, name: &str) -> Result<PathText, BadPatch> {
    // A line of a patch that came with CRLF breaks; a name that really ends in CR cannot be said here.
    let name = name.strip_suffix('\r').unwrap_or(name);
    if name.trim().is_empty() { Err(BadPatch::new(number, "a file name")) } else { Ok(PathText::new(name)) }
}

/// The `+` lines of a new file.
fn added(lines: &mut PatchLines<'_>) -> Result<String, BadPatch> {
    let mut content = String::new();
    while let Some((number, line)) = lines.next_unless_marker() {
        let text =
            line.strip_prefix('+').ok_or_else(|| BadPatch::new(number, "a line that starts with `+`"))?;
        content.push_str(text);
        content.push('\n');
    }
    Ok(content)
}

fn update(number: usize, name: &str, lines: &mut PatchLines<'_>) -> Result<FileChange, BadPatch> {
    let path_before = path(number, name)?;
    let mut move_to = None;
    if let Some(&(at, line)) = lines.peek()
        && let Some(name) = line.strip_prefix(MOVE)
    {
        lines.next();
        move_to = Some(path(at, name)?);
    }
    let mut hunks: Vec<Hunk> = Vec::new();
    // `@@ class A` above `@@ fn f` narrows down where the hunk stands: anchors gather until lines follow.
    let mut open = Hunk::default();
    while let Some(&(at, line)) = lines.peek() {
        if line.trim_end() == AT_END {
            lines.next();
            open.at_end = true;
            close(&mut open, &mut hunks, at)?;
            continue;
        }
        if line.starts_with("*** ") {
            break;
        }
        lines.next();
        if let Some(anchor) = line.strip_prefix("@@") {
            if !open.lines.is_empty() {
                close(&mut open, &mut hunks, at)?;
            }
            let anchor = anchor.strip_prefix(' ').unwrap_or(anchor);
            if !anchor.trim().is_empty() {
                open.anchors.push(anchor.to_owned());
            }
        } else {
            open.lines.push(hunk_line(at, line)?);
        }
    }
    if !open.lines.is_empty() {
        close(&mut open, &mut hunks, number)?;
    }
    if hunks.is_empty() && move_to.is_none() {
        return Err(BadPatch::new(number, "at least one hunk below an update"));
    }
    Ok(FileChange::Update { path: path_before, move_to, hunks })
}

fn close(open: &mut Hunk, hunks: &mut Vec<Hunk>, number: usize) -> Result<(), BadPatch> {
    if open.lines.is_empty() {
        return Err(BadPatch::new(number, "lines in the hunk above"));
    }
    hunks.push(std::mem::take(open));
    Ok(())
}

fn hunk_line(number: usize, line: &str) -> Result<HunkLine, BadPatch> {
    let mut chars = line.chars();
    match chars.next() {
        // An empty context line often loses its one blank on the way.
        None => Ok(HunkLine::Keep(String::new())),
        Some(' ') => Ok(HunkLine::Keep(chars.as_str().to_owned())),
        Some('-') => Ok(HunkLine::Remove(chars.as_str().to_owned())),
        Some('+') => Ok(HunkLine::Insert(chars.as_str().to_owned())),
        Some(_) => Err(BadPatch::new(number, "a line that starts with a blank, `-`, `+` or `@@`")),
    }
}

/// The lines of the patch with their numbers, one to look ahead.
struct PatchLines<'a> {
    lines: std::iter::Peekable<std::iter::Zip<std::ops::RangeFrom<usize>, std::str::Split<'a, char>>>,
    last: usize,
}

impl<'a> PatchLines<'a> {
    fn new(text: &'a str) -> Self {
        let text = text.strip_suffix('\n').unwrap_or(text);
        Self { lines: (1..).zip(text.split('\n')).peekable(), last: 1 }
    }

    fn next(&mut self) -> Option<(usize, &'a str)> {
        let next = self.lines.next()?;
        self.last = next.0;
        Some(next)
    }

    fn peek(&mut self) -> Option<&(usize, &'a str)> {
        self.lines.peek()
    }

    fn next_unless_marker(&mut self) -> Option<(usize, &'a str)> {
        if self.peek()?.1.starts_with("*** ") { None } else { self.next() }
    }

    fn skip_blank(&mut self) {
        while self.peek().is_some_and(|(_, line)| line.trim().is_empty()) {
            self.next();
        }
    }
}

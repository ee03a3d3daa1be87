//! `Read`: a file's lines with their numbers, a picture as a picture, anything else by name only.
//! Bounded in time and memory, whatever the size of the file.

use std::fmt::Write;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use memchr::memchr_iter;
use pinfold::consent::Caller;
use pinfold::policy::input::ReadInput;
use pinfold::{Failure, RefusalCode, Targets};
use pinfold_scrub::Counts;
use serde_json::json;

use super::{LARGEST_EDITED, content, io_failure};
use crate::reply::{Content, ToolResult};
use crate::secrets::{Scrubbed, Scrubbing};
use crate::text::{self, Encoding, FileText, SNIFFED};

/// Lines returned when the call does not say how many: enough for most files, little enough for a context.
const USUAL_LINES: u64 = 2000;
/// Characters of a line that are shown: longer lines are made by programs.
const MAX_LINE_LEN: usize = 2000;
/// Bytes returned at most, line numbers included.
const MAX_BYTES: usize = 256 * 1024;
/// Files up to this size are read at once; larger ones line by line.
const READ_WHOLE: u64 = 4 * 1024 * 1024;
/// Size up to which reading a file takes less time than handing work to another thread.
const BRIEF: u64 = 64 * 1024;
/// Bytes looked through for the lines that are wanted before giving up.
const MAX_SCANNED: u64 = 256 * 1024 * 1024;
/// The largest picture that is returned: models take 5 MB, which base64 makes of three quarters of it.
const LARGEST_IMAGE: u64 = 5_000_000 / 4 * 3;
/// The pictures that models can look at.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

pub(super) fn perform(
    input: &ReadInput,
    targets: &mut Targets,
    scrubbing: Scrubbing,
    caller: Caller<'_>,
) -> Result<ToolResult, Failure> {
    let target = targets.next_read()?;
    let shown = target.shown();
    let (mut file, version) = target.open_file()?;
    let whole = version.len() <= READ_WHOLE;
    let first = if whole { READ_WHOLE } else { SNIFFED as u64 };
    let head = content(&mut file, version.len(), first).map_err(|error| io_failure(&shown, &error))?;
    let done = if let Some(media_type) = image(&head) {
        picture(&shown, media_type, head, &mut file, version.len())?
    } else if text::encoding_of(&head).is_none() && text::is_binary(&head) {
        binary(&shown, &head, version.len())
    } else {
        let wanted = LineRange::from_input(input);
        let page = || {
            if whole {
                page_of(&shown, head, &wanted, scrubbing)
            } else {
                page_of_large(&shown, &head, file, &wanted, scrubbing)
            }
        };
        let page = if version.len() <= BRIEF {
            page()?
        } else {
            let instead = Failure::with_path(RefusalCode::Io, &shown, "the file was not read", "try again");
            caller.take_time(Err(instead), page)?
        };
        page.done(&shown, version.len(), &wanted, scrubbing)?
    };
    target.mark_read(version);
    Ok(done)
}

/// The requested lines.
struct LineRange {
    first: u64,
    count: u64,
}

impl LineRange {
    fn from_input(input: &ReadInput) -> Self {
        Self { first: input.offset.unwrap_or(1).max(1), count: input.limit.unwrap_or(USUAL_LINES).max(1) }
    }
}

fn image(head: &[u8]) -> Option<&'static str> {
    // Their first bytes; the whole table of types is gone through for few files only.
    if !matches!(head, [0x89 | 0xff | b'G' | b'R', ..]) {
        return None;
    }
    let found = infer::get(head)?.mime_type();
    IMAGES.into_iter().find(|known| *known == found)
}

fn picture(
    shown: &str,
    media_type: &'static str,
    mut bytes: Vec<u8>,
    rest: &mut File,
    len: u64,
) -> Result<ToolResult, Failure> {
    if len > LARGEST_IMAGE {
        let message = format!("{shown} is a picture of {len} bytes; at most {LARGEST_IMAGE} can be shown");
        return Err(Failure::with_path(RefusalCode::TooLarge, shown, message, "make it smaller first"));
    }
    rest.take(LARGEST_IMAGE).read_to_end(&mut bytes).map_err(|error| io_failure(shown, &error))?;
    let structured = json!({"path": shown, "kind": "image", "media_type": media_type, "bytes": bytes.len()});
    let image = Content::Image { data: BASE64_STANDARD.encode(bytes), media_type };
    Ok(ToolResult { content: vec![image], ..ToolResult::text("", structured) })
}

fn binary(shown: &str, head: &[u8], len: u64) -> ToolResult {
    let kind = infer::get(head).map_or("application/octet-stream", |kind| kind.mime_type());
    let text = format!("[{shown} is binary ({kind}), {len} bytes; its content is not shown]");
    ToolResult::text(text, json!({"path": shown, "kind": "binary", "media_type": kind, "bytes": len}))
}

/// The lines that were wanted.
struct LinePage {
    text: String,
    /// Lines in `text`.
    lines: u64,
    /// All lines of the file, when it was read to the end.
    total: Option<u64>,
    encoding: Encoding,
    crlf: bool,
    /// The page ended because it is full, not because enough lines were there.
    full: bool,
    /// [`MAX_SCANNED`] was reached before the requested lines.
    gave_up: bool,
    /// Secrets of the file that were taken out, here or before.
    found: Counts,
}

impl LinePage {
    fn new(encoding: Encoding, crlf: bool) -> Self {
        Self {
            text: String::new(),
            lines: 0,
            total: None,
            encoding,
            crlf,
            full: false,
            gave_up: false,
            found: Counts::default(),
        }
    }

    /// Takes one line, of which `dropped` bytes are missing. `false` when the page takes no more.
    fn take(&mut self, number: u64, line: &str, dropped: u64, wanted: &LineRange) -> bool {
        if number < wanted.first {
            return true;
        }
        if self.lines == wanted.count {
            return false;
        }
        if self.text.len() >= MAX_BYTES {
            self.full = true;
            return false;
        }
        let line = line.strip_suffix('\r').unwrap_or(line);
        let (kept, over) = if line.len() <= MAX_LINE_LEN {
            (line, "")
        } else {
            line.split_at(line.char_indices().nth(MAX_LINE_LEN).map_or(line.len(), |(at, _)| at))
        };
        push_number(&mut self.text, number);
        self.text.push_str(kept);
        let over = over.len() as u64 + dropped;
        if over > 0 {
            // Writing to a string cannot fail.
            let _ = write!(self.text, "… [{over} more bytes in this line]");
        }
        self.text.push('\n');
        self.lines += 1;
        true
    }

    fn done(
        mut self,
        shown: &str,
        bytes: u64,
        wanted: &LineRange,
        scrubbing: Scrubbing,
    ) -> Result<ToolResult, Failure> {
        if self.lines == 0 && bytes > 0 && !self.gave_up {
            let lines = self.total.unwrap_or(0);
            let message = format!("{shown} has {lines} lines, line {} is beyond its end", wanted.first);
            return Err(Failure::with_path(
                RefusalCode::InvalidInput,
                shown,
                message,
                "give a smaller offset",
            ));
        }
        let last = wanted.first + self.lines.saturating_sub(1);
        let complete = self.total.is_some_and(|total| last >= total);
        let notes = self.notes(shown, bytes, wanted.first, last, complete).join("\n");
        let (notes, in_notes) = scrubbing.text(notes);
        self.found += &in_notes;
        let structured = json!({
            "path": shown, "kind": "text", "bytes": bytes, "first_line": wanted.first, "lines": self.lines,
            "total_lines": self.total, "complete": complete, "encoding": self.encoding.name().unwrap_or("UTF-8"),
            "line_breaks": if self.crlf { "CRLF" } else { "LF" },
        });
        // The lines were looked through before they had numbers.
        Ok(ToolResult::text(self.text + &notes, structured).with_redactions(self.found).with_clean_text())
    }

    fn notes(&self, shown: &str, bytes: u64, first: u64, last: u64, complete: bool) -> Vec<String> {
        let mut notes = Vec::new();
        if bytes == 0 {
            notes.push(format!("[{shown} is empty]"));
        }
        notes.extend(self.encoding.name().map(|name| format!("[encoded as {name}]")));
        if self.crlf {
            notes.push("[lines end in CRLF]".to_owned());
        }
        if self.gave_up {
            notes.push(format!("[only the first {MAX_SCANNED} of {bytes} bytes were looked at]"));
        } else if !complete && bytes > 0 {
            let all = self.total.map_or_else(|| format!("{bytes} bytes"), |total| format!("{total} lines"));
            let why = if self.full { "the page is full" } else { "there is more" };
            let next = last + 1;
            notes.push(format!("[{why}: lines {first}-{last} of {all} are shown; go on with offset {next}]"));
        }
        notes
    }
}

/// A line number in six places, and a tab: what `cat -n` writes. By hand, since it is most of the work of a page.
fn push_number(text: &mut String, number: u64) {
    const PLACES: usize = 6;
    let mut digits = [b' '; 20];
    let mut at = digits.len();
    let mut left = number;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + u8::try_from(left % 10).unwrap_or(0);
        at -= 1;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    let number = digits.get(at.min(digits.len() - PLACES)..).unwrap_or_default();
    text.push_str(std::str::from_utf8(number).unwrap_or_default());
    text.push('\t');
}

/// The page of a file that is read at once. Secrets are taken out of the whole, before it has pages and numbers: the
/// middle of a key cannot be known for one.
fn page_of(
    shown: &str,
    bytes: Vec<u8>,
    wanted: &LineRange,
    scrubbing: Scrubbing,
) -> Result<LinePage, Failure> {
    let text = FileText::decode(bytes).map_err(|_| not_text(shown))?;
    let mut page = LinePage::new(text.encoding, text::ends_in_crlf(&text.content));
    let (content, found) = scrubbing.text(text.content);
    page.found = found;
    // The usual line is longer than its number, so twice the content is room enough without growing.
    page.text.reserve((2 * content.len()).min(MAX_BYTES));
    let body = content.strip_suffix('\n').unwrap_or(&content);
    let mut total = 0;
    if !content.is_empty() {
        let (mut open, mut start) = (true, 0);
        for end in memchr_iter(b'\n', body.as_bytes()).chain([body.len()]) {
            total += 1;
            open = open && page.take(total, body.get(start..end).unwrap_or_default(), 0, wanted);
            start = end + 1;
        }
    }
    page.total = Some(total);
    Ok(page)
}

fn not_text(shown: &str) -> Failure {
    let message = format!("{shown} is marked as text, but cannot be read as that text");
    Failure::with_path(RefusalCode::NotText, shown, message, "treat it as binary")
}

/// A file too large to be read at once. UTF-16 has no bytes to look for, so it is read whole or not at all.
fn page_of_large(
    shown: &str,
    head: &[u8],
    mut file: File,
    wanted: &LineRange,
    scrubbing: Scrubbing,
) -> Result<LinePage, Failure> {
    let encoding = text::encoding_of(head).unwrap_or(Encoding::Utf8 { mark: false });
    let io = |error| io_failure(shown, &error);
    file.rewind().map_err(io)?;
    if matches!(encoding, Encoding::Utf16Le | Encoding::Utf16Be) {
        let mut bytes = Vec::new();
        (&mut file).take(LARGEST_EDITED + 1).read_to_end(&mut bytes).map_err(io)?;
        if bytes.len() as u64 > LARGEST_EDITED {
            let message = format!("{shown} is UTF-16 of more than {LARGEST_EDITED} bytes");
            return Err(Failure::with_path(
                RefusalCode::TooLarge,
                shown,
                message,
                "convert it to UTF-8 first",
            ));
        }
        return page_of(shown, bytes, wanted, scrubbing);
    }
    let mark = if encoding == (Encoding::Utf8 { mark: true }) { 3 } else { 0 };
    let source = Scrubbed::new(file.take(MAX_SCANNED), scrubbing);
    let mut lines = FileLines { reader: BufReader::with_capacity(64 * 1024, source) };
    let mut page = LinePage::new(encoding, head.windows(2).any(|pair| pair == b"\r\n"));
    let mut number = 0;
    loop {
        let Some((line, dropped)) = lines.next().map_err(io)? else {
            page.gave_up = lines.reader.get_ref().taken() >= MAX_SCANNED;
            page.total = (!page.gave_up).then_some(number);
            page.found = lines.reader.get_mut().take_found();
            return Ok(page);
        };
        number += 1;
        let line = if number == 1 { line.get(mark..).unwrap_or_default() } else { &line };
        if !page.take(number, &String::from_utf8_lossy(line), dropped, wanted) {
            page.found = lines.reader.get_mut().take_found();
            return Ok(page);
        }
    }
}

/// Lines of a large file; of a long line only the beginning is kept.
struct FileLines<R> {
    reader: R,
}

impl<R: BufRead> FileLines<R> {
    /// The next line without its break, and how many of its bytes were dropped.
    fn next(&mut self) -> std::io::Result<Option<(Vec<u8>, u64)>> {
        let (mut line, mut dropped, mut any) = (Vec::new(), 0, false);
        loop {
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() {
                return Ok(any.then_some((line, dropped)));
            }
            any = true;
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let piece = buffer.get(..end.unwrap_or(buffer.len())).unwrap_or_default();
            // A character has at most four bytes.
            let keep = piece.len().min((4 * MAX_LINE_LEN).saturating_sub(line.len()));
            line.extend_from_slice(piece.get(..keep).unwrap_or_default());
            dropped += (piece.len() - keep) as u64;
            let used = piece.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                return Ok(Some((line, dropped)));
            }
        }
    }
}

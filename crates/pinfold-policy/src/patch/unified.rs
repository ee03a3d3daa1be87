//! Unified diffs, as `diff -u` and `git diff` print them.

use pinfold_commands::PathText;

use super::{BadPatch, FileChange, Hunk, HunkLine};

/// Name that a diff writes where a file does not exist.
const NOWHERE: &str = "/dev/null";

pub(super) fn parse(text: &str) -> Result<Vec<FileChange>, BadPatch> {
    let mut reader = DiffReader { lines: text.split_inclusive('\n').collect(), at: 0 };
    let mut files = Vec::new();
    while let Some(line) = reader.peek() {
        if line.starts_with("diff --git ") {
            files.push(git_section(&mut reader)?);
        } else if line.starts_with("--- ") {
            let names = names(&mut reader)?;
            files.push(plain_section(&mut reader, names)?);
        } else if line.starts_with("@@ ") {
            return Err(reader.bad("`--- FILE` and `+++ FILE` before the first hunk"));
        } else {
            reader.at += 1; // a commit message, an `Index:` line, a mail header
        }
    }
    Ok(files)
}

/// The two names of a section; `None` stands for `/dev/null`.
struct Names {
    line: usize,
    old: Option<String>,
    new: Option<String>,
}

fn names(reader: &mut DiffReader<'_>) -> Result<Names, BadPatch> {
    let line = reader.number();
    let old = name(reader, "--- ")?;
    let new = name(reader, "+++ ")?;
    Ok(strip_prefixes(Names { line, old, new }))
}

fn name(reader: &mut DiffReader<'_>, prefix: &str) -> Result<Option<String>, BadPatch> {
    let line = reader.peek().unwrap_or("");
    let Some(rest) = line.strip_prefix(prefix) else {
        return Err(reader.bad(format!("`{}` and a file name", prefix.trim())));
    };
    let name = if rest.starts_with('"') {
        unquote(rest).ok_or_else(|| reader.bad("a quoted name that ends"))?
    } else {
        // A time stamp stands behind a tab.
        rest.split('\t').next().unwrap_or(rest).to_owned()
    };
    if name.is_empty() {
        return Err(reader.bad("a file name"));
    }
    reader.at += 1;
    Ok((name != NOWHERE).then_some(name))
}

/// `a/` and `b/` are taken off when both names carry theirs, as git writes them.
fn strip_prefixes(names: Names) -> Names {
    let carries = |name: &Option<String>, prefix| name.as_ref().is_none_or(|n| n.starts_with(prefix));
    if !carries(&names.old, "a/") || !carries(&names.new, "b/") {
        return names;
    }
    let strip = |name: Option<String>| name.and_then(|n| n.get(2..).map(str::to_owned));
    Names { old: strip(names.old), new: strip(names.new), ..names }
}

fn plain_section(reader: &mut DiffReader<'_>, names: Names) -> Result<FileChange, BadPatch> {
    let hunks = hunks(reader)?;
    let nothing = || BadPatch::new(names.line, "a hunk (`@@ -1,2 +1,3 @@`) below the file names");
    let path = |name: String| {
        if name.is_empty() { Err(BadPatch::new(names.line, "a file name")) } else { Ok(PathText::new(name)) }
    };
    match (names.old, names.new) {
        (None, None) => Err(BadPatch::new(names.line, "a file name on one of the two lines")),
        (None, Some(new)) => Ok(FileChange::Add { path: path(new)?, content: content(&hunks, names.line)? }),
        (Some(old), None) => Ok(FileChange::Delete { path: path(old)?, hunks }),
        (Some(_), Some(_)) if hunks.is_empty() => Err(nothing()),
        (Some(old), Some(new)) => {
            let move_to = if old == new { None } else { Some(path(new)?) };
            Ok(FileChange::Update { path: path(old)?, move_to, hunks })
        }
    }
}

/// A section below `diff --git`: its extended header lines say what the `---` lines may leave out.
fn git_section(reader: &mut DiffReader<'_>) -> Result<FileChange, BadPatch> {
    let line = reader.number();
    let header = reader.peek().unwrap_or("").to_owned();
    reader.at += 1;
    let (mut from, mut to, mut created, mut deleted) = (None, None, false, false);
    while let Some(text) = reader.peek() {
        if let Some(name) = text.strip_prefix("rename from ") {
            from = Some(plain_or_quoted(name));
        } else if let Some(name) = text.strip_prefix("rename to ") {
            to = Some(plain_or_quoted(name));
        } else if let Some(mode) = text.strip_prefix("new file mode ") {
            regular(reader, mode)?;
            created = true;
        } else if let Some(mode) = text.strip_prefix("deleted file mode ") {
            regular(reader, mode)?;
            deleted = true;
        } else if text.starts_with("--- ") {
            let names = names(reader)?;
            return plain_section(reader, names);
        } else if ["GIT binary patch", "Binary files ", "copy from ", "old mode "]
            .iter()
            .any(|p| text.starts_with(p))
        {
            return Err(
                reader.bad("changes of text: binary changes, copies and changes of mode are not applied")
            );
        } else if text.starts_with("diff --git ") || text.starts_with("@@ ") {
            break;
        }
        reader.at += 1;
    }
    match (from, to) {
        (Some(from), Some(to)) if !from.is_empty() && !to.is_empty() => Ok(FileChange::Update {
            path: PathText::new(from),
            move_to: Some(PathText::new(to)),
            hunks: Vec::new(),
        }),
        // An empty file has no `---` lines; both halves of the header then hold its name.
        _ => match (same_name(&header), created, deleted) {
            (Some(name), true, false) => {
                Ok(FileChange::Add { path: PathText::new(name), content: String::new() })
            }
            (Some(name), false, true) => {
                Ok(FileChange::Delete { path: PathText::new(name), hunks: Vec::new() })
            }
            _ => Err(BadPatch::new(line, "`---` and `+++` lines, or a rename, below `diff --git`")),
        },
    }
}

/// Links and submodules are files in a diff; applying them as text would write something else.
fn regular(reader: &DiffReader<'_>, mode: &str) -> Result<(), BadPatch> {
    if mode.trim_end() == "100644" { Ok(()) } else { Err(reader.bad("an ordinary file (mode 100644)")) }
}

/// The name in `diff --git a/NAME b/NAME`, when both are the same.
fn same_name(header: &str) -> Option<String> {
    let rest = header.strip_prefix("diff --git ")?;
    if rest.starts_with('"') {
        return unquote(rest)?.strip_prefix("a/").map(str::to_owned);
    }
    let half = rest.len().checked_sub(1)? / 2;
    let (old, new) = (rest.get(..half)?.strip_prefix("a/")?, rest.get(half..)?.strip_prefix(" b/")?);
    (old == new && !old.is_empty()).then(|| old.to_owned())
}

fn plain_or_quoted(name: &str) -> String {
    unquote(name).unwrap_or_else(|| name.to_owned())
}

/// A name in C quotes, as git writes names with unusual bytes; `None` when it does not end or is not Unicode.
fn unquote(text: &str) -> Option<String> {
    let mut bytes = text.strip_prefix('"')?.bytes();
    let mut name = Vec::new();
    loop {
        match bytes.next()? {
            b'"' => return String::from_utf8(name).ok(),
            b'\\' => name.push(match bytes.next()? {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                b'a' => 0x07,
                b'b' => 0x08,
                b'f' => 0x0c,
                b'v' => 0x0b,
                digit @ b'0'..=b'3' => octal(&[digit, bytes.next()?, bytes.next()?])?,
                other => other,
            }),
            other => name.push(other),
        }
    }
}

fn octal(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()
}

fn hunks(reader: &mut DiffReader<'_>) -> Result<Vec<Hunk>, BadPatch> {
    let mut hunks = Vec::new();
    while reader.peek().is_some_and(|line| line.starts_with("@@ ")) {
        hunks.push(hunk(reader)?);
    }
    Ok(hunks)
}

fn hunk(reader: &mut DiffReader<'_>) -> Result<Hunk, BadPatch> {
    let (start, mut old_left, mut new_left) =
        header(reader.peek().unwrap_or("")).ok_or_else(|| reader.bad("`@@ -LINE,COUNT +LINE,COUNT @@`"))?;
    // An insertion into nothing stands behind the line it names; line 0 stands before the first.
    let start = if old_left == 0 { start.saturating_add(1) } else { start };
    reader.at += 1;
    let mut hunk = Hunk { start: Some(start.max(1)), ..Hunk::default() };
    while old_left > 0 || new_left > 0 {
        let Some(line) = reader.peek() else {
            return Err(reader.bad(format!("{old_left} more old and {new_left} more new lines in the hunk")));
        };
        let too_many = || BadPatch::new(reader.number(), "as many lines as the `@@` line says");
        let mut chars = line.chars();
        let parsed = match chars.next() {
            Some(' ') => HunkLine::Keep(chars.as_str().to_owned()),
            None => HunkLine::Keep(String::new()),
            Some('-') => HunkLine::Remove(chars.as_str().to_owned()),
            Some('+') => HunkLine::Insert(chars.as_str().to_owned()),
            Some('\\') => {
                unended(&mut hunk);
                reader.at += 1;
                continue;
            }
            Some(_) => return Err(reader.bad("a line that starts with a blank, `-` or `+`")),
        };
        if !matches!(parsed, HunkLine::Insert(_)) {
            old_left = old_left.checked_sub(1).ok_or_else(too_many)?;
        }
        if !matches!(parsed, HunkLine::Remove(_)) {
            new_left = new_left.checked_sub(1).ok_or_else(too_many)?;
        }
        hunk.lines.push(parsed);
        reader.at += 1;
    }
    if reader.peek().is_some_and(|line| line.starts_with('\\')) {
        unended(&mut hunk);
        reader.at += 1;
    }
    Ok(hunk)
}

/// `\ No newline at end of file` speaks of the line above it.
fn unended(hunk: &mut Hunk) {
    match hunk.lines.last() {
        Some(HunkLine::Keep(_)) => (hunk.old_unended, hunk.new_unended) = (true, true),
        Some(HunkLine::Remove(_)) => hunk.old_unended = true,
        Some(HunkLine::Insert(_)) => hunk.new_unended = true,
        None => {}
    }
}

/// `@@ -12,3 +14,4 @@ fn main` → (12, 3, 4).
fn header(line: &str) -> Option<(u64, u64, u64)> {
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| -> Option<(u64, u64)> {
        match text.split_once(',') {
            Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
            None => Some((text.parse().ok()?, 1)),
        }
    };
    let ((start, old_count), (_, new_count)) = (range(old)?, range(new)?);
    Some((start, old_count, new_count))
}

/// The content of a new file: the inserted lines of its one hunk.
fn content(hunks: &[Hunk], line: usize) -> Result<String, BadPatch> {
    let mut content = String::new();
    for hunk in hunks {
        for line_of_hunk in &hunk.lines {
            let HunkLine::Insert(text) = line_of_hunk else {
                return Err(BadPatch::new(line, "only `+` lines in a new file"));
            };
            content.push_str(text);
            content.push('\n');
        }
        if hunk.new_unended {
            content.pop();
        }
    }
    Ok(content)
}

struct DiffReader<'a> {
    lines: Vec<&'a str>,
    at: usize,
}

impl<'a> DiffReader<'a> {
    /// The line at hand without its line break.
    fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.at).map(|line| line.strip_suffix('\n').unwrap_or(line))
    }

    fn number(&self) -> usize {
        self.at.saturating_add(1)
    }

    fn bad(&self, expected: impl Into<String>) -> BadPatch {
        BadPatch::new(self.number(), expected)
    }
}

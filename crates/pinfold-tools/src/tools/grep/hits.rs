//! The matches of a search in one file, and their output lines.

use std::io;
use std::path::{Path, PathBuf};

use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};
use pinfold::policy::input::{GrepInput, OutputMode};

/// Bytes of a line that are shown: longer lines are made by programs.
const MAX_LINE_LEN: usize = 1000;
/// Bytes of lines kept of one file.
const MAX_OF_A_FILE: usize = 1024 * 1024;

/// Characters without a gap that could be a line of a private key.
const LINE_OF_A_KEY: usize = 32;

/// Result that a search is to return.
pub(super) struct GrepOptions {
    pub(super) output: OutputMode,
    pub(super) numbers: bool,
    pub(super) before: usize,
    pub(super) after: usize,
    pub(super) multiline: bool,
}

impl GrepOptions {
    pub(super) fn from_input(input: &GrepInput) -> Self {
        let output = input.output.unwrap_or(OutputMode::Files);
        let context = |own: Option<u64>| match output {
            OutputMode::Content => {
                usize::try_from(own.or(input.around).unwrap_or(0)).unwrap_or(usize::MAX).min(1000)
            }
            OutputMode::Files | OutputMode::Count => 0,
        };
        Self {
            output,
            numbers: output == OutputMode::Content && input.numbers.unwrap_or(true),
            before: context(input.before),
            after: context(input.after),
            multiline: input.multiline.unwrap_or(false),
        }
    }

    /// All results as lines, in the order of the files.
    pub(super) fn lines(&self, files: &[(PathBuf, FileHits)], show: impl Fn(&Path) -> String) -> Vec<String> {
        let mut lines = Vec::new();
        for (path, hits) in files {
            let shown = show(path);
            match self.output {
                OutputMode::Files => lines.push(shown),
                OutputMode::Count => lines.push(format!("{shown}:{}", hits.matches)),
                OutputMode::Content => {
                    if self.before + self.after > 0 && !lines.is_empty() {
                        lines.push("--".to_owned());
                    }
                    lines.extend(hits.lines.iter().map(|line| line.put(&shown, self.numbers)));
                }
            }
        }
        lines
    }
}

/// Hits in one file.
pub(super) struct FileHits {
    output: OutputMode,
    matches: u64,
    lines: Vec<HitLine>,
    bytes: usize,
}

enum HitLine {
    Match { number: Option<u64>, text: String },
    Around { number: Option<u64>, text: String },
    Gap,
}

impl HitLine {
    fn may_be_of_a_key(&self) -> bool {
        let is_key = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
        match self {
            Self::Match { text, .. } | Self::Around { text, .. } => {
                text.as_bytes().split(|byte| !is_key(byte)).any(|run| run.len() >= LINE_OF_A_KEY)
            }
            Self::Gap => false,
        }
    }

    /// Formats a line as grep does: `:` marks a match, `-` a line around one.
    fn put(&self, shown: &str, numbers: bool) -> String {
        let (mark, number, text) = match self {
            Self::Match { number, text } => (':', number, text),
            Self::Around { number, text } => ('-', number, text),
            Self::Gap => return "--".to_owned(),
        };
        match number.filter(|_| numbers) {
            Some(number) => format!("{shown}{mark}{number}{mark}{text}"),
            None => format!("{shown}{mark}{text}"),
        }
    }
}

impl FileHits {
    pub(super) fn new(wanted: &GrepOptions) -> Self {
        Self { output: wanted.output, matches: 0, lines: Vec::new(), bytes: 0 }
    }

    pub(super) fn any(&self) -> bool {
        self.matches > 0
    }

    pub(super) fn matches(&self) -> u64 {
        self.matches
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns whether a line could be one of a private key.
    pub(super) fn may_have_keys(&self) -> bool {
        self.lines.iter().any(HitLine::may_be_of_a_key)
    }

    /// Shows each line as it stands in this text of the same file.
    pub(super) fn show_as_in(&mut self, whole: &str) {
        let lines: Vec<&str> = whole.split('\n').collect();
        for line in &mut self.lines {
            if let HitLine::Match { number: Some(number), text }
            | HitLine::Around { number: Some(number), text } = line
            {
                let there =
                    usize::try_from(*number).ok().and_then(|number| lines.get(number.checked_sub(1)?));
                *text = self::text(there.map_or(b"", |line| line.as_bytes()));
            }
        }
    }

    /// Leaves out what lines of private keys could say.
    pub(super) fn leave_keys_out(&mut self) {
        for line in &mut self.lines {
            if line.may_be_of_a_key()
                && let HitLine::Match { text, .. } | HitLine::Around { text, .. } = line
            {
                "[not shown: it may be a part of a key]".clone_into(text);
            }
        }
    }

    fn keep(&mut self, line: HitLine, len: usize) -> bool {
        self.bytes += len;
        self.lines.push(line);
        self.bytes < MAX_OF_A_FILE
    }
}

fn text(bytes: &[u8]) -> String {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    match bytes.get(..MAX_LINE_LEN) {
        Some(start) if bytes.len() > MAX_LINE_LEN => {
            format!("{}… [{} more bytes]", String::from_utf8_lossy(start), bytes.len() - MAX_LINE_LEN)
        }
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

impl Sink for FileHits {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        match self.output {
            OutputMode::Files => {
                self.matches = 1;
                Ok(false)
            }
            OutputMode::Count => {
                self.matches += found.lines().count() as u64;
                Ok(true)
            }
            OutputMode::Content => {
                let mut number = found.line_number();
                for line in found.lines() {
                    self.matches += 1;
                    let text = text(line);
                    let len = text.len();
                    if !self.keep(HitLine::Match { number, text }, len) {
                        return Ok(false);
                    }
                    number = number.map(|number| number + 1);
                }
                Ok(true)
            }
        }
    }

    fn context(&mut self, _: &Searcher, around: &SinkContext<'_>) -> Result<bool, io::Error> {
        let text = text(around.bytes());
        let len = text.len();
        Ok(self.keep(HitLine::Around { number: around.line_number(), text }, len))
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        Ok(self.keep(HitLine::Gap, 2))
    }
}

//! `Grep`: ripgrep's search over files that were reached by handles. Guarded files are left out, and that is said.

mod hits;

use std::io::Seek;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::overrides::OverrideBuilder;
use ignore::types::TypesBuilder;
use pinfold::paths::{EntryKind, Kind, Version};
use pinfold::policy::input::{GrepInput, OutputMode};
use pinfold::{Failure, ReadTarget, Targets};
use pinfold_scrub::Counts;
use serde_json::json;

use super::{LARGEST_EDITED, content};
use crate::reply::ToolResult;
use crate::secrets::Scrubbing;
use crate::text::FileText;
use crate::walk::{NameFilter, Tally, WalkedEntry, walk};
use hits::{FileHits, GrepOptions};

/// The largest file that is searched: what is larger is data, and would be searched for minutes.
const LARGEST: u64 = 1024 * 1024 * 1024;
/// The largest file that is searched across lines: it is held in memory.
const LARGEST_MULTILINE: usize = 64 * 1024 * 1024;
/// Bytes of results kept for sorting before the search is cut short.
const MAX_KEPT: usize = 16 * 1024 * 1024;
/// Bytes of text returned at most.
const MAX_BYTES: usize = 256 * 1024;
/// Files that were left out are named up to this number.
const MAX_NAMED: usize = 10;

pub(super) fn perform(
    input: &GrepInput,
    targets: &mut Targets,
    scrubbing: Scrubbing,
) -> Result<ToolResult, Failure> {
    let target = targets.next_read()?;
    let matcher = matcher(input)?;
    let wanted = GrepOptions::from_input(input);
    let search = GrepSearch {
        target: &target,
        matcher,
        wanted,
        scrubbing,
        kept: AtomicUsize::new(0),
        found: Mutex::default(),
    };
    let tally = match target.kind() {
        Kind::Directory => {
            let filter = filter(input, target.real())?;
            walk(&target, target.open_dir()?, &filter, || search.visitor())
        }
        Kind::Missing { .. } | Kind::File { .. } | Kind::Link | Kind::Special(_) => {
            let (file, version) = target.open_file()?;
            search.one(&mut search.searcher(), target.real(), &file, version);
            Tally::default()
        }
    };
    Ok(search.answer(input, tally))
}

fn matcher(input: &GrepInput) -> Result<RegexMatcher, Failure> {
    let multiline = input.multiline.unwrap_or(false);
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(input.ignore_case.unwrap_or(false)).multi_line(true);
    if multiline {
        builder.dot_matches_new_line(true);
    } else {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(&input.pattern).map_err(|error| {
        let hint = if multiline {
            "mend the pattern"
        } else {
            "mend the pattern, or set multiline to match line breaks"
        };
        Failure::input(format!("`{}` cannot be searched for: {error}", input.pattern), hint)
    })
}

fn filter(input: &GrepInput, real: &Path) -> Result<NameFilter, Failure> {
    let globs = match &input.glob {
        None => None,
        Some(globs) => {
            let no = |error: ignore::Error| {
                Failure::input(format!("`{globs}` is not a glob: {error}"), "mend the glob")
            };
            let mut builder = OverrideBuilder::new(real);
            for glob in split_globs(globs) {
                builder.add(glob).map_err(no)?;
            }
            Some(builder.build().map_err(no)?)
        }
    };
    let types = match &input.file_type {
        None => None,
        Some(name) => {
            let mut builder = TypesBuilder::new();
            builder.add_defaults().select(name);
            let no =
                |error| Failure::input(format!("`{name}` is not a file type: {error}"), "use glob instead");
            Some(builder.build().map_err(no)?)
        }
    };
    Ok(NameFilter { globs, types })
}

/// `*.ts *.tsx` and `*.ts,*.tsx` are two globs; `*.{ts,tsx}` is one.
fn split_globs(globs: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let parts = globs.split(move |c: char| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c == ',' || c.is_whitespace())
    });
    parts.filter(|glob| !glob.is_empty()).collect()
}

/// One search over many files.
struct GrepSearch<'a> {
    target: &'a ReadTarget,
    matcher: RegexMatcher,
    wanted: GrepOptions,
    scrubbing: Scrubbing,
    /// Bytes of results so far.
    kept: AtomicUsize,
    found: Mutex<GrepResults>,
}

#[derive(Default)]
struct GrepResults {
    files: Vec<(PathBuf, FileHits)>,
    /// Files that were left out because a guard covers them.
    guarded: Vec<PathBuf>,
    /// Files that were left out because they are too large.
    too_large: usize,
    /// Secrets that were taken out.
    secrets: Option<Counts>,
}

impl GrepSearch<'_> {
    fn searcher(&self) -> Searcher {
        let mut builder = SearcherBuilder::new();
        builder
            .binary_detection(BinaryDetection::quit(0))
            .line_number(self.wanted.output == OutputMode::Content)
            .before_context(self.wanted.before)
            .after_context(self.wanted.after)
            .multi_line(self.wanted.multiline);
        if self.wanted.multiline {
            builder.heap_limit(Some(LARGEST_MULTILINE));
        }
        builder.build()
    }

    fn visitor(&self) -> impl FnMut(&WalkedEntry<'_>) -> bool {
        let mut searcher = self.searcher();
        move |met: &WalkedEntry<'_>| {
            if met.kind != EntryKind::File {
                return true;
            }
            let open = || met.folder.open_listed_file(met.name).ok();
            if self.target.guard_of(met.path, || open().map(|(file, _)| file)).is_some() {
                self.found().guarded.push(met.path.to_owned());
                return true;
            }
            let Some((file, version)) = open() else { return true };
            self.one(&mut searcher, met.path, &file, version);
            self.kept.load(Ordering::Relaxed) < MAX_KEPT
        }
    }

    /// Searches one file. An empty one has nothing to find; those of `/proc` say that they are empty, and some never end.
    fn one(&self, searcher: &mut Searcher, path: &Path, file: &std::fs::File, version: Version) {
        if version.len() == 0 {
            return;
        }
        if version.len() > LARGEST {
            self.found().too_large += 1;
            return;
        }
        let mut hits = FileHits::new(&self.wanted);
        // A file that cannot be read to its end has shown what it has.
        let _ = searcher.search_file(&self.matcher, file, &mut hits);
        if hits.any() {
            self.hide_keys(&mut hits, file, version);
            self.kept.fetch_add(hits.bytes() + path.as_os_str().len(), Ordering::Relaxed);
            self.found().files.push((path.to_owned(), hits));
        }
    }

    /// A line of a private key cannot be known for one by itself. Where lines look so, they are shown as they stand in
    /// the whole file without its secrets.
    fn hide_keys(&self, hits: &mut FileHits, mut file: &std::fs::File, version: Version) {
        if self.scrubbing == Scrubbing::Off || !hits.may_have_keys() {
            return;
        }
        let whole = file.rewind().and_then(|()| content(file, version.len(), LARGEST_EDITED));
        let text = whole
            .ok()
            .filter(|_| version.len() <= LARGEST_EDITED)
            .and_then(|bytes| FileText::decode(bytes).ok());
        match text.map(|text| self.scrubbing.text(text.content)) {
            Some((text, found)) if !found.is_empty() => {
                hits.show_as_in(&text);
                *self.found().secrets.get_or_insert_default() += &found;
            }
            Some(_) => {}
            None => hits.leave_keys_out(),
        }
    }

    fn found(&self) -> std::sync::MutexGuard<'_, GrepResults> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(self, input: &GrepInput, tally: Tally) -> ToolResult {
        let mut found = self.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.files.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        found.guarded.sort_unstable();
        let matches: u64 = found.files.iter().map(|(_, hits)| hits.matches()).sum();
        let lines = self.wanted.lines(&found.files, |path| self.target.show(path));
        let total = lines.len();
        let skip = usize::try_from(input.offset.unwrap_or(0)).unwrap_or(usize::MAX);
        let limit = usize::try_from(input.head_limit.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
        let page: Vec<String> = lines.into_iter().skip(skip).take(limit).collect();
        let (mut text, full) = joined(&page);
        let mut note = |words: String| {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&words);
        };
        if total == 0 {
            note(format!("[no match for {}]", input.pattern));
        } else if full < total {
            note(format!("[{full} of {total} lines are shown, from offset {skip}]"));
        }
        let guarded: Vec<_> = found.guarded.iter().map(|path| self.target.show(path)).collect();
        if !guarded.is_empty() {
            let named = guarded.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
            let more = if guarded.len() > MAX_NAMED { ", …" } else { "" };
            note(format!("[{} files that may hold credentials were left out: {named}{more}]", guarded.len()));
        }
        if found.too_large > 0 {
            note(format!("[{} files of more than {LARGEST} bytes were left out]", found.too_large));
        }
        if tally.cut {
            note("[there is too much: not all of the tree was searched]".to_owned());
        }
        let files: Vec<_> = match self.wanted.output {
            OutputMode::Files => page.clone(),
            OutputMode::Content | OutputMode::Count => Vec::new(),
        };
        let structured = json!({
            "matching_files": found.files.len(), "matches": matches, "files": files,
            "left_out": guarded, "truncated": tally.cut || full < total,
        });
        ToolResult::text(text, structured).with_redactions(found.secrets.unwrap_or_default())
    }
}

/// The lines as one text, and how many of them fit.
fn joined(lines: &[String]) -> (String, usize) {
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        if text.len() + line.len() > MAX_BYTES {
            return (text, index);
        }
        if index > 0 {
            text.push('\n');
        }
        text.push_str(line);
    }
    (text, lines.len())
}

#[cfg(test)]
mod tests {
    use super::split_globs;

    #[test]
    fn several_globs_are_told_apart_but_not_alternatives() {
        assert_eq!(split_globs("*.ts, *.tsx"), ["*.ts", "*.tsx"]);
        assert_eq!(split_globs("*.{ts,tsx} !a"), ["*.{ts,tsx}", "!a"]);
    }
}

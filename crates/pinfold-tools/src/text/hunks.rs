//! Applies the hunks of a patch to a text. Pure; every hunk finds its place or nothing is applied.

use pinfold::policy::patch::{Hunk, HunkLine};

/// A hunk that does not fit: which one, counted from 1, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HunkMismatch {
    pub(crate) hunk: usize,
    pub(crate) why: String,
}

/// Ways in which lines may agree. Tried in this order, so that a sloppy fit never wins over an exact one.
const FITS: [fn(&str, &str) -> bool; 3] = [
    |line, wanted| line == wanted,
    // Patches lose `\r` and blanks at the end of lines on their way through a model.
    |line, wanted| line.trim_end() == wanted.trim_end(),
    |line, wanted| line.trim() == wanted.trim(),
];

/// The text after all hunks.
pub(crate) fn apply(text: &str, hunks: &[Hunk]) -> Result<String, HunkMismatch> {
    let mut old = HunkLines::from_text(text);
    let crlf = super::ends_in_crlf(text);
    let mut new: Vec<String> = Vec::with_capacity(old.lines.len());
    let mut at = 0;
    let mut shift: i64 = 0;
    for (index, hunk) in hunks.iter().enumerate() {
        let misfit = |why: String| HunkMismatch { hunk: index + 1, why };
        let wanted = SoughtLines::from_hunk(hunk);
        let place = wanted.find(&old.lines, at, shift).map_err(misfit)?;
        shift = signed(place) - signed(wanted.start.unwrap_or(place));
        copy(&mut new, &old.lines, at, place);
        at = place;
        for line in &hunk.lines {
            match line {
                HunkLine::Keep(_) => {
                    copy(&mut new, &old.lines, at, at + 1);
                    at += 1;
                }
                HunkLine::Remove(_) => at += 1,
                HunkLine::Insert(line) => new.push(inserted(line, crlf)),
            }
        }
        if at == old.lines.len() {
            old.ended = ended(hunk, old.ended);
        }
    }
    copy(&mut new, &old.lines, at, old.lines.len());
    Ok(join(&new, old.ended))
}

/// Returns whether the last line has a break after a hunk that reaches it.
fn ended(hunk: &Hunk, before: bool) -> bool {
    match (hunk.old_unended, hunk.new_unended, hunk.lines.last()) {
        (_, true, _) => false,
        // The envelope cannot speak of missing breaks; a line that it adds has one.
        (true, false, _) | (false, false, Some(HunkLine::Insert(_))) => true,
        (false, false, _) => before,
    }
}

fn inserted(line: &str, crlf: bool) -> String {
    if crlf && !line.ends_with('\r') { format!("{line}\r") } else { line.to_owned() }
}

fn copy(new: &mut Vec<String>, old: &[&str], from: usize, to: usize) {
    new.extend(old.get(from..to).unwrap_or_default().iter().map(|line| (*line).to_owned()));
}

fn join(lines: &[String], ended: bool) -> String {
    let mut text = lines.join("\n");
    if ended && !lines.is_empty() {
        text.push('\n');
    }
    text
}

fn signed(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// A text as lines without their `\n`.
struct HunkLines<'a> {
    lines: Vec<&'a str>,
    ended: bool,
}

impl<'a> HunkLines<'a> {
    fn from_text(text: &'a str) -> Self {
        let (body, ended) = text.strip_suffix('\n').map_or((text, false), |body| (body, true));
        let lines = if text.is_empty() { Vec::new() } else { body.split('\n').collect() };
        Self { ended: ended || text.is_empty(), lines }
    }
}

/// Lines that a hunk looks for.
struct SoughtLines<'a> {
    anchors: &'a [String],
    lines: Vec<&'a str>,
    /// Line at which it says it stands, counted from 0.
    start: Option<usize>,
    at_end: bool,
}

impl<'a> SoughtLines<'a> {
    fn from_hunk(hunk: &'a Hunk) -> Self {
        let old = hunk.lines.iter().filter_map(|line| match line {
            HunkLine::Keep(text) | HunkLine::Remove(text) => Some(text.as_str()),
            HunkLine::Insert(_) => None,
        });
        let start = hunk.start.and_then(|line| usize::try_from(line).ok()?.checked_sub(1));
        Self { anchors: &hunk.anchors, lines: old.collect(), start, at_end: hunk.at_end }
    }

    /// Returns the index of the old lines, at or after `from`. `shift`: distance of earlier hunks from their line numbers.
    fn find(&self, old: &[&str], from: usize, shift: i64) -> Result<usize, String> {
        let mut from = from;
        for anchor in self.anchors {
            let found = FITS
                .iter()
                .find_map(|fit| (from..old.len()).find(|i| old.get(*i).is_some_and(|l| fit(l, anchor))));
            from = found.ok_or_else(|| format!("there is no line `{anchor}` after line {from}"))? + 1;
        }
        if let Some(start) = self.start {
            let near = usize::try_from(signed(start).saturating_add(shift)).unwrap_or(0);
            return self.find_near(old, from, near);
        }
        if self.lines.is_empty() {
            return Ok(if self.anchors.is_empty() { old.len() } else { from });
        }
        let last = old.len().checked_sub(self.lines.len());
        for fit in FITS {
            if let Some(last) = last.filter(|last| self.at_end && *last >= from)
                && self.fits(old, last, fit)
            {
                return Ok(last);
            }
            let Some(last) = last else { break };
            if let Some(place) = (from..=last).find(|place| self.fits(old, *place, fit)) {
                return Ok(place);
            }
        }
        Err(self.not_found(from))
    }

    /// The place nearest to the line number that the hunk gives.
    fn find_near(&self, old: &[&str], from: usize, near: usize) -> Result<usize, String> {
        if self.lines.is_empty() {
            return if (from..=old.len()).contains(&near) { Ok(near) } else { Err(self.not_found(from)) };
        }
        let Some(last) = old.len().checked_sub(self.lines.len()) else { return Err(self.not_found(from)) };
        for fit in FITS.iter().take(2) {
            let places = (from..=last).filter(|place| self.fits(old, *place, *fit));
            if let Some(place) = places.min_by_key(|place| place.abs_diff(near)) {
                return Ok(place);
            }
        }
        Err(self.not_found(from))
    }

    fn fits(&self, old: &[&str], place: usize, fit: fn(&str, &str) -> bool) -> bool {
        let window = old.get(place..place + self.lines.len()).unwrap_or_default();
        window.len() == self.lines.len()
            && window.iter().zip(&self.lines).all(|(line, wanted)| fit(line, wanted))
    }

    fn not_found(&self, from: usize) -> String {
        let first = self.lines.iter().find(|line| !line.trim().is_empty()).unwrap_or(&"");
        let shown: String = first.chars().take(80).collect();
        format!("its {} old lines (`{shown}`, …) do not stand together after line {from}", self.lines.len())
    }
}

#[cfg(test)]
mod tests {
    use pinfold::policy::patch::{FileChange, Patch};
    use proptest::prelude::*;
    use similar::TextDiff;

    use super::*;

    fn hunks(patch: &str) -> Vec<Hunk> {
        match Patch::parse(patch).unwrap().files() {
            [FileChange::Update { hunks, .. }] => hunks.clone(),
            other => panic!("{other:?}"),
        }
    }

    fn envelope(body: &str) -> Vec<Hunk> {
        hunks(&format!("*** Begin Patch\n*** Update File: f\n{body}*** End Patch\n"))
    }

    #[test]
    fn an_envelope_hunk_finds_its_lines_by_anchor_and_context() {
        let text = "fn a() {\n    x();\n}\nfn b() {\n    x();\n}\n";
        let patched = apply(text, &envelope("@@ fn b() {\n-    x();\n+    y();\n")).unwrap();
        assert_eq!(patched, "fn a() {\n    x();\n}\nfn b() {\n    y();\n}\n");
        let patched = apply(text, &envelope("@@\n-    x();\n+    y();\n }\n*** End of File\n")).unwrap();
        assert_eq!(patched, "fn a() {\n    x();\n}\nfn b() {\n    y();\n}\n");
        assert_eq!(apply(text, &envelope("@@\n-    z();\n+    y();\n")).unwrap_err().hunk, 1);
    }

    #[test]
    fn lines_keep_the_breaks_and_blanks_of_the_file() {
        let patched = apply("a \r\nb\r\nc\r\n", &envelope("@@\n a\n-b\n+B\n c\n")).unwrap();
        assert_eq!(patched, "a \r\nB\r\nc\r\n");
    }

    #[test]
    fn a_missing_break_at_the_end_stays_missing_unless_the_hunk_says_otherwise() {
        assert_eq!(apply("a\nb", &envelope("@@\n-a\n+A\n")).unwrap(), "A\nb");
        assert_eq!(
            apply("a\nb", &hunks("--- f\n+++ f\n@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+b\n"))
                .unwrap(),
            "a\nb\n"
        );
        assert_eq!(
            apply("a\nb\n", &hunks("--- f\n+++ f\n@@ -2 +2 @@\n-b\n+b\n\\ No newline at end of file\n"))
                .unwrap(),
            "a\nb"
        );
    }

    #[test]
    fn a_hunk_that_moved_is_found_near_its_line() {
        let text = "new\nx\n1\nx\n2\n";
        assert_eq!(apply(text, &hunks("--- f\n+++ f\n@@ -3 +3 @@\n-x\n+y\n")).unwrap(), "new\ny\n1\nx\n2\n");
    }

    proptest! {
        #[test]
        fn a_diff_applied_to_its_old_text_gives_its_new_text(a in "([ab]{0,2}\n){0,12}[ab]{0,2}", b in "([ab]{0,2}\n){0,12}[ab]{0,2}", context in 0usize..4) {
            prop_assume!(a != b);
            let diff = TextDiff::from_lines(&a, &b);
            let patch = diff.unified_diff().context_radius(context).header("f", "f").to_string();
            prop_assert_eq!(apply(&a, &hunks(&patch)), Ok(b), "{}", patch);
        }

        #[test]
        fn no_patch_makes_it_panic(text in "[ab\r\n]{0,30}", body in "(@@( [ab]{0,2})?\n|[ +-][ab]{0,3}\n|\\*\\*\\* End of File\n){1,12}") {
            let patch = Patch::parse(&format!("*** Begin Patch\n*** Update File: f\n{body}*** End Patch\n"));
            for change in patch.iter().flat_map(Patch::files) {
                if let FileChange::Update { hunks, .. } = change {
                    let _ = apply(&text, hunks);
                }
            }
        }
    }
}

//! A change as a unified diff that is bounded in time and size.

use std::fmt::Write;
use std::time::Duration;

use similar::TextDiff;

/// Bytes of a diff that are shown: a model needs to see that the change is the one it meant, not all of a rewrite.
const MAX_BYTES: usize = 16 * 1024;

/// Time that the shortest diff is looked for before a longer one is good enough.
const SEARCH_TIMEOUT: Duration = Duration::from_millis(200);

/// Lines shown around each change, as every diff tool does.
const CONTEXT: usize = 3;

/// The change from `old` to `new` of the file `path`.
pub(crate) fn unified(path: &str, old: &str, new: &str) -> String {
    let diff = TextDiff::configure().timeout(SEARCH_TIMEOUT).diff_lines(old, new);
    let (before, after) = (format!("a/{path}"), format!("b/{path}"));
    let mut shown = diff.unified_diff().context_radius(CONTEXT).header(&before, &after).to_string();
    if shown.len() > MAX_BYTES {
        let cut = shown.floor_char_boundary(MAX_BYTES);
        let cut = shown.get(..cut).and_then(|s| s.rfind('\n')).map_or(cut, |newline| newline + 1);
        let left = shown.get(cut..).unwrap_or_default().matches('\n').count();
        shown.truncate(cut);
        // Writing to a string cannot fail.
        let _ = writeln!(shown, "[{left} more lines of the diff not shown]");
    }
    shown
}

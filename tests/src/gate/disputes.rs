//! Cases whose expectation the requirement decides otherwise: `docs/dev/corpus-disputes.md`.

use std::collections::BTreeMap;

/// The page, as it was built in: a corpus from elsewhere is held to the same list.
const PAGE: &str = include_str!("../../../docs/dev/corpus-disputes.md");

/// The reason for each case that is disputed, by its name. A row of the page is `| id | reason |`.
pub fn disputes() -> BTreeMap<&'static str, &'static str> {
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    rows.map(|(id, reason)| (id, reason.trim_end_matches('|').trim())).collect()
}

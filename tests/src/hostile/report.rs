//! The report of a run as the oracle reads it. The keys of the JSON stand here and nowhere else.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// Keys of the report.
mod key {
    pub(super) const REFUSED: &str = "refused";
    pub(super) const PLACE: &str = "place";
    pub(super) const PROGRAM: &str = "program";
    pub(super) const MORE: &str = "omitted_count";
    pub(super) const WATCHED: &str = "watched";
    pub(super) const NEW_REPOSITORIES: &str = "new_repositories";
    pub(super) const CHANGED: &str = "changed_autorun";
    pub(super) const UNFINISHED: &str = "unfinished";
    pub(super) const NOTES: &str = "notes";
}

/// Words of a note which says that not everything was looked at.
const BOUNDED: [&str; 2] = ["is large", "only its upper part"];

/// What one run reports.
#[derive(Clone, Debug, Default)]
pub(super) struct Report {
    /// Places that were refused, with the program that tried.
    pub(super) refused: Vec<(PathBuf, String)>,
    /// Refusals that are only counted.
    pub(super) more: u64,
    /// Whether refusals could be seen.
    pub(super) watched: bool,
    pub(super) new_repositories: Vec<PathBuf>,
    /// Files that run later and were changed.
    pub(super) changed: Vec<PathBuf>,
    pub(super) unfinished: Vec<PathBuf>,
    /// Whether a bound kept something from being looked at.
    pub(super) is_bounded: bool,
}

impl Report {
    /// Reads the last line of JSON of what a run printed on standard error.
    pub(super) fn read(printed: &str) -> Option<Self> {
        let line = printed.lines().rev().find(|line| line.starts_with('{'))?;
        let report: Value = serde_json::from_str(line).ok()?;
        let list = |key: &str| report[key].as_array().cloned().unwrap_or_default();
        let path = |value: &Value| value.as_str().map(PathBuf::from);
        let paths = |key: &str| list(key).iter().filter_map(path).collect::<Vec<_>>();
        let refused = list(key::REFUSED);
        let refused = refused.iter().filter_map(|entry| {
            Some((path(&entry[key::PLACE])?, entry[key::PROGRAM].as_str().unwrap_or_default().to_owned()))
        });
        let notes = list(key::NOTES);
        let mut notes = notes.iter().filter_map(Value::as_str);
        Some(Self {
            refused: refused.collect(),
            more: report[key::MORE].as_u64().unwrap_or_default(),
            watched: report[key::WATCHED].as_bool().unwrap_or_default(),
            new_repositories: paths(key::NEW_REPOSITORIES),
            changed: paths(key::CHANGED),
            unfinished: paths(key::UNFINISHED),
            is_bounded: notes.any(|note| BOUNDED.iter().any(|word| note.contains(word))),
        })
    }

    /// Whether a refusal at this place is listed.
    pub(super) fn lists_refusal(&self, place: &Path) -> bool {
        self.refused.iter().any(|(known, _)| known == place)
    }

    /// Whether a place, or a directory above it, is listed as changed, new or unfinished.
    pub(super) fn lists_change(&self, place: &Path) -> bool {
        let lists = [&self.changed, &self.new_repositories, &self.unfinished];
        lists.into_iter().flatten().any(|listed| place.starts_with(listed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read() {
        let line = r#"{"tier":"full","watched":true,"refused":[{"id":"a:k1","tried":"write","place":"/w/.envrc","program":"sh"}],
            "omitted_count":2,"new_repositories":["/w/n/.git"],"changed_autorun":["/w/Makefile"],"unfinished":[],"notes":["`/w` is large: x"]}"#;
        let report = Report::read(&format!("note\n{}\n", line.replace('\n', ""))).unwrap();
        assert!(report.watched && report.is_bounded && report.more == 2);
        assert!(report.lists_refusal(Path::new("/w/.envrc")));
        assert!(
            report.lists_change(Path::new("/w/n/.git/hooks/x")) && !report.lists_change(Path::new("/w/a"))
        );
        assert!(Report::read("pinfold: no").is_none());
    }
}

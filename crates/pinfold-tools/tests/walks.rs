//! What is walked agrees with ripgrep's own walk, for trees with ignore files of every kind.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::collections::BTreeSet;
use std::path::Path;

use crate::kit::Bed;
use ignore::WalkBuilder;
use pinfold::policy::rule::Effect;
use pinfold::policy::{ExpandContext, Layer, Policy, Source, ToolScopes};
use pinfold::{Ambient, draw};
use pinfold_gate_testkit::rules::{bases, rule};
use proptest::prelude::*;
use serde_json::json;

/// The files that ripgrep would search.
fn by_ripgrep(from: &Path, root: &Path) -> BTreeSet<String> {
    let mut walk = WalkBuilder::new(from);
    walk.hidden(false).git_global(false).git_exclude(false).add_custom_ignore_filename(".rgignore");
    walk.filter_entry(|entry| entry.file_name() != ".git");
    let files =
        walk.build().map(Result::unwrap).filter(|entry| !entry.file_type().is_some_and(|kind| kind.is_dir()));
    files.map(|entry| entry.path().strip_prefix(root).unwrap().to_str().unwrap().to_owned()).collect()
}

fn by_us(bed: &Bed, path: &str) -> BTreeSet<String> {
    let text = bed.done("Glob", json!({"pattern": "**", "path": path}));
    text.lines().filter(|line| !line.starts_with('[')).map(str::to_owned).collect()
}

const FOLDERS: [&str; 5] = ["", "a", "a/b", "a/b/c", "d"];
const RULES: [&str; 10] = ["*.x", "!keep.x", "/a", "b/", "a/b/*.y", "**/c", "!*.y", "# no", "d/*", "keep.*"];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]
    #[test]
    fn what_is_ignored_agrees_with_ripgrep(
        rules in proptest::collection::vec((0..FOLDERS.len(), 0..3_usize, proptest::collection::vec(0..RULES.len(), 1..4)), 0..6),
        repositories in proptest::collection::vec(0..FOLDERS.len(), 0..3),
        from in 0..FOLDERS.len(),
    ) {
        let bed = Bed::new();
        for folder in FOLDERS {
            for name in ["f.x", "keep.x", "f.y", ".hidden"] {
                bed.put(format!("{folder}/{name}").trim_start_matches('/'), "x");
            }
        }
        for (folder, kind, lines) in rules {
            let name = [".gitignore", ".ignore", ".rgignore"][kind];
            let text = lines.iter().map(|line| RULES[*line]).collect::<Vec<_>>().join("\n");
            bed.put(format!("{}/{name}", FOLDERS[folder]).trim_start_matches('/'), text);
        }
        for folder in repositories {
            std::fs::create_dir_all(bed.root.join(FOLDERS[folder]).join(".git")).unwrap();
        }
        let from = FOLDERS[from];
        let path = if from.is_empty() { "." } else { from };
        prop_assert_eq!(by_us(&bed, path), by_ripgrep(&bed.root.join(from), &bed.root));
    }
}

#[test]
fn a_walk_passes_over_what_is_denied() {
    let bed = Bed::new();
    for path in ["a/f", "a/secret/key", "vault/key", "vault/deep/key", ".env", "a/.env"] {
        bed.put(path, "needle\n");
    }
    let found = |tool: &str, input| {
        let text = bed.done(tool, input);
        let names = text.lines().filter(|line| !line.starts_with('['));
        names.map(|line| line.split(':').next().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    let grep = || found("Grep", json!({"pattern": "needle", "output_mode": "files_with_matches"}));
    let glob = || found("Glob", json!({"pattern": "**"}));
    assert_eq!((grep().len(), glob().len()), (6, 6), "the control: all of them are found");

    let bases = bases(&bed.root);
    let denied = ["Read(.env)", "Read(/a/secret/**)"].map(|text| rule(Effect::Deny, text));
    let mut policy = Policy::folder_is_granted().with_rules(denied, &bases);
    let scopes = ToolScopes::parse(&json!({"file": {"denied_paths": ["vault"]}})).unwrap();
    let around = ExpandContext { folder: bed.root.clone(), ..ExpandContext::default() };
    policy.path_scopes = draw(&Ambient::claim(), &scopes, &Source::plain(Layer::User), &around).unwrap();
    bed.session.set_policy(policy);
    let left: BTreeSet<String> = ["a/f".to_owned()].into();
    assert_eq!((grep(), glob()), (left.clone(), left));
}

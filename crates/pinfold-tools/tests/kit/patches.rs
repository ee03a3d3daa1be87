//! What holds for every text that is given as a patch.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pinfold_tools::CallEnding;
use serde_json::json;

use crate::kit::Bed;

/// Gives `text` as a patch to a small folder. Whatever it says: no panic, nothing outside changes, and a patch that is
/// not applied leaves everything as it was.
pub(crate) fn applied_whole_or_not_at_all(text: &str) {
    let bed = Bed::new();
    let top = bed.root.parent().unwrap().to_owned();
    std::fs::create_dir(top.join("outside")).unwrap();
    std::fs::write(top.join("outside/f"), "outside\n").unwrap();
    std::os::unix::fs::symlink("../outside", bed.root.join("out")).unwrap();
    bed.put("a", "1\n2\n3\n");
    bed.put("b", "one\r\ntwo");
    bed.put("d/c", "");
    let (before, outside) = (contents(&bed.root), contents(&top.join("outside")));
    let reply = bed.call("ApplyPatch", json!({"patch": text}));
    assert_eq!(contents(&top.join("outside")), outside, "{text:?}");
    assert!(!top.join("escaped").exists(), "{text:?}");
    if reply.ended != CallEnding::Done && !reply.text().contains("made before and stay") {
        assert_eq!(contents(&bed.root), before, "{text:?}: {}", reply.text());
    }
}

fn contents(top: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(top).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(contents(&entry.path()));
        } else {
            found.insert(entry.path(), std::fs::read(entry.path()).unwrap_or_default());
        }
    }
    found
}

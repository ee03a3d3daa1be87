//! The public surface of the crate, listed: a name that comes or goes is seen in `exports.txt`.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The source of a public module, and where the files of its children are.
fn source(folder: &Path, module: &str) -> (String, PathBuf) {
    let below = folder.join(module);
    let file =
        [below.join("mod.rs"), folder.join(format!("{module}.rs"))].into_iter().find(|file| file.is_file());
    let text = fs::read_to_string(file.unwrap_or_else(|| panic!("no file of the module {module}"))).unwrap();
    (text, below)
}

/// Splits the tree of a `use` into its paths.
fn paths(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((before, rest)) = tree.split_once('{') else { return vec![tree.to_owned()] };
    let inner = rest.strip_suffix('}').unwrap_or(rest);
    let (mut all, mut depth, mut from) = (Vec::new(), 0_i32, 0);
    for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let piece = inner[from..at].trim();
                if !piece.is_empty() {
                    all.extend(paths(piece).into_iter().map(|path| format!("{before}{path}")));
                }
                from = at + 1;
            }
            _ => {}
        }
    }
    all
}

/// Lists what a module exports, by its own items and by `pub use`.
fn list(text: &str, below: &Path, name: &str, found: &mut BTreeSet<String>) {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).fold(
        String::new(),
        |mut code, line| {
            let _ = writeln!(code, "{line}");
            code
        },
    );
    for (at, _) in code.match_indices("pub use ").filter(|(at, _)| *at == 0 || code[..*at].ends_with('\n')) {
        let tree = code[at + "pub use ".len()..].split(';').next().unwrap();
        for path in paths(&tree.split_whitespace().collect::<Vec<_>>().join(" ")) {
            let last = path.rsplit([':', ' ']).next().unwrap();
            let is_whole = !path.contains("::");
            found.insert(format!("{name}::{last}{}", if is_whole { " (a whole crate)" } else { "" }));
        }
    }
    for line in code.lines() {
        let Some(item) = line.strip_prefix("pub ") else { continue };
        let item = item.trim_start_matches("const fn").trim_start_matches("unsafe ");
        let mut words =
            item.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
        match (words.next(), words.next()) {
            (Some("mod"), Some(module)) => {
                let (text, deeper) = source(below, module);
                list(&text, &deeper, &format!("{name}::{module}"), found);
            }
            (Some("struct" | "enum" | "trait" | "fn" | "type" | "const" | "static"), Some(item)) => {
                found.insert(format!("{name}::{item}"));
            }
            _ => {}
        }
    }
}

#[test]
fn the_public_names_are_those_that_are_listed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeSet::new();
    list(&fs::read_to_string(root.join("src/lib.rs")).unwrap(), &root.join("src"), "pinfold", &mut found);
    let tools = root.join("../pinfold-tools");
    let text = fs::read_to_string(tools.join("src/lib.rs")).unwrap();
    list(&text, &tools.join("src"), "pinfold_tools", &mut found);
    let found = found.into_iter().collect::<Vec<_>>().join("\n") + "\n";
    let file = root.join("exports.txt");
    if std::env::var_os("PINFOLD_BLESS").is_some() {
        fs::write(&file, &found).unwrap();
    }
    let listed = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(found, listed, "run with PINFOLD_BLESS=1, and look at what changes: every name is a promise");
}

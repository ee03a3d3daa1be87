//! What the pages say and the tree shows are the same: links resolve, named tests exist, tables agree with the code.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops where it fails"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use pinfold::policy::{Guards, KernelProtection, ToolName};
use pinfold_sandbox::{Strength, Tier};
use pinfold_tests::missing::left_out;
use pinfold_tests::product::is_built;

/// The top of the repository.
fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests lie in the repository").to_owned()
}

fn read(below: &str) -> String {
    fs::read_to_string(top().join(below)).unwrap_or_else(|e| panic!("{below}: {e}"))
}

/// Every page of ours.
fn pages() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![top().join("docs")];
    let markdown = |path: &PathBuf| path.extension().is_some_and(|e| e == "md");
    let entries =
        |folder: &Path| fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path());
    found.extend(entries(&top()).filter(markdown));
    while let Some(folder) = folders.pop() {
        for path in entries(&folder) {
            if path.is_dir() {
                folders.push(path);
            } else if markdown(&path) {
                found.push(path);
            }
        }
    }
    assert!(found.len() > 10, "the pages are there: {found:?}");
    found
}

/// The text without blocks of code.
fn prose(text: &str) -> String {
    let mut code = false;
    let lines = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The targets of `[words](target)`.
fn links(text: &str) -> Vec<String> {
    let text = prose(text);
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target.to_owned()).collect()
}

/// What a heading is called in a link: lower case, spaces as dashes, no marks.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text);
    let headings = headings.lines().filter(|line| line.starts_with('#'));
    let slug = |line: &str| -> String {
        let words = line.trim_start_matches('#').trim().to_lowercase();
        let kept = words.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(slug).collect()
}

/// What stands between backticks.
fn quoted(text: &str) -> BTreeSet<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_relative_link_resolves() {
    let mut broken = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page");
        for link in
            links(&text).into_iter().filter(|link| !link.contains("://") && !link.starts_with("mailto:"))
        {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() { page.clone() } else { page.with_file_name("").join(file) };
            let there = target.exists()
                && (anchor.is_empty()
                    || fs::read_to_string(&target).is_ok_and(|text| anchors(&text).contains(anchor)));
            if !there {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// A test is named as `path/of/file.rs::name_of_the_test`, a probe as `probes/name`, a case as `cases/id`.
#[test]
fn every_test_that_is_named_exists() {
    let cases = read("tests/corpus/paths/cases.jsonl");
    let mut missing = Vec::new();
    let mut named = 0;
    for page in pages() {
        for name in quoted(&prose(&fs::read_to_string(&page).expect("a page"))) {
            let there = if name == "path/of/file.rs::name" {
                continue;
            } else if let Some((file, test)) = name.split_once(".rs::") {
                let text = fs::read_to_string(top().join(format!("{file}.rs"))).unwrap_or_default();
                text.contains(&format!("fn {test}("))
            } else if let Some(probe) = name.strip_prefix("probes/") {
                probe == "NAME" || is_probe(probe)
            } else if let Some(case) = name.strip_prefix("cases/") {
                case == "ID"
                    || cases.contains(&format!("\"id\": \"{case}\""))
                    || cases.contains(&format!("\"id\":\"{case}\""))
            } else {
                continue;
            };
            named += 1;
            if !there {
                missing.push(format!("{}: {name}", page.display()));
            }
        }
    }
    assert!(named > 20, "the pages name tests");
    assert!(missing.is_empty(), "{missing:#?}");
}

/// A file of Rust is named as in `judge.rs`, or with directories before it, as many as tell it from others.
#[test]
fn every_file_of_rust_that_is_named_exists() {
    let mut files = Vec::new();
    let mut folders =
        ["crates", "tests", "fuzz", "clients", "examples"].map(|name| top().join(name)).to_vec();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().map(|e| e.expect("an entry")) {
            let path = entry.path();
            match entry.file_type().expect("a type") {
                kind if kind.is_dir() && !path.ends_with("target") => folders.push(path),
                kind if kind.is_file() => files.push(path),
                _ => {}
            }
        }
    }
    let is_rust = |name: &String| Path::new(name).extension().is_some_and(|extension| extension == "rs");
    let is_name = |name: &String| !name.contains([' ', ':', '*']) && is_rust(name);
    let mut named = 0;
    let mut missing = Vec::new();
    for page in pages().into_iter().filter(|page| !page.ends_with("CHANGELOG.md") && !is_decision(page)) {
        for name in quoted(&prose(&fs::read_to_string(&page).expect("a page"))).into_iter().filter(is_name) {
            named += 1;
            if !files.iter().any(|file| file.ends_with(&name)) {
                missing.push(format!("{}: {name}", page.display()));
            }
        }
    }
    assert!(named > 60, "the pages name files: {named}");
    assert!(missing.is_empty(), "{missing:#?}");
}

/// Types are named as in `CamelCase` on the pages about the code.
#[test]
fn every_type_that_is_named_exists() {
    let code = code();
    let words: Vec<&str> =
        code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect();
    let keywords = ["struct", "enum", "trait", "type"];
    let defined: BTreeSet<&str> =
        words.windows(2).filter(|pair| keywords.contains(&pair[0])).map(|pair| pair[1]).collect();
    let is_type = |name: &String| {
        name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.chars().all(char::is_alphanumeric)
            && name.contains(char::is_lowercase)
    };
    let mut named = 0;
    let mut missing = Vec::new();
    for page in ["ARCHITECTURE.md", "docs/dev/crates.md", "docs/dev/where.md"] {
        // Tools that a model calls are no types.
        for name in quoted(&prose(&read(page))).into_iter().filter(is_type) {
            named += 1;
            if !defined.contains(name.as_str()) && ToolName::parse(&name).is_none() && name != "Host" {
                missing.push(format!("{page}: {name}"));
            }
        }
    }
    assert!(named > 50, "the pages name types: {named}");
    assert!(missing.is_empty(), "{missing:#?}");
}

/// A decision is of its time, and so are the names in it.
fn is_decision(page: &Path) -> bool {
    page.parent().is_some_and(|folder| folder.ends_with("decisions"))
}

/// Cargo does not look for tests by itself where a crate has one program of them (`autotests = false`): a file that is no
/// module there, and no program of its own, would never be run.
#[test]
fn every_file_of_tests_is_run() {
    let crates = fs::read_dir(top().join("crates")).expect("crates").map(|e| e.expect("an entry").path());
    let mut seen = 0;
    let mut lost = Vec::new();
    for package in crates.chain([top().join("tests")]) {
        let manifest = fs::read_to_string(package.join("Cargo.toml")).expect("a manifest");
        let Ok(mut program) = fs::read_to_string(package.join("tests/it.rs")) else { continue };
        // The program of pages has a module of its own.
        program.push_str(&fs::read_to_string(package.join("tests/docs.rs")).unwrap_or_default());
        for entry in fs::read_dir(package.join("tests")).expect("tests").map(|e| e.expect("an entry").path())
        {
            let name = entry.file_stem().expect("a name").to_string_lossy().into_owned();
            let is_program = manifest.contains(&format!("[[test]]\nname = \"{name}\""));
            let is_module = program.lines().any(|line| line == format!("mod {name};"));
            if entry.extension().is_some_and(|e| e == "rs") && !is_program && !is_module {
                lost.push(entry);
            }
            seen += usize::from(is_module);
        }
    }
    assert!(seen > 80, "the files of tests are there: {seen}");
    assert!(lost.is_empty(), "in no program of tests: {lost:#?}");
}

/// Whether a probe of that name, or one that begins with it, lies in the corpus or among our own.
fn is_probe(name: &str) -> bool {
    ["tests/corpus/kernel-escapes/probes", "tests/probes"].iter().any(|folder| {
        let entries = fs::read_dir(top().join(folder)).into_iter().flatten().flatten();
        entries.map(|e| e.file_name()).any(|n| n.to_string_lossy().starts_with(name))
    })
}

/// The rows are numbered, without a gap, and each has an answer.
#[test]
fn every_known_attack_has_an_answer() {
    const KNOWN: usize = 136;
    let page = read("docs/known-attacks.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    let rows: Vec<(usize, &str)> = rows.filter_map(|(n, rest)| Some((n.parse().ok()?, rest))).collect();
    let numbers: Vec<usize> = rows.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (1..=KNOWN).collect::<Vec<_>>());
    for (number, rest) in rows {
        let answer = rest.trim_end_matches('|').rsplit(" | ").next().unwrap_or("").trim();
        assert!(answer.len() > 3 && answer.ends_with('.'), "{number}: {answer:?}");
    }
}

#[test]
fn the_refusal_codes_are_those_of_the_code() {
    let code = read("crates/pinfold/src/refusal/code.rs");
    let (_, code) = code.split_once("pub enum RefusalCode {").expect("the codes");
    let (code, _) = code.split_once('}').expect("the end of the codes");
    let variants: BTreeSet<String> = code
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .map(|line| line.trim_end_matches(',').to_owned())
        .collect();
    let page = read("docs/refusals.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let told: BTreeSet<String> =
        rows.map(|(name, _)| name.to_owned()).filter(|n| n.starts_with(char::is_uppercase)).collect();
    assert_eq!(told, variants);
}

#[test]
fn the_exit_codes_are_those_of_the_code() {
    let code = read("crates/pinfold-cli/src/exit.rs");
    let page = read("docs/exit-codes.md");
    let numbers = code.lines().filter_map(|line| line.trim_end_matches(';').split_once(": u8 = "));
    let mut count = 0;
    for (name, number) in numbers {
        assert!(page.lines().any(|line| line.starts_with(&format!("| {number} |"))), "{name} = {number}");
        count += 1;
    }
    assert!(count >= 5, "the codes were found");
}

#[test]
fn every_tool_and_every_argument_is_told() {
    let page = read("docs/tools.md");
    let (_, page) = page.split_once("## Each tool").expect("the tools");
    for tool in pinfold_tools::tools() {
        let (_, part) = page
            .split_once(&format!("### {}\n", tool.name))
            .unwrap_or_else(|| panic!("{} is not told", tool.name));
        let part = part.split("\n### ").next().unwrap_or(part);
        let told = quoted(part);
        for name in tool.input_schema["properties"].as_object().expect("arguments").keys() {
            assert!(told.contains(name), "{}: `{name}` is not told", tool.name);
        }
    }
    let others: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("Also called ")).collect();
    for name in others.iter().flat_map(|line| quoted(line)) {
        assert!(ToolName::parse(&name).is_some(), "`{name}` is told, and is no name of a tool");
    }
    assert!(others.len() > 5, "the other names are told");
    let told = page.matches("\n### ").count();
    assert_eq!(told, ToolName::ALL.len(), "no tool is told that does not exist");
}

#[test]
fn every_cache_is_told() {
    let code = read("crates/pinfold-boundary/src/caches.rs");
    let (_, code) = code.split_once("const PROFILES").expect("the profiles");
    let (code, _) = code.split_once("];").expect("the end of the profiles");
    let page = read("docs/caches-and-environment.md");
    let told = quoted(&prose(&page));
    let words = code.split('"').skip(1).step_by(2);
    for word in words {
        let home = format!("~/{word}");
        assert!(told.contains(word) || told.contains(&home), "`{word}` is not told");
    }
}

#[test]
fn every_decision_is_listed() {
    let listed: BTreeSet<String> = links(&read("docs/decisions/README.md")).into_iter().collect();
    let pages = fs::read_dir(top().join("docs/decisions")).expect("decisions").map(|e| e.expect("an entry"));
    for page in pages.map(|page| page.file_name().to_string_lossy().into_owned()) {
        assert!(page == "README.md" || listed.contains(&page), "{page} is not listed");
    }
}

/// What the weaker tier cannot hold is told to everybody in the same words.
#[test]
fn every_gap_of_the_weaker_tier_is_told() {
    let page = read("docs/threat-model.md");
    let page: Vec<&str> = page.split_whitespace().collect();
    let page = page.join(" ");
    for gap in (Strength { tier: Tier::Landlock, mediated: false }).gaps() {
        assert!(page.contains(gap), "not told: {gap}");
    }
}

#[test]
fn every_name_that_is_held_even_when_missing_is_told() {
    let page = read("docs/threat-model.md");
    let (_, row) = page.split_once("| even missing |").expect("the row");
    let row = row.lines().next().unwrap_or(row);
    let told = quoted(row);
    let guards = Guards::default();
    let held =
        guards.write_list().iter().filter(|guard| guard.kernel_protection() == KernelProtection::EvenMissing);
    let names: BTreeSet<String> =
        held.map(|guard| guard.pattern().trim_start_matches("**/").to_owned()).collect();
    assert_eq!(told, names);
}

/// The attacks on hosts that are tried, with what the record says about each.
#[test]
fn every_attack_on_hosts_is_told() {
    let row = |section: &str| {
        let (name, rest) = section.split_once('\n').expect("a name");
        let named: Vec<String> = rest
            .lines()
            .filter_map(|line| line.strip_prefix("named: "))
            .map(|named| named.replace("\",\"place\":\"", " ").replace('`', ""))
            .collect();
        let said = if named.is_empty() { "–".to_owned() } else { format!("`{}`", named.join("`, `")) };
        format!("| `{name}` | {said} |")
    };
    let data = ["attacks.txt", "attacks-proxied.txt"].map(|file| read(&format!("tests/network/{file}")));
    let tried: Vec<String> = data.iter().flat_map(|text| text.split("\n=== ").skip(1).map(row)).collect();
    let page = read("docs/network.md");
    let (_, table) = page.split_once("| attack | the record says |").expect("the table");
    let told: Vec<&str> = table.lines().skip(2).take_while(|line| line.starts_with("| ")).collect();
    assert_eq!(told.join("\n"), tried.join("\n"));
}

/// Rust files of our crates, as one text without line breaks in strings.
fn code() -> String {
    let mut code = String::new();
    let mut folders = vec![top().join("crates")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(&folder).expect("a folder").map(|e| e.expect("an entry").path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                code.push_str(&fs::read_to_string(&path).expect("a file"));
            }
        }
    }
    let mut joined = code.split("\\\n").map(str::trim_start);
    let first = joined.next().unwrap_or_default().to_owned();
    joined.fold(first, |code, rest| code + rest)
}

/// A message of ours stands in the code, as far as it is not filled in: names in capitals, `…`, what stands between backticks
/// or behind a colon.
#[test]
fn every_message_that_is_explained_exists() {
    let page = read("docs/messages.md");
    let (_, ours) = page.split_once("## When a run does not start").expect("messages of ours");
    let code = code();
    let mut seen = 0;
    let mut missing = Vec::new();
    for row in ours.lines().filter_map(|line| line.strip_prefix("| `")) {
        let message = row.split(" | ").next().unwrap_or_default();
        let pieces = message.split(['`', '…', ':']).map(str::trim);
        for piece in pieces.filter(|piece| piece.contains(' ') && *piece != "No such file or directory") {
            seen += 1;
            if !code.contains(piece) {
                missing.push(piece.to_owned());
            }
        }
    }
    assert!(seen > 10, "the page explains messages: {seen}");
    assert!(missing.is_empty(), "in no string of the code: {missing:#?}");
}

/// Which crates of ours a crate imports, by its manifest.
fn imports(manifest: &str) -> BTreeSet<String> {
    // A crate may stand alone.
    let Some((_, rest)) = manifest.split_once("[dependencies]") else { return BTreeSet::new() };
    let part = rest.split("\n[").next().unwrap_or(rest);
    let names = part.lines().filter_map(|line| line.split(['.', ' ', '=']).next());
    names
        .filter(|name| name.starts_with("pinfold"))
        .map(|name| name.trim_start_matches("pinfold-").to_owned())
        .collect()
}

#[test]
fn the_page_about_the_record_names_every_field() {
    let schema: serde_json::Value =
        serde_json::from_str(&read("docs/record.schema.json")).expect("the schema is JSON");
    let page = read("docs/audit-log.md");
    let mut objects = vec![&schema];
    let mut seen = 0;
    while let Some(object) = objects.pop() {
        for name in object["properties"].as_object().into_iter().flat_map(serde_json::Map::keys) {
            assert!(page.contains(&format!("`{name}`")), "{name}");
            seen += 1;
        }
        objects.extend(object["$defs"].as_object().into_iter().flat_map(serde_json::Map::values));
    }
    assert!(seen > 60, "the schema has fields: {seen}");
}

#[test]
fn the_arrows_between_crates_are_those_of_the_manifests() {
    let page = read("ARCHITECTURE.md");
    let (_, table) = page.split_once("| crate | imports of ours |").expect("the table of arrows");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with("| "));
    let mut seen = 0;
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let name = cells[1].split(' ').next().unwrap_or("");
        let folder = if name == "pinfold" { name.to_owned() } else { format!("pinfold-{name}") };
        let told: BTreeSet<String> = cells[2].split(", ").filter(|n| *n != "–").map(str::to_owned).collect();
        assert_eq!(told, imports(&read(&format!("crates/{folder}/Cargo.toml"))), "{name}");
        seen += 1;
    }
    let crates = fs::read_dir(top().join("crates")).expect("crates").count();
    assert_eq!(seen, crates, "each crate has its row");
}

/// `cargo run` stops where it has two programs to choose from, and with it the first command of the README.
#[test]
fn the_first_command_of_the_readme_has_one_program_to_run() {
    if is_built() {
        return left_out("the programs of the workspace", "cargo is not to be called");
    }
    let mut metadata = std::process::Command::new(env!("CARGO"));
    metadata.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]).current_dir(top());
    let output = metadata.output().expect("cargo is there, it runs this test");
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let list = |of: &serde_json::Value, name: &str| of[name].as_array().cloned().unwrap_or_default();
    let default = list(&said, "workspace_default_members");
    let packages = list(&said, "packages").into_iter().filter(|package| default.contains(&package["id"]));
    let programs: Vec<_> = packages
        .flat_map(|package| list(&package, "targets"))
        .filter(|target| list(target, "kind").contains(&"bin".into()))
        .map(|target| target["name"].clone())
        .collect();
    assert_eq!(programs, ["pinfold"]);
}

/// The build of an example's binary takes longer than the example: a crate without one says that there is none.
#[test]
fn crates_without_an_example_have_no_documentation_tests() {
    for folder in
        fs::read_dir(top().join("crates")).expect("crates").map(|entry| entry.expect("an entry").path())
    {
        if !folder.join("src/lib.rs").exists() {
            continue;
        }
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        let switched_off = manifest.lines().any(|line| line == "doctest = false");
        assert_eq!(
            switched_off,
            !has_example(&folder.join("src")),
            "{}: `doctest = false` in `[lib]`",
            folder.display()
        );
    }
}

/// Returns whether a doc comment below here has a block of code.
fn has_example(folder: &Path) -> bool {
    fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).any(|path| {
        if path.is_dir() {
            return has_example(&path);
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        let mut comments = text
            .lines()
            .map(str::trim_start)
            .filter(|line| line.starts_with("//!") || line.starts_with("///"));
        comments.any(|line| line[3..].trim_start().starts_with("```"))
    })
}

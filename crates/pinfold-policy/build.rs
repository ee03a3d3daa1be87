//! Compiles `src/guard/write.txt` and `read.txt`, the guarded places, into `guards.rs`. The format stands at their beginning.

#![allow(clippy::expect_used, clippy::print_stderr, reason = "what cannot be built ends the build")]

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, process};

/// The kinds of guarded places, by the word for each and the variant of `GuardKind`.
const KINDS: &[(&str, &str)] = &[
    ("git", "Git"),
    ("policy", "Policy"),
    ("autorun", "Autorun"),
    ("shell-startup", "ShellStartup"),
    ("secret", "Secret"),
    ("credential", "Credential"),
    ("persistence", "Persistence"),
    ("build", "Build"),
];

/// Extents to which the kernel holds a place, by the word for each and the variant of `KernelProtection`.
const HOLDS: &[(&str, &str)] =
    &[("asked", "Asked"), ("when-present", "WhenPresent"), ("even-missing", "EvenMissing")];

/// Patterns that share a reason.
struct Group<'t> {
    kind: &'static str,
    hold: &'static str,
    why: &'t str,
    markers: Vec<&'t str>,
    patterns: Vec<&'t str>,
    has_startup_files: bool,
}

fn main() {
    let mut source = String::new();
    for (file, name, purpose) in
        [("write", "WRITE", "Guarded for writing."), ("read", "READ", "Guarded for reading.")]
    {
        let path = format!("src/guard/{file}.txt");
        println!("cargo:rerun-if-changed={path}");
        let text = fs::read_to_string(&path).expect("the table can be read");
        let groups = parse(&text).unwrap_or_else(|(line, error)| {
            eprintln!("{path}:{line}: {error}");
            process::exit(1);
        });
        let groups: String = groups.iter().map(emit).collect();
        let _ = write!(source, "/// {purpose}\npub(super) const {name}: &[Group] = &[\n{groups}];\n");
    }
    println!("cargo:rerun-if-changed=build.rs");
    let to = env::var("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&to).join("guards.rs"), source).expect("the source can be written");
}

/// Reads the groups of a table.
///
/// # Errors
/// The number of the line that is not understood, and why.
fn parse(text: &str) -> Result<Vec<Group<'_>>, (usize, &'static str)> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let at = |error: &'static str| (index + 1, error);
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        match line.strip_prefix("    ") {
            None => groups.push(group(line).map_err(at)?),
            Some(entry) => {
                let group = groups.last_mut().ok_or("a pattern without a group above").map_err(at)?;
                group.add(entry).map_err(at)?;
            }
        }
    }
    match groups.iter().find(|group| group.patterns.is_empty() != group.has_startup_files) {
        Some(_) => Err((text.lines().count(), "a group has either patterns or `@startup-files`")),
        None => Ok(groups),
    }
}

/// Reads `KIND, HOLD: WHY`.
fn group(line: &str) -> Result<Group<'_>, &'static str> {
    let (head, why) = line.split_once(": ").ok_or("not `KIND, HOLD: REASON`")?;
    let (kind, hold) = head.split_once(", ").ok_or("not `KIND, HOLD: REASON`")?;
    let kind = look_up(KINDS, kind).ok_or("no such kind of guarded place")?;
    let hold = look_up(HOLDS, hold).ok_or("neither asked, when-present nor even-missing")?;
    Ok(Group { kind, hold, why, markers: Vec::new(), patterns: Vec::new(), has_startup_files: false })
}

fn look_up(words: &[(&str, &'static str)], word: &str) -> Option<&'static str> {
    words.iter().find(|(own, _)| *own == word).map(|(_, variant)| *variant)
}

impl<'t> Group<'t> {
    fn add(&mut self, entry: &'t str) -> Result<(), &'static str> {
        if let Some(texts) = entry.strip_prefix("only with ") {
            self.markers = texts.split('"').skip(1).step_by(2).collect();
            let lower = self.markers.iter().all(|text| !text.is_empty() && *text == text.to_lowercase());
            return (lower && !self.markers.is_empty())
                .then_some(())
                .ok_or("not texts in lower case, each in quotes");
        }
        if entry == "@startup-files" {
            self.has_startup_files = true;
            return Ok(());
        }
        if !entry.starts_with(['*', '~', '/']) || entry.trim() != entry || entry.contains(['"', '\\']) {
            return Err("not a pattern: it begins with `**/`, `~/` or `/`");
        }
        self.patterns.push(entry);
        Ok(())
    }
}

fn emit(group: &Group<'_>) -> String {
    let Group { kind, hold, why, markers, patterns, has_startup_files } = group;
    let patterns = match has_startup_files {
        true => "Patterns::StartupFiles".to_owned(),
        false => format!("Patterns::Listed(&{patterns:?})"),
    };
    format!(
        "Group {{ kind: GuardKind::{kind}, kernel_protection: KernelProtection::{hold}, why: {why:?}, patterns: {patterns}, \
         markers: &{markers:?} }},\n"
    )
}

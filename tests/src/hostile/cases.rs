//! Cases: programs that once violated something, as text files in `tests/hostile/cases`.

use std::fs;
use std::path::Path;

use super::program::Program;
use crate::Tier;

/// One case.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name of its file.
    pub name: String,
    /// What it violates when nothing holds it: the control. `None` where nothing shows without a run.
    pub free: Option<String>,
    /// Tiers on which it is tried.
    pub tiers: Vec<Tier>,
    /// The program.
    pub program: Program,
}

/// All cases, by name.
///
/// # Panics
/// When one cannot be read.
pub fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("hostile/cases");
    let mut files: Vec<_> =
        fs::read_dir(folder).expect("cases").map(|e| e.expect("an entry").path()).collect();
    files.sort();
    files.iter().map(|file| read(file)).collect()
}

/// Reads a case, or a program that a failure printed.
///
/// # Panics
/// When it cannot be read.
pub fn read(file: &Path) -> Case {
    let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let key = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let tiers = key("tiers").map_or(Tier::ALL.to_vec(), |names| {
        Tier::ALL.into_iter().filter(|tier| names.split(' ').any(|name| name == tier.to_string())).collect()
    });
    let of_case = |line: &&str| !["free: ", "tiers: "].iter().any(|key| line.starts_with(key));
    let program: String = text.lines().filter(of_case).flat_map(|line| [line, "\n"]).collect();
    Case {
        name: file.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        free: key("free").filter(|kind| *kind != "nothing").map(str::to_owned),
        tiers,
        program: program.parse().unwrap_or_else(|wrong| panic!("{}: {wrong}", file.display())),
    }
}

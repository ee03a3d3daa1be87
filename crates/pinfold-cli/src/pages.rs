//! Pages of `docs/` that are written from the code, or compared with it. `PINFOLD_BLESS=1` writes afresh what stands behind the
//! mark of a page.

mod command_line;
mod settings;

use std::path::{Path, PathBuf};

const MARK: &str = "<!-- from the code -->\n";

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// Compares what stands behind the mark of a page with what the code says.
fn check_page(name: &str, made: &str) {
    let page = docs().join(name);
    let there = std::fs::read_to_string(&page).expect("the page is there");
    let (front, behind) = there.split_once(MARK).expect("the page has a mark");
    let made = format!("\n{}\n", made.trim());
    if std::env::var_os("PINFOLD_BLESS").is_some() {
        std::fs::write(&page, format!("{front}{MARK}{made}")).expect("the page can be written");
    } else {
        let differs = behind.lines().zip(made.lines()).find(|(there, made)| there != made);
        assert!(behind == made, "{name}: run with PINFOLD_BLESS=1; the first line that differs: {differs:?}");
    }
}

/// Pages for users; a decision and the changelog are of their time.
fn user_pages() -> Vec<PathBuf> {
    let top = docs().join("..");
    let folders =
        [top.clone(), top.join("docs"), top.join("docs/guides"), top.join("docs/dev"), top.join("clients")];
    let entries =
        folders.into_iter().flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten());
    let files = entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "md"));
    files.filter(|path| !path.ends_with("CHANGELOG.md")).collect()
}

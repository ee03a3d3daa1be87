//! Pages of `docs/` whose end is written from the code. `PINFOLD_BLESS=1` writes it afresh.

const MARK: &str = "<!-- from the code -->\n";

/// Compares what stands behind the mark of a page with what the code says.
pub(crate) fn check(page: &str, described: &str) {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let there = std::fs::read_to_string(&file).expect("the page is there");
    let (front, behind) = there.split_once(MARK).expect("the page has a mark");
    if std::env::var_os("PINFOLD_BLESS").is_some() {
        std::fs::write(&file, format!("{front}{MARK}\n{described}")).expect("the page can be written");
    } else {
        let differs = behind.trim_start().lines().zip(described.lines()).find(|(there, said)| there != said);
        let same = behind.trim_start() == described;
        assert!(
            same,
            "{}: run with PINFOLD_BLESS=1; the first line that differs: {differs:?}",
            file.display()
        );
    }
}

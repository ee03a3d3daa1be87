//! The published schemas are the ones the tools are offered with. `PINFOLD_BLESS=1` writes them afresh.

use std::path::Path;

use pinfold_tools::tools;

#[test]
fn the_published_schemas_are_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/tools");
    let bless = std::env::var_os("PINFOLD_BLESS").is_some();
    if bless {
        std::fs::create_dir_all(&folder).unwrap();
    }
    for tool in tools() {
        let file = folder.join(format!("{}.json", tool.name));
        let text = serde_json::to_string_pretty(&tool).unwrap() + "\n";
        if bless {
            std::fs::write(&file, text).unwrap();
        } else {
            let published = std::fs::read_to_string(&file).unwrap_or_default();
            assert_eq!(published, text, "{}: run with PINFOLD_BLESS=1", file.display());
        }
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), tools().len(), "a schema without a tool");
}

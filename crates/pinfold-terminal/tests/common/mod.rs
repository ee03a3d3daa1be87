//! Screens as text: played by keys, compared with files.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::Path;

use pinfold_terminal::{Buffer, Key, KeyCode, TerminalSize};
use serde_json::Value;

/// A usual screen and the smallest.
const SIZES: [TerminalSize; 2] =
    [TerminalSize { rows: 24, columns: 80 }, TerminalSize { rows: 10, columns: 40 }];

/// Plays every case of a folder, `*.json`, and compares the screens with the files beside it. `PINFOLD_BLESS=1` writes
/// them anew.
pub(crate) fn assert_golden(folder: &Path, play: impl Fn(&Value, TerminalSize) -> String) {
    let bless = std::env::var_os("PINFOLD_BLESS").is_some();
    let mut cases = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.extension().is_none_or(|extension| extension != "json") || name == "base" {
            continue;
        }
        cases += 1;
        let case = read(&path);
        for size in SIZES {
            let screens = play(&case, size);
            let at = folder.join(format!("{name}.{}x{}.txt", size.columns, size.rows));
            if bless {
                fs::write(&at, screens).unwrap();
                continue;
            }
            let expected = fs::read_to_string(&at).unwrap_or_default();
            assert!(screens == expected, "{}:\n{screens}", at.display());
        }
    }
    assert!(cases > 0);
}

/// Every screen on a page of `docs/` is one of these.
pub(crate) fn assert_documented(page: &str, folder: &Path) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let page = fs::read_to_string(page).unwrap();
    let shown: Vec<&str> =
        page.split("```text\n").skip(1).map(|rest| rest.split("\n```").next().unwrap()).collect();
    let all: String = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    assert!(!shown.is_empty());
    for screen in shown {
        assert!(all.contains(screen), "no test shows this:\n{screen}");
    }
}

/// A file of JSON.
pub(crate) fn read(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The characters of a picture.
pub(crate) fn text_of(picture: &Buffer) -> String {
    let area = picture.area();
    let line = |y| {
        let cells = (0..area.width).map(|x| picture.cell((x, y)).unwrap().symbol()).collect::<String>();
        format!("{}\n", cells.trim_end())
    };
    (0..area.height).map(line).collect()
}

/// Keys by name.
pub(crate) fn keys(name: &str) -> Vec<Key> {
    if let Some(text) = name.strip_prefix("type:") {
        return text.chars().map(|c| Key::plain(KeyCode::Char(c))).collect();
    }
    let code = match name {
        "enter" => KeyCode::Enter,
        "esc" => KeyCode::Escape,
        "tab" => KeyCode::Tab,
        "back" => KeyCode::Backspace,
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "left" => KeyCode::Left,
        "right" => KeyCode::Right,
        "home" => KeyCode::Home,
        "end" => KeyCode::End,
        "space" => KeyCode::Char(' '),
        "page-down" => KeyCode::PageDown,
        "page-up" => KeyCode::PageUp,
        "backtab" => return vec![Key { shift: true, ..Key::plain(KeyCode::Tab) }],
        "ctrl-c" => return vec![Key::ctrl('c')],
        other => KeyCode::Char(other.parse().unwrap_or_else(|_| panic!("`{other}` is no key"))),
    };
    vec![Key::plain(code)]
}

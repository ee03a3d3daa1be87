//! What the screen of permissions looks like after each key: `tests/permissions/*.json` beside the screens.
//! `PINFOLD_BLESS=1` writes them anew.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common;
use std::fmt::Write as _;
use std::path::Path;

use crate::common::{assert_golden, keys, text_of};
use pinfold_terminal::permissions::{PermissionItem, Screen, ScreenAction};
use pinfold_terminal::{Key, KeyCode, TerminalSize};
use serde_json::Value;

/// The sections and words that cases use.
const KNOWN: [&str; 9] = [
    "rules",
    "grants of running sessions",
    "trusted folders",
    "what does not count",
    "allow",
    "deny",
    "ask",
    "grant",
    "folder",
];

fn known(value: &Value) -> &'static str {
    let word = value.as_str().unwrap();
    KNOWN.into_iter().find(|known| *known == word).unwrap_or_else(|| panic!("`{word}` is not known"))
}

fn items(case: &Value) -> Vec<PermissionItem> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let item = |(number, item): (usize, &Value)| PermissionItem {
        number,
        section: known(&item["section"]),
        word: known(&item["word"]),
        text: text(&item["text"]).unwrap(),
        from: text(&item["from"]).unwrap_or_default(),
        notes: item["notes"].as_array().into_iter().flatten().filter_map(text).collect(),
        removal: text(&item["removal"]),
    };
    case["items"].as_array().unwrap().iter().enumerate().map(item).collect()
}

/// As a holder does it that agrees with everything.
fn fulfil(screen: &mut Screen, items: &mut Vec<PermissionItem>, wish: ScreenAction) {
    match wish {
        ScreenAction::Remove(item) => {
            items.retain(|other| other.number != item.number);
            screen.set_items(items.clone());
            screen.set_notice(&format!("removed {} {}", item.word, item.text));
        }
        ScreenAction::Test(call) if call.starts_with("nothing") => {
            screen.set_notice("there is no tool `nothing`");
        }
        ScreenAction::Test(call) => {
            screen.answer(vec![
                ("call", call),
                ("asks", "step ask-rule".into()),
                ("rule", "Bash(git *)".into()),
            ]);
        }
        ScreenAction::Refresh => screen.set_items(items.clone()),
        ScreenAction::Quit => {}
    }
}

fn play(case: &Value, size: TerminalSize) -> String {
    let mut items = items(case);
    let mut screen = Screen::new("/home/u/project", items.clone());
    let mut all = text_of(&screen.view(size));
    for step in case["steps"].as_array().into_iter().flatten() {
        let step = step.as_str().unwrap();
        writeln!(all, "=== {step}").unwrap();
        for key in keys(step) {
            if let Some(wish) = screen.key(key) {
                let words = match &wish {
                    ScreenAction::Remove(item) => format!("remove {} {}", item.word, item.text),
                    other => format!("{other:?}"),
                };
                writeln!(all, "-> {words}").unwrap();
                fulfil(&mut screen, &mut items, wish);
            }
        }
        all.push_str(&text_of(&screen.view(size)));
    }
    all
}

#[test]
fn permissions_look_as_they_should() {
    assert_golden(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/permissions"), play);
}

#[test]
fn the_screens_in_the_documentation_are_those_of_the_tests() {
    common::assert_documented(
        "permissions.md",
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/permissions"),
    );
}

#[test]
fn nothing_is_removed_but_by_a_yes_to_what_was_shown() {
    let item = PermissionItem {
        number: 0,
        section: "rules",
        word: "deny",
        text: "Bash(rm *)\n".repeat(200),
        from: "project .pinfold/settings.json:7:5".to_owned(),
        notes: Vec::new(),
        removal: Some("it holds no more".to_owned()),
    };
    let press = |keys: &[KeyCode]| {
        let mut screen = Screen::new("here", vec![item.clone()]);
        let mut wishes = Vec::new();
        for key in keys {
            screen.view(TerminalSize { rows: 24, columns: 80 });
            wishes.extend(screen.key(Key::plain(*key)));
        }
        wishes.contains(&ScreenAction::Remove(item.clone()))
    };
    let (d, y) = (KeyCode::Char('d'), KeyCode::Char('y'));
    for keys in
        [&[y, y][..], &[d, KeyCode::Enter], &[d, KeyCode::Char('n')], &[d, KeyCode::Escape], &[d, d], &[d, y]]
    {
        assert!(!press(keys), "{keys:?}");
    }
    assert!(press(&[d, KeyCode::End, y]), "the control");
}

//! The table of words itself.

use super::*;

#[test]
fn every_entry_is_of_a_known_kind_and_stands_once() {
    let mut seen = std::collections::HashSet::new();
    for line in WORDS.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let mut words = line.split_whitespace();
        let kind = words.next().unwrap();
        let known = ["anything", "destroys", "reaches", "exactly", "prefix", "open"];
        assert!(known.contains(&kind), "{kind}");
        if kind != "prefix" && kind != "open" {
            words.for_each(|word| assert!(seen.insert(word), "{word} stands twice"));
        }
    }
}

#[test]
fn what_is_left_open_is_known_and_starts_nothing() {
    for name in &TABLE.open {
        assert!(command::knows(name) || read_only::knows(name), "nothing is known of {name}");
        assert!(!TABLE.kinds.contains_key(name), "{name}");
    }
}

/// Whatever the tables of programs know to start others or to speak a language is in this table too.
#[test]
fn every_program_that_starts_others_is_named() {
    let left: Vec<&str> =
        command::starters().filter(|name| of(&[Some(*name), Some("x")]).kind < Kind::Exactly).collect();
    assert_eq!(left, Vec::<&str>::new());
}

#[test]
fn a_version_and_a_place_make_no_other_program() {
    for name in
        ["python", "python3", "python3.12", "/usr/bin/python3", "./python", "python.exe", "ruby3.3", "php8"]
    {
        assert_eq!(of(&[Some(name)]).kind, Kind::Anything, "{name}");
    }
    assert_eq!(of(&[None]).kind, Kind::Anything);
    assert_eq!(of(&[Some("git"), None]).kind, Kind::Anything);
    assert_eq!(of(&[Some("git"), Some("-C"), Some("x"), Some("push")]).kind, Kind::Reaches);
}

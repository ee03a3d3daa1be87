use super::*;

const HOME: &str = "/h/u";

type Look = for<'a> fn(&'a Guards, &Path, Option<&Path>, bool) -> Option<&'a Guard>;

struct Case<'a> {
    folds: bool,
    reads: bool,
    hit: bool,
    path: &'a str,
}

fn cases() -> impl Iterator<Item = Case<'static>> {
    let lines = include_str!("cases.txt").lines().filter(|l| !l.starts_with('#') && !l.is_empty());
    lines.map(|line| {
        let mut rest = line;
        let mut word = || {
            let (word, tail) = rest.trim_start().split_once(' ').unwrap();
            rest = tail;
            word
        };
        let mut first = word();
        let folds = first == "fold";
        if folds {
            first = word();
        }
        let hit = match word() {
            "hit" => true,
            "pass" => false,
            other => panic!("{other}: {line}"),
        };
        Case { folds, reads: first == "read", hit, path: rest.trim() }
    })
}

#[test]
fn every_case_of_the_list_has_its_verdict() {
    let guards = Guards::default();
    let mut seen = 0;
    for case in cases() {
        let look: Look = if case.reads { Guards::read } else { Guards::write };
        let guard = look(&guards, Path::new(case.path), Some(Path::new(HOME)), case.folds);
        assert_eq!(guard.is_some(), case.hit, "{} met {guard:?}", case.path);
        seen += 1;
    }
    assert!(seen > 90, "the list was read: {seen}");
}

#[test]
fn every_pattern_matches_itself_and_what_is_beneath() {
    let guards = Guards::default();
    let lists: [(&[Guard], Look); 2] =
        [(guards.write_list(), Guards::write), (guards.read_list(), Guards::read)];
    for (list, look) in lists {
        for guard in list {
            let plain = guard.pattern().replace("**/", "/w/deep/").replace("~/", "/h/u/").replace('*', "zz");
            for path in [plain.clone(), format!("{plain}/beneath")] {
                let met = look(&guards, Path::new(&path), Some(Path::new(HOME)), false);
                assert!(met.is_some(), "{path} ({})", guard.pattern());
            }
        }
    }
}

#[test]
fn a_pattern_added_later_counts_like_the_others() {
    let guards = Guards::default().with_write("deploy.key", GuardKind::Credential, "it signs releases");
    let path = Path::new("/w/a/deploy.key");
    assert!(Guards::default().write(path, None, false).is_none());
    assert_eq!(guards.write(path, None, false).unwrap().why(), "it signs releases");
    let anchored = Guards::default().with_read("~/vault", GuardKind::Secret, "private");
    assert!(anchored.read(Path::new("/h/u/vault/x"), Some(Path::new("/h/u/")), false).is_some());
    assert!(anchored.read(Path::new("/w/vault/x"), Some(Path::new("/h/u/")), false).is_none());
}

#[test]
fn odd_paths_have_an_answer() {
    let guards = Guards::default();
    for odd in ["", "/", "//", "relative/.git", "/w//.git//", "/w/.", "*", "/*/*"] {
        let met = guards.write(Path::new(odd), Some(Path::new("")), true).is_some();
        assert_eq!(met, odd.contains(".git"), "{odd}");
    }
}

#[test]
fn the_outermost_guard_answers() {
    let guards = Guards::default();
    let met = guards.write(Path::new("/w/.claude/.git/config"), None, false).unwrap();
    assert_eq!(met.kind(), GuardKind::Autorun);
}

#[test]
fn what_is_added_makes_no_place_weaker() {
    let guards = Guards::default().with_write("**/.env", GuardKind::Place, "settings guard it");
    for path in ["/w/.env", "/w/a/.env"] {
        assert!(guards.write(Path::new(path), None, false).is_some_and(|guard| guard.kind().is_sensitive()));
    }
}

#[test]
fn stars_between_names_are_any_number_of_them() {
    let guarded = |pattern: &str, path: &str| {
        let guards = Guards::default().with_write(pattern, GuardKind::Place, "why");
        guards.write(Path::new(path), None, false).is_some()
    };
    for (pattern, path, expected) in [
        ("**/a/**/k.x", "/w/a/k.x", true),
        ("**/a/**/k.x", "/w/a/b/c/k.x", true),
        ("**/a/**/k.x", "/w/a/b/c/k.y", false),
        ("/w/**/k.x", "/w/k.x", true),
        ("/w/**/k.x", "/v/k.x", false),
        ("**/Agents/**", "/w/Agents/x.plist", true),
        ("**/*.pem", "/w/b/x.pem", true),
        ("**/*.pem", "/w/b/x.pe", false),
        ("**", "/w/anything", true),
        ("a/b", "/w/a/b", true),
        ("a/b", "/w/a/c/b", false),
    ] {
        assert_eq!(guarded(pattern, path), expected, "{pattern} {path}");
    }
}

#[test]
fn a_place_that_is_held_for_a_session_is_no_weaker_than_its_pattern() {
    let key = Path::new("/h/u/.ssh/id");
    let plain = Guards::default();
    assert!(plain.write(key, None, false).unwrap().kind().is_sensitive());
    let held = plain
        .clone()
        .with_protected(Path::new("/h/u/.ssh"), "held")
        .with_hidden(Path::new("/h/u/.ssh"), "held");
    assert!(held.write(key, None, false).unwrap().kind().is_sensitive());
    // The place alone, and the place where a person opened what the pattern covers.
    assert_eq!(held.write(Path::new("/h/u/.ssh"), None, false).unwrap().kind(), GuardKind::Credential);
    let opened = held.with_open_write(Path::new("/h/u/.ssh"));
    assert_eq!(opened.write(key, None, false).unwrap().kind(), GuardKind::Place);
    let own = plain.with_own(Path::new("/x/record"), "ours").with_protected(Path::new("/x"), "held");
    let own = own.with_protected(Path::new("/x/record"), "held");
    assert!(own.write(Path::new("/x/record/a"), None, false).unwrap().kind().is_sensitive());
    assert!(own.read(Path::new("/x/record/a"), None, false).is_some());
}

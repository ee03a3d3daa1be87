//! Calls that the supervisor judges: guarded links, set-id bits, moves, and whose turn they need.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use pinfold_boundary::{Boundary, DenialObserver};
use pinfold_policy::Guards;
use pinfold_sandbox::{Attempt, Detail, Intent, Reply, Strength, SyscallHandler as _, Temp, Tier};

use super::{Bed, WALLS};

/// Judged by name, as where the calls of a run are mediated.
const JUDGED: Strength = Strength { tier: Tier::Full, mediated: true };

fn reply(observer: &mut DenialObserver<'_>, intent: Intent, place: PathBuf, detail: Detail) -> Reply {
    observer.attempt(&Attempt::new(1, intent, place).with_detail(detail))
}

/// A folder whose guarded names lead elsewhere in it.
fn linked() -> Bed {
    let bed = Bed::new();
    bed.0.make_git_dir("w/.git");
    fs::remove_dir(bed.at("w/.git/hooks")).unwrap();
    for directory in ["w/hooks", "w/config", "w/app", "w/scripts"] {
        bed.dir(directory);
    }
    for (link, text) in [
        ("w/.envrc", "link/envrc"),
        ("w/link", "config"),
        ("w/.vscode", "tools/vscode"),
        ("w/.git/hooks", "../hooks"),
        ("w/app/.mcp.json", "../later/x/mcp.json"),
        ("w/app/docs", "../scripts"),
    ] {
        symlink(text, bed.at(link)).unwrap();
    }
    bed.file("w/config/envrc", "");
    bed
}

const LED_TO: [&str; 6] = [
    "w/config/envrc",
    "w/link",
    "w/tools/vscode",
    "w/tools/vscode/tasks.json",
    "w/hooks/x",
    "w/later/x/mcp.json",
];

#[test]
fn what_guarded_names_lead_to_is_held_like_the_names() {
    let bed = linked();
    for strength in [WALLS, JUDGED] {
        let boundary = Boundary::compile(&bed.request(), &Guards::default(), strength).unwrap();
        for held in LED_TO {
            assert_eq!(bed.access(&boundary, held), "held", "{held} {strength:?}");
            let guards = boundary.guards();
            let guard = guards.write(&bed.at(held), None, false);
            // Not even a mode that asks nothing lets file tools write there.
            assert!(guard.is_some_and(|guard| guard.kind().is_sensitive()), "{held} {guard:?}");
        }
        for free in ["w/config/other", "w/scripts/x", "w/app/x"] {
            assert_eq!(bed.access(&boundary, free), "writable", "{free} {strength:?}");
        }
    }
    let opened = bed.compile(|request| request.allow_write = vec![bed.at("w/config/envrc")]);
    assert_eq!(bed.access(&opened, "w/config/envrc"), "writable", "what a person names is theirs to open");
}

#[test]
fn what_guarded_names_lead_to_is_not_replaced_by_way_of_what_is_above() {
    let bed = linked();
    let boundary = Boundary::compile(&bed.request(), &Guards::default(), JUDGED).unwrap();
    let mut observer = DenialObserver::new(&boundary, Tier::Full);
    let to = |path: &str| Detail::To(bed.at(path));
    for (intent, place, detail) in [
        (Intent::MoveFrom, "w/config", to("w/c")),
        (Intent::Remove, "w/config", Detail::None),
        (Intent::Symlink, "w/later", Detail::LinkText("scripts".into())),
        (Intent::MoveTo, "w/later", Detail::From(bed.at("w/app/docs"))),
        (Intent::MoveFrom, "w/scripts", to("w/later")),
        (Intent::Symlink, "w/.config", Detail::LinkText("scripts".into())),
        (Intent::MoveTo, "w/.config", Detail::From(bed.at("w/app/docs"))),
    ] {
        let said = reply(&mut observer, intent, bed.at(place), detail);
        assert_eq!(said, Reply::Refuse, "{intent:?} {place}");
    }
    for (intent, place, detail) in [
        (Intent::MakeDir, "w/later", Detail::None),
        (Intent::MakeDir, "w/.config", Detail::None),
        (Intent::Symlink, "w/other", Detail::LinkText("scripts".into())),
        (Intent::MoveFrom, "w/scripts", to("w/s")),
    ] {
        let said = reply(&mut observer, intent, bed.at(place), detail);
        assert_eq!(said, Reply::CarryOut, "{intent:?} {place}");
    }
}

#[test]
fn a_guarded_link_is_found_where_no_search_reaches() {
    let bed = Bed::new();
    let deep = format!("w/{}", "d/".repeat(12));
    bed.dir(&deep);
    symlink("envrc", bed.at(&deep).join(".envrc")).unwrap();
    let boundary = Boundary::compile(&bed.request(), &Guards::default(), JUDGED).unwrap();
    let mut observer = DenialObserver::new(&boundary, Tier::Full);
    // What the person makes after the start is found too.
    symlink("settings/mcp.json", bed.at("w/.mcp.json")).unwrap();
    bed.dir("w/settings");
    for (place, expected) in [
        (bed.at(&deep).join("envrc"), Reply::Refuse),
        (bed.at(&deep).join("other"), Reply::CarryOut),
        (bed.at("w/settings/mcp.json"), Reply::Refuse),
        (bed.at("w/settings/other"), Reply::CarryOut),
    ] {
        assert_eq!(reply(&mut observer, Intent::Create, place.clone(), Detail::None), expected, "{place:?}");
    }
}

#[test]
fn no_file_gets_a_set_id_bit_wherever_it_lies() {
    let bed = Bed::new();
    bed.file("w/f", "");
    let boundary = Boundary::compile(&bed.request(), &Guards::default(), JUDGED).unwrap();
    let mut observer = DenialObserver::new(&boundary, Tier::Full).negotiating();
    for place in [bed.at("w/f"), bed.at("elsewhere"), "/tmp/own".into(), "pipe:[1]".into()] {
        let said = reply(&mut observer, Intent::Metadata, place.clone(), Detail::SetId(0o4755));
        assert_eq!(said, Reply::Refuse, "{place:?}");
    }
    let (refused, ..) = observer.finish();
    assert!(refused.iter().all(|refused| refused.why.contains("rights of its owner")), "{refused:?}");
    let mut observer = DenialObserver::new(&boundary, Tier::Full);
    assert_eq!(reply(&mut observer, Intent::Metadata, bed.at("w/f"), Detail::Mode(0o755)), Reply::CarryOut);
}

#[test]
fn turns_are_taken_for_what_another_run_could_exchange() {
    let bed = Bed::new();
    let state = bed.at("home/state/pinfold");
    let mut request = bed.request();
    request.state_home = Some(state.clone());
    let boundary = Boundary::compile(&request, &Guards::default(), JUDGED).unwrap();
    assert!(!state.exists(), "nothing is made to ask");
    let mut observer = DenialObserver::new(&boundary, Tier::Full);
    let mut is_shared = |intent, place: PathBuf| {
        observer.turn(&[Attempt::new(1, intent, place)]).unwrap().map(|turn| turn.is_shared())
    };
    for (intent, place, expected) in [
        (Intent::MoveFrom, "w/src", Some(false)),
        (Intent::MoveTo, "w/dst", Some(false)),
        (Intent::HardLinkSource, "w/src", Some(false)),
        (Intent::Symlink, "w/l", Some(false)),
        (Intent::MakeDir, "w/node_modules/p/.vscode", Some(false)),
        (Intent::Create, "w/node_modules/p/.mcp.json", Some(false)),
        (Intent::MakeDir, "w/inner/.git", Some(false)),
        // What it made is what has the name afterwards.
        (Intent::MakeDir, "w/target", Some(false)),
        (Intent::Create, "w/bare/HEAD", Some(false)),
        // Most calls: no directory is moved meanwhile.
        (Intent::Create, "w/src/lib.rs", Some(true)),
        (Intent::Write, "w/src/lib.rs", Some(true)),
        (Intent::Remove, "w/src/lib.rs", Some(true)),
        (Intent::Metadata, "w/src/lib.rs", Some(true)),
        // Nothing is changed.
        (Intent::Read, "w/src/lib.rs", None),
        (Intent::Access, "w/src/lib.rs", None),
    ] {
        assert_eq!(is_shared(intent, bed.at(place)), expected, "{intent:?} {place}");
    }
}

#[test]
fn nothing_is_moved_between_the_folder_and_where_a_run_writes_by_itself() {
    let bed = Bed::new();
    bed.dir("temporary");
    bed.file("w/notes", "");
    let mut request = bed.request();
    request.temp = Temp::Directory(bed.at("temporary"));
    let strength = Strength { tier: Tier::Landlock, mediated: true };
    let boundary = Boundary::compile(&request, &Guards::default(), strength).unwrap();
    let mut observer = DenialObserver::new(&boundary, Tier::Landlock);
    let (own, inside) = (bed.at("temporary/f"), bed.at("w/g"));
    for (intent, place, detail, expected) in [
        (Intent::MoveTo, "w/f", Detail::From(own.clone()), Reply::CrossDevice),
        (Intent::MoveTo, "w/f", Detail::HardLinkOf(own.clone()), Reply::CrossDevice),
        (Intent::MoveTo, "w/f", Detail::Exchange(own.clone()), Reply::CrossDevice),
        (Intent::MoveTo, "w/.envrc", Detail::From(own), Reply::Refuse),
        (Intent::MoveTo, "w/f", Detail::From(inside), Reply::CarryOut),
        (Intent::MoveFrom, "w/f", Detail::To(bed.at("temporary/f")), Reply::CrossDevice),
        (Intent::MoveFrom, "w/f", Detail::Exchange(bed.at("temporary/f")), Reply::CrossDevice),
        (Intent::HardLinkSource, "w/f", Detail::To(bed.at("temporary/f")), Reply::CrossDevice),
        (Intent::MoveFrom, "w/f", Detail::To(bed.at("w/g")), Reply::CarryOut),
    ] {
        let said = reply(&mut observer, intent, bed.at(place), detail.clone());
        assert_eq!(said, expected, "{intent:?} {place} {detail:?}");
    }
}

#[test]
fn no_link_is_made_in_a_git_directory() {
    let bed = Bed::new();
    bed.0.make_git_dir("w/.git");
    symlink("elsewhere", bed.at("w/link")).unwrap();
    let boundary = Boundary::compile(&bed.request(), &Guards::default(), JUDGED).unwrap();
    let mut observer = DenialObserver::new(&boundary, Tier::Full);
    let text = |text: &str| Detail::LinkText(text.into());
    let moved = || Detail::From(bed.at("w/link"));
    for (intent, place, detail, expected) in [
        (Intent::Symlink, "w/.git/logs/x", text("y"), Reply::Refuse),
        (Intent::Symlink, "w/.git/FETCH_HEAD", text("ORIG_HEAD"), Reply::Refuse),
        (Intent::Symlink, "w/.git/refs/heads/x", text("../../../x"), Reply::Refuse),
        (Intent::MoveTo, "w/.git/COMMIT_EDITMSG", moved(), Reply::Refuse),
        (Intent::MoveTo, "w/.git/x", Detail::HardLinkOf(bed.at("w/link")), Reply::Refuse),
        // `git init` tries whether there are links.
        (Intent::Symlink, "w/.git/tAb3xYz", text("testing"), Reply::CarryOut),
        (Intent::Symlink, "w/.git/tAb3xYz", text("../x"), Reply::Refuse),
        (Intent::Symlink, "w/.git/logs/tAb3xY", text("testing"), Reply::Refuse),
        (Intent::Symlink, "w/x", text("y"), Reply::CarryOut),
    ] {
        assert_eq!(
            reply(&mut observer, intent, bed.at(place), detail.clone()),
            expected,
            "{place} {detail:?}"
        );
    }
}

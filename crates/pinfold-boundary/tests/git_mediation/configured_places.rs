//! Places that configurations of git name: held before anything beside them changes.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, Instant};

use pinfold_boundary::{Boundary, PathAccess, SandboxMode};
use pinfold_policy::Guards;
use pinfold_sandbox::{Detail, Intent, Strength, Tier};

use super::{Bed, Run};

/// Places outside of its own working tree that the configuration of a repository below names are held before anything in that
/// changes.
#[test]
fn what_a_repository_below_names_is_held_from_the_first_change_on() {
    let hooks = |path: &str| format!("[core]\n\thooksPath = {path}\n");
    let config = "w/old/.git/config";
    for (name, files, held) in [
        ("hooks", vec![(config, hooks("../tools/hooks"))], "w/tools/hooks/pre-commit"),
        ("attributes", vec![(config, "[core]\n\tattributesFile = ../a\n".to_owned())], "w/a"),
        (
            "an include",
            vec![(config, "[include]\n\tpath = ../../docs/team.cfg\n".to_owned())],
            "w/docs/team.cfg",
        ),
        ("a program", vec![(config, "[core]\n\tfsmonitor = ../docs/x.sh\n".to_owned())], "w/docs/x.sh"),
        (
            "a filter",
            vec![(config, "[filter \"x\"]\n\tclean = sh ../docs/x.sh %f\n".to_owned())],
            "w/docs/x.sh",
        ),
        (
            "what an include names",
            vec![
                (config, "[include]\n\tpath = ../../docs/team.cfg\n".to_owned()),
                ("w/docs/team.cfg", "[include]\n\tpath = team.cfg\n".to_owned() + &hooks("../tools")),
            ],
            "w/tools/pre-commit",
        ),
        (
            "the configuration of a worktree",
            vec![
                (config, "[extensions]\n\tworktreeConfig = true\n".to_owned()),
                ("w/old/.git/config.worktree", hooks("../tools")),
            ],
            "w/tools/pre-commit",
        ),
        ("your own", vec![("home/.gitconfig", hooks("../tools"))], "w/tools/pre-commit"),
        ("hooks around it", vec![(config, hooks(".."))], "w/pre-commit"),
    ] {
        for mediated in [true, false] {
            let bed = Bed::above_a_repository();
            bed.file("w/docs/x.sh", "");
            bed.dir("w/free");
            bed.dir("w/tools/hooks");
            let plain = bed.boundary();
            assert!(Run::new(&bed, &plain).tries(Intent::Create, held, Detail::None), "the control: {name}");
            for (path, text) in &files {
                bed.file(path, text);
            }
            let boundary = bed.boundary_of(mediated);
            assert!(bed.holds_file_tools(&boundary, held), "{name}");
            assert!(!bed.holds_file_tools(&boundary, "w/free/x"), "{name}");
            assert_ne!(boundary.access(&bed.at(held)), PathAccess::Writable, "{name}");
            let mut run = Run::new(&bed, &boundary);
            if mediated {
                assert!(!run.tries(Intent::Create, held, Detail::None), "{name}");
                assert!(run.tries(Intent::Create, "w/free/x", Detail::None), "{name}");
            }
        }
    }
}

/// Each way in which a directory belongs to a repository that git acts by: git directories, and files in which `TOP` is the bed.
#[test]
fn a_repository_below_is_found_however_it_lies() {
    const HOOKS: &str = "[core]\n\thooksPath = ../tools\n";
    const SUBMODULE: &str = "[core]\n\thooksPath = ../../tools\n\tworktree = ../../../";
    const MODULE: &str = "w/old/.git/modules/sub";
    let module = |name: &str| (format!("{MODULE}/config"), format!("{SUBMODULE}{name}\n"));
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    let deep = "w/1/2/3/4/5/6/7/8/9/deep/.git";
    let own = "outside/main/.git/worktrees/tree";
    for (name, git_dir, files) in [
        ("a bare one", "w/x.git", vec![file("w/x.git/config", HOOKS)]),
        (
            "a linked worktree",
            "outside/main/.git",
            vec![
                file("outside/main/.git/config", HOOKS),
                file(&format!("{own}/commondir"), "../..\n"),
                file(&format!("{own}/gitdir"), "TOP/w/tree/.git\n"),
                file("w/tree/.git", &format!("gitdir: TOP/{own}\n")),
            ],
        ),
        ("a submodule", MODULE, vec![module("sub"), file("w/old/sub/.git", "gitdir: ../.git/modules/sub\n")]),
        (
            "a submodule among products",
            MODULE,
            vec![module("build"), file("w/old/build/.git", "gitdir: ../.git/modules/sub\n")],
        ),
        (
            "a file that is not believed",
            "outside/store",
            vec![file("outside/store/config", HOOKS), file("w/tree/.git", "gitdir: ../../outside/store\n")],
        ),
        ("a link", "outside/store", vec![file("outside/store/config", HOOKS), file("w/tree/linked", "")]),
        ("around the folder", ".git", vec![file(".git/config", "[core]\n\thooksPath = w/tools\n")]),
        ("deep down", deep, vec![file(&format!("{deep}/config"), "[core]\n\thooksPath = TOP/w/tools\n")]),
    ] {
        let bed = Bed::above_a_repository();
        bed.0.make_git_dir(git_dir);
        for (path, text) in files {
            bed.file(&path, text.replace("TOP", &bed.at("").display().to_string()));
        }
        if name == "a link" {
            symlink("../../outside/store", bed.at("w/tree/.git")).unwrap();
        }
        let boundary = bed.boundary();
        assert!(
            !Run::new(&bed, &boundary).tries(Intent::MakeDir, "w/tools", Detail::None),
            "{name}: missing"
        );
        bed.dir("w/tools");
        let boundary = bed.boundary();
        let held = "w/tools/pre-commit";
        assert!(!Run::new(&bed, &boundary).tries(Intent::Create, held, Detail::None), "{name}");
        assert!(Run::new(&bed, &boundary).tries(Intent::Create, "w/docs/x", Detail::None), "{name}");
        assert!(bed.holds_file_tools(&boundary, held), "{name}");
        assert!(!bed.holds_file_tools(&boundary, "w/docs/x"), "{name}");
    }
}

/// A link on the way to what is named is as good as the place at its end.
#[test]
fn a_link_on_the_way_to_what_git_runs_stays() {
    for (link, text, named) in [("w/tools", "docs", "../tools/hooks"), ("w/hooks", "docs", "../hooks")] {
        let bed = Bed::above_a_repository();
        bed.dir("w/docs/hooks");
        symlink(text, bed.at(link)).unwrap();
        let boundary = bed.boundary();
        assert!(Run::new(&bed, &boundary).tries(Intent::Remove, link, Detail::None), "the control");
        bed.file("w/old/.git/config", format!("[core]\n\thooksPath = {named}\n"));
        let boundary = bed.boundary();
        for link in [link, "w/docs"] {
            assert!(!Run::new(&bed, &boundary).tries(Intent::Remove, link, Detail::None), "{link}");
            assert!(!Run::new(&bed, &boundary).renames(link, "w/gone"), "{link}");
        }
        assert!(!Run::new(&bed, &boundary).tries(Intent::Create, "w/docs/hooks/pre-commit", Detail::None));
    }
}

/// A configuration that cannot be read names unknown places.
#[test]
fn a_configuration_below_that_cannot_be_read_closes_the_folder() {
    let bed = Bed::above_a_repository();
    let config = bed.at("w/old/.git/config");
    fs::set_permissions(&config, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&config).is_ok() {
        eprintln!("LEFT OUT: files that cannot be read, which are open for this user");
    } else {
        let boundary = bed.boundary();
        assert!(!Run::new(&bed, &boundary).tries(Intent::Create, "w/docs/x", Detail::None));
        assert!(bed.holds_file_tools(&boundary, "w/docs/x"));
    }
    fs::set_permissions(&config, fs::Permissions::from_mode(0o644)).unwrap();
    let boundary = bed.boundary();
    assert!(Run::new(&bed, &boundary).tries(Intent::Create, "w/docs/x", Detail::None));
}

/// Tries `default-write`: a push outside would run the hooks of a bare repository that lies anywhere, a commit those that a
/// configuration names.
#[test]
fn a_repository_outside_keeps_its_hooks_where_everything_can_be_written() {
    let bed = Bed::new();
    for name in ["outside/repo.git", "outside/odd", "outside/tree/.git"] {
        bed.0.make_git_dir(name);
    }
    bed.file("outside/tree/.git/config", "[core]\n\thooksPath = tools/hooks\n");
    bed.dir("outside/tree/tools/hooks");
    let mut request = bed.request();
    request.mode = SandboxMode::DefaultWrite;
    let strength = Strength { tier: Tier::Landlock, mediated: true };
    let boundary = Boundary::compile(&request, &Guards::default(), strength).unwrap();
    let mut run = Run::new(&bed, &boundary);
    for (path, is_made) in [
        ("outside/repo.git/hooks/post-receive", false),
        ("outside/odd/hooks/post-receive", false),
        ("outside/odd/info/attributes", false),
        ("outside/tree/tools/hooks/pre-commit", false),
        ("outside/tree/tools/plain", true),
        ("outside/odd/objects/ab/cd", true),
        ("outside/plain/hooks/post-receive", true),
        ("outside/file", true),
    ] {
        assert_eq!(run.tries(Intent::Create, path, Detail::None), is_made, "{path}");
    }
}

#[test]
fn a_pipe_in_place_of_a_configuration_of_git_is_not_waited_for_and_holds_the_folder() {
    for has_pipe in [false, true] {
        let bed = Bed::new();
        if has_pipe {
            fs::remove_file(bed.at("w/.git/config")).unwrap();
            bed.0.make_pipe("w/.git/config");
        }
        let begun = Instant::now();
        let boundary = bed.boundary();
        let mut run = Run::new(&bed, &boundary);
        assert_eq!(run.tries(Intent::Create, "w/new", Detail::None), !has_pipe);
        assert!(!run.tries(Intent::Write, "w/.git/config", Detail::None), "as ever");
        assert!(begun.elapsed() < Duration::from_secs(10));
        let (refused, ..) = run.observer.finish();
        let told = refused.iter().any(|one| one.place.ends_with("new") && one.why.contains("cannot be read"));
        assert_eq!(told, has_pipe, "{refused:?}");
    }
}

//! Settings files as they stand on a disk: what counts, whom to believe, how they change, what happens meanwhile.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::fs;
use std::io::{BufRead as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use pinfold::Ambient;
use pinfold::policy::merge::WhyIgnored;
use pinfold::policy::rule::{Effect, Rule};
use pinfold::policy::settings::{Flags, SettingsChange};
use pinfold::policy::{Layer, Mode};
use pinfold::settings::{
    ChangeError, LoadedSettings, Locations, SettingsError, Trust, TrustedFolder, Watched, Widening, change,
    load, project_root,
};
use pinfold_testkit::TempTree;

/// A machine: a project, a person, an organisation.
struct Bed {
    _tree: TempTree,
    top: PathBuf,
    locations: Locations,
}

const SHARED: &str = ".pinfold/settings.json";
const LOCAL: &str = ".pinfold/settings.local.json";

impl Bed {
    fn new() -> Self {
        let tree = TempTree::new().with_dirs(["proj/.pinfold", "etc"]);
        let top = tree.top().to_owned();
        set_mode(&top.join("etc"), 0o755);
        let locations = Locations {
            managed: Some(top.join("etc/managed-settings.json")),
            managed_owner: rustix_uid(&top),
            project: Some(top.join("proj")),
            user: Some(top.join("home/.config/pinfold/settings.json")),
            trust: Some(top.join("home/.local/state/pinfold/trust.json")),
            home: Some(top.join("home")),
            allow_home: false,
        };
        Self { _tree: tree, top, locations }
    }

    fn project(&self, name: &str, text: &str) -> &Self {
        fs::write(self.top.join("proj").join(name), text).unwrap();
        self
    }

    fn managed(&self, text: &str) -> &Self {
        fs::write(self.top.join("etc/managed-settings.json"), text).unwrap();
        set_mode(&self.top.join("etc/managed-settings.json"), 0o644);
        self
    }

    fn user(&self, text: &str) -> &Self {
        let file = self.user_file();
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
        self
    }

    fn user_file(&self) -> PathBuf {
        self.locations.user.clone().unwrap()
    }

    fn load(&self) -> Result<LoadedSettings, SettingsError> {
        load(&Ambient::claim(), &self.locations, &Flags::default())
    }

    fn rules(&self) -> Vec<String> {
        rules(&self.load().unwrap())
    }

    /// What stops a start, in words.
    fn stops(&self) -> String {
        self.load().unwrap_err().to_string()
    }

    fn trust(&self) {
        let widening = Widening::scan(&Ambient::claim(), &self.locations).unwrap();
        Trust::grant(&Ambient::claim(), &self.locations, &widening).unwrap();
    }

    fn add(&self, layer: Layer, effect: Effect, rule: &str) -> Result<bool, ChangeError> {
        let rule = SettingsChange::Add(effect, Rule::parse(rule).unwrap());
        change(&Ambient::claim(), &self.locations, layer, &rule).map(|done| done.changed)
    }

    fn git(&self, args: &[&str]) {
        let git = Command::new("git").args(args).current_dir(self.top.join("proj")).output().unwrap();
        assert!(git.status.success(), "{}", String::from_utf8_lossy(&git.stderr));
    }
}

fn rules(loaded: &LoadedSettings) -> Vec<String> {
    loaded.merged.rules.iter().map(|rule| format!("{} {}", rule.effect.as_str(), rule.rule)).collect()
}

fn rustix_uid(path: &Path) -> u32 {
    fs::metadata(path).unwrap().uid()
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

const ALLOW: &str = r#"{"permissions": {"allow": ["Bash(make)"], "deny": ["Bash(rm *)"]}}"#;

#[test]
fn files_of_all_layers_are_found_and_say_where_they_stand() {
    let bed = Bed::new();
    assert_eq!(bed.rules(), [""; 0], "nothing is there");
    bed.managed(r#"{"permissions": {"deny": ["LS"]}}"#)
        .project(LOCAL, r#"{"permissions": {"deny": ["Glob"]}}"#);
    bed.project(SHARED, r#"{"permissions": {"deny": ["Grep"]}}"#)
        .user("{\n \"permissions\": {\"deny\": [\"Delete\"]}}");
    let loaded = bed.load().unwrap();
    let sources: Vec<_> = loaded.merged.rules.iter().map(|rule| rule.source.to_string()).collect();
    let managed = bed.locations.managed.as_ref().unwrap().display().to_string();
    assert_eq!(
        sources,
        [
            format!("managed {managed}:1:27"),
            "local .pinfold/settings.local.json:1:27".to_owned(),
            "project .pinfold/settings.json:1:27".to_owned(),
            "user ~/.config/pinfold/settings.json:2:27".to_owned(),
        ]
    );
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let bed = Bed::new();
    bed.project(SHARED, "{").project(LOCAL, r#"{"bash": "no"}"#).user(r#"{"a": 1, "b": 2}"#);
    let told = bed.stops();
    for place in [
        "local .pinfold/settings.local.json:1:10",
        "project .pinfold/settings.json:1:1",
        "settings.json:1:2",
        "settings.json:1:10",
    ] {
        assert!(told.contains(place), "{place}: {told}");
    }
}

#[test]
fn managed_settings_are_those_that_only_their_owner_could_have_written() {
    let bed = Bed::new();
    bed.managed(ALLOW);
    assert_eq!(bed.rules(), ["allow Bash(make)", "deny Bash(rm *)"], "the control");
    for (path, mode) in [
        ("etc/managed-settings.json", 0o664),
        ("etc/managed-settings.json", 0o646),
        ("etc", 0o775),
        ("etc", 0o757),
    ] {
        let path = bed.top.join(path);
        let before = fs::metadata(&path).unwrap().mode() & 0o777;
        set_mode(&path, mode);
        assert!(bed.stops().contains("by others"), "{path:?} {mode:o}");
        set_mode(&path, before);
    }
    let elsewhere = bed.top.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::rename(bed.top.join("etc/managed-settings.json"), elsewhere.join("m.json")).unwrap();
    symlink(elsewhere.join("m.json"), bed.top.join("etc/managed-settings.json")).unwrap();
    set_mode(&elsewhere, 0o755);
    assert_eq!(bed.rules().len(), 2, "a link between folders of the superuser: the control");
    for folder in ["etc", "elsewhere"] {
        set_mode(&bed.top.join(folder), 0o777);
        assert!(bed.stops().contains("by others"), "{folder}");
        set_mode(&bed.top.join(folder), 0o755);
    }
    let mut somebody_else = bed.locations.clone();
    somebody_else.managed_owner += 1;
    let stops = load(&Ambient::claim(), &somebody_else, &Flags::default()).unwrap_err();
    assert!(stops.to_string().contains("does not belong"), "{stops}");
}

#[test]
fn managed_settings_that_cannot_be_read_close() {
    let bed = Bed::new();
    bed.managed("{");
    assert!(bed.stops().contains("unterminated"));
    bed.managed(r#"{"permissions": {"allow": ["Bash(rm"]}}"#);
    assert!(bed.stops().contains("no rule"));
    fs::remove_file(bed.top.join("etc/managed-settings.json")).unwrap();
    symlink(bed.top.join("nowhere"), bed.top.join("etc/managed-settings.json")).unwrap();
    assert!(bed.stops().contains("leads to nothing"));
}

#[test]
fn what_is_no_ordinary_file_stops_and_nobody_waits_for_it() {
    for place in [SHARED, LOCAL, "user"] {
        let bed = Bed::new();
        let path = if place == "user" {
            bed.user("{}").user_file()
        } else {
            bed.project(place, "{}").top.join("proj").join(place)
        };
        assert!(bed.load().is_ok(), "the control");
        fs::remove_file(&path).unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert!(bed.stops().contains("no ordinary file"), "{place}");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(bed.stops().contains("ordinary file"), "{place}");
        fs::remove_dir(&path).unwrap();
        fs::write(&path, vec![b' '; 5 << 20]).unwrap();
        assert!(bed.stops().contains("longer"), "{place}");
    }
}

#[test]
fn a_project_s_settings_do_not_lead_out_of_it() {
    let bed = Bed::new();
    fs::write(bed.top.join("proj/inside.json"), ALLOW).unwrap();
    fs::write(bed.top.join("outside.json"), ALLOW).unwrap();
    symlink("../inside.json", bed.top.join("proj").join(SHARED)).unwrap();
    assert_eq!(bed.rules(), ["deny Bash(rm *)"], "a link that stays inside is followed");
    fs::remove_file(bed.top.join("proj").join(SHARED)).unwrap();
    symlink("../../outside.json", bed.top.join("proj").join(SHARED)).unwrap();
    assert!(bed.stops().contains("leads it out of the project"));
}

#[test]
fn a_shared_file_widens_once_it_is_trusted_as_it_is() {
    let bed = Bed::new();
    bed.project(SHARED, ALLOW);
    assert_eq!(bed.rules(), ["deny Bash(rm *)"]);
    let ignored = bed.load().unwrap().merged.ignored;
    assert!(ignored.iter().all(|ignored| ignored.why == WhyIgnored::NotTrusted) && ignored.len() == 1);

    let widening = Widening::scan(&Ambient::claim(), &bed.locations).unwrap();
    assert_eq!(widening.what, ["project .pinfold/settings.json:1:28: `allow Bash(make)`"]);
    bed.trust();
    assert_eq!(bed.rules(), ["allow Bash(make)", "deny Bash(rm *)"]);

    bed.project(SHARED, &format!("{ALLOW} "));
    assert_eq!(bed.rules(), ["deny Bash(rm *)"], "one byte more");
    bed.project(SHARED, ALLOW);
    assert_eq!(bed.rules().len(), 2, "as it was trusted");
    assert!(Trust::withdraw(&Ambient::claim(), &bed.locations).unwrap());
    assert_eq!(bed.rules(), ["deny Bash(rm *)"]);
    assert!(!Trust::withdraw(&Ambient::claim(), &bed.locations).unwrap());
}

#[test]
fn trusted_folders_are_told_and_can_be_forgotten_when_they_are_gone() {
    let bed = Bed::new();
    bed.project(SHARED, ALLOW);
    bed.trust();
    let record = bed.locations.trust.clone().unwrap();
    let folders = || Trust::read(&Ambient::claim(), &record).unwrap().folders(&Ambient::claim());
    let project = bed.locations.project.clone().unwrap().canonicalize().unwrap();
    let file = || (SHARED.to_owned(), true);
    assert_eq!(folders(), [TrustedFolder { folder: project.clone(), files: vec![file()] }]);
    bed.project(SHARED, &format!("{ALLOW} "));
    assert!(!folders()[0].files[0].1, "another content");

    std::fs::remove_dir_all(&project).unwrap();
    assert!(!folders()[0].files[0].1, "no content");
    let forget = |folder: &str| Trust::withdraw_from(&Ambient::claim(), &bed.locations, folder).unwrap();
    assert!(!forget("/elsewhere") && folders().len() == 1);
    assert!(forget(project.to_str().unwrap()) && folders().is_empty());
}

#[test]
fn trust_is_bound_to_the_folder_and_to_what_was_seen() {
    let bed = Bed::new();
    bed.project(SHARED, ALLOW);
    let seen = Widening::scan(&Ambient::claim(), &bed.locations).unwrap();
    bed.project(SHARED, r#"{"permissions": {"allow": ["Bash"]}}"#);
    Trust::grant(&Ambient::claim(), &bed.locations, &seen).unwrap();
    assert_eq!(bed.rules(), [""; 0], "what came after the look is not trusted");

    bed.project(SHARED, ALLOW).trust();
    let mut elsewhere = bed.locations.clone();
    elsewhere.project = Some(bed.top.join("copy"));
    fs::create_dir_all(bed.top.join("copy/.pinfold")).unwrap();
    fs::write(bed.top.join("copy").join(SHARED), ALLOW).unwrap();
    assert_eq!(rules(&load(&Ambient::claim(), &elsewhere, &Flags::default()).unwrap()), ["deny Bash(rm *)"]);
}

#[test]
fn a_record_of_trust_that_others_could_write_trusts_nobody() {
    let bed = Bed::new();
    bed.project(SHARED, ALLOW).trust();
    assert_eq!(bed.rules().len(), 2, "the control");
    let record = bed.locations.trust.clone().unwrap();
    assert_eq!(fs::metadata(&record).unwrap().mode() & 0o777, 0o600);
    for (mode, text) in
        [(0o666, None), (0o600, Some("{")), (0o600, Some(r#"{"version": 9, "projects": {}}"#))]
    {
        let before = fs::read(&record).unwrap();
        text.inspect(|text| fs::write(&record, text).unwrap());
        set_mode(&record, mode);
        let loaded = bed.load().unwrap();
        assert_eq!(rules(&loaded), ["deny Bash(rm *)"]);
        assert!(loaded.no_trust.is_some());
        fs::write(&record, before).unwrap();
        set_mode(&record, 0o600);
    }
}

#[test]
fn a_local_file_is_the_person_s_own_unless_it_came_with_the_repository() {
    let bed = Bed::new();
    bed.project(LOCAL, ALLOW);
    assert_eq!(bed.rules().len(), 2, "no repository");
    bed.git(&["init", "-q"]);
    assert_eq!(bed.rules().len(), 2, "not tracked");
    bed.git(&["add", "-f", LOCAL]);
    assert_eq!(bed.rules(), ["deny Bash(rm *)"], "tracked");
    bed.trust();
    assert_eq!(bed.rules().len(), 2, "tracked and trusted");
    bed.git(&["rm", "-q", "--cached", LOCAL]);
    Trust::withdraw(&Ambient::claim(), &bed.locations).unwrap();
    assert_eq!(bed.rules().len(), 2, "not tracked any more: the control");
    set_mode(&bed.top.join("proj").join(LOCAL), 0o666);
    assert_eq!(bed.rules(), ["deny Bash(rm *)"], "everybody can write it");
}

#[test]
fn settings_of_one_person_do_not_show_in_git() {
    let bed = Bed::new();
    bed.git(&["init", "-q"]);
    let shown = || {
        let mut git = Command::new("git");
        git.args(["status", "--porcelain", "-uall"]).current_dir(bed.top.join("proj"));
        String::from_utf8(git.output().unwrap().stdout).unwrap()
    };
    let before = shown();
    assert!(bed.add(Layer::Local, Effect::Allow, "Bash(make)").unwrap());
    assert_eq!(shown(), before);
    // What is shared does.
    assert!(bed.add(Layer::Project, Effect::Allow, "Bash(make)").unwrap());
    assert!(shown().contains(".pinfold/settings.json") && !shown().contains("local"), "{}", shown());
    // A person's own ignore file stays, and one that was taken away stays away.
    let ignore = bed.top.join("proj/.pinfold/.gitignore");
    fs::write(&ignore, "mine\n").unwrap();
    assert!(bed.add(Layer::Local, Effect::Allow, "Bash(true)").unwrap());
    assert_eq!(fs::read_to_string(&ignore).unwrap(), "mine\n");
    fs::remove_file(&ignore).unwrap();
    assert!(bed.add(Layer::Local, Effect::Allow, "Bash(false)").unwrap());
    assert!(!ignore.exists());
}

/// The control between the rows: nothing of the sort, and the file counts.
#[test]
fn a_local_file_that_others_can_write_or_brought_along_needs_trust() {
    let bed = Bed::new();
    bed.project(LOCAL, ALLOW);
    let (file, folder) = (bed.top.join("proj").join(LOCAL), bed.top.join("proj/.pinfold"));
    // No account is in this group alone.
    let group = Some(65_533);
    let is_root = rustix_uid(Path::new("/proc/self")) == 0;
    for (path, mode) in [(&file, 0o664), (&file, 0o646), (&folder, 0o775), (&folder, 0o757)] {
        let before = fs::metadata(path).unwrap();
        if is_root {
            std::os::unix::fs::chown(path, None, group).unwrap();
        } else if mode & 0o002 == 0 {
            eprintln!("not tried, since only the superuser gives files to any group: {path:?} {mode:o}");
            continue;
        }
        assert_eq!(bed.rules().len(), 2, "the control: {path:?}");
        set_mode(path, mode);
        assert_eq!(bed.rules(), ["deny Bash(rm *)"], "{path:?} {mode:o}");
        set_mode(path, before.mode() & 0o777);
    }
    for marker in [".hg", ".svn", ".jj", "_darcs"] {
        assert_eq!(bed.rules().len(), 2, "the control: {marker}");
        fs::create_dir(bed.top.join("proj").join(marker)).unwrap();
        assert_eq!(bed.rules(), ["deny Bash(rm *)"], "{marker}");
        bed.trust();
        assert_eq!(bed.rules().len(), 2, "{marker}: trusted");
        assert!(Trust::withdraw(&Ambient::claim(), &bed.locations).unwrap());
        fs::remove_dir(bed.top.join("proj").join(marker)).unwrap();
    }
    fs::hard_link(&file, bed.top.join("proj/second")).unwrap();
    assert_eq!(bed.rules(), ["deny Bash(rm *)"], "a second name");
}

#[test]
fn a_rule_that_the_person_adds_in_a_repository_of_another_kind_counts() {
    let bed = Bed::new();
    fs::create_dir(bed.top.join("proj/.hg")).unwrap();
    bed.add(Layer::Local, Effect::Allow, "Bash(make)").unwrap();
    assert_eq!(bed.rules(), ["allow Bash(make)"]);
    bed.project(LOCAL, ALLOW);
    assert_eq!(bed.rules(), ["deny Bash(rm *)"], "what came otherwise does not");
}

#[test]
fn folders_of_the_person_that_lie_in_the_project_are_not_theirs() {
    let bed = Bed::new();
    let evil = bed.top.join("proj/evil");
    fs::create_dir_all(&evil).unwrap();
    fs::write(evil.join("settings.json"), ALLOW).unwrap();
    symlink("proj/evil", bed.top.join("link")).unwrap();
    bed.user(ALLOW);
    assert_eq!(bed.rules().len(), 2, "the control");
    for folder in [evil.clone(), bed.top.join("link"), bed.top.join("proj/../proj/evil"), evil.join("none")] {
        let locations = Locations { user: Some(folder.join("settings.json")), ..bed.locations.clone() };
        let stops = load(&Ambient::claim(), &locations, &Flags::default()).unwrap_err().to_string();
        assert!(stops.contains("in the project"), "{folder:?}: {stops}");
    }
    bed.project(SHARED, ALLOW).trust();
    let (trust, own) = (evil.join("trust.json"), bed.locations.trust.clone().unwrap());
    fs::copy(own, &trust).unwrap();
    set_mode(&trust, 0o600);
    fs::remove_file(bed.user_file()).unwrap();
    assert_eq!(bed.rules().len(), 2, "the control");
    let locations = Locations { trust: Some(trust), ..bed.locations.clone() };
    let loaded = load(&Ambient::claim(), &locations, &Flags::default()).unwrap();
    assert_eq!(rules(&loaded), ["deny Bash(rm *)"]);
    assert!(loaded.no_trust.unwrap().contains("in the project"));
}

#[test]
fn a_home_in_the_project_is_not_the_persons_because_of_a_variable() {
    let bed = Bed::new();
    let project = bed.top.join("proj");
    symlink("proj/evil", bed.top.join("link")).unwrap();
    for home in [project.clone(), project.join("evil"), bed.top.join("link"), project.join("../proj/evil")] {
        fs::create_dir_all(project.join("evil")).unwrap();
        let config = home.join(".config/pinfold");
        let locations = Locations {
            user: Some(config.join("settings.json")),
            trust: Some(home.join(".local/state/pinfold/trust.json")),
            home: Some(home.clone()),
            ..bed.locations.clone()
        };
        let loaded = |locations: &Locations| load(&Ambient::claim(), locations, &Flags::default());
        assert!(loaded(&locations).unwrap().merged.rules.is_empty(), "{home:?}: nothing stands there");
        fs::create_dir_all(&config).unwrap();
        fs::write(config.join("settings.json"), ALLOW).unwrap();
        let stops = loaded(&locations).unwrap_err().to_string();
        assert!(stops.contains("in the project"), "{home:?}: {stops}");
        let allowed = locations.clone().with_allowed_home(true);
        assert_eq!(loaded(&allowed).unwrap().merged.rules.len(), 2, "{home:?}: --allow-home");
        let elsewhere = Locations { project: Some(bed.top.join("etc")), ..locations };
        assert_eq!(loaded(&elsewhere).unwrap().merged.rules.len(), 2, "{home:?}: the control");
        fs::remove_dir_all(home.join(".config")).unwrap();
    }
}

#[test]
fn a_local_file_behind_a_link_is_not_the_person_s_own() {
    let bed = Bed::new();
    fs::remove_dir(bed.top.join("proj/.pinfold")).unwrap();
    fs::create_dir(bed.top.join("proj/innocent")).unwrap();
    fs::write(bed.top.join("proj/innocent/settings.local.json"), ALLOW).unwrap();
    symlink("innocent", bed.top.join("proj/.pinfold")).unwrap();
    assert_eq!(bed.rules(), ["deny Bash(rm *)"]);
}

#[test]
fn a_rule_is_added_to_the_file_of_each_layer_and_all_else_stays() {
    let bed = Bed::new();
    for (layer, path, mode) in
        [(Layer::Local, bed.top.join("proj").join(LOCAL), 0o600), (Layer::User, bed.user_file(), 0o600)]
    {
        assert!(bed.add(layer, Effect::Allow, "Bash(npm test)").unwrap());
        assert!(!bed.add(layer, Effect::Allow, "Bash(npm test)").unwrap(), "it stands there");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, mode);
        fs::write(&path, "// mine\n{}\n").unwrap();
        set_mode(&path, 0o640);
        assert!(bed.add(layer, Effect::Deny, "Write").unwrap());
        assert!(fs::read_to_string(&path).unwrap().starts_with("// mine\n{"));
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640, "the mode stays");
    }
    assert!(matches!(bed.add(Layer::Managed, Effect::Allow, "Bash"), Err(ChangeError::NoFile(_))));
}

#[test]
fn what_cannot_be_understood_is_never_overwritten() {
    let bed = Bed::new();
    for text in ["", "{", "{\"permissions\": {}, \"permissions\": {}}", "{\"a\": 1}"] {
        bed.project(LOCAL, text);
        assert!(matches!(bed.add(Layer::Local, Effect::Deny, "Write"), Err(ChangeError::Bad(_))), "{text}");
        assert_eq!(fs::read_to_string(bed.top.join("proj").join(LOCAL)).unwrap(), text);
    }
}

#[test]
fn a_person_s_own_file_may_be_a_link_and_a_project_s_may_not_lead_out() {
    let bed = Bed::new();
    let dotfiles = bed.top.join("home/dotfiles");
    fs::create_dir_all(&dotfiles).unwrap();
    fs::create_dir_all(bed.user_file().parent().unwrap()).unwrap();
    fs::write(dotfiles.join("pinfold.json"), "{}").unwrap();
    symlink(dotfiles.join("pinfold.json"), bed.user_file()).unwrap();
    bed.add(Layer::User, Effect::Deny, "Write").unwrap();
    assert!(bed.user_file().is_symlink());
    assert!(fs::read_to_string(dotfiles.join("pinfold.json")).unwrap().contains("Write"));

    fs::write(bed.top.join("outside.json"), "{}").unwrap();
    symlink(bed.top.join("outside.json"), bed.top.join("proj").join(LOCAL)).unwrap();
    assert!(
        bed.add(Layer::Local, Effect::Allow, "Bash").unwrap_err().to_string().contains("out of the project")
    );
    assert_eq!(fs::read_to_string(bed.top.join("outside.json")).unwrap(), "{}");
}

#[test]
fn trust_follows_a_change_that_the_person_makes() {
    let bed = Bed::new();
    bed.project(SHARED, ALLOW).trust();
    bed.add(Layer::Project, Effect::Allow, "Bash(npm test)").unwrap();
    assert_eq!(bed.rules().len(), 3);
    bed.project(SHARED, ALLOW.replace("make", "evil").as_str());
    bed.add(Layer::Project, Effect::Allow, "Bash(npm test)").unwrap();
    assert_eq!(bed.rules(), ["deny Bash(rm *)"], "what was not trusted stays so");
}

#[test]
fn writers_in_threads_lose_nothing() {
    let bed = Bed::new();
    thread::scope(|scope| {
        for writer in 0..8 {
            let bed = &bed;
            scope.spawn(move || {
                for n in 0..12 {
                    bed.add(Layer::Local, Effect::Allow, &format!("Bash(t{writer} {n})")).unwrap();
                }
            });
        }
    });
    assert_eq!(bed.rules().len(), 8 * 12);
}

/// The name of the variable that makes this program a writer of its own: a project, and a name.
const WRITER: &str = "PINFOLD_TEST_WRITER";

#[test]
fn writers_in_processes_lose_nothing() {
    if let Ok(told) = std::env::var(WRITER) {
        return write_as_told(&told);
    }
    let bed = Bed::new();
    let myself = std::env::current_exe().unwrap();
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            Command::new(&myself)
                .args(["--exact", "settings::writers_in_processes_lose_nothing"])
                .env(WRITER, format!("{}\n{writer}", bed.top.join("proj").display()))
                .spawn()
                .unwrap()
        })
        .collect();
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    assert_eq!(bed.rules().len(), 4 * 12);
}

fn write_as_told(told: &str) {
    let (project, writer) = told.split_once('\n').unwrap();
    let locations = Locations { project: Some(project.into()), ..Locations::default() };
    for n in 0..12 {
        let rule = SettingsChange::Add(Effect::Allow, Rule::parse(&format!("Bash(p{writer} {n})")).unwrap());
        change(&Ambient::claim(), &locations, Layer::Local, &rule).unwrap();
    }
}

/// The same for a writer that writes until it is killed.
const ENDLESS: &str = "PINFOLD_TEST_ENDLESS_WRITER";

/// Whenever the writer is killed: each rule that it said it had written is there, at most one more is, and the next
/// writer finds the file as whole as it was.
#[test]
fn a_writer_that_is_killed_leaves_the_file_old_or_new() {
    if let Ok(project) = std::env::var(ENDLESS) {
        return write_without_end(&project);
    }
    let bed = Bed::new();
    let myself = std::env::current_exe().unwrap();
    let (mut known, mut between) = (0, 0);
    for round in 0..40u64 {
        let mut writer = Command::new(&myself)
            .args(["--exact", "settings::a_writer_that_is_killed_leaves_the_file_old_or_new"])
            .env(ENDLESS, bed.top.join("proj"))
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let said = std::io::BufReader::new(writer.stdout.take().unwrap());
        let mut lines = said.lines().map_while(Result::ok).filter(|line| line == WRITTEN);
        // It is at work once it has written one.
        let mut written = usize::from(lines.next().is_some());
        thread::sleep(std::time::Duration::from_micros(round * 137));
        writer.kill().unwrap();
        writer.wait().unwrap();
        written += lines.count();
        let rules = bed.rules();
        let more = rules.len() - known - written;
        assert!(more <= 1, "{written} were written, {more} more stand there");
        for (number, rule) in rules.iter().enumerate() {
            assert_eq!(*rule, format!("allow Bash(rule {number})"));
        }
        between += more;
        known = rules.len();
    }
    assert!(known >= 40, "{known} rules");
    println!("killed 40 times, {between} of them between the deed and the word");
}

const WRITTEN: &str = "written";

fn write_without_end(project: &str) {
    let locations = Locations { project: Some(project.into()), ..Locations::default() };
    let file = Path::new(project).join(LOCAL);
    for number in fs::read_to_string(file).map_or(0, |text| text.matches("Bash(rule").count()).. {
        let rule = SettingsChange::Add(Effect::Allow, Rule::parse(&format!("Bash(rule {number})")).unwrap());
        change(&Ambient::claim(), &locations, Layer::Local, &rule).unwrap();
        std::io::stdout().write_all(format!("\n{WRITTEN}\n").as_bytes()).unwrap();
    }
}

#[test]
fn a_running_session_follows_its_files_and_closes_when_they_break() {
    let bed = Bed::new();
    bed.project(LOCAL, r#"{"permissions": {"allow": ["Bash(make)"], "deny": ["Write"], "defaultMode": "bypassPermissions"}}"#);
    let watched =
        Watched::start(Ambient::claim(), bed.locations.clone(), Flags::default(), Clone::clone).unwrap();
    let before = watched.current();
    assert_eq!(before.rules.len(), 2);
    assert!(std::sync::Arc::ptr_eq(&before, &watched.current()), "nothing changed, nothing is made anew");

    bed.project(LOCAL, r#"{"permissions": {"allow": ["#);
    let broken = watched.current();
    let left: Vec<_> = broken.rules.iter().map(|rule| rule.rule.to_string()).collect();
    assert_eq!((left, broken.mode.value), (vec!["Write".to_owned()], Mode::Default));
    assert!(watched.trouble().is_some());
    assert_eq!(before.rules.len(), 2, "a decision that has begun keeps its state");

    bed.project(LOCAL, r#"{"permissions": {"allow": ["Bash(make)", "Read"]}}"#);
    assert_eq!(watched.current().rules.len(), 2);
    assert!(watched.trouble().is_none());

    bed.project(SHARED, ALLOW);
    assert_eq!(watched.current().rules.len(), 3, "a file that appears; nobody has trusted it");
    bed.trust();
    assert_eq!(watched.current().rules.len(), 4, "and trust that is given");
}

#[test]
fn a_project_is_the_nearest_folder_that_is_marked() {
    let bed = Bed::new();
    let deep = bed.top.join("proj/a/b");
    fs::create_dir_all(&deep).unwrap();
    assert_eq!(project_root(&deep, None), bed.top.join("proj"));
    fs::create_dir(bed.top.join("proj/a/.git")).unwrap();
    assert_eq!(project_root(&deep, None), bed.top.join("proj/a"));
    assert_eq!(project_root(&deep, Some(&bed.top.join("proj/a"))), deep, "home is no project");
}

#[test]
fn managed_settings_that_do_not_decide_what_they_expect_are_not_used() {
    let bed = Bed::new();
    let says = |expect: &str| {
        format!(
            r#"{{"permissions": {{"deny": ["Bash(rm *)"]}}, "tests": [{{"call": "Bash(rm x)", "expect": "{expect}"}}]}}"#
        )
    };
    bed.managed(&says("deny"));
    assert_eq!(bed.rules().len(), 1, "the control");
    bed.managed(&says("allow"));
    let told = bed.stops();
    assert!(
        told.contains(":1:62: `Bash(rm x)` is expected to be allowed; it is denied by the step `deny-rule`"),
        "{told}"
    );
    bed.project(LOCAL, &says("allow")).managed(&says("deny"));
    assert_eq!(bed.rules().len(), 2, "a person's own expectations stop nothing");
}

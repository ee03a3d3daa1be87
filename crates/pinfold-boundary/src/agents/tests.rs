use std::collections::BTreeSet;
use std::fs;
use std::path::Component;

use pinfold_host::HostRule;
use pinfold_testkit::TempTree;

use super::*;

#[test]
fn the_table_says_what_can_be_meant() {
    let names: BTreeSet<_> = AGENTS.iter().map(|agent| agent.name).collect();
    assert_eq!(names.len(), AGENTS.len());
    let programs: Vec<_> = AGENTS.iter().flat_map(|agent| agent.programs).collect();
    assert_eq!(
        programs.iter().collect::<BTreeSet<_>>().len(),
        programs.len(),
        "a program belongs to one agent"
    );
    for agent in AGENTS {
        let hosts = agent.hosts.iter().chain(agent.keys.iter().flat_map(|key| key.hosts));
        for host in hosts {
            assert!(HostRule::parse(host).is_ok(), "{}: {host}", agent.name);
            assert!(
                !host.contains(['*', ':', '/']),
                "{}: {host} is one name, at the usual ports",
                agent.name
            );
        }
        for state in agent.state {
            let below = |name: &str| Path::new(name).components().all(|c| matches!(c, Component::Normal(_)));
            assert!(below(state.usual) && !state.usual.is_empty(), "{}: {}", agent.name, state.usual);
            let protected: Vec<&str> =
                state.fixed.iter().map(|fixed| fixed.name).chain(state.logins.iter().copied()).collect();
            assert!(
                protected.iter().all(|name| !name.contains('/')),
                "directly below: nothing between is moved"
            );
            assert_eq!(protected.iter().collect::<BTreeSet<_>>().len(), protected.len(), "{}", state.usual);
        }
    }
}

#[test]
fn every_login_and_key_of_an_agent_is_closed_to_other_runs() {
    let home = Path::new("/home/u");
    let guards = pinfold_policy::Guards::default();
    let states = || AGENTS.iter().flat_map(|agent| agent.state);
    assert!(states().flat_map(State::secrets).count() > 12, "the table was read");
    for state in states() {
        for secret in state.secrets() {
            let at = home.join(state.usual).join(secret);
            assert!(guards.read(&at, Some(home), false).is_some(), "{}", at.display());
        }
    }
}

#[test]
fn logins_of_a_state_that_was_moved_are_found_where_they_are() {
    let bed = LayerBed::new(&[("work/codex/auth.json", "token"), (".gemini/oauth_creds.json", "token")]);
    let moved = bed.home.join("work/codex");
    let request = SandboxRequest {
        environment: vec![("CODEX_HOME".into(), moved.clone().into())],
        ..SandboxRequest::default()
    };
    assert_eq!(moved_logins(&request, Some(&bed.home)), [moved.join("auth.json")]);
    assert!(
        moved_logins(&SandboxRequest::default(), Some(&bed.home)).is_empty(),
        "the usual places are in the list"
    );
}

fn environment(list: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    list.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
}

#[test]
fn a_key_opens_its_host_only_where_it_is_set() {
    let aider = AgentProfile::find("aider").unwrap();
    assert!(aider.hosts_in(&environment(&[("OPENAI_API_KEY", "")])).is_empty());
    let set = environment(&[("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")]);
    assert_eq!(aider.hosts_in(&set), ["api.anthropic.com", "api.openai.com"]);
    let claude = AgentProfile::of_program(OsStr::new("claude")).unwrap();
    assert_eq!(claude.hosts_in(&set), ["api.anthropic.com"]);
    assert!(AgentProfile::of_program(OsStr::new("claude-helper")).is_none());
}

/// A home with state, and a layer drawn over it.
struct LayerBed {
    _tree: TempTree,
    home: PathBuf,
    slot: PathBuf,
}

impl LayerBed {
    fn new(files: &[(&str, &str)]) -> Self {
        let tree = TempTree::new();
        let home = tree.make_dir("home");
        for (name, content) in files {
            tree.write(home.join(name), content);
        }
        Self { slot: tree.path("slot"), _tree: tree, home }
    }

    fn arranged(&self, agent: &str, environment: &[(OsString, OsString)]) -> States {
        let mut states = States::default();
        let agent = AgentProfile::find(agent).unwrap();
        states.arrange(agent, &self.home, environment, &self.slot, &|_| false);
        states
    }
}

#[test]
fn what_is_there_outside_is_held_and_what_is_not_stood_in_for() {
    let bed =
        LayerBed::new(&[(".claude/settings.json", "{\"a\": 1}"), (".claude/.credentials.json", "secret")]);
    let states = bed.arranged("claude", &[]);
    assert!(states.notes.is_empty(), "{:?}", states.notes);
    let [layer] = states.layers.as_slice() else { panic!("one layer") };
    let fixed = AgentProfile::find("claude").unwrap().state[0].fixed;
    assert_eq!(states.fixed.len(), fixed.len() + 1, "and the login");
    for protected in &states.fixed {
        let name = protected.file_name().unwrap();
        let outside = layer.shared.join(name).exists();
        assert_ne!(outside, layer.private.join(name).exists(), "{name:?} is in one of the two");
    }
    assert!(!bed.home.join(".claude/CLAUDE.md").exists(), "nothing is left outside");
}

#[test]
fn what_appears_outside_later_is_what_counts() {
    let bed = LayerBed::new(&[]);
    let layer = bed.arranged("claude", &[]).layers.remove(0);
    assert!(layer.private.join("settings.json").is_file() && layer.private.join("hooks").is_dir());
    fs::write(layer.shared.join("settings.json"), "{\"a\": 1}").unwrap();
    fs::create_dir(layer.shared.join("hooks")).unwrap();
    fs::write(layer.private.join(".credentials.json"), "of a login inside").unwrap();
    fs::write(layer.shared.join(".credentials.json"), "of a login outside").unwrap();
    fs::write(layer.private.join("history.jsonl"), "kept").unwrap();
    let states = bed.arranged("claude", &[]);
    for name in ["settings.json", "hooks", ".credentials.json"] {
        assert!(!layer.private.join(name).exists(), "{name}");
        assert!(states.fixed.contains(&layer.shared.join(name)), "{name}");
    }
    assert!(layer.private.join("history.jsonl").exists());
}

#[test]
fn links_stay_links() {
    let bed = LayerBed::new(&[("dotfiles/claude.json", "{}"), (".claude/x", "")]);
    let link = bed.home.join(".claude/settings.json");
    std::os::unix::fs::symlink("../dotfiles/claude.json", &link).unwrap();
    let states = bed.arranged("claude", &[]);
    assert_eq!(states.links, [(link, bed.home.join("dotfiles/claude.json"))]);
}

#[test]
fn a_file_of_home_is_brought_and_the_younger_one_stays() {
    let bed = LayerBed::new(&[(".claude.json", "first")]);
    let states = bed.arranged("claude", &[]);
    let copy = states.layers[0].private.join(".claude.json");
    assert_eq!(fs::read_to_string(&copy).unwrap(), "first");
    assert_eq!(states.variables, [("CLAUDE_CONFIG_DIR".into(), bed.home.join(".claude").into())]);
    fs::write(&copy, "by a run").unwrap();
    bed.arranged("claude", &[]);
    assert_eq!(fs::read_to_string(&copy).unwrap(), "by a run");
    let later = std::time::SystemTime::now() + std::time::Duration::from_mins(1);
    fs::write(bed.home.join(".claude.json"), "second").unwrap();
    fs::File::open(bed.home.join(".claude.json")).unwrap().set_modified(later).unwrap();
    bed.arranged("claude", &[]);
    assert_eq!(fs::read_to_string(&copy).unwrap(), "second");
}

#[test]
fn a_person_who_moved_the_state_finds_it_there() {
    let bed = LayerBed::new(&[(".claude.json", "not of this state")]);
    let elsewhere = bed.home.join("elsewhere");
    let set = vec![("CLAUDE_CONFIG_DIR".into(), elsewhere.clone().into())];
    let states = bed.arranged("claude", &set);
    assert_eq!(states.layers[0].shared, elsewhere);
    assert!(states.variables.is_empty() && !states.layers[0].private.join(".claude.json").exists());
    let home = vec![("CLAUDE_CONFIG_DIR".into(), bed.home.clone().into())];
    let states = bed.arranged("claude", &home);
    assert!(states.layers.is_empty() && states.notes.len() == 1, "{states:?}");
}

#[test]
fn a_login_is_read_where_it_stands_and_not_where_somebody_led_it() {
    let bed = LayerBed::new(&[(".codex/auth.json", "mine"), (".ssh/id", "key"), ("work/codex/x", "")]);
    let (folder, codex) = (bed.home.join("work"), AgentProfile::find("codex"));
    let request = |environment| SandboxRequest { agent: codex, environment, ..SandboxRequest::default() };
    let read = |environment| logins(&request(environment), Some(&bed.home), std::slice::from_ref(&folder));
    assert_eq!(read(Vec::new()), [bed.home.join(".codex/auth.json")]);
    let moved = || vec![("CODEX_HOME".into(), folder.join("codex").into())];
    std::os::unix::fs::symlink(bed.home.join(".ssh/id"), folder.join("codex/auth.json")).unwrap();
    assert!(read(moved()).is_empty());
    fs::remove_file(folder.join("codex/auth.json")).unwrap();
    fs::write(folder.join("codex/auth.json"), "planted").unwrap();
    assert!(read(moved()).is_empty(), "a run could have written it");
}

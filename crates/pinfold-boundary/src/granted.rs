//! The serialised form of what a request grants, by which two runs can be compared.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use pinfold_policy::hosts::Hosts;
use pinfold_policy::path_scopes::KernelLists;
use pinfold_policy::settings::{SecretSetting, Secrets};
use pinfold_policy::{DeniedPaths, FolderChoice};
use pinfold_sandbox::{Limits, Openings, Temp};
use serde::{Serialize, Serializer};

use crate::request::{CacheChoice, EnvOverride, Network, SandboxMode, SandboxRequest};

/// Content of a request as it is granted. Field names and values are the form: a change of them changes every digest.
#[derive(Debug, Serialize)]
pub struct Granted<'a> {
    folder: OsText<'a>,
    folder_choice: GrantedFolderChoice<'a>,
    cwd: OsText<'a>,
    mode: &'static str,
    add: Vec<OsText<'a>>,
    allow_write: Vec<OsText<'a>>,
    allow_read: Vec<OsText<'a>>,
    visible: Vec<OsText<'a>>,
    deny_read: Vec<OsText<'a>>,
    lists: GrantedLists<'a>,
    denied: Vec<DeniedRule>,
    home: Option<OsText<'a>>,
    cache_home: Option<OsText<'a>>,
    state_home: Option<OsText<'a>>,
    caches: GrantedCaches<'a>,
    agent: Option<&'static str>,
    env_overrides: Vec<GrantedOverride<'a>>,
    network: GrantedNetwork<'a>,
    asks_about_hosts: bool,
    publishes: bool,
    sockets: Vec<OsText<'a>>,
    secrets: &'a BTreeMap<String, SecretSetting>,
    openings: GrantedOpenings,
    limits: GrantedLimits,
    temp: Option<OsText<'a>>,
    negotiable: bool,
}

#[derive(Debug, Serialize)]
struct GrantedFolderChoice<'a> {
    homes: Vec<OsText<'a>>,
    programs: Vec<OsText<'a>>,
    said_twice: bool,
    only_judged: bool,
}

#[derive(Debug, Serialize)]
struct GrantedLists<'a> {
    allowed: Vec<Vec<OsText<'a>>>,
    denied: Vec<OsText<'a>>,
}

/// A deny rule about paths, with where its pattern begins.
#[derive(Debug, Serialize)]
struct DeniedRule {
    closes: &'static str,
    rule: String,
    /// The path as bytes: a pattern may name one that is not UTF-8.
    place: Option<Vec<u8>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum GrantedCaches<'a> {
    All,
    None,
    Only(&'a [String]),
}

/// Values of variables are left out: they may be secrets, and a digest is as good as its guesses.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum GrantedOverride<'a> {
    Pass(OsText<'a>),
    Unset(OsText<'a>),
    Set(OsText<'a>),
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum GrantedNetwork<'a> {
    Off,
    Hosts(&'a Hosts),
    Host,
}

#[derive(Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "the form of independent features")]
struct GrantedOpenings {
    unix_sockets: bool,
    user_namespaces: bool,
    io_uring: bool,
    keyrings: bool,
    personality: bool,
    landlock: bool,
}

/// Limits in bytes, numbers and milliseconds.
#[derive(Debug, Serialize)]
struct GrantedLimits {
    memory: Option<u64>,
    processes: Option<u64>,
    cpu_time: Option<u128>,
    wall_time: Option<u128>,
    file_size: Option<u64>,
}

/// A path or a name of the operating system. Its bytes stand for it where it is no text.
#[derive(Debug)]
struct OsText<'a>(&'a OsStr);

fn path(path: &Path) -> OsText<'_> {
    OsText(path.as_os_str())
}

fn paths(paths: &[PathBuf]) -> Vec<OsText<'_>> {
    paths.iter().map(|at| path(at)).collect()
}

impl Serialize for OsText<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0.to_str() {
            Some(text) => to.serialize_str(text),
            None => to.serialize_bytes(self.0.as_encoded_bytes()),
        }
    }
}

impl SandboxRequest {
    /// Returns the content of the request, for a digest. Left out are the environment, which changes from one terminal to the next, and
    /// the private directory, which is another one for each run.
    pub fn granted(&self) -> Granted<'_> {
        // No `..`: a new field has to be given its place here.
        let Self {
            folder,
            folder_choice,
            cwd,
            mode,
            add,
            allow_write,
            allow_read,
            visible,
            deny_read,
            lists: KernelLists { allowed, denied: denied_places },
            denied,
            home,
            private: _,
            cache_home,
            state_home,
            caches,
            agent,
            environment: _,
            env_overrides,
            network,
            asks_about_hosts,
            publishes,
            sockets,
            secrets: Secrets(secrets),
            openings,
            limits,
            temp,
            negotiable,
        } = self;
        Granted {
            folder: path(folder),
            folder_choice: folder_choice_form(folder_choice),
            cwd: path(cwd),
            mode: mode.as_str(),
            add: paths(add),
            allow_write: paths(allow_write),
            allow_read: paths(allow_read),
            visible: paths(visible),
            deny_read: paths(deny_read),
            lists: GrantedLists {
                allowed: allowed.iter().map(|list| paths(list)).collect(),
                denied: paths(denied_places),
            },
            denied: denied_rules(denied),
            home: home.as_deref().map(path),
            cache_home: cache_home.as_deref().map(path),
            state_home: state_home.as_deref().map(path),
            caches: match caches {
                CacheChoice::All => GrantedCaches::All,
                CacheChoice::None => GrantedCaches::None,
                CacheChoice::Only(names) => GrantedCaches::Only(names),
            },
            agent: agent.map(|agent| agent.name),
            env_overrides: env_overrides.iter().map(override_form).collect(),
            network: match network {
                Network::Off => GrantedNetwork::Off,
                Network::Hosts(hosts) => GrantedNetwork::Hosts(hosts.configured()),
                Network::Host => GrantedNetwork::Host,
            },
            asks_about_hosts: *asks_about_hosts,
            publishes: *publishes,
            sockets: paths(sockets),
            secrets,
            openings: openings_form(*openings),
            limits: limits_form(*limits),
            temp: match temp {
                Temp::Private => None,
                Temp::Directory(directory) => Some(path(directory)),
            },
            negotiable: *negotiable,
        }
    }
}

impl SandboxMode {
    /// Returns the word of settings and flags.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::DefaultWrite => "default-write",
        }
    }
}

fn folder_choice_form(choice: &FolderChoice) -> GrantedFolderChoice<'_> {
    let FolderChoice { homes, programs, said_twice, only_judged } = choice;
    let (homes, programs) = (paths(homes), paths(programs));
    GrantedFolderChoice { homes, programs, said_twice: *said_twice, only_judged: *only_judged }
}

fn denied_rules(denied: &DeniedPaths) -> Vec<DeniedRule> {
    let read = denied.read_patterns().map(|pattern| ("reading", pattern));
    let written = denied.write_patterns().map(|pattern| ("writing", pattern));
    let with_path = read.chain(written).map(|(closes, pattern)| DeniedRule {
        closes,
        rule: pattern.rule().rule.to_string(),
        place: Some(pattern.place().into_os_string().into_encoded_bytes()),
    });
    let everywhere = [("reading", denied.reads_nowhere()), ("writing", denied.writes_nowhere())];
    let everywhere = everywhere
        .into_iter()
        .filter_map(|(closes, rule)| Some(DeniedRule { closes, rule: rule?.rule.to_string(), place: None }));
    with_path.chain(everywhere).collect()
}

fn override_form(of: &EnvOverride) -> GrantedOverride<'_> {
    match of {
        EnvOverride::Pass(name) => GrantedOverride::Pass(OsText(name)),
        EnvOverride::Unset(name) => GrantedOverride::Unset(OsText(name)),
        EnvOverride::Set(name, _) => GrantedOverride::Set(OsText(name)),
    }
}

fn openings_form(openings: Openings) -> GrantedOpenings {
    let Openings { unix_sockets, user_namespaces, io_uring, keyrings, personality, landlock } = openings;
    GrantedOpenings { unix_sockets, user_namespaces, io_uring, keyrings, personality, landlock }
}

fn limits_form(limits: Limits) -> GrantedLimits {
    let Limits { memory, processes, cpu_time, wall_time, file_size } = limits;
    GrantedLimits {
        memory,
        processes,
        cpu_time: cpu_time.map(|time| time.as_millis()),
        wall_time: wall_time.map(|time| time.as_millis()),
        file_size,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(request: &SandboxRequest) -> String {
        serde_json::to_string(&request.granted()).unwrap()
    }

    #[test]
    fn the_form_changes_with_what_is_granted_and_with_nothing_else() {
        let plain = SandboxRequest::new("/w");
        let same = SandboxRequest { environment: vec![("A".into(), "b".into())], ..plain.clone() };
        assert_eq!(form(&plain), form(&same));
        let set = |value: &str| SandboxRequest {
            env_overrides: vec![EnvOverride::Set("KEY".into(), value.into())],
            ..plain.clone()
        };
        assert_eq!(form(&set("one")), form(&set("two")));
        for other in [
            set("one"),
            SandboxRequest { home: Some("/home/a".into()), ..plain.clone() },
            SandboxRequest { cache_home: Some("/c".into()), ..plain.clone() },
            SandboxRequest { temp: Temp::Directory("/t".into()), ..plain.clone() },
            SandboxRequest { network: Network::Host, ..plain.clone() },
            SandboxRequest { negotiable: true, ..plain.clone() },
        ] {
            assert_ne!(form(&plain), form(&other), "{other:?}");
        }
    }

    #[test]
    fn the_form_of_a_request_is_as_it_is_written_here() {
        let form: serde_json::Value = serde_json::from_str(&form(&SandboxRequest::new("/w"))).unwrap();
        assert_eq!(form["folder"], "/w");
        assert_eq!(form["mode"], "workspace-write");
        assert_eq!(form["network"], "off");
        assert_eq!(form["caches"], "all");
        assert_eq!(form.as_object().unwrap().len(), 26);
    }
}

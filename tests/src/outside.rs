//! Servers outside of a run, and a bed whose settings allow some of them.
//!
//! Names of the tests are pinned to addresses of this machine by settings (`network.hosts`), as a person can do it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::missing::all_there;
use crate::output::describe;
use crate::{Bed, Tier, Who};

pub(crate) const TOOLS: [&str; 2] = ["python3", "openssl"];

/// Servers outside, and a bed whose settings allow some of them.
pub struct World {
    /// Where runs are.
    pub bed: Bed,
    server: Child,
    ports: BTreeMap<String, u16>,
    abstract_name: String,
}

impl Drop for World {
    fn drop(&mut self) {
        // It ends with its input.
        drop(self.server.stdin.take());
        let _ = self.server.wait();
    }
}

/// A file of the data of these tests.
pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("network").join(name)
}

impl World {
    /// Starts the servers.
    ///
    /// # Panics
    /// When they cannot be started.
    pub fn new(who: Who) -> Self {
        Self::changed(who, |_, _| {})
    }

    /// The same, with other settings.
    ///
    /// # Panics
    /// As [`World::new`].
    pub fn changed(who: Who, change: impl Fn(&mut Value, &Self)) -> Self {
        let bed = Bed::new(who);
        let (outside, home) = (bed.outside(), bed.home());
        let (certificate, key, hits) =
            (outside.join("certificate"), outside.join("key"), outside.join("hits"));
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"])
            .args(["-days", "2", "-subj", "/CN=outside", "-addext"])
            .arg("subjectAltName=DNS:allowed.test,DNS:other.test,DNS:localhost")
            .args([Path::new("-out"), &certificate, Path::new("-keyout"), &key])
            .output()
            .expect("openssl");
        assert!(made.status.success(), "{}", describe(&made));
        fs::copy(&certificate, bed.folder().join("certificate")).expect("a copy");
        let mut server = Command::new("python3")
            .arg(data("server.py"))
            .args([&certificate, &key, &hits])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3");
        let mut line = String::new();
        BufReader::new(server.stdout.take().expect("piped")).read_line(&mut line).expect("ports");
        let said: Value = serde_json::from_str(&line).expect("JSON");
        let ports: BTreeMap<String, u16> = ["http", "https", "banner"]
            .map(|name| (name.to_owned(), serde_json::from_value(said[name].clone()).expect("a port")))
            .into();
        let abstract_name = said["abstract"].as_str().expect("a name").to_owned();
        let world = Self { bed, server, ports, abstract_name };
        let config = home.join(".config/pinfold");
        fs::create_dir_all(&config).expect("a directory");
        let mut settings = world.settings();
        change(&mut settings, &world);
        fs::write(config.join("settings.json"), settings.to_string()).expect("settings");
        fs::copy(data("inside.py"), world.bed.folder().join("inside.py")).expect("a copy");
        world.bed.give();
        world
    }

    /// The port of a server: `http`, `https`, `banner`.
    ///
    /// # Panics
    /// When there is none of that name.
    pub fn port(&self, name: &str) -> u16 {
        self.ports[name]
    }

    /// What a person would write who has these names in a network at home.
    fn settings(&self) -> Value {
        let (http, https, banner) = (self.port("http"), self.port("https"), self.port("banner"));
        let at = |host: &str| [http, https, banner].map(|port| format!("{host}:{port}"));
        let mut allow: Vec<String> =
            ["allowed.test", "near.test", "both.test", "meta.test", "denied-address.test"]
                .iter()
                .flat_map(|host| at(host))
                .collect();
        allow.extend(at("*.wide.test"));
        allow.extend(at("127.0.0.1"));
        allow.extend([format!("only-web.test:{http}"), "gone.test:9".to_owned(), "127.0.0.1:9".to_owned()]);
        json!({"network": {
            "allow": allow,
            "deny": ["denied.wide.test", "127.0.0.3"],
            "hosts": {
                "allowed.test": ["127.0.0.1"],
                "only-web.test": ["127.0.0.1"],
                "other.test": ["127.0.0.1"],
                "a.b.wide.test": ["127.0.0.1"],
                "denied.wide.test": ["127.0.0.1"],
                "near.test": ["127.0.0.2"],
                "both.test": ["127.0.0.1", "127.0.0.2"],
                "meta.test": ["169.254.169.254"],
                "denied-address.test": ["127.0.0.3"],
                "gone.test": ["127.0.0.1"],
            },
        }, "permissions": {"allow": ["WebFetch(domain:127.0.0.1)"]}})
    }

    /// Tells a command where the servers are.
    pub fn tell(&self, command: &mut Command) {
        for (name, port) in &self.ports {
            command.env(format!("PORT_{}", name.to_uppercase()), port.to_string());
        }
        command.env("ABSTRACT", &self.abstract_name);
    }

    /// What has arrived outside.
    pub fn hits(&self) -> String {
        fs::read_to_string(self.bed.outside().join("hits")).unwrap_or_default()
    }

    /// Whether a word arrives within a moment.
    pub fn arrives(&self, word: &str) -> bool {
        for _ in 0..20 {
            if self.hits().contains(word) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }
}

/// With these servers, where that user can have the full tier.
pub fn with_world(who: Who, attempt: impl Fn(&World)) {
    with_world_on(who, Tier::Full, |_, _| {}, attempt);
}

/// With these servers and other settings, on a tier where that user can have it.
pub fn with_world_on(who: Who, tier: Tier, change: impl Fn(&mut Value, &World), attempt: impl Fn(&World)) {
    if all_there("hosts that were allowed", &TOOLS) && tier.is_possible_for(who) {
        attempt(&World::changed(who, &change));
    }
}

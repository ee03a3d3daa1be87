//! Only hosts that were allowed: ordinary uses work with nothing set, attacks lose, and the report names them.
//!
//! `tests/network` holds the uses and the attacks as data, and the servers outside. Names of the tests are pinned to
//! addresses of this machine by settings (`network.hosts`), as a person can do it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use pinfold_tests::bed::told;
use pinfold_tests::missing::all_there;
use pinfold_tests::{Bed, Tier, Who};
use serde_json::{Value, json};

const TOOLS: [&str; 2] = ["python3", "openssl"];

/// Servers outside, and a bed whose settings allow some of them.
struct World {
    bed: Bed,
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

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("network").join(name)
}

impl World {
    fn new(who: Who) -> Self {
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
        assert!(made.status.success(), "{}", told(&made));
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
        fs::write(config.join("settings.json"), world.settings().to_string()).expect("settings");
        fs::copy(data("inside.py"), world.bed.folder().join("inside.py")).expect("a copy");
        world.bed.give();
        world
    }

    fn port(&self, name: &str) -> u16 {
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

    /// Runs a piece of Python inside, or free; what it says.
    fn python(&self, case: &Case, confined: bool) -> Output {
        let code = format!("from inside import *\n{}\nprint('done')\n", case.code);
        let script = self.bed.folder().join("case.py");
        File::create(&script).and_then(|mut file| file.write_all(code.as_bytes())).expect("a script");
        let options = ["--json", "--ask", "nobody"];
        let mut command = if confined { self.bed.run(Tier::Full, &options) } else { self.bed.free("env") };
        command.args(["python3", "case.py", &case.name]);
        for (name, port) in &self.ports {
            command.env(format!("PORT_{}", name.to_uppercase()), port.to_string());
        }
        command.env("ABSTRACT", &self.abstract_name).output().expect("python3")
    }

    /// What has arrived outside.
    fn hits(&self) -> String {
        fs::read_to_string(self.bed.outside().join("hits")).unwrap_or_default()
    }

    /// Whether a word arrives within a moment.
    fn arrives(&self, word: &str) -> bool {
        for _ in 0..20 {
            if self.hits().contains(word) {
                return true;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        false
    }
}

/// A section of a data file: lines `key: value`, then code.
struct Case {
    name: String,
    free: bool,
    arrives: String,
    code: String,
}

fn cases(file: &str) -> Vec<Case> {
    let text = fs::read_to_string(data(file)).expect("a data file");
    let only = std::env::var("ONLY").unwrap_or_default();
    let cases = text.split("\n=== ").skip(1).map(|section| {
        let (name, rest) = section.split_once('\n').expect("a name");
        let mut case = Case { name: name.into(), free: true, arrives: name.into(), code: String::new() };
        for line in rest.lines() {
            match line.split_once(": ") {
                Some(("free", value)) => case.free = value == "yes",
                Some(("arrives", value)) => case.arrives = value.into(),
                _ => case.code.extend([line.strip_prefix("    ").unwrap_or(line), "\n"]),
            }
        }
        case
    });
    cases.filter(|case| case.name.contains(&only)).collect()
}

/// As everybody who is there and can have the full tier.
fn everybody(attempt: impl Fn(&World)) {
    if !all_there("hosts that were allowed", &TOOLS) {
        return;
    }
    for who in Who::present().into_iter().filter(|who| Tier::Full.is_possible_for(*who)) {
        println!("{who}");
        attempt(&World::new(who));
    }
}

fn report(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said.lines().rev().find(|line| line.starts_with('{'));
    line.and_then(|line| serde_json::from_str(line).ok())
        .unwrap_or_else(|| panic!("no report: {}", told(output)))
}

#[test]
fn ordinary_uses_work_with_nothing_set() {
    everybody(|world| {
        for case in cases("uses.txt") {
            let output = world.python(&case, true);
            println!("{}", case.name);
            assert_eq!(String::from_utf8_lossy(&output.stdout), "done\n", "{}: {}", case.name, told(&output));
        }
    });
}

#[test]
fn attacks_lose() {
    everybody(|world| {
        let mut wrong = Vec::new();
        for case in cases("attacks.txt") {
            let output = world.python(&case, true);
            if world.arrives(&case.arrives) {
                wrong.push(format!("{} got out: {}", case.name, told(&output)));
            }
            if case.free {
                fs::write(world.bed.outside().join("hits"), "").expect("a file");
                let output = world.python(&case, false);
                if !world.arrives(&case.arrives) {
                    wrong.push(format!("{} is harmless even free: {}", case.name, told(&output)));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}

#[test]
fn what_is_refused_is_named_in_the_report_and_the_record() {
    everybody(|world| {
        let case = Case {
            name: "named".into(),
            free: false,
            arrives: String::new(),
            code: "import contextlib\n\
                   for host in ('other.test', '203.0.113.9', 'near.test', 'denied.wide.test'):\n    \
                       with contextlib.suppress(OSError):\n        ask(tcp(host, HTTP), host)\n\
                   with contextlib.suppress(OSError):\n    ask(tls(tcp('allowed.test', HTTPS), 'other.test'), 'x')\n\
                   with contextlib.suppress(OSError):\n    tcp('allowed.test', 9999)\n"
                .into(),
        };
        let output = world.python(&case, true);
        let report = report(&output);
        let (http, https) = (world.port("http"), world.port("https"));
        let refused = report["refused"].as_array().expect("a list");
        for (tried, place, why) in [
            ("look up", "other.test".to_owned(), "no rule allows this host"),
            ("reach", format!("203.0.113.9:{http}"), "no rule allows this host"),
            (
                "reach",
                format!("near.test:{http}"),
                "it leads to 127.0.0.2, and it is an address of this machine",
            ),
            ("look up", "denied.wide.test".to_owned(), "a rule denies it"),
            ("reach", format!("allowed.test:{https}"), "its TLS hello names `other.test`"),
            ("connect", "allowed.test:9999".to_owned(), "no rule allows any host at this port"),
        ] {
            let found = refused
                .iter()
                .find(|one| one["tried"] == tried && one["place"] == place.as_str())
                .unwrap_or_else(|| panic!("{tried} {place} is not named: {report:#}"));
            assert_eq!(found["why"], why, "{found:#}");
            if tried == "reach" {
                assert_eq!(found["program"], "python3", "{found:#}");
            }
            let id = found["id"].as_str().expect("a name");
            let mut log = world.bed.free(pinfold_tests::product::pinfold());
            let log = log.args(["log", "--json"]).output().expect("pinfold");
            let lines = String::from_utf8_lossy(&log.stdout).into_owned();
            assert!(lines.contains(&format!("\"{id}\"")), "{id} is not in the record: {}", told(&log));
        }
        let denied =
            refused.iter().find(|one| one["place"] == "denied.wide.test").expect("it was there before");
        assert_eq!(denied["rule"], "denied.wide.test");
        assert!(denied["source"].as_str().is_some_and(|at| at.contains("settings.json:")), "{denied:#}");
    });
}

#[test]
fn without_a_network_of_its_own_nothing_is_reached() {
    everybody(|world| {
        let script = format!("exec 3<>/dev/tcp/127.0.0.1/{}", world.port("http"));
        let mut command = world.bed.run(Tier::LandlockOnly, &["--allow-host", "127.0.0.1"]);
        let output = command.args(["bash", "-c", &script]).output().expect("pinfold");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{}", told(&output));
        assert!(said.contains("only the full tier can hold a run to some hosts"), "{said}");
    });
}

#[test]
fn flags_and_settings_meet() {
    everybody(|world| {
        let try_it = |options: &[&str]| {
            let script = format!(
                "exec 3<>/dev/tcp/127.0.0.1/{} && printf 'GET / HTTP/1.0\\r\\nHost: 127.0.0.1\\r\\n\\r\\n' >&3 && grep -q hello <&3",
                world.port("http")
            );
            let mut command = world.bed.run(Tier::Full, options);
            command.args(["bash", "-c", &script]).output().expect("pinfold")
        };
        assert!(try_it(&[]).status.success(), "settings allow it");
        assert!(!try_it(&["--network", "off"]).status.success(), "a flag closes it");
        assert!(!try_it(&["--no-settings"]).status.success(), "nobody allows it");
        let named = format!("127.0.0.1:{}", world.port("http"));
        assert!(try_it(&["--no-settings", "--allow-host", &named]).status.success(), "a flag allows it");
        for bad in ["https://example.org", "a b", "example.org:53", "10.0.0.0/99"] {
            let output = try_it(&["--allow-host", bad]);
            assert_eq!(output.status.code(), Some(2), "{bad}: {}", told(&output));
            assert!(String::from_utf8_lossy(&output.stderr).contains("--allow-host"), "{}", told(&output));
        }
    });
}

#[test]
fn the_bash_tool_reaches_the_same_hosts() {
    everybody(|world| {
        let call = |host: &str| {
            let command = format!("curl -sS -m 20 http://{host}:{}/by-tool", world.port("http"));
            let mut pinfold = world.bed.free(pinfold_tests::product::pinfold());
            let input = json!({"command": command}).to_string();
            let output = pinfold
                .args(["call", "--allow-bash", "--allowedTools", "Bash", "--ask", "nobody", "Bash", &input])
                .output()
                .expect("pinfold");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let said = call("allowed.test");
        assert!(said.contains("hello from outside"), "{said}");
        let said = call("other.test");
        assert!(said.contains("is not reached: no rule allows this host"), "{said}");
        assert!(said.contains("[refused by the sandbox:") && !said.contains("--allow-host"), "{said}");
    });
}

#[test]
fn programs_that_people_use_work_as_they_are() {
    everybody(|world| {
        let (http, https) = (world.port("http"), world.port("https"));
        let sh = |script: &str| {
            let mut command = world.bed.run(Tier::Full, &["--ask", "nobody"]);
            let output = command.args(["sh", "-ec", script]).output().expect("pinfold");
            (output.status.success(), format!("{script}\n{}", told(&output)))
        };
        let direct =
            "env -u http_proxy -u https_proxy -u HTTPS_PROXY -u all_proxy -u ALL_PROXY -u HTTP_PROXY";
        if all_there("curl", &["curl"]) {
            for around in ["", direct] {
                for script in [
                    format!(
                        "{around} curl -fsS -m 20 --cacert certificate https://allowed.test:{https}/ | grep hello"
                    ),
                    format!("{around} curl -fsS -m 20 http://allowed.test:{http}/ | grep hello"),
                    // The redirect is refused in words.
                    format!(
                        "{around} curl -sSL -m 20 http://allowed.test:{http}/redirect | grep 'no rule allows'"
                    ),
                    format!("! {around} curl -fsSL -m 20 http://allowed.test:{http}/elsewhere"),
                    format!(
                        "! {around} curl -kfsS -m 20 --connect-to ::allowed.test: https://other.test:{https}/"
                    ),
                ] {
                    let (done, said) = sh(&script);
                    assert!(done, "{said}");
                }
            }
            let (done, said) = sh(&format!(
                "curl -fsS -m 20 --socks5-hostname $(echo $HTTP_PROXY | cut -d/ -f3) http://allowed.test:{http}/ | grep hello"
            ));
            assert!(done, "{said}");
        }
        if all_there("git", &["git"]) {
            let bare = world.bed.outside().join("git/repo.git");
            let made = Command::new("sh")
                .args(["-ec", "git init -q -b main work && cd work && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one && cd .. && \
                     git clone -q --bare work git/repo.git && git -C git/repo.git update-server-info && chmod -R a+rX git"])
                .current_dir(world.bed.outside())
                .output()
                .expect("git");
            assert!(made.status.success() && bare.exists(), "{}", told(&made));
            for (name, around) in [("by-proxy", ""), ("direct", direct)] {
                let (done, said) = sh(&format!(
                    "{around} git clone -q http://allowed.test:{http}/git/repo.git {name} && git -C {name} log --oneline | grep one"
                ));
                assert!(done, "{said}");
            }
            let (done, said) = sh(&format!("! git clone -q http://other.test:{http}/git/repo.git x"));
            assert!(done && said.contains("403"), "{said}");
        }
        if all_there("ssh", &["ssh"]) {
            // It meets the host, which is none that it could talk to any further.
            let (_, said) = sh(&format!(
                "ssh -o StrictHostKeyChecking=no -p {} allowed.test 2>&1 || true",
                world.port("banner")
            ));
            let met = ["Connection", "kex", "No user exists"].iter().any(|word| said.contains(word));
            assert!(met, "{said}");
            assert!(!said.contains("resolve"), "{said}");
        }
    });
}

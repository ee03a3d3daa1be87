//! Tools that people use, against real servers outside: with the host allowed and nothing else set they work, and with
//! another host allowed they do not.
//!
//! Servers belong to the test: an ordinary user starts them on loopback, and they end with it. Names lead there by
//! settings (`network.hosts`). What trusts their authority is told so by the variable that it has for that.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use pinfold_tests::missing::{all_there, left_out, which};
use pinfold_tests::output::describe;
use pinfold_tests::ports::free_port;
use pinfold_tests::toolchain::toolchain;
use pinfold_tests::{Bed, Tier, Who, each};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// How long a server may take to listen.
const START_TIMEOUT: Duration = Duration::from_mins(1);

/// A server that ends with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // Databases clean up after themselves when they are asked to end.
        if let Some(pid) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::INT);
        }
        let end = Instant::now() + Duration::from_secs(5);
        while matches!(self.0.try_wait(), Ok(None)) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Where servers of an ordinary user live.
fn ground() -> Bed {
    Bed::new(Who::Ordinary)
}

/// Starts a server, and waits until it listens.
fn serve(mut command: Command, port: u16) -> Server {
    let log = command.get_current_dir().expect("a folder").join(format!("log.{port}"));
    let file = fs::File::create(&log).expect("a file");
    command.stdin(Stdio::null()).stdout(file.try_clone().expect("a file")).stderr(file);
    let mut server = Server(command.spawn().expect("a server"));
    let end = Instant::now() + START_TIMEOUT;
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        let ended = server.0.try_wait().expect("a child");
        let said = || fs::read_to_string(&log).unwrap_or_default();
        assert!(ended.is_none() && Instant::now() < end, "no server: {}", said());
        std::thread::sleep(Duration::from_millis(20));
    }
    server
}

/// Runs a command outside that prepares something.
fn prepare(mut command: Command) {
    let output = command.output().expect("a program");
    assert!(output.status.success(), "{command:?}: {}", describe(&output));
}

/// The same command by a user who has an account: some programs want to know their own name. `None` where no account
/// can be pretended.
fn with_account(bed: &Bed, command: &Command) -> Option<Command> {
    let (home, uid) = (bed.home(), bed.who().other_uid());
    let mut known = match uid {
        None => Command::new(command.get_program()),
        Some(uid) => {
            let accounts = bed.home().join("accounts");
            let own = format!("stranger:x:{uid}:{uid}::{}:/bin/sh\n", home.display());
            fs::write(&accounts, fs::read_to_string("/etc/passwd").ok()? + &own).expect("a file");
            let mut known = Command::new("unshare");
            known.args(["--mount", "sh", "-ec", "mount --bind \"$0\" /etc/passwd; exec \"$@\""]);
            known.arg(accounts).arg(command.get_program());
            known
        }
    };
    let possible = uid.is_none()
        || Command::new("unshare").args(["--mount", "true"]).output().is_ok_and(|o| o.status.success());
    if !possible {
        left_out("a server that wants to know its own name", "no mount namespace to be had");
        return None;
    }
    known.args(command.get_args()).env_clear().current_dir(command.get_current_dir().expect("a folder"));
    known.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Some(known)
}

/// An authority, and a certificate of it for every name below `tools.test`.
fn certificates(at: &Path) {
    let openssl = |arguments: &str| {
        let mut command = Command::new("openssl");
        command.args(arguments.split(' ')).current_dir(at);
        prepare(command);
    };
    let ec = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    openssl(&format!("req -x509 {ec} -days 2 -subj /CN=authority -out roots.pem -keyout roots.key"));
    openssl(&format!("req {ec} -subj /CN=host -out host.csr -keyout host.key"));
    let names = "subjectAltName=DNS:*.tools.test\nbasicConstraints=CA:FALSE\n";
    fs::write(at.join("names"), names).expect("a file");
    openssl(
        "x509 -req -in host.csr -CA roots.pem -CAkey roots.key -CAcreateserial -days 2 -extfile names -out host.pem",
    );
}

/// A repository with one commit, below a place.
fn repository(bed: &Bed) {
    let script = "git init -q -b main work && cd work && git -c user.name=a -c user.email=a@b \
         commit -q --allow-empty -m one && cd .. && git clone -q --bare work repo.git";
    let mut git = bed.free("sh");
    git.args(["-ec", script]).current_dir(bed.outside());
    prepare(git);
}

/// Somebody's folder and settings, in which names below `tools.test` lead to this machine.
struct Person {
    bed: Bed,
    tier: Tier,
}

impl Person {
    fn new(who: Who, ports: &[u16], more: &Value) -> Self {
        let bed = Bed::new(who);
        let names = ["code", "crates", "npm", "pip", "db", "cache", "web", "other"];
        let hosts: serde_json::Map<String, Value> =
            names.iter().map(|name| (format!("{name}.tools.test"), json!(["127.0.0.1"]))).collect();
        let near: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        let mut network = json!({"hosts": hosts, "allow": near});
        if let (Some(all), Some(more)) = (network.as_object_mut(), more.as_object()) {
            all.extend(more.clone());
        }
        let config = bed.home().join(".config/pinfold");
        fs::create_dir_all(&config).expect("a directory");
        fs::write(config.join("settings.json"), json!({"network": network}).to_string()).expect("settings");
        bed.give();
        Self { bed, tier: Tier::Full }
    }

    fn put(&self, name: &str, text: &str) {
        let at = self.bed.folder().join(name);
        fs::create_dir_all(at.parent().expect("a parent")).expect("a directory");
        fs::write(at, text).expect("a file");
        self.bed.give();
    }

    fn command(&self, host: &str, script: &str) -> Command {
        let mut command = self.bed.run(self.tier, &["--ask", "nobody", "--allow-host", host]);
        command.args(["sh", "-ec", script]);
        command
    }

    /// A script works where its host is allowed, and does not where another one is.
    fn needs(&self, host: &str, tell: impl Fn(&mut Command), script: &str, said: &str) {
        let run = |host: &str| {
            let mut command = self.command(host, script);
            tell(&mut command);
            command.output().expect("pinfold")
        };
        let port = host.rsplit_once(':').expect("a port").1;
        let output = run(&format!("other.tools.test:{port}"));
        assert!(!does(&output, said), "not allowed, and yet: {script}\n{}", describe(&output));
        let report = String::from_utf8_lossy(&output.stderr);
        let name = host.split(':').next().expect("a name");
        assert!(
            report.contains(&format!("look up {name}")) || report.contains(&format!("reach {name}")),
            "{report}"
        );
        let output = run(host);
        assert!(does(&output, said), "{}: {script}\n{}", self.bed.who(), describe(&output));
    }
}

fn does(output: &Output, said: &str) -> bool {
    output.status.success() && String::from_utf8_lossy(&output.stdout).contains(said)
}

fn nothing(_: &mut Command) {}

/// Registries and repositories within TLS, and what they are called.
struct Registries {
    ground: Bed,
    child: Child,
    ports: Value,
}

impl Drop for Registries {
    fn drop(&mut self) {
        // It ends with its input.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

impl Registries {
    fn new() -> Self {
        let ground = ground();
        certificates(&ground.outside());
        ground.give();
        repository(&ground);
        let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("network/services.py");
        let at = ground.outside();
        let mut child = ground
            .free("/usr/bin/python3")
            .arg(server)
            .args([&at.join("host.pem"), &at.join("host.key"), &at])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("ports");
        let ports = serde_json::from_str(&line).expect("JSON");
        Self { ground, child, ports }
    }

    fn port(&self, name: &str) -> Option<u16> {
        u16::try_from(self.ports[name].as_u64()?).ok()
    }

    fn https(&self) -> u16 {
        self.port("https").expect("a port")
    }

    fn roots(&self) -> PathBuf {
        self.ground.outside().join("roots.pem")
    }
}

/// A tool that fetches within TLS: its host, what its project says, what it does, and what it believes authorities by.
struct Fetcher {
    host: &'static str,
    programs: &'static [&'static str],
    project: &'static [(&'static str, &'static str)],
    script: &'static str,
    said: &'static str,
    trust: &'static str,
}

const FETCHERS: [Fetcher; 4] = [
    Fetcher {
        host: "code.tools.test",
        programs: &["git"],
        project: &[],
        script: "git clone -q https://code.tools.test:PORT/repo.git; git -C repo log --oneline",
        said: "one",
        trust: "GIT_SSL_CAINFO",
    },
    Fetcher {
        host: "crates.tools.test",
        programs: &[],
        project: &[
            (
                ".cargo/config.toml",
                "[source.crates-io]\nreplace-with = \"mirror\"\n[net]\nretry = 0\n[source.mirror]\nregistry = \"sparse+https://crates.tools.test:PORT/crates/\"\n",
            ),
            (
                "Cargo.toml",
                "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\noutside-tiny = \"1\"\n",
            ),
            ("src/lib.rs", ""),
        ],
        script: "cargo fetch; cargo metadata --offline --format-version 1 | grep -o outside-tiny-1.0.0/src/lib.rs",
        said: "outside-tiny-1.0.0/src/lib.rs",
        trust: "CARGO_HTTP_CAINFO",
    },
    Fetcher {
        host: "npm.tools.test",
        programs: &["npm", "node"],
        project: &[
            (
                ".npmrc",
                "registry=https://npm.tools.test:PORT/npm/\naudit=false\nfund=false\nupdate-notifier=false\nfetch-retries=0\n",
            ),
            ("package.json", r#"{"name":"app","version":"1.0.0","dependencies":{"outside-tiny":"1"}}"#),
        ],
        script: "npm install >&2; node -p 'require(\"outside-tiny\")'",
        said: "outside",
        trust: "npm_config_cafile",
    },
    Fetcher {
        host: "pip.tools.test",
        programs: &["pip3"],
        project: &[(
            "requirements.txt",
            "--index-url https://pip.tools.test:PORT/pip/\noutside-tiny==1.0.0\n",
        )],
        script: "pip3 install --retries 0 --disable-pip-version-check -q --target lib -r requirements.txt >&2; \
                 PYTHONPATH=lib /usr/bin/python3 -c 'import outside_tiny; print(outside_tiny.FROM)'",
        said: "outside",
        trust: "PIP_CERT",
    },
];

/// Lets a tool try its host, where it is there.
fn fetch(
    registries: &Registries,
    (who, tier): (Who, Tier),
    tool: &Fetcher,
    more: &Value,
    tell: impl Fn(&mut Command),
) {
    if !all_there(tool.host, tool.programs) {
        return;
    }
    let Some(rust) = toolchain(who) else { return left_out(tool.host, "no toolchain") };
    let port = registries.https();
    let fill = |text: &str| text.replace("PORT", &port.to_string());
    let person = Person { tier, ..Person::new(who, &[port], more) };
    for (name, text) in tool.project {
        person.put(name, &fill(text));
    }
    let script = format!("export PATH={}:$PATH\n{}", rust.join("bin").display(), fill(tool.script));
    println!("{who}, {tier}: {}", tool.host);
    person.needs(&format!("{}:{port}", tool.host), tell, &script, tool.said);
}

const FETCHING: [&str; 3] = ["python3", "openssl", "git"];

#[each(user, tier)]
fn git_cargo_npm_and_pip_fetch_within_tls(who: Who, tier: Tier) {
    if !all_there("package managers", &FETCHING) {
        return;
    }
    let registries = Registries::new();
    for tool in &FETCHERS {
        let trust = |command: &mut Command| {
            command.env(tool.trust, registries.roots());
        };
        fetch(&registries, (who, tier), tool, &json!({}), trust);
    }
}

#[each(user, tier)]
fn they_fetch_from_a_host_that_is_opened_for_a_secret_with_nothing_set(who: Who, tier: Tier) {
    if !all_there("package managers and a secret", &FETCHING) {
        return;
    }
    let registries = Registries::new();
    for tool in &FETCHERS {
        let host = format!("{}:{}", tool.host, registries.https());
        let secrets = json!({"secrets": {"KEY": {"host": host, "from": {"env": "HARMLESS_NAME"}}}});
        let outside = |command: &mut Command| {
            // What the relay believes, and the machine.
            command.env("SSL_CERT_FILE", registries.roots()).env("HARMLESS_NAME", "s3cret");
        };
        fetch(&registries, (who, tier), tool, &secrets, outside);
    }
}

#[each(user)]
fn git_clones_by_ssh(who: Who) {
    let sshd = "/usr/sbin/sshd";
    if !all_there("git over ssh", &["git", "ssh", "sshd", "ssh-keygen"]) {
        return;
    }
    let ground = ground();
    repository(&ground);
    let at = ground.outside();
    for key in ["host", "own"] {
        let mut keygen = Command::new("ssh-keygen");
        keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(at.join(key));
        prepare(keygen);
    }
    let port = free_port();
    let config = format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {at}/host\nAuthorizedKeysFile {at}/own.pub\nPidFile none\n\
         StrictModes no\nUsePAM no\nPasswordAuthentication no\n",
        at = at.display()
    );
    fs::write(at.join("config"), config).expect("a file");
    ground.give();
    let mut command = ground.free(sshd);
    command.args(["-D", "-e", "-f"]).arg(at.join("config")).current_dir(&at);
    let Some(command) = with_account(&ground, &command) else { return };
    let _server = serve(command, port);
    let key = fs::read_to_string(at.join("host.pub")).expect("a key");
    let login = if Who::Ordinary.other_uid().is_some() { "stranger".to_owned() } else { own_name(&ground) };
    if !Tier::Full.is_possible_for(who) {
        return;
    }
    let person = Person::new(who, &[port], &json!({}));
    person.put("known", &format!("[code.tools.test]:{port} {key}"));
    person.put("own", &fs::read_to_string(at.join("own")).expect("a key"));
    let mode = fs::Permissions::from_mode(0o600);
    fs::set_permissions(person.bed.folder().join("own"), mode).expect("a mode");
    let clone = format!(
        "GIT_SSH_COMMAND='ssh -i own -o IdentitiesOnly=yes -o UserKnownHostsFile=known' \
         git clone -q ssh://{login}@code.tools.test:{port}{}/repo.git; git -C repo log --oneline",
        at.display()
    );
    let (allowed, other) = (format!("code.tools.test:{port}"), format!("other.tools.test:{port}"));
    for (host, works) in [(other, false), (allowed, true)] {
        let Some(mut run) = with_account(&person.bed, &person.command(&host, &clone)) else { return };
        let output = run.output().expect("pinfold");
        assert_eq!(does(&output, "one"), works, "{who}: {host}: {}", describe(&output));
    }
}

/// The name of whoever runs the tests.
fn own_name(bed: &Bed) -> String {
    let output = bed.free("id").arg("-un").output().expect("id");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A program of the database, which Debian keeps aside.
fn of_postgres(name: &str) -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    which(name).or_else(|| versions.map(|at| at.path().join("bin").join(name)).find(|at| at.is_file()))
}

#[each(user)]
fn psql_asks_a_database(who: Who) {
    let (Some(initdb), Some(postgres)) = (of_postgres("initdb"), of_postgres("postgres")) else {
        return left_out("psql", "no PostgreSQL here");
    };
    if !all_there("psql", &["psql", "openssl"]) {
        return;
    }
    let ground = ground();
    let at = ground.outside();
    certificates(&at);
    ground.give();
    let mut make = ground.free(initdb);
    make.args(["-U", "tester", "--auth=trust", "--no-sync", "--no-locale", "-E", "UTF8", "-D", "data"]);
    make.current_dir(&at);
    let Some(make) = with_account(&ground, &make) else { return };
    prepare(make);
    let mode = fs::Permissions::from_mode(0o600);
    fs::set_permissions(at.join("host.key"), mode).expect("a mode");
    let port = free_port();
    let mut command = ground.free(postgres);
    command.args(["-D", "data", "-p", &port.to_string()]).current_dir(&at);
    for set in ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "ssl=on"] {
        command.args(["-c", set]);
    }
    command.arg("-c").arg(format!("ssl_cert_file={}/host.pem", at.display()));
    command.arg("-c").arg(format!("ssl_key_file={}/host.key", at.display()));
    let Some(command) = with_account(&ground, &command) else { return };
    let _server = serve(command, port);
    if !Tier::Full.is_possible_for(who) {
        return;
    }
    let person = Person::new(who, &[port], &json!({}));
    for sslmode in ["disable", "require"] {
        let script = format!(
            "PGSSLMODE={sslmode} psql -h db.tools.test -p {port} -U tester -d postgres -Atc 'select 40 + 2'"
        );
        person.needs(&format!("db.tools.test:{port}"), nothing, &script, "42");
    }
}

#[each(user)]
fn redis_remembers(who: Who) {
    if !all_there("redis", &["redis-server", "redis-cli"]) {
        return;
    }
    let ground = ground();
    let port = free_port();
    let mut command = ground.free("redis-server");
    command.args(["--bind", "127.0.0.1", "--save", "", "--port", &port.to_string()]);
    command.current_dir(ground.outside());
    let _server = serve(command, port);
    if !Tier::Full.is_possible_for(who) {
        return;
    }
    let person = Person::new(who, &[port], &json!({}));
    let cli = format!("redis-cli -h cache.tools.test -p {port}");
    let script = format!("{cli} set word kept-{who} | grep OK; {cli} get word");
    person.needs(&format!("cache.tools.test:{port}"), nothing, &script, &format!("kept-{who}"));
}

#[each(user)]
fn curl_speaks_http_2_within_tls_and_not_without(who: Who) {
    if !all_there("HTTP/2", &["nghttpd", "curl", "openssl"]) {
        return;
    }
    let ground = ground();
    let at = ground.outside();
    certificates(&at);
    fs::write(at.join("page"), "by stream").expect("a file");
    ground.give();
    let serve_h2 = |more: &[&str]| {
        let port = free_port();
        let mut command = ground.free("nghttpd");
        command.args(["-a", "127.0.0.1", "-d", "."]).args(more).arg(port.to_string());
        if more.is_empty() {
            command.args(["host.key", "host.pem"]);
        }
        command.current_dir(&at);
        (serve(command, port), port)
    };
    let ((_within, port), (_without, plain)) = (serve_h2(&[]), serve_h2(&["--no-tls"]));
    if !Tier::Full.is_possible_for(who) {
        return;
    }
    let person = Person::new(who, &[port, plain], &json!({}));
    let roots = at.join("roots.pem");
    let direct = "env -u HTTPS_PROXY -u https_proxy -u http_proxy -u all_proxy -u ALL_PROXY";
    let curl = "curl -sS -m 20 -w ' %{http_version}'";
    for around in ["", direct] {
        let script = format!(
            "{around} {curl} --http2 --cacert {} https://web.tools.test:{port}/page",
            roots.display()
        );
        person.needs(&format!("web.tools.test:{port}"), nothing, &script, "by stream 2");
    }
    // Without TLS each stream could name a host of its own.
    let script = format!("{direct} {curl} --http2-prior-knowledge http://web.tools.test:{plain}/page");
    let mut free = person.bed.free("sh");
    let free_script = script.replace("web.tools.test", "127.0.0.1");
    let free = free.args(["-ec", &free_script]).output().expect("sh");
    assert!(does(&free, "by stream 2"), "the control: {}", describe(&free));
    let output = person.command(&format!("web.tools.test:{plain}"), &script).output().expect("pinfold");
    let report = String::from_utf8_lossy(&output.stderr);
    assert!(!does(&output, "by stream"), "{}", describe(&output));
    assert!(report.contains(&format!("reach web.tools.test:{plain}")), "{report}");
}

const WEBSOCKET: &str = "
import asyncio, ssl, sys, websockets
async def main():
    more = {'ssl': ssl.create_default_context(cafile=sys.argv[2])} if sys.argv[1].startswith('wss') else {}
    async with websockets.connect(sys.argv[1], **more) as stream:
        for size in (5, 200, 1 << 20):
            await stream.send('x' * size)
            assert await stream.recv() == 'x' * size, size
    print('all came back')
asyncio.run(main())
";

#[each(user)]
fn websockets_carry_frames_both_ways(who: Who) {
    if !all_there("websockets", &FETCHING) {
        return;
    }
    let registries = Registries::new();
    let (Some(ws), Some(wss)) = (registries.port("ws"), registries.port("wss")) else {
        return left_out("websockets", "no library for them (python3-websockets)");
    };
    if !Tier::Full.is_possible_for(who) {
        return;
    }
    let person = Person::new(who, &[ws, wss], &json!({}));
    person.put("client.py", WEBSOCKET);
    for (scheme, port) in [("ws", ws), ("wss", wss)] {
        let script = format!(
            "/usr/bin/python3 client.py {scheme}://web.tools.test:{port}/ {}",
            registries.roots().display()
        );
        person.needs(&format!("web.tools.test:{port}"), nothing, &script, "all came back");
    }
}

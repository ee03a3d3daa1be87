//! Secrets that stay outside: tools inside work with a placeholder, and nothing gets the secret but the one host that it
//! is for, in the one header where it belongs.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use pinfold_tests::missing::all_there;
use pinfold_tests::output::describe;
use pinfold_tests::{Bed, Tier, Who, each};
use serde_json::{Value, json};

const TOOLS: [&str; 4] = ["python3", "openssl", "git", "curl"];

/// What must be seen nowhere inside.
const TOKEN: &str = "s3cret-of-the-token";
const KEY: &str = "s3cret-of-the-key";

struct World {
    bed: Bed,
    server: Child,
    port: u16,
}

impl Drop for World {
    fn drop(&mut self) {
        // It ends with its input.
        drop(self.server.stdin.take());
        let _ = self.server.wait();
    }
}

fn openssl(folder: &Path, arguments: &str) {
    let made =
        Command::new("openssl").args(arguments.split(' ')).current_dir(folder).output().expect("openssl");
    assert!(made.status.success(), "{}", describe(&made));
}

impl World {
    fn new(who: Who) -> Self {
        let bed = Bed::new(who);
        let outside = bed.outside();
        let ec = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
        openssl(
            &outside,
            &format!("req -x509 {ec} -days 2 -subj /CN=authority -out roots.pem -keyout roots.key"),
        );
        openssl(&outside, &format!("req {ec} -subj /CN=host -out host.csr -keyout host.key"));
        fs::write(
            outside.join("names"),
            "subjectAltName=DNS:secret.test,DNS:other.test\nbasicConstraints=CA:FALSE\n",
        )
        .expect("a file");
        openssl(
            &outside,
            "x509 -req -in host.csr -CA roots.pem -CAkey roots.key -CAcreateserial -days 2 -extfile names -out host.pem",
        );
        let git = |arguments: &[&str], at: &Path| {
            let done = bed.free("git").args(arguments).current_dir(at).output().expect("git");
            assert!(done.status.success(), "{}", describe(&done));
        };
        bed.give();
        git(&["init", "-q", "--bare", "repo.git"], &outside);
        git(&["config", "http.receivepack", "true"], &outside.join("repo.git"));
        git(&["init", "-q", "-b", "main"], &bed.folder());
        let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("network/secrets.py");
        let mut server = bed
            .free("python3")
            .arg(server)
            .args(["host.pem", "host.key"].map(|name| outside.join(name)))
            .args([&outside, &outside.join("hits")])
            .arg(TOKEN)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3");
        let mut line = String::new();
        BufReader::new(server.stdout.take().expect("piped")).read_line(&mut line).expect("a port");
        let port = line.trim().parse().expect("a port");
        fs::write(outside.join("key-file"), format!("{KEY}\n")).expect("a file");
        let at = |host: &str| format!("{host}:{port}");
        let settings = json!({"network": {
            "allow": [at("secret.test"), at("other.test"), at("127.0.0.1")],
            "hosts": {"secret.test": ["127.0.0.1"], "other.test": ["127.0.0.1"]},
            "secrets": {
                "TOKEN": {"host": at("secret.test"), "from": {"env": "HARMLESS_NAME"}},
                "KEY": {"host": at("secret.test"), "header": "X-Api-Key", "from": {"file": outside.join("key-file")}},
            },
        }});
        let config = bed.home().join(".config/pinfold");
        fs::create_dir_all(&config).expect("a directory");
        fs::write(config.join("settings.json"), settings.to_string()).expect("settings");
        bed.give();
        Self { bed, server, port }
    }

    /// Runs a script inside, `PORT` and `OUTSIDE` in its environment.
    fn run(&self, tier: Tier, script: &str) -> Output {
        let mut command = self.bed.run(tier, &["--ask", "nobody"]);
        self.with(&mut command).args(["bash", "-c", script]).output().expect("pinfold")
    }

    fn with<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command
            .env("PORT", self.port.to_string())
            .env("OUTSIDE", self.bed.outside())
            .env("HARMLESS_NAME", TOKEN)
            .env("SSL_CERT_FILE", self.bed.outside().join("roots.pem"))
    }

    fn hits(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.bed.outside().join("hits")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    fn forget(&self) {
        let _ = fs::remove_file(self.bed.outside().join("hits"));
    }
}

fn with_world(who: Who, attempt: impl Fn(&World)) {
    if all_there("secrets that stay outside", &TOOLS) && Tier::Full.is_possible_for(who) {
        attempt(&World::new(who));
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What a header of a hit says.
fn header(hit: &Value, name: &str) -> String {
    let headers = hit["headers"].as_array().expect("headers");
    let named =
        headers.iter().filter(|pair| pair[0].as_str().is_some_and(|own| own.eq_ignore_ascii_case(name)));
    named.map(|pair| pair[1].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>().join(" and ")
}

#[each(user)]
fn tools_work_with_a_placeholder_and_nothing_set(who: Who) {
    with_world(who, |world| {
        for (script, name, value) in [
            (
                "curl -fsS -H \"Authorization: Bearer $TOKEN\" https://secret.test:$PORT/",
                "authorization",
                format!("Bearer {TOKEN}"),
            ),
            ("curl -fsS -H \"x-api-key: $KEY\" https://secret.test:$PORT/", "x-api-key", KEY.to_owned()),
            (
                "python3 -c 'import os, urllib.request as u\n\
                 at, token = \"https://secret.test:\" + os.environ[\"PORT\"], \"token \" + os.environ[\"TOKEN\"]\n\
                 u.urlopen(u.Request(at, headers={\"Authorization\": token}))'",
                "authorization",
                format!("token {TOKEN}"),
            ),
            (
                "curl -fsS --proxy \"$HTTPS_PROXY\" -H \"X-Api-Key: $KEY\" https://secret.test:$PORT/",
                "x-api-key",
                KEY.to_owned(),
            ),
            // Another host is spoken to as before, and believed as before.
            ("curl -fsS -H \"x-api-key: none\" https://other.test:$PORT/", "x-api-key", "none".to_owned()),
        ] {
            world.forget();
            let output = world.run(Tier::Full, script);
            assert!(output.status.success(), "{script}: {}", describe(&output));
            assert_eq!(header(world.hits().first().expect("a hit"), name), value, "{script}");
        }
    });
}

#[each(user)]
fn git_pushes_over_https(who: Who) {
    with_world(who, |world| {
        let push = "git config user.name a && git config user.email a@b.c 2>/dev/null\n\
            git -c user.name=a -c user.email=a@b.c commit -q --allow-empty -m first &&\n\
            head -c 3000000 /dev/urandom > large && git add large && git -c user.name=a -c user.email=a@b.c commit -q -m second &&\n\
            git -c credential.helper='!f() { echo username=x-access-token; echo password=$TOKEN; }; f' \\\n\
            push -q https://secret.test:$PORT/repo.git HEAD:refs/heads/main && git rev-parse HEAD";
        let output = world.run(Tier::Full, push);
        assert!(output.status.success(), "{}", describe(&output));
        let there = world
            .bed
            .free("git")
            .args(["-C"])
            .arg(world.bed.outside().join("repo.git"))
            .args(["rev-parse", "main"])
            .output()
            .expect("git");
        assert_eq!(said(&there).trim(), said(&output).trim(), "{}", describe(&there));
        // The control: without the placeholder the server says no.
        let refused = world.run(
            Tier::Full,
            "GIT_TERMINAL_PROMPT=0 git push -q https://secret.test:$PORT/repo.git HEAD:refs/heads/b",
        );
        assert!(!refused.status.success(), "{}", describe(&refused));
    });
}

/// Each leads to a request that arrives, or to none; none has the secret.
#[each(user)]
fn the_secret_goes_nowhere_else(who: Who) {
    with_world(who, |world| {
        for (name, script) in [
            ("another host", "curl -sk -H \"Authorization: Bearer $TOKEN\" https://other.test:$PORT/"),
            ("its address", "curl -sk -H \"Authorization: Bearer $TOKEN\" https://127.0.0.1:$PORT/"),
            (
                "another header",
                "curl -s -H \"X-Other: $TOKEN\" -H \"Cookie: $TOKEN\" https://secret.test:$PORT/",
            ),
            (
                "a part of the header",
                "curl -s -H \"Authorization: Bearer $TOKEN.x\" https://secret.test:$PORT/",
            ),
            (
                "twice",
                "curl -s -H \"Authorization: $TOKEN\" -H \"authorization: $TOKEN\" https://secret.test:$PORT/",
            ),
            ("the body", "curl -s -d \"$TOKEN $KEY\" https://secret.test:$PORT/"),
            ("the target", "curl -s \"https://secret.test:$PORT/?$TOKEN\""),
            (
                "its own words back",
                "curl -s -X TRACE -H \"Authorization: $TOKEN\" https://secret.test:$PORT/",
            ),
            (
                "the header of another secret",
                "curl -s -H \"Authorization: $KEY\" -H \"X-Api-Key: $TOKEN\" https://secret.test:$PORT/",
            ),
            (
                "another name within TLS",
                "curl -s -H \"Host: other.test\" -H \"Authorization: $TOKEN\" https://secret.test:$PORT/",
            ),
            (
                "another server name",
                "curl -sk --connect-to other.test:$PORT:secret.test:$PORT -H \"Authorization: $TOKEN\" https://other.test:$PORT/",
            ),
            ("no TLS", "curl -s -H \"Authorization: $TOKEN\" http://secret.test:$PORT/"),
            (
                "two requests in one",
                "printf 'POST / HTTP/1.1\\r\\nHost: secret.test:%s\\r\\nContent-Length: 5\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n\
                 GET /smuggled HTTP/1.1\\r\\nHost: other.test\\r\\nAuthorization: %s\\r\\n\\r\\n' $PORT $TOKEN | \
                 timeout 5 openssl s_client -quiet -connect secret.test:$PORT -servername secret.test",
            ),
        ] {
            world.forget();
            let output = world.run(Tier::Full, script);
            let all = format!("{:?}{}", world.hits(), describe(&output));
            assert!(!all.contains(TOKEN) && !all.contains(KEY), "{name}: {all}");
        }
        assert!(!world.hits().iter().any(|hit| hit["path"] == "/smuggled"), "{:?}", world.hits());
    });
}

#[each(user)]
fn nothing_inside_has_the_secret(who: Who) {
    with_world(who, |world| {
        let looks = "env; cat $OUTSIDE/key-file; cat /proc/*/environ /proc/*/cmdline; cat ~/.config/pinfold/settings.json\n\
            for p in /proc/[0-9]*; do timeout 5 grep -a -o 's3cret-of-the-[tk]' $p/mem $p/environ; done\n\
            ulimit -c unlimited; sh -c 'kill -SEGV $$'; cat core* 2>/dev/null\n\
            grep -rl 's3cret-of-the-[tk]' /tmp $TMPDIR . 2>/dev/null";
        let output = world.run(Tier::Full, looks);
        let all = describe(&output);
        assert!(!all.contains(TOKEN) && !all.contains(KEY), "{all}");
        assert!(all.contains("TOKEN=pinfold_token_"), "the control: a placeholder stands there: {all}");
        let record = world.bed.home().join(".local/state/pinfold/record");
        let record =
            Command::new("grep").args(["-r", "-e", TOKEN, "-e", KEY]).arg(record).output().expect("grep");
        assert_eq!(record.stdout, b"", "{}", describe(&record));
        // Where no host is reached there is not even a placeholder, and the sources stay away all the same.
        let mut closed = world.bed.run(Tier::Full, &["--network", "off"]);
        let closed = world.with(&mut closed).args(["sh", "-c", "env; cat $OUTSIDE/key-file"]).output();
        let all = describe(&closed.expect("pinfold"));
        assert!(!all.contains(TOKEN) && !all.contains(KEY) && !all.contains("pinfold_token_"), "{all}");
    });
}

/// Processes outside can be seen there: of the one that has the secrets, and of the others, nothing can be read.
#[each(user)]
fn on_the_landlock_tier_it_works_the_same_and_nothing_has_the_secret(who: Who) {
    with_world(who, |world| {
        let looks = "env; cat $OUTSIDE/key-file; cat /proc/*/environ; cat ~/.config/pinfold/settings.json\n\
            for p in /proc/[0-9]*; do timeout 5 grep -a -o 's3cret-of-the-[tk]' $p/mem; done\n\
            grep -rl 's3cret-of-the-[tk]' $TMPDIR . 2>/dev/null";
        let all = describe(&world.run(Tier::LandlockOnly, looks));
        assert!(!all.contains("s3cret-of-the"), "{all}");
        assert!(all.contains("TOKEN=pinfold_token_"), "the control: a placeholder stands there: {all}");
        world.forget();
        let script = "curl -fsS -H \"Authorization: Bearer $TOKEN\" https://secret.test:$PORT/";
        let output = world.run(Tier::LandlockOnly, script);
        assert!(output.status.success(), "{}", describe(&output));
        assert_eq!(header(&world.hits()[0], "authorization"), format!("Bearer {TOKEN}"));
    });
}

#[each(user)]
fn a_host_that_says_back_what_it_is_told_says_the_placeholder(who: Who) {
    with_world(who, |world| {
        for path in ["/echo", "/echo/pieces"] {
            for login in ["-H \"Authorization: Bearer $TOKEN\"", "-u \"me:$TOKEN\"", "-H \"X-Api-Key: $KEY\""]
            {
                world.forget();
                let script = format!(
                    "curl -isS -r 0-40 --compressed {login} https://secret.test:$PORT{path}; echo $TOKEN $KEY"
                );
                let output = world.run(Tier::Full, &script);
                let hits = format!("{:?}", world.hits());
                let sent = [TOKEN, KEY].iter().any(|secret| hits.contains(secret)) || hits.contains("Basic ");
                assert!(sent, "the control: it was told: {hits}");
                let all = describe(&output);
                assert!(!all.contains(TOKEN) && !all.contains(KEY), "{all}");
                let answer = said(&output);
                let basic = answer
                    .lines()
                    .filter_map(|line| line.split_once("Basic "))
                    .map(|(_, login)| login.trim());
                for login in basic {
                    let decode = format!("echo {login} | base64 -d");
                    let decoded = Command::new("sh").args(["-c", &decode]).output().expect("sh");
                    assert!(
                        !said(&decoded).contains(TOKEN) && said(&decoded).contains("pinfold_token_"),
                        "{answer}"
                    );
                }
                assert!(
                    answer.contains("user-agent: curl") || answer.contains("User-Agent: curl"),
                    "the rest is there: {answer}"
                );
            }
        }
        let packed = "curl -isS -H \"Authorization: Bearer $TOKEN\" https://secret.test:$PORT/echo/packed";
        let all = describe(&world.run(Tier::Full, packed));
        assert!(all.contains(" 502 ") && !all.contains(TOKEN), "{all}");
    });
}

#[each(user)]
fn a_client_that_could_speak_http_2_falls_back(who: Who) {
    with_world(who, |world| {
        let script = "curl -fsS --http2 -o /dev/null -w '%{http_version}' -H \"Authorization: Bearer $TOKEN\" https://secret.test:$PORT/";
        let output = world.run(Tier::Full, script);
        assert_eq!(said(&output), "1.1", "{}", describe(&output));
        assert_eq!(header(&world.hits()[0], "authorization"), format!("Bearer {TOKEN}"));
    });
}

#[each(user)]
fn a_host_that_is_not_itself_gets_nothing(who: Who) {
    with_world(who, |world| {
        // Nobody vouches for it any more.
        let mut command = world.bed.run(Tier::Full, &["--ask", "nobody"]);
        world.with(&mut command).env("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt");
        let script = "curl -sk -H \"Authorization: $TOKEN\" https://secret.test:$PORT/";
        let output = command.args(["bash", "-c", script]).output().expect("pinfold");
        assert!(world.hits().is_empty(), "{:?}", world.hits());
        assert!(!describe(&output).contains(TOKEN), "{}", describe(&output));
    });
}

#[each(user)]
fn a_project_declares_no_secrets(who: Who) {
    with_world(who, |world| {
        let config = world.bed.home().join(".config/pinfold/settings.json");
        let text = fs::read_to_string(&config).expect("settings");
        let mut settings: Value = serde_json::from_str(&text).expect("JSON");
        let secrets = settings["network"]["secrets"].take();
        settings["network"].as_object_mut().expect("an object").remove("secrets");
        fs::write(&config, settings.to_string()).expect("settings");
        let shared = world.bed.folder().join(".pinfold");
        fs::create_dir_all(&shared).expect("a directory");
        fs::write(shared.join("settings.json"), json!({"network": {"secrets": secrets}}).to_string())
            .expect("settings");
        world.bed.give();
        let output =
            world.run(Tier::Full, "env; curl -sk -H \"Authorization: $TOKEN\" https://secret.test:$PORT/");
        assert!(!describe(&output).contains("pinfold_token_"), "{}", describe(&output));
        assert!(!format!("{:?}", world.hits()).contains("s3cret"), "{:?}", world.hits());
    });
}

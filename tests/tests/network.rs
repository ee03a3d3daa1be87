//! Only hosts that were allowed: ordinary uses work with nothing set, attacks lose, and the report names them.
//!
//! `tests/network` holds the uses and the attacks as data, and the servers outside. Names of the tests are pinned to
//! addresses of this machine by settings (`network.hosts`), as a person can do it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use pinfold_tests::cases::{Case, all_lose, cases, python, report};
use pinfold_tests::missing::{all_there, left_out};
use pinfold_tests::output::describe;
use pinfold_tests::outside::with_world;
use pinfold_tests::{Tier, Who, each};
use serde_json::{Value, json};

/// Whether a refusal names the interpreter by its file, whatever the link to it is called, with the script that it runs.
fn is_the_case(refused: &Value) -> bool {
    let program = refused["program"].as_str().unwrap_or_default();
    let by_file = program.starts_with("python3") && program.ends_with(" (case.py)");
    // Of what reaches the relay only the name of the thread is known.
    by_file || program == "python3" && ["look up", "reach"].iter().any(|tried| refused["tried"] == *tried)
}

#[each(user)]
fn ordinary_uses_work_with_nothing_set(who: Who) {
    with_world(who, |world| {
        for case in cases("uses.txt") {
            let output = python(world, &case, Some(Tier::Full));
            println!("{}", case.name);
            assert_eq!(
                String::from_utf8_lossy(&output.stdout),
                "done\n",
                "{}: {}",
                case.name,
                describe(&output)
            );
        }
    });
}

#[each(user)]
fn attacks_lose(who: Who) {
    all_lose(who, Tier::Full, &cases("attacks.txt"));
}

#[each(user)]
fn what_is_refused_is_named_in_the_report_and_the_record(who: Who) {
    with_world(who, |world| {
        let case = Case::new(
            "named",
            "import contextlib\n\
                   for host in ('other.test', '203.0.113.9', 'near.test', 'denied.wide.test'):\n    \
                       with contextlib.suppress(OSError):\n        ask(tcp(host, HTTP), host)\n\
                   with contextlib.suppress(OSError):\n    ask(tls(tcp('allowed.test', HTTPS), 'other.test'), 'x')\n\
                   with contextlib.suppress(OSError):\n    tcp('allowed.test', 9999)\n",
        );
        let output = python(world, &case, Some(Tier::Full));
        let report = report(&output);
        let (http, https) = (world.port("http"), world.port("https"));
        let refused = report["refused"].as_array().expect("a list");
        for (tried, place, why) in [
            ("look up", "other.test".to_owned(), "no rule allows this host"),
            ("reach", format!("203.0.113.9:{http}"), "no rule allows this host"),
            (
                "reach",
                format!("near.test:{http}"),
                "it leads to 127.0.0.2, and it is an address of this machine: only a rule that names the address allows it",
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
            assert!(is_the_case(found), "{found:#}");
            let id = found["id"].as_str().expect("a name");
            let mut log = world.bed.free(pinfold_tests::product::pinfold());
            let log = log.args(["log", "--json"]).output().expect("pinfold");
            let lines = String::from_utf8_lossy(&log.stdout).into_owned();
            assert!(lines.contains(&format!("\"{id}\"")), "{id} is not in the record: {}", describe(&log));
        }
        let denied =
            refused.iter().find(|one| one["place"] == "denied.wide.test").expect("it was there before");
        assert_eq!(denied["rule"], "denied.wide.test");
        assert!(denied["source"].as_str().is_some_and(|at| at.contains("settings.json:")), "{denied:#}");
    });
}

#[each(user)]
fn the_log_names_the_hosts_of_a_run_and_what_came_of_them(who: Who) {
    with_world(who, |world| {
        let log = |args: &[&str]| {
            let mut pinfold = world.bed.free(pinfold_tests::product::pinfold());
            let output = pinfold.arg("log").args(args).output().expect("pinfold");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        python(world, &Case::new("quiet", "pass\n"), Some(Tier::Full));
        let before = log(&["--all", "--json"]);
        let ends = |text: &str| -> Vec<Value> {
            let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
            lines.filter(|line| line["kind"] == "end").collect()
        };
        let quiet = ends(&before);
        assert!(quiet.len() == 1 && quiet[0].get("hosts").is_none(), "the control: {before}");
        let code = "import contextlib\nask(tcp('allowed.test', HTTP), 'allowed.test')\n\
                    ask(tcp('allowed.test', HTTP), 'allowed.test')\n\
                    with contextlib.suppress(OSError):\n    tcp('other.test', HTTP)\n";
        let output = python(world, &Case::new("hosts", code), Some(Tier::Full));
        let http = world.port("http");
        let text = log(&[]);
        for line in [format!("reached: allowed.test:{http} (2 times)\n"), "refused: other.test".to_owned()] {
            assert!(text.contains(&line), "no `{line}` in {text}\n{}", describe(&output));
        }
        let told = ends(&log(&["--all", "--json"])).pop().expect("an end");
        let reached = json!({"host": "allowed.test", "port": http, "outcome": "reached", "times": 2});
        assert_eq!(told["hosts"][0], reached, "{told:#}");
        assert_eq!(told["hosts"][1]["outcome"], "refused", "{told:#}");
    });
}

/// Says much and goes, so that most of it waits when nobody is left.
const LAST_WORDS: &str = "def query(name):\n    \
    parts = b''.join(bytes([len(part)]) + part.encode() for part in name.split('.'))\n    \
    return b'\\0\\1\\1\\0\\0\\1' + bytes(6) + parts + b'\\0\\0\\1\\0\\1'\n\
    udp, streams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), []\n\
    for at in range(50):\n    udp.sendto(b'x', (f'203.0.113.{at}', 443))\n\
    for at in range(100):\n    udp.sendto(query(f'last-{at}.test'), ('203.0.113.53', 53))\n\
    for port in [HTTP] * 50 + [PROXY]:\n    streams.append(socket.socket())\n    \
    streams[-1].connect(('203.0.113.9' if port == HTTP else '127.0.0.1', port))\n\
    streams[-1].sendall(b'CONNECT last.test:443 HTTP/1.1\\r\\nHost: last.test:443\\r\\n\\r\\n')\n\
    os._exit(0)\n";

#[each(user)]
fn what_is_tried_in_the_last_moment_is_named(who: Who) {
    with_world(who, |world| {
        let output = python(world, &Case::new("last", LAST_WORDS), Some(Tier::Full));
        let report = report(&output);
        let refused = report["refused"].as_array().expect("a list");
        let times = |tried: &str, place: &str| {
            let mut all = refused.iter().filter(|one| one["tried"] == tried && one["place"] == place);
            all.next().map_or(0, |one| one["times"].as_u64().expect("a number"))
        };
        let http = world.port("http");
        assert_eq!(times("reach", &format!("203.0.113.9:{http}")), 50, "each connection: {report:#}");
        assert_eq!(times("reach", "last.test:443"), 1, "by the proxy: {report:#}");
        for at in 0..100 {
            assert_eq!(times("look up", &format!("last-{at}.test")), 1, "each look-up: {report:#}");
        }
        for at in 0..50 {
            assert_eq!(times("send", &format!("203.0.113.{at}:443")), 1, "each datagram: {report:#}");
        }
    });
}

#[each(user)]
fn datagrams_between_processes_inside_are_no_refusals(who: Who) {
    with_world(who, |world| {
        // A server on loopback, one on another address, an answer that nobody waits for, and names that are asked for.
        let code = "def server(address):\n    \
            udp = socket.socket(socket.AF_INET6 if ':' in address else socket.AF_INET, socket.SOCK_DGRAM)\n    \
            udp.bind((address, 0))\n    return udp\n\
            for address in ('127.0.0.1', '::1', '10.1.2.3'):\n    \
            with server(address) as udp, socket.socket(udp.family, socket.SOCK_DGRAM) as client:\n        \
            client.sendto(b'there', udp.getsockname())\n        said, who = udp.recvfrom(9)\n        \
            udp.sendto(said + b' and back', who)\n        assert client.recv(99) == b'there and back'\n        \
            closed = udp.getsockname()\n    \
            if closed[0] != '10.1.2.3':\n        \
            with socket.socket(udp.family, socket.SOCK_DGRAM) as client:\n            client.sendto(b'late', closed)\n\
            socket.getaddrinfo('allowed.test', HTTP)\n";
        let output = python(world, &Case::new("own", code), Some(Tier::Full));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "done\n", "{}", describe(&output));
        let report = report(&output);
        let mut refused = report["refused"].as_array().expect("a list").iter();
        assert!(refused.all(|one| one["tried"] != "send"), "{report:#}");
    });
}

#[each(user)]
fn datagrams_without_end_are_told_in_part(who: Who) {
    with_world(who, |world| {
        let code = "import time\nudp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
            for at in range(60000):\n    udp.sendto(b'x', (f'203.0.{at >> 8}.{at & 255}', 443))\n\
            time.sleep(0.3)\nudp.sendto(b'x', ('203.0.113.9', 444))\ntime.sleep(0.3)\n\
            assert b' 200 ' in ask(tcp('allowed.test', HTTP), 'allowed.test')\n";
        let output = python(world, &Case::new("flood", code), Some(Tier::Full));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "done\n", "{}", describe(&output));
        let report = report(&output);
        let told = report["refused"].as_array().expect("a list").len();
        assert!((64..=1000).contains(&told), "{told}");
        let more = report["omitted_count"].as_u64().unwrap_or_default();
        assert!(more > 10_000, "{more} more: {report:#}");
    });
}

/// Families and protocols by number: netlink but for routes, packets, vsock, ALG, Bluetooth, CAN, TIPC, QIPCRTR, XDP, raw.
const CLOSED: &str = "KINDS = [(16, 3, p) for p in (2, 4, 6, 9, 11, 12, 15, 16, 21)] + [(17, 2, 0), (17, 3, 3), (40, 1, 0), \
     (40, 2, 0), (38, 5, 0), (31, 3, 0), (29, 3, 1), (30, 1, 0), (42, 2, 0), (44, 3, 0), (2, 3, 1), (10, 3, 58), (2, 3, 255), \
     (2, 10, 17), (21, 5, 0), (8, 2, 0), (15, 3, 2)]\n\
     def opened():\n    for kind in KINDS:\n        try:\n            socket.socket(*kind).close()\n            yield kind\n        \
     except OSError:\n            pass\n";

#[each(user)]
fn sockets_of_other_kinds_are_closed(who: Who) {
    with_world(who, |world| {
        let case = |code: &str| Case::new("kinds", &format!("{CLOSED}{code}"));
        let inside = python(world, &case("assert not list(opened()), list(opened())"), Some(Tier::Full));
        assert_eq!(String::from_utf8_lossy(&inside.stdout), "done\n", "{}", describe(&inside));
        let said = report(&inside);
        let refused = said["refused"].as_array().expect("a list");
        let named: BTreeSet<&str> = refused.iter().filter_map(|one| one["place"].as_str()).collect();
        let kinds = [
            "netlink",
            "packet",
            "vsock",
            "alg",
            "bluetooth",
            "can",
            "tipc",
            "family 42",
            "xdp",
            "raw",
            "rds",
            "key",
        ];
        assert!(kinds.iter().all(|kind| named.contains(kind)), "{named:?}");
        assert!(refused.iter().all(|one| one["tried"] == "open socket" && is_the_case(one)), "{said:#}");
        // Some need the superuser, some a module of the kernel.
        let free = python(world, &case("assert len(list(opened())) > 2, list(opened())"), None);
        assert_eq!(String::from_utf8_lossy(&free.stdout), "done\n", "the control: {}", describe(&free));
    });
}

#[each(user)]
fn routes_inside_can_be_read_and_not_changed(who: Who) {
    with_world(who, |world| {
        // RTM_DELROUTE and RTM_NEWROUTE for everything, RTM_NEWADDR and RTM_SETLINK for the loopback.
        let code = "import struct\n\
            def said(kind, flags, body):\n    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as route:\n        \
            route.sendto(struct.pack('=IHHII', 16 + len(body), kind, flags, 1, 0) + body, (0, 0))\n        \
            return struct.unpack('=IHHIIi', route.recv(65536)[:20])[1:6:4]\n\
            route = struct.pack('=BBBBBBBBI', 2, 0, 0, 0, 255, 3, 254, 2, 0) + struct.pack('=HHI', 8, 4, 1)\n\
            for kind, body in ((25, route), (24, route), (20, struct.pack('=BBBBI', 2, 8, 0, 0, 1)), (19, struct.pack('=BBHiII', 0, 0, 0, 1, 0, 1))):\n    \
            answer = said(kind, 5, body)\n    assert answer == (2, -1), (kind, answer)\n\
            assert said(26, 0x301, route[:12])[0] == 24, 'routes are told'\n";
        let inside = python(world, &Case::new("routes", code), Some(Tier::Full));
        assert_eq!(String::from_utf8_lossy(&inside.stdout), "done\n", "{}", describe(&inside));
    });
}

#[each(user)]
fn an_inherited_socket_does_not_get_inside(who: Who) {
    with_world(who, |world| {
        let script = format!("exec 7<>/dev/tcp/127.0.0.1/{}; exec \"$@\"", world.port("banner"));
        let pinfold = pinfold_tests::product::pinfold().to_str().expect("a plain path");
        let confined = [pinfold, "run", "--ask", "nobody", "--"];
        for (around, word, arrives) in
            [(&confined[..], "inherited-inside", false), (&[], "inherited-free", true)]
        {
            let says = format!("printf {word} >&7");
            let words = around.iter().copied().chain(["bash", "-c", &says]);
            let output =
                world.bed.free("bash").args(["-c", &script, "bash"]).args(words).output().expect("bash");
            assert_eq!(world.arrives(word), arrives, "{word}: {}", describe(&output));
        }
    });
}

#[each(user)]
fn flags_and_settings_meet(who: Who) {
    with_world(who, |world| {
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
            assert_eq!(output.status.code(), Some(2), "{bad}: {}", describe(&output));
            assert!(
                String::from_utf8_lossy(&output.stderr).contains("--allow-host"),
                "{}",
                describe(&output)
            );
        }
    });
}

#[each(user)]
fn the_bash_tool_reaches_the_same_hosts(who: Who) {
    with_world(who, |world| {
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
        // Inside it has the name that the record has.
        let (_, named) = said.split_once("(call-").expect("a name");
        let name = format!("call-{}", named.split_once(')').expect("its end").0);
        let mut why = world.bed.free(pinfold_tests::product::pinfold());
        let why = why.args(["why", &name]).output().expect("pinfold");
        let told = String::from_utf8_lossy(&why.stdout).into_owned();
        assert!(told.contains("no rule allows this host") && told.contains("other.test"), "{name}: {told}");
        // What it reached is in the record too, as what a run reached is.
        let read = |args: &[&str]| {
            let mut pinfold = world.bed.free(pinfold_tests::product::pinfold());
            String::from_utf8_lossy(&pinfold.args(args).output().expect("pinfold").stdout).into_owned()
        };
        let (reached, log) = (format!("reached: allowed.test:{}\n", world.port("http")), read(&["log"]));
        assert!(log.contains(&reached) && log.contains("refused: other.test"), "{log}");
        let line = log.lines().find(|line| line.contains("done     Bash")).expect("an outcome");
        let name = line.split_whitespace().nth(2).expect("a name");
        let why = read(&["why", name]);
        assert!(why.contains(&format!("hosts {reached}")), "{name}: {why}");
    });
}

#[each(user)]
fn agents_of_ours_reach_the_same_hosts(who: Who) {
    with_world(who, |world| {
        let curl = |host: &str, who: &str| {
            let url = format!("http://{host}:{}/{who}", world.port("http"));
            json!({"tool": "Bash", "input": {"command": format!("curl -sS -m 20 {url} > {who}-{host}; true")}})
        };
        let both = |who: &str| [curl("allowed.test", who), curl("other.test", who)];
        let [allowed, other] = both("first");
        let start =
            json!({"tool": "run_agent", "input": {"name": "second", "folder": "below", "task": "go"}});
        let wait = json!({"tool": "wait_for_agents", "input": {}});
        let turns = [
            json!({"calls": [allowed, other, start, wait]}),
            json!({"agent": "second", "calls": both("second")}),
            json!({"say": "done"}),
        ];
        let turns = turns.map(|turn| turn.to_string()).join("\n");
        fs::create_dir(world.bed.folder().join("below")).expect("a folder");
        let agents = world.bed.outside().join("agents");
        fs::create_dir(&agents).expect("a folder");
        fs::write(agents.join("second.md"), "---\nname: second\nallow_tools: [Bash]\n---\n").expect("a file");
        fs::write(world.bed.outside().join("script.jsonl"), turns).expect("a script");
        world.bed.give();
        let mut command = world.bed.free(pinfold_tests::product::pinfold());
        command.args(["agent", "run", "--allow-bash", "--allowed-tools", "Bash,Agent", "--prompt", "go"]);
        command.arg("--agents").arg(agents).arg("--script").arg(world.bed.outside().join("script.jsonl"));
        let output = command.stdin(std::process::Stdio::null()).output().expect("pinfold");
        let said = |name: &str| {
            let folder = world.bed.folder().join(if name.starts_with("second") { "below" } else { "." });
            let said = fs::read_to_string(folder.join(name));
            said.unwrap_or_else(|_| panic!("{name}: {}", describe(&output)))
        };
        for who in ["first", "second"] {
            assert!(said(&format!("{who}-allowed.test")).contains("hello"), "{who}: {}", describe(&output));
            assert!(!said(&format!("{who}-other.test")).contains("hello"), "{who}: {}", describe(&output));
        }
    });
}

#[each(user)]
fn programs_that_people_use_work_as_they_are(who: Who) {
    with_world(who, |world| {
        let (http, https) = (world.port("http"), world.port("https"));
        let sh = |script: &str| {
            let mut command = world.bed.run(Tier::Full, &["--ask", "nobody"]);
            let output = command.args(["sh", "-ec", script]).output().expect("pinfold");
            (output.status.success(), format!("{script}\n{}", describe(&output)))
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
            assert!(made.status.success() && bare.exists(), "{}", describe(&made));
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

/// What a run does whose rules change: each line says how far it has come.
const GOES_ON: &str = "import contextlib, time\n\
    def says(what):\n    print(what, flush=True)\n\
    def reached(host):\n    \
        with contextlib.suppress(OSError):\n        return b' 200 ' in ask(tcp(host, HTTP), host)\n    return False\n\
    def until(what, deed):\n    \
        end = time.monotonic() + 30\n    \
        while not deed() and time.monotonic() < end:\n        time.sleep(0.1)\n    says(what)\n\
    held = tcp('allowed.test', BANNER)\n\
    held.recv(99)\n\
    assert reached('allowed.test') and not reached('other.test')\n\
    says('began')\n\
    until('other', lambda: reached('other.test'))\n\
    until('denied', lambda: not reached('allowed.test'))\n\
    held.settimeout(30)\n\
    assert everything(held) == b''\n\
    says('cut')\n\
    until('closed', lambda: not reached('other.test'))\n";

#[each(user)]
fn a_run_follows_rules_that_change_while_it_lives(who: Who) {
    with_world(who, |world| {
        let at = world.bed.home().join(".config/pinfold/settings.json");
        let before: Value = serde_json::from_slice(&fs::read(&at).expect("settings")).expect("JSON");
        let write = |text: &str| {
            let new = at.with_extension("new");
            fs::write(&new, text).expect("a file");
            world.bed.give();
            fs::rename(&new, &at).expect("a new file");
        };
        let code = format!("from inside import *\n{GOES_ON}");
        fs::write(world.bed.folder().join("case.py"), code).expect("a script");
        let mut command = world.bed.run(Tier::Full, &["--json", "--ask", "nobody"]);
        world.tell(command.args(["python3", "case.py", "follows"]));
        let mut run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("pinfold");
        let mut said = BufReader::new(run.stdout.take().expect("piped")).lines();
        let mut heard = || said.next().and_then(Result::ok).unwrap_or_default();
        assert_eq!(heard(), "began");
        let (http, mut settings) = (world.port("http"), before.clone());
        let add = |settings: &mut Value, list: &str, rule: String| {
            settings["network"][list].as_array_mut().expect("a list").push(rule.into());
        };
        add(&mut settings, "allow", format!("other.test:{http}"));
        write(&settings.to_string());
        assert_eq!(heard(), "other", "what is allowed meanwhile is reached, its name too");
        add(&mut settings, "deny", "allowed.test".to_owned());
        write(&settings.to_string());
        assert_eq!([heard(), heard()], ["denied", "cut"], "and a connection that was there before");
        write("{ this is no JSON");
        assert_eq!(heard(), "closed", "while the file cannot be read nothing is allowed");
        let output = run.wait_with_output().expect("pinfold");
        assert!(output.status.success(), "{}", describe(&output));
        let refused = report(&output)["refused"].to_string();
        assert!(refused.contains("a rule denies it"), "{refused}");
        write(&before.to_string());
    });
}

#[each(user)]
fn a_shell_of_a_session_goes_by_the_rules_of_now(who: Who) {
    with_world(who, |world| {
        let at = world.bed.home().join(".config/pinfold/settings.json");
        let before: Value = serde_json::from_slice(&fs::read(&at).expect("settings")).expect("JSON");
        let fetch = |host: &str| {
            let command = format!("curl -sS -m 20 http://{host}:{}/", world.port("http"));
            json!({"tool": "Bash", "input": {"command": command}}).to_string()
        };
        let mut pinfold = world.bed.free(pinfold_tests::product::pinfold());
        pinfold.args(["call", "--lines", "--allow-bash", "--allowedTools", "Bash", "--ask", "nobody"]);
        let piped = pinfold.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut session = piped.spawn().expect("pinfold");
        let mut input = session.stdin.take().expect("piped");
        let mut answers = BufReader::new(session.stdout.take().expect("piped")).lines();
        let mut call = |host: &str| {
            writeln!(input, "{}", fetch(host)).expect("a line");
            answers.next().and_then(Result::ok).unwrap_or_default()
        };
        let said = call("other.test");
        assert!(!said.contains("hello from outside"), "{said}");
        let mut settings = before.clone();
        let allow = settings["network"]["allow"].as_array_mut().expect("a list");
        allow.push(format!("other.test:{}", world.port("http")).into());
        fs::write(&at, settings.to_string()).expect("settings");
        let said = call("other.test");
        assert!(said.contains("hello from outside"), "{said}");
        drop(input);
        assert!(session.wait().expect("pinfold").success());
        fs::write(&at, before.to_string()).expect("settings");
    });
}

#[each(user)]
fn allowed_names_of_the_hosts_file_are_looked_up_outside(who: Who) {
    let bind = ["--mount", "sh", "-ec", "mount --bind \"$0\" /etc/hosts; exec \"$@\""];
    if !Command::new("unshare").args(["--mount", "true"]).output().is_ok_and(|output| output.status.success())
    {
        return left_out("names of /etc/hosts", "no mount namespace to be had");
    }
    with_world(who, |world| {
        let own = "10.9.8.7 listed.test other-listed.test\n10.9.8.6 unlisted.test\n";
        let file = world.bed.outside().join("etc-hosts");
        let hosts = fs::read_to_string("/etc/hosts").expect("a file") + own;
        fs::write(&file, hosts).expect("a file");
        world.bed.give();
        let run = |options: &[&str]| {
            let http = world.port("http");
            let script = format!(
                "python3 -c 'import socket; print(socket.gethostbyname(\"listed.test\"))'; cat /etc/hosts; \
                 curl -sS --noproxy '*' -m 20 http://listed.test:{http}/"
            );
            let mut inner = world.bed.run(Tier::Full, &[&["--json", "--ask", "nobody"], options].concat());
            inner.args(["sh", "-c", &script]);
            let mut command = Command::new("unshare");
            command.args(bind).arg(&file).arg(inner.get_program()).args(inner.get_args()).env_clear();
            command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
            command.current_dir(world.bed.folder()).output().expect("unshare")
        };
        let named = format!("listed.test:{}", world.port("http"));
        let output = run(&["--allow-host", &named]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.starts_with("198.18."), "{}", describe(&output));
        assert!(
            said.contains("10.9.8.7 other-listed.test") && said.contains("localhost"),
            "the rest: {said}"
        );
        // Outside, it leads where the file says.
        let refused = report(&output)["refused"].to_string();
        assert!(refused.contains("it leads to 10.9.8.7"), "{refused}");
        // The control: a name that nobody allows stays what it was.
        let output = run(&[]);
        assert!(String::from_utf8_lossy(&output.stdout).starts_with("10.9.8.7"), "{}", describe(&output));
    });
}

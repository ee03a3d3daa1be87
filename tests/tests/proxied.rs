//! Hosts on the Landlock tier, where a run has no network of its own: programs that use the proxy reach what is allowed,
//! and nothing else goes anywhere. Where nothing is allowed the report says what was wanted.

use std::process::Output;

use pinfold_tests::cases::{Case, all_lose, cases, python, report};
use pinfold_tests::output::describe;
use pinfold_tests::outside::{World, with_world_on};
use pinfold_tests::product::pinfold;
use pinfold_tests::{Tier, Who, each};
use serde_json::{Value, json};

/// The tier of these tests.
const TIER: Tier = Tier::LandlockOnly;

fn with_world(who: Who, attempt: impl Fn(&World)) {
    with_world_on(who, TIER, |_, _| {}, attempt);
}

/// What attacks are made of beside what all are.
const MEANS: &str = "import ctypes, time\nLIBC = ctypes.CDLL(None, use_errno=True)\n\
    def internet(host, port):\n    return socket.AF_INET.to_bytes(2, sys.byteorder) + port.to_bytes(2, 'big') + \
    socket.inet_aton(host) + bytes(8)\n\
    def raw(stream, address):\n    return LIBC.connect(stream.fileno(), address, 16)\n\
    def patient():\n    stream = socket.socket()\n    stream.settimeout(None)\n    return stream\n\
    def end(stream):\n    stream.settimeout(5)\n    everything(stream)\n";

fn done(output: &Output) -> bool {
    String::from_utf8_lossy(&output.stdout) == "done\n"
}

#[each(user)]
fn what_asks_the_proxy_reaches_what_is_allowed(who: Who) {
    const BY_PROXY: [&str; 4] =
        ["through-the-http-proxy", "through-a-tunnel", "through-socks", "a-host-that-is-not-there"];
    with_world(who, |world| {
        let all = cases("uses.txt");
        for name in BY_PROXY {
            let case = all.iter().find(|case| case.name == name).expect("a use");
            let output = python(world, case, Some(TIER));
            assert!(done(&output), "{name}: {}", describe(&output));
        }
    });
}

#[each(user)]
fn no_other_way_leads_anywhere(who: Who) {
    let mut attacks = cases("attacks-proxied.txt");
    for case in &mut attacks {
        case.code.insert_str(0, MEANS);
    }
    // What is said about those is said where they are tried free.
    attacks.extend(cases("attacks.txt").iter().map(|case| Case::new(&case.name, &case.code)));
    all_lose(who, TIER, &attacks);
}

#[each(user)]
fn a_socket_that_was_given_cannot_be_turned_to_another_use(who: Who) {
    // A route by the sender (IP options, routing headers), another device, another protocol on top, a server.
    let code = "def tries():\n    \
        stream, six = socket.socket(), socket.socket(socket.AF_INET6)\n    \
        yield 'route', lambda: stream.setsockopt(0, 4, bytes([131, 7, 4, 203, 0, 113, 9, 0]))\n    \
        yield 'header', lambda: six.setsockopt(41, 57, bytes([0, 2, 2, 1]) + bytes(4) + socket.inet_pton(10, '2001:db8::9'))\n    \
        yield 'device', lambda: stream.setsockopt(1, 25, b'lo\\0')\n    \
        yield 'layer', lambda: socket.socket().setsockopt(6, 31, b'smc') or True\n    \
        yield 'bind', lambda: socket.socket().bind(('127.0.0.1', 0))\n    \
        yield 'listen', lambda: socket.socket().listen()\n    \
        yield 'datagram', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n    \
        yield 'multipath', lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)\n\
        worked = set()\n\
        for name, deed in tries():\n    try:\n        deed()\n        worked.add(name)\n    except OSError:\n        pass\n\
        socket.socket().setsockopt(6, 1, 1)\n";
    with_world(who, |world| {
        let inside = Case::new("uses", &format!("{code}assert not worked, worked\n"));
        let output = python(world, &inside, Some(TIER));
        assert!(done(&output), "{}", describe(&output));
        // A route needs the superuser on newer kernels, another protocol its module.
        let free = "assert worked >= {'device', 'bind', 'listen', 'datagram'}, worked\n\
                    assert 'route' in worked or os.geteuid(), worked\n";
        let output = python(world, &Case::new("uses", &format!("{code}{free}")), None);
        assert!(done(&output), "the control: {}", describe(&output));
    });
}

#[each(user)]
fn refusals_are_named_and_said_in_words(who: Who) {
    with_world(who, |world| {
        let case = Case::new(
            "named",
            "import contextlib\n\
             said = ask(tcp('127.0.0.1', PROXY), f'other.test:{HTTP}', f'http://other.test:{HTTP}/x')\n\
             assert b' 403 ' in said and b'(run-' in said and b'--allow-host' not in said, said\n\
             with contextlib.suppress(OSError):\n    tcp('127.0.0.1', HTTP)\n\
             with contextlib.suppress(OSError):\n    socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
             with contextlib.suppress(OSError):\n    ask(tls(connect(f'allowed.test:{HTTPS}'), 'other.test'), 'x')\n",
        );
        let output = python(world, &case, Some(TIER));
        assert!(done(&output), "{}", describe(&output));
        let said = report(&output);
        let alone = "without a network of its own a run reaches hosts by the proxy alone";
        for (tried, place, why) in [
            ("reach", format!("other.test:{}", world.port("http")), "no rule allows this host"),
            ("connect", format!("127.0.0.1:{}", world.port("http")), alone),
            ("open socket", "internet".to_owned(), alone),
            ("reach", format!("allowed.test:{}", world.port("https")), "its TLS hello names `other.test`"),
        ] {
            let refused = said["refused"].as_array().expect("a list");
            let found = refused.iter().find(|one| one["tried"] == tried && one["place"] == place.as_str());
            let found = found.unwrap_or_else(|| panic!("{tried} {place} is not named: {said:#}"));
            assert_eq!(found["why"], why);
            // By its file, or by the name of the thread where the resolver tells of it.
            assert!(found["program"].as_str().is_some_and(|name| name.starts_with("python3")), "{found:#}");
        }
    });
}

/// Settings that allow nothing, and a run with nobody to ask.
fn with_no_host(who: Who, attempt: impl Fn(&World)) {
    let change = |settings: &mut Value, _: &World| {
        settings["network"]["allow"] = json!([]);
        settings["permissions"] = json!({});
    };
    with_world_on(who, TIER, change, attempt);
}

fn fetch(world: &World, options: &[&str], url: &str) -> Output {
    let mut command = world.bed.run(TIER, &[&["--ask", "nobody", "--json"], options].concat());
    command.args(["curl", "-fsS", "-m", "20", url]).output().expect("pinfold")
}

fn refused(output: &Output) -> Vec<Value> {
    report(output)["refused"].as_array().expect("a list").clone()
}

#[each(user)]
fn where_no_host_is_allowed_the_wanted_one_is_named_and_not_reached(who: Who) {
    with_no_host(who, |world| {
        let (http, https) = (world.port("http"), world.port("https"));
        for (url, host) in [
            (format!("http://allowed.test:{http}/word"), format!("allowed.test:{http}")),
            (format!("https://allowed.test:{https}/word"), format!("allowed.test:{https}")),
        ] {
            let output = fetch(world, &[], &url);
            assert!(!output.status.success(), "{}", describe(&output));
            let all = refused(&output);
            let [one] = all.as_slice() else { panic!("{all:#?}") };
            let told = ["tried", "place", "program", "why", "to_allow"].map(|key| one[key].as_str());
            let to_allow = format!("start with --allow-host {host}");
            let wanted = ["reach", &host, "curl", "no rule allows this host", &to_allow];
            assert_eq!(told, wanted.map(Some), "{}", describe(&output));
            let id = one["id"].as_str().expect("a name");
            for (words, part) in [(&["why", id][..], &to_allow), (&["log"], &format!("refused: {host}"))] {
                let output = world.bed.free(pinfold()).args(words).output().expect("pinfold");
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                assert!(text.contains(part.as_str()), "no `{part}`: {}", describe(&output));
            }
        }
        assert!(!world.hits().contains("word"), "{}", world.hits());
        let options = ["allowed.test", "127.0.0.1"].map(|host| format!("--allow-host={host}:{http}"));
        let options = options.each_ref().map(String::as_str);
        let output = fetch(world, &options, &format!("http://allowed.test:{http}/word"));
        assert!(output.status.success() && world.arrives("word"), "the control: {}", describe(&output));
        assert!(refused(&output).is_empty(), "the control: {}", describe(&output));
    });
}

#[each(user)]
fn a_proxy_of_the_persons_own_does_not_hide_the_wanted_host(who: Who) {
    with_no_host(who, |world| {
        let mut command = world.bed.run(TIER, &["--ask", "nobody", "--json"]);
        for name in ["http_proxy", "HTTP_PROXY", "ALL_PROXY"] {
            command.env(name, format!("http://127.0.0.1:{}", world.port("http")));
        }
        command.env("no_proxy", "wanted.test").env("NO_PROXY", "wanted.test");
        let output = command.args(["curl", "-fsS", "-m", "20", "http://wanted.test/word"]).output();
        let output = output.expect("pinfold");
        assert!(refused(&output).iter().any(|one| one["place"] == "wanted.test:80"), "{}", describe(&output));
        assert!(!world.hits().contains("word"), "{}", world.hits());
    });
}

#[each(user)]
fn where_no_host_is_allowed_nothing_else_goes_anywhere(who: Who) {
    let code = "import contextlib\n\
        def lost(deed):\n    \
            try:\n        deed()\n    except OSError:\n        return\n    raise AssertionError(deed)\n\
        http = int(os.environ['PORT_HTTP'])\n\
        port = int(os.environ['HTTP_PROXY'].rpartition(':')[2])\n\
        lost(lambda: tcp('127.0.0.1', http))\n\
        lost(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))\n\
        lost(lambda: socket.socket().bind(('127.0.0.1', 8000)))\n\
        lost(lambda: socket.socket().bind(('127.0.0.1', 0)))\n\
        lost(lambda: socket.socket().listen())\n\
        socks = tcp('127.0.0.1', port)\n\
        socks.sendall(bytes([5, 1, 0]))\n\
        assert socks.recv(2) == bytes([5, 0])\n\
        name = b'by-socks.test'\n\
        socks.sendall(bytes([5, 1, 0, 3, len(name)]) + name + (443).to_bytes(2, 'big'))\n\
        assert socks.recv(2) == bytes([5, 2]), 'not allowed'\n\
        kept = []\n\
        for _ in range(500):\n    \
            with contextlib.suppress(OSError):\n        kept.append(socket.socket())\n\
        assert len(kept) <= 64, len(kept)\n";
    with_no_host(who, |world| {
        let output = python(world, &Case::new("nowhere", code), Some(TIER));
        assert!(done(&output), "{}", describe(&output));
        let server = "without a network of its own no process of a run can listen";
        let (direct, alone) = (format!("127.0.0.1:{}", world.port("http")), "no rule allows this host");
        for (tried, place, why) in [
            ("connect", direct.as_str(), alone),
            ("open socket", "internet", "the network is off"),
            ("bind socket", "127.0.0.1:8000", server),
            ("bind socket", "127.0.0.1:0", server),
            ("reach", "by-socks.test:443", alone),
        ] {
            let all = refused(&output);
            let found = all.iter().find(|one| one["tried"] == tried && one["place"] == place);
            let found = found.unwrap_or_else(|| panic!("{tried} {place} is not named: {all:#?}"));
            assert_eq!(found["why"], why);
        }
    });
}

#[each(user)]
fn where_the_network_is_closed_by_name_there_is_no_socket_and_no_proxy(who: Who) {
    with_no_host(who, |world| {
        let code = "import os, socket\n\
            assert not [name for name in os.environ if name.lower().endswith('_proxy')], os.environ\n\
            try:\n    socket.socket()\nexcept PermissionError:\n    print('none')\n";
        for (options, is_closed) in [
            (&["--network", "off"][..], true),
            (&["--allow-feature", "unix-sockets"], true),
            (&["--allow-feature", "io-uring"], true),
            (&[], false),
        ] {
            let mut command = world.bed.run(TIER, &[&["--ask", "nobody", "--json"], options].concat());
            for name in ["http_proxy", "https_proxy", "all_proxy", "no_proxy"] {
                command.env_remove(name).env_remove(name.to_uppercase());
            }
            let output = command.args(["python3", "-c", code]).output().expect("pinfold");
            let found = String::from_utf8_lossy(&output.stdout) == "none\n";
            assert_eq!(found, is_closed, "{options:?}: {}", describe(&output));
            let all = refused(&output);
            let is_told = all.iter().any(|one| one["tried"] == "open socket" && one["place"] == "internet");
            assert_eq!(is_told, is_closed, "{options:?}: {}", describe(&output));
        }
    });
}

#[each(user)]
fn where_a_socket_could_be_had_unseen_no_host_is_reached(who: Who) {
    with_world(who, |world| {
        let fetch = format!("curl -fsS -m 20 http://allowed.test:{}/", world.port("http"));
        for (options, reached) in [
            (&[][..], true),
            (&["--allow-feature", "unix-sockets"], false),
            (&["--allow-feature", "io-uring"], false),
        ] {
            let mut command = world.bed.run(TIER, &[&["--ask", "nobody"], options].concat());
            let output = command.args(["sh", "-c", &fetch]).output().expect("pinfold");
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.success(), reached, "{options:?}: {}", describe(&output));
            assert_eq!(said.contains("no host is reached"), !reached, "{said}");
        }
    });
}

#[each(user)]
fn within_another_run_no_host_is_reached_and_that_is_said(who: Who) {
    with_world(who, |world| {
        let inner = pinfold().display().to_string();
        let fetch = format!("http://allowed.test:{}/", world.port("http"));
        let mut command = world.bed.run(TIER, &["--ask", "nobody", "--allow-feature", "landlock"]);
        command.args([inner.as_str(), "run", "--allow-degraded", "--", "curl", "-fsS", "-m", "20", &fetch]);
        let output = command.output().expect("pinfold");
        assert!(!output.status.success(), "{}", describe(&output));
        assert!(
            String::from_utf8_lossy(&output.stderr).contains("no host is reached"),
            "{}",
            describe(&output)
        );
    });
}

#[each(user)]
fn many_sockets_hold_nobody_up(who: Who) {
    with_world(who, |world| {
        let code = "import resource\n\
            most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n\
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))\n\
            kept = []\n\
            try:\n    kept.extend(socket.socket() for _ in range(min(2000, most - 100)))\nexcept OSError:\n    pass\n\
            assert len(kept) > 200, len(kept)\n\
            del kept[-1:]\n\
            assert b'hello' in ask(kept[0], f'allowed.test:{HTTP}', f'http://allowed.test:{HTTP}/x')\n\
            kept.clear()\n\
            assert b'hello' in ask(tcp('127.0.0.1', PROXY), f'allowed.test:{HTTP}', f'http://allowed.test:{HTTP}/x')\n";
        let output = python(world, &Case::new("many", code), Some(TIER));
        assert!(done(&output), "{}", describe(&output));
    });
}

//! Hosts on the Landlock tier, where a run has no network of its own: programs that use the proxy reach what is allowed,
//! and nothing else goes anywhere.

use std::process::Output;

use pinfold_tests::cases::{Case, all_lose, cases, python, report};
use pinfold_tests::output::describe;
use pinfold_tests::outside::{World, with_world_on};
use pinfold_tests::{Tier, Who, each};

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
        let inner = pinfold_tests::product::pinfold().display().to_string();
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

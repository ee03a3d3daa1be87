//! `WebFetch` against servers on loopback, good and hostile. Each server is reached by a name that settings lead there.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops where it fails")]

#[path = "kit/web.rs"]
mod surfing;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use pinfold::consent::Caller;
use pinfold::policy::Decision;
use pinfold::{CallRequest, RawCall, RefusalCode, WebHost};
use pinfold_host::{AddressBar, Host, SpecialPurpose, UnreachableAddress};
use pinfold_testkit::TempTree;
use pinfold_tools::{CallEnding, Reply, call};
use serde_json::{Value, json};
use surfing::{Authority, Setup, text};

/// A server that says the same to everybody, and what was said to it.
struct Server {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// `answer` gets the target that was asked for.
    fn start(answer: impl Fn(&str, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let (answer, told) = (Arc::new(answer), Arc::clone(&heads));
        // Ends with the process that tests.
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (answer, told) = (Arc::clone(&answer), Arc::clone(&told));
                thread::spawn(move || {
                    let mut stream = stream;
                    let head = head(&stream);
                    let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
                    told.lock().unwrap().push(head);
                    answer(&target, &mut stream);
                });
            }
        });
        Self { port, heads }
    }

    /// One that answers with a head and a body.
    fn saying(head: &str, body: impl AsRef<[u8]>) -> Self {
        let whole =
            [format!("HTTP/1.1 {head}\r\nconnection: close\r\n\r\n").as_bytes(), body.as_ref()].concat();
        Self::start(move |_, stream| drop(stream.write_all(&whole)))
    }

    fn asked(&self) -> usize {
        self.heads.lock().unwrap().len()
    }

    fn url(&self, host: &str) -> String {
        format!("http://{host}:{}/page", self.port)
    }
}

fn head(stream: &TcpStream) -> String {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    lines.by_ref().collect::<Vec<_>>().join("\n")
}

/// A session that reaches these servers by the names `a.test` and `b.test`.
fn setup(servers: &[&Server]) -> Setup {
    let mut setup = Setup::default();
    for server in servers {
        setup.allow(&format!("a.test:{}", server.port));
        setup.allow(&format!("b.test:{}", server.port));
        setup.allow(&format!("127.0.0.1:{}", server.port));
    }
    setup
}

fn fetch(setup: &Setup, url: &str) -> Reply {
    setup.start().call("WebFetch", json!({"url": url}))
}

fn code(reply: &Reply) -> &Value {
    &reply.structured["error"]
}

fn spelled(code: RefusalCode) -> Value {
    serde_json::to_value(code).unwrap()
}

#[test]
fn a_page_comes_as_text_and_is_marked() {
    let html = "<title>The page</title><h1>Hello</h1><p>A <a href=/x>link</a> &amp; sk-ant-REDACTED</p>";
    let server = Server::saying("200 OK\r\ncontent-type: text/html", html);
    let reply = fetch(&setup(&[&server]), &server.url("a.test"));
    assert_eq!(reply.ended, CallEnding::Done, "{}", reply.text());
    let said = text(&reply);
    assert!(said.contains("# Hello") && said.contains("[link](http://a.test:"), "{said}");
    assert!(said.starts_with("[http://a.test") && said.contains("comes from outside"), "{said}");
    assert_eq!(
        (&reply.structured["title"], &reply.structured["untrusted"]),
        (&json!("The page"), &json!(true))
    );
    let heads = server.heads.lock().unwrap();
    let head = heads.first().unwrap().to_lowercase();
    assert!(
        head.contains(&format!("host: a.test:{}", server.port)) && head.contains("accept-encoding: gzip, br")
    );
}

#[test]
fn a_page_that_comes_compressed_is_unpacked() {
    const BROTLI: &[u8] = b"\x1b\x16\x00\xf8\x8d\x94\x6e\xde\x44\x55\x86\x96\x6c\x20\x6f\x21\x4f\x1c\xe0\x38";
    let server = Server::saying("200 OK\r\ncontent-type: text/plain\r\ncontent-encoding: br", BROTLI);
    let reply = fetch(&setup(&[&server]), &server.url("a.test"));
    assert!(reply.text().contains("hello hello hello hello"), "{}", reply.text());
}

#[test]
fn secrets_of_a_page_are_taken_out() {
    let server =
        Server::saying("200 OK\r\ncontent-type: text/plain", format!("token ghp_{}", "a1B2c3D4e5".repeat(4)));
    let reply = fetch(&setup(&[&server]), &server.url("a.test"));
    assert!(
        reply.text().contains("[REDACTED:") && !reply.text().contains("a1B2c3D4e5a1"),
        "{}",
        reply.text()
    );
}

#[test]
fn a_head_is_what_the_server_says() {
    let server =
        Server::saying("404 Not Found\r\ncontent-type: image/png\r\netag: \"x\"\r\nset-cookie: no", "");
    let session = setup(&[&server]).start();
    let reply = session.call("WebFetch", json!({"url": server.url("a.test"), "method": "HEAD"}));
    assert_eq!(reply.ended, CallEnding::Done);
    assert_eq!(reply.structured["status"], 404);
    assert!(
        reply.text().contains("content-type: image/png") && !reply.text().contains("cookie"),
        "{}",
        reply.text()
    );
}

#[test]
fn a_long_page_is_read_in_parts() {
    let server = Server::saying("200 OK\r\ncontent-type: text/plain", "ä".repeat(70_000) + "end");
    let session = setup(&[&server]).start();
    let first = session.call("WebFetch", json!({"url": server.url("a.test")}));
    let offset = &first.structured["next_offset"];
    assert_eq!((offset, &first.structured["characters"]), (&json!(60_000), &json!(70_003)));
    let second = session.call("WebFetch", json!({"url": server.url("a.test"), "offset": offset}));
    assert!(second.text().ends_with("end") && second.structured["next_offset"].is_null());
    assert_eq!(server.asked(), 1, "the second part came from the cache");
}

/// Answers that no page can be made of: what is said about each.
#[test]
fn hostile_answers_end_in_words() {
    let endless = Server::start(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n");
        while stream.write_all(&vec![b'x'; 65536]).is_ok() {}
    });
    let giant = format!("200 OK\r\nx-giant: {}", "x".repeat(200_000));
    let many: String = (0..2000).map(|i| format!("\r\nx-{i}: y")).collect();
    let packed = "200 OK\r\ncontent-type: text/html\r\ncontent-encoding: gzip";
    for (name, server, expected) in [
        ("endless", endless, RefusalCode::TooLarge),
        ("giant header", Server::saying(&giant, "x"), RefusalCode::NotFetched),
        ("many headers", Server::saying(&format!("200 OK{many}"), "x"), RefusalCode::NotFetched),
        (
            "no http",
            Server::start(|_, stream| drop(stream.write_all(b"SSH-2.0-x\r\n"))),
            RefusalCode::NotFetched,
        ),
        ("nothing", Server::start(|_, _| ()), RefusalCode::NotFetched),
        ("packed and broken", Server::saying(packed, "\x1f"), RefusalCode::NotFetched),
        (
            "packed in a strange way",
            Server::saying(&packed.replace("gzip", "zstd"), "x"),
            RefusalCode::NotFetched,
        ),
        (
            "two lengths",
            Server::saying("200 OK\r\ncontent-length: 1\r\ncontent-length: 2", "xx"),
            RefusalCode::NotFetched,
        ),
        ("cut off", Server::saying("200 OK\r\ncontent-length: 100", "x"), RefusalCode::NotFetched),
        ("an image", Server::saying("200 OK\r\ncontent-type: image/png", "x"), RefusalCode::NotText),
        (
            "a lie",
            Server::saying("200 OK\r\ncontent-type: text/html", b"\x89PNG\r\n\0\0"),
            RefusalCode::NotText,
        ),
        ("nul", Server::saying("200 OK\r\ncontent-type: text/plain", b"a\0b"), RefusalCode::NotText),
    ] {
        let began = Instant::now();
        let reply = fetch(&setup(&[&server]), &server.url("a.test"));
        assert_eq!(
            (reply.ended, code(&reply)),
            (CallEnding::Failed, &spelled(expected)),
            "{name}: {}",
            reply.text()
        );
        assert!(began.elapsed() < Duration::from_secs(30), "{name}");
    }
}

#[test]
fn a_page_that_takes_too_long_says_the_limit_and_what_took_so_long() {
    let slow = Server::start(|target, stream| {
        if target == "/leads-on" {
            thread::sleep(Duration::from_millis(300));
            let _ = stream.write_all(b"HTTP/1.1 302 Found\r\nlocation: /slow\r\ncontent-length: 0\r\n\r\n");
            return;
        }
        let _ =
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 90000\r\n\r\n");
        // As long as the client is there.
        while stream.write_all(b"x").is_ok() {
            thread::sleep(Duration::from_millis(50));
        }
    });
    let mute = Server::start(|_, _| thread::sleep(Duration::from_mins(1)));
    let authority = Authority::new();
    let folder = TempTree::new();
    std::fs::write(folder.top().join("roots.pem"), authority.pem()).unwrap();
    let waits = |url: String, stage: &str| {
        let mut setup = setup(&[&slow, &mute]);
        (setup.timeout, setup.roots) = (Some(Duration::from_secs(4)), Some(folder.top().join("roots.pem")));
        let reply = fetch(&setup, &url);
        assert_eq!(
            (reply.ended, code(&reply)),
            (CallEnding::Failed, &json!("NotFetched")),
            "{}",
            reply.text()
        );
        let expected = format!("it timed out after 4 s, redirects included, while {stage}");
        assert!(reply.text().contains(&expected), "{url}: {}", reply.text());
    };
    let began = Instant::now();
    thread::scope(|scope| {
        for (url, stage) in [
            (slow.url("a.test"), "reading its content"),
            // Not the time that the redirect left.
            (format!("http://a.test:{}/leads-on", slow.port), "reading its content"),
            (mute.url("a.test"), "waiting for its answer"),
            (mute.url("a.test").replace("http:", "https:"), "connecting to the host"),
        ] {
            let waits = &waits;
            scope.spawn(move || waits(url, stage));
        }
    });
    assert!(began.elapsed() < Duration::from_secs(30), "the limit that was set holds");
    // The control: with time enough it comes.
    let server = Server::saying("200 OK\r\ncontent-type: text/plain", "here");
    let mut setup = setup(&[&server]);
    setup.timeout = Some(Duration::from_secs(30));
    assert!(fetch(&setup, &server.url("a.test")).text().ends_with("here"));
}

/// The server never says anything: that the call ends at all shows it.
#[test]
fn a_page_that_nobody_waits_for_is_given_up() {
    let (came, comes) = mpsc::channel();
    let mute = Server::start(move |_, stream| {
        came.send(()).unwrap();
        // Until the other side has gone.
        let _ = stream.read(&mut [0]);
        came.send(()).unwrap();
        thread::sleep(Duration::from_mins(2));
    });
    let surfer = setup(&[&mute]).start();
    let gone = AtomicBool::new(false);
    let waits = || !gone.load(Ordering::SeqCst);
    thread::scope(|scope| {
        let call = scope.spawn(|| {
            let raw = RawCall::new("WebFetch", json!({"url": mute.url("a.test")}));
            let caller = Caller { waits: Some(&waits), ..Caller::default() };
            call(&surfer.session, CallRequest::new(&raw).with_caller(caller))
        });
        comes.recv().unwrap();
        gone.store(true, Ordering::SeqCst);
        comes.recv().expect("the connection ends with it");
        let reply = call.join().unwrap();
        assert_eq!((reply.ended, code(&reply)), (CallEnding::Failed, &json!("NotFetched")));
        assert!(reply.text().contains("the caller gave up"), "{}", reply.text());
    });
}

/// Where a page leads on to, and whether anybody goes there.
#[test]
fn where_a_page_leads_on_is_judged_again() {
    let target = Server::saying("200 OK\r\ncontent-type: text/plain", "the target");
    let secret = Server::saying("200 OK\r\ncontent-type: text/plain", "the secret");
    let (to, hidden) = (target.port, secret.port);
    let leading = Server::start(move |path, stream| {
        let location = match path {
            "/same" => "/end".to_owned(),
            "/end" => {
                return drop(stream.write_all(
                    b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nok",
                ));
            }
            "/other" => format!("http://b.test:{to}/x"),
            "/loopback" => format!("http://127.0.0.1:{hidden}/x"),
            "/localhost" => format!("http://localhost:{hidden}/x"),
            "/near" => "http://near.test/x".to_owned(),
            "/metadata" => "http://169.254.169.254/latest/meta-data/".to_owned(),
            "/decimal" => "http://2852039166/".to_owned(),
            "/mapped" => "http://[::ffff:a9fe:a9fe]/".to_owned(),
            "/user" => format!("http://b.test@127.0.0.1:{hidden}/x"),
            "/file" => "file:///etc/passwd".to_owned(),
            "/ask" => "http://ask.test/x".to_owned(),
            "/deny" => "http://deny.test/x".to_owned(),
            "/unnamed" => "http://far.test/x".to_owned(),
            "/port" => "http://far.test:1/x".to_owned(),
            "/pinned-near" => "http://b.test/x".to_owned(),
            "/address" => "http://8.8.8.8/x".to_owned(),
            _ => "/loop".to_owned(),
        };
        let _ = write!(stream, "HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
    });
    let mut setup = Setup::default();
    setup.allow(&format!("a.test:{}", leading.port));
    setup.allow(&format!("127.0.0.1:{}", leading.port));
    setup.allow(&format!("b.test:{to}"));
    setup.allow(&format!("127.0.0.1:{to}"));
    setup.allow("near.test");
    setup.rule("ask", "WebFetch(domain:ask.test)").rule("deny", "WebFetch(domain:deny.test)");
    for (path, expected) in [
        ("same", Ok("ok")),
        ("other", Ok("the target")),
        ("loopback", Err("Denied")),
        ("localhost", Err("Denied")),
        ("near", Err("Denied")),
        ("metadata", Err("Denied")),
        ("decimal", Err("Denied")),
        ("mapped", Err("Denied")),
        ("user", Err("NotFetched")),
        ("file", Err("NotFetched")),
        ("ask", Err("RequiresApproval")),
        ("deny", Err("Denied")),
        ("pinned-near", Err("Denied")),
        ("unnamed", Err("RequiresApproval")),
        ("port", Err("RequiresApproval")),
        ("address", Err("RequiresApproval")),
        ("loop", Err("NotFetched")),
    ] {
        let reply = fetch(&setup, &format!("http://a.test:{}/{path}", leading.port));
        match expected {
            Ok(end) => assert!(reply.text().ends_with(end), "{path}: {}", reply.text()),
            Err(why) => assert_eq!(code(&reply), why, "{path}: {}", reply.text()),
        }
    }
    assert_eq!(secret.asked(), 0, "nobody went there");
    // The control: it is there for whoever names it.
    setup.allow(&format!("127.0.0.1:{hidden}"));
    assert!(fetch(&setup, &format!("http://127.0.0.1:{hidden}/")).text().ends_with("the secret"));
}

#[test]
fn what_is_near_needs_a_rule_that_names_it() {
    let server = Server::saying("200 OK\r\ncontent-type: text/plain", "here");
    let port = server.port;
    let mut named = Setup::default();
    named.allow(&format!("a.test:{port}"));
    named.allow("near.test");
    named.allow("both.test");
    for (url, expected) in [
        (format!("http://127.0.0.1:{port}/"), "Denied"),
        (format!("http://[::1]:{port}/"), "Denied"),
        (format!("http://[::ffff:127.0.0.1]:{port}/"), "Denied"),
        ("http://169.254.169.254/".to_owned(), "Denied"),
        ("http://0.0.0.0/".to_owned(), "Denied"),
        // The name may be reached, and leads where nothing may.
        (format!("http://a.test:{port}/"), "Denied"),
        ("http://near.test/".to_owned(), "Denied"),
        ("http://both.test/".to_owned(), "Denied"),
        (format!("http://user:pass@127.0.0.1:{port}/"), "InvalidInput"),
        ("ftp://a.test/".to_owned(), "InvalidInput"),
        ("http://b.test/".to_owned(), "Denied"),
        ("http://b.test:9/".to_owned(), "Denied"),
        ("http://far.test/".to_owned(), "RequiresApproval"),
        ("http://far.test:9/".to_owned(), "RequiresApproval"),
        ("http://8.8.8.8/".to_owned(), "RequiresApproval"),
    ] {
        let reply = fetch(&named, &url);
        assert_eq!(code(&reply), expected, "{url}: {}", reply.text());
    }
    assert_eq!(server.asked(), 0);
    named.rule("ask", "WebFetch(domain:10.0.0.7)").rule("ask", "WebFetch(domain:8.8.8.8)");
    assert_eq!(
        code(&fetch(&named, "http://10.0.0.7/")),
        "Denied",
        "what a yes cannot open is not asked about"
    );
    assert_eq!(code(&fetch(&named, "http://8.8.8.8/")), "RequiresApproval", "the control");
    named.rules.clear();
    named.allow(&format!("127.0.0.1:{port}"));
    assert!(fetch(&named, &format!("http://a.test:{port}/")).text().ends_with("here"));
    named.deny("127.0.0.1");
    assert_eq!(code(&fetch(&named, &format!("http://a.test:{port}/"))), "Denied");
    assert_eq!(server.asked(), 1);
}

/// A host that was found to lead nearby.
#[derive(Debug)]
struct FoundNear;

impl WebHost for FoundNear {
    fn fork(&self) -> Arc<dyn WebHost> {
        Arc::new(Self)
    }

    fn refused_address(&self, host: &Host, port: u16) -> Option<UnreachableAddress> {
        let because = AddressBar::Near(SpecialPurpose::Private);
        let found = UnreachableAddress { address: "10.9.8.7".parse().unwrap(), because };
        (host.to_string() == "found.test" && port == 80).then_some(found)
    }
}

/// Each is judged alone: nothing is fetched.
#[test]
fn no_page_is_asked_about_that_a_yes_cannot_open() {
    let mut setup = Setup::default();
    setup.network["hosts"]["denied.test"] = json!(["9.9.9.9"]);
    setup.deny("9.9.9.9");
    setup.rule("ask", "WebFetch(domain:1.1.1.1)").rule("ask", "WebFetch(domain:near.test)");
    setup.network["hosts"]["asked.test"] = json!(["1.1.1.1"]);
    let judged = |setup: &Setup, url: &str| {
        let surfer = setup.open_with(Some(Arc::new(FoundNear)));
        let found = surfer.session.check(&RawCall::new("WebFetch", json!({"url": url}))).unwrap();
        let why = surfer.call("WebFetch", json!({"url": url})).text();
        (found.verdict.decision, why)
    };
    for (url, why) in [
        ("http://near.test/", "it leads to 10.0.0.1, and it is an address of a private network: only a rule"),
        ("http://NEAR.test./", "it leads to 10.0.0.1"),
        ("http://both.test/", "it leads to 127.0.0.1, and it is an address of this machine"),
        ("http://localhost/", "it leads to 127.0.0.1"),
        ("https://a.b.localhost:8443/", "it leads to 127.0.0.1"),
        ("http://denied.test/", "it leads to 9.9.9.9, which a rule denies"),
        ("http://asked.test/", "it leads to 1.1.1.1, which a rule asks about"),
        ("http://found.test/", "it leads to 10.9.8.7"),
        ("http://[::ffff:10.0.0.1]/", "it is an address of a private network"),
        ("http://[64:ff9b::a00:1]/", "it is"),
    ] {
        let (decision, text) = judged(&setup, url);
        assert_eq!(decision, Decision::Deny, "{url}: {text}");
        assert!(text.contains(why), "{url}: {text}");
    }
    // Other spellings of an address are no hosts at all, or that address.
    for host in [
        "127.1",
        "0x7f.0.0.1",
        "2130706433",
        "0177.0.0.1",
        "\u{ff11}27.0.0.1",
        "127.0.0.1.",
        "[::ffff:7f00:1]",
    ] {
        let surfer = setup.open_with(Some(Arc::new(FoundNear)));
        let reply = surfer.call("WebFetch", json!({"url": format!("http://{host}/")}));
        assert!(
            ["Denied", "InvalidInput"].iter().any(|code| reply.structured["error"] == *code),
            "{host}: {reply:?}"
        );
    }
    // The control: what a yes opens is asked about, and what a rule allows by its address too is allowed.
    for url in ["http://far.test/", "http://unknown.test/", "http://found.test:8080/", "http://8.8.8.8/"] {
        assert_eq!(judged(&setup, url).0, Decision::Ask, "{url}");
    }
    setup.allow("10.9.8.7");
    assert_eq!(judged(&setup, "http://found.test/").0, Decision::Ask, "a rule opens the address by now");
    setup.rules.clear();
    setup.allow("near.test");
    assert_eq!(judged(&setup, "http://near.test/").0, Decision::Deny, "a rule for the name opens no address");
    setup.allow("10.0.0.1");
    let surfer = setup.open_with(None);
    let allowed = surfer.session.check(&RawCall::new("WebFetch", json!({"url": "http://near.test/"})));
    assert_eq!(allowed.unwrap().verdict.decision, Decision::Allow);
}

#[test]
fn a_page_is_judged_before_the_cache_is_looked_at() {
    let server = Server::saying("200 OK\r\ncontent-type: text/plain", "kept");
    let mut setup = setup(&[&server]);
    let session = setup.start();
    let url = server.url("a.test");
    for _ in 0..2 {
        assert!(session.call("WebFetch", json!({"url": url})).text().ends_with("kept"));
    }
    assert_eq!(server.asked(), 1);
    setup.rule("deny", "WebFetch(domain:a.test)");
    session.session.set_policy(setup.policy());
    assert_eq!(session.call("WebFetch", json!({"url": url})).ended, CallEnding::Refused);
    // Under other rules nothing is taken for known.
    setup.rules.clear();
    session.session.set_policy(setup.policy());
    assert!(session.call("WebFetch", json!({"url": url})).text().ends_with("kept"));
    assert_eq!(server.asked(), 2);
}

#[test]
fn a_budget_that_is_spent_is_refused() {
    let server = Server::saying("200 OK\r\ncontent-type: text/plain", "x".repeat(50_000));
    let mut setup = setup(&[&server]);
    setup.network["fetches"] = json!(3);
    let session = setup.start();
    let get = |path: &str| {
        session.call("WebFetch", json!({"url": format!("http://a.test:{}/{path}", server.port)}))
    };
    for path in ["1", "2", "2", "3"] {
        assert_eq!(get(path).ended, CallEnding::Done, "{path}");
    }
    let spent = get("4");
    assert_eq!(code(&spent), "BudgetSpent");
    assert!(spent.text().contains("3 pages"), "{}", spent.text());
    assert_eq!(get("3").ended, CallEnding::Done, "what is kept costs nothing");
    setup.network["fetches"] = json!(100);
    setup.network["fetchSize"] = json!("64K");
    let session = setup.start();
    let get = |path: &str| {
        session.call("WebFetch", json!({"url": format!("http://a.test:{}/{path}", server.port)}))
    };
    assert_eq!(get("1").ended, CallEnding::Done);
    assert_eq!(code(&get("2")), "TooLarge", "more than is left");
    assert_eq!(code(&get("3")), "BudgetSpent");
}

#[test]
fn a_server_has_to_prove_who_it_is() {
    let authority = Authority::new();
    let trusted = authority.serve("a.test", "within TLS");
    let folder = TempTree::new();
    let file = folder.write("roots.pem", authority.pem());
    let mut setup = Setup { roots: Some(file), ..Setup::default() };
    setup.allow(&format!("*.test:{trusted}"));
    setup.allow(&format!("127.0.0.1:{trusted}"));
    let reply = fetch(&setup, &format!("https://a.test:{trusted}/"));
    assert!(reply.text().ends_with("within TLS"), "{}", reply.text());
    // Another name, and an authority that nobody trusts.
    let other = fetch(&setup, &format!("https://b.test:{trusted}/"));
    assert_eq!(code(&other), "NotFetched", "{}", other.text());
    let stranger = Authority::new();
    std::fs::write(setup.roots.as_deref().unwrap_or(Path::new("")), stranger.pem()).unwrap();
    assert_eq!(code(&fetch(&setup, &format!("https://a.test:{trusted}/"))), "NotFetched");
    setup.roots = Some("/nowhere/roots.pem".into());
    let none = fetch(&setup, &format!("https://a.test:{trusted}/"));
    assert!(none.text().contains("/nowhere/roots.pem"), "{}", none.text());
}

#[test]
fn a_session_without_the_web_fetches_nothing() {
    let mut setup = Setup::default();
    setup.allow("example.org");
    let session = setup.start_without_web();
    let reply = session.call("WebFetch", json!({"url": "http://example.org/"}));
    assert_eq!((reply.ended, code(&reply)), (CallEnding::Failed, &json!("NotHeld")));
}

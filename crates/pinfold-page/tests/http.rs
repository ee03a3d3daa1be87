//! The page by what goes over the wire: who gets in, what nonsense costs, and that answers arrive.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops where it fails"
)]

mod kit;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use std::{fs, thread};

use pinfold::consent::{ApprovalChannel, ApproverResponse, Choice};
use pinfold_page::PageEvent;
use serde_json::json;

use kit::{House, Keys, LONG, Reply, house, request};

#[test]
fn the_page_is_for_everybody_and_holds_nothing_of_anybody() {
    let house = house();
    let host = format!("host: localhost:{}", house.port());
    for (path, kind) in [("/", "text/html"), ("/page.js", "text/javascript"), ("/page.css", "text/css")] {
        let reply = house.say(&[&format!("GET {path} HTTP/1.1"), &host], "");
        assert_eq!(reply.status, 200);
        assert!(reply.header("content-type").unwrap().starts_with(kind));
        let policy = reply.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'") && !policy.contains("unsafe"));
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        // Nothing is loaded from elsewhere, and nothing in it needs a policy that is less strict.
        for word in ["http://", "https://", "//cdn", "onclick", "style=\"", "innerHTML", "eval("] {
            assert!(!reply.body.contains(word), "{path}: {word}");
        }
    }
    for path in ["/favicon.ico", "/../Cargo.toml", "/page.js/", "//", "/pair"] {
        assert_eq!(house.say(&[&format!("GET {path} HTTP/1.1"), &host], "").status, 404, "{path}");
    }
}

#[test]
fn it_listens_on_this_machine_alone() {
    let house = house();
    let port = house.port();
    assert!(TcpStream::connect(("::1", port)).is_ok() || fs::metadata("/proc/net/if_inet6").is_err());
    // The other addresses of this machine, as the kernel lists them.
    let local = fs::read_to_string("/proc/net/fib_trie").unwrap_or_default();
    let lines: Vec<&str> = local.lines().collect();
    let hosts = lines.windows(2).filter(|two| two[1].contains("/32 host LOCAL"));
    let others = hosts.filter_map(|two| two[0].rsplit(' ').next()?.parse().ok());
    for other in others.filter(|address: &std::net::Ipv4Addr| *address != std::net::Ipv4Addr::LOCALHOST) {
        let there = SocketAddr::from((other, port));
        assert!(TcpStream::connect_timeout(&there, Duration::from_secs(2)).is_err(), "{there}");
    }
}

#[test]
fn nothing_is_told_or_taken_without_both_halves() {
    let house = house();
    let asked = request("s:1", "npm publish");
    let _open = house.broker.open_channel();
    let asking = house.ask(&asked);
    let keys = house.pair();
    let (_, mine) = keys.cookie.split_once('=').unwrap();
    let port = house.port();
    let no_cookie = Keys { cookie: "a=b".to_owned(), ..keys.clone() };
    let other_port = Keys { cookie: format!("pinfold-approvals-{}={mine}", port ^ 1), ..keys.clone() };
    let twice = Keys { cookie: format!("{}; {}", keys.cookie, keys.cookie), ..keys.clone() };
    let added = Keys { cookie: format!("pinfold-approvals-{port}=x; {}", keys.cookie), ..keys.clone() };
    let no_token = Keys { token: String::new(), ..keys.clone() };
    let cookie_as_token = Keys { token: mine.to_owned(), ..keys.clone() };
    let of_two = Keys { token: house.pair().token, ..keys.clone() };
    for wrong in [no_cookie, other_port, twice, added, no_token, cookie_as_token, of_two] {
        assert_eq!(house.answer(&wrong, &asked, &json!({"choice": "yes"})).status, 401, "{wrong:?}");
        assert_eq!(house.listen(&wrong).err().unwrap().status, 401, "{wrong:?}");
    }
    assert_eq!(house.post("/answer", None, &json!({})).status, 401);
    assert!(!asking.is_finished());
    assert_eq!(house.answer(&keys, &asked, &json!({"choice": "no"})).status, 200);
    asking.join().unwrap();
}

#[test]
fn other_names_and_other_pages_get_nowhere() {
    let house = house();
    let keys = house.pair();
    let port = house.port();
    let paired = [format!("cookie: {}", keys.cookie), format!("x-pinfold-token: {}", keys.token)];
    let here = format!("host: localhost:{port}");
    let cases = [
        (vec!["GET / HTTP/1.1", "host: pinfold.example.com"], 403),
        (vec!["GET /events HTTP/1.1", "host: rebound.example.com"], 403),
        (vec!["GET /events HTTP/1.1", &here, "origin: http://evil.example.com"], 403),
        (vec!["GET /events HTTP/1.1", &here, "sec-fetch-site: same-site"], 403),
        (vec!["POST /answer HTTP/1.1", &here, "content-type: application/json"], 403),
        (vec!["POST /answer HTTP/1.1", &here, "origin: null", "content-type: application/json"], 403),
        (vec!["OPTIONS /answer HTTP/1.1", &here, "origin: http://evil.example.com"], 403),
        (vec!["PUT /answer HTTP/1.1", &here, "content-type: application/json"], 403),
        (vec!["GET http://evil.example.com/ HTTP/1.1", "host: evil.example.com"], 403),
    ];
    for (mut lines, status) in cases {
        lines.extend(paired.iter().map(String::as_str));
        let reply = house.say(&lines, "");
        assert_eq!(reply.status, status, "{lines:?}");
        assert!(reply.header("access-control-allow-origin").is_none());
        assert!(reply.header("content-security-policy").is_some());
    }
}

#[test]
fn a_code_is_not_found_by_trying() {
    let house = house();
    let code = house.page.new_code().unwrap().to_string();
    let tries = |count: u32| -> Vec<Reply> {
        let wrong = || house.post("/pair", None, &json!({"code": "UUUU-UUUU"}));
        thread::scope(|scope| {
            let all: Vec<_> = (0..count).map(|_| scope.spawn(wrong)).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        })
    };
    for reply in tries(30) {
        assert_eq!((reply.status, reply.header("set-cookie")), (403, None));
    }
    let late = house.post("/pair", None, &json!({"code": code}));
    assert!(late.status == 403 && late.body.contains("press Enter"), "{}", late.body);
    assert_eq!(*house.news.lock().unwrap(), [PageEvent::CodeDied]);
    house.pair();
    assert_eq!(*house.news.lock().unwrap(), [PageEvent::CodeDied, PageEvent::Paired]);
    assert_eq!(tries(1)[0].status, 403);
}

#[test]
fn what_is_asked_and_what_becomes_of_it_is_told_at_once() {
    let house = house();
    let keys = house.pair();
    let _open = house.broker.open_channel();
    let mut events = house.listen(&keys).unwrap();
    assert_eq!(events.next("hello").1["waits"], json!([]));
    let nasty = "echo \u{202e}<img src=x onerror=alert(1)>\u{1b}[2J\r\n\ndata: x\u{2028}";
    let asked = request("s:1", nasty);
    let asking = house.ask(&asked);
    let (text, shown) = events.next("asked");
    assert!(text.trim_end().chars().all(|c| !c.is_control() && c != '\u{202e}' && c != '\u{2028}'), "{text}");
    let lines = json!([
        [
            "echo ",
            ["mark", "‹U+202E›"],
            "<img src=x onerror=alert(1)>",
            ["mark", "‹ESC›"],
            "[2J",
            ["mark", "‹CR›"],
            ["faint", "↵"]
        ],
        [["faint", "↵"]],
        ["data: x", ["mark", "‹U+2028›"]],
    ]);
    assert_eq!(shown["blocks"][0]["lines"], lines);
    assert_eq!(shown["answers"], json!(["yes", "session", "always", "no"]));
    // Somebody who comes later is told of it too.
    let mut later = house.listen(&keys).unwrap();
    assert_eq!(later.next("hello").1["waits"], json!([shown["number"]]));
    assert_eq!(later.next("asked").1, shown);
    let mine = house.answer(&keys, &asked, &json!({"choice": "no", "message": "not now"}));
    assert_eq!(mine.status, 200, "{}", mine.body);
    for events in [&mut events, &mut later] {
        let over = events.next("over").1;
        assert_eq!(over["number"], shown["number"]);
        assert!(over["words"].as_str().unwrap().starts_with("an approver on the page answered no"), "{over}");
    }
    let ApproverResponse::Answer(answer) = asking.join().unwrap() else { panic!("it was answered") };
    assert_eq!(answer.choice, Choice::No { message: Some("not now".to_owned()), process: false });
    assert_eq!(answer.by.via, ApprovalChannel::Web);
    assert!(answer.by.who.unwrap().contains("ana"));
}

#[test]
fn one_answer_counts_and_only_what_was_offered() {
    let house = house();
    let keys = house.pair();
    let _open = house.broker.open_channel();
    let mut events = house.listen(&keys).unwrap();
    let asked = request("s:1", "npm publish");
    let asking = house.ask(&asked);
    events.next("asked");
    let yes = json!({"choice": "yes"});
    let say = |name: &str, id: &str, digest: &str, answer: &serde_json::Value| {
        let what = json!({"name": name, "id": id, "digest": digest, "answer": answer});
        house.post("/answer", Some(&keys), &what).status
    };
    assert_eq!(say("test", "s:9", &asked.digest, &yes), 404);
    assert_eq!(say("other", "s:1", &asked.digest, &yes), 404);
    assert_eq!(say("../test", "s:1", &asked.digest, &yes), 404);
    assert_eq!(say("test", "s:1", "another digest", &yes), 409);
    assert_eq!(say("test", "s:1", &asked.digest, &json!({"choice": "session", "scope": 9})), 409);
    assert_eq!(say("test", "s:1", &asked.digest, &json!({"choice": "always", "scopes": [7]})), 409);
    for unclear in
        [json!({"choice": "maybe"}), json!({"choice": "yes", "by": "me"}), json!("yes"), json!(null)]
    {
        assert_eq!(say("test", "s:1", &asked.digest, &unclear), 400, "{unclear}");
    }
    assert!(!asking.is_finished());
    let wide = json!({"choice": "session", "scope": 1});
    let replies: Vec<Reply> = thread::scope(|scope| {
        let all: Vec<_> = (0..8).map(|_| scope.spawn(|| house.answer(&keys, &asked, &wide))).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(replies.iter().filter(|reply| reply.status == 200).count(), 1);
    let late = replies.iter().find(|reply| reply.status != 200).unwrap();
    assert!(late.status == 409 && late.body.contains("is already resolved"), "{}", late.body);
    let ApproverResponse::Answer(answer) = asking.join().unwrap() else { panic!("it was answered") };
    assert_eq!(answer.choice, Choice::session(1));
}

#[test]
fn a_request_that_is_too_long_to_be_drawn_offers_no_alone() {
    let house = house();
    let keys = house.pair();
    let _open = house.broker.open_channel();
    let mut events = house.listen(&keys).unwrap();
    let asked = request("s:1", &"a\u{202e}".repeat(200_000));
    let asking = house.ask(&asked);
    let shown = events.next("asked").1;
    assert_eq!((&shown["answers"], &shown["session"]), (&json!(["no"]), &json!([])));
    assert!(shown["blocks"].to_string().contains("too long to be shown"));
    assert_eq!(house.answer(&keys, &asked, &json!({"choice": "no"})).status, 200);
    asking.join().unwrap();
}

#[test]
fn what_is_too_long_or_too_slow_is_cut_short() {
    let house = house();
    let keys = house.pair();
    let port = house.port();
    let head = |length: &str| {
        format!(
            "POST /answer HTTP/1.1\r\nhost: localhost:{port}\r\norigin: http://localhost:{port}\r\n\
             content-type: application/json\r\ncookie: {}\r\nx-pinfold-token: {}\r\n{length}\r\n\r\n",
            keys.cookie, keys.token
        )
    };
    // A body that is said to be huge, one that is, and one that does not end.
    let mut stream = house.connect();
    stream.write_all(head("content-length: 1000000000000").as_bytes()).unwrap();
    let _ = stream.write_all(" ".repeat(1 << 18).as_bytes());
    assert_eq!(Reply::read(stream).status, 413);
    let mut stream = house.connect();
    stream.write_all(head("transfer-encoding: chunked").as_bytes()).unwrap();
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
    let _ = stream.write_all(chunk.as_bytes()).and_then(|()| stream.write_all(chunk.as_bytes()));
    assert_eq!(Reply::read(stream).status, 413);
    let began = Instant::now();
    let mut stream = house.connect();
    stream.write_all(head("content-length: 100").as_bytes()).unwrap();
    assert_eq!(Reply::read(stream).status, 408);
    assert!(began.elapsed() < Duration::from_secs(20));
    // A head that is too long.
    let long = format!("x: {}", "y".repeat(1 << 20));
    let status = house.say(&["GET / HTTP/1.1", &format!("host: localhost:{port}"), &long], "").status;
    assert!(matches!(status, 0 | 400 | 431), "{status}");
}

/// Every place is taken by somebody who says a byte now and then: each is sent away, and the others get their turn.
#[test]
fn strangers_hold_a_place_for_a_few_seconds() {
    let house = house();
    let strangers: Vec<TcpStream> = (0..200).map(|_| house.connect()).collect();
    let speak = |stream: &TcpStream| {
        let mut stream = stream;
        stream.write_all(b"G").is_ok()
    };
    let began = Instant::now();
    let slow = thread::scope(|scope| {
        let honest = scope.spawn(|| {
            let reply = house.say(&["GET / HTTP/1.1", &format!("host: localhost:{}", house.port())], "");
            (reply.status, began.elapsed())
        });
        while !honest.is_finished() && began.elapsed() < LONG {
            for stranger in &strangers {
                speak(stranger);
            }
            thread::sleep(Duration::from_millis(300));
        }
        honest.join().unwrap()
    });
    assert_eq!(slow.0, 200);
    assert!(slow.1 < Duration::from_secs(40), "{:?}", slow.1);
    let mut first = &strangers[0];
    let mut told = Vec::new();
    let _ = first.read_to_end(&mut told);
    assert!(!speak(first) || !speak(first), "it was sent away: {}", String::from_utf8_lossy(&told));
}

#[test]
fn only_so_many_listen_and_whoever_goes_makes_room() {
    let house = house();
    let keys = house.pair();
    let mut all: Vec<_> = (0..16).map(|_| house.listen(&keys).unwrap()).collect();
    assert_eq!(house.listen(&keys).err().unwrap().status, 503);
    // Others are served all the same.
    assert_eq!(house.answer(&keys, &request("s:1", "x"), &json!({"choice": "yes"})).status, 404);
    all.truncate(15);
    let end = Instant::now() + LONG;
    while house.listen(&keys).is_err() {
        assert!(Instant::now() < end, "the place is not free again");
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn whoever_is_not_paired_any_more_hears_nothing() {
    let house = house();
    let first = house.pair();
    let mut events = house.listen(&first).unwrap();
    events.next("hello");
    // The ninth browser takes the place of the first.
    for _ in 0..8 {
        house.pair();
    }
    let asked = request("s:1", "npm publish");
    let _open = house.broker.open_channel();
    let asking = house.ask(&asked);
    assert_eq!(house.listen(&first).err().unwrap().status, 401);
    assert_eq!(house.answer(&first, &asked, &json!({"choice": "yes"})).status, 401);
    assert!(!events.rest(LONG).contains("npm publish"));
    assert!(!asking.is_finished());
    assert_eq!(house.answer(&house.pair(), &asked, &json!({"choice": "no"})).status, 200);
    asking.join().unwrap();
}

#[test]
fn a_page_that_is_dropped_is_gone() {
    let House { page, .. } = house();
    let address = page.address();
    let port: u16 = address.trim_end_matches('/').rsplit(':').next().unwrap().parse().unwrap();
    assert!(TcpStream::connect(("127.0.0.1", port)).is_ok());
    drop(page);
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}

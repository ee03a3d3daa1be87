//! The socket: who is let in, what nonsense costs, and that what a process leaves behind is cleared away.

#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test stops where it fails")]

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

use pinfold::audit::Memory;
use pinfold::consent::{
    AnsweredBy, ApprovalChannel, Approver as _, ApproverResponse, Choice, GrantLifetime, Request,
};
use pinfold::policy::settings::ApprovalSettings;
use pinfold::policy::source::{Layer, Source};
use pinfold::policy::{Grant, Located};
use pinfold::{Ambient, Plan, Session};
use pinfold_approvals::socket::{
    ApprovalClient, ApprovalClientError, ApprovalSocket, ProcessAggregator, ProcessEventKind,
    ProtocolErrorCode, SessionRegistry, SocketDir, SocketDirError, SocketHomes,
};
use pinfold_approvals::{ApprovalChannels, Broker, ChannelError, ChannelOptions};

use crate::kit::{no, request};
use pinfold_testkit::TempTree;
use pinfold_testkit::processes::until_some;

const LONG: Duration = Duration::from_mins(1);

struct House {
    _tree: TempTree,
    place: SocketDir,
    broker: Arc<Broker>,
    listening: ApprovalSocket,
    sessions: SessionRegistry,
}

fn place(bed: &Path) -> SocketDir {
    SocketDir::open(&SocketHomes { runtime: Some(bed.to_owned()), state: None }).unwrap()
}

fn house() -> House {
    let tree = TempTree::new();
    let place = place(tree.top());
    let (broker, sessions) = (Arc::new(Broker::default()), SessionRegistry::default());
    let listening = broker.listen(&place, "test", &sessions).unwrap();
    House { _tree: tree, place, broker, listening, sessions }
}

impl House {
    fn ask(&self, request: &Request) -> thread::JoinHandle<ApproverResponse> {
        let (broker, request) = (Arc::clone(&self.broker), request.clone());
        thread::spawn(move || broker.ask(&request, &|| true))
    }

    fn client(&self) -> ApprovalClient {
        ApprovalClient::connect(&self.place, self.listening.name()).unwrap()
    }

    fn raw(&self) -> UnixStream {
        UnixStream::connect(self.place.path().join("test.sock")).unwrap()
    }

    fn secret(&self) -> String {
        fs::read_to_string(self.place.path().join("test.key")).unwrap()
    }
}

fn trouble(error: ApprovalClientError) -> ProtocolErrorCode {
    match error {
        ApprovalClientError::Rejected(trouble) => trouble.code,
        other => panic!("{other}"),
    }
}

#[test]
fn what_waits_is_shown_whole_and_answered_by_its_digest() {
    let house = house();
    let _open = house.broker.open_channel();
    let asked = request("s:1", LONG);
    let asking = house.ask(&asked);
    let mut client = house.client().with_name(Some("u on pts/3\u{1b}[2J".to_owned()));
    let waiting = until_some("a request is listed", || client.list().unwrap().pop());
    assert_eq!((&*waiting.id, &*waiting.brief), ("s:1", "npm publish"));
    assert_eq!(client.show("s:1").unwrap(), asked);
    assert_eq!(trouble(client.show("s:2").unwrap_err()), ProtocolErrorCode::NotFound);
    assert_eq!(
        trouble(client.answer("s:1", "other", Choice::Yes).unwrap_err()),
        ProtocolErrorCode::OtherDigest
    );
    let wide = Choice::session(9);
    assert_eq!(
        trouble(client.answer("s:1", &asked.digest, wide).unwrap_err()),
        ProtocolErrorCode::NotOffered
    );
    client.answer("s:1", &asked.digest, Choice::session(1)).unwrap();
    assert_eq!(
        trouble(client.answer("s:1", &asked.digest, Choice::Yes).unwrap_err()),
        ProtocolErrorCode::Over
    );
    let ApproverResponse::Answer(answer) = asking.join().unwrap() else { panic!("it was answered") };
    assert_eq!((answer.choice, answer.by.via), (Choice::session(1), ApprovalChannel::Socket));
    let who = answer.by.who.unwrap();
    assert!(who.starts_with("u on pts/32J (uid ") && !who.contains('\u{1b}'), "{who}");
}

#[test]
fn whoever_watches_hears_everything_and_counts_as_somebody() {
    let house = house();
    let mut watching = house.client().watch().unwrap();
    // Nobody else is there: it waits because somebody watches.
    assert_eq!(watching.next().unwrap().unwrap(), pinfold_approvals::socket::EventBatch::default());
    let asked = request("s:1", LONG);
    let asking = house.ask(&asked);
    let heard = watching.next().unwrap().unwrap();
    assert_eq!(heard.asked[0].digest, asked.digest);
    house.client().for_page().answer("s:1", &asked.digest, no()).unwrap();
    let heard = watching.next().unwrap().unwrap();
    assert_eq!(heard.over[0].id, "s:1");
    assert!(heard.over[0].how.describe().contains("on the page"));
    assert!(
        matches!(asking.join().unwrap(), ApproverResponse::Answer(answer) if answer.by.via == ApprovalChannel::Web)
    );
    // And when nobody watches any more, nobody is waited for.
    let asking = house.ask(&request("s:2", LONG));
    watching.next().unwrap().unwrap();
    drop(watching);
    assert!(matches!(asking.join().unwrap(), ApproverResponse::NoApprover(_)));
}

/// A process that has its answer ends: what became of the request is told all the same.
#[test]
fn a_watching_client_is_told_of_an_answer_behind_which_everything_ends() {
    for round in 0..50 {
        let House { _tree, place, broker, listening, sessions: _ } = house();
        let mut watching = ApprovalClient::connect(&place, listening.name()).unwrap().watch().unwrap();
        // It counts from its first batch on.
        watching.next().unwrap().unwrap();
        let asked = request(&format!("s:{round}"), LONG);
        let answering = {
            let (name, id, digest) = (listening.name().to_owned(), asked.id.clone(), asked.digest.clone());
            thread::spawn(move || {
                let mut client = ApprovalClient::connect(&place, &name).unwrap();
                until_some("a request is listed", || client.list().unwrap().pop());
                client.answer(&id, &digest, Choice::Yes).unwrap();
            })
        };
        assert!(matches!(broker.ask(&asked, &|| true), ApproverResponse::Answer(_)), "{round}");
        drop(broker);
        drop(listening);
        let over = std::iter::from_fn(|| watching.next())
            .map_while(Result::ok)
            .find_map(|heard| heard.over.into_iter().next());
        assert_eq!(over.map(|over| over.id), Some(asked.id), "{round}");
        let _ = answering.join();
    }
}

#[test]
fn nonsense_is_told_and_costs_nobody_anything() {
    let house = house();
    let secret = house.secret();
    let hello = format!("{{\"v\":1,\"secret\":\"{secret}\"}}\n");
    let wrong =
        format!("{{\"v\":1,\"secret\":\"{}\"}}\n", secret.replace(|c: char| c.is_ascii_hexdigit(), "0"));
    let huge = "x".repeat(200 << 10);
    let cases: [(&str, String, &str); 11] = [
        ("no JSON", "hello\n".to_owned(), "unclear"),
        ("bytes that are no text", "\u{0}\u{1}\u{2}\n".to_owned(), "unclear"),
        ("another version", format!("{{\"v\":2,\"secret\":\"{secret}\"}}\n"), "unclear"),
        ("no secret", "{\"v\":1}\n".to_owned(), "unclear"),
        ("a wrong secret", wrong, "refused"),
        ("an empty secret", "{\"v\":1,\"secret\":\"\"}\n".to_owned(), "refused"),
        ("a first line that is too long", format!("{huge}\n"), "unclear"),
        ("an order that is none", format!("{hello}{{\"do\":\"dance\"}}\n"), "unclear"),
        ("an order with more in it", format!("{hello}{{\"do\":\"list\",\"x\":1}}\n"), "unclear"),
        (
            "who it was",
            format!(
                "{hello}{{\"do\":\"answer\",\"id\":\"s:1\",\"digest\":\"d\",\"answer\":{{\"choice\":\"yes\"}},\"by\":{{\"via\":\"terminal\"}}}}\n"
            ),
            "unclear",
        ),
        ("a line that is too long", format!("{hello}{{\"do\":\"show\",\"id\":\"{huge}\"}}\n"), "unclear"),
    ];
    for (name, said, code) in cases {
        let mut stream = house.raw();
        // It may be sent away before it has said all.
        let _ = stream.write_all(said.as_bytes());
        let mut lines = BufReader::new(stream).lines().map_while(Result::ok).collect::<Vec<_>>();
        let last = lines.pop().unwrap_or_default();
        assert!(last.contains(&format!("\"code\":\"{code}\"")), "{name}: {last:?}");
    }
    // Half a line and silence, and nothing at all.
    let mut half = house.raw();
    half.write_all(b"{\"v\":1,").unwrap();
    let silent = house.raw();
    house.client().ping().unwrap();
    drop((half, silent));
    house.client().ping().unwrap();
}

#[test]
fn a_crowd_is_sent_away_and_does_not_stay() {
    let house = house();
    let crowd: Vec<UnixStream> = (0..32).map(|_| house.raw()).collect();
    let busy = until_some("a client is sent away", || ApprovalClient::connect(&house.place, "test").err());
    assert_eq!(trouble(busy), ProtocolErrorCode::Busy);
    // Whoever says nothing is sent away after a while.
    until_some("a client is let in", || ApprovalClient::connect(&house.place, "test").ok());
    drop(crowd);
}

/// One that writes before it reads is told why as well: its write does not fail because of what it has not read yet.
#[test]
fn whoever_is_sent_away_reads_why_also_when_they_write_first() {
    let house = house();
    let crowd: Vec<UnixStream> = (0..32).map(|_| house.raw()).collect();
    // They are all in.
    until_some("a client is sent away", || ApprovalClient::connect(&house.place, "test").err());
    for pause in [0, 1, 20, 200] {
        let mut stream = house.raw();
        thread::sleep(Duration::from_millis(pause));
        stream.write_all(b"{\"v\":1,\"as\":\"").unwrap();
        thread::sleep(Duration::from_millis(pause));
        stream.write_all(&[b'x'; 4096]).unwrap();
        let last = BufReader::new(stream).lines().map_while(Result::ok).last().unwrap_or_default();
        assert!(last.contains("\"code\":\"busy\""), "{pause} ms: {last:?}");
    }
    drop(crowd);
}

#[test]
fn a_first_line_that_comes_byte_by_byte_does_not_hold_a_place() {
    let house = house();
    let mut slow = house.raw();
    let begun = Instant::now();
    // Each byte comes soon after the one before; all of it does not.
    while slow.write_all(b" ").is_ok() {
        assert!(begun.elapsed() < LONG, "it is still listened to");
        thread::sleep(Duration::from_millis(100));
    }
    house.client().ping().unwrap();
}

#[test]
fn whoever_does_not_read_keeps_nobody_waiting() {
    let house = house();
    let _open = house.broker.open_channel();
    let mut slow = house.raw();
    slow.write_all(
        format!("{{\"v\":1,\"secret\":\"{}\"}}\n{{\"do\":\"watch\"}}\n", house.secret()).as_bytes(),
    )
    .unwrap();
    let mut other = house.client().watch().unwrap();
    other.next().unwrap().unwrap();
    let mut big = request("s:0", LONG);
    big.asker.folder = "x".repeat(4 << 20);
    for i in 0..3 {
        big.id = format!("s:{i}");
        let before = Instant::now();
        let asking = house.ask(&big);
        // Somebody who reads hears of it, and of its end; so does the slow one, who has more to read than is kept for them.
        while other.next().unwrap().unwrap().asked.is_empty() {}
        if i == 0 {
            // The slow one was told something too.
            slow.set_read_timeout(Some(LONG)).unwrap();
            slow.read_exact(&mut [0; 1000]).unwrap();
        }
        house.client().answer(&big.id, &big.digest, Choice::Yes).unwrap();
        asking.join().unwrap();
        while other.next().unwrap().unwrap().over.is_empty() {}
        assert!(before.elapsed() < Duration::from_secs(4), "{i}: {:?}", before.elapsed());
    }
    // The slow one is sent away: what it reads at last has an end.
    thread::sleep(Duration::from_secs(6));
    let mut rest = Vec::new();
    slow.read_to_end(&mut rest).unwrap();
}

#[test]
fn a_question_that_is_withdrawn_while_it_is_answered_has_one_end() {
    let house = house();
    let _open = house.broker.open_channel();
    for i in 0..100 {
        let asked = request(&format!("s:{i}"), LONG);
        let granted = Arc::new(AtomicBool::new(false));
        let (broker, look, copy) = (Arc::clone(&house.broker), Arc::clone(&granted), asked.clone());
        let asking = thread::spawn(move || broker.ask(&copy, &|| !look.load(Ordering::SeqCst)));
        until_some("a request is pending", || house.broker.waiting().pop());
        let mut client = house.client();
        let broker = Arc::clone(&house.broker);
        let withdraws = thread::spawn(move || {
            granted.store(true, Ordering::SeqCst);
            broker.granted();
        });
        let taken = client.answer(&asked.id, &asked.digest, Choice::Yes);
        withdraws.join().unwrap();
        match (asking.join().unwrap(), taken) {
            (ApproverResponse::Answer(answer), Ok(())) => assert!(answer.is_yes()),
            (ApproverResponse::NotAsked, Err(error)) => assert_eq!(trouble(error), ProtocolErrorCode::Over),
            (heard, taken) => panic!("{heard:?} {taken:?}"),
        }
    }
}

#[test]
fn what_was_granted_is_listed_and_taken_back() {
    let house = house();
    let folder = TempTree::new();
    let plan = Plan::for_folder(folder.top()).with_id("s");
    let session = Session::open(&Ambient::claim(), plan, Arc::new(Memory::default())).unwrap();
    house.sessions.add(&session);
    session.grant([Grant::PlainCommands], &AnsweredBy::default(), GrantLifetime::Session);
    let mut client = house.client();
    let grants = client.grants().unwrap();
    assert_eq!((grants.len(), &*grants[0].session, grants[0].used), (1, "s", 0));
    assert_eq!(trouble(client.revoke("other", grants[0].number).unwrap_err()), ProtocolErrorCode::NotFound);
    client.revoke("s", grants[0].number).unwrap();
    assert!(session.grants().is_empty() && client.grants().unwrap().is_empty());
    session.grant([Grant::PlainCommands], &AnsweredBy::default(), GrantLifetime::Session);
    assert_eq!(client.grants().unwrap().len(), 1);
    drop(session);
    assert!(client.grants().unwrap().is_empty(), "the session is over");
}

#[test]
fn the_directory_is_ours_alone_or_it_is_not_used() {
    let tree = TempTree::new();
    let homes = SocketHomes { runtime: Some(tree.top().to_owned()), state: None };
    let path = tree.top().join("pinfold");
    let place = SocketDir::open(&homes).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    let broker = Broker::default();
    let listening = broker.listen(&place, "x", &SessionRegistry::default()).unwrap();
    for file in ["x.key", "x.sock"] {
        let mode = fs::metadata(path.join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    drop(listening);
    assert_eq!(fs::read_dir(&path).unwrap().count(), 0, "nothing is left behind");

    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    assert!(matches!(SocketDir::open(&homes), Err(SocketDirError::NotPrivate { .. })));
    fs::remove_dir(&path).unwrap();
    std::os::unix::fs::symlink(tree.top().join("elsewhere"), &path).unwrap();
    fs::create_dir(tree.top().join("elsewhere")).unwrap();
    assert!(matches!(SocketDir::open(&homes), Err(SocketDirError::Io { .. })), "a link is not followed");
    // A runtime directory in which others can make names is none, nor is that of somebody else.
    fs::remove_file(&path).unwrap();
    fs::set_permissions(tree.top(), fs::Permissions::from_mode(0o1777)).unwrap();
    assert!(matches!(SocketDir::open(&homes), Err(SocketDirError::Io { .. })), "others can write there");
    fs::set_permissions(tree.top(), fs::Permissions::from_mode(0o700)).unwrap();
    if std::os::unix::fs::chown(tree.top(), Some(12_345), None).is_ok() {
        assert!(matches!(SocketDir::open(&homes), Err(SocketDirError::Io { .. })), "it is somebody else's");
    } else {
        println!("not tried: a directory of somebody else, since only root can give one away");
        fs::set_permissions(tree.top(), fs::Permissions::from_mode(0o1777)).unwrap();
    }
    assert!(!path.exists(), "nothing is made there");
    // The other home is used instead.
    let state = tree.top().join("state/pinfold");
    let place = SocketDir::open(&SocketHomes { state: Some(state.clone()), ..homes }).unwrap();
    assert_eq!(place.path(), state.join("run"));
    assert!(matches!(SocketDir::open(&SocketHomes::default()), Err(SocketDirError::NoHome)));
}

#[test]
fn a_name_that_is_taken_makes_another_and_long_paths_do() {
    let tree = TempTree::new();
    let deep = tree.top().join("d".repeat(120));
    fs::create_dir(&deep).unwrap();
    let place = place(&deep);
    let broker = Broker::default();
    let sessions = SessionRegistry::default();
    let first = broker.listen(&place, "call-1", &sessions).unwrap();
    let second = broker.listen(&place, "call-1", &sessions).unwrap();
    assert_eq!((first.name(), second.name()), ("call-1", "call-1.1"));
    assert_eq!(place.names().unwrap(), ["call-1", "call-1.1"]);
    for name in ["call-1", "call-1.1"] {
        ApprovalClient::connect(&place, name).unwrap().ping().unwrap();
    }
}

#[test]
fn that_somebody_is_here_is_known_until_they_go() {
    let tree = TempTree::new();
    let place = place(tree.top());
    assert!(!place.has_approver());
    let (one, two) = (place.register_approver().unwrap(), place.register_approver().unwrap());
    assert!(place.has_approver());
    drop(one);
    assert!(place.has_approver());
    drop(two);
    assert!(!place.has_approver());
    // What a killed one left behind says nothing, and goes.
    let left = place.path().join("here-0");
    fs::write(&left, "").unwrap();
    assert!(!place.has_approver() && !left.exists());
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

/// Whoever looks does so all the time: neither do two of them take each other for a person, nor is one who comes missed.
#[test]
fn that_somebody_is_here_is_known_from_the_moment_that_it_is_said() {
    let tree = TempTree::new();
    let place = place(tree.top());
    let stop = AtomicBool::new(false);
    let look = || {
        while !stop.load(Ordering::Relaxed) {
            place.has_approver();
        }
    };
    thread::scope(|scope| {
        scope.spawn(look);
        scope.spawn(look);
        for _ in 0..200 {
            let here = place.register_approver().unwrap();
            assert!(place.has_approver());
            drop(here);
        }
        fs::write(place.path().join("here-0"), "").unwrap();
        assert!(!place.has_approver());
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn nobody_is_waited_for_who_cannot_come() {
    let tree = TempTree::new();
    let homes = SocketHomes { runtime: Some(tree.top().to_owned()), state: None };
    let here = || Located { value: true, source: Source::plain(Layer::User) };
    let settings = ApprovalSettings { socket: Some(here()), ..ApprovalSettings::default() };
    let wanted = ChannelOptions { settings, name: "s".to_owned(), homes, ..ChannelOptions::default() };
    let desk = ApprovalChannels::open(&wanted).unwrap();
    assert!(desk.is_reached_elsewhere());
    // The directory goes before the first question.
    fs::remove_dir(tree.top().join("pinfold")).unwrap();
    let ApproverResponse::NoApprover(why) = desk.ask(&request("s:1", LONG), &|| true) else {
        panic!("an approver answered")
    };
    assert!(why.starts_with("the approval socket cannot be created"), "{why}");
    assert!(matches!(
        ApprovalChannels::open(&ChannelOptions { homes: SocketHomes::default(), ..wanted }),
        Err(ChannelError::NoSocketDir(_))
    ));
}

/// Whoever answered hears that it counted, however soon the process ends that asked: its end waits for them.
#[test]
fn what_a_desk_has_opened_ends_with_it() {
    let tree = TempTree::new();
    let homes = SocketHomes { runtime: Some(tree.top().to_owned()), state: None };
    let here = || Located { value: true, source: Source::plain(Layer::User) };
    let settings = ApprovalSettings { socket: Some(here()), ..ApprovalSettings::default() };
    let desk = ApprovalChannels::open(&ChannelOptions {
        settings,
        name: "s".to_owned(),
        homes,
        ..ChannelOptions::default()
    })
    .unwrap();
    let place = place(tree.top());
    let answers = thread::spawn(move || {
        let mut client = until_some("a client is let in", || ApprovalClient::connect(&place, "s").ok());
        let waiting = until_some("a request is listed", || client.list().unwrap().pop());
        client.answer(&waiting.id, &waiting.digest, no())
    });
    assert!(matches!(desk.ask(&request("s:1", LONG), &|| true), ApproverResponse::Answer(_)));
    let name = desk.name().map(str::to_owned);
    drop(desk);
    let left: Vec<_> = fs::read_dir(tree.top().join("pinfold")).unwrap().flatten().collect();
    assert_eq!((name.as_deref(), left.len()), (Some("s"), 0), "{left:?}");
    answers.join().unwrap().unwrap();
}

/// A process of its own: this program again, as what `another_process` is told to be.
fn another(role: &str, bed: &Path, name: &str) -> Command {
    wrapped(&[], role, bed, name)
}

/// The same, started through another program.
fn wrapped(through: &[&str], role: &str, bed: &Path, name: &str) -> Command {
    let exe = std::env::current_exe().unwrap();
    let mut words = through.iter().map(std::ffi::OsString::from).chain([exe.into_os_string()]);
    let mut command = Command::new(words.next().unwrap());
    command.args(words).args(["--exact", "socket::another_process", "--ignored", "--nocapture"]);
    command.env("ROLE", role).env("BED", bed).env("NAME", name);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

#[test]
#[ignore = "the other tests start it"]
fn another_process() {
    let of = |name: &str| std::env::var(name).unwrap();
    let (role, bed, name) = (of("ROLE"), of("BED"), of("NAME"));
    let place = place(Path::new(&bed));
    match &*role {
        "asks" => {
            let broker = Broker::default();
            let _open = broker.open_channel();
            let _listening = broker.listen(&place, &name, &SessionRegistry::default()).unwrap();
            println!("ready");
            let heard = broker.ask(&request(&format!("{name}:1"), LONG), &|| true);
            println!("heard {}", matches!(heard, ApproverResponse::Answer(answer) if answer.is_yes()));
        }
        "asks-its-child" => {
            let broker = Broker::default();
            let _listening = broker.listen(&place, &name, &SessionRegistry::default()).unwrap();
            let output = another("pings", Path::new(&bed), &name).output().unwrap();
            print!("{}", String::from_utf8_lossy(&output.stdout));
        }
        "pings" => match ApprovalClient::connect(&place, &name) {
            Ok(mut client) => println!("let in: {}", client.ping().is_ok()),
            Err(error) => println!("not let in: {error}"),
        },
        role => panic!("{role}"),
    }
}

fn read_line(child: &mut Child, wanted: &str) -> String {
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    lines.find_map(|line| line.ok().filter(|line| line.contains(wanted))).unwrap_or_default()
}

fn output(mut command: Command) -> String {
    String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
}

#[test]
fn whoever_is_confined_or_started_by_who_asks_is_not_let_in() {
    let tree = TempTree::new();
    let mut asks = another("asks", tree.top(), "s").spawn().unwrap();
    read_line(&mut asks, "ready");
    let free = output(another("pings", tree.top(), "s"));
    assert!(free.contains("let in: true"), "the control: {free}");
    let mut tried = 0;
    for (through, why) in [
        (&["setpriv", "--no-new-privs"][..], "confined"),
        (&["unshare", "--user", "--map-current-user"][..], "other namespaces"),
        (&["unshare", "--user", "--map-current-user", "--pid", "--fork"][..], "other namespaces"),
    ] {
        if !Command::new(through[0]).args(&through[1..]).arg("true").status().is_ok_and(|s| s.success()) {
            println!("not tried: {through:?} does not work here");
            continue;
        }
        let confined = output(wrapped(through, "pings", tree.top(), "s"));
        assert!(confined.contains("not let in") && confined.contains(why), "{through:?}: {confined}");
        tried += 1;
    }
    assert!(tried > 0, "nothing could be tried");
    asks.kill().unwrap();
    asks.wait().unwrap();
    let child = output(another("asks-its-child", tree.top(), "t"));
    assert!(child.contains("not let in") && child.contains("a descendant of the asking session"), "{child}");
}

#[test]
fn a_process_that_is_killed_is_seen_to_be_gone_and_leaves_nothing_behind() {
    let tree = TempTree::new();
    let place = place(tree.top());
    let following = ProcessAggregator::from_dirs(vec![place.clone()]).follow().unwrap();
    let next = || following.next(LONG).unwrap();
    let mut asks = another("asks", tree.top(), "s").spawn().unwrap();
    assert!(matches!(next().what, ProcessEventKind::Started));
    let ProcessEventKind::Changes(heard) = next().what else { panic!("it asks") };
    assert_eq!(heard.asked[0].id, "s:1");
    asks.kill().unwrap();
    asks.wait().unwrap();
    assert!(matches!(next().what, ProcessEventKind::Ended));
    assert!(place.names().unwrap().is_empty());
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    // The name is free again.
    let mut asks = another("asks", tree.top(), "s").spawn().unwrap();
    read_line(&mut asks, "ready");
    assert_eq!(place.names().unwrap(), ["s"]);
    asks.kill().unwrap();
    asks.wait().unwrap();
}

#[test]
fn a_hundred_processes_ask_at_once_and_none_is_lost() {
    let tree = TempTree::new();
    let everywhere = ProcessAggregator::from_dirs(vec![place(tree.top())]);
    let following = everywhere.follow().unwrap();
    let start = |i: usize| another("asks", tree.top(), &format!("p{i}")).spawn().unwrap();
    let mut processes: Vec<Child> = (0..100).map(start).collect();
    let mut answered = 0;
    while answered < 100 {
        let event = following.next(LONG).unwrap();
        let ProcessEventKind::Changes(heard) = event.what else { continue };
        for waiting in heard.asked {
            everywhere
                .connect(&event.name)
                .unwrap()
                .answer(&waiting.id, &waiting.digest, Choice::Yes)
                .unwrap();
            answered += 1;
        }
    }
    for process in &mut processes {
        assert_eq!(read_line(process, "heard"), "heard true");
        process.wait().unwrap();
    }
}

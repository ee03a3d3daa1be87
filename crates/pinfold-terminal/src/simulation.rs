//! People who type while a dialog opens, by a clock that is only counted: none of what they type for the program is an
//! answer, none of it is lost, and an answer that is meant is understood.
//!
//! Everything here is the real thing but for the terminal and the clock: reads become keys, keys become answers or text,
//! and text goes to the program.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::rc::Rc;
use std::time::{Duration, Instant};

use pinfold::consent::answer::RuleFile;
use pinfold::consent::{Choice, Request};

use crate::dialog::{DialogOutcome, DialogStyle, ExternalState, PAUSE, SEEN, SILENCE, show};
use crate::key_input::{KeyInput, KeySource};
use crate::surface::{DialogSurface, KeyCode, QUIET, SurfaceEvent, TerminalSize};

/// Number of simulated people for each way of typing.
const RUNS: u64 = 10_000;

/// `SplitMix64`: the same numbers for the same seed, everywhere.
#[derive(Clone)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From `low` up to and including `high`.
    fn next_in(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    fn ms(&mut self, low: u64, high: u64) -> Duration {
        Duration::from_millis(self.next_in(low, high))
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.next().is_multiple_of(count)
    }

    fn pick<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[usize::try_from(self.next_in(0, list.len() as u64 - 1)).unwrap()]
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap()
}

/// Typed bytes, with their times.
type Script = Vec<(Duration, Vec<u8>)>;

/// A terminal at which a script is typed, the program on it, and the clock.
struct World {
    base: Instant,
    now: Cell<Duration>,
    script: RefCell<VecDeque<(Duration, Vec<u8>)>>,
    /// Bytes that the program was given.
    program: RefCell<Vec<u8>>,
    typed_before: Option<Duration>,
    busy: RefCell<Random>,
    /// Until then the machine is too busy to look at once.
    busy_until: Duration,
}

impl World {
    fn due(&self) -> bool {
        self.script.borrow().front().is_some_and(|(at, _)| *at <= self.now.get())
    }
}

impl KeySource for Rc<World> {
    fn size(&self) -> TerminalSize {
        TerminalSize { rows: 24, columns: 80 }
    }

    fn wait(&self, wait: Duration) -> io::Result<bool> {
        let end = self.now.get() + wait;
        let next = self.script.borrow().front().map_or(end, |(at, _)| (*at).max(self.now.get()));
        self.now.set(next.min(end));
        let is_due = self.due();
        // A machine that does something else is late to notice.
        let mut busy = self.busy.borrow_mut();
        let most = if self.now.get() < self.busy_until { 400 } else { 20 };
        if busy.one_in(20) {
            self.now.set(self.now.get() + busy.ms(1, most));
        }
        Ok(is_due)
    }

    fn read(&self) -> io::Result<Option<Vec<u8>>> {
        let mut read = Vec::new();
        while self.due() {
            read.extend(self.script.borrow_mut().pop_front().unwrap().1);
        }
        Ok(Some(read).filter(|read| !read.is_empty()))
    }

    fn early(&self, bytes: &[u8]) {
        self.program.borrow_mut().extend_from_slice(bytes);
    }

    fn typed_before(&self) -> Option<Instant> {
        self.typed_before.map(|at| self.base + at)
    }

    fn now(&self) -> Instant {
        self.base + self.now.get()
    }
}

/// The stage of a dialog there.
struct Virtual {
    world: Rc<World>,
    ears: KeyInput,
}

impl Virtual {
    /// A dialog opens at a moment of a script; what was typed before it the program has.
    fn open(script: &Script, opens: Duration, busy_until: Duration, seed: u64) -> Self {
        let (before, after): (Script, Script) = script.iter().cloned().partition(|(at, _)| *at <= opens);
        let world = Rc::new(World {
            base: Instant::now(),
            now: Cell::new(opens),
            script: RefCell::new(after.into()),
            typed_before: before.last().map(|(at, _)| *at),
            program: RefCell::new(before.into_iter().flat_map(|(_, bytes)| bytes).collect()),
            busy: RefCell::new(Random(seed ^ 0xb5)),
            busy_until,
        });
        let ears = KeyInput::new(world.size());
        Self { world, ears }
    }

    /// Returns the bytes that the program has got when everything was typed.
    fn end(self) -> Vec<u8> {
        let Self { world, mut ears } = self;
        world.early(&ears.take());
        let rest: Vec<u8> = world.script.borrow_mut().drain(..).flat_map(|(_, bytes)| bytes).collect();
        world.early(&rest);
        world.program.take()
    }
}

impl Write for Virtual {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.ears.painted(&self.world);
        Ok(())
    }
}

impl DialogSurface for Virtual {
    fn size(&self) -> TerminalSize {
        self.ears.size()
    }

    fn read_event(&mut self, timeout: Duration) -> io::Result<Option<SurfaceEvent>> {
        self.ears.next(&self.world, timeout)
    }

    fn renew(&mut self) {
        self.world.early(&self.ears.take());
        self.ears.renew();
    }

    fn give_back(&mut self, bytes: &[u8]) {
        self.world.early(bytes);
    }

    fn now(&self) -> Instant {
        self.world.now()
    }

    fn delivered_until(&self) -> Option<Instant> {
        self.ears.delivered_until()
    }
}

/// A request with everything that can be offered.
fn request(seed: u64) -> Request {
    let base = include_str!("../tests/dialog/base.json");
    let mut request: Request = serde_json::from_str(base).unwrap();
    request.deadline = jiff::Timestamp::now() + Duration::from_hours(10);
    (request.destructive, request.always_ask) = (seed % 3 == 1, seed % 5 == 2);
    if seed.is_multiple_of(2) {
        let process = r#"{"pid": 4711, "program": "node", "command_line": "node"}"#;
        request.asker.process = serde_json::from_str(process).unwrap();
    }
    request
}

/// Words in which there is everything that answers.
const WORDS: [&str; 46] = [
    "please",
    "look",
    "at",
    "the",
    "failing",
    "test",
    "and",
    "say",
    "why",
    "it",
    "is",
    "so",
    "slow",
    "y",
    "yes",
    "n",
    "no",
    "s",
    "a",
    "always",
    "m",
    "p",
    "1",
    "2",
    "3",
    "4",
    "5",
    "yy",
    "nn",
    "aa",
    "sys",
    "ja",
    "größe",
    "не",
    "да",
    "日本語",
    "é",
    "git",
    "push",
    "-y",
    "--yes",
    "npm",
    "install",
    "clear;",
    "|",
    "Y",
];

/// Keys that are no letters.
const KEYS: [&[u8]; 14] = [
    b"\x1b[A", b"\x1b[B", b"\x1b[C", b"\x1b[D", b"\x1bOA", b"\t", b"\x7f", b"\x03", b"\x1b", b"\x1b[6~",
    b"\x1b[F", b"\x0b", b" ", b"\x1b[Z",
];

/// A person who types.
struct Typist {
    random: Random,
    /// Between two keys of a word, from and to.
    key: (u64, u64),
    /// Between two words.
    word: (u64, u64),
    at: Duration,
    script: Script,
}

impl Typist {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let low = random.next_in(40, 180);
        let key = (low, random.next_in(low, 250));
        let word = (random.next_in(200, 900), random.next_in(900, 1500));
        Self { random, key, word, at: Duration::ZERO, script: Script::new() }
    }

    fn press(&mut self, bytes: &[u8]) {
        self.at += self.random.ms(self.key.0, self.key.1);
        self.script.push((self.at, bytes.to_vec()));
    }

    fn rest(&mut self) {
        // The next key comes after this, and no later.
        let least = self.word.0 - self.key.0;
        self.at += self.random.ms(least, least.max(self.word.1 - self.key.1));
    }

    fn type_text(&mut self, text: &str) {
        for c in text.chars() {
            self.press(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }

    /// Some words, keys, pastes and ends of lines.
    fn flow(&mut self) {
        for _ in 0..self.random.next_in(4, 18) {
            let word = self.random.pick(&WORDS);
            match self.random.next_in(0, 19) {
                0 => {
                    let text = format!("\x1b[200~{word}\r{word}\x1b[201~");
                    self.press(text.as_bytes());
                }
                // In one read, as over a slow line or by a program.
                1 => self.press(format!("{word} y\r").as_bytes()),
                2 | 3 => {
                    for _ in 0..self.random.next_in(1, 4) {
                        let key = self.random.pick(&KEYS);
                        self.press(key);
                    }
                }
                // What a terminal says by itself.
                4 => self.press(b"\x1b[24;80R"),
                5..=8 => self.press(b"\r"),
                _ => {
                    self.type_text(word);
                    if self.random.one_in(2) {
                        self.press(b" ");
                    }
                }
            }
            if !self.random.one_in(4) {
                self.rest();
            }
        }
    }

    fn text(&self) -> Vec<u8> {
        self.script.iter().flat_map(|(_, bytes)| bytes.clone()).collect()
    }

    /// Types an answer as it is meant: its first key is not before `from`. Returns what is to come of it.
    fn answer(&mut self, from: Duration, request: &Request) -> Choice {
        let answers = answers(request);
        let chosen = usize::try_from(self.random.next_in(0, answers.len() as u64 - 1)).unwrap();
        let (keys, choice) = &answers[chosen];
        self.at = self.at.max(from);
        for key in *keys {
            self.script.push((self.at, key.to_vec()));
            self.at += match *key {
                // It may have opened another page, which is read; that takes longer soon after a line.
                b"\r" | b"s" => self.random.ms(2200, 4000),
                // These are an answer by themselves after a while.
                b"\x1b" | b"\x03" => self.random.ms(430, 1400),
                _ => self.random.ms(430, 2500),
            };
        }
        choice.clone()
    }
}

/// Every way to answer a request, with what it means.
fn answers(request: &Request) -> Vec<(&'static [&'static [u8]], Choice)> {
    let mut answers: Vec<(&'static [&'static [u8]], Choice)> = vec![
        (&[b"y", b"\r"], Choice::Yes),
        (&[b"y", b"y"], Choice::Yes),
        (&[b"1", b"\r"], Choice::Yes),
        (&[b"\x1b[6~", b"y", b"\r"], Choice::Yes),
        (&[b"n", b"y", b"\r"], Choice::Yes),
        (&[b"n", b"\r"], Choice::no()),
        (&[b"n", b"n"], Choice::no()),
        (&[b"\x1b[B", b"\x1b[A", b"n", b"\r"], Choice::no()),
        (&[b"\x1b", b"\x1b"], Choice::no()),
        (&[b"\x1b"], Choice::no()),
        (&[b"\x03"], Choice::no()),
        (&[b"y", b"\x03", b"\r"], Choice::no()),
    ];
    if request.asker.process.is_some() {
        answers.push((&[b"p", b"\r"], Choice::No { message: None, process: true }));
    } else {
        let message = Some("ja".to_owned());
        answers.push((&[b"m", b"\r", b"j", b"a", b"\r"], Choice::No { message, process: false }));
    }
    if request.destructive || request.always_ask {
        answers.push((&[b"\r", b"\r"], Choice::no()));
    }
    if !request.always_ask {
        let always = Choice::Always { scopes: vec![1], file: RuleFile::Local };
        answers.push((&[b"s", b"\r", b"\r"], Choice::session(0)));
        answers.push((&[b"s", b"s", b"\x1b[C", b"\r"], Choice::session(1)));
        answers.push((&[b"a", b"\r", b"a", b"l", b"w", b"a", b"y", b"s", b"\r"], always));
    }
    answers
}

/// Opens a dialog while a script is typed, on a machine that is busy until then. What came of it, when, and what the
/// program got in all.
fn run(
    (script, busy_until): (&Script, Duration),
    opens: Duration,
    request: &Request,
    over: Option<Duration>,
) -> (DialogOutcome, Duration, Vec<u8>) {
    let mut stage = Virtual::open(script, opens, busy_until, millis(opens));
    // An answer that is not understood is no answer for ever.
    let last = script.last().map_or(opens, |(at, _)| (*at).max(opens));
    let over = over.or(Some(last + Duration::from_mins(1)));
    let world = Rc::clone(&stage.world);
    let meanwhile = || ExternalState {
        waiting: 1,
        over: over.filter(|at| world.now.get() >= *at).map(|_| "answered elsewhere".to_owned()),
    };
    let shown = show(&mut stage, request, DialogStyle { colours: false }, &meanwhile).unwrap();
    let ended = world.now.get();
    drop(world);
    (shown, ended, stage.end())
}

/// Shortest time in which a person sees a question and begins to answer, on a busy machine.
const BEGINS: Duration = Duration::from_secs(1);

/// Somewhere in the flow, to its last key. Who types nothing but keys that answer afterwards has answered.
fn opens_at(typist: &mut Typist) -> Option<Duration> {
    if typist.script.iter().skip(1).all(|(_, key)| is_answer_key(key)) {
        return None;
    }
    loop {
        let first = typist.script[0].0;
        let at = first.max(typist.random.ms(0, millis(typist.at)));
        let mut rest = typist.script.iter().filter(|(key, _)| *key > at).peekable();
        let is_line_end = rest.clone().count() == 1 && rest.peek().is_some_and(|(_, key)| key == b"\r");
        if is_line_end || rest.any(|(_, key)| !is_answer_key(key)) {
            return Some(at);
        }
    }
}

/// Returns `true` if an answer may hold this key.
fn is_answer_key(key: &[u8]) -> bool {
    let is_letter = matches!(key, [key] if b"yYsSaAnNmMpP123456\x1b\x03\t \r".contains(key));
    is_letter || key.starts_with(b"\x1b[") || key.starts_with(b"\x1bO")
}

#[test]
fn text_that_is_typed_around_a_dialog_is_never_an_answer_and_never_lost() {
    for seed in 0..RUNS {
        let request = request(seed);
        let mut typist = Typist::new(seed);
        typist.flow();
        let Some(opens) = opens_at(&mut typist) else { continue };
        let text = typist.text();
        let last = typist.script.last().unwrap().0;
        let about = format!("seed {seed}: {:?}", String::from_utf8_lossy(&text));
        if seed.is_multiple_of(4) {
            // It ends by itself, at any moment: whatever was begun is the program's.
            let over = Some(opens + typist.random.ms(0, 4000));
            let (shown, _, program) = run((&typist.script, last), opens, &request, over);
            assert_eq!((shown, program), (DialogOutcome::Over, text), "{about}");
            continue;
        }
        let from = last + SILENCE + typist.random.ms(1000, 6000);
        let choice = typist.answer(from.max(opens + BEGINS), &request);
        let (shown, ended, program) = run((&typist.script, last), opens, &request, None);
        assert!(ended >= from, "{about}: answered at {ended:?} by what was typed until {last:?}: {shown:?}");
        assert_eq!((shown, program), (DialogOutcome::Chosen(choice), text), "{about}");
    }
}

#[test]
fn who_begins_to_type_without_a_look_answers_nothing() {
    for seed in 0..RUNS {
        let request = request(seed);
        let mut typist = Typist::new(seed ^ 0x5151);
        let opens = Duration::ZERO;
        typist.at = typist.random.ms(0, 5000);
        // A word of two letters at least: a single one before a pause is what an answer looks like.
        let first = loop {
            let word = typist.random.pick(&WORDS);
            if word.chars().count() > 1 {
                break word;
            }
        };
        typist.type_text(first);
        typist.flow();
        let text = typist.text();
        let last = typist.script.last().unwrap().0;
        let about = format!("seed {seed}: {:?}", String::from_utf8_lossy(&text));
        let from = last + SILENCE + typist.random.ms(1000, 6000);
        let choice = typist.answer(from, &request);
        let (shown, ended, program) = run((&typist.script, last), opens, &request, None);
        assert!(ended >= from, "{about}: answered at {ended:?} by what was typed until {last:?}: {shown:?}");
        assert_eq!((shown, program), (DialogOutcome::Chosen(choice), text), "{about}");
    }
}

/// Returns `true` if a script ends with keys that do not all belong to one answer.
fn changes_mind(script: &Script) -> bool {
    [b"\r\r".as_slice(), b"y\x03\r", b"ny\r", b"\x1b[6~y\r", b"\x1b[B\x1b[An\r"]
        .iter()
        .any(|keys| script.iter().flat_map(|(_, bytes)| bytes.clone()).collect::<Vec<_>>().ends_with(keys))
}

/// The control: a person who has read a question and answers it is understood each time, and the program hears nothing
/// of it.
#[test]
fn an_answer_that_is_meant_is_always_understood() {
    for seed in 0..RUNS {
        let request = request(seed);
        let mut typist = Typist::new(seed ^ 0xa11);
        let line = typist.random.pick(&["make\r", "rm -rf ~/out\r", ""]);
        typist.type_text(line);
        let text = typist.text();
        let opens = typist.at + typist.random.ms(10, 3000);
        let typed = typist.at;
        let from = opens + SEEN + typist.random.ms(100, 8000);
        let mut choice = typist.answer(from, &request);
        while from < typed + SILENCE + SEEN && changes_mind(&typist.script) {
            // So soon after a line the first letter may have been the beginning of the next.
            typist.script.retain(|(at, _)| *at < from);
            typist.at = from;
            choice = typist.answer(from, &request);
        }
        let last = typist.script.last().unwrap().0;
        let (shown, ended, program) = run((&typist.script, opens), opens, &request, None);
        let about = format!("seed {seed}: {:?}", typist.script);
        assert_eq!((shown, program), (DialogOutcome::Chosen(choice), text), "{about}");
        // At once, where there was silence before.
        let waits = ended.saturating_sub(last);
        assert!(waits <= SILENCE + Duration::from_secs(1), "{about}: {waits:?}");
    }
}

/// The control of the typists: where any key after a quiet moment counts, most of them answer by accident.
#[test]
fn these_people_would_answer_by_accident() {
    let runs = RUNS / 10;
    let answers =
        [KeyCode::Char('y'), KeyCode::Char('n'), KeyCode::Char('1'), KeyCode::Enter, KeyCode::Escape];
    let accidents = (0..runs).filter(|seed| {
        let mut typist = Typist::new(*seed);
        typist.flow();
        let opens = typist.script[typist.script.len() / 3].0;
        let mut stage = Virtual::open(&typist.script, opens, opens, *seed);
        stage.flush().unwrap();
        std::iter::from_fn(|| stage.read_event(QUIET * 10).unwrap())
            .any(|event| matches!(event, SurfaceEvent::Key(key, _) if answers.contains(&key.code)))
    });
    let accidents = accidents.count() as u64;
    assert!(accidents > runs / 2, "{accidents} of {runs}");
}

#[test]
fn the_times_are_those_of_people() {
    // Longer than any pause in the flow, shorter than any pause of an answer.
    assert!(SILENCE > Duration::from_millis(1500) && PAUSE > Duration::from_millis(250));
    assert!(SEEN >= QUIET && SEEN < BEGINS);
}

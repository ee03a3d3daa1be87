//! Ten thousand connections, or as many as this machine lets a process have: the relay goes on for everybody, holds little
//! for each, and says where there was no room.

use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use pinfold_tests::cases::{Case, report};
use pinfold_tests::missing::{all_there, print_uncaptured};
use pinfold_tests::output::describe;
use pinfold_tests::outside::{World, data, with_world};
use pinfold_tests::{Tier, Who, each};
use rustix::process::{Resource, getrlimit};

/// How many are tried.
const MANY: usize = 10_000;

/// What a process has open beside connections.
const OTHERS: usize = 128;

/// How many connections a relay has room for that may have so many descriptors.
fn room(descriptors: usize) -> usize {
    (descriptors.saturating_sub(OTHERS) / 2).clamp(16, 16_384)
}

/// How many descriptors a process may have here.
fn descriptors() -> usize {
    let most = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    usize::try_from(most).unwrap_or(usize::MAX)
}

/// As many as are wanted and can be had at the one end.
fn as_many(wanted: usize) -> usize {
    let many = wanted.min(descriptors().saturating_sub(OTHERS));
    if many < wanted {
        print_uncaptured(&format!(
            "{many} connections instead of {wanted}: a process may have no more descriptors here"
        ));
    }
    many
}

/// A run that goes from stage to stage.
struct Crowd {
    run: Child,
    said: Lines<BufReader<ChildStdout>>,
}

impl Crowd {
    fn new(world: &World, kind: &str, many: usize, descriptors: Option<usize>) -> Self {
        let code = format!("from inside import *\n{}", fs::read_to_string(data("crowd.py")).expect("a file"));
        let case = Case::new("crowd", &code);
        fs::write(world.bed.folder().join("case.py"), &case.code).expect("a script");
        let mut inner = world.bed.run(Tier::Full, &["--json", "--ask", "nobody"]);
        let room = room(descriptors.unwrap_or_else(self::descriptors));
        inner.args(["python3", "case.py", &case.name, kind, &many.to_string(), &room.to_string()]);
        world.tell(&mut inner);
        let mut command = match descriptors {
            Some(descriptors) => limited(&inner, descriptors),
            None => inner,
        };
        command.current_dir(world.bed.folder());
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut run = piped.spawn().expect("pinfold");
        let said = BufReader::new(run.stdout.take().expect("piped")).lines();
        Self { run, said }
    }

    /// What is said at the next stage.
    fn hears(&mut self) -> String {
        self.said.next().and_then(Result::ok).unwrap_or_default()
    }

    fn goes_on(&mut self) {
        self.run.stdin.as_mut().expect("piped").write_all(b"\n").expect("it listens");
    }

    /// What the supervisor holds of memory, in bytes.
    fn resident(&self) -> usize {
        let status = fs::read_to_string(format!("/proc/{}/status", self.run.id())).expect("a process");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
        line.trim_end_matches("kB").trim().parse::<usize>().expect("a number") * 1024
    }

    fn ends(mut self) -> Output {
        assert_eq!(self.hears(), "works True", "the next connection");
        self.run.wait_with_output().expect("pinfold")
    }
}

/// The same with so many descriptors and no more.
fn limited(command: &Command, descriptors: usize) -> Command {
    let mut limited = Command::new("prlimit");
    limited.arg(format!("--nofile={descriptors}:{descriptors}")).arg(command.get_program());
    limited.args(command.get_args()).env_clear();
    limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    limited
}

/// What the report says about the room, if it does.
fn said_about_room(output: &Output) -> Option<String> {
    let report = report(output);
    let refused = report["refused"].as_array().expect("a list");
    let full = refused.iter().find(|one| one["tried"] == "hold")?;
    Some(format!("{}: {}", full["place"].as_str()?, full["why"].as_str()?))
}

fn no_room(room: usize) -> Option<String> {
    let why = "it may have no more descriptors; others wait until some have ended";
    Some(format!("more than {room} connections: {why}")).filter(|_| room > 0)
}

#[each(user)]
fn ten_thousand_connections_to_an_allowed_host(who: Who) {
    /// What each may cost the supervisor.
    const EACH: usize = 8 * 1024;
    with_world(who, |world| {
        let (many, room) = (as_many(MANY), room(descriptors()));
        let mut crowd = Crowd::new(world, "bytes", many, None);
        assert_eq!(crowd.hears(), "began");
        let before = crowd.resident();
        crowd.goes_on();
        let held = many.min(room);
        assert_eq!(crowd.hears(), format!("held {held} True"), "all that there is room for, and they go on");
        let more = crowd.resident().saturating_sub(before);
        assert!(more < held * EACH, "{more} bytes for {held} connections");
        crowd.goes_on();
        assert_eq!(crowd.hears(), "waited True");
        crowd.goes_on();
        let output = crowd.ends();
        assert_eq!(said_about_room(&output), no_room(room).filter(|_| many > room), "{}", describe(&output));
    });
}

#[each(user)]
fn ten_thousand_connections_to_a_host_that_is_not_allowed(who: Who) {
    with_world(who, |world| {
        let mut crowd = Crowd::new(world, "refused", MANY, None);
        assert_eq!(crowd.hears(), "began");
        let before = crowd.resident();
        crowd.goes_on();
        assert_eq!(crowd.hears(), format!("held {MANY} True"), "each is told");
        // Whoever was refused leaves nothing behind.
        let more = crowd.resident().saturating_sub(before);
        assert!(more < 16 << 20, "{more} bytes");
        crowd.goes_on();
        let report = report(&crowd.ends());
        let place = format!("203.0.113.9:{}", world.port("http"));
        let refused = report["refused"].as_array().expect("a list");
        let named = refused.iter().find(|one| one["place"] == place.as_str()).expect("it is named");
        assert_eq!(named["why"], "no rule allows this host");
        assert_eq!(named["times"], MANY, "each is counted");
    });
}

#[each(user)]
fn requests_at_rest_cost_little(who: Who) {
    /// How many there are, and what each may cost the supervisor.
    const MANY: usize = 2000;
    const EACH: usize = 12 * 1024;
    with_world(who, |world| {
        let many = MANY.min(room(descriptors()));
        let mut crowd = Crowd::new(world, "requests", many, None);
        assert_eq!(crowd.hears(), "began");
        let before = crowd.resident();
        crowd.goes_on();
        assert_eq!(crowd.hears(), format!("held {many} True"));
        let more = crowd.resident().saturating_sub(before);
        assert!(more < many * EACH, "{more} bytes for {many} connections");
        crowd.goes_on();
        assert_eq!(crowd.hears(), "again True", "each carries another one");
        crowd.goes_on();
        crowd.ends();
    });
}

#[each(user)]
fn where_descriptors_are_few_the_rest_waits_and_that_is_said(who: Who) {
    /// Fewer than connections, and about as many as everything else needs.
    const FEW: [usize; 2] = [300, 128];
    if !all_there("few descriptors", &["prlimit"]) {
        return;
    }
    with_world(who, |world| {
        for few in FEW {
            let room = room(few);
            let mut crowd = Crowd::new(world, "bytes", room + room / 2, Some(few));
            assert_eq!(crowd.hears(), "began", "{few}");
            crowd.goes_on();
            assert_eq!(crowd.hears(), format!("held {room} True"), "{few}");
            // Waiting costs nothing: no loop that tries again and again.
            let before = worked(crowd.run.id());
            std::thread::sleep(std::time::Duration::from_secs(1));
            let ticks = worked(crowd.run.id()) - before;
            assert!(ticks < 50, "{ticks} hundredths of a second of work within one second");
            crowd.goes_on();
            assert_eq!(crowd.hears(), "waited True", "{few}");
            crowd.goes_on();
            let output = crowd.ends();
            assert_eq!(said_about_room(&output), no_room(room), "{few}: {}", describe(&output));
        }
    });
}

/// How long a process has worked, in hundredths of a second.
fn worked(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
    let (_, behind) = stat.rsplit_once(") ").expect("a name");
    let fields: Vec<u64> = behind.split(' ').filter_map(|field| field.parse().ok()).collect();
    // The state is no number: `utime` and `stime` are the eleventh and twelfth behind it.
    fields.get(10).zip(fields.get(11)).map(|(user, system)| user + system).expect("its times")
}

//! Runs: the stages of a program carried out by `pinfold run`, or by nothing at all as a control.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::log::Logged;
use super::program::{Killed, Program, Run};
use super::report::Report;
use super::world::World;
use crate::product::pinfold;
use crate::{Tier, Who};

/// What holds the actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// `pinfold run` on a tier.
    By(Tier),
    /// Nothing: the control.
    ByNothing,
}

/// The program that carries out a run inside.
#[derive(Clone, Copy, Debug)]
pub struct ActorProgram<'a>(pub &'a Path);

/// How long one run may take. None needs more than a second.
const RUN_TIMEOUT: Duration = Duration::from_secs(40);

/// How long processes may go on after their supervisor was killed: on the Landlock tier they end by themselves.
const AFTER_KILL: Duration = Duration::from_secs(15);

/// The option for a home directory as the folder, where the binary has it.
const HOME_OPTION: &str = "--allow-home";

/// What became of one run.
#[derive(Clone, Debug, Default)]
pub(super) struct Ran {
    /// Each call as the actor logged it.
    pub(super) calls: Vec<Logged>,
    /// What was reported; none by a run that was killed or did not start.
    pub(super) report: Option<Report>,
    /// What was printed on standard error.
    pub(super) printed: String,
    pub(super) killed: bool,
    /// It had to be ended by the machine.
    pub(super) hung: bool,
    pub(super) code: Option<i32>,
}

/// Carries out one stage: its runs side by side.
pub(super) fn stage(
    world: &World,
    program: &Program,
    number: usize,
    held: Held,
    actor: ActorProgram<'_>,
) -> Vec<Ran> {
    let runs = program.stages.get(number).map_or(&[][..], |stage| stage);
    thread::scope(|scope| {
        let started: Vec<_> = (0..)
            .zip(runs)
            .map(|(side, run): (usize, _)| {
                scope.spawn(move || {
                    thread::sleep(Duration::from_millis(run.delay));
                    let command = command(world, held, actor, &[number.to_string(), side.to_string()]);
                    drive(command, run)
                })
            })
            .collect();
        started.into_iter().map(|run| run.join().unwrap_or_default()).collect()
    })
}

/// Runs nothing at all within the boundary: what an earlier run has left behind is taken away by it.
pub(super) fn sweep(world: &World, held: Held) -> Ran {
    let Held::By(tier) = held else { return Ran::default() };
    let mut command = confined(world, tier, &world.roots.folder);
    command.arg("true");
    drive(command, &Run::default())
}

/// Runs nothing in a folder that no program reaches, on the tier on which each run has a directory of its own below the
/// temporary one: those that killed runs left are taken away by the next run that makes one. Where the folder is closed none is
/// started, and on the full tier few make one.
pub(super) fn clear_temporary(world: &World) {
    let mut command = confined(world, Tier::LandlockOnly, &world.elsewhere);
    command.arg("true");
    drive(command, &Run::default());
}

fn command(world: &World, held: Held, actor: ActorProgram<'_>, which: &[String; 2]) -> Command {
    let mut command = match held {
        Held::By(tier) => {
            let mut command = confined(world, tier, &world.roots.folder);
            command.arg(actor.0);
            command
        }
        Held::ByNothing => {
            let mut command = world.who.direct_command(actor.0, &world.roots.home);
            command.current_dir(&world.roots.folder);
            command
        }
    };
    command.arg("act").arg(&world.program).args(which);
    command.args([&world.roots.folder, &world.roots.home, &world.roots.outside, &world.planted]);
    command
}

fn confined(world: &World, tier: Tier, folder: &Path) -> Command {
    let mut command = world.who.direct_command(pinfold(), &world.roots.home);
    command.env("TMPDIR", &world.temp).current_dir(&world.top);
    command.arg("run").args(tier.options()).args(["--ask", "nobody", "--json", "--folder"]);
    command.arg(folder);
    if folder == world.roots.home && has_home_option() {
        command.arg(HOME_OPTION);
    }
    command.arg("--");
    command
}

fn has_home_option() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| {
        let help = Who::Ordinary.direct_command(pinfold(), Path::new("/")).args(["run", "--help"]).output();
        help.is_ok_and(|help| String::from_utf8_lossy(&help.stdout).contains(HOME_OPTION))
    })
}

/// Starts a command and goes with it to its end.
fn drive(mut command: Command, run: &Run) -> Ran {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("a run can be started");
    let began = Instant::now();
    let lines = lines(child.stdout.take().expect("piped"));
    let mut errors = child.stderr.take().expect("piped");
    let errors = thread::spawn(move || {
        let mut printed = Vec::new();
        let _ = errors.read_to_end(&mut printed);
        String::from_utf8_lossy(&printed).into_owned()
    });
    let mut ran = Ran::default();
    // The other end of the pipe is gone when every process of the run is.
    let mut until = began + RUN_TIMEOUT;
    let ended = loop {
        match next(&lines, &ran, run.killed, began, until) {
            Next::Line(line) => ran.calls.extend(Logged::read(&line)),
            // The process alone, as a person does it, or the kernel when memory is short.
            Next::Kill => {
                ran.killed = child.kill().is_ok();
                until = Instant::now() + AFTER_KILL;
            }
            Next::TooLong => break false,
            Next::End => break true,
        }
    };
    // What outlives its killed supervisor is found by its mark, see `left`.
    ran.hung = !ended && !ran.killed;
    if ran.hung {
        drop(child.kill());
    }
    ran.code = child.wait().ok().and_then(|status| status.code());
    if ended {
        ran.printed = errors.join().unwrap_or_default();
    }
    ran.report = Report::read(&ran.printed);
    ran
}

enum Next {
    Line(String),
    Kill,
    TooLong,
    End,
}

/// What happens next.
fn next(lines: &Receiver<String>, ran: &Ran, killed: Option<Killed>, began: Instant, until: Instant) -> Next {
    let kill_at = match killed {
        _ if ran.killed => None,
        Some(Killed::AfterCalls(calls)) if ran.calls.len() >= calls => return Next::Kill,
        Some(Killed::AfterMillis(millis)) => Some(began + Duration::from_millis(millis)),
        Some(Killed::AfterCalls(_)) | None => None,
    };
    match lines.recv_timeout(kill_at.unwrap_or(until).saturating_duration_since(Instant::now())) {
        Ok(line) => Next::Line(line),
        Err(RecvTimeoutError::Disconnected) => Next::End,
        Err(RecvTimeoutError::Timeout) if kill_at.is_some() => Next::Kill,
        Err(RecvTimeoutError::Timeout) => Next::TooLong,
    }
}

fn lines(from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        let lines = BufReader::new(from).split(b'\n').map_while(Result::ok);
        lines.map(|line| String::from_utf8_lossy(&line).into_owned()).try_for_each(|line| sender.send(line))
    });
    lines
}

/// Writes the program where the actor reads it.
pub(super) fn lay_out(world: &World, program: &Program) {
    let _ = fs::remove_file(&world.program);
    fs::write(&world.program, program.to_string()).expect("a file beside the world");
}

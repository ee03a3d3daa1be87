//! What it costs that we stand between a command and the terminal: beside a relay that only copies, and nothing at all.
//!
//! `cargo bench -p pinfold-terminal --bench relay`. Needs setsid(1), for the terminal that it measures on.
#![allow(clippy::indexing_slicing, clippy::cast_precision_loss, reason = "a benchmark stops where it fails")]

use std::env;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use pinfold_terminal::{CommandTty, PtySession, TtyReach};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Enough that starting a program does not count.
const AMOUNT: usize = 32 << 20;

const WAYS: [&str; 3] = ["nothing", "copying", "beside"];

fn main() -> Result<()> {
    if let Some(way) = env::var_os("RELAY_WAY") {
        return inside(&way.to_string_lossy());
    }
    let place = env::temp_dir().join(format!("pinfold-relay.{}", std::process::id()));
    fs::create_dir(&place)?;
    println!(
        "{:<24}{:>10}{:>10}{:>10}   milliseconds of processor time for a MiB",
        "", WAYS[0], WAYS[1], WAYS[2]
    );
    for (name, text) in payloads() {
        fs::write(place.join("payload"), &text)?;
        print!("{name:<24}");
        for way in WAYS {
            print!("{:>10.2}", measure(&place, way)? / (text.len() as f64 / f64::from(1 << 20)));
        }
        println!();
    }
    fs::write(place.join("payload"), b"\x1b[?1049h\x1b[Hfull\x1b[24;1Hscreen")?;
    println!(
        "{:<24}{:>30.2}   milliseconds until the first picture is written",
        "dialog",
        measure(&place, "dialog")?
    );
    println!("{:<24}{:>30.2}   MiB of memory after all", "memory", measure(&place, "memory")?);
    Ok(fs::remove_dir_all(place)?)
}

fn payloads() -> Vec<(&'static str, Vec<u8>)> {
    let filled = |piece: &mut dyn FnMut(usize) -> String| {
        let mut text = Vec::with_capacity(AMOUNT);
        for n in 0.. {
            text.extend(piece(n).bytes());
            if text.len() >= AMOUNT {
                break;
            }
        }
        text
    };
    let mut frames = b"\x1b[?1049h".to_vec();
    frames.extend(filled(&mut |n| {
        format!("\x1b[{};{}H\x1b[38;5;{}mabcdefgh\x1b[0m", n % 24 + 1, n % 70 + 1, n % 256)
    }));
    frames.truncate(AMOUNT / 4);
    vec![
        ("lines", filled(&mut |n| format!("   Compiling something v1.{n}.3 (/path/to/somewhere)\n"))),
        ("short lines", filled(&mut |_| "y\n".into()).drain(..AMOUNT / 4).collect()),
        ("coloured lines", filled(&mut |n| format!("\x1b[1;32m   Compiling\x1b[0m something v1.{n}.3\n"))),
        ("a full screen", frames),
    ]
}

/// Runs one way on a new terminal, as whose window we read; returns what it has measured.
fn measure(place: &std::path::Path, way: &str) -> Result<f64> {
    let (window, side) = terminal()?;
    let stdio = || Ok::<_, io::Error>(Stdio::from(side.try_clone()?));
    let mut command = Command::new("setsid");
    command
        .args(["--ctty", "--wait"])
        .arg(env::current_exe()?)
        .env("RELAY_WAY", way)
        .env("RELAY_PLACE", place);
    let mut child = command.stdin(stdio()?).stdout(stdio()?).stderr(stdio()?).spawn()?;
    drop((command, side));
    let mut window = File::from(window);
    let reader = thread::spawn(move || {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(1..) = window.read(&mut bytes) {}
    });
    let status = child.wait()?;
    let _ = reader.join();
    if !status.success() {
        return Err(format!("{way}: {status}").into());
    }
    Ok(fs::read_to_string(place.join("result"))?.parse()?)
}

fn terminal() -> Result<(OwnedFd, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let window = openpt(flags)?;
    grantpt(&window)?;
    unlockpt(&window)?;
    let side = ioctl_tiocgptpeer(&window, flags)?;
    tcsetwinsize(&window, Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 })?;
    Ok((window, side))
}

/// On the terminal.
fn inside(way: &str) -> Result<()> {
    let place = std::path::PathBuf::from(env::var_os("RELAY_PLACE").ok_or("no place")?);
    let payload = place.join("payload");
    let result = match way {
        "nothing" => {
            Command::new("cat").arg(&payload).status()?;
            processor_time()?
        }
        "copying" => copying(&payload)?,
        "beside" => beside(&payload, |_| Ok(0.0))?.0,
        "dialog" => beside(&payload, first_picture)?.1,
        _ => beside(&payload, |_| memory())?.1,
    };
    Ok(fs::write(place.join("result"), result.to_string())?)
}

/// Reads and writes, and knows nothing.
fn copying(payload: &std::path::Path) -> Result<f64> {
    let before = tcgetattr(io::stdin())?;
    let mut raw = before.clone();
    raw.make_raw();
    let (ours, side) = terminal()?;
    tcsetattr(&side, OptionalActions::Now, &before)?;
    tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
    let mut child = Command::new("cat").arg(payload).stdout(Stdio::from(side)).spawn()?;
    let (mut ours, mut out) = (File::from(ours), io::stdout());
    let mut bytes = [0; 16 << 10];
    loop {
        poll(
            &mut [PollFd::new(&ours, PollFlags::IN), PollFd::new(&io::stdin().as_fd(), PollFlags::IN)],
            None,
        )?;
        let Ok(count @ 1..) = ours.read(&mut bytes) else { break };
        out.write_all(&bytes[..count])?;
        out.flush()?;
    }
    child.wait()?;
    tcsetattr(io::stdin(), OptionalActions::Now, &before)?;
    processor_time()
}

/// As a run does it; `then` is done before the end.
fn beside(payload: &std::path::Path, then: impl FnOnce(&PtySession) -> Result<f64>) -> Result<(f64, f64)> {
    let (mut beside, CommandTty { terminal, streams: [_, out, _] }) =
        PtySession::open()?.ok_or("no terminal")?;
    beside.start(TtyReach::Apart)?;
    let mut command = Command::new("cat");
    command.arg(payload).stdout(out.map_or_else(Stdio::null, Stdio::from));
    command.spawn()?.wait()?;
    drop((command, terminal));
    let found = then(&beside)?;
    beside.finish();
    Ok((processor_time()?, found))
}

fn first_picture(beside: &PtySession) -> Result<f64> {
    let mut longest = Duration::ZERO;
    for _ in 0..100 {
        let begun = Instant::now();
        let mut stage = beside.handle().pause()?;
        write!(stage, "\x1b[HMay it?\x1b[24;1H{}", "-".repeat(80))?;
        stage.flush()?;
        longest = longest.max(begun.elapsed());
    }
    Ok(milliseconds(longest))
}

/// The most that this process has used.
fn memory() -> Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no memory")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? / 1024.0)
}

/// What this process and those that it has waited for have used, in milliseconds. The clock on the wall tells more of
/// who else is at work.
fn processor_time() -> Result<f64> {
    const TICKS: u64 = 100;
    let stat = fs::read_to_string("/proc/self/stat")?;
    let (_, numbers) = stat.rsplit_once(") ").ok_or("no numbers")?;
    let used: u64 = numbers.split(' ').skip(11).take(4).filter_map(|n| n.parse::<u64>().ok()).sum();
    Ok(used as f64 * (1000.0 / TICKS as f64))
}

fn milliseconds(took: Duration) -> f64 {
    took.as_secs_f64() * 1000.0
}

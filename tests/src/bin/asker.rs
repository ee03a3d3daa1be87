//! A program that runs a command confined, on a terminal of its own, and asks at the person's when it is told to.
//!
//! `asker TIER SOCKET PROGRAM ARGUMENTS…`: reads lines from the socket (`ask TEXT`, `renew TEXT`, `leave`, `crowd NUMBER`
//! for many at once) and answers with what happens (`shown`, `ready`, `key …`, `paste …`, `size …`, `gone`, `turn …`,
//! `left`, `nobody …`). A dialog is left by itself with the key `q`, with `gone`, or with `leave`.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use std::time::Duration;

use pinfold_sandbox::{Command, ContinueAll, End, JobControl, Profile, Signalling, Tier, Writes, start};
use pinfold_terminal::{
    CommandTty, DialogSurface, Key, KeyCode, PtyDialog, PtyHandle, PtySession, SurfaceEvent, TtyReach,
};

fn main() {
    let mut words = std::env::args_os().skip(1);
    let mut next = || words.next().expect("a word");
    let tier = if next() == "full" { Tier::Full } else { Tier::Landlock };
    let socket = UnixStream::connect(next()).expect("a socket");
    let cwd = std::env::current_dir().expect("a folder");
    let profile = Profile::new(&cwd)
        .with_writes(Writes::Beneath(vec![cwd]))
        .with_environment(std::env::vars_os().collect());
    let mut command = Command::new(next()).args(words);
    let mut beside = None;
    if let Some((opened, CommandTty { terminal, streams })) = PtySession::open().expect("a terminal beside") {
        command = command.terminal(terminal).stdio(streams);
        beside = Some(opened);
    }
    let mut confined = start(&profile, command, tier, Signalling::PassOn, false).expect("a command");
    if let Some(beside) = &mut beside {
        confined.set_job_control(Box::new(Attending(beside.handle())));
        let reach = match tier {
            Tier::Full => TtyReach::Apart,
            Tier::Landlock => TtyReach::ByName { first: confined.pid() },
        };
        beside.start(reach).expect("a relay");
    }
    let handle = beside.as_ref().map(PtySession::handle);
    thread::spawn(move || ask(handle.as_ref(), &socket));
    let end = confined.supervise(&mut ContinueAll).expect("an end");
    beside.into_iter().for_each(PtySession::finish);
    std::process::exit(match end {
        End::Code(code) => code,
        End::TimedOut => 124,
    });
}

struct Attending(PtyHandle);

impl JobControl for Attending {
    fn resized(&mut self) {
        self.0.resized();
    }

    fn stopping(&mut self) {
        self.0.stopping();
    }

    fn continued(&mut self) {
        self.0.continued();
    }
}

fn ask(handle: Option<&PtyHandle>, socket: &UnixStream) {
    let lines = BufReader::new(socket.try_clone().expect("a descriptor")).lines();
    let (sender, orders) = channel();
    thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
    while let Ok(order) = orders.recv() {
        if let (Some(count), Some(handle)) = (order.strip_prefix("crowd "), handle) {
            crowd(handle, count.parse().expect("a number"), socket);
        }
        let Some(text) = order.strip_prefix("ask ") else { continue };
        match handle.map(PtyHandle::pause) {
            Some(Ok(stage)) => dialog(stage, text, &orders, socket),
            Some(Err(error)) => tell(socket, &format!("nobody {error}")),
            None => tell(socket, "nobody"),
        }
    }
}

/// Many who ask at once: each has its turn.
fn crowd(handle: &PtyHandle, count: usize, socket: &UnixStream) {
    thread::scope(|scope| {
        for number in 0..count {
            scope.spawn(move || {
                let mut stage = handle.pause().expect("a turn");
                paint(&mut stage, &format!("May it, number {number}?"));
                tell(socket, &format!("turn {number}"));
            });
        }
    });
    tell(socket, "left");
}

/// Paints a frame around a text, whole each time, as somebody does who does not look where the cursor is.
fn paint(stage: &mut PtyDialog, text: &str) {
    let size = stage.size();
    let line = "-".repeat(usize::from(size.columns));
    write!(stage, "\x1b[H\x1b[2J{line}\r\n\x1b[1m{text}\x1b[m\r\n{}x{}", size.rows, size.columns)
        .expect("a picture");
    write!(stage, "\x1b[{};1H{line}", size.rows).expect("a picture");
    stage.flush().expect("a terminal");
}

fn dialog(mut stage: PtyDialog, text: &str, orders: &Receiver<String>, socket: &UnixStream) {
    let mut text = text.to_owned();
    paint(&mut stage, &text);
    tell(socket, "shown");
    loop {
        match orders.try_recv() {
            Ok(order) if order == "leave" => break,
            Ok(order) => {
                order.strip_prefix("renew ").expect("an order").clone_into(&mut text);
                stage.renew();
                paint(&mut stage, &text);
                tell(socket, "shown");
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => break,
        }
        match stage.read_event(Duration::from_millis(50)).expect("a terminal") {
            None | Some(SurfaceEvent::Report(_)) => {}
            Some(SurfaceEvent::Ready { .. }) => tell(socket, "ready"),
            Some(SurfaceEvent::Key(key, _)) => {
                tell(socket, &format!("key {key:?}"));
                if key == Key::plain(KeyCode::Char('q')) {
                    break;
                }
            }
            Some(SurfaceEvent::Paste(text, _)) => tell(socket, &format!("paste {text:?}")),
            Some(SurfaceEvent::Resized(size)) => {
                paint(&mut stage, &text);
                tell(socket, &format!("size {}x{}", size.rows, size.columns));
            }
            Some(SurfaceEvent::Gone) => {
                tell(socket, "gone");
                break;
            }
        }
    }
    drop(stage);
    tell(socket, "left");
}

/// Whoever listened may be gone.
fn tell(mut socket: &UnixStream, line: &str) {
    let _ = writeln!(socket, "{line}");
}

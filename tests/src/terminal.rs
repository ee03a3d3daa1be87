//! A person at a terminal: types, reads what appears, changes the size of the window.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{InputModes, LocalModes, OutputModes, Winsize, tcgetattr, tcsetwinsize};

use crate::missing::SEARCH_PATH;
use crate::processes::TEST_TIMEOUT;
use crate::who::STRANGER;

/// A terminal with a command on it, which leads a session of its own there.
pub struct Terminal {
    keyboard: File,
    child: Child,
    output: Receiver<Vec<u8>>,
    reader: Option<JoinHandle<()>>,
    torn: Arc<AtomicBool>,
    /// What has appeared and was not yet read.
    screen: String,
    /// Everything that was sent here.
    sent: Vec<u8>,
    picture: vt100::Parser,
}

impl Terminal {
    /// Starts a command on a new terminal of 24 lines and 80 columns. Its standard streams are replaced.
    ///
    /// # Panics
    /// When there is no terminal to be had.
    pub fn start(command: &Command) -> Self {
        let master =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
        grantpt(&master).expect("a terminal");
        unlockpt(&master).expect("a terminal");
        let name = ptsname(&master, Vec::new()).expect("a terminal has a name");
        let name = Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
        // As a login gives the terminal to whoever logs in.
        let _ = std::os::unix::fs::chown(name, Some(STRANGER), None);
        resize(&master, 24, 80);
        let side = || {
            Stdio::from(OwnedFd::from(
                fs::OpenOptions::new().read(true).write(true).open(name).expect("a side"),
            ))
        };
        let mut leader = Command::new("setsid");
        leader.args(["--ctty", "--wait"]).arg(command.get_program()).args(command.get_args());
        leader.env_clear().env("PATH", SEARCH_PATH).env("TERM", "dumb").env("PS1", "$ ");
        leader.envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
        if let Some(at) = command.get_current_dir() {
            leader.current_dir(at);
        }
        let child =
            leader.stdin(side()).stdout(side()).stderr(side()).spawn().expect("setsid can be started");
        // The command holds the only copies of its side, so that its end is seen here.
        drop(leader);
        let keyboard = File::from(master);
        let (sender, output) = channel();
        let torn = Arc::new(AtomicBool::new(false));
        let (screen, until) = (keyboard.try_clone().expect("a descriptor"), Arc::clone(&torn));
        let reader = Some(thread::spawn(move || read_on(screen, &sender, &until)));
        let side = |length: u16| NonZeroU16::new(length).expect("a length");
        let picture = vt100::Parser::new(side(24), side(80), 1000);
        Self { keyboard, child, output, reader, torn, screen: String::new(), sent: Vec::new(), picture }
    }

    /// Types.
    ///
    /// # Panics
    /// When the terminal is gone.
    pub fn type_in(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("the terminal is there");
    }

    /// Answers a dialog that is seen, key by key, as a person does who means it.
    ///
    /// # Panics
    /// When the terminal is gone.
    pub fn answer(&mut self, keys: &[&str]) {
        const BETWEEN: Duration = Duration::from_millis(450);
        thread::sleep(BETWEEN);
        for key in keys {
            thread::sleep(BETWEEN);
            self.type_in(key);
        }
    }

    /// Takes what has come within `wait`. False when nothing has.
    fn take(&mut self, wait: Duration) -> Result<bool, RecvTimeoutError> {
        match self.output.recv_timeout(wait) {
            Ok(bytes) => {
                self.screen.push_str(&String::from_utf8_lossy(&bytes));
                self.picture.process(&bytes);
                self.sent.extend(bytes);
                Ok(true)
            }
            Err(RecvTimeoutError::Timeout) => Ok(false),
            Err(RecvTimeoutError::Disconnected) => Err(RecvTimeoutError::Disconnected),
        }
    }

    /// Waits until the screen looks so.
    ///
    /// # Panics
    /// When it never does.
    pub fn until(&mut self, what: &str, so: impl Fn(&vt100::Screen) -> bool) {
        let end = Instant::now() + TEST_TIMEOUT;
        while !so(self.picture.screen()) {
            let came = self.take(end.saturating_duration_since(Instant::now()));
            assert!(matches!(came, Ok(true)), "not {what}; there is:\n{}", self.picture.screen().contents());
        }
    }

    /// Takes what has come by now.
    pub fn glance(&mut self) {
        while let Ok(true) = self.take(Duration::ZERO) {}
    }

    /// The screen when nothing more has come for a while.
    pub fn at_rest(&mut self) -> vt100::Screen {
        while let Ok(true) = self.take(Duration::from_millis(150)) {}
        self.picture.screen().clone()
    }

    /// The process that was started here.
    pub fn leader(&self) -> u32 {
        self.child.id()
    }

    /// Everything that was sent here so far.
    pub fn sent(&self) -> &[u8] {
        &self.sent
    }

    /// Whether it treats what is typed and written as a terminal does that nobody has changed: echo, lines, keys that
    /// interrupt.
    ///
    /// # Panics
    /// When it is gone.
    pub fn is_as_usual(&self) -> bool {
        let settings = tcgetattr(&self.keyboard).expect("a terminal");
        let local = LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
        settings.local_modes.contains(local)
            && settings.output_modes.contains(OutputModes::OPOST)
            && settings.input_modes.contains(InputModes::ICRNL)
    }

    /// Waits until this appears; what came before it is forgotten.
    ///
    /// # Panics
    /// When it does not appear.
    pub fn expect(&mut self, text: &str) {
        let end = Instant::now() + TEST_TIMEOUT;
        loop {
            if let Some(at) = self.screen.find(text) {
                self.screen.drain(..at + text.len());
                return;
            }
            match self.take(end.saturating_duration_since(Instant::now())) {
                Ok(true) => {}
                Ok(false) => panic!("`{text}` does not appear; there is: {}", self.screen),
                Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout) => {
                    panic!("ended without `{text}`; there is: {}", self.screen)
                }
            }
        }
    }

    /// Gives the window another size.
    pub fn resize(&mut self, rows: u16, columns: u16) {
        resize(&self.keyboard, rows, columns);
        let side = |length: u16| NonZeroU16::new(length).expect("a length");
        self.picture.set_size(side(rows), side(columns));
    }

    /// Waits for the end of the command.
    ///
    /// # Panics
    /// When it does not end.
    pub fn end(&mut self) -> ExitStatus {
        let end = Instant::now() + TEST_TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                // To the end, unless something in the background keeps the terminal open.
                while let Ok(true) = self.take(Duration::from_millis(500)) {}
                return status;
            }
            if Instant::now() > end {
                let _ = self.child.kill();
                panic!("does not end; there is: {}", self.screen);
            }
            // What is written must be read, or the command waits for us.
            let _ = self.take(Duration::from_millis(20));
        }
    }

    /// Closes the window while the command runs: nobody holds this side any more.
    ///
    /// # Panics
    /// When reading it has gone wrong.
    pub fn hang_up(mut self) -> Child {
        self.torn.store(true, Ordering::Relaxed);
        self.reader.take().into_iter().for_each(|r| r.join().expect("a reader"));
        self.child
    }
}

fn resize(terminal: impl std::os::fd::AsFd, rows: u16, columns: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).expect("a terminal has a size");
}

impl std::fmt::Debug for Terminal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terminal").field("child", &self.child).finish_non_exhaustive()
    }
}

/// Reads until the end, which for a terminal is an error (EIO), or until told to stop.
fn read_on(mut screen: File, to: &Sender<Vec<u8>>, torn: &AtomicBool) {
    let mut bytes = [0; 4096];
    let glance = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
    while !torn.load(Ordering::Relaxed) {
        match poll(&mut [PollFd::new(&screen, PollFlags::IN)], Some(&glance)) {
            Ok(0) | Err(Errno::INTR) => continue,
            Ok(_) => {}
            Err(_) => return,
        }
        let Ok(count @ 1..) = screen.read(&mut bytes) else { return };
        if to.send(bytes.iter().copied().take(count).collect()).is_err() {
            return;
        }
    }
}

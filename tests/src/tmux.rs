//! A terminal emulator that can be looked at: tmux, with a server of its own.

use std::path::Path;
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::missing::{SEARCH_PATH, all_there};
use crate::processes::TEST_TIMEOUT;

/// A window with a command in it, and somebody who types and reads.
#[derive(Debug)]
pub struct Tmux {
    /// Where its socket is.
    place: TempDir,
}

impl Tmux {
    /// Whether it is on this machine; if not, it is counted that `what` was left out.
    pub fn is_there_for(what: &str) -> bool {
        all_there(what, &["tmux"])
    }

    /// Starts a shell command in a new window. What it leaves on the screen stays there.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start(rows: u16, columns: u16, command: &str) -> Self {
        let tmux = Self { place: tempfile::tempdir().expect("a folder for the socket") };
        let (rows, columns) = (rows.to_string(), columns.to_string());
        let settings = "set -g status off; set -g remain-on-exit on; set -s escape-time 0";
        let config = tmux.place.path().join("conf");
        std::fs::write(&config, settings.replace("; ", "\n")).expect("a file");
        let config = config.to_string_lossy().into_owned();
        tmux.told(&["-f", &config, "new-session", "-d", "-x", &columns, "-y", &rows, "sh", "-c", command]);
        tmux
    }

    /// Presses keys, by their names in tmux: `y`, `Enter`, `C-c`.
    pub fn press(&self, keys: &[&str]) {
        self.told(&[&["send-keys"], keys].concat());
    }

    /// Types a text.
    pub fn type_in(&self, text: &str) {
        self.told(&["send-keys", "-l", text]);
    }

    /// Pastes a text, as a terminal does it.
    pub fn paste(&self, text: &str) {
        self.told(&["set-buffer", text]);
        self.told(&["paste-buffer", "-p"]);
    }

    /// Gives the window another size.
    pub fn resize(&self, rows: u16, columns: u16) {
        self.told(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
    }

    /// What is on the screen.
    pub fn screen(&self) -> String {
        self.told(&["capture-pane", "-p"])
    }

    /// The same with the escape codes of its colours.
    pub fn coloured_screen(&self) -> String {
        self.told(&["capture-pane", "-p", "-e"])
    }

    /// Waits until a text is on the screen, and returns the screen.
    ///
    /// # Panics
    /// When it does not appear.
    pub fn expect(&self, text: &str) -> String {
        self.wait(text, true)
    }

    /// Waits until a text is not on the screen any more, and returns the screen.
    ///
    /// # Panics
    /// When it stays.
    pub fn expect_gone(&self, text: &str) -> String {
        self.wait(text, false)
    }

    fn wait(&self, text: &str, there: bool) -> String {
        let end = Instant::now() + TEST_TIMEOUT;
        loop {
            let screen = self.screen();
            if screen.contains(text) == there {
                return screen;
            }
            assert!(
                Instant::now() < end,
                "`{text}` {}:\n{screen}",
                if there { "does not appear" } else { "stays" }
            );
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn told(&self, words: &[&str]) -> String {
        let output = command(self.place.path(), words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tmux {words:?}: {said}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        command(self.place.path(), &["kill-server"]);
    }
}

fn command(place: &Path, words: &[&str]) -> Output {
    let mut tmux = Command::new("tmux");
    tmux.env_clear().env("PATH", SEARCH_PATH).env("LANG", "C.UTF-8").env("TERM", "xterm-256color");
    tmux.env("HOME", place).arg("-u").arg("-S").arg(place.join("socket")).args(words);
    tmux.output().expect("tmux can be started")
}

//! The judge that may answer routine questions in the mode `auto`.

use serde::Serialize;

use super::hooks::Seconds;
use super::section::section;
use crate::hook::{Hook, HookKind};

section! {
    /// A program that may answer routine questions in the mode `auto`. Counts in user and managed settings only.
    JudgeSettings needs ["command"] {
        /// The command line, for `sh -c` in the folder of the session; with `args` the program alone.
        command = "command": String,
        /// The arguments; then the program is started without a shell.
        args = "args": Option<Vec<String>>,
        /// The time limit for an answer, in seconds.
        timeout = "timeout": Option<Seconds>,
    }
}

impl JudgeSettings {
    /// The program, asked as hooks are.
    pub fn hook(&self) -> Hook {
        Hook {
            asks: HookKind::Command {
                command: self.command.clone(),
                args: self.args.clone(),
                shell: crate::hook::HookShell::default(),
            },
            only: None,
            timeout: self.timeout.unwrap_or_default().0,
            fail_closed: false,
            in_background: false,
            once: false,
        }
    }
}

impl Serialize for JudgeSettings {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.command.serialize(serializer)
    }
}

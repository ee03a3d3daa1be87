//! A program of the person's own as the judge of the mode `auto`: asked as hooks are, outside the sandbox.
//!
//! Promise: only an exit of 0 with the one word is a yes. Whatever else the program does, the question is a person's.

use std::path::PathBuf;
use std::time::Duration;

use pinfold::policy::Hook;
use pinfold_agent::Judge;
use pinfold_hooks::{HookResult, Runner, StartedHooks};

use crate::env;

/// A program that judges.
#[derive(Debug)]
pub(crate) struct HookJudge {
    hook: Hook,
    runner: StartedHooks,
}

/// Time beyond the program's own: until all that it started has ended.
const GRACE: Duration = Duration::from_secs(2);

impl HookJudge {
    /// Runs in `folder`, and is told where the `project` lies.
    pub(crate) fn new(hook: Hook, folder: PathBuf, project: PathBuf) -> Self {
        Self { hook, runner: StartedHooks::new(folder, project, env::environment()) }
    }

    /// The judge with a timeout of at most this.
    pub(crate) fn with_timeout(self, most: Duration) -> Self {
        let timeout = self.hook.timeout.min(most.saturating_sub(GRACE));
        Self { hook: Hook { timeout, ..self.hook }, ..self }
    }
}

impl Judge for HookJudge {
    fn name(&self) -> String {
        self.hook.asks.name()
    }

    fn evaluate(&self, request: &str) -> Result<String, String> {
        match self.runner.ask(&self.hook, request.as_bytes()) {
            HookResult::Ended { code: Some(0), out, .. } if out.cut => {
                Err("its output is too long".to_owned())
            }
            HookResult::Ended { code: Some(0), out, .. } => {
                String::from_utf8(out.bytes).map_err(|_| "its output is not text".to_owned())
            }
            HookResult::Ended { code: Some(code), .. } => Err(format!("it ended with code {code}")),
            HookResult::Ended { code: None, .. } => Err("it was ended by a signal".to_owned()),
            HookResult::Late(after) => Err(format!("no output within {} s", after.as_secs_f32())),
            HookResult::NotAsked(why) => Err(why),
            HookResult::Answered { .. } => Err("it is no program".to_owned()),
        }
    }

    fn timeout(&self) -> Duration {
        self.hook.timeout.saturating_add(GRACE)
    }
}

//! Asks hooks as they are: programs by processes, addresses by posts.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use pinfold::policy::{Hook, HookKind};

use crate::command::Commands;
use crate::http::HttpPosts;
use crate::runner::{HookResult, Runner};

/// Asks hooks as they are.
#[derive(Debug)]
pub struct StartedHooks {
    commands: Commands,
    posts: HttpPosts,
}

impl StartedHooks {
    /// Programs run in `folder`, and are told where the `project` lies. Nothing is taken from the environment of this
    /// process.
    pub fn new(folder: PathBuf, project: PathBuf, environment: Vec<(OsString, OsString)>) -> Self {
        let posts = HttpPosts::new(&environment);
        Self { commands: Commands::new(folder, project, environment), posts }
    }
}

impl Runner for StartedHooks {
    fn ask(&self, hook: &Hook, input: &[u8]) -> HookResult {
        match &hook.asks {
            HookKind::Command { command, args, shell } => {
                self.commands.ask(command, args.as_deref(), *shell, input, hook.timeout)
            }
            HookKind::Http { url, headers, variables } => {
                self.posts.ask(url, headers, variables, input, hook.timeout)
            }
        }
    }

    fn start(&self, hook: Arc<Hook>, input: Vec<u8>) -> Result<(), String> {
        match &hook.asks {
            HookKind::Command { command, args, shell } => {
                self.commands.start(command, args.as_deref(), *shell, &input, hook.timeout)
            }
            HookKind::Http { .. } => {
                let posts = self.posts.clone();
                let post = move || {
                    if let HookKind::Http { url, headers, variables } = &hook.asks {
                        // The result has no reader.
                        let _ = posts.ask(url, headers, variables, &input, hook.timeout);
                    }
                };
                let started = std::thread::Builder::new().name("pinfold-hook".to_owned()).spawn(post);
                started.map(drop).map_err(|e| e.to_string())
            }
        }
    }
}

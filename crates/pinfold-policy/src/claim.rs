//! Claims: the paths, commands and hosts that a call says it will touch, read off the call alone.

use std::sync::Arc;

use pinfold_commands::{
    CommandClaim, CommandEffects, HostClaim, NotAllowlistable, Operation, Origin, PathClaim, PathText,
    SafeguardHit,
};
use pinfold_shell::Script;

use crate::call::ToolCall;
use crate::foreign::ForeignCall;
use crate::patch::{FileChange, Patch};

/// A shell that a call wants to run or to reach. What its commands touch is known only at run time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShellClaim {
    /// Run this command.
    Run(String),
    /// Send this to a shell that runs, which may take it for a command.
    Send(String),
    /// Read or end a shell that runs.
    Reach,
}

impl ShellClaim {
    /// Returns the text for the shell.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Run(command) => Some(command),
            Self::Send(text) => Some(text),
            Self::Reach => None,
        }
    }
}

/// Everything a call says it will touch, in the order of the call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Claims {
    /// The paths. A tool finds its targets again by their place in this list.
    pub paths: Vec<PathClaim>,
    /// The commands of a command line, each a part of the call.
    pub commands: Vec<CommandClaim>,
    /// The hosts that would be reached.
    pub hosts: Vec<HostClaim>,
    /// The shell.
    pub shell: Option<ShellClaim>,
    /// The command line, parsed: the one parse that everything about it goes by.
    pub script: Option<Arc<Script>>,
    /// Why no rule may allow the command line as a whole, if so.
    pub not_allowlistable: Vec<NotAllowlistable>,
    /// Safeguards that the command line as a whole sets off.
    pub safeguards: Vec<SafeguardHit>,
}

impl Claims {
    /// Reads the claims off `call`.
    pub fn from_call(call: &ToolCall) -> Self {
        use Operation as O;
        let paths = match call {
            ToolCall::Read(i) => vec![claim(&i.path, O::Read)],
            ToolCall::Write(i) => vec![claim(&i.path, O::Write)],
            ToolCall::Edit(i) => vec![claim(&i.path, O::Edit)],
            ToolCall::MultiEdit(i) => vec![claim(&i.path, O::Edit)],
            ToolCall::NotebookEdit(i) => vec![claim(&i.path, O::Edit)],
            ToolCall::ApplyPatch(patch) => patched(patch),
            ToolCall::Delete(i) => vec![claim(&i.path, O::Delete)],
            ToolCall::MoveFile(i) => vec![claim(&i.source, O::MoveFrom), claim(&i.destination, O::MoveTo)],
            ToolCall::CopyFile(i) => vec![claim(&i.source, O::CopyFrom), claim(&i.destination, O::CopyTo)],
            ToolCall::MakeDir(i) => vec![claim(&i.path, O::MakeDir)],
            ToolCall::Ls(i) => vec![unnamed(i.path.as_ref(), O::List)],
            ToolCall::Glob(i) => vec![unnamed(i.path.as_ref(), O::Search)],
            ToolCall::Grep(i) => vec![unnamed(i.path.as_ref(), O::Search)],
            ToolCall::Foreign(ForeignCall::Agent { folder: Some(folder), .. }) => {
                vec![claim(folder, O::HandOver)]
            }
            ToolCall::Foreign(ForeignCall::File { path, operation, .. }) => {
                vec![unnamed(path.as_ref(), *operation)]
            }
            ToolCall::Mcp(call) => call.claims(call.class()),
            ToolCall::Bash(_)
            | ToolCall::BashOutput(_)
            | ToolCall::KillBash(_)
            | ToolCall::BashInput(_)
            | ToolCall::WebFetch(_)
            | ToolCall::Foreign(_) => Vec::new(),
            ToolCall::Process(call) => call.claims(),
        };
        let mut claims = Self { paths, shell: shell(call), hosts: hosts(call), ..Self::default() };
        if let Some(said) = claims.shell.as_ref().and_then(ShellClaim::text) {
            let script = Arc::new(pinfold_shell::parse(said));
            let found = pinfold_commands::analyze(said, &script);
            claims.add_commands(found);
            claims.script = Some(script);
        }
        claims
    }

    fn add_commands(&mut self, found: CommandEffects) {
        let CommandEffects { commands, paths, hosts, not_allowlistable, safeguards, .. } = found;
        self.commands = commands;
        self.paths.extend(paths);
        self.hosts.extend(hosts);
        self.not_allowlistable = not_allowlistable;
        self.safeguards = safeguards;
    }
}

fn hosts(call: &ToolCall) -> Vec<HostClaim> {
    match call {
        ToolCall::Process(call) => call.hosts(),
        ToolCall::WebFetch(input) => vec![HostClaim::from_url(&input.url)],
        ToolCall::Foreign(call) if call.reaches_hosts() => vec![HostClaim::unknown()],
        _ => Vec::new(),
    }
}

fn shell(call: &ToolCall) -> Option<ShellClaim> {
    match call {
        ToolCall::Bash(i) => Some(ShellClaim::Run(i.command.as_str().to_owned())),
        ToolCall::BashInput(i) => Some(ShellClaim::Send(i.text.clone())),
        ToolCall::BashOutput(_) | ToolCall::KillBash(_) => Some(ShellClaim::Reach),
        ToolCall::Read(_)
        | ToolCall::Write(_)
        | ToolCall::Edit(_)
        | ToolCall::MultiEdit(_)
        | ToolCall::NotebookEdit(_)
        | ToolCall::ApplyPatch(_)
        | ToolCall::Delete(_)
        | ToolCall::MoveFile(_)
        | ToolCall::CopyFile(_)
        | ToolCall::MakeDir(_)
        | ToolCall::Ls(_)
        | ToolCall::Glob(_)
        | ToolCall::Grep(_)
        | ToolCall::WebFetch(_)
        | ToolCall::Mcp(_)
        | ToolCall::Foreign(_)
        | ToolCall::Process(_) => None,
    }
}

fn claim(path: &PathText, operation: Operation) -> PathClaim {
    unnamed(Some(path), operation)
}

fn unnamed(path: Option<&PathText>, operation: Operation) -> PathClaim {
    PathClaim::new(path.cloned(), operation, Origin::Call)
}

/// A patch changes a file where its link points, but a file that moves gives up its own name.
fn patched(patch: &Patch) -> Vec<PathClaim> {
    let mut claims = Vec::with_capacity(patch.files().len());
    for change in patch.files() {
        match change {
            FileChange::Add { path, .. } => claims.push(claim(path, Operation::Create)),
            FileChange::Delete { path, .. } => claims.push(claim(path, Operation::Delete)),
            FileChange::Update { path, move_to: None, .. } => claims.push(claim(path, Operation::Patch)),
            FileChange::Update { path, move_to: Some(to), .. } => {
                claims.push(claim(path, Operation::MoveFrom));
                claims.push(claim(to, Operation::Create));
            }
        }
    }
    claims
}

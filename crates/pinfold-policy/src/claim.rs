//! What a call says it will touch: an allegation, read off the call alone.

use crate::call::ToolCall;
use crate::command::{self, Bar, CommandClaim, Commands, HostClaim, SafeguardHit};
use crate::foreign::ForeignCall;
use crate::input::PathText;
use crate::patch::{FileChange, Patch};

/// What would be done to one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Read a file's content.
    Read,
    /// List a folder.
    List,
    /// Look through a folder and everything below it, or through one file.
    Search,
    /// Create a file or replace its whole content.
    Write,
    /// Change a file that is there.
    Edit,
    /// Change the lines of a file that a patch names; the patch itself says what it expects to find.
    Patch,
    /// Create a file that must not be there yet.
    Create,
    /// Create a folder.
    MakeDir,
    /// Create a symbolic link, which leads whoever uses the name elsewhere.
    Link,
    /// Take a name away.
    Delete,
    /// Take a name away, since it gets another.
    MoveFrom,
    /// Give an existing thing this name.
    MoveTo,
    /// Read a file or a tree to copy it.
    CopyFrom,
    /// Create or replace by a copy.
    CopyTo,
    /// Give a folder to another agent.
    HandOver,
}

impl Operation {
    /// Returns `true` if the operation changes what the path names. Both ends of a move do.
    pub fn writes(self) -> bool {
        match self {
            Self::Read | Self::List | Self::Search | Self::CopyFrom => false,
            Self::Write
            | Self::Edit
            | Self::Patch
            | Self::Create
            | Self::MakeDir
            | Self::Link
            | Self::Delete
            | Self::MoveFrom
            | Self::MoveTo
            | Self::CopyTo
            | Self::HandOver => true,
        }
    }

    /// Returns `true` if a link in the last place stands for what it points to, or for itself.
    pub fn follows_last_link(self) -> bool {
        match self {
            Self::Read
            | Self::List
            | Self::Search
            | Self::Write
            | Self::Edit
            | Self::Patch
            | Self::Create
            | Self::MakeDir
            | Self::CopyFrom
            | Self::CopyTo
            | Self::HandOver => true,
            Self::Link | Self::Delete | Self::MoveFrom | Self::MoveTo => false,
        }
    }

    /// Returns `true` if new bytes go under the name of a file that is there, so that another name of the same file
    /// would be concerned too.
    pub fn replaces_content(self) -> bool {
        match self {
            Self::Write | Self::Edit | Self::Patch | Self::CopyTo => true,
            Self::Read
            | Self::List
            | Self::Search
            | Self::Create
            | Self::MakeDir
            | Self::Link
            | Self::Delete
            | Self::MoveFrom
            | Self::MoveTo
            | Self::CopyFrom
            | Self::HandOver => false,
        }
    }

    /// Returns `true` if the content that would be replaced has to have been read in this session.
    pub fn needs_read(self) -> bool {
        matches!(self, Self::Write | Self::Edit)
    }

    /// The operation in a word, for messages and records.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::List => "list",
            Self::Search => "search",
            Self::Write => "write",
            Self::Edit => "edit",
            Self::Patch => "patch",
            Self::Create => "create",
            Self::MakeDir => "make-dir",
            Self::Link => "link",
            Self::Delete => "delete",
            Self::MoveFrom => "move-from",
            Self::MoveTo => "move-to",
            Self::CopyFrom => "copy-from",
            Self::CopyTo => "copy-to",
            Self::HandOver => "hand-over",
        }
    }
}

/// One path that a call says it will touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathClaim {
    /// The path as written. `None`: the call named none and means the folder it works in.
    pub path: Option<PathText>,
    /// What would be done to it.
    pub operation: Operation,
    /// Who says so.
    pub origin: Origin,
    /// The path holds wildcards of a shell: everything that matches it is touched.
    pub wild: bool,
    /// A search that passes over names which start with a dot.
    pub visible: bool,
}

impl PathClaim {
    /// A claim of exactly this path.
    pub fn new(path: Option<PathText>, operation: Operation, origin: Origin) -> Self {
        Self { path, operation, origin, wild: false, visible: false }
    }
}

/// Who says that a path would be touched. The number is the command's place among the commands of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The call itself.
    Call,
    /// A tool of somebody else. What allows the tool allows this, inside the line.
    Foreign,
    /// A tool of somebody else, by a text that is perhaps a path. What the look at the world says decides what counts.
    Supposed(Supposition),
    /// A command that is there for it: `rm a`, `mkdir a`. What allows the command allows this, inside the line.
    Command(usize),
    /// A process of a shell, which is about to do it. What allows the command has allowed it nothing here.
    Process,
    /// A command beside its purpose, by a redirect or an option: `sort -o a`, `echo > a`. It is judged like the
    /// same deed by a file tool, whatever allows the command.
    Aside(usize),
}

impl Origin {
    /// The number of the command, if one says so.
    pub fn command(self) -> Option<usize> {
        match self {
            Self::Command(number) | Self::Aside(number) => Some(number),
            Self::Call | Self::Foreign | Self::Supposed(_) | Self::Process => None,
        }
    }
}

/// Why a text that a tool of somebody else is given could be a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Supposition {
    /// Its name says that it is one, and this is another way to read it.
    Reading,
    /// It begins as only a path does.
    Evident,
    /// Nothing says what it is.
    Text,
    /// Its name says that it is text, or it is a URL that leads to another machine.
    Prose,
}

/// A shell that a call wants to run or to reach. What its commands touch is known only by running them.
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
    /// What would be said to the shell.
    pub fn said(&self) -> Option<&str> {
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
    /// What a command line would run, each command a part of the call.
    pub commands: Vec<CommandClaim>,
    /// The hosts that would be reached.
    pub hosts: Vec<HostClaim>,
    /// The shell.
    pub shell: Option<ShellClaim>,
    /// Why no rule may allow the command line as a whole, if so.
    pub bars: Vec<Bar>,
    /// What the command line as a whole would do that needs a person.
    pub safeguards: Vec<SafeguardHit>,
}

impl Claims {
    /// What `call` says it will touch.
    pub fn of(call: &ToolCall) -> Self {
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
        if let Some(said) = claims.shell.as_ref().and_then(ShellClaim::said) {
            let said = said.to_owned();
            claims.add_commands(command::understand(&said, &pinfold_shell::parse(&said)));
        }
        claims
    }

    fn add_commands(&mut self, found: Commands) {
        let Commands { commands, paths, hosts, bars, safeguards, .. } = found;
        self.commands = commands;
        self.paths.extend(paths);
        self.hosts.extend(hosts);
        self.bars = bars;
        self.safeguards = safeguards;
    }
}

fn hosts(call: &ToolCall) -> Vec<HostClaim> {
    match call {
        ToolCall::Process(call) => call.hosts(),
        ToolCall::WebFetch(input) => vec![HostClaim::of_url(&input.url)],
        ToolCall::Foreign(call) if call.reaches_hosts() => vec![HostClaim::unsaid()],
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

//! The server: what it offers, and one call after the other.

mod asks;
mod call;
mod parked;
pub(crate) mod reply;
mod rooms;
mod roots;

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pinfold::Session;
use pinfold_tools::{Tool, tools};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio::sync::Semaphore;

use crate::offer;
pub(crate) use parked::{Parked, Waits, about};
pub(crate) use rooms::{Room, Rooms};
use roots::Roots;

/// Calls that are carried out at one time. More wait their turn.
pub(crate) const AT_ONCE: usize = 32;

/// Calls that wait their turn or an answer. More are turned away: somebody floods us.
const MOST_CALLS: usize = 1024;

/// Whoever starts a server knows folders, settings and the record: they open the sessions in which tools act.
pub trait Opener: Send + Sync + 'static {
    /// The folders that calls can be about; the first is meant where none is named.
    fn folders(&self) -> &[Folder];

    /// Which tools a model is shown, as rules are now.
    ///
    /// # Errors
    /// When that cannot be told, and what to do about it.
    fn visible(&self) -> Result<Visible, String>;

    /// Opens a session in one of the folders.
    ///
    /// # Errors
    /// When there can be none, and what to do about it.
    fn open(&self, folder: usize, wish: &Wish) -> Result<Opened, String>;
}

/// Says by its name whether a tool is shown.
pub type Visible = Box<dyn Fn(&str) -> bool>;

/// A folder that calls can be about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// What it is called among several.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
}

/// What a client is, as far as its session depends on it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wish {
    /// Its person can be asked through it.
    pub asks: bool,
    /// The places that its roots leave of the folder; none at all where nothing is left. Without roots the folder is
    /// whole.
    pub narrowed: Option<Vec<PathBuf>>,
}

/// A session that was opened.
pub struct Opened {
    /// The session.
    pub session: Session,
    /// Has it judge by rules and modes as they are now.
    pub follow: Box<dyn Fn(&Session) + Send + Sync>,
    /// Dropped when it has ended.
    pub span: Box<dyn Any + Send + Sync>,
}

/// How results are told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Manner {
    /// A no is told as text, not as an error: for clients that give up on a server after a few errors.
    pub refusals_as_text: bool,
    /// What a tool answers is told as data too. Some clients show a model only the data then.
    pub structured: bool,
    /// Roots of the client narrow nothing.
    pub ignore_roots: bool,
}

/// Our tools as a server of the protocol. Clones are the same server.
#[derive(Clone)]
pub struct Server(Arc<Shared>);

pub(crate) struct Shared {
    opener: Arc<dyn Opener>,
    manner: Manner,
    rooms: Rooms,
    roots: Roots,
    parked: Parked<call::Waiting>,
    /// Turns to be carried out.
    turns: Arc<Semaphore>,
    /// Places of calls that are known.
    places: Arc<Semaphore>,
    closing: AtomicBool,
}

impl Server {
    /// A server of what `opener` opens. Nothing is opened yet.
    pub fn new(opener: Arc<dyn Opener>, manner: Manner) -> Self {
        let rooms = Rooms::new(Arc::clone(&opener));
        Self(Arc::new(Shared {
            opener,
            manner,
            rooms,
            roots: Roots::default(),
            parked: Parked::default(),
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            places: Arc::new(Semaphore::new(MOST_CALLS)),
            closing: AtomicBool::new(false),
        }))
    }

    /// Another one of the same, with sessions of its own.
    pub(crate) fn anew(&self) -> Self {
        Self::new(Arc::clone(&self.0.opener), self.0.manner)
    }

    /// Nobody is waited for any more: questions are taken back, commands end, sessions close.
    pub fn close(&self) {
        self.0.closing.store(true, Ordering::SeqCst);
        self.0.parked.clear();
        self.0.rooms.close();
    }

    fn instructions(&self) -> String {
        let folders = self.0.opener.folders();
        let list: Vec<String> = folders.iter().map(|f| format!("`{}`", f.path.display())).collect();
        let several = if folders.len() > 1 { " Name one with the argument workspace." } else { "" };
        format!(
            "Tools for files and commands. They read anywhere but credentials and write in {}.{several} Beyond that a \
             person is asked. A refusal says what to do instead; it is not an error to work around.",
            list.join(", ")
        )
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("pinfold", env!("CARGO_PKG_VERSION")))
            .with_instructions(self.instructions())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let visible = self.0.opener.visible().map_err(|why| ErrorData::internal_error(why, None))?;
        let tools: Vec<Tool> = tools().into_iter().filter(|tool| visible(tool.name)).collect();
        let has_shell = tools.iter().any(|tool| tool.name == "Bash");
        let names: Vec<String> = self.0.opener.folders().iter().map(|f| f.name.clone()).collect();
        let shown = tools.into_iter().filter(|tool| has_shell || !offer::needs_shell(tool.name));
        Ok(ListToolsResult::with_all_items(shown.map(|tool| offer::offered(tool, &names)).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        call::call(&self.0, request, context).await
    }

    async fn on_roots_list_changed(&self, _context: NotificationContext<RoleServer>) {
        self.0.roots.forget();
    }
}

//! The server: its tools, and the execution of calls.

mod approver;
mod call;
mod pending_calls;
pub(crate) mod reply;
mod roots;
mod sessions;

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

use crate::tool_list;
pub(crate) use pending_calls::{Parkable, PendingCalls, state_context};
use roots::Roots;
pub(crate) use sessions::{OpenSession, Sessions};

/// Calls that are executed at a time. More wait for a slot.
pub(crate) const AT_ONCE: usize = 32;

/// Calls that wait for a slot or an answer. More are rejected.
const MAX_CALLS: usize = 1024;

/// Opens the sessions in which tools act. The embedder knows folders, settings and the audit log.
pub trait SessionOpener: Send + Sync + 'static {
    /// The workspaces; the first is the default.
    fn folders(&self) -> &[Workspace];

    /// The tools that are visible to a model under the current rules.
    ///
    /// # Errors
    /// Why they are not known, and what to do about it.
    fn visible(&self) -> Result<ToolVisibility, String>;

    /// Opens a session in one of the workspaces.
    ///
    /// # Errors
    /// Why there can be none, and what to do about it.
    fn open(&self, folder: usize, wish: &SessionRequest) -> Result<OpenedSession, String>;
}

/// Predicate that tells whether a tool is visible, by its name.
pub type ToolVisibility = Box<dyn Fn(&str) -> bool>;

/// A workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Its name, where there are several.
    pub name: String,
    /// Its folder.
    pub path: PathBuf,
}

/// The parameters of a session that depend on the client.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionRequest {
    /// The user can be asked through the client.
    pub asks: bool,
    /// The parts of the folder that the client's roots leave; an empty list leaves nothing. Without roots the folder is
    /// whole.
    pub narrowed: Option<Vec<PathBuf>>,
}

/// An open session.
pub struct OpenedSession {
    /// The session.
    pub session: Session,
    /// Updates it to the current rules and modes.
    pub follow: Box<dyn Fn(&Session) + Send + Sync>,
    /// Dropped when it has ended.
    pub span: Box<dyn Any + Send + Sync>,
}

/// The presentation of results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServerOptions {
    /// A refusal is a text result, not an error: for clients that give up on a server after a few errors.
    pub refusals_as_text: bool,
    /// Results include structured content. Some clients show a model only that.
    pub structured: bool,
    /// The client's roots are ignored.
    pub ignore_roots: bool,
}

/// The MCP server. Clones are the same server.
#[derive(Clone)]
pub struct Server(Arc<ServerState>);

pub(crate) struct ServerState {
    opener: Arc<dyn SessionOpener>,
    manner: ServerOptions,
    sessions: Sessions,
    roots: Roots,
    parked: PendingCalls<call::ParkedCall>,
    /// Slots for execution.
    turns: Arc<Semaphore>,
    /// Slots for known calls.
    places: Arc<Semaphore>,
    closing: AtomicBool,
}

impl Server {
    /// A server for what `opener` opens. Nothing is opened yet.
    pub fn new(opener: Arc<dyn SessionOpener>, manner: ServerOptions) -> Self {
        let sessions = Sessions::new(Arc::clone(&opener));
        Self(Arc::new(ServerState {
            opener,
            manner,
            sessions,
            roots: Roots::default(),
            parked: PendingCalls::default(),
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            places: Arc::new(Semaphore::new(MAX_CALLS)),
            closing: AtomicBool::new(false),
        }))
    }

    /// A second server with the same options and sessions of its own.
    pub(crate) fn with_own_sessions(&self) -> Self {
        Self::new(Arc::clone(&self.0.opener), self.0.manner)
    }

    /// Ends all waiting: approval requests are withdrawn, commands end, sessions close.
    pub fn close(&self) {
        self.0.closing.store(true, Ordering::SeqCst);
        self.0.parked.clear();
        self.0.sessions.close();
    }

    fn instructions(&self) -> String {
        let folders = self.0.opener.folders();
        let list: Vec<String> = folders.iter().map(|f| format!("`{}`", f.path.display())).collect();
        let several = if folders.len() > 1 { " Name one with the argument workspace." } else { "" };
        format!(
            "Tools for files and commands. They read anywhere but credentials and write in {}.{several} Writing \
             elsewhere needs approval. A refusal says what to do instead; it is not an error to work around.",
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
        let shown = tools.into_iter().filter(|tool| has_shell || !tool_list::needs_shell(tool.name));
        Ok(ListToolsResult::with_all_items(shown.map(|tool| tool_list::offered(tool, &names)).collect()))
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

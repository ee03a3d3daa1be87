//! One client over HTTP: the session that it shook hands for is its own. In the newest revision there are no sessions, and
//! whoever has the token is in one.

use std::sync::OnceLock;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ServerConfig,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use crate::serve::Server;

/// Whoever has come.
pub(super) struct Visitor {
    common: Server,
    own: OnceLock<Server>,
}

impl Visitor {
    pub(super) fn new(common: Server) -> Self {
        Self { common, own: OnceLock::new() }
    }

    /// The server that they are in.
    fn server(&self, context: &RequestContext<RoleServer>) -> &Server {
        match context.protocol_version() {
            Some(version) if version >= ProtocolVersion::NO_INITIALIZE => &self.common,
            Some(_) | None => self.own.get_or_init(|| self.common.anew()),
        }
    }
}

impl ServerHandler for Visitor {
    fn get_info(&self) -> ServerConfig {
        self.common.get_info()
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.common.list_tools(request, context).await
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.server(&context).call_tool(request, context).await
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        if let Some(own) = self.own.get() {
            own.on_roots_list_changed(context).await;
        }
    }
}

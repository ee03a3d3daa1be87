//! One HTTP client: its handshake gave it a session of its own. The newest revision has no sessions, and all clients
//! with the token share one.

use std::sync::OnceLock;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ServerConfig,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::calls::CallsInFlight;
use crate::serve::Server;

/// The error for a client that waits for a call when the server ends.
const OVER: &str = "the server has ended, and this call with it";

/// A client.
pub(super) struct HttpClientSession {
    common: Server,
    own: OnceLock<Server>,
    calls: CallsInFlight,
}

impl HttpClientSession {
    pub(super) fn new(common: Server, calls: CallsInFlight) -> Self {
        Self { common, own: OnceLock::new(), calls }
    }

    /// The server that serves it.
    fn server(&self, context: &RequestContext<RoleServer>) -> &Server {
        match context.protocol_version() {
            Some(version) if version >= ProtocolVersion::NO_INITIALIZE => &self.common,
            Some(_) | None => self.own.get_or_init(|| self.common.with_own_sessions()),
        }
    }
}

impl ServerHandler for HttpClientSession {
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
        let called = self.calls.answer(self.server(&context).call_tool(request, context)).await;
        called.unwrap_or_else(|| Err(ErrorData::internal_error(OVER, None)))
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        if let Some(own) = self.own.get() {
            own.on_roots_list_changed(context).await;
        }
    }
}

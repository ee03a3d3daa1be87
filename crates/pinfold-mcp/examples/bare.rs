//! The least server on the same SDK: one tool that reads a file, with nothing before it. What `benches/mcp.py` compares with.

#![expect(clippy::unwrap_used, reason = "a program to measure by")]

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, serve_server};
use rmcp::transport::stdio_pipes;
use rmcp::{ErrorData, RoleServer, ServerHandler};

struct Bare;

impl ServerHandler for Bare {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tool = Tool::new("read_file", "Reads a file.", Arc::new(JsonObject::new()));
        Ok(ListToolsResult::with_all_items(vec![tool]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let path = arguments.get("file_path").and_then(|path| path.as_str()).unwrap_or_default();
        let text =
            std::fs::read_to_string(path).map_err(|e| ErrorData::internal_error(e.to_string(), None))?;
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let _ = serve_server(Bare, stdio_pipes()).await.unwrap().waiting().await;
    });
}

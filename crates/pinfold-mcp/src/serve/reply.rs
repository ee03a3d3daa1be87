//! A tool's reply as a result of the protocol.

use pinfold_tools::{CallEnding, Content, Reply};
use rmcp::model::{CallToolResult, ContentBlock};

use super::ServerOptions;

/// Converts a reply. A refusal has text for the model, and its envelope as structured content.
pub(crate) fn result(reply: Reply, manner: ServerOptions) -> CallToolResult {
    let Reply { ended, content, structured, stop } = reply;
    let has_picture = content.iter().any(|piece| matches!(piece, Content::Image { .. }));
    let mut pieces: Vec<ContentBlock> = content.into_iter().map(block).collect();
    pieces.extend(stop.map(|why| ContentBlock::text(format!("[a hook wants you to stop: {why}]"))));
    let mut result = match ended {
        CallEnding::Done => CallToolResult::success(pieces),
        CallEnding::Refused if manner.refusals_as_text => CallToolResult::success(pieces),
        CallEnding::Refused | CallEnding::Failed => CallToolResult::error(pieces),
    };
    // Clients that show only structured content must not lose what only the text or the picture has.
    let is_complete = ended != CallEnding::Done || (manner.structured && !has_picture);
    if is_complete && structured.is_object() {
        result.structured_content = Some(structured);
    }
    result
}

/// A refusal before there is a call.
pub(crate) fn error(text: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text.into())])
}

fn block(piece: Content) -> ContentBlock {
    match piece {
        Content::Text { text } => ContentBlock::text(text),
        Content::Image { data, media_type } => ContentBlock::image(data, media_type),
    }
}

//! Methods of the protocol beside calls of tools, which a proxy judges too.

/// Methods that only read, by [the specification](https://modelcontextprotocol.io/specification): what a server lists, says
/// and completes. Whatever else it has is judged like a tool of which nothing is known.
const READING: [&str; 9] = [
    "completion/complete",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "subscriptions/listen",
];

/// Returns `true` if a method only reads.
pub(super) fn only_reads(method: &str) -> bool {
    READING.contains(&method)
}

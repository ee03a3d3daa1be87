//! Calls as JSON.

use std::path::Path;

use pinfold::RawCall;
use serde_json::json;

/// A command line.
pub fn bash(command: &str) -> RawCall {
    RawCall::new("Bash", json!({"command": command}))
}

/// A read of a file.
pub fn read(path: impl AsRef<Path>) -> RawCall {
    RawCall::new("Read", json!({"file_path": path.as_ref()}))
}

/// A write of one line, `new`.
pub fn write(path: impl AsRef<Path>) -> RawCall {
    RawCall::new("Write", json!({"file_path": path.as_ref(), "content": "new\n"}))
}

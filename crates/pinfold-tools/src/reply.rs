//! Replies to calls: text for the model, data for the program.

use pinfold::audit::RecordedHost;
use pinfold::{Denial, Failure, Refusal};
use pinfold_scrub::Counts;
use serde::Serialize;
use serde_json::{Value, json};

/// The answer to one call. Failures are answers too, never crashes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reply {
    /// The end of the call.
    pub ended: CallEnding,
    /// Content for the model.
    pub content: Vec<Content>,
    /// The reply as data; for a refusal or a failure its envelope.
    pub structured: Value,
    /// A hook wants the agent to stop altogether, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
}

/// The end of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CallEnding {
    /// The operation succeeded.
    Done,
    /// The gate said no; nothing was done.
    Refused,
    /// The gate said yes, and it did not work out.
    Failed,
}

impl CallEnding {
    /// The end in a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}

/// A piece of what the model reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Content {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A picture.
    Image {
        /// Its bytes in base64.
        data: String,
        /// The kind of picture.
        #[serde(rename = "mimeType")]
        media_type: &'static str,
    },
}

impl Reply {
    /// A no of the gate.
    pub fn refused(refusal: &Refusal) -> Self {
        Self::from_refusal(CallEnding::Refused, refusal)
    }

    pub(crate) fn failed(failure: Failure, tool: &str) -> Self {
        Self::from_refusal(CallEnding::Failed, &failure.into_refusal(tool))
    }

    fn from_refusal(ended: CallEnding, refusal: &Refusal) -> Self {
        let structured =
            serde_json::to_value(refusal).unwrap_or_else(|_| json!({"message": refusal.message}));
        Self { ended, content: vec![Content::Text { text: refusal.message.clone() }], structured, stop: None }
    }

    /// The text of the answer.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|piece| match piece {
            Content::Text { text } => Some(text.as_str()),
            Content::Image { .. } => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// The result of a tool that came to its end.
pub(crate) struct ToolResult {
    pub(crate) content: Vec<Content>,
    pub(crate) structured: Value,
    /// Secrets that were taken out already.
    pub(crate) found: Counts,
    /// There are none left in the text.
    pub(crate) text_is_clean: bool,
    /// The events in the sandbox of its shell, for the record.
    pub(crate) events: SandboxEvents,
}

/// The events in a sandbox that the record keeps.
#[derive(Debug, Default)]
pub(crate) struct SandboxEvents {
    /// The refusals of the kernel. One without a name gets it from the call.
    pub(crate) denials: Vec<Denial>,
    /// The hosts that a process reached for.
    pub(crate) hosts: Vec<RecordedHost>,
    /// The number of hosts beyond those.
    pub(crate) omitted_hosts: u64,
}

impl ToolResult {
    /// Takes the events of the sandbox, each refusal under a name of its own in the call of that name.
    pub(crate) fn take_events(&mut self, call: &str) -> SandboxEvents {
        let mut events = std::mem::take(&mut self.events);
        for (n, denial) in (1..).zip(&mut events.denials).filter(|(_, denial)| denial.id.is_empty()) {
            denial.id = format!("{call}:{n}");
        }
        let told = self.structured.get_mut("refused").and_then(Value::as_array_mut);
        for (told, denial) in told.into_iter().flatten().zip(&events.denials) {
            if let Some(told) = told.as_object_mut() {
                told.insert("id".to_owned(), denial.id.clone().into());
            }
        }
        events
    }

    pub(crate) fn text(text: impl Into<String>, structured: Value) -> Self {
        Self {
            content: vec![Content::Text { text: text.into() }],
            structured,
            found: Counts::default(),
            text_is_clean: false,
            events: SandboxEvents::default(),
        }
    }

    pub(crate) fn with_redactions(self, found: Counts) -> Self {
        Self { found, ..self }
    }

    pub(crate) fn with_clean_text(self) -> Self {
        Self { text_is_clean: true, ..self }
    }
}

impl From<ToolResult> for Reply {
    fn from(done: ToolResult) -> Self {
        Self { ended: CallEnding::Done, content: done.content, structured: done.structured, stop: None }
    }
}

//! The moments at which hooks are asked.

crate::mode::choices! {
    /// A moment at which hooks are asked.
    HookEvent {
        /// Before a call is judged.
        #[default]
        PreToolUse = "PreToolUse";
        /// Before a person is asked.
        PermissionRequest = "PermissionRequest";
        /// A call was refused in the end.
        PermissionDenied = "PermissionDenied";
        /// A call has been carried out.
        PostToolUse = "PostToolUse";
        /// A call was let through and failed.
        PostToolUseFailure = "PostToolUseFailure";
        /// A session starts.
        SessionStart = "SessionStart";
        /// A session has ended.
        SessionEnd = "SessionEnd";
        /// A subagent starts.
        SubagentStart = "SubagentStart";
        /// A subagent wants to stop.
        SubagentStop = "SubagentStop";
        /// A message is shown to the user.
        Notification = "Notification";
        /// The user sent a prompt to the agent.
        UserPromptSubmit = "UserPromptSubmit";
        /// The agent wants to stop.
        Stop = "Stop";
        /// The agent is about to shorten what it remembers.
        PreCompact = "PreCompact";
    }
}

/// The value that a matcher is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// A call: the name of its tool. An `if` can say more.
    Call,
    /// A field of the event that says of which kind it is.
    Kind(&'static str),
    /// Nothing: such an event has no kinds.
    Nothing,
}

impl HookEvent {
    /// Every event, in the order of the documentation.
    pub const ALL: &'static [Self] = &[
        Self::PreToolUse,
        Self::PermissionRequest,
        Self::PermissionDenied,
        Self::PostToolUse,
        Self::PostToolUseFailure,
        Self::SessionStart,
        Self::SessionEnd,
        Self::SubagentStart,
        Self::SubagentStop,
        Self::Notification,
        Self::UserPromptSubmit,
        Self::Stop,
        Self::PreCompact,
    ];

    /// Returns the value that a matcher of this event is compared with.
    pub fn matcher_subject(self) -> About {
        match self {
            Self::PreToolUse
            | Self::PermissionRequest
            | Self::PermissionDenied
            | Self::PostToolUse
            | Self::PostToolUseFailure => About::Call,
            Self::SessionStart => About::Kind("source"),
            Self::SessionEnd => About::Kind("reason"),
            Self::SubagentStart | Self::SubagentStop => About::Kind("agent_type"),
            Self::Notification => About::Kind("notification_type"),
            Self::PreCompact => About::Kind("trigger"),
            Self::UserPromptSubmit | Self::Stop => About::Nothing,
        }
    }
}

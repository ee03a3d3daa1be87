//! Codes of refusals.

use serde::Serialize;

/// Reason why a call did not happen, or did not come to an end. Stable names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum RefusalCode {
    /// A write beyond the folder of this agent.
    OutOfScope,
    /// Needs approval first.
    RequiresApproval,
    /// Denied, whatever an approver says.
    Denied,
    /// Outside the places that settings hold the tool to.
    PathNotAllowed,
    /// The session only reads.
    ReadOnly,
    /// The path leads to an unknown place.
    Unresolved,
    /// The path looks inside and leads outside.
    Disguised,
    /// A FIFO, socket or device.
    SpecialFile,
    /// The file has to be read first.
    NotRead,
    /// The file changed since it was read.
    StaleRead,
    /// The tool or its input was not understood.
    InvalidInput,
    /// Nothing is there.
    NotFound,
    /// Something is there already.
    AlreadyExists,
    /// A folder stands where a file is needed.
    IsAFolder,
    /// Something else stands where a folder is needed.
    NotAFolder,
    /// A folder that is not empty.
    NotEmpty,
    /// The text to replace does not occur.
    NoMatch,
    /// The text to replace occurs more than once.
    NotUnique,
    /// The edit would change nothing.
    NoChange,
    /// More than the tool takes or returns.
    TooLarge,
    /// The content is not text.
    NotText,
    /// The new text has a word that stands for a secret where the file has the secret.
    Redacted,
    /// The place changed between the look and the deed; nothing was done.
    Changed,
    /// The budget of this session for fetches is spent.
    BudgetSpent,
    /// A host cannot be reached, or what it answers cannot be used.
    NotFetched,
    /// Shells are off in this session.
    BashNotAllowed,
    /// Nothing holds a shell to its line here, or less than was asked for.
    NotHeld,
    /// The decision could not be recorded, so nothing was done.
    NotRecorded,
    /// Another error of the system.
    Io,
}

impl RefusalCode {
    /// The code in a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OutOfScope => "OutOfScope",
            Self::RequiresApproval => "RequiresApproval",
            Self::Denied => "Denied",
            Self::PathNotAllowed => "PathNotAllowed",
            Self::ReadOnly => "ReadOnly",
            Self::Unresolved => "Unresolved",
            Self::Disguised => "Disguised",
            Self::SpecialFile => "SpecialFile",
            Self::NotRead => "NotRead",
            Self::StaleRead => "StaleRead",
            Self::InvalidInput => "InvalidInput",
            Self::NotFound => "NotFound",
            Self::AlreadyExists => "AlreadyExists",
            Self::IsAFolder => "IsAFolder",
            Self::NotAFolder => "NotAFolder",
            Self::NotEmpty => "NotEmpty",
            Self::NoMatch => "NoMatch",
            Self::NotUnique => "NotUnique",
            Self::NoChange => "NoChange",
            Self::TooLarge => "TooLarge",
            Self::NotText => "NotText",
            Self::Redacted => "Redacted",
            Self::Changed => "Changed",
            Self::BudgetSpent => "BudgetSpent",
            Self::NotFetched => "NotFetched",
            Self::BashNotAllowed => "BashNotAllowed",
            Self::NotHeld => "NotHeld",
            Self::NotRecorded => "NotRecorded",
            Self::Io => "Io",
        }
    }
}

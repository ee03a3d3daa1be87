//! Operations on a path.

/// Operation on one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Read a file's content.
    Read,
    /// List a folder.
    List,
    /// Look through a folder and everything below it, or through one file.
    Search,
    /// Create a file or replace its whole content.
    Write,
    /// Change a file that is there.
    Edit,
    /// Change the lines of a file that a patch names; the patch itself says what it expects to find.
    Patch,
    /// Create a file that must not be there yet.
    Create,
    /// Create a folder.
    MakeDir,
    /// Create a symbolic link, which leads the users of the name elsewhere.
    Link,
    /// Take a name away.
    Delete,
    /// Take a name away, since it gets another.
    MoveFrom,
    /// Give an existing thing this name.
    MoveTo,
    /// Read a file or a tree to copy it.
    CopyFrom,
    /// Create or replace by a copy.
    CopyTo,
    /// Give a folder to another agent.
    HandOver,
}

impl Operation {
    /// Returns `true` if the operation changes what the path names. Both ends of a move do.
    pub fn writes(self) -> bool {
        match self {
            Self::Read | Self::List | Self::Search | Self::CopyFrom => false,
            Self::Write
            | Self::Edit
            | Self::Patch
            | Self::Create
            | Self::MakeDir
            | Self::Link
            | Self::Delete
            | Self::MoveFrom
            | Self::MoveTo
            | Self::CopyTo
            | Self::HandOver => true,
        }
    }

    /// Returns `true` if a link in the last place stands for what it points to, or for itself.
    pub fn follows_last_link(self) -> bool {
        match self {
            Self::Read
            | Self::List
            | Self::Search
            | Self::Write
            | Self::Edit
            | Self::Patch
            | Self::Create
            | Self::MakeDir
            | Self::CopyFrom
            | Self::CopyTo
            | Self::HandOver => true,
            Self::Link | Self::Delete | Self::MoveFrom | Self::MoveTo => false,
        }
    }

    /// Returns `true` if new bytes go under the name of a file that is there, so that another name of the same file
    /// would be concerned too.
    pub fn replaces_content(self) -> bool {
        match self {
            Self::Write | Self::Edit | Self::Patch | Self::CopyTo => true,
            Self::Read
            | Self::List
            | Self::Search
            | Self::Create
            | Self::MakeDir
            | Self::Link
            | Self::Delete
            | Self::MoveFrom
            | Self::MoveTo
            | Self::CopyFrom
            | Self::HandOver => false,
        }
    }

    /// Returns `true` if the content that would be replaced has to have been read in this session.
    pub fn needs_read(self) -> bool {
        matches!(self, Self::Write | Self::Edit)
    }

    /// The operation in a word, for messages and records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::List => "list",
            Self::Search => "search",
            Self::Write => "write",
            Self::Edit => "edit",
            Self::Patch => "patch",
            Self::Create => "create",
            Self::MakeDir => "make-dir",
            Self::Link => "link",
            Self::Delete => "delete",
            Self::MoveFrom => "move-from",
            Self::MoveTo => "move-to",
            Self::CopyFrom => "copy-from",
            Self::CopyTo => "copy-to",
            Self::HandOver => "hand-over",
        }
    }
}

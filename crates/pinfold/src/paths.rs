//! Places on the disk: the parts of `pinfold-paths` that an embedder or a tool names.

pub use pinfold_paths::{
    Ambient, Copied, DeedError, Directory, DirectoryEntry, EntryKind, Kind, Line, NotInside, Opening, Owner,
    SetTime, Strategy, Version, Workspace, WorkspaceError, show,
};

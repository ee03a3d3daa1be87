//! Places on the disk: the parts of `pinfold-paths` that an embedder or a tool names.

pub use pinfold_paths::{
    Ambient, Copied, Directory, DirectoryEntry, EntryKind, Kind, NotInside, Opening, OperationError, Owner,
    SetTime, Strategy, Version, Workspace, WorkspaceError, WritableRoots, show,
};

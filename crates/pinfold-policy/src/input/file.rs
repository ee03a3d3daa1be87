//! Inputs of the tools that take whole files and folders.

use pinfold_commands::PathText;

use crate::form::input;

input! {
    /// Input of `Read`.
    ReadInput {
        /// The file to read: absolute, or relative to the workspace.
        path = "file_path" | "path" | "filePath" | "filename" | "file" | "target_file" | "absolute_path": PathText,
        /// The line to start at, counted from 1.
        offset = "offset" | "start_line" | "startLine": Option<u64>,
        /// The most lines to return.
        limit = "limit" | "max_lines" | "maxLines": Option<u64>,
    }
}

input! {
    /// Input of `Write`.
    WriteInput {
        /// The file to create or overwrite.
        path = "file_path" | "path" | "filePath" | "filename" | "file" | "target_file" | "absolute_path": PathText,
        /// The whole new content.
        content = "content" | "contents" | "file_text" | "fileText" | "text": String,
    }
}

input! {
    /// Input of `Delete`.
    DeleteInput {
        /// The file, link or folder to delete. A link is deleted itself, never what it points to.
        path = "path" | "file_path" | "filePath" | "filename" | "file" | "target_file": PathText,
        /// Delete a folder with everything in it.
        recursive = "recursive": Option<bool>,
    }
}

input! {
    /// Input of `MoveFile`.
    MoveFileInput {
        /// The file, link or folder to move.
        source = "source" | "src" | "from" | "source_path" | "sourcePath" | "old_path" | "oldPath": PathText,
        /// Its new name. Missing parent folders are created.
        destination = "destination" | "dest" | "dst" | "to" | "destination_path" | "destinationPath" | "new_path" | "newPath": PathText,
        /// Replace a file that is already there.
        overwrite = "overwrite": Option<bool>,
    }
}

input! {
    /// Input of `CopyFile`.
    CopyFileInput {
        /// The file or folder to copy. Links below a folder are copied as links.
        source = "source" | "src" | "from" | "source_path" | "sourcePath" | "old_path" | "oldPath": PathText,
        /// The name of the copy. Missing parent folders are created.
        destination = "destination" | "dest" | "dst" | "to" | "destination_path" | "destinationPath" | "new_path" | "newPath": PathText,
        /// Replace a file that is already there.
        overwrite = "overwrite": Option<bool>,
    }
}

input! {
    /// Input of `MakeDir`.
    MakeDirInput {
        /// The folder to create, with its missing parents.
        path = "path" | "dir" | "directory" | "dir_path" | "file_path": PathText,
    }
}

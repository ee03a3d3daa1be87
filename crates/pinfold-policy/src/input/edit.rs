//! Inputs of the tools that change parts of files.

use pinfold_commands::PathText;

use crate::form::{input, words};

input! {
    /// Input of `Edit`.
    EditInput {
        /// The file to change. It must have been read in this session.
        path = "file_path" | "path" | "filePath" | "filename" | "file" | "target_file" | "absolute_path": PathText,
        /// The text to replace, exactly as it stands in the file. It must occur once, unless `replace_all` is set.
        old = "old_string" | "old_str" | "oldString" | "oldStr" | "old_text" | "oldText": String,
        /// The text to put in its place.
        new = "new_string" | "new_str" | "newString" | "newStr" | "new_text" | "newText": String,
        /// Replace every occurrence.
        replace_all = "replace_all" | "replaceAll": Option<bool>,
    }
}

input! {
    /// One step of a `MultiEdit`.
    EditStep {
        /// The text to replace, exactly as the earlier steps leave it.
        old = "old_string" | "old_str" | "oldString" | "oldStr" | "old_text" | "oldText": String,
        /// The text to put in its place.
        new = "new_string" | "new_str" | "newString" | "newStr" | "new_text" | "newText": String,
        /// Replace every occurrence.
        replace_all = "replace_all" | "replaceAll": Option<bool>,
    }
}

input! {
    /// Input of `MultiEdit`.
    MultiEditInput {
        /// The file to change. It must have been read in this session.
        path = "file_path" | "path" | "filePath" | "filename" | "file" | "target_file" | "absolute_path": PathText,
        /// The edits, applied in order to one text. Either all are made or none.
        edits = "edits": Vec<EditStep>,
    }
}

words! {
    /// The content of a notebook cell.
    CellType {
        /// Code that a kernel runs.
        Code = "code",
        /// Text.
        Markdown = "markdown",
        /// Neither run nor rendered.
        Raw = "raw",
    }
}

words! {
    /// The change that `NotebookEdit` makes to the cell.
    CellMode {
        /// Give the cell a new source.
        Replace = "replace",
        /// Put a new cell after the named one, or first when none is named.
        Insert = "insert",
        /// Take the cell out.
        Delete = "delete",
    }
}

input! {
    /// Input of `NotebookEdit`.
    NotebookEditInput {
        /// The notebook (.ipynb) to change. It must have been read in this session.
        path = "notebook_path" | "notebookPath" | "file_path" | "path" | "filePath": PathText,
        /// The id of the cell. For insert: the cell to insert after.
        cell_id = "cell_id" | "cellId": Option<String>,
        /// The position of the cell, counted from 0, instead of its id. For insert: the cell to insert after.
        cell_number = "cell_number" | "cellNumber" | "cell_index": Option<u64>,
        /// The new source of the cell. Not needed for delete.
        new_source = "new_source" | "newSource" | "source": Option<String>,
        /// The type of the cell; needed for insert, kept when absent otherwise.
        cell_type = "cell_type" | "cellType": Option<CellType>,
        /// The change; replace when absent.
        mode = "edit_mode" | "editMode" | "mode": Option<CellMode>,
    }
}

input! {
    /// Input of `ApplyPatch`.
    ApplyPatchInput {
        /// The patch: either between `*** Begin Patch` and `*** End Patch`, or a unified diff.
        patch = "patch" | "input" | "patch_text" | "patchText" | "diff": String,
    }
}

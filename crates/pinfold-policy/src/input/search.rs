//! Inputs of the tools that look around.

use pinfold_commands::PathText;

use crate::form::{input, words};

input! {
    /// Input of `LS`.
    LsInput {
        /// The folder to list; the workspace when absent.
        path = "path" | "dir" | "directory" | "dir_path" | "directory_path": Option<PathText>,
        /// Globs of names to leave out.
        ignore = "ignore": Option<Vec<String>>,
    }
}

input! {
    /// Input of `Glob`.
    GlobInput {
        /// The glob, for example `**/*.rs` or `src/{a,b}/*.ts`.
        pattern = "pattern" | "glob" | "glob_pattern": String,
        /// The folder to search; the workspace when absent.
        path = "path" | "dir" | "directory" | "dir_path": Option<PathText>,
    }
}

words! {
    /// The result of `Grep`.
    OutputMode {
        /// Matching lines.
        Content = "content",
        /// The files that hold a match.
        Files = "files_with_matches",
        /// The number of matching lines of each file.
        Count = "count",
    }
}

input! {
    /// Input of `Grep`.
    GrepInput {
        /// The regular expression, in ripgrep's syntax.
        pattern = "pattern" | "query" | "regex": String,
        /// The file or folder to search; the workspace when absent.
        path = "path" | "dir" | "directory" | "dir_path": Option<PathText>,
        /// Only files whose path matches this glob, for example `*.ts`; `!` in front leaves them out.
        glob = "glob" | "include" | "include_pattern": Option<String>,
        /// Only files of this type, as ripgrep names them: rust, py, js, …
        file_type = "type" | "file_type": Option<String>,
        /// The form of the result; `files_with_matches` when absent.
        output = "output_mode" | "outputMode": Option<OutputMode>,
        /// Lines to show after each match (content only).
        after = "-A" | "after_context": Option<u64>,
        /// Lines to show before each match (content only).
        before = "-B" | "before_context": Option<u64>,
        /// Lines to show around each match (content only).
        around = "-C" | "context": Option<u64>,
        /// Show line numbers; true when absent (content only).
        numbers = "-n" | "line_numbers": Option<bool>,
        /// Ignore case.
        ignore_case = "-i" | "case_insensitive" | "ignore_case": Option<bool>,
        /// Let a match span lines, and let `.` match a line break.
        multiline = "multiline": Option<bool>,
        /// Return at most this many lines, files or counts.
        head_limit = "head_limit" | "headLimit" | "limit" | "max_results": Option<u64>,
        /// Pass over this many lines, files or counts first.
        offset = "offset": Option<u64>,
    }
}

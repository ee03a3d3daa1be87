//! The tools a model can name: their names and levels. What each takes stands in [`crate::input`].

use serde::Serialize;
use serde_json::Value;

use crate::form::InputForm;
use crate::input::{
    ApplyPatchInput, CopyFileInput, DeleteInput, EditInput, GlobInput, GrepInput, LsInput, MakeDirInput,
    MoveFileInput, MultiEditInput, NotebookEditInput, ReadInput, ShellInput, ShellKillInput,
    ShellOutputInput, ShellSendInput, WebFetchInput, WriteInput,
};

/// The highest level of effect of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Level {
    /// Looks, and changes nothing.
    ReadOnly,
    /// Changes files.
    Write,
    /// Runs or spawns.
    Dangerous,
}

macro_rules! tools {
    ($( $(#[doc = $doc:literal])+ $variant:ident = $name:literal, $level:ident, $input:ty; )+) => {
        /// A tool, by name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ToolName { $( $(#[doc = $doc])+ $variant, )+ }

        impl ToolName {
            /// Every tool, in the order they are shown to a model.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name as a model says it.
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $name, )+ }
            }

            /// Returns the highest level of effect.
            pub fn level(self) -> Level {
                match self { $( Self::$variant => Level::$level, )+ }
            }

            /// The JSON Schema of the tool's input, from the same declaration that parses it.
            pub fn schema(self) -> Value {
                match self { $( Self::$variant => <$input as InputForm>::object_schema(), )+ }
            }
        }
    };
}

tools! {
    /// Reads a file.
    Read = "Read", ReadOnly, ReadInput;
    /// Creates or overwrites a file.
    Write = "Write", Write, WriteInput;
    /// Replaces text in a file.
    Edit = "Edit", Write, EditInput;
    /// Makes several replacements in one file.
    MultiEdit = "MultiEdit", Write, MultiEditInput;
    /// Changes a cell of a notebook.
    NotebookEdit = "NotebookEdit", Write, NotebookEditInput;
    /// Applies a patch to several files.
    ApplyPatch = "ApplyPatch", Write, ApplyPatchInput;
    /// Deletes a file or folder.
    Delete = "Delete", Write, DeleteInput;
    /// Renames a file or folder.
    MoveFile = "MoveFile", Write, MoveFileInput;
    /// Copies a file or folder.
    CopyFile = "CopyFile", Write, CopyFileInput;
    /// Creates a folder.
    MakeDir = "MakeDir", Write, MakeDirInput;
    /// Lists a folder.
    Ls = "LS", ReadOnly, LsInput;
    /// Finds files by name.
    Glob = "Glob", ReadOnly, GlobInput;
    /// Finds files by content.
    Grep = "Grep", ReadOnly, GrepInput;
    /// Runs a command in a shell.
    Bash = "Bash", Dangerous, ShellInput;
    /// Reads what a background shell said.
    BashOutput = "BashOutput", Dangerous, ShellOutputInput;
    /// Ends a background shell.
    KillBash = "KillBash", Dangerous, ShellKillInput;
    /// Sends input to a background shell.
    BashInput = "BashInput", Dangerous, ShellSendInput;
    /// Fetches a page. Reading from the network is what the safe tools of 002 may do; where, is for rules about hosts.
    WebFetch = "WebFetch", ReadOnly, WebFetchInput;
}

impl ToolName {
    /// Returns `true` if rules for the tool have patterns of paths.
    pub fn takes_paths(self) -> bool {
        !matches!(self, Self::Bash | Self::BashOutput | Self::KillBash | Self::BashInput | Self::WebFetch)
    }

    /// The tool of exactly this name, or of a name that other agents have for it.
    pub fn parse(name: &str) -> Option<Self> {
        let by_name = Self::ALL.iter().copied().find(|tool| tool.as_str() == name);
        by_name.or_else(|| OLDER_NAMES.iter().find(|(older, _)| *older == name).map(|(_, tool)| *tool))
    }

    /// Returns the tool whose name is closest to an unknown name, for an error message.
    pub fn nearest(name: &str) -> Self {
        let name = plain(name);
        let distance = |tool: &Self| edit_distance(&name, &plain(tool.as_str()));
        Self::ALL.iter().copied().min_by_key(distance).unwrap_or(Self::Read)
    }
}

/// The known name that is closest to one that is not known, for an error message.
pub fn nearest_name(name: &str, known: &[&'static str]) -> &'static str {
    let name = plain(name);
    known.iter().copied().min_by_key(|known| edit_distance(&name, &plain(known))).unwrap_or_default()
}

/// The known name that one which is not known seems to mean: of four letters at most one is wrong, of five or more two, of three
/// one is missing or too many. Two neighbours that changed places are one.
pub(crate) fn near_name(name: &str, known: &[&'static str]) -> Option<&'static str> {
    let letters = plain(name);
    let most = match letters.len() {
        0..=2 => return None,
        3..=4 => 1,
        _ => 2,
    };
    let near = nearest_name(name, known);
    let meant = plain(near);
    // Of three letters, one that is another makes a name of its own: `Map` is not `MCP`.
    let is_own =
        letters.len() == 3 && meant.len() == 3 && letters.iter().any(|letter| !meant.contains(letter));
    (edit_distance(&letters, &meant) <= most && !is_own).then_some(near)
}

fn plain(name: &str) -> Vec<char> {
    name.chars().filter(|c| c.is_alphanumeric()).take(MAX_NAME).flat_map(char::to_lowercase).collect()
}

/// Names under which other agents offer the same tool.
const OLDER_NAMES: &[(&str, ToolName)] = &[
    ("read_file", ToolName::Read),
    ("write_file", ToolName::Write),
    ("create_file", ToolName::Write),
    ("edit_file", ToolName::Edit),
    ("apply_patch", ToolName::ApplyPatch),
    ("delete_file", ToolName::Delete),
    ("move_file", ToolName::MoveFile),
    ("copy_file", ToolName::CopyFile),
    ("make_dir", ToolName::MakeDir),
    ("create_directory", ToolName::MakeDir),
    ("ls", ToolName::Ls),
    ("list_dir", ToolName::Ls),
    ("list_directory", ToolName::Ls),
    ("glob", ToolName::Glob),
    ("grep", ToolName::Grep),
    ("bash", ToolName::Bash),
    ("shell", ToolName::Bash),
    ("run_command", ToolName::Bash),
    ("execute_command", ToolName::Bash),
    ("run_shell_command", ToolName::Bash),
    ("run_terminal_cmd", ToolName::Bash),
    ("bash_output", ToolName::BashOutput),
    ("KillShell", ToolName::KillBash),
    ("kill_shell", ToolName::KillBash),
    ("kill_bash", ToolName::KillBash),
    ("bash_input", ToolName::BashInput),
    ("write_stdin", ToolName::BashInput),
    ("web_fetch", ToolName::WebFetch),
];

/// Longest part of an unknown name that is compared: no tool's name is longer, and the comparison is quadratic.
const MAX_NAME: usize = 32;

/// Letters that are wrong, missing, too many, or changed places with their neighbour (optimal string alignment).
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let mut before = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    let at = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX / 2);
    for (i, x) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let plain = at(&row, j) + usize::from(x != y);
            let shifted = at(&next, j).min(at(&row, j + 1)) + 1;
            let changed_places = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            let swapped = if changed_places { at(&before, j - 1) + 1 } else { plain };
            next.push(plain.min(shifted).min(swapped));
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_not_known_finds_its_neighbour() {
        for (asked, tool) in [
            ("read", ToolName::Read),
            ("write_files", ToolName::Write),
            ("Multi-Edit", ToolName::MultiEdit),
            ("lss", ToolName::Ls),
            ("applypatch", ToolName::ApplyPatch),
            ("grepp", ToolName::Grep),
        ] {
            assert_eq!(ToolName::parse(asked), None);
            assert_eq!(ToolName::nearest(asked), tool, "{asked}");
        }
    }

    #[test]
    fn letters_that_changed_places_are_one_mistake() {
        for (a, b, distance) in [
            ("read", "read", 0),
            ("raed", "read", 1),
            ("bahs", "bash", 1),
            ("bsh", "bash", 1),
            ("gerp", "grep", 1),
            ("", "ls", 2),
            ("ls", "", 2),
            ("ca", "abc", 3),
            ("wirte", "write", 1),
            ("bhsa", "bash", 2),
        ] {
            assert_eq!(edit_distance(&plain(a), &plain(b)), distance, "{a} {b}");
        }
    }

    #[test]
    fn every_schema_is_closed_and_requires_only_what_it_declares() {
        for tool in ToolName::ALL {
            assert_eq!(ToolName::parse(tool.as_str()), Some(*tool));
            let schema = tool.schema();
            assert_eq!(schema["additionalProperties"], false, "{tool:?}");
            for name in schema["required"].as_array().unwrap() {
                assert!(
                    schema["properties"][name.as_str().unwrap()]["description"].is_string(),
                    "{tool:?} {name}"
                );
            }
        }
    }
}

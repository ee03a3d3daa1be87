//! Builtins of the shell that set variables which their words name.

/// The way a builtin sets variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setter {
    /// By `NAME=value` among its words: `export A=1`.
    Declares,
    /// Words that are no options are names that it fills: `read a b`.
    Reads,
    /// The word behind this option is a name that it fills: `v` for `printf -v a`.
    ByOption(char),
    /// By arithmetic, or it takes the value away: `let`, `unset`.
    Changes,
}

impl Setter {
    /// Returns the way of a builtin, by its name; nothing for one that sets no variable.
    pub fn from_name(builtin: &str) -> Option<Self> {
        Some(match builtin {
            "export" | "declare" | "typeset" | "local" | "readonly" => Self::Declares,
            "read" | "mapfile" | "readarray" | "getopts" => Self::Reads,
            "printf" => Self::ByOption('v'),
            "wait" => Self::ByOption('p'),
            "let" | "unset" => Self::Changes,
            _ => return None,
        })
    }

    /// Returns whether it gives variables a value, which some of its words name.
    pub fn has_values(self) -> bool {
        match self {
            Self::Declares | Self::Reads | Self::ByOption(_) => true,
            Self::Changes => false,
        }
    }
}

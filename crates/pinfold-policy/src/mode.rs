//! Modes: the decision when no rule has an opinion, and the few switches beside it.

use crate::tool::{near_name, nearest_name};

macro_rules! choices {
    ($(#[doc = $doc:literal])+ $name:ident { $( $(#[$meta:meta])+ $variant:ident = $word:literal $(| $alias:literal)*; )+ }) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
        pub enum $name {
            $( $(#[$meta])+ #[serde(rename = $word)] $variant, )+
        }

        impl $name {
            /// Every choice by its word, in the order of the documentation.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// Reads a choice by its word or an older one.
            ///
            /// # Errors
            /// [`UnknownChoice`](crate::UnknownChoice) with the nearest word.
            pub fn parse(word: &str) -> Result<Self, $crate::mode::UnknownChoice> {
                match word {
                    $( $word $(| $alias)* => Ok(Self::$variant), )+
                    other => Err($crate::mode::UnknownChoice::new(other, Self::WORDS)),
                }
            }

            /// The word for it.
            pub fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $word, )+ }
            }
        }
    };
}

pub(crate) use choices;

choices! {
    /// The decision when no rule has an opinion.
    Mode {
        /// Safe tools run, all else asks.
        #[default]
        Default = "default" | "AskAnyWrite";
        /// Safe and edit tools run, all else asks.
        AcceptEdits = "acceptEdits" | "AskDangerous";
        /// Safe tools run, all else is denied without a question.
        DontAsk = "dontAsk";
        /// Everything runs that no deny rule and no safeguard stops.
        BypassPermissions = "bypassPermissions" | "Bypass";
        /// As `acceptEdits`, with a judge that may answer for the person.
        Auto = "auto";
        /// Safe tools run, all else is denied; the agent knows that it only reads. Subagents only.
        Explore = "explore" | "plan";
    }
}

impl Mode {
    /// The words that a person can choose from: all but the mode of subagents, which is declared last.
    pub const CHOSEN: &'static [&'static str] = match Self::WORDS.split_last() {
        Some((_explore, chosen)) => chosen,
        None => &[],
    };

    /// The more happens without a question, the greater.
    pub(crate) fn looseness(self) -> u8 {
        match self {
            Self::Explore | Self::DontAsk => 0,
            Self::Default => 1,
            Self::AcceptEdits => 2,
            Self::Auto => 3,
            Self::BypassPermissions => 4,
        }
    }

    /// Reads a mode that a person chose for a session.
    ///
    /// # Errors
    /// Why it is none.
    pub fn parse_chosen(word: &str) -> Result<Self, String> {
        match Self::parse(word) {
            Ok(Self::Explore) => {
                Err(format!("`{word}` is a mode of subagents only; for reading alone, choose `dontAsk`"))
            }
            Ok(mode) => Ok(mode),
            Err(_) => Err(UnknownChoice::cautious(word, Self::CHOSEN).to_string()),
        }
    }
}

choices! {
    /// The conditions under which a command needs no question although no rule allows it.
    BashMode {
        /// Never.
        #[default]
        Ask = "ask";
        /// Every part of it only reads.
        ReadOnly = "read-only";
        /// The kernel holds it in full, or every part of it only reads.
        Sandboxed = "sandboxed";
    }
}

choices! {
    /// The least severity of the safeguards in force.
    MinSeverity {
        /// All safeguards.
        #[default]
        Medium = "medium" | "all";
        /// Safeguards against losses that cannot be undone.
        High = "high" | "unrecoverable";
        /// Only those against the removal of a root or home directory, and their kind.
        Critical = "critical" | "breaker";
    }
}

impl MinSeverity {
    /// The word for it in settings of former versions, which is still read.
    pub(crate) fn former_word(self) -> &'static str {
        match self {
            Self::Medium => "all",
            Self::High => "unrecoverable",
            Self::Critical => "breaker",
        }
    }
}

choices! {
    /// The range of an agent's reads.
    Reads {
        /// Anywhere, less what is guarded or denied.
        #[default]
        Anywhere = "anywhere";
        /// Only where it could write, and in additional directories.
        Workspace = "workspace";
    }
}

/// A word that stands for nothing, with the nearest one that does.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is none of {known}; did you mean `{nearest}`?")]
pub struct UnknownChoice {
    /// The word.
    pub word: String,
    /// The nearest word that is known.
    pub nearest: &'static str,
    known: String,
}

impl UnknownChoice {
    pub(crate) fn new(word: &str, words: &'static [&'static str]) -> Self {
        Self::suggest(word, words, nearest_name(word, words))
    }

    /// Returns an error for a word like none of these, where the first holds if nothing is set.
    fn cautious(word: &str, words: &'static [&'static str]) -> Self {
        Self::suggest(word, words, words.first().copied().unwrap_or_default())
    }

    /// A part of a name means that name: `edit` is `acceptEdits`.
    fn suggest(word: &str, words: &'static [&'static str], otherwise: &'static str) -> Self {
        let part = word.to_ascii_lowercase();
        let whole = || {
            let mut all = words.iter().copied();
            all.find(|known| part.len() > 2 && known.to_ascii_lowercase().contains(&part))
        };
        let nearest = near_name(word, words).or_else(whole).unwrap_or(otherwise);
        Self { word: word.to_owned(), nearest, known: words.join(", ") }
    }
}

//! Hooks as data: their events, matchers and answers.
//!
//! A hook's no is final, its wish to ask holds in every mode, and its yes waives the routine question alone: neither a
//! deny rule, nor a safeguard, nor an ask rule, nor the line, nor a mode that denies.

mod event;
mod matcher;

use std::sync::Arc;
use std::time::Duration;

pub use event::{About, HookEvent};
pub use matcher::{BadMatcher, Matcher};

use crate::decision::Decision;
use crate::rule::Rule;
use crate::rules::RuleSet;
use crate::source::Located;

/// The strictest decision of the hooks that spoke.
#[derive(Debug, Clone, PartialEq)]
pub struct HookDecision {
    /// The decision.
    pub decision: Decision,
    /// Why, in its own words.
    pub reason: String,
    /// Name of the hook for messages: its command or address, and where it is written.
    pub by: String,
    /// A yes counts only for parts that one of these covers as allow rules; without any, for every part.
    pub only: Vec<Arc<RuleSet>>,
    /// The origin of the decision.
    pub origin: HookDecisionOrigin,
}

/// The origin of a decision that stands before the rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum HookDecisionOrigin {
    /// A hook of the settings.
    #[default]
    Hook,
    /// The way in itself: something about the call is not known, or has changed. With the definition of the tool,
    /// where that is what has changed.
    Doubt(Option<Box<Redefinition>>),
}

/// The definition of a tool that is another one than a person said yes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redefinition {
    /// The definition that was remembered, a line for each part; empty for a tool that was not there.
    pub before: String,
    /// The definition that the server gives now.
    pub after: String,
}

impl HookDecision {
    /// A doubt, about which a person is asked: `by`, for messages.
    pub fn doubt(reason: String, by: String, definition: Option<Redefinition>) -> Self {
        let origin = HookDecisionOrigin::Doubt(definition.map(Box::new));
        Self { decision: Decision::Ask, reason, by, only: Vec::new(), origin }
    }

    /// Returns `true` if no hook says it.
    pub fn is_doubt(&self) -> bool {
        matches!(self.origin, HookDecisionOrigin::Doubt(_))
    }

    /// The definition of the tool, where that is what has changed.
    pub fn definition(&self) -> Option<&Redefinition> {
        match &self.origin {
            HookDecisionOrigin::Doubt(definition) => definition.as_deref(),
            HookDecisionOrigin::Hook => None,
        }
    }
}

impl Eq for HookDecision {}

/// Hooks that are asked about the same things.
#[derive(Debug, Clone, PartialEq)]
pub struct HookGroup {
    /// The tools, or the kinds of the event.
    pub matcher: Matcher,
    /// The hooks, each with the place where it is written.
    pub hooks: Vec<Located<Hook>>,
}

/// One hook.
#[derive(Debug, Clone, PartialEq)]
pub struct Hook {
    /// The program or address that is asked.
    pub asks: HookKind,
    /// The calls that it is asked about: for a denial or a question one covered part is enough, an allow counts for the parts
    /// that are covered.
    pub only: Option<Rule>,
    /// Time limit for an answer.
    pub timeout: Duration,
    /// Denies where no answer comes, or none that can be understood.
    pub fail_closed: bool,
    /// Starts it without waiting: it has no say.
    pub in_background: bool,
    /// Asks it the first time only.
    pub once: bool,
}

/// The kind of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookKind {
    /// A program.
    Command {
        /// The command line for a shell; with `args` the program alone.
        command: String,
        /// The arguments of the program; then there is no shell.
        args: Option<Vec<String>>,
        /// The shell.
        shell: HookShell,
    },
    /// An address.
    Http {
        /// The address.
        url: String,
        /// Header lines to send along, their values as written.
        headers: Vec<(String, String)>,
        /// The variables that values of header lines may name.
        variables: Vec<String>,
    },
}

crate::mode::choices! {
    /// The shell that runs the command line of a hook.
    HookShell {
        /// The shell of the system.
        #[default]
        Sh = "sh";
        /// bash.
        Bash = "bash";
    }
}

impl HookKind {
    /// The hook in a word, for messages: its command line or address.
    pub fn name(&self) -> String {
        match self {
            Self::Command { command, args: None, .. } => command.clone(),
            Self::Command { command, args: Some(args), .. } => {
                [std::slice::from_ref(command), args].concat().join(" ")
            }
            Self::Http { url, .. } => url.clone(),
        }
    }
}

/// Default time limit for an answer.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(1);
/// Longest time limit for an answer.
pub const MAX_TIMEOUT: Duration = Duration::from_hours(1);

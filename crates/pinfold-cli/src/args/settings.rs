//! Arguments of the commands about settings.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use pinfold::policy::Layer;
use pinfold::policy::rule::{Effect, Rule};
use pinfold::policy::settings::Flags;

use super::Filters;

/// Flags that stand for settings, for one session.
#[derive(Clone, Debug, Args, Default)]
pub(crate) struct SettingsFlags {
    /// Decision where no rule matches: default, acceptEdits, dontAsk, bypassPermissions, auto
    #[arg(long, value_name = "MODE")]
    pub(crate) permission_mode: Option<String>,

    /// Rules for calls that need no question, with commas or blanks between them
    #[arg(long = "allowedTools", visible_alias = "allowed-tools", value_name = "RULES")]
    pub(crate) allowed_tools: Vec<String>,

    /// Rules for calls that are denied
    #[arg(long = "disallowedTools", visible_alias = "disallowed-tools", value_name = "RULES")]
    pub(crate) disallowed_tools: Vec<String>,

    /// Restrict the tools to the path scopes of this profile: profiles/NAME.yaml or .json beside your settings
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
}

impl SettingsFlags {
    /// Returns whether any of them is given.
    pub(crate) fn are_given(&self) -> bool {
        self.permission_mode.is_some() || !self.allowed_tools.is_empty() || !self.disallowed_tools.is_empty()
    }

    /// Converts the flags to a layer of settings. Folders and the shell are flags of more than settings.
    pub(crate) fn flags(&self, add_dir: &[PathBuf], allow_bash: bool) -> Flags {
        Flags {
            permission_mode: self.permission_mode.clone(),
            add_dir: add_dir.iter().map(|dir| dir.to_string_lossy().into_owned()).collect(),
            allowed_tools: self.allowed_tools.clone(),
            disallowed_tools: self.disallowed_tools.clone(),
            allow_bash,
            ..Flags::default()
        }
    }
}

/// Write a first settings file for this project, with an explanation of each part
///
/// What is there is never overwritten.
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The project [default: the one that the current folder belongs to]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,

    /// Write your own file for all projects instead
    #[arg(long)]
    pub(crate) user: bool,
}

/// Print the JSON Schema of settings files
#[derive(Debug, Args)]
pub(crate) struct Schema;

/// Let the settings that a project brings along widen what an agent can do
///
/// Without trust its deny and ask rules count, and nothing that allows. What would count is shown first. Trust holds
/// for the files as they are now: when one changes, you are asked again.
#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// The project [default: the one that the current folder belongs to]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,

    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,

    /// Take trust back
    #[arg(long, conflicts_with = "yes")]
    pub(crate) withdraw: bool,
}

/// See, add, check and remove rules
#[derive(Debug, Args)]
pub(crate) struct Rules {
    /// The project [default: the one that the current folder belongs to]
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) what: RulesCommand,
}

/// Show effective permissions: rules, grants of running sessions, trusted folders
///
/// On a screen, each with where it comes from and how often it decided; there it can be removed, after a look at the
/// file and line, and a call can be tried against all. With --list it is printed. The subcommands are those of
/// `pinfold rules`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  pinfold permissions\n  pinfold permissions --list --json\n  \
                       pinfold permissions add allow 'Bash(npm test)'")]
pub(crate) struct Permissions {
    /// The project [default: the one that the current folder belongs to]
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,

    /// Print it, where there is no terminal for a screen
    #[arg(long)]
    pub(crate) list: bool,

    /// Print it as JSON
    #[arg(long, requires = "list")]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) what: Option<RulesCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RulesCommand {
    /// List the rules that count, where each stands, and what does not count and why
    List {
        #[command(flatten)]
        flags: SettingsFlags,

        /// Another folder that is read, and written as the mode says
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        add_dir: Vec<PathBuf>,

        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Look for rules that do less or more than they seem to
    ///
    /// Exit code: 0 when there is nothing to say, 1 when there is, 2 when a file cannot be read.
    Lint {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Try what settings expect of themselves: their `tests`, against all that holds here
    ///
    /// Exit code: 0 when all hold, 1 when one does not, 2 when a file cannot be read.
    Test,
    /// Propose rules from what you answered: the narrowest that would have saved questions
    ///
    /// Each with the calls that speak for it, and what else it would let through. Never a rule for an interpreter, a
    /// launcher, a command that destroys something or reaches other machines, nor for what a safeguard asked about, and
    /// none that would let through what you said no to.
    Learn(Learn),
    /// Judge the calls of the record once more, and show which would be decided otherwise
    ///
    /// By the settings as they are, or as they would be with the flags. Nothing is done and no approval is requested: hooks are
    /// taken at their word of then. Calls that the record does not hold whole are listed, with the reason.
    ///
    /// Exit code: 0 when all would be decided as they were, 1 when one would not, 2 when a file cannot be read.
    Replay(Box<Replay>),
    /// Add a rule to a settings file, and leave all else in it as it is
    Add(OneRule),
    /// Remove a rule from a settings file, and leave all else in it as it is
    Remove(OneRule),
}

/// Arguments of `pinfold rules learn`.
#[derive(Debug, Args)]
pub(crate) struct Learn {
    /// Least number of questions that you have answered with yes
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) least: usize,

    /// Ask about each rule, and add those that you want
    #[arg(long, conflicts_with = "json")]
    pub(crate) apply: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Another record
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) record: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) file: FileChoice,
}

/// Arguments of `pinfold rules replay`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  pinfold rules replay --since 24h\n  \
                       pinfold rules replay --add 'deny Bash(git push *)' --add 'allow Bash(make *)'\n  \
                       pinfold rules replay --settings new-settings.json --json")]
#[expect(clippy::struct_excessive_bools, reason = "independent switches of a command line")]
pub(crate) struct Replay {
    /// Judge by this file in place of your own settings and the project's; managed settings stay
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) settings: Option<PathBuf>,

    /// As if this stood in settings: 'allow RULE', 'ask RULE' or 'deny RULE'
    #[arg(long, value_name = "EFFECT RULE", value_parser = parse_added)]
    pub(crate) add: Vec<Added>,

    /// Judge each call in the mode that it was made in, also where settings choose one
    #[arg(long, conflicts_with = "permission_mode")]
    pub(crate) mode_as_then: bool,

    /// Calls in every folder, each by the settings that hold there; not those of this project alone
    #[arg(long)]
    pub(crate) everywhere: bool,

    /// Show too what would be decided the same by another step or rule
    #[arg(long, short)]
    pub(crate) verbose: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Another record
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) record: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) flags: SettingsFlags,

    #[command(flatten)]
    pub(crate) filters: Filters,
}

/// A rule that is tried.
#[derive(Debug, Clone)]
pub(crate) struct Added {
    pub(crate) effect: Effect,
    pub(crate) rule: Rule,
}

fn parse_added(text: &str) -> Result<Added, String> {
    let (word, rule) = text.trim().split_once(' ').unwrap_or((text, ""));
    let effects = [Effect::Allow, Effect::Ask, Effect::Deny];
    let effect = effects.into_iter().find(|effect| effect.as_str() == word);
    let effect = effect.ok_or("write `allow`, `ask` or `deny`, and then a rule: 'allow Bash(npm test)'")?;
    let rule = Rule::parse_written(rule.trim()).map_err(|e| crate::output::lines(&e.to_string()))?;
    Ok(Added { effect, rule })
}

/// One rule of one file.
#[derive(Debug, Args)]
pub(crate) struct OneRule {
    /// Effect of the rule
    #[arg(value_enum)]
    pub(crate) effect: EffectWord,

    /// The rule, such as 'Bash(npm run *)'
    #[arg(value_name = "RULE")]
    pub(crate) rule: String,

    #[command(flatten)]
    pub(crate) file: FileChoice,
}

impl OneRule {
    /// Returns its effect, in the word of settings.
    pub(crate) fn effect_word(&self) -> &'static str {
        Effect::from(self.effect).as_str()
    }
}

/// The settings file: your own of this project, unless another is named.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct FileChoice {
    /// Your own file for this project, .pinfold/settings.local.json [default]
    #[arg(long)]
    pub(crate) local: bool,

    /// The file that is shared with the project, .pinfold/settings.json
    #[arg(long)]
    pub(crate) project: bool,

    /// Your own file for all projects
    #[arg(long)]
    pub(crate) user: bool,
}

impl FileChoice {
    pub(crate) fn layer(&self) -> Layer {
        match self {
            Self { project: true, .. } => Layer::Project,
            Self { user: true, .. } => Layer::User,
            Self { .. } => Layer::Local,
        }
    }
}

/// Effect of a rule.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum EffectWord {
    /// Run without a question
    Allow,
    /// Needs approval
    Ask,
    /// Deny
    Deny,
}

impl From<EffectWord> for Effect {
    fn from(word: EffectWord) -> Self {
        match word {
            EffectWord::Allow => Self::Allow,
            EffectWord::Ask => Self::Ask,
            EffectWord::Deny => Self::Deny,
        }
    }
}

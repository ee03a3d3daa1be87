//! Arguments of `pinfold agent`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};
use pinfold_agent::Price;

use super::{AskFlags, SessionFlags, parse_size, parse_time};

/// Run agents of our own, and see what they are and did
///
/// An agent is a model, or a script in its place, whose every call goes through the permission checks: judged, asked about,
/// recorded, held to its folder. What it may do beside that its definition says: NAME.md in .pinfold/agents of the
/// project, in agents/ beside your settings, or in a folder that --agents names.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  pinfold agent list\n  \
                       pinfold agent run --type reviewer --script review.jsonl --prompt 'Look at src'\n  \
                       pinfold agent tree")]
pub(crate) struct AgentArgs {
    #[command(subcommand)]
    pub(crate) what: AgentCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    Run(Box<AgentRun>),
    /// List the kinds of agents that are defined
    List {
        #[command(flatten)]
        place: AgentPlace,

        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a definition: its permissions, the source of each rule, its prompt
    Show {
        #[command(flatten)]
        place: AgentPlace,

        /// The agent
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Look for what is wrong in definitions: each place with a mend, and remarks on rules
    ///
    /// Exit code: 0 when there is nothing to say, 1 when there are remarks, 2 when a definition cannot be read.
    Check {
        #[command(flatten)]
        place: AgentPlace,
    },
    /// Take away runs that are kept: those beyond a count, or of a certain age
    ///
    /// A run that is taken away cannot be shown or gone on with. Runs at work stay. Where both are said, a run goes that
    /// either of them names. The record stays as it is.
    #[command(
        after_long_help = "Examples:\n  pinfold agent clean --keep 20\n  pinfold agent clean --older-than 30d"
    )]
    Clean(CleanArgs),
    /// Show the agents of a run: parent, folder and result of each
    Tree {
        /// The run, by its name or the beginning of it [default: the last one]
        #[arg(value_name = "RUN")]
        run: Option<String>,

        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Runs to remove
#[derive(Clone, Debug, Args)]
#[group(required = true, multiple = true)]
pub(crate) struct CleanArgs {
    /// Keep so many, those in which something happened last
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<usize>,

    /// Take away those in which nothing has happened for so long: 12h, 30d
    #[arg(long, value_name = "TIME", value_parser = parse_age)]
    pub(crate) older_than: Option<Duration>,
}

/// Directories of definitions
#[derive(Clone, Debug, Args)]
pub(crate) struct AgentPlace {
    /// The project [default: the one that the current folder belongs to]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,

    /// A folder of definitions that you stand behind
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) agents: Vec<PathBuf>,
}

/// Run an agent until it is done
///
/// Without --type it is the agent that you started: your rules hold, and you are asked at this terminal. With --type it is
/// the one of that definition, as any agent would start it: it is held to its list, deny rules hold and nothing else is
/// inherited, and it has no approver. Progress is printed on standard error, its final answer on standard output.
///
/// Exit code: 0 when it is done, 1 when its model failed, 2 when the command line, a definition or the script was not
/// understood, 3 when it was stopped after too many denials, 4 when a call waits for approval (--park), 5 when a limit was
/// over.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
                       pinfold agent run --script tour.jsonl --prompt 'Write a note'\n  \
                       pinfold agent run --agents examples/agents --type test-perm --allow-bash \\\n    \
                       --script examples/agents/test-perm.jsonl --prompt 'Run bash: git stash list'\n  \
                       pinfold agent run --model anthropic:NAME --allow-bash --prompt 'Make the tests pass'\n  \
                       pinfold agent run --resume agent-7q --model anthropic:NAME")]
pub(crate) struct AgentRun {
    #[command(flatten)]
    pub(crate) place: AgentPlace,

    /// The kind of agent [default: the one that you start, with your own rules]
    #[arg(long = "type", value_name = "NAME")]
    pub(crate) kind: Option<String>,

    /// The task, or `-` for standard input
    #[arg(long, short, value_name = "TEXT", required_unless_present = "resume")]
    pub(crate) prompt: Option<String>,

    /// Let a script speak in the place of a model: one turn a line, as docs/own-agents.md has it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) script: Option<PathBuf>,

    /// The model of agents whose definition names none: anthropic:NAME, openai:NAME, chat:NAME, gemini:NAME. The key is taken
    /// from `ANTHROPIC_API_KEY`, `OPENAI_API_KEY` or `GEMINI_API_KEY`, another address from `ANTHROPIC_BASE_URL` and so on
    #[arg(long, value_name = "MODEL", conflicts_with = "script")]
    pub(crate) model: Option<String>,

    /// Cost of a million input and output tokens, for --max-cost: 3,15
    #[arg(long, value_name = "IN,OUT", value_parser = parse_price)]
    pub(crate) price: Option<Price>,

    /// A model that may answer routine questions in the mode `auto`, and no others; in place of `judge` of your settings
    #[arg(long, value_name = "MODEL")]
    pub(crate) judge: Option<String>,

    /// Go on with a run that stopped, by its name or the beginning of it
    #[arg(long, value_name = "RUN", conflicts_with = "prompt")]
    pub(crate) resume: Option<String>,

    /// Stop at the first approval request without an approver, and continue from it with --resume
    #[arg(long)]
    pub(crate) park: bool,

    /// Time to wait while another run writes in the folder; 0 not to wait
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "10m")]
    pub(crate) wait: Duration,

    /// Print what happens as JSON, one event a line, on standard output
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) session: SessionFlags,

    #[command(flatten)]
    pub(crate) limits: RunLimits,

    #[command(flatten)]
    pub(crate) asking: AskFlags,
}

/// Limits of a run, with all agents in it
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct RunLimits {
    /// Answers of models
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(crate) max_turns: u64,

    /// Tokens that go in and come out
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,

    /// Money, in the unit of the prices
    #[arg(long, value_name = "AMOUNT", value_parser = parse_amount)]
    pub(crate) max_cost: Option<u64>,

    /// Time from start to end: 90s, 10m, 2h
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) max_time: Option<Duration>,

    /// Bytes that tools answer: 512K, 10M
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) max_bytes: Option<u64>,

    /// Agents that are started
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) max_agents: u64,

    /// Pages that are fetched
    #[arg(long, value_name = "N")]
    pub(crate) max_fetches: Option<u64>,

    /// Agents that may stand above one another below the first
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) max_depth: u32,

    /// Agents that work at one time
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) parallel: usize,
}

/// A time of which the unit can be days too.
fn parse_age(text: &str) -> Result<Duration, String> {
    let Some(days) = text.strip_suffix('d') else {
        return parse_time(text).map_err(|why| why.replace("s, m or h", "s, m, h or d"));
    };
    let days: u64 = days.parse().map_err(|_| "write a whole number and a unit, such as 30d".to_owned())?;
    days.checked_mul(24 * 3600).map(Duration::from_secs).ok_or_else(|| "that is too long".to_owned())
}

fn parse_price(text: &str) -> Result<Price, String> {
    let (input, output) = text.split_once(',').ok_or("write two amounts, such as 3,15")?;
    Ok(Price { input: parse_amount(input)?, output: parse_amount(output)? })
}

/// An amount of money, in millionths.
fn parse_amount(text: &str) -> Result<u64, String> {
    let bad = || "write an amount such as 0.50".to_owned();
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if part.len() > 6 || !digits(whole) || !digits(part) {
        return Err(bad());
    }
    let millionths: u64 = format!("{part:0<6}").parse().map_err(|_| bad())?;
    let whole: u64 = whole.parse().map_err(|_| bad())?;
    whole.checked_mul(1_000_000).and_then(|whole| whole.checked_add(millionths)).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_counted_in_millionths() {
        assert_eq!(parse_amount("0.50"), Ok(500_000));
        assert_eq!(parse_amount("12"), Ok(12_000_000));
        for bad in ["", ".5", "-1", "1.2345678", "1e3", "99999999999999999999"] {
            assert!(parse_amount(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_age_can_be_in_days() {
        assert_eq!(parse_age("30d"), Ok(Duration::from_hours(720)));
        assert_eq!(parse_age("12h"), Ok(Duration::from_hours(12)));
        for bad in ["d", "-1d", "1w", "99999999999999999999d", ""] {
            assert!(parse_age(bad).is_err(), "{bad}");
        }
    }
}

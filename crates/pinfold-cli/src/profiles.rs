//! `pinfold profiles`: which agents have a profile, and what each says.

use std::fmt::Write as _;
use std::process::ExitCode;

use pinfold_boundary::{AGENTS, AgentProfile, State};

use crate::args::Profiles;
use crate::exit::{DONE, Failure};
use crate::output;

pub(crate) fn list(wanted: &Profiles) -> Result<ExitCode, Failure> {
    let text = if wanted.json {
        output::json_lines(AGENTS)
    } else {
        AGENTS.iter().map(format_profile).collect::<Vec<_>>().join("\n")
    };
    output::out(&text)?;
    Ok(ExitCode::from(DONE))
}

fn format_profile(agent: &AgentProfile) -> String {
    let mut text = format!("{}\n", agent.name);
    let mut line = |word: &str, what: &[String]| {
        if !what.is_empty() {
            let _ = writeln!(text, "  {word:<8} {}", what.join(", "));
        }
    };
    line("writes", &agent.state.iter().map(place).collect::<Vec<_>>());
    let below = |names: fn(&'static State) -> Vec<&'static str>| {
        let of = |state: &'static State| {
            names(state).into_iter().map(|name| format!("~/{}/{name}", state.usual)).collect::<Vec<_>>()
        };
        agent.state.iter().flat_map(of).collect::<Vec<_>>()
    };
    line("but not", &below(|state| state.fixed.iter().map(|fixed| fixed.name).collect()));
    line("login", &below(|state| state.logins.to_vec()));
    line("reaches", &agent.hosts.iter().map(ToString::to_string).collect::<Vec<_>>());
    let key = |key: &pinfold_boundary::Key| match key.hosts {
        [] => key.variable.to_owned(),
        hosts => format!("{} (and {})", key.variable, hosts.join(", ")),
    };
    line("keys", &agent.keys.iter().map(key).collect::<Vec<_>>());
    let told = |told: &pinfold_boundary::PresetVariable| {
        format!("{}={} (where the folder has no {})", told.variable, told.value, told.unless)
    };
    line("sets", &agent.told.iter().map(told).collect::<Vec<_>>());
    text
}

fn place(state: &State) -> String {
    match state.moved_by {
        Some((variable, "")) => format!("~/{} (${variable})", state.usual),
        Some((variable, below)) => format!("~/{} (${variable}/{below})", state.usual),
        None => format!("~/{}", state.usual),
    }
}

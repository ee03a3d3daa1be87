//! `pinfold agent`: agents of our own.

mod definitions;
mod follow;
mod run;
mod runs;

use std::process::ExitCode;

use crate::args::{AgentArgs, AgentCommand};
use crate::exit::Failure;

pub(crate) fn agent(wanted: &AgentArgs) -> Result<ExitCode, Failure> {
    match &wanted.what {
        AgentCommand::Run(wanted) => run::run(wanted),
        AgentCommand::List { place, json } => definitions::list(place, *json),
        AgentCommand::Show { place, name } => definitions::show(place, name),
        AgentCommand::Check { place } => definitions::check(place),
        AgentCommand::Clean(wanted) => runs::clean(wanted),
        AgentCommand::Tree { run, json } => runs::show(run.as_deref(), *json),
    }
}

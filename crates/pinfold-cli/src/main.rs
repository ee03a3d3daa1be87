//! The `pinfold` command: one file per subcommand, none of which decides anything.

mod agent;
mod approvals;
mod approve;
mod approvers;
mod args;
mod call;
mod check;
mod completions;
mod deny;
mod doctor;
mod env;
mod exit;
mod export;
mod hook;
mod hooks;
mod import;
mod init;
mod judge;
mod log;
mod man;
mod mcp;
mod network;
mod output;
#[cfg(test)]
mod pages;
mod permissions;
mod profiles;
mod project_servers;
mod record;
mod rules;
mod run;
mod schema;
mod serve;
mod session;
mod settings;
mod setup;
mod tools;
mod trust;
mod why;

use std::process::ExitCode;

use args::{CliCommand, Pinfold};

fn main() -> ExitCode {
    let done = match Pinfold::asked() {
        CliCommand::Run(run) => run::run(&run),
        CliCommand::Call(call) => call::call(&call),
        CliCommand::Check(wanted) => check::check(&wanted),
        CliCommand::Hook(wanted) => return hook::hook(&wanted),
        CliCommand::Mcp(wanted) => mcp::mcp(&wanted),
        CliCommand::Serve(wanted) => serve::run(&wanted),
        CliCommand::Why(wanted) => why::why(&wanted),
        CliCommand::Log(wanted) => log::log(&wanted),
        CliCommand::Tools(tools) => tools::list(&tools),
        CliCommand::Rules(wanted) => rules::rules(wanted.folder.as_deref(), &wanted.what),
        CliCommand::Permissions(wanted) => permissions::permissions(&wanted),
        CliCommand::Approvals(wanted) => approvals::approvals(&wanted),
        CliCommand::Approve(wanted) => approve::approve(&wanted),
        CliCommand::Deny(wanted) => deny::deny(&wanted),
        CliCommand::Trust(wanted) => trust::trust(&wanted),
        CliCommand::Agent(wanted) => agent::agent(&wanted),
        CliCommand::Init(wanted) => init::init(&wanted),
        CliCommand::Setup(wanted) => setup::setup(&wanted),
        CliCommand::Import(wanted) => import::run(&wanted),
        CliCommand::Export(wanted) => export::run(&wanted),
        CliCommand::Profiles(wanted) => profiles::list(&wanted),
        CliCommand::Schema(_) => schema::print(),
        CliCommand::Doctor(doctor) => doctor::doctor(&doctor),
        CliCommand::Completions(wanted) => completions::print(&wanted),
        CliCommand::Man(man) => man::print(&man),
    };
    done.unwrap_or_else(|failure| failure.print())
}

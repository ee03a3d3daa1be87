//! The `pinfold` command: one file per subcommand, none of which decides anything.

mod agent;
mod approvals;
mod approve;
mod args;
mod asking;
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

use args::{Command, Pinfold};

fn main() -> ExitCode {
    let done = match Pinfold::asked() {
        Command::Run(run) => run::run(&run),
        Command::Call(call) => call::call(&call),
        Command::Check(wanted) => check::check(&wanted),
        Command::Hook(wanted) => return hook::hook(&wanted),
        Command::Mcp(wanted) => mcp::mcp(&wanted),
        Command::Serve(wanted) => serve::run(&wanted),
        Command::Why(wanted) => why::why(&wanted),
        Command::Log(wanted) => log::log(&wanted),
        Command::Tools(tools) => tools::list(&tools),
        Command::Rules(wanted) => rules::rules(wanted.folder.as_deref(), &wanted.what),
        Command::Permissions(wanted) => permissions::permissions(&wanted),
        Command::Approvals(wanted) => approvals::approvals(&wanted),
        Command::Approve(wanted) => approve::approve(&wanted),
        Command::Deny(wanted) => deny::deny(&wanted),
        Command::Trust(wanted) => trust::trust(&wanted),
        Command::Agent(wanted) => agent::agent(&wanted),
        Command::Init(wanted) => init::init(&wanted),
        Command::Setup(wanted) => setup::setup(&wanted),
        Command::Import(wanted) => import::run(&wanted),
        Command::Export(wanted) => export::run(&wanted),
        Command::Profiles(wanted) => profiles::list(&wanted),
        Command::Schema(_) => schema::print(),
        Command::Doctor(doctor) => doctor::doctor(&doctor),
        Command::Completions(wanted) => completions::print(&wanted),
        Command::Man(man) => man::print(&man),
    };
    done.unwrap_or_else(|failure| failure.tell())
}

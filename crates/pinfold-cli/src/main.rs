//! The `pinfold` command: one file per subcommand, none of which decides anything.

mod args;
mod call;
mod completions;
mod doctor;
mod exit;
mod man;
mod run;
mod say;
mod surroundings;
mod tools;

use std::process::ExitCode;

use args::{Command, Pinfold};

fn main() -> ExitCode {
    let done = match Pinfold::asked() {
        Command::Run(run) => run::run(&run),
        Command::Call(call) => call::call(&call),
        Command::Tools(tools) => tools::list(&tools),
        Command::Doctor(doctor) => doctor::doctor(&doctor),
        Command::Completions(wanted) => completions::print(&wanted),
        Command::Man(man) => man::print(&man),
    };
    done.unwrap_or_else(|failure| failure.tell())
}

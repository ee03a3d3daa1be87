//! `pinfold completions`: scripts that teach a shell our command line.

use std::process::ExitCode;

use clap::CommandFactory;

use crate::args::{Completions, Pinfold};
use crate::exit::{DONE, Failure};
use crate::output;

pub(crate) fn print(wanted: &Completions) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(wanted.shell, &mut Pinfold::command(), "pinfold", &mut script);
    output::out(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::from(DONE))
}

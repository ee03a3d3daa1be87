//! `pinfold man`: the manual pages, made from the same words as `--help`.

use std::io;
use std::process::ExitCode;

use clap::CommandFactory;

use crate::args::{Man, Pinfold};
use crate::exit::{DONE, FAILED, Failure};
use crate::output;

pub(crate) fn print(man: &Man) -> Result<ExitCode, Failure> {
    let command = Pinfold::command();
    let failed = |e: io::Error| Failure::new(FAILED, format!("the manual cannot be written: {e}"));
    if let Some(directory) = &man.out {
        clap_mangen::generate_to(command, directory).map_err(|e| {
            failed(e).mend(format!("is `{}` a directory that you can write?", directory.display()))
        })?;
    } else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page).map_err(failed)?;
        output::out(&String::from_utf8_lossy(&page))?;
    }
    Ok(ExitCode::from(DONE))
}

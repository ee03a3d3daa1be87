//! `pinfold schema`: the JSON Schema of settings files.

use std::process::ExitCode;

use pinfold::policy::Settings;

use crate::exit::{DONE, Failure};
use crate::output;

pub(crate) fn print() -> Result<ExitCode, Failure> {
    output::out(&output::json_lines(&Settings::schema()))?;
    Ok(ExitCode::from(DONE))
}

//! `pinfold schema`: the JSON Schema of settings files.

use std::process::ExitCode;

use pinfold::policy::Settings;

use crate::exit::{DONE, Failure};
use crate::output;

pub(crate) fn print() -> Result<ExitCode, Failure> {
    output::out(&(serde_json::to_string_pretty(&Settings::schema()).unwrap_or_default() + "\n"))?;
    Ok(ExitCode::from(DONE))
}

//! `pinfold tools`: what can be called, with schemas.

use std::process::ExitCode;

use crate::args::Tools;
use crate::exit::{DONE, Failure};
use crate::output;

pub(crate) fn list(wanted: &Tools) -> Result<ExitCode, Failure> {
    let tools = pinfold_tools::tools();
    let text = if wanted.json {
        output::json_lines(&tools)
    } else {
        tools.iter().map(|tool| format!("{:<13} {}\n", tool.name, first_sentence(tool.description))).collect()
    };
    output::out(&text)?;
    Ok(ExitCode::from(DONE))
}

fn first_sentence(text: &str) -> &str {
    text.split_once(". ").map_or(text, |(first, _)| first).trim_end_matches('.')
}

//! `pinfold deny`: a no from another terminal.

use std::process::ExitCode;

use pinfold::consent::Choice;

use crate::approve::{failed, open};
use crate::args::Deny;
use crate::exit::{DONE, Failure};
use crate::output;

pub(crate) fn deny(wanted: &Deny) -> Result<ExitCode, Failure> {
    let (mut client, found) = open(&wanted.id)?;
    let no = Choice::No { message: wanted.message.clone(), process: false };
    client.answer(&found.waiting.id, &found.waiting.digest, no).map_err(|e| failed(&e))?;
    output::out("denied\n")?;
    Ok(ExitCode::from(DONE))
}

//! `pinfold permissions`: all that holds, on a screen or as a list.

mod controller;
mod counts;
mod effective;
mod list;
mod running;

use std::io::IsTerminal;
use std::process::ExitCode;

use pinfold_terminal::ExclusiveTty;
use pinfold_terminal::dialog::DialogStyle;
use pinfold_terminal::permissions::show;

use crate::args::Permissions;
use crate::exit::{DONE, FAILED, Failure, USAGE};
use crate::{output, record, rules, settings};
use controller::PermissionsController;
use counts::RuleCounter;
use effective::EffectivePermissions;

pub(crate) fn permissions(wanted: &Permissions) -> Result<ExitCode, Failure> {
    let folder = wanted.folder.as_deref();
    if let Some(what) = &wanted.what {
        if wanted.list {
            return Err(Failure::new(USAGE, "--list is no option of what is done to rules"));
        }
        return rules::rules(folder, what);
    }
    let locations = settings::locations(folder)?;
    let counter = || Some(RuleCounter::new(record::reader().ok()?, locations.project.clone()));
    if wanted.list {
        let held = EffectivePermissions::load(&locations, counter().as_mut())?;
        output::out(&if wanted.json { list::json(&held) } else { list::text(&held) })?;
        return Ok(ExitCode::from(DONE));
    }
    if !std::io::stdout().is_terminal() {
        return Err(Failure::new(USAGE, "there is no terminal for a screen").mend("say --list"));
    }
    let title = locations.project.as_deref().map(|project| project.display().to_string()).unwrap_or_default();
    let failed = |e| Failure::new(FAILED, format!("the terminal cannot be used: {e}"));
    // What is wrong in the settings is told before there is a screen over it.
    EffectivePermissions::load(&locations, None)?;
    let mut stage = ExclusiveTty::open().map_err(failed)?;
    let look = DialogStyle { colours: std::env::var_os("NO_COLOR").is_none_or(|no| no.is_empty()) };
    let counter = counter();
    show(&mut stage, &title, look, &mut PermissionsController::new(locations, counter)).map_err(failed)?;
    Ok(ExitCode::from(DONE))
}

//! `pinfold trust`: a person says that a project's own settings may widen what an agent can do.

use std::path::Path;
use std::process::ExitCode;

use pinfold::Ambient;
use pinfold::settings::{Locations, Trust, TrustError, Widening};

use crate::args::TrustArgs;
use crate::exit::{DONE, FAILED, Failure, REFUSED, USAGE};
use crate::project_servers;
use crate::say;
use crate::settings;
use crate::surroundings;

pub(crate) fn trust(wanted: &TrustArgs) -> Result<ExitCode, Failure> {
    if surroundings::is_inside_another() {
        return Err(Failure::new(REFUSED, "trust is not given from inside a run").mend("say it outside"));
    }
    let locations = settings::locations(wanted.folder.as_deref())?;
    let here = surroundings::current_dir()?;
    let folder = wanted.folder.as_ref().map_or_else(|| here.clone(), |folder| here.join(folder));
    let folder = folder.canonicalize().unwrap_or(folder);
    if wanted.withdraw { withdraw(&locations) } else { grant(&locations, &folder, wanted.yes) }
}

fn withdraw(locations: &Locations) -> Result<ExitCode, Failure> {
    let had = Trust::withdraw(&Ambient::claim(), locations).map_err(|e| failed(&e))?;
    say::out(if had { "not trusted any more\n" } else { "it was not trusted\n" })?;
    Ok(ExitCode::from(DONE))
}

fn grant(locations: &Locations, folder: &Path, yes: bool) -> Result<ExitCode, Failure> {
    let ambient = Ambient::claim();
    let mut widening = Widening::of(&ambient, locations).map_err(|e| failed(&e))?;
    project_servers::widen(&mut widening, &ambient, locations, folder).map_err(|e| failed(&e))?;
    let project =
        locations.project.as_deref().map(|project| project.display().to_string()).unwrap_or_default();
    if widening.what.is_empty() {
        say::out(&format!("nothing in the settings of {} needs trust\n", say::visible(&project)))?;
        return Ok(ExitCode::from(DONE));
    }
    say::out(&format!("Trusting {} lets this count:\n", say::visible(&project)))?;
    for line in &widening.what {
        say::out(&format!("  {}\n", say::visible(line)))?;
    }
    if !yes && !say::agreed("Trust it?", "look at the list, then say --yes")? {
        say::out("not trusted\n")?;
        return Ok(ExitCode::from(REFUSED));
    }
    Trust::grant(&Ambient::claim(), locations, &widening).map_err(|e| failed(&e))?;
    say::out("trusted, as the files are now\n")?;
    Ok(ExitCode::from(DONE))
}

fn failed(e: &TrustError) -> Failure {
    match e {
        TrustError::Bad(bad) => Failure::new(USAGE, settings::lines(bad)),
        TrustError::NoRecord | TrustError::File { .. } => Failure::new(FAILED, say::lines(&e.to_string())),
    }
}

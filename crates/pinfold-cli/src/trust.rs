//! `pinfold trust`: a person says that a project's own settings may widen what an agent can do.

use std::path::Path;
use std::process::ExitCode;

use pinfold::Ambient;
use pinfold::settings::{Locations, Trust, TrustError, Widening};

use crate::args::TrustArgs;
use crate::env;
use crate::exit::{DONE, FAILED, Failure, REFUSED, USAGE};
use crate::output;
use crate::project_servers;
use crate::settings;

pub(crate) fn trust(wanted: &TrustArgs) -> Result<ExitCode, Failure> {
    if env::is_inside_another() {
        return Err(Failure::new(REFUSED, "trust is not given from inside a run").mend("say it outside"));
    }
    let locations = settings::locations(wanted.folder.as_deref())?;
    let here = env::current_dir()?;
    let folder = wanted.folder.as_ref().map_or_else(|| here.clone(), |folder| here.join(folder));
    let folder = folder.canonicalize().unwrap_or(folder);
    if wanted.withdraw { withdraw(&locations) } else { grant(&locations, &folder, wanted.yes) }
}

fn withdraw(locations: &Locations) -> Result<ExitCode, Failure> {
    let had = Trust::withdraw(&Ambient::claim(), locations).map_err(|e| failed(&e))?;
    output::out(if had { "not trusted any more\n" } else { "it was not trusted\n" })?;
    Ok(ExitCode::from(DONE))
}

fn grant(locations: &Locations, folder: &Path, yes: bool) -> Result<ExitCode, Failure> {
    let ambient = Ambient::claim();
    let mut widening = Widening::scan(&ambient, locations).map_err(|e| failed(&e))?;
    project_servers::widen(&mut widening, &ambient, locations, folder).map_err(|e| failed(&e))?;
    let project =
        locations.project.as_deref().map(|project| project.display().to_string()).unwrap_or_default();
    if widening.what.is_empty() {
        output::out(&format!("nothing in the settings of {} needs trust\n", output::visible(&project)))?;
        return Ok(ExitCode::from(DONE));
    }
    output::out(&format!("Trusting {} lets this count:\n", output::visible(&project)))?;
    for line in &widening.what {
        output::out(&format!("  {}\n", output::visible(line)))?;
    }
    if !yes && !output::agreed("Trust it?", "look at the list, then say --yes")? {
        output::out("not trusted\n")?;
        return Ok(ExitCode::from(REFUSED));
    }
    Trust::grant(&Ambient::claim(), locations, &widening).map_err(|e| failed(&e))?;
    output::out("trusted, as the files are now\n")?;
    Ok(ExitCode::from(DONE))
}

fn failed(e: &TrustError) -> Failure {
    match e {
        TrustError::Bad(bad) => Failure::new(USAGE, settings::lines(bad)),
        TrustError::NoRecord | TrustError::File { .. } => Failure::new(FAILED, output::lines(&e.to_string())),
    }
}

//! Judging of calls that are not made, by the settings and the line that stand for a command line.

use std::path::{Path, PathBuf};

use pinfold::Ambient;
use pinfold::check::CheckService;
use pinfold::policy::Guards;
use pinfold::settings::{Locations, load};
use serde_json::{Value, json};

use crate::args::Judging;
use crate::exit::Failure;
use crate::{env, record, settings};

/// Opens the service with the settings of the flags. Settings are read for the project that a line names.
pub(crate) fn check_service(wanted: &Judging) -> Result<CheckService, Failure> {
    check_service_with(wanted, None)
}

/// Opens the service, where `instead` is given with that file in place of the user's and the project's settings.
pub(crate) fn check_service_with(
    wanted: &Judging,
    instead: Option<PathBuf>,
) -> Result<CheckService, Failure> {
    let here = env::current_dir()?;
    let home = env::home();
    let add_dir: Vec<_> = wanted.add_dir.iter().map(|dir| here.join(dir)).collect();
    let flags = wanted.settings.flags(&add_dir, wanted.allow_bash);
    let (config, state) = (env::config_home(), env::state_home());
    let (no_settings, of_home) = (wanted.no_settings, home.clone());
    // The project's own settings are guarded by their names.
    let usual = Locations::usual(&here, home.clone(), config.as_deref(), state.as_deref());
    let own = Locations { user: instead.clone().or_else(|| usual.user.clone()), ..usual };
    let guards = own.guard(record::guarded_where_kept(Guards::default()));
    let layers = move |project: &Path| {
        let usual = || Locations::usual(project, of_home.clone(), config.as_deref(), state.as_deref());
        let locations = match &instead {
            _ if no_settings => Locations::default(),
            Some(_) => Locations { project: None, user: instead.clone(), ..usual() },
            None => usual(),
        };
        load(&Ambient::claim(), &locations, &flags).map(|loaded| loaded.layers).map_err(|bad| bad.to_string())
    };
    let folder = wanted.folder.as_ref().map_or_else(|| here.clone(), |folder| here.join(folder));
    let service = CheckService::new(Ambient::claim(), folder)
        .with_home(home)
        .with_variables(env::variables())
        .with_guard_search(settings::guard_search())
        .with_guards(guards)
        .with_closed(&env::socket_homes().paths())
        .with_profile(settings::profile(wanted.settings.profile.as_deref())?);
    let by_flags = wanted.settings.are_given() || !wanted.add_dir.is_empty() || wanted.allow_bash;
    // Nothing behind the lines costs nothing for each of them.
    Ok(if no_settings && !by_flags { service } else { service.backed_by(Box::new(layers)) })
}

/// A call with what the command line says about it.
pub(crate) fn call_of(wanted: &Judging, mut call: Value) -> Result<Value, Failure> {
    let project = settings::locations(wanted.folder.as_deref())?.project;
    let here = env::current_dir()?;
    let cwd = wanted.folder.as_ref().map_or_else(|| here.clone(), |folder| here.join(folder));
    if let Some(line) = call.as_object_mut() {
        line.insert("cwd".to_owned(), json!(cwd));
        line.insert("project_root".to_owned(), json!(project));
        line.insert("headless".to_owned(), json!(wanted.headless));
    }
    Ok(call)
}

//! The session that a call of another agent is judged in.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pinfold::audit::{Discard, Journal, Limits};
use pinfold::consent::ApprovalOptions;
use pinfold::policy::{
    FolderChoice, Guards, Interaction, NoProject, Principal, Scope, ShellConfinement, WayIn,
};
use pinfold::settings::{Locations, ResolvedSettings, project_root};
use pinfold::{Ambient, ExecutedBy, PRIVATE_TEMP_DIRS, Plan, Session, ShellHost};
use pinfold_dialects::{Dialect, Event, Folder, Moment};
use pinfold_tools::Attestation;

use super::session_folder;
use crate::approvers::ApproverOptions;
use crate::args::Hook;
use crate::exit::{Failure, USAGE};
use crate::record::span;
use crate::{approvers, env, hooks, record, session, settings};

/// A session, and who puts its questions.
pub(super) struct HookSession {
    pub(super) session: Session,
    /// The agent asks its person itself.
    pub(super) asks: bool,
    /// Decisions can be found again by their names.
    pub(super) recorded: bool,
    /// The folder that the agent was started for.
    pub(super) folder: PathBuf,
    /// Places in which settings and trust were looked for.
    pub(super) locations: Locations,
    /// The folder that the agent was started in, where it is none that can be granted, and why.
    pub(super) not_granted: Option<(PathBuf, NoProject)>,
}

/// The shell of an agent: it runs it. What holds it is ours to say where a run of ours holds the agent, and nowhere else.
#[derive(Debug)]
struct AgentShell {
    folder: PathBuf,
    run: Option<Attestation>,
    /// Places that every process of the run has of its own.
    private: Vec<PathBuf>,
}

impl AgentShell {
    fn new(folder: PathBuf, run: Option<Attestation>) -> Self {
        let full = run.as_ref().is_some_and(|run| run.confinement() == ShellConfinement::Full);
        let private = if full { PRIVATE_TEMP_DIRS.map(PathBuf::from).to_vec() } else { Vec::new() };
        Self { folder, run, private }
    }
}

impl ShellHost for AgentShell {
    fn confinement(&self) -> ShellConfinement {
        self.run.as_ref().map_or(ShellConfinement::Theirs, Attestation::confinement)
    }

    fn opens_network(&self) -> bool {
        self.run.as_ref().is_none_or(Attestation::opens_network)
    }

    fn private(&self) -> &[PathBuf] {
        &self.private
    }

    fn folder(&self) -> &Path {
        &self.folder
    }
}

pub(super) fn opened(wanted: &Hook, dialect: &dyn Dialect, event: &Event) -> Result<HookSession, Failure> {
    let name = name(dialect, event)?;
    let run = Attestation::receive();
    let folder = folder(wanted, dialect, event, (&name, run.as_ref()))?;
    let folder_choice = if run.is_some() {
        // Writes are held by the run around this process, whose folder the user chose.
        FolderChoice::only_judged()
    } else {
        env::folder_choice(wanted.allow_home && wanted.folder.is_some())
    };
    let not_granted = folder_choice.check(&folder).err();
    // The session of an agent that was started in no project grants a folder in which nothing is.
    let (root, display_root) = match not_granted {
        None => (folder.clone(), folder.clone()),
        Some(_) => (create_empty_folder()?, PathBuf::from("/")),
    };
    let home = env::home();
    let locations = locations(wanted, &folder, home.clone());
    let resolved = resolved(wanted, &locations, &folder, event)?;
    let merged = &resolved.merged;
    // A subagent has no approver. Where the agent itself cannot ask, approvers elsewhere are asked.
    let watched = !wanted.headless && event.subagent.is_none();
    let asks = watched && dialect.asks();
    let plan = Plan::for_folder(&folder).with_id(name);
    let asking = if watched && !asks { remote_approver(wanted, &plan.id, &resolved)? } else { None };
    let judge = session::judge_of(&resolved, &plan);
    let judge = judge.map(|(judge, _)| Arc::new(judge.with_timeout(max_timeout(wanted))) as _);
    let asking = session::with_judge(merged, judge, asking);
    let way = if run.is_some() { WayIn::HookInRun } else { WayIn::Hook };
    let inside = run.is_some();
    let scope = Scope {
        root: root.clone(),
        display_root,
        enforce_write: event.subagent.is_some(),
        // Its shell is there already; settings can still take it away.
        allow_bash: merged.allows_bash().unwrap_or(true),
    };
    let can_ask = asks || asking.is_some();
    let plan = plan
        .with_scope(scope)
        .with_home(home)
        .with_folder_choice(folder_choice)
        .with_principal(event.subagent.clone().map_or(Principal::Main, Principal::Subagent))
        .with_interaction(if can_ask { Interaction::Interactive } else { Interaction::Headless })
        .with_shells(Arc::new(AgentShell::new(root, run)))
        .with_asking(asking)
        .with_executed_by(ExecutedBy::Agent);
    let plan = settings::plan(&resolved, plan, way)?;
    let hooks = hooks::from_settings(merged, &plan, &resolved.situation)?;
    let (journal, recorded_here) = journal(wanted, inside, Limits::from(&merged.record))?;
    recorded(&*journal, dialect, event, (&plan, &folder))?;
    // The record is there by now, so that it can be guarded.
    let guards = record::guarded(session_folder::guarded(own_program(plan.guards.clone())));
    let plan = plan.with_hooks(hooks).with_guards(guards);
    let session = Session::open(&Ambient::claim(), plan, journal)
        .map_err(|e| Failure::new(USAGE, e.to_string()).mend("start the agent in a folder that exists"))?;
    let not_granted = not_granted.map(|why| (folder.clone(), why));
    Ok(HookSession { session, asks, recorded: recorded_here, folder, locations, not_granted })
}

/// Creates an empty folder without write permission.
fn create_empty_folder() -> Result<PathBuf, Failure> {
    let state = env::state_home().ok_or_else(|| {
        Failure::new(USAGE, "there is no home for a session without a folder").mend("set HOME")
    })?;
    let place = state.join("no-folder");
    let failed = |e: io::Error| Failure::new(USAGE, format!("`{}` cannot be made: {e}", place.display()));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&state).map_err(failed)?;
    match fs::DirBuilder::new().mode(0o500).create(&place) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(failed(e)),
        Ok(()) | Err(_) => place.canonicalize().map_err(failed),
    }
}

/// Time before the end of the hook's time from which no approver is waited for any more.
const BEFORE_THE_END: Duration = Duration::from_secs(2);

/// Returns the approver at another terminal or behind a webhook, within the time that the hook has.
fn remote_approver(
    wanted: &Hook,
    name: &str,
    resolved: &ResolvedSettings,
) -> Result<Option<ApprovalOptions>, Failure> {
    let reach = ApproverOptions { settings: &resolved.merged.approvals, name, rules_to: resolved.rules_to() };
    let asking = approvers::remote_approvers(reach)?;
    let most = max_timeout(wanted);
    Ok(asking.map(|asking| ApprovalOptions { timeout: asking.timeout.min(most), ..asking }))
}

/// Returns the longest time that an answer can be waited for.
fn max_timeout(wanted: &Hook) -> Duration {
    wanted.timeout.saturating_sub(BEFORE_THE_END)
}

/// The folder that was granted: what the person said, or what the agent was started for. Where it works at the moment is
/// no answer: a model can choose that.
fn folder(
    wanted: &Hook,
    dialect: &dyn Dialect,
    event: &Event,
    (name, run): (&str, Option<&Attestation>),
) -> Result<PathBuf, Failure> {
    let works = || {
        let cwd = event.cwd.as_ref().map(PathBuf::from).filter(|cwd| cwd.is_absolute());
        cwd.ok_or_else(|| not_said().mend("say --folder"))
    };
    let begins = matches!(event.moment, Moment::Start(_));
    // A session that has no name of its own is another one at each event.
    let is_named = event.session.as_ref().is_some_and(|session| name.ends_with(session.as_str()));
    let has_a_name = is_named || dialect.folder() == Folder::AtStart;
    let keeps = has_a_name && run.is_none();
    let folder = match (&wanted.folder, dialect.folder()) {
        (Some(folder), _) => env::current_dir()?.join(folder),
        (None, Folder::Variables(names)) => {
            let told = names.iter().find_map(|name| env::absolute(name));
            told.ok_or_else(|| not_said().mend(format!("set {}, or say --folder", names.join(" or "))))?
        }
        // Inside a run nothing can be kept, and the line of the run holds.
        (None, Folder::Event | Folder::AtStart) if begins || !keeps => works()?,
        (None, Folder::AtStart) => session_folder::kept(name)?,
        (None, Folder::Event) => session_folder::kept(name).or_else(|_| works())?,
    };
    let failed = |e| Failure::new(USAGE, format!("the folder {}: {e}", folder.display()));
    let folder = folder.canonicalize().map_err(failed);
    let folder = folder.map_err(|e| e.mend("start the agent in a folder that exists"))?;
    let is_first = match dialect.folder() {
        Folder::Variables(_) => false,
        Folder::AtStart => begins,
        Folder::Event => begins || session_folder::kept(name).is_err(),
    };
    if is_first && keeps && wanted.folder.is_none() {
        match session_folder::keep(name, &folder) {
            // A run without a watch cannot attest itself, and lets nothing be kept all the same.
            Err(_) if env::is_inside_another() => {}
            kept => kept?,
        }
    }
    Ok(folder)
}

fn not_said() -> Failure {
    Failure::new(USAGE, "the agent does not say which folder it was started for")
}

fn locations(wanted: &Hook, folder: &Path, home: Option<PathBuf>) -> Locations {
    if wanted.no_settings {
        return Locations { home, ..Locations::default() };
    }
    let (config, state) = (env::config_home(), env::state_home());
    let project = match &wanted.folder {
        Some(_) => folder.to_owned(),
        None => project_root(folder, home.as_deref()),
    };
    Locations::usual(&project, home, config.as_deref(), state.as_deref())
        .with_allowed_home(wanted.allow_home && wanted.folder.is_some())
}

/// Resolves the settings of the session that an event belongs to.
fn resolved(
    wanted: &Hook,
    locations: &Locations,
    folder: &Path,
    event: &Event,
) -> Result<ResolvedSettings, Failure> {
    // Created before the first request, so that deny rules close them.
    env::hidden();
    let add_dir: Vec<_> = wanted.add_dir.iter().map(|dir| folder.join(dir)).collect();
    let flags = wanted.settings.flags(&add_dir, false);
    let profile = wanted.settings.profile.as_deref();
    let mut setup = settings::setup(folder, locations.clone(), flags, profile)?;
    setup.situation.cwd = Some(folder.to_owned());
    let resolved = settings::resolved_quietly(&setup)?;
    Ok(if event.subagent.is_some() { resolved.for_subagent() } else { resolved })
}

/// The agent's name for its session, so that all its calls stand together in the record.
fn name(dialect: &dyn Dialect, event: &Event) -> Result<String, Failure> {
    const MAX_NAME_LEN: usize = 80;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    match &event.session {
        Some(session) if session.len() <= MAX_NAME_LEN && session.chars().all(plain) => {
            Ok(format!("{}-{session}", dialect.name()))
        }
        _ => record::session(dialect.name()),
    }
}

/// Guards the program that answers: an agent that could write it would answer itself.
fn own_program(guards: Guards) -> Guards {
    match std::env::current_exe() {
        Ok(program) => guards.with_run(&program, "it is the hook that judges this agent"),
        Err(_) => guards,
    }
}

/// A session begins or ends: the record says which agent it is, in which folder, and why.
fn recorded(
    journal: &dyn Journal,
    dialect: &dyn Dialect,
    event: &Event,
    (plan, folder): (&Plan, &Path),
) -> Result<(), Failure> {
    let id = Arc::from(plan.id.as_str());
    let written = match &event.moment {
        Moment::Start(_) => {
            let pid = std::os::unix::process::parent_id();
            span::begins(journal, &id, dialect.name(), folder, pid)
        }
        Moment::End(reason) => span::ends(journal, &id, Some(reason), None),
        Moment::Before(_) | Moment::Permission(_) | Moment::After(..) | Moment::Other(_) => return Ok(()),
    };
    written.map_err(|e| Failure::new(USAGE, format!("a session could not be recorded: {e}")))
}

/// Opens the audit log; without it no call is made. Inside a run there is none: a confined process does not reach the log
/// about itself, and the run has one of its own. The flag says whether events are written.
fn journal(wanted: &Hook, inside: bool, limits: Limits) -> Result<(Arc<dyn Journal>, bool), Failure> {
    if wanted.no_record || inside {
        return Ok((Arc::new(Discard), false));
    }
    match record::ledger(limits) {
        Ok(ledger) => Ok((Arc::new(ledger), true)),
        // A run without a watch cannot attest itself.
        Err(_) if env::is_inside_another() => Ok((Arc::new(Discard), false)),
        Err(failure) => Err(failure),
    }
}

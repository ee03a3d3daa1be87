//! A session of pinfold's tools, opened from the folder, flags and settings.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pinfold::audit::{Discard, Journal, Limits};
use pinfold::consent::ApprovalOptions;
use pinfold::policy::merge::Merged;
use pinfold::policy::settings::{Flags, Secrets};
use pinfold::policy::source::Layer;
use pinfold::policy::{Access, BashMode, Interaction, Mode, Policy, Scope, WayIn, is_visible};
use pinfold::settings::{ResolvedSettings, SessionSetup, Watched};
use pinfold::{Ambient, Plan, Session, SessionError};
use pinfold_agent::{Judge, JudgeApprover};
use pinfold_boundary::{Boundary, EnvOverride, Network};
use pinfold_sandbox::Tier;
use pinfold_tools::{FileBoundaries, ShellOptions, Shells, Web};

use crate::approvers::{self, ApproverOptions};
use crate::args::SessionFlags;
use crate::exit::{Failure, USAGE};
use crate::judge::HookJudge;
use crate::record::span::SessionSpan;
use crate::{env, hooks, network, record, settings};

/// Options of a session.
#[derive(Clone, Debug)]
pub(crate) struct SessionOptions {
    /// The command of the session: the first part of its name in the audit log.
    pub(crate) kind: &'static str,
    /// The folder that can be written; the current one where none is named.
    pub(crate) folder: Option<PathBuf>,
    /// The places that are left of the folder, none at all for an empty list; without it the folder is whole.
    pub(crate) within: Option<Vec<PathBuf>>,
    /// Flags of the command line.
    pub(crate) flags: SessionFlags,
    /// Questions are denied where no approver can be asked.
    pub(crate) headless_alone: bool,
}

/// Opens a session. `ask` makes its approver, from the settings.
pub(crate) fn open(
    options: &SessionOptions,
    ask: impl FnOnce(ApproverOptions<'_>) -> Result<Option<ApprovalOptions>, Failure>,
) -> Result<Session, Failure> {
    opened(options, JudgeSource::Settings, ask).map(|opened| opened.session)
}

/// Opens a session for an agent, with its beginning and end in the audit log.
pub(crate) fn open_for_an_agent(
    options: &SessionOptions,
    program: &str,
    ask: impl FnOnce(ApproverOptions<'_>) -> Result<Option<ApprovalOptions>, Failure>,
) -> Result<(Session, SessionSpan), Failure> {
    let CliSession { session, journal, .. } = opened(options, JudgeSource::Settings, ask)?;
    let span = SessionSpan::begin(journal, &session, program)?;
    Ok((session, span))
}

/// An open session, what makes the shells of those that begin below it, and where they are recorded.
pub(crate) struct CliSession {
    pub(crate) session: Session,
    pub(crate) shells: ShellMaker,
    pub(crate) journal: Arc<dyn Journal>,
}

/// Judge of routine questions in the mode `auto`.
pub(crate) enum JudgeSource {
    /// The one of settings, if they name one.
    Settings,
    /// This one, if there is one: the caller has looked what settings say.
    Caller(Option<Arc<dyn Judge>>),
}

/// Opens a session together with what sessions below it need.
pub(crate) fn opened(
    options: &SessionOptions,
    judge: JudgeSource,
    ask: impl FnOnce(ApproverOptions<'_>) -> Result<Option<ApprovalOptions>, Failure>,
) -> Result<CliSession, Failure> {
    let PreparedSession { plan, limits, shells } = with_settings(options, judge, ask)?;
    let plan = narrowed(plan, options.within.as_deref());
    // Open before the boundary is compiled, so that it is there to be guarded.
    let journal = journal(options.flags.no_record, limits)?;
    let guards = record::guarded(plan.guards.clone());
    let plan = plan.with_guards(guards);
    let mut plan = pinfold_tools::restrict_to_boundary(plan.clone(), &boundary(&plan)?);
    if plan.scope.allow_bash {
        plan.shells = Some(Arc::new(shells.shells(&plan)?));
    }
    plan.web = Some(Arc::new(Web::default()));
    let session = Session::open(&Ambient::claim(), plan, Arc::clone(&journal)).map_err(|e| not_opened(&e))?;
    Ok(CliSession { session, shells, journal })
}

/// View of a session for a model, without opening it.
pub(crate) struct View {
    policy: Policy,
    scope: Scope,
    interaction: Interaction,
}

impl View {
    /// Returns whether a model is shown a tool.
    pub(crate) fn shows(&self, tool: &str) -> bool {
        is_visible(&self.policy, &self.scope, self.interaction, tool)
    }
}

/// Returns the view of a session with these options under the current settings. Nothing is created or opened.
pub(crate) fn view(options: &SessionOptions) -> Result<View, Failure> {
    let ResolvedFlags { plan, setup } = resolve_flags(options)?;
    let resolved = settings::resolved_quietly(&setup)?;
    let allow_bash = resolved.merged.allows_bash() == Some(true);
    let plan = settings::plan(&resolved, plan, WayIn::OwnTools)?;
    let Plan { policy, scope, interaction, .. } = plan;
    Ok(View { policy, scope: Scope { allow_bash, ..scope }, interaction })
}

/// A folder that cannot be opened, or is none to work in.
fn not_opened(error: &SessionError) -> Failure {
    let failure = Failure::new(USAGE, error.to_string());
    match error {
        // It says itself what to do.
        SessionError::NoProject { .. } => failure,
        _ => failure.mend("name a folder that is there and can be opened"),
    }
}

/// The program that settings name as the judge, and who says so.
pub(crate) fn judging(options: &SessionOptions) -> Result<Option<(HookJudge, Layer)>, Failure> {
    let ResolvedFlags { plan, setup } = resolve_flags(options)?;
    Ok(judge_of(&settings::resolved_quietly(&setup)?, &plan))
}

/// Returns the judge that resolved settings name, and who says so.
pub(crate) fn judge_of(resolved: &ResolvedSettings, plan: &Plan) -> Option<(HookJudge, Layer)> {
    let judge = resolved.merged.judge.as_ref()?;
    let (folder, project) = (plan.scope.display_root.clone(), resolved.situation.project.clone());
    Some((HookJudge::new(judge.value.hook(), folder, project), judge.source.layer))
}

/// Puts the judge before the approvers of a session, in the mode `auto` alone: elsewhere it does not count as an approver.
pub(crate) fn with_judge(
    merged: &Merged,
    judge: Option<Arc<dyn Judge>>,
    asking: Option<ApprovalOptions>,
) -> Option<ApprovalOptions> {
    match judge.filter(|_| merged.mode.value == Mode::Auto) {
        Some(judge) => Some(JudgeApprover::prepend_to(judge, asking)),
        None => asking,
    }
}

/// Narrows a plan to these places: they can be written, and nothing else can.
fn narrowed(plan: Plan, within: Option<&[PathBuf]>) -> Plan {
    let Some(within) = within else { return plan };
    let Some((first, rest)) = within.split_first() else {
        return plan.with_access(Access::ReadOnly);
    };
    let is_left = |place: &PathBuf| within.iter().any(|left| place.starts_with(left));
    let also = plan.also_writable.iter().filter(|place| is_left(place));
    let also_writable: Vec<PathBuf> = rest.iter().chain(also).cloned().collect();
    let access = match plan.access {
        Access::ReadOnly => Access::ReadOnly,
        Access::ReadWrite | Access::DefaultWrite => Access::ReadWrite,
    };
    let mut plan = plan.with_also_writable(also_writable).with_access(access);
    plan.scope.root.clone_from(first);
    plan
}

/// Returns the policy for the next call. While a settings file cannot be read, modes that go further than `default` are
/// lowered to it: the file might forbid them, and a session would not start with it.
pub(crate) fn policy_now(settings: &Watched<Policy>) -> Arc<Policy> {
    let mut policy = settings.current();
    if settings.trouble().is_some() {
        let closed = Arc::make_mut(&mut policy);
        closed.mode = closed.mode.clamped_to(Mode::Default);
        closed.bash = BashMode::Ask;
    }
    policy
}

/// Returns the policy of the session, read anew when a settings file changes.
pub(crate) fn followed(options: &SessionOptions) -> Result<Watched<Policy>, Failure> {
    let ResolvedFlags { plan, setup } = resolve_flags(options)?;
    let followed = setup.follow(Ambient::claim(), plan, WayIn::OwnTools);
    followed.map_err(|e| Failure::new(USAGE, format!("settings cannot be used\n{e}")))
}

/// Has a session judge by its settings as they are now; those that cannot be followed stay as they were.
///
/// Only a change counts: what the session came to meanwhile, such as a mode that a hook set, stays until there is one.
pub(crate) fn following(options: SessionOptions) -> impl Fn(&Session) + Send + Sync {
    let watched = OnceLock::new();
    let last: Mutex<Option<Arc<Policy>>> = Mutex::default();
    move |session| {
        let Some(watched) = watched.get_or_init(|| followed(&options).ok()) else { return };
        let now = policy_now(watched);
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_none_or(|last| !Arc::ptr_eq(last, &now)) {
            session.set_policy(Arc::clone(&now));
            *last = Some(now);
        }
    }
}

/// Flags and folder of a session, resolved: its plan before settings, and the sources of these.
struct ResolvedFlags {
    plan: Plan,
    setup: SessionSetup,
}

fn resolve_flags(options: &SessionOptions) -> Result<ResolvedFlags, Failure> {
    let here = env::current_dir()?;
    let SessionOptions { kind, folder: named, flags, .. } = options;
    let folder = named.as_ref().map_or_else(|| here.clone(), |f| here.join(f));
    let plan = Plan::for_folder(&here)
        .with_id(record::session(kind)?)
        .with_scope(Scope {
            root: folder.clone(),
            display_root: folder,
            enforce_write: false,
            allow_bash: flags.allow_bash,
        })
        .with_home(env::home())
        .with_folder_choice(env::folder_choice(flags.allow_home && named.is_some()))
        .with_access(if flags.read_only { Access::ReadOnly } else { Access::ReadWrite })
        .with_interaction(Interaction::Interactive);
    let add_dir: Vec<_> = flags.add_dir.iter().map(|dir| here.join(dir)).collect();
    let layer = flags.settings.flags(&add_dir, flags.allow_bash);
    let layer = Flags { allow_host: flags.allow_host.clone(), ..layer };
    let locations = settings::locations_unless(flags.no_settings, named.as_deref())?
        .with_allowed_home(flags.allow_home && named.is_some());
    let profile = flags.settings.profile.as_deref();
    let setup = settings::setup(&plan.scope.display_root, locations, layer, profile)?;
    Ok(ResolvedFlags { plan, setup })
}

/// Plan, limits and shells of a session, by flags and settings.
struct PreparedSession {
    plan: Plan,
    limits: Limits,
    shells: ShellMaker,
}

/// Maker of shells for the plans of sessions.
pub(crate) struct ShellMaker {
    allow_degraded: bool,
    /// Variable that no command gets.
    without: Option<EnvOverride>,
    /// Network of shells.
    network: Network,
    /// Secrets that are put in on the way.
    secrets: Secrets,
    /// Sockets of this machine that can be connected to.
    sockets: Vec<PathBuf>,
}

fn with_settings(
    options: &SessionOptions,
    judge: JudgeSource,
    ask: impl FnOnce(ApproverOptions<'_>) -> Result<Option<ApprovalOptions>, Failure>,
) -> Result<PreparedSession, Failure> {
    let ResolvedFlags { plan, setup } = resolve_flags(options)?;
    let resolved = settings::resolved(&setup)?;
    let merged = &resolved.merged;
    let asking =
        ask(ApproverOptions { settings: &merged.approvals, name: &plan.id, rules_to: resolved.rules_to() })?;
    let judge = match judge {
        JudgeSource::Settings => judge_of(&resolved, &plan).map(|(judge, _)| Arc::new(judge) as _),
        JudgeSource::Caller(judge) => judge,
    };
    let asking = with_judge(merged, judge, asking);
    let interaction = match &asking {
        None if options.headless_alone => Interaction::Headless,
        None | Some(_) => Interaction::Interactive,
    };
    let plan = plan.with_asking(asking).with_interaction(interaction);
    let plan = settings::plan(&resolved, plan, WayIn::OwnTools)?;
    let hooks = hooks::from_settings(merged, &plan, &resolved.situation)?;
    let SessionSetup { locations, flags, .. } = &setup;
    let named = !flags.allow_host.is_empty();
    let of_shells = move |merged: &Merged| network::shells_network(named, merged);
    let network = network::following(of_shells(merged)?, (locations, flags), of_shells);
    let (secrets, sockets) = (network::secrets(merged), network::sockets(merged));
    let allow_bash = merged.allows_bash() == Some(true);
    let mut plan = plan.with_hooks(hooks);
    plan.scope.allow_bash = allow_bash;
    let without = approvers::own_secret(&merged.approvals);
    let shells =
        ShellMaker { allow_degraded: options.flags.allow_degraded, without, network, secrets, sockets };
    Ok(PreparedSession { plan, limits: Limits::from(&merged.record), shells })
}

/// Returns the sandbox of a shell of this session, so that no tool does more.
fn boundary(plan: &Plan) -> Result<Boundary, Failure> {
    let compiled = FileBoundaries::new(env::hidden()).compile(plan);
    compiled.map_err(|e| Failure::new(USAGE, e.to_string()))
}

impl ShellMaker {
    /// Returns the shells of a plan, confined like a run of its folder without options.
    pub(crate) fn shells(&self, plan: &Plan) -> Result<Shells, Failure> {
        // Inside another run the outer line holds what this one cannot build a second time.
        let nested = env::is_inside_another();
        let mut options = ShellOptions::new(env::private_base());
        options.weakest = if self.allow_degraded || nested { Tier::Landlock } else { Tier::Full };
        options.strongest = if nested { Tier::Landlock } else { Tier::Full };
        let request = &mut options.request;
        request.deny_read = record::places().into_iter().chain(env::hidden()).collect();
        request.environment = std::env::vars_os().collect();
        request.env_overrides = self.without.iter().cloned().collect();
        request.cache_home = env::cache_home();
        request.state_home = env::state_home();
        request.network = self.network.clone();
        request.secrets = self.secrets.clone();
        request.sockets.clone_from(&self.sockets);
        Shells::from_plan(plan, options).map_err(|e| {
            Failure::new(USAGE, e.to_string())
                .mend("name an existing folder, and set TMPDIR to one you can write")
        })
    }
}

/// Opens the audit log; without it no call is made.
fn journal(no_record: bool, limits: Limits) -> Result<Arc<dyn Journal>, Failure> {
    if no_record {
        return Ok(Arc::new(Discard));
    }
    Ok(Arc::new(record::ledger(limits)?))
}

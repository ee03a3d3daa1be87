//! `pinfold agent run`: an agent at work, from its definition to its last words.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use pinfold::agents::{AgentLimits, ChildOptions, Definition, Definitions};
use pinfold::consent::ApprovalOptions;
use pinfold::consent::approver::DEFAULT_TIMEOUT;
use pinfold::policy::{HookEvent, Layer};
use pinfold::settings::Locations;
use pinfold::{Plan, Session, ShellHost};
use pinfold_agent::{
    AgentResult, End, Holder, Judge, Listener, MakeShells, ModelError, ModelJudge, Models, NotLeased,
    Parking, Parts, PolicyRefresh, Providers, RootAgent, RunLease, RunLeases, Script, SpawnLimits, Store,
    Task, Team, asking_for_child, may_write, resumed,
};
use pinfold_terminal::ExclusiveTty;
use serde_json::json;

use super::definitions::{named, usable};
use super::follow::{AsJson, EventPrinter};
use super::runs;
use crate::approvers::{Asker, ReportTime};
use crate::args::AgentRun;
use crate::exit::{ASKED, DONE, FAILED, Failure, OVER, REFUSED, USAGE};
use crate::judge::HookJudge;
use crate::record::span::SessionSpan;
use crate::session::{self, JudgeSource, SessionOptions, ShellMaker};
use crate::{env, output, record, settings};

pub(crate) fn run(wanted: &AgentRun) -> Result<ExitCode, Failure> {
    let locations = locations(wanted)?;
    let definitions = usable(&wanted.place, &locations)?;
    let definition = wanted.kind.as_deref().map(|name| named(&definitions, name)).transpose()?.cloned();
    let models = models(wanted)?;
    let name = match &wanted.resume {
        Some(token) => runs::find(Some(token))?,
        None => record::session("agent")?,
    };
    let wish = session_options(wanted);
    let of_settings = session::judging(&wish)?;
    let judge = judge(wanted, &*models, of_settings)?;
    runs::made()?;
    let opened = RunSessions::open(wanted, wish, definition.as_ref(), judge.as_ref())?;
    // A run that is at work is not gone on with; of a new one nothing is kept before it may begin.
    let at_work = wanted.resume.is_some().then(|| runs::opened(&name)).transpose()?;
    // Held until the run has ended.
    let _lease = leased(wanted, &name, &opened.first)?;
    let task = task(wanted, &name, &opened.main)?;
    let store = Arc::new(at_work.map_or_else(|| runs::opened(&name), Ok)?);
    let ending = opened.work(wanted, definitions, definition, Speakers { models, judge }, task, &store);
    if let Some(trouble) = store.trouble() {
        output::warn(format_args!("not all of the run was kept, so it cannot go on later: {trouble}"));
    }
    print_result(wanted, &name, &ending)?;
    Ok(ExitCode::from(code(ending.how)))
}

fn locations(wanted: &AgentRun) -> Result<Locations, Failure> {
    if wanted.session.no_settings {
        return Ok(Locations::default());
    }
    let folder = wanted.place.folder.as_deref();
    Ok(settings::locations(folder)?.with_allowed_home(wanted.session.allow_home && folder.is_some()))
}

fn models(wanted: &AgentRun) -> Result<Arc<dyn Models>, Failure> {
    let Some(file) = &wanted.script else {
        return Ok(Arc::new(Providers::new(env::variables(), wanted.model.clone(), wanted.price)));
    };
    let shown = output::path(file);
    let text = std::fs::read_to_string(file)
        .map_err(|e| Failure::new(USAGE, format!("the script {shown} cannot be read: {e}")))?;
    let script = Script::parse(&text).map_err(|e| unusable(&format!("{shown}: "), &e))?;
    Ok(Arc::new(script))
}

/// The one that the person names, or the one of settings; where an organisation names one, that one.
fn judge(
    wanted: &AgentRun,
    models: &dyn Models,
    of_settings: Option<(HookJudge, Layer)>,
) -> Result<Option<Arc<dyn Judge>>, Failure> {
    match (&wanted.judge, of_settings) {
        (_, Some((judge, Layer::Managed))) | (None, Some((judge, _))) => Ok(Some(Arc::new(judge))),
        (Some(named), _) => {
            let judge = ModelJudge::new(models, named).map_err(|e| unusable("the judge: ", &e))?;
            Ok(Some(Arc::new(judge)))
        }
        (None, None) => Ok(None),
    }
}

fn session_options(wanted: &AgentRun) -> SessionOptions {
    SessionOptions {
        kind: "agent",
        folder: wanted.place.folder.clone(),
        flags: wanted.session.clone(),
        headless_alone: true,
        within: None,
    }
}

/// The folder of the agent for this run alone, as long as it works; none where it changes nothing.
fn leased(wanted: &AgentRun, name: &str, first: &Session) -> Result<Option<RunLease>, Failure> {
    if !may_write(first) {
        return Ok(None);
    }
    let folders: Vec<_> = first.writable_roots().roots().collect();
    let waits = |holder: &Holder| {
        let (by, pid) = (output::visible(&holder.by), holder.pid);
        let folders = output::visible(&holder.folders.join(", "));
        output::warn(format_args!("waits for {by} (process {pid}), which writes in {folders}"));
    };
    let leases = RunLeases::new(runs::leases()?);
    leases.take(&folders, name, wanted.wait, waits).map(Some).map_err(|e| {
        let mend = match e {
            NotLeased::Held { .. } => "wait until it has ended, or longer with --wait",
            NotLeased::Busy => "end the process that hangs",
            NotLeased::Io(_) => "set XDG_STATE_HOME to a directory that you can write",
        };
        Failure::new(FAILED, output::lines(&e.to_string())).mend(mend)
    })
}

fn unusable(what: &str, error: &ModelError) -> Failure {
    Failure::new(USAGE, format!("{what}{}", error.what)).mend(error.mend.clone())
}

fn task(wanted: &AgentRun, name: &str, main: &Session) -> Result<Task, Failure> {
    if wanted.resume.is_some() {
        let known = resumed(&runs::read(name)?).map_err(|e| unusable(&format!("{name}: "), &e))?;
        return Ok(Task::Resumed(Box::new(known)));
    }
    let prompt = match wanted.prompt.as_deref().unwrap_or_default() {
        "-" => output::standard_input()?,
        text => text.to_owned(),
    };
    let said = main.event(HookEvent::UserPromptSubmit, &json!({"prompt": prompt}));
    if let Some(why) = said.blocked.or(said.stop) {
        return Err(Failure::new(
            REFUSED,
            output::lines(&format!("a hook does not let this be said: {why}")),
        ));
    }
    let began = main.event(HookEvent::SessionStart, &json!({"source": "startup"})).context;
    let parts = std::iter::once(prompt).chain(began).chain(said.context);
    Ok(Task::New(parts.collect::<Vec<_>>().join("\n\n")))
}

/// Models of agents, and the judge of their calls.
struct Speakers {
    models: Arc<dyn Models>,
    judge: Option<Arc<dyn Judge>>,
}

/// The sessions of a run, with its approver.
struct RunSessions {
    /// The person's own.
    main: Session,
    /// Session of the agent: the same, or one below it.
    first: Session,
    shells: ShellMaker,
    follow: PolicyRefresh,
    parking: Option<Arc<Parking>>,
    attended: bool,
    /// Span of the run in the audit log.
    span: SessionSpan,
}

impl RunSessions {
    fn open(
        wanted: &AgentRun,
        wish: SessionOptions,
        definition: Option<&Definition>,
        judge: Option<&Arc<dyn Judge>>,
    ) -> Result<Self, Failure> {
        let mut asker = None;
        let parking = wanted.park.then(|| Arc::new(Parking::default()));
        let opened = session::opened(&wish, JudgeSource::Caller(judge.cloned()), |reach| {
            let rules_to = reach.rules_to.clone();
            asker = Asker::new(&wanted.asking, reach)?;
            if let Some(asker) = asker.as_ref().filter(|asker| asker.is_at_terminal()) {
                asker.ask_on_terminal(ExclusiveTty::open, ReportTime::AtOnce)?;
            }
            let parked = parking.clone().map(|approver| ApprovalOptions {
                approver,
                timeout: DEFAULT_TIMEOUT,
                locations: rules_to,
            });
            Ok(asker.as_ref().map(Asker::asking).or(parked))
        })?;
        let session::CliSession { session: main, shells, journal } = opened;
        let attended = asker.is_some() && definition.is_none();
        let parking = parking.filter(|_| asker.is_none() && definition.is_none());
        let follow = Arc::new(session::following(wish));
        // As they are now: what a hook says from here on stays until they change.
        follow(&main);
        let (known, weak) = (Arc::clone(&follow), main.downgrade());
        if let Some(asker) = asker {
            asker.know(&main, move |main| known(main));
        }
        let follow: PolicyRefresh = Arc::new(move || weak.upgrade().iter().for_each(|main| follow(main)));
        let first = match definition {
            None => main.clone(),
            Some(definition) => child_session(&main, definition, judge, &shells)?,
        };
        let name = definition.map(|definition| format!(" {}", definition.name)).unwrap_or_default();
        let span = SessionSpan::begin(journal, &first, &format!("agent run{name}"))?;
        Ok(Self { main, first, shells, follow, parking, attended, span })
    }

    fn work(
        self,
        wanted: &AgentRun,
        definitions: Definitions,
        definition: Option<Definition>,
        speakers: Speakers,
        task: Task,
        store: &Arc<Store>,
    ) -> AgentResult {
        let Self { main, first, shells, follow, parking, attended, span } = self;
        let Speakers { models, judge } = speakers;
        let follows: Arc<dyn Listener> = if wanted.json { Arc::new(AsJson) } else { Arc::new(EventPrinter) };
        let team = Team::new(Parts {
            definitions,
            models,
            shells: Arc::new(shells),
            listeners: vec![Arc::clone(store) as Arc<dyn Listener>, follows],
            reach: SpawnLimits { depth: wanted.limits.max_depth, parallel: wanted.limits.parallel },
            judge,
            parking,
            follow: Some(follow),
        });
        let limits = limits(wanted);
        let ending = team.run(RootAgent { session: first, definition, limits, task, attended });
        // The agent has ended: the output of the hook has no reader.
        let _ = main.event(HookEvent::SessionEnd, &json!({"reason": "other"}));
        drop(span);
        ending
    }
}

/// The session of a definition, as any agent would start it in the folder.
fn child_session(
    main: &Session,
    definition: &Definition,
    judge: Option<&Arc<dyn Judge>>,
    shells: &ShellMaker,
) -> Result<Session, Failure> {
    let failed = |why: String| Failure::new(USAGE, format!("the agent cannot begin: {why}"));
    let child = ChildOptions {
        id: record::session("agent")?,
        name: &definition.name,
        folder: Path::new("."),
        definition: Some(definition),
        asking: asking_for_child(main, Some(definition), judge),
    };
    let narrowed = main.new_child(child).map_err(|e| failed(e.to_string()))?;
    let shells = shells.make(narrowed.plan()).map_err(failed)?;
    narrowed.begin(shells).map_err(|e| failed(e.to_string()))
}

impl MakeShells for ShellMaker {
    fn make(&self, plan: &Plan) -> Result<Option<Arc<dyn ShellHost>>, String> {
        if !plan.scope.allow_bash {
            return Ok(None);
        }
        let shells = self.shells(plan).map_err(|failure| failure.message)?;
        Ok(Some(Arc::new(shells)))
    }
}

fn limits(wanted: &AgentRun) -> AgentLimits {
    let limits = &wanted.limits;
    AgentLimits {
        turns: Some(limits.max_turns),
        tokens: limits.max_tokens,
        cost: limits.max_cost,
        time: limits.max_time,
        bytes: limits.max_bytes,
        agents: Some(limits.max_agents),
        fetches: limits.max_fetches,
    }
}

/// The last words, and how to go on.
fn print_result(wanted: &AgentRun, name: &str, ending: &AgentResult) -> Result<(), Failure> {
    if !wanted.json && !ending.summary.trim().is_empty() {
        output::out(&format!("{}\n", output::lines(ending.summary.trim())))?;
    }
    match ending.how {
        End::Done => {}
        End::Failed | End::OverBudget | End::Stopped | End::NeedsHuman => {
            output::warn(format_args!("go on with: pinfold agent run --resume {name}"));
        }
    }
    Ok(())
}

fn code(how: End) -> u8 {
    match how {
        End::Done => DONE,
        End::Failed => FAILED,
        End::Stopped => REFUSED,
        End::NeedsHuman => ASKED,
        End::OverBudget => OVER,
    }
}

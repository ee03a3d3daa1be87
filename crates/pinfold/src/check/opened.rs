//! A setup with its folders looked at: a session that only considers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pinfold_paths::{Ambient, Imagined, WritableRoots};
use pinfold_policy::merge::{Layered, Merged, merge};
use pinfold_policy::settings::{AllowRules, BadSetting, Network, Settings};
use pinfold_policy::{
    Access, BadCall, Bases, Effect, Grant, Guards, HookDecision, Interaction, Layer, Located, PathText,
    Policy, Principal, RawCall, Rule, Scope, Shape, Source, SourcedRule, ToolCall,
};

use serde_json::Value;
use serde_json::value::RawValue;

use super::answer::CheckAnswer;
use super::bad_line::BadLine;
use super::setup::Setup;
use crate::agents::{DefinitionRules, child_mode, judged_for_child};
use crate::audit::Discard;
use crate::call_request::CallRequest;
use crate::consent::hooks::Hooks;
use crate::guard_search::GuardSearch;
use crate::judgement::CheckResult;
use crate::plan::Plan;
use crate::profile::Profile;
use crate::session::Session;
use crate::settings::Situation;
use crate::shell::{AssumedShells, PRIVATE_TEMP_DIRS};

/// The hooks of merged settings, for a session of a plan.
pub type MakeHooks = Box<dyn Fn(&Merged, &Plan) -> Option<Arc<dyn Hooks>> + Send>;

/// The defaults of lines.
#[derive(Debug, Clone)]
pub(super) struct CheckEnvironment {
    pub(super) folder: PathBuf,
    pub(super) home: Option<PathBuf>,
    pub(super) variables: BTreeMap<String, String>,
    pub(super) profile: Option<Profile>,
    pub(super) guard_search: Option<Arc<dyn GuardSearch>>,
    /// Guards beside those of settings.
    pub(super) guards: Guards,
    /// Rules that close directories to every tool.
    pub(super) closed: Vec<SourcedRule>,
}

/// A setup, opened.
pub(super) struct OpenedSetup {
    /// For deciding alone: its line may be around folders that are not there.
    pub(super) session: Session,
    pub(super) cwd: PathBuf,
    trusted: bool,
    pub(super) project: PathBuf,
    pub(super) layers: Vec<Layered>,
    /// Settings and grants of the line that grant nothing.
    pub(super) warnings: Vec<String>,
    /// The last burst of lines that it was found to be current for.
    pub(super) burst: u64,
}

impl OpenedSetup {
    pub(super) fn open(
        ambient: &Ambient,
        setup: &Setup,
        around: &CheckEnvironment,
        hooks: Option<&MakeHooks>,
        layers: Vec<Layered>,
    ) -> Result<Self, BadLine> {
        let places = SetupFolders::open(ambient, setup, around)?;
        let mut unparsed = Vec::new();
        let line_layers = layers_of(setup, &mut unparsed)?;
        let mut merged = merge(&[layers.as_slice(), &line_layers].concat());
        merged.rules.extend(around.closed.iter().cloned());
        let ignored = merged.ignored.iter().map(ToString::to_string);
        let mut warnings: Vec<String> =
            ignored.chain(merged.renamed.iter().map(ToString::to_string)).collect();
        let opening = SessionParts { ambient, setup, merged: &merged, places: &places };
        let mut plan = opening.plan(around)?;
        if setup.is_subagent() {
            plan.policy = opening.policy_of_agent(plan.policy, &mut unparsed, &mut warnings);
        }
        plan.policy.unparsed_rules = unparsed;
        plan.hooks = hooks.and_then(|make| make(&merged, &plan));
        let grants = opening.grants(&mut warnings);
        let session = opening.session(plan)?;
        session.set_grants(grants);
        Ok(Self {
            session,
            cwd: places.cwd,
            trusted: !setup.not_trusted,
            project: setup.project(&around.folder),
            layers,
            warnings,
            burst: 0,
        })
    }

    /// The call of a line. A shape that is not vouched for only narrows it.
    /// Checks the call of a line, as if hooks had said `word`.
    pub(super) fn check(
        &self,
        tool: String,
        input: Value,
        shape: Option<Shape>,
        word: Option<HookDecision>,
    ) -> Result<CheckResult, BadCall> {
        let call = self.call(tool, input, shape);
        self.session.check(CallRequest::new(&call).with_hint(word))
    }

    pub(super) fn call(&self, tool: String, input: Value, shape: Option<Shape>) -> RawCall {
        let shape = if self.trusted { shape } else { shape.and_then(Shape::narrowing) };
        RawCall { tool, input, cwd: Some(PathText::new(self.cwd.as_os_str())), shape, is_method: false }
    }

    /// The answer to a line, from what was considered about its call.
    pub(super) fn answer(
        &self,
        id: Option<&RawValue>,
        considered: Result<CheckResult, BadCall>,
    ) -> CheckAnswer {
        CheckAnswer::new(id, considered, &self.warnings, self.session.policy().ask_rules_in_bypass)
    }
}

/// The folders of a setup, as they are here.
struct SetupFolders {
    cwd: PathBuf,
    named_home: Option<PathBuf>,
    home: Option<PathBuf>,
    display_root: Imagined,
    root: Imagined,
    bases: Bases,
}

impl SetupFolders {
    fn open(ambient: &Ambient, setup: &Setup, around: &CheckEnvironment) -> Result<Self, BadLine> {
        let open = |path: &Path| imagined(ambient, path);
        let named_home = setup.home.clone().or_else(|| around.home.clone());
        let home = named_home.as_deref().map(open).transpose()?.map(|home| home.path());
        let project = setup.project(&around.folder);
        let display_root = open(setup.scope.display_root.as_ref().unwrap_or(&project))?;
        let root = match &setup.scope.root {
            Some(root) => open(root)?,
            None => display_root.clone(),
        };
        if !root.path().starts_with(display_root.path()) {
            return Err(BadLine("`scope.root` does not lie inside `scope.display_root`".to_owned()));
        }
        let cwd = setup.cwd.clone().unwrap_or_else(|| project.clone());
        let bases = Bases {
            cwd: open(&cwd)?.path(),
            project: open(&project)?.path(),
            home: named_home.iter().chain(&home).cloned().collect(),
        };
        Ok(Self { cwd, named_home, home, display_root, root, bases })
    }

    /// A folder as settings and lines write it: `~/x`, `../x`, `/x`.
    fn written(&self, text: &str) -> PathBuf {
        match (text.strip_prefix('~'), &self.home) {
            (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
                home.join(rest.trim_start_matches('/'))
            }
            _ => self.bases.project.join(text),
        }
    }
}

fn imagined(ambient: &Ambient, path: &Path) -> Result<Imagined, BadLine> {
    Imagined::open(ambient, path).map_err(|error| BadLine(error.to_string()))
}

/// The layers of settings that a line adds: the caller's word, as strong as flags. What only the person's own settings
/// may say stands in a layer of theirs.
fn layers_of(setup: &Setup, unparsed: &mut Vec<String>) -> Result<Vec<Layered>, BadLine> {
    let trusted = !setup.not_trusted;
    let mut call = Settings::silent(Layer::CommandLine);
    let says = &mut call.says;
    says.permissions.default_mode = setup.mode()?.map(located);
    says.permissions.ask_rules_in_bypass = setup.ask_rules_in_bypass.map(located);
    says.permissions.additional_directories =
        setup.additional_directories.iter().cloned().map(located).collect();
    says.bash = setup.bash.map(located);
    says.reads = setup.reads.map(located);
    says.sandbox.mode = setup.sandbox.mode.map(located);
    says.sandbox.deny_write = setup.sandbox.deny_write.iter().cloned().map(located).collect();
    says.sandbox.deny_read = setup.sandbox.deny_read.iter().cloned().map(located).collect();
    says.tools = setup.tools.clone().map(located);
    let mut taking = |texts: &[String], kind: &str| {
        let mut rules = Vec::new();
        for text in texts {
            match Rule::parse(text) {
                Ok(rule) => rules.push(located(rule)),
                Err(bad) => unparsed.push(format!("the {kind} rule cannot be read: {bad}")),
            }
        }
        rules
    };
    says.permissions.deny = taking(&setup.rules.deny, "deny");
    says.permissions.ask = taking(&setup.rules.ask, "ask");
    let mut allow = Vec::new();
    for text in &setup.rules.allow {
        match Rule::parse(text) {
            Ok(rule) => allow.push(located(rule)),
            Err(bad) => call.without_effect.push(BadSetting {
                source: Source::plain(Layer::Call),
                span: 0..0,
                what: format!("`allow {}`", bad.text),
                mend: format!("{}; {}", bad.why, bad.mend),
            }),
        }
    }
    call.says.permissions.allow = AllowRules(allow);
    let mut person = Settings::silent(if trusted { Layer::User } else { Layer::Project });
    person.says.always_ask = setup.always_ask.map(located);
    Ok(vec![Layered { settings: call, trusted }, Layered { settings: person, trusted }])
}

fn located<T>(value: T) -> Located<T> {
    Located { value, source: Source::plain(Layer::Call) }
}

/// The parts from which a session is opened.
struct SessionParts<'a> {
    ambient: &'a Ambient,
    setup: &'a Setup,
    merged: &'a Merged,
    places: &'a SetupFolders,
}

impl SessionParts<'_> {
    /// The principal, the folder, and what settings say about them.
    fn plan(&self, around: &CheckEnvironment) -> Result<Plan, BadLine> {
        let (setup, places) = (self.setup, self.places);
        let subagent = setup.is_subagent();
        let scope = Scope {
            root: places.root.path(),
            display_root: places.display_root.path(),
            enforce_write: subagent || setup.scope.enforce_write.unwrap_or(false),
            allow_bash: self.allow_bash(subagent),
        };
        let network = self.merged.sandbox.network.as_ref().map(|network| network.value);
        let own = PRIVATE_TEMP_DIRS.map(PathBuf::from).to_vec();
        let shells =
            AssumedShells::in_folder(places.root.path()).with_network(network == Some(Network::Host), own);
        let unwatched = subagent || setup.headless;
        let name = || setup.agent.clone().unwrap_or_else(|| "subagent".to_owned());
        let plan = Plan {
            id: "check".to_owned(),
            scope,
            home: places.named_home.clone(),
            principal: if subagent { Principal::Subagent(name()) } else { Principal::Main },
            interaction: if unwatched { Interaction::Headless } else { Interaction::Interactive },
            shells: Some(Arc::new(shells)),
            guard_search: around.guard_search.clone(),
            guards: around.guards.clone(),
            ..Plan::for_folder(places.display_root.path())
        };
        let situation = Situation {
            project: places.bases.project.clone(),
            cwd: Some(places.bases.cwd.clone()),
            variables: self.variables(around),
            profile: around.profile.clone(),
        };
        let plan = plan.with_settings(self.ambient, self.merged, &situation);
        let plan = plan.map_err(|bad| BadLine(bad.to_string()))?;
        // A line that names all places that can be written has named them.
        let access = match (plan.access, &setup.sandbox.writable) {
            (Access::DefaultWrite, Some(_)) => Access::ReadWrite,
            (access, _) => access,
        };
        Ok(Plan { access, ..plan })
    }

    /// The variables that declared scopes expand: home is where the line says it is.
    fn variables(&self, around: &CheckEnvironment) -> BTreeMap<String, String> {
        let mut variables = around.variables.clone();
        if let Some(home) = self.places.named_home.as_ref().and_then(|home| home.to_str()) {
            variables.insert("HOME".to_owned(), home.to_owned());
        }
        variables
    }

    /// Returns the policy of a subagent: it inherits what takes away, and adds its own list.
    fn policy_of_agent(
        &self,
        mut policy: Policy,
        unparsed: &mut Vec<String>,
        warnings: &mut Vec<String>,
    ) -> Policy {
        let (setup, merged, bases) = (self.setup, self.merged, &self.places.bases);
        // Without a definition the rules of the line are the agent's own.
        let own = |rule: &&SourcedRule| setup.agent_def.is_none() && rule.source.layer == Layer::Call;
        let inherited = merged.rules.iter().filter(|rule| rule.effect == Effect::Deny || own(rule));
        let rules: Vec<SourcedRule> = inherited.cloned().collect();
        let definition = setup.agent_def.clone().unwrap_or_default();
        let deny = read_rules(&definition.deny_tools, Effect::Deny, Layer::Agent, |bad| unparsed.push(bad));
        let listed = definition
            .allow_tools
            .map(|texts| read_rules(&texts, Effect::Allow, Layer::Agent, |bad| warnings.push(bad)));
        if let (Some(_), Some(lock)) = (&listed, &merged.managed_rules_only) {
            warnings.push(format!("{lock} lets no rules of agents allow anything"));
        }
        let own = DefinitionRules { listed, deny, allows: merged.managed_rules_only.is_none() };
        let parent = Some(&merged.mode).filter(|mode| mode.source.layer != Layer::BuiltIn);
        policy.mode =
            child_mode(definition.mode, parent.map(|mode| mode.value), merged.bypass_locked.is_some());
        judged_for_child(policy, rules, own, bases)
    }

    /// The grants of the session. A subagent has no part in them.
    fn grants(&self, warnings: &mut Vec<String>) -> Vec<Grant> {
        if self.setup.is_subagent() {
            return Vec::new();
        }
        let granted = read_rules(&self.setup.grants, Effect::Allow, Layer::Session, |bad| warnings.push(bad));
        granted.into_iter().map(|rule| Grant::Rule(Arc::new(rule))).collect()
    }

    /// The session of a plan, around folders that may not be there.
    fn session(&self, plan: Plan) -> Result<Session, BadLine> {
        let places = self.places;
        let roots = self.roots(plan.scope.enforce_write)?;
        let line = WritableRoots::imagined(places.display_root.clone(), places.home.clone(), roots);
        Ok(Session::with_writable_roots(line, plan, Arc::new(Discard), ToolCall::parse_for_verdict))
    }

    /// A shell is off for an agent that no person watches, unless it was switched on.
    fn allow_bash(&self, subagent: bool) -> bool {
        let unwatched = self.setup.headless && !subagent;
        let switched_on = || self.merged.allows_bash() == Some(true);
        self.setup.scope.allow_bash.unwrap_or_else(|| !unwatched || switched_on())
    }

    /// The folders that may be written.
    fn roots(&self, enforce_write: bool) -> Result<Vec<Imagined>, BadLine> {
        let places = self.places;
        let open = |text: &String| imagined(self.ambient, &places.written(text));
        let inside = |folder: &Imagined| folder.path().starts_with(places.root.path());
        if let Some(writable) = &self.setup.sandbox.writable {
            let writable: Vec<Imagined> = writable.iter().map(open).collect::<Result<_, _>>()?;
            let narrow = enforce_write || self.setup.not_trusted;
            return Ok(writable.into_iter().filter(|folder| !narrow || inside(folder)).collect());
        }
        let mut roots = vec![places.root.clone()];
        if !enforce_write {
            let named = self.merged.additional_directories.iter().chain(&self.merged.sandbox.writable);
            for folder in named {
                roots.push(open(&folder.value)?);
            }
        }
        Ok(roots)
    }
}

/// Rules as they are written; what cannot be read is told.
fn read_rules(
    texts: &[String],
    effect: Effect,
    layer: Layer,
    mut tell: impl FnMut(String),
) -> Vec<SourcedRule> {
    let mut rules = Vec::with_capacity(texts.len());
    for text in texts {
        match Rule::parse(text) {
            Ok(rule) => rules.push(SourcedRule { effect, rule, source: Source::plain(layer) }),
            Err(bad) => tell(format!("{}: {bad}", layer.as_str())),
        }
    }
    rules
}

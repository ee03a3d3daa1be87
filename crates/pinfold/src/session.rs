//! One agent's run: its line, who it is, what it has read, where its record goes.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

use pinfold_paths::{Ambient, NotInside, SessionReads, Workspace, WorkspaceError, WritableRoots};
use pinfold_policy::rule::RuleSubject;
use pinfold_policy::{
    Access, Bases, Effect, FolderChoice, Grant, Grants, Guards, Interaction, Mode, NoProject, Policy,
    Principal, Scope, SourcedRule, ToolCall,
};

use crate::audit::{Journal, kept_text};
use crate::consent::answer::AnsweredBy;
use crate::consent::approver::ApprovalOptions;
use crate::consent::grant_lifetime::GrantLifetime;
use crate::consent::hooks::Hooks;
use crate::consent::session_grants::{SessionGrant, SessionGrants};
use crate::guard_search::SearchedGuards;
use crate::parsed_call::ParseCall;
use crate::plan::{ExecutedBy, Plan};
use crate::recorded_folders::RecordedFolders;
use crate::shell::ShellHost;
use crate::web::WebHost;

/// Reason why a session cannot start.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// A folder cannot be opened.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The scope does not lie in the workspace.
    #[error(transparent)]
    NotInside(#[from] NotInside),
    /// A folder that is no project would be written.
    #[error("`{}` is not a folder to work in: {why}", folder.display())]
    NoProject {
        /// The folder.
        folder: PathBuf,
        /// Why, and what to do.
        why: NoProject,
    },
    /// The shells are held to another folder than the session.
    #[error("the shells are held to `{}`, which is not the folder of the session", .0.display())]
    ShellsElsewhere(PathBuf),
}

/// # Errors
/// When a folder is none that can be granted.
fn is_a_project(
    choice: &FolderChoice,
    folders: impl IntoIterator<Item = PathBuf>,
) -> Result<(), SessionError> {
    folders
        .into_iter()
        .try_for_each(|folder| choice.check(&folder).map_err(|why| SessionError::NoProject { folder, why }))
}

/// One agent's run. Cheap to clone; clones are the same session.
#[derive(Clone)]
pub struct Session {
    shared: Arc<Shared>,
}

/// A session that is not kept alive: it may be over when it is needed.
#[derive(Clone)]
pub struct WeakSession {
    shared: Weak<Shared>,
}

impl WeakSession {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self { shared: Arc::downgrade(shared) }
    }

    /// The session, unless it is over.
    pub fn upgrade(&self) -> Option<Session> {
        self.shared.upgrade().map(|shared| Session { shared })
    }
}

impl std::fmt::Debug for WeakSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WeakSession").finish_non_exhaustive()
    }
}

/// The state that a session, its permits and its targets have in common.
pub(crate) struct Shared {
    pub(crate) identity: SessionIdentity,
    pub(crate) bounds: SessionBounds,
    pub(crate) rules: SessionRules,
    pub(crate) consent: ConsentOptions,
    pub(crate) hosts: ToolHosts,
    /// The files that were read, and their states then.
    pub(crate) seen: SessionReads,
    pub(crate) executed_by: ExecutedBy,
    pub(crate) journal: Arc<dyn Journal>,
    /// The sessions that began below this one.
    children: Mutex<Vec<ChildSession>>,
    calls: AtomicU64,
    /// The parser of calls: where the agent executes them, texts that only the operation would use may be missing.
    pub(crate) parse: ParseCall,
}

/// The names of a session and of its principal.
pub(crate) struct SessionIdentity {
    /// The name of the session in the record.
    pub(crate) id: Arc<str>,
    pub(crate) principal: Principal,
    /// The name of the principal in the record.
    pub(crate) name: Arc<str>,
    /// The names from the main loop down to the agent that acts here.
    pub(crate) lineage: Arc<[String]>,
    /// The folders, for the record.
    pub(crate) folders: RecordedFolders,
}

/// The places that a session may touch.
pub(crate) struct SessionBounds {
    pub(crate) line: WritableRoots,
    pub(crate) folder_choice: FolderChoice,
    pub(crate) scope: Scope,
    pub(crate) access: Access,
    pub(crate) guards: SearchedGuards,
    /// The folders that may be written, as the caller knows them: for the words of a refusal.
    pub(crate) shown: String,
    /// The same as absolute paths.
    pub(crate) roots: Vec<String>,
}

/// The rules and grants of a session, which change while it runs.
pub(crate) struct SessionRules {
    policy: RwLock<Arc<Policy>>,
    pub(crate) grants: SessionGrants,
    pub(crate) bypass_locked: bool,
    pub(crate) rules_locked: bool,
}

/// The ways in which questions are answered.
pub(crate) struct ConsentOptions {
    pub(crate) interaction: Interaction,
    pub(crate) asking: Option<ApprovalOptions>,
    pub(crate) hooks: Option<Arc<dyn Hooks>>,
    pub(crate) headless_hooks: bool,
}

/// The hosts of tools that the gate carries and does not use.
pub(crate) struct ToolHosts {
    pub(crate) shells: Option<Arc<dyn ShellHost>>,
    pub(crate) web: Option<Arc<dyn WebHost>>,
}

/// A session that began below another.
struct ChildSession {
    session: WeakSession,
    /// Its policy, by what holds above.
    policy: Box<dyn Fn(&Session) -> Policy + Send + Sync>,
}

/// The basis of one decision, whatever changes meanwhile.
pub(crate) struct JudgedBy {
    pub(crate) policy: Arc<Policy>,
    pub(crate) grants: Arc<Grants>,
}

impl Session {
    /// Opens the folders of the plan and starts the session.
    ///
    /// # Errors
    /// When a folder of the plan is missing, is no folder, or the scope lies outside the display root.
    pub fn open(ambient: &Ambient, plan: Plan, journal: Arc<dyn Journal>) -> Result<Self, SessionError> {
        Self::open_along(ambient, plan, journal, |line| line)
    }

    /// The same along another line: for tests that force how paths are resolved.
    #[doc(hidden)]
    pub fn open_along(
        ambient: &Ambient,
        plan: Plan,
        journal: Arc<dyn Journal>,
        map: impl FnOnce(WritableRoots) -> WritableRoots,
    ) -> Result<Self, SessionError> {
        let display = Workspace::open(ambient, &plan.scope.display_root)?;
        // Guards compare resolved paths, so home is resolved once; a home that does not exist guards nothing more.
        let home = plan.home.as_ref().map(|home| match Workspace::open(ambient, home) {
            Ok(opened) => opened.path().to_owned(),
            Err(_) => home.clone(),
        });
        let choice = plan.folder_choice.clone().with_home(home.as_deref());
        let mut line = WritableRoots::new(display, home);
        if plan.scope.root != plan.scope.display_root {
            line = line.scoped(Workspace::open(ambient, &plan.scope.root)?)?;
        }
        if plan.access == Access::ReadWrite {
            is_a_project(&choice, line.roots())?;
        }
        for place in &plan.also_writable {
            line = if let (true, Some(folder), Some(name)) =
                (place.is_file(), place.parent(), place.file_name())
            {
                line.with_name(Workspace::open(ambient, folder)?, name)
            } else {
                let opened = Workspace::open(ambient, place)?;
                is_a_project(&choice, [opened.path().to_owned()])?;
                line.with_root(opened)
            };
        }
        if let Some(shells) = &plan.shells
            && line.roots().next().as_deref() != Some(shells.folder())
        {
            return Err(SessionError::ShellsElsewhere(shells.folder().to_owned()));
        }
        let parse = match plan.executed_by {
            ExecutedBy::Pinfold => ToolCall::parse,
            ExecutedBy::Agent => ToolCall::parse_for_verdict,
        };
        Ok(Self::with_writable_roots(map(line), plan, journal, parse))
    }

    /// The session of a plan over its line. `parse`: how much of a call has to be there.
    pub(crate) fn with_writable_roots(
        line: WritableRoots,
        plan: Plan,
        journal: Arc<dyn Journal>,
        parse: ParseCall,
    ) -> Self {
        let Plan { id, scope, principal, access, interaction, guards, guard_search, .. } = plan;
        let guards = SearchedGuards::new(guards, guard_search);
        let Plan {
            shells,
            web,
            policy,
            bases,
            folder_choice,
            asking,
            hooks,
            parents,
            bypass_locked,
            rules_locked,
            headless_hooks,
            executed_by,
            ..
        } = plan;
        // The name comes from the agent that starts this one, and may be a model's.
        let name = kept_text(principal.name());
        let lineage = parents.iter().map(|parent| kept_text(parent)).chain([name.clone()]).collect();
        let folders = RecordedFolders::new(&line, &scope);
        let (shown, roots) = (shown(&line), line.roots().map(|root| root.display().to_string()).collect());
        let shared = Shared {
            identity: SessionIdentity { id: id.into(), principal, name: name.into(), lineage, folders },
            bounds: SessionBounds { line, folder_choice, scope, access, guards, shown, roots },
            rules: SessionRules {
                policy: RwLock::new(Arc::new(policy)),
                grants: SessionGrants::new(bases),
                bypass_locked,
                rules_locked,
            },
            consent: ConsentOptions { interaction, asking, hooks, headless_hooks },
            hosts: ToolHosts { shells, web },
            seen: SessionReads::new(),
            executed_by,
            journal,
            children: Mutex::default(),
            calls: AtomicU64::new(0),
            parse,
        };
        Self { shared: Arc::new(shared) }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The same session, not kept.
    pub fn downgrade(&self) -> WeakSession {
        WeakSession::new(&self.shared)
    }

    /// Returns true if an approver is asked about hosts that no rule allows, when a process connects to one.
    pub fn may_let_processes_reach(&self) -> bool {
        let mode = self.shared.judged_by().policy.mode;
        self.is_asked() && !matches!(mode, Mode::DontAsk | Mode::Explore)
    }

    fn is_asked(&self) -> bool {
        let reached = |asking: &ApprovalOptions| asking.approver.reaches_a_person();
        self.shared.consent.interaction == Interaction::Interactive
            && self.shared.consent.asking.as_ref().is_some_and(reached)
    }

    /// Returns true if what a process of a shell is about to do outside could be allowed: a person can be asked, or a
    /// rule allows something that it names.
    pub fn may_let_processes_out(&self) -> bool {
        let shared = &self.shared;
        let reaches = |rule: &Arc<SourcedRule>| match rule.rule.covers() {
            RuleSubject::Path(_, pattern) => pattern.is_anchored(),
            RuleSubject::Tool(_)
            | RuleSubject::Command(_)
            | RuleSubject::Host(_)
            | RuleSubject::Skill(_)
            | RuleSubject::Agent(_)
            | RuleSubject::Mcp(_) => false,
        };
        let policy = shared.judged_by().policy;
        let named = || policy.rules(Effect::Allow).rules().iter().any(reaches);
        shared.bounds.access != Access::ReadOnly
            && !shared.bounds.scope.enforce_write
            && (self.is_asked() || named())
    }

    /// Returns true if hooks are asked before calls: what they have not seen has not been asked about.
    pub fn has_hooks(&self) -> bool {
        self.shared.consent.hooks.is_some()
    }

    /// Its name in the record.
    pub fn id(&self) -> &str {
        &self.shared.identity.id
    }

    /// The folders that inside and outside are measured against.
    pub fn writable_roots(&self) -> &WritableRoots {
        &self.shared.bounds.line
    }

    /// The confinement.
    pub fn scope(&self) -> &Scope {
        &self.shared.bounds.scope
    }

    /// The principal.
    pub fn principal(&self) -> &Principal {
        &self.shared.identity.principal
    }

    /// The access.
    pub fn access(&self) -> Access {
        self.shared.bounds.access
    }

    /// The interaction.
    pub fn interaction(&self) -> Interaction {
        self.shared.consent.interaction
    }

    /// The policy that holds now.
    pub fn policy(&self) -> Arc<Policy> {
        self.shared.judged_by().policy
    }

    /// From now on judges by another policy: settings have changed. Calls that are being judged end as they began.
    pub fn set_policy(&self, policy: impl Into<Arc<Policy>>) {
        let policy = policy.into();
        let mut held = self.shared.rules.policy.write().unwrap_or_else(PoisonError::into_inner);
        let same = Arc::ptr_eq(&held, &policy);
        *held = policy;
        drop(held);
        if !same {
            self.update_children();
            self.changed();
        }
    }

    /// Adds a session that began below this one, with what its policy is by that of this one. A change since it was narrowed
    /// holds for it too.
    pub(crate) fn add_child(&self, child: &Self, policy: impl Fn(&Self) -> Policy + Send + Sync + 'static) {
        let mut children = self.shared.children.lock().unwrap_or_else(PoisonError::into_inner);
        child.set_policy(policy(self));
        children.retain(|child| child.session.upgrade().is_some());
        children.push(ChildSession { session: child.downgrade(), policy: Box::new(policy) });
    }

    /// Updates the policies of the sessions below: rules or the mode have changed.
    fn update_children(&self) {
        let mut children = self.shared.children.lock().unwrap_or_else(PoisonError::into_inner);
        children.retain(|child| match child.session.upgrade() {
            Some(session) => {
                session.set_policy((child.policy)(self));
                true
            }
            None => false,
        });
    }

    /// Adds rules that an answer has just written to settings.
    pub(crate) fn also_allow(&self, rules: impl IntoIterator<Item = SourcedRule>) {
        let mut policy = self.shared.rules.policy.write().unwrap_or_else(PoisonError::into_inner);
        for rule in rules {
            *policy = Arc::new(policy.and_allowing(rule, self.shared.rules.grants.bases()));
        }
    }

    /// Sets the mode. `false` when it is locked.
    pub fn set_mode(&self, mode: Mode) -> bool {
        if mode == Mode::BypassPermissions && self.shared.rules.bypass_locked {
            return false;
        }
        let mut policy = self.shared.rules.policy.write().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut policy).choose_mode(mode.for_principal(&self.shared.identity.principal));
        drop(policy);
        self.update_children();
        self.changed();
        true
    }

    /// From now on grants these, and nothing else.
    pub fn set_grants(&self, grants: impl IntoIterator<Item = Grant>) {
        self.shared.rules.grants.replace(grants, &AnsweredBy::default());
    }

    /// From now on grants these too.
    pub fn grant(&self, grants: impl IntoIterator<Item = Grant>, by: &AnsweredBy, lasts: GrantLifetime) {
        self.shared.rules.grants.give(grants, by, lasts);
        self.changed();
    }

    /// Tells the approver that the basis of decisions has changed, so that it looks again at what waits.
    fn changed(&self) {
        if let Some(asking) = &self.shared.consent.asking {
            asking.approver.granted();
        }
    }

    /// The grants of this session.
    pub fn grants(&self) -> Vec<SessionGrant> {
        self.shared.rules.grants.list()
    }

    /// Takes a grant back. `false` when there is none of that number.
    pub fn revoke(&self, number: u64) -> bool {
        self.shared.rules.grants.revoke(number)
    }

    /// The folders that the patterns of grants and rules are measured from.
    pub fn bases(&self) -> &Bases {
        self.shared.rules.grants.bases()
    }

    /// The guarded places, with those that a look finds.
    pub fn guards(&self) -> &Guards {
        self.shared.bounds.guards_for_writing()
    }

    /// Returns true if guarded places were looked for, so that a change in the folders is not known here.
    pub(crate) fn has_searched(&self) -> bool {
        self.shared.bounds.guards.is_searched()
    }
}

/// The folders that may be written, as the caller knows them.
fn shown(line: &WritableRoots) -> String {
    let shown = |root: PathBuf| match line.display(&root) {
        // `.` says nothing to a reader who is told where to stay.
        dot if dot == "." => root.display().to_string(),
        below => below,
    };
    line.roots().map(shown).collect::<Vec<_>>().join(", ")
}

impl Shared {
    /// A number for the next call.
    pub(crate) fn next_call(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Rules, mode and grants, as they are now.
    pub(crate) fn judged_by(&self) -> JudgedBy {
        // A lock is poisoned only by a panic between two assignments of whole values: what it holds is whole.
        let policy = Arc::clone(&self.rules.policy.read().unwrap_or_else(PoisonError::into_inner));
        let grants = self.rules.grants.grants();
        JudgedBy { policy, grants }
    }

    /// Shows a path as the caller knows it.
    pub(crate) fn show(&self, path: &Path) -> String {
        self.bounds.line.display(path)
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("id", &self.shared.identity.id)
            .field("scope", &self.shared.bounds.scope)
            .finish_non_exhaustive()
    }
}

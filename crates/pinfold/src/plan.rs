//! The plan of a session: what an embedder says before any folder is opened.

use std::path::PathBuf;
use std::sync::Arc;

use pinfold_policy::{Access, Bases, FolderChoice, Guards, Interaction, Policy, Principal, Scope};

use crate::consent::approver::ApprovalOptions;
use crate::consent::hooks::Hooks;
use crate::guard_search::GuardSearch;
use crate::shell::ShellHost;
use crate::web::WebHost;

/// The plan of a session, before any folder is opened. Begin with [`Plan::for_folder`].
///
/// ```
/// use pinfold::Plan;
/// use pinfold::policy::{Access, Interaction};
///
/// let plan = Plan::for_folder("/srv/site").with_access(Access::ReadOnly).with_interaction(Interaction::Headless);
/// // No shell runs and no page is fetched without a host for them.
/// assert!(plan.shells.is_none() && plan.web.is_none());
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
#[must_use]
pub struct Plan {
    /// A name for the record.
    pub id: String,
    /// The confinement.
    pub scope: Scope,
    /// More folders, or single files, that may be written.
    pub also_writable: Vec<PathBuf>,
    /// Which folders are no project, beside the home of the plan, and whether the person means one all the same.
    pub folder_choice: FolderChoice,
    /// The home directory, for `~`.
    pub home: Option<PathBuf>,
    /// The principal.
    pub principal: Principal,
    /// The access: read-only, the folder, or more.
    pub access: Access,
    /// The interaction: a person can be asked, or not.
    pub interaction: Interaction,
    /// The guarded places.
    pub guards: Guards,
    /// The look for guarded places that no name tells, made when a call first writes; without it names are all that counts.
    pub guard_search: Option<Arc<dyn GuardSearch>>,
    /// The host of shells; without it none can run.
    pub shells: Option<Arc<dyn ShellHost>>,
    /// The fetcher of pages; without it none is fetched.
    pub web: Option<Arc<dyn WebHost>>,
    /// Rules, mode and switches.
    pub policy: Policy,
    /// The folders that the patterns of grants are measured from.
    pub bases: Bases,
    /// The approver and how it is asked; without it a question is a refusal that says so.
    pub asking: Option<ApprovalOptions>,
    /// Programs that are asked before, instead of and after a person.
    pub hooks: Option<Arc<dyn Hooks>>,
    /// The agents above this one, from the main loop down.
    pub parents: Vec<String>,
    /// `bypassPermissions` is locked: nothing can set it while the session runs.
    pub bypass_locked: bool,
    /// Allow rules are reserved to managed settings: hooks add none.
    pub rules_locked: bool,
    /// Hooks may answer questions although no person watches, and those of subagents.
    pub headless_hooks: bool,
    /// The side that executes permitted calls.
    pub executed_by: ExecutedBy,
}

/// The side that executes permitted calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExecutedBy {
    /// Pinfold or its embedder, by spending the permit.
    #[default]
    Pinfold,
    /// The agent, with tools of its own: it is asked here before, and tells how it ended afterwards, if it does. What
    /// it has read is its own to know, what it calls may be a tool that we do not have, texts that only the deed would
    /// use may be missing, and its shell starts where the call says.
    Agent,
}

impl Plan {
    /// The plan of an agent that a person started in `folder`: it reads anywhere, writes there, and what lies
    /// beyond is a question.
    pub fn for_folder(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        Self {
            id: "main".to_owned(),
            scope: Scope {
                root: folder.clone(),
                display_root: folder,
                enforce_write: false,
                allow_bash: true,
            },
            also_writable: Vec::new(),
            folder_choice: FolderChoice::default(),
            home: None,
            principal: Principal::Main,
            access: Access::ReadWrite,
            interaction: Interaction::Interactive,
            guards: Guards::default(),
            guard_search: None,
            shells: None,
            web: None,
            policy: Policy::folder_is_granted(),
            bases: Bases::default(),
            asking: None,
            hooks: None,
            parents: Vec::new(),
            bypass_locked: false,
            rules_locked: false,
            headless_hooks: false,
            executed_by: ExecutedBy::Pinfold,
        }
    }

    /// Sets the name for the record.
    pub fn with_id(self, id: impl Into<String>) -> Self {
        Self { id: id.into(), ..self }
    }

    /// Sets the confinement.
    pub fn with_scope(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    /// Sets the folders, or single files, that may be written beside the scope.
    pub fn with_also_writable(self, places: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { also_writable: places.into_iter().collect(), ..self }
    }

    /// Sets which folders are no project.
    pub fn with_folder_choice(self, choice: FolderChoice) -> Self {
        Self { folder_choice: choice, ..self }
    }

    /// Sets the home directory, for `~`.
    pub fn with_home(self, home: impl Into<Option<PathBuf>>) -> Self {
        Self { home: home.into(), ..self }
    }

    /// Sets the principal.
    pub fn with_principal(self, principal: Principal) -> Self {
        Self { principal, ..self }
    }

    /// Sets the access.
    pub fn with_access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// Sets whether a person can be asked.
    pub fn with_interaction(self, interaction: Interaction) -> Self {
        Self { interaction, ..self }
    }

    /// Sets the guarded places.
    pub fn with_guards(self, guards: Guards) -> Self {
        Self { guards, ..self }
    }

    /// Sets the look for guarded places that no name tells.
    pub fn with_guard_search(self, search: impl Into<Option<Arc<dyn GuardSearch>>>) -> Self {
        Self { guard_search: search.into(), ..self }
    }

    /// Sets the host of shells.
    pub fn with_shells(self, shells: Arc<dyn ShellHost>) -> Self {
        Self { shells: Some(shells), ..self }
    }

    /// Sets the fetcher of pages.
    pub fn with_web(self, web: Arc<dyn WebHost>) -> Self {
        Self { web: Some(web), ..self }
    }

    /// Sets rules, mode and switches.
    pub fn with_policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    /// Sets the folders that the patterns of grants are measured from.
    pub fn with_bases(self, bases: Bases) -> Self {
        Self { bases, ..self }
    }

    /// Sets the approver and how it is asked.
    pub fn with_asking(self, asking: impl Into<Option<ApprovalOptions>>) -> Self {
        Self { asking: asking.into(), ..self }
    }

    /// Sets the programs that are asked before, instead of and after a person.
    pub fn with_hooks(self, hooks: impl Into<Option<Arc<dyn Hooks>>>) -> Self {
        Self { hooks: hooks.into(), ..self }
    }

    /// Sets the agents above this one, from the main loop down.
    pub fn with_parents(self, parents: Vec<String>) -> Self {
        Self { parents, ..self }
    }

    /// Sets the side that executes permitted calls.
    pub fn with_executed_by(self, executed_by: ExecutedBy) -> Self {
        Self { executed_by, ..self }
    }
}

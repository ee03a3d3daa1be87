//! How a session begins another below it: by narrowing its own, and in no other way.
//!
//! The folder lies within the line of the one above, by the handle that the look at it gave; the mode is no looser; deny
//! rules, lists of tools, guards, declared scopes, locks and hooks are inherited; rules that allow or ask, and grants,
//! are not.

use std::path::Path;
use std::sync::{Arc, PoisonError};

use pinfold_paths::{Line, NotInside};
use pinfold_policy::{
    Bases, BashMode, Effect, Interaction, Mode, Policy, Principal, Scope, SourcedRule, ToolCall,
};

use super::definition::Definition;
use crate::consent::Asking;
use crate::session::{Deeds, Plan, Session, SessionError, WeakSession};
use crate::shell::ShellHost;

/// What is to begin below a session.
#[derive(Debug, Clone)]
pub struct Below<'a> {
    /// A name for the record.
    pub id: String,
    /// What the agent is called.
    pub name: &'a str,
    /// The folder that it writes in; relative to the display root.
    pub folder: &'a Path,
    /// What it is, where somebody defined it.
    pub definition: Option<&'a Definition>,
    /// Who answers what would be asked: a judge. Without one, questions are refusals.
    pub asking: Option<Asking>,
}

/// A session that can begin: narrower than the one above.
#[derive(Debug)]
pub struct Narrowed {
    line: Line,
    plan: Plan,
    above: Session,
    definition: Option<Definition>,
}

/// A session that has begun below another, as that one knows it.
pub(crate) struct Begun {
    session: WeakSession,
    definition: Option<Definition>,
    /// The mode that it began in: it is never in a looser one.
    mode: Mode,
}

impl Session {
    /// Narrows this session to one that begins below it.
    ///
    /// # Errors
    /// [`NotInside`] when the folder does not lead to a folder that this session may write in.
    pub fn below(&self, child: Below<'_>) -> Result<Narrowed, NotInside> {
        let shared = self.shared();
        let line = self.line().narrow(child.folder)?;
        let root = line.roots().next().unwrap_or_else(|| child.folder.to_owned());
        let interaction = match child.asking {
            Some(_) => Interaction::Interactive,
            None => Interaction::Headless,
        };
        let plan = Plan {
            id: child.id,
            scope: Scope { root, enforce_write: true, ..shared.scope.clone() },
            also_writable: Vec::new(),
            folder_choice: shared.folder_choice.clone(),
            home: line.home().map(Path::to_owned),
            principal: Principal::Subagent(child.name.to_owned()),
            access: shared.access,
            interaction,
            guards: shared.guards.clone(),
            shells: None,
            web: shared.web.as_ref().map(|web| web.below()),
            policy: self.policy_below(child.definition),
            bases: self.bases().clone(),
            asking: child.asking,
            hooks: shared.hooks.clone(),
            parents: shared.lineage.to_vec(),
            bypass_locked: shared.bypass_locked,
            rules_locked: shared.rules_locked,
            headless_hooks: shared.headless_hooks,
            deeds: Deeds::Ours,
        };
        Ok(Narrowed { line, plan, above: self.clone(), definition: child.definition.cloned() })
    }

    /// Has those that began below be judged by what holds here now: rules or the mode have changed.
    pub(crate) fn tell_below(&self) {
        let mut begun = self.shared().below.lock().unwrap_or_else(PoisonError::into_inner);
        begun.retain(|one| match one.session.upgrade() {
            Some(session) => {
                session.set_policy(self.policy_for(one));
                true
            }
            None => false,
        });
    }

    fn policy_for(&self, one: &Begun) -> Policy {
        let mut policy = self.policy_below(one.definition.as_ref());
        policy.mode = policy.mode.clamped_to(one.mode);
        policy
    }

    /// What an agent below this one is judged by.
    fn policy_below(&self, definition: Option<&Definition>) -> Policy {
        let mut policy = (*self.policy()).clone();
        let inherited = policy.rules(Effect::Deny).rules().iter().map(|rule| (**rule).clone()).collect();
        let own = definition.and_then(|definition| definition.mode);
        let mode = mode_below(own, Some(policy.mode), self.shared().bypass_locked);
        match own {
            Some(_) => policy.choose_mode(mode),
            None => policy.mode = mode,
        }
        let own = Own {
            listed: definition.and_then(|definition| definition.allow_tools.clone()),
            deny: definition.map(|definition| definition.deny_tools.clone()).unwrap_or_default(),
            allows: definition.is_some_and(|definition| definition.trusted) && !policy.managed_rules_only,
        };
        judged_below(policy, inherited, own, self.bases())
    }
}

/// What the definition of an agent brings along.
pub(crate) struct Own {
    /// What it lists; all that it does is held to that.
    pub(crate) listed: Option<Vec<SourcedRule>>,
    /// What it denies itself.
    pub(crate) deny: Vec<SourcedRule>,
    /// What it lists is allowed by that: a person stands behind it, and no organisation keeps rules to itself.
    pub(crate) allows: bool,
}

/// What an agent is judged by: what it inherits takes away, and it brings its own list.
pub(crate) fn judged_below(
    mut policy: Policy,
    inherited: Vec<SourcedRule>,
    own: Own,
    bases: &Bases,
) -> Policy {
    let Own { listed, deny, allows } = own;
    if policy.mode == Mode::Explore && policy.bash == BashMode::Sandboxed {
        // The kernel holds a command to the folder, and this agent changes nothing there either.
        policy.bash = BashMode::Ask;
    }
    let allowed: Vec<SourcedRule> = listed.iter().flatten().filter(|_| allows).cloned().collect();
    let rules = inherited.into_iter().chain(deny).chain(allowed);
    policy.with_rules(rules, bases).held_to(listed, bases)
}

/// The mode of an agent: its own, never looser than that of the session that started it, where that is said.
pub(crate) fn mode_below(own: Option<Mode>, parent: Option<Mode>, bypass_locked: bool) -> Mode {
    let mode = match parent {
        Some(parent) => own.unwrap_or(parent).clamped_to(parent),
        None => own.unwrap_or_default(),
    };
    if mode == Mode::BypassPermissions && bypass_locked { Mode::Default } else { mode }
}

impl Narrowed {
    /// What it will be: for whoever makes its shells.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Begins it. Without shells no command runs.
    ///
    /// # Errors
    /// When the shells are held to another folder.
    pub fn begin(self, shells: Option<Arc<dyn ShellHost>>) -> Result<Session, SessionError> {
        if let Some(shells) = &shells
            && shells.folder() != self.plan.scope.root
        {
            return Err(SessionError::ShellsElsewhere(shells.folder().to_owned()));
        }
        let Self { line, plan, above, definition } = self;
        let (journal, mode) = (Arc::clone(&above.shared().journal), plan.policy.mode);
        let session = Session::over(line, Plan { shells, ..plan }, journal, ToolCall::parse);
        let one = Begun { session: session.downgrade(), definition, mode };
        // What has changed since it was narrowed holds for it too.
        let mut begun = above.shared().below.lock().unwrap_or_else(PoisonError::into_inner);
        session.set_policy(above.policy_for(&one));
        begun.retain(|one| one.session.upgrade().is_some());
        begun.push(one);
        drop(begun);
        Ok(session)
    }
}

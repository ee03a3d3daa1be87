//! Sessions below another: made by narrowing it, and in no other way.
//!
//! The folder lies within the line of the one above, by the handle that the look at it gave; the mode is no looser;
//! deny rules, lists of tools, guards, declared scopes, locks and hooks are inherited; rules that allow or ask, and
//! grants, are not.

use std::path::Path;
use std::sync::Arc;

use pinfold_paths::{NotInside, WritableRoots};
use pinfold_policy::{
    Bases, BashMode, Effect, Interaction, Mode, Policy, Principal, Scope, SourcedRule, ToolCall,
};

use super::definition::Definition;
use crate::consent::ApprovalOptions;
use crate::plan::{ExecutedBy, Plan};
use crate::session::{Session, SessionError};
use crate::shell::ShellHost;

/// A session that is to begin below another.
#[derive(Debug, Clone)]
pub struct ChildOptions<'a> {
    /// A name for the record.
    pub id: String,
    /// The name of the agent.
    pub name: &'a str,
    /// The folder that it writes in; relative to the display root.
    pub folder: &'a Path,
    /// The definition of the agent, where there is one.
    pub definition: Option<&'a Definition>,
    /// The approver of its questions: a judge. Without one, questions are refusals.
    pub asking: Option<ApprovalOptions>,
}

/// A session that can begin: narrower than the one above.
#[derive(Debug)]
pub struct NarrowedSession {
    line: WritableRoots,
    plan: Plan,
    above: Session,
    definition: Option<Definition>,
}

impl Session {
    /// Narrows this session to one that begins below it.
    ///
    /// # Errors
    /// [`NotInside`] when the folder does not lead to a folder that this session may write in.
    pub fn new_child(&self, child: ChildOptions<'_>) -> Result<NarrowedSession, NotInside> {
        let shared = self.shared();
        let line = self.writable_roots().narrow(child.folder)?;
        let root = line.roots().next().unwrap_or_else(|| child.folder.to_owned());
        let interaction = match child.asking {
            Some(_) => Interaction::Interactive,
            None => Interaction::Headless,
        };
        let plan = Plan {
            id: child.id,
            scope: Scope { root, enforce_write: true, ..shared.bounds.scope.clone() },
            also_writable: Vec::new(),
            folder_choice: shared.bounds.folder_choice.clone(),
            home: line.home().map(Path::to_owned),
            principal: Principal::Subagent(child.name.to_owned()),
            access: shared.bounds.access,
            interaction,
            // What was found in the folders above counts below, whatever part of them is left.
            guards: self.guards().clone(),
            guard_search: None,
            shells: None,
            web: shared.hosts.web.as_ref().map(|web| web.fork()),
            policy: self.child_policy(child.definition),
            bases: self.bases().clone(),
            asking: child.asking,
            hooks: shared.consent.hooks.clone(),
            parents: shared.identity.lineage.to_vec(),
            bypass_locked: shared.rules.bypass_locked,
            rules_locked: shared.rules.rules_locked,
            headless_hooks: shared.consent.headless_hooks,
            executed_by: ExecutedBy::Pinfold,
        };
        Ok(NarrowedSession { line, plan, above: self.clone(), definition: child.definition.cloned() })
    }

    /// Returns the policy of an agent below this one.
    fn child_policy(&self, definition: Option<&Definition>) -> Policy {
        let mut policy = (*self.policy()).clone();
        let inherited = policy.rules(Effect::Deny).rules().iter().map(|rule| (**rule).clone()).collect();
        let own = definition.and_then(|definition| definition.mode);
        let mode = child_mode(own, Some(policy.mode), self.shared().rules.bypass_locked);
        match own {
            Some(_) => policy.choose_mode(mode),
            None => policy.mode = mode,
        }
        let own = DefinitionRules {
            listed: definition.and_then(|definition| definition.allow_tools.clone()),
            deny: definition.map(|definition| definition.deny_tools.clone()).unwrap_or_default(),
            allows: definition.is_some_and(|definition| definition.trusted) && !policy.managed_rules_only,
        };
        judged_for_child(policy, inherited, own, self.bases())
    }
}

/// The rules that the definition of an agent adds.
pub(crate) struct DefinitionRules {
    /// The tools that it lists; all that it does is held to them.
    pub(crate) listed: Option<Vec<SourcedRule>>,
    /// The rules that deny.
    pub(crate) deny: Vec<SourcedRule>,
    /// The listed tools are allowed by that: a person stands behind the list, and no organisation keeps rules to
    /// itself.
    pub(crate) allows: bool,
}

/// Returns the policy of an agent: inherited rules take away, and its own list is added.
pub(crate) fn judged_for_child(
    mut policy: Policy,
    inherited: Vec<SourcedRule>,
    own: DefinitionRules,
    bases: &Bases,
) -> Policy {
    let DefinitionRules { listed, deny, allows } = own;
    if policy.mode == Mode::Explore && policy.bash == BashMode::Sandboxed {
        // The kernel holds a command to the folder, and this agent changes nothing there either.
        policy.bash = BashMode::Ask;
    }
    let allowed: Vec<SourcedRule> = listed.iter().flatten().filter(|_| allows).cloned().collect();
    let rules = inherited.into_iter().chain(deny).chain(allowed);
    policy.with_rules(rules, bases).held_to(listed, bases)
}

/// The mode of an agent: its own, never looser than that of the session that started it, where that is said.
pub(crate) fn child_mode(own: Option<Mode>, parent: Option<Mode>, bypass_locked: bool) -> Mode {
    let mode = match parent {
        Some(parent) => own.unwrap_or(parent).clamped_to(parent),
        None => own.unwrap_or_default(),
    };
    if mode == Mode::BypassPermissions && bypass_locked { Mode::Default } else { mode }
}

impl NarrowedSession {
    /// The plan of the session, from which its shells are made.
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
        let session = Session::with_writable_roots(line, Plan { shells, ..plan }, journal, ToolCall::parse);
        // It is never in a looser mode than the one that it began in.
        above.add_child(&session, move |above| {
            let mut policy = above.child_policy(definition.as_ref());
            policy.mode = policy.mode.clamped_to(mode);
            policy
        });
        Ok(session)
    }
}

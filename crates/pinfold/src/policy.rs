//! Rules, modes, settings and verdicts: the parts of `pinfold-policy` that an embedder names.

pub use pinfold_policy::{
    Access, ArgumentKind, BadCall, BadSetting, BadSettings, Bases, BashMode, Case, Claims, Class, Connection,
    Decision, DeniedPaths, Effect, ExpandContext, Facts, Flags, FolderChoice, Grant, GrantOptions,
    GrantScope, Grants, GuardKind, Guards, Hook, HookDecision, HookDecisionOrigin, HookEvent, HookKind,
    Interaction, KernelProtection, Layer, Layered, Level, Located, Matcher, Mode, NoProject, Operation,
    Opinion, PartId, PathClaim, PathFact, PathStatus, PathText, Policy, Preview, Principal, ProcessCall,
    ProcessEffect, RawCall, Reason, Redefinition, Rule, RuleSet, Scope, Settings, Shape, ShellConfinement,
    Source, SourcedRule, ToolCall, ToolName, ToolScopes, TrailEntry, Verdict, WayIn, is_visible,
};
pub use pinfold_policy::{
    foreign, grant_options, hook, hosts, input, lint, merge, patch, path_scopes, rule, settings, source,
};

//! Rules, modes, settings and verdicts: the parts of `pinfold-policy` that an embedder names.

pub use pinfold_policy::{
    Access, ArgumentKind, BadCall, BadSetting, BadSettings, Bases, BashMode, Case, Claims, Class, Connection,
    Decision, DeniedPaths, Effect, ExpandContext, Facts, Flags, FolderChoice, Grant, GrantOptions,
    GrantScope, Grants, GuardKind, Guards, Hook, HookEvent, HookKind, HookWord, Interaction, KernelHold,
    Layer, Layered, Level, Located, Matcher, Mode, NoProject, Operation, Opinion, PartId, PathClaim,
    PathFact, PathText, Policy, Preview, Principal, ProcessCall, RawCall, Reason, Redefinition, Rule,
    RuleSet, Scope, Settings, Shape, ShellHold, Source, SourcedRule, Standing, ToolCall, ToolName,
    ToolScopes, Touch, TrailEntry, Verdict, WayIn, WordOrigin, is_visible,
};
pub use pinfold_policy::{
    declared, foreign, grant_options, hook, hosts, input, lint, merge, patch, rule, settings, source,
};

//! The settings of all layers together, and what of them is left where they cannot be read any more.

use super::ignored::{Ignored, Renamed};
use super::{BASH, READS, SANDBOX_MODE, built_in};
use crate::mode::{BashMode, MinSeverity, Mode, Reads};
use crate::rule::{Effect, SourcedRule};
use crate::settings::{
    ApprovalSettings, GuardSettings, HookSettings, JudgeSettings, Network, NetworkSettings, PolicyTest,
    RecordSettings, SandboxSettings,
};
use crate::source::{Layer, Located, Source};

/// All layers together.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged {
    /// The rules that count, the strongest layer first.
    pub rules: Vec<SourcedRule>,
    /// The mode, for calls that no rule covers.
    pub mode: Located<Mode>,
    /// The conditions under which a command needs no question although no rule allows it.
    pub bash: Located<BashMode>,
    /// Shell of an unattended agent, on or off; may be unset.
    pub allow_bash: Option<Located<bool>>,
    /// The safeguards in force.
    pub always_ask: Located<MinSeverity>,
    /// The range of an agent's reads.
    pub reads: Located<Reads>,
    /// Ask rules hold in `bypassPermissions` and against grants of the session too.
    pub ask_rules_in_bypass: Located<bool>,
    /// Source of the lock on `bypassPermissions`: it holds for subagents, hooks and changes of mode too.
    pub bypass_locked: Option<Source>,
    /// Source of the lock that reserves allow rules to managed settings: it holds for those of agents and hooks too.
    pub managed_rules_only: Option<Source>,
    /// More folders that may be read, and written as the mode says.
    pub additional_directories: Vec<Located<String>>,
    /// Places that are guarded beyond those that are built in, and those that are not after all.
    pub guards: GuardSettings,
    /// Settings of the sandbox.
    pub sandbox: SandboxSettings,
    /// Channels to approvers.
    pub approvals: ApprovalSettings,
    /// Paths that each tool is confined to, one per layer that has some. Each of them has to let a path pass:
    /// then none can widen another.
    pub tools: Vec<Located<serde_json::Value>>,
    /// Programs that are asked before and after calls, one value per layer, the strongest layer first.
    pub hooks: Vec<Located<HookSettings>>,
    /// Hooks may answer questions of unattended agents.
    pub headless_permission_request: Located<bool>,
    /// A program that may answer routine questions in the mode `auto`.
    pub judge: Option<Located<JudgeSettings>>,
    /// Hosts that can be reached.
    pub network: NetworkSettings,
    /// Limits of the audit log.
    pub record: RecordSettings,
    /// Expectations about the settings.
    pub tests: Vec<PolicyTest>,
    /// Settings that do not count.
    pub ignored: Vec<Ignored>,
    /// Settings that are read by a former name, or with a former word.
    pub renamed: Vec<Renamed>,
}

impl Merged {
    /// Returns whether a headless agent has a shell, where settings or flags say so. `bypassPermissions` on the command line
    /// switches it on, as `--allow-bash` does; managed settings still switch it off.
    pub fn allows_bash(&self) -> Option<bool> {
        let by_mode =
            self.mode.value == Mode::BypassPermissions && self.mode.source.layer == Layer::CommandLine;
        match &self.allow_bash {
            Some(value) if !by_mode || value.source.layer <= Layer::CommandLine => Some(value.value),
            Some(_) | None => by_mode.then_some(true),
        }
    }

    /// Returns the settings that only narrow, and nothing that allows: for when a file that was read before cannot be
    /// read any more.
    #[must_use]
    pub fn closed(&self) -> Self {
        let mut closed = self.clone();
        closed.rules.retain(|rule| rule.effect != Effect::Allow);
        tighten(&mut closed.mode, Mode::looseness);
        tighten(&mut closed.bash, BASH.looseness);
        tighten(&mut closed.reads, READS.looseness);
        closed.always_ask = built_in(MinSeverity::Medium);
        closed.ask_rules_in_bypass = built_in(true);
        closed.allow_bash = Some(built_in(false));
        closed.additional_directories.clear();
        closed.guards.except.clear();
        closed.sandbox.writable.clear();
        closed.sandbox.mode.iter_mut().for_each(|mode| tighten(mode, SANDBOX_MODE.looseness));
        closed.sandbox.network = Some(built_in(Network::Off));
        closed.network =
            NetworkSettings { deny: std::mem::take(&mut closed.network.deny), ..Default::default() };
        closed.headless_permission_request = built_in(false);
        closed.approvals.webhook = None;
        closed.judge = None;
        closed
    }
}

/// Replaces a value looser than the default by the default. It stays a chosen value: an unset one may be filled in
/// by the caller that starts a session.
fn tighten<T: Copy + Default>(value: &mut Located<T>, looseness: fn(T) -> u8) {
    if looseness(value.value) > looseness(T::default()) {
        value.value = T::default();
    }
}

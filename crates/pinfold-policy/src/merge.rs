//! Layers of settings → one [`Merged`]: precedence of values, rules that count, and ignored settings.
//!
//! Lists add up, so a deny rule of any layer stands. Of single values the strongest layer's holds: managed, local,
//! project, user; only `--permission-mode` is stronger, since a `defaultMode` is only the default. A
//! layer that is not trusted may narrow and not widen: its deny and ask rules count, its allow rules do not, and
//! of its single values those that are no looser than what would hold without it. What is ignored is reported.

mod ignored;
mod merged;

use serde::Serialize;

pub use self::ignored::{Ignored, Renamed, WhyIgnored};
pub use self::merged::Merged;

use crate::mode::{BashMode, MinSeverity, Mode, Reads};
use crate::rule::{Effect, Rule, SourcedRule};
use crate::settings::{
    ApprovalSettings, Content, GuardSettings, HookSettings, Network, NetworkSettings, Pins, RecordSettings,
    SandboxMode, SandboxSettings, Secrets, Settings,
};
use crate::source::{Layer, Located, Source};

/// The settings of one layer, and whether they may widen what an agent can do.
#[derive(Debug, Clone, PartialEq)]
pub struct Layered {
    /// The settings of the layer.
    pub settings: Settings,
    /// Set if a person stands behind them: so it is for managed settings, flags and the person's own file, and for files
    /// of a project once it was trusted.
    pub trusted: bool,
}

const ALWAYS_ASK: &str = "alwaysAsk";
/// Its former name.
const IMMUNE: &str = "immune";

/// Merges the secrets: of two layers that name one secret the stronger wins; layers come the strongest first.
fn all_secrets(layers: Vec<Located<Secrets>>) -> Option<Located<Secrets>> {
    let source = layers.first()?.source.clone();
    let mut all = Secrets::default();
    for layer in layers.into_iter().rev() {
        all.0.extend(layer.value.0);
    }
    Some(Located { value: all, source })
}

/// Merges layers, given in any order.
pub fn merge(layers: &[Layered]) -> Merged {
    let mut layers: Vec<&Layered> = layers.iter().collect();
    layers.sort_by_key(|layered| layered.settings.layer);
    Merging { layers, ignored: Vec::new() }.merged()
}

/// Layers, the strongest first, and what of them does not count.
struct Merging<'a> {
    layers: Vec<&'a Layered>,
    ignored: Vec<Ignored>,
}

/// A setting of which only one value holds.
struct SingleSetting<T> {
    key: &'static str,
    of: fn(&Content) -> Option<&Located<T>>,
    /// The more an agent may do without a question, the greater.
    looseness: fn(T) -> u8,
}

// `as u8` where the choices are declared from the strictest to the loosest.
const MODE: SingleSetting<Mode> = SingleSetting {
    key: "defaultMode",
    of: |says| says.permissions.default_mode.as_ref(),
    looseness: Mode::looseness,
};
const BASH: SingleSetting<BashMode> =
    SingleSetting { key: "bash", of: |says| says.bash.as_ref(), looseness: |mode| mode as u8 };
const ALLOW_BASH: SingleSetting<bool> =
    SingleSetting { key: "allowBash", of: |says| says.allow_bash.as_ref(), looseness: u8::from };
const READS: SingleSetting<Reads> = SingleSetting {
    key: "reads",
    of: |says| says.reads.as_ref(),
    looseness: |value| match value {
        Reads::Workspace => 0,
        Reads::Anywhere => 1,
    },
};
const ASK_RULES_IN_BYPASS: SingleSetting<bool> = SingleSetting {
    key: "askRulesInBypass",
    of: |says| says.permissions.ask_rules_in_bypass.as_ref(),
    looseness: |holds| u8::from(!holds),
};
const SANDBOX_MODE: SingleSetting<SandboxMode> = SingleSetting {
    key: "sandbox.mode",
    of: |says| says.sandbox.mode.as_ref(),
    looseness: |value| value as u8,
};
const SANDBOX_NETWORK: SingleSetting<Network> = SingleSetting {
    key: "sandbox.network",
    of: |says| says.sandbox.network.as_ref(),
    looseness: |value| value as u8,
};

impl Merging<'_> {
    fn merged(mut self) -> Merged {
        let bypass_locked = self.lock("disableBypassPermissionsMode", |says| {
            [says.disable_bypass.as_ref(), says.permissions.disable_bypass.as_ref()]
        });
        let managed_rules_only = self.lock("allowManagedPermissionRulesOnly", |says| {
            [says.managed_rules_only.as_ref(), says.permissions.managed_rules_only.as_ref()]
        });
        let managed_hooks_only =
            self.lock("allowManagedHooksOnly", |says| [says.managed_hooks_only.as_ref(), None]);
        let rules = self.rules(managed_rules_only.is_some());
        let mode = self.mode(bypass_locked.as_ref());
        let bash = self.single_or_default(&BASH);
        Merged {
            rules,
            allow_bash: self.single(&ALLOW_BASH, false),
            mode,
            bash,
            always_ask: self.always_ask(),
            reads: self.single_or_default(&READS),
            ask_rules_in_bypass: self.single_or_default(&ASK_RULES_IN_BYPASS),
            additional_directories: self
                .widening("additionalDirectories", |says| &says.permissions.additional_directories),
            guards: self.guards(),
            sandbox: self.sandbox(),
            approvals: self.approvals(),
            tools: self.all(|says| says.tools.as_slice()),
            hooks: self.hooks(managed_hooks_only.is_some()),
            headless_permission_request: self.headless_permission_request(),
            judge: self.user_or_managed("judge", |says| says.judge.as_slice()).into_iter().next(),
            network: self.network(managed_rules_only.is_some()),
            record: self.record(),
            tests: self.all(|says| &says.tests),
            bypass_locked,
            managed_rules_only,
            renamed: self.renamed(),
            ignored: self.ignored(),
        }
    }

    /// Returns the source of a lock. In other than managed settings it is reported, and locks nothing.
    fn lock(
        &mut self,
        key: &str,
        of: impl for<'s> Fn(&'s Content) -> [Option<&'s Located<bool>>; 2],
    ) -> Option<Source> {
        let set = |layered: &&Layered| {
            of(&layered.settings.says).into_iter().flatten().cloned().collect::<Vec<_>>()
        };
        let (managed, elsewhere): (Vec<_>, Vec<_>) =
            self.layers.iter().flat_map(set).partition(|set| set.source.layer == Layer::Managed);
        let no_lock =
            |set: &Located<bool>| Ignored::new(key, &set.value, &set.source, WhyIgnored::ManagedOnly);
        self.ignored.extend(elsewhere.iter().map(no_lock));
        managed.into_iter().find(|set| set.value).map(|set| set.source)
    }

    fn rules(&mut self, managed_only: bool) -> Vec<SourcedRule> {
        let mut rules = Vec::new();
        for layered in &self.layers {
            let says = &layered.settings.says.permissions;
            let managed = layered.settings.layer == Layer::Managed;
            for rule in &says.allow.0 {
                if managed_only && !managed {
                    self.ignored.push(Ignored::allow_rule(rule, WhyIgnored::ManagedRulesOnly));
                } else if layered.trusted {
                    rules.push(sourced(Effect::Allow, rule));
                } else {
                    self.ignored.push(Ignored::allow_rule(rule, WhyIgnored::NotTrusted));
                }
            }
            rules.extend(says.ask.iter().map(|rule| sourced(Effect::Ask, rule)));
            rules.extend(says.deny.iter().map(|rule| sourced(Effect::Deny, rule)));
        }
        rules
    }

    /// The value that holds, if any layer has one.
    fn single<T: Copy + Serialize>(&mut self, setting: &SingleSetting<T>, default: T) -> Option<Located<T>> {
        let values = self.layer_values(setting);
        self.resolve_held(setting, values, default)
    }

    fn single_or_default<T: Copy + Serialize + Default>(&mut self, setting: &SingleSetting<T>) -> Located<T> {
        self.single(setting, T::default()).unwrap_or_else(|| built_in(T::default()))
    }

    /// Merges the mode. A flag or the call itself chooses it, all else only sets the default. Where `bypassPermissions` is
    /// locked, who says it has said `default`.
    fn mode(&mut self, bypass_locked: Option<&Source>) -> Located<Mode> {
        let mut values = self.layer_values(&MODE);
        values.sort_by_key(|(_, value)| matches!(value.source.layer, Layer::CommandLine | Layer::Call));
        for (_, value) in &mut values {
            if let (Some(lock), Mode::BypassPermissions) = (bypass_locked, value.value) {
                self.ignored.push(Ignored::new(
                    MODE.key,
                    &value.value,
                    &value.source,
                    WhyIgnored::BypassLocked,
                ));
                *value = Located { value: Mode::Default, source: lock.clone() };
            }
        }
        self.resolve_held(&MODE, values, Mode::Default).unwrap_or_else(|| built_in(Mode::Default))
    }

    /// Returns the values of each layer, the weakest first, and whether it is trusted.
    fn layer_values<T: Copy>(&self, setting: &SingleSetting<T>) -> Vec<(bool, Located<T>)> {
        let value =
            |layered: &&Layered| Some((layered.trusted, (setting.of)(&layered.settings.says)?.clone()));
        self.layers.iter().rev().filter_map(value).collect()
    }

    /// The last of what is said, where one that is not trusted changes what is held only to what is no looser.
    fn resolve_held<T: Copy + Serialize>(
        &mut self,
        setting: &SingleSetting<T>,
        values: Vec<(bool, Located<T>)>,
        default: T,
    ) -> Option<Located<T>> {
        let mut held: Option<Located<T>> = None;
        for (trusted, value) in values {
            let now = held.as_ref().map_or(default, |held| held.value);
            if trusted || (setting.looseness)(value.value) <= (setting.looseness)(now) {
                held = Some(value);
            } else {
                self.ignored.push(Ignored::new(
                    setting.key,
                    &value.value,
                    &value.source,
                    WhyIgnored::NotTrusted,
                ));
            }
        }
        held
    }

    /// The strongest layer counts; in one file the key counts before its former name.
    fn always_ask(&mut self) -> Located<MinSeverity> {
        let value = self.user_or_managed(ALWAYS_ASK, |says| says.always_ask.as_slice());
        let former = self.user_or_managed(IMMUNE, |says| says.immune.as_slice());
        let strongest = value.into_iter().chain(former).min_by_key(|value| value.source.layer);
        strongest.unwrap_or_else(|| built_in(MinSeverity::Medium))
    }

    fn renamed(&self) -> Vec<Renamed> {
        let key = |value: &Located<MinSeverity>| Renamed {
            from: IMMUNE,
            to: ALWAYS_ASK,
            source: value.source.clone(),
        };
        let in_file = |layered: &&Layered| {
            let settings = &layered.settings;
            settings.says.immune.iter().map(key).chain(settings.renamed.iter().cloned()).collect::<Vec<_>>()
        };
        self.layers.iter().flat_map(in_file).collect()
    }

    /// Hooks may let through what would have been asked about, so a layer that may not widen has none. Each one that
    /// does not count is told by itself and whole: who trusts a file lets every one of them run.
    fn hooks(&mut self, managed_only: bool) -> Vec<Located<HookSettings>> {
        let mut counting = Vec::new();
        for layered in &self.layers {
            let Some(hooks) = &layered.settings.says.hooks else { continue };
            let why_not = match (layered.trusted, managed_only && layered.settings.layer != Layer::Managed) {
                (_, true) => WhyIgnored::ManagedHooksOnly,
                (false, false) => WhyIgnored::NotTrusted,
                (true, false) => {
                    counting.push(hooks.clone());
                    continue;
                }
            };
            self.ignored.extend(hooks.value.all().map(|(event, hook)| Ignored {
                what: format!("the hook `{}` of `{}`", hook.value.asks.name(), event.as_str()),
                source: hook.source.clone(),
                why: why_not.clone(),
            }));
        }
        counting
    }

    fn headless_permission_request(&mut self) -> Located<bool> {
        let key = "headlessPermissionRequest";
        let value = self.user_or_managed(key, |says| says.headless_permission_request.as_slice());
        value.into_iter().next().unwrap_or_else(|| built_in(false))
    }

    fn guards(&mut self) -> GuardSettings {
        GuardSettings {
            write: self.all(|says| &says.guards.write),
            read: self.all(|says| &says.guards.read),
            except: self.user_or_managed("guards.except", |says| &says.guards.except),
        }
    }

    fn record(&mut self) -> RecordSettings {
        let max_size = self.user_or_managed("record.maxSize", |says| says.record.max_size.as_slice());
        let keep = self.user_or_managed("record.keep", |says| says.record.keep.as_slice());
        RecordSettings { max_size: max_size.into_iter().next(), keep: keep.into_iter().next() }
    }

    /// Merges approvals: the person and their organisation decide who can approve, and the strongest of their values holds.
    fn approvals(&mut self) -> ApprovalSettings {
        let mut first = |key, of: fn(&Content) -> &[Located<bool>]| {
            self.user_or_managed(key, |says| of(says)).into_iter().next()
        };
        let terminal = first("approvals.terminal", |says| says.approvals.terminal.as_slice());
        let socket = first("approvals.socket", |says| says.approvals.socket.as_slice());
        let timeout = self.user_or_managed("approvals.timeout", |says| says.approvals.timeout.as_slice());
        let webhook = self.user_or_managed("approvals.webhook", |says| says.approvals.webhook.as_slice());
        ApprovalSettings {
            timeout: timeout.into_iter().next(),
            terminal,
            socket,
            webhook: webhook.into_iter().next(),
        }
    }

    /// The lists of user and managed settings; of others they are told.
    fn user_or_managed<T: Clone + Serialize>(
        &mut self,
        key: &str,
        of: impl for<'s> Fn(&'s Content) -> &'s [Located<T>],
    ) -> Vec<Located<T>> {
        let may = |layered: &Layered| matches!(layered.settings.layer, Layer::User | Layer::Managed);
        self.only(key, of, may, &WhyIgnored::UserOrManagedOnly)
    }

    fn sandbox(&mut self) -> SandboxSettings {
        SandboxSettings {
            mode: self.single(&SANDBOX_MODE, SandboxMode::default()),
            writable: self.widening("sandbox.writable", |says| &says.sandbox.writable),
            deny_write: self.all(|says| &says.sandbox.deny_write),
            deny_read: self.all(|says| &says.sandbox.deny_read),
            network: self.single(&SANDBOX_NETWORK, Network::default()),
        }
    }

    /// Merges hosts: every layer may narrow; where managed settings allow no rules of others they allow no hosts of others either.
    fn network(&mut self, managed_only: bool) -> NetworkSettings {
        let allow = if managed_only {
            let managed = |layered: &Layered| layered.settings.layer == Layer::Managed;
            self.only("network.allow", |says| &says.network.allow, managed, &WhyIgnored::ManagedRulesOnly)
        } else {
            self.widening("network.allow", |says| &says.network.allow)
        };
        let mut pins = self.widening("network.hosts", |says| says.network.hosts.as_slice());
        // The strongest layer comes first, and its word about a name is the last.
        let strongest = pins.first().map(|pins| pins.source.clone());
        let mut all = Pins::default();
        for layer in pins.drain(..).rev() {
            all.0.extend(layer.value.0);
        }
        // The least value of all layers.
        let fetches = self.widening("network.fetches", |says| says.network.fetches.as_slice());
        let fetch_size = self.widening("network.fetchSize", |says| says.network.fetch_size.as_slice());
        let secrets = self.user_or_managed("network.secrets", |says| says.network.secrets.as_slice());
        NetworkSettings {
            allow,
            secrets: all_secrets(secrets),
            sockets: self.user_or_managed("network.sockets", |says| &says.network.sockets),
            fetches: fetches.into_iter().min_by_key(|fetches| fetches.value),
            fetch_size: fetch_size.into_iter().min_by_key(|size| size.value),
            deny: self.all(|says| &says.network.deny),
            ports: self.widening("network.ports", |says| &says.network.ports),
            hosts: strongest.map(|source| Located { value: all, source }),
        }
    }

    /// The lists of all layers, one after the other.
    fn all<T: Clone>(&self, of: impl for<'s> Fn(&'s Content) -> &'s [T]) -> Vec<T> {
        self.layers.iter().flat_map(|layered| of(&layered.settings.says)).cloned().collect()
    }

    /// The lists of all layers that may widen.
    fn widening<T: Clone + Serialize>(
        &mut self,
        key: &str,
        of: impl for<'s> Fn(&'s Content) -> &'s [Located<T>],
    ) -> Vec<Located<T>> {
        self.only(key, of, |layered| layered.trusted, &WhyIgnored::NotTrusted)
    }

    /// The lists of the layers that may have one; those of others are told.
    fn only<T: Clone + Serialize>(
        &mut self,
        key: &str,
        of: impl for<'s> Fn(&'s Content) -> &'s [Located<T>],
        may: impl Fn(&Layered) -> bool,
        why_not: &WhyIgnored,
    ) -> Vec<Located<T>> {
        let mut counting = Vec::new();
        for layered in &self.layers {
            let entries = of(&layered.settings.says);
            if may(layered) {
                counting.extend_from_slice(entries);
            } else {
                let ignored = |one: &Located<T>| Ignored::new(key, &one.value, &one.source, why_not.clone());
                self.ignored.extend(entries.iter().map(ignored));
            }
        }
        counting
    }

    fn ignored(self) -> Vec<Ignored> {
        let mut ignored = self.ignored;
        for bad in self.layers.iter().flat_map(|layered| &layered.settings.without_effect) {
            let why = WhyIgnored::NoRule { mend: bad.mend.clone() };
            ignored.push(Ignored { what: bad.what.clone(), source: bad.source.clone(), why });
        }
        ignored
    }
}

fn sourced(effect: Effect, rule: &Located<Rule>) -> SourcedRule {
    SourcedRule { effect, rule: rule.value.clone(), source: rule.source.clone() }
}

fn built_in<T>(value: T) -> Located<T> {
    Located { value, source: Source::plain(Layer::BuiltIn) }
}

#[cfg(test)]
mod tests;

use proptest::prelude::*;

use super::*;
use crate::hook::{Hook, HookEvent};
use crate::settings::Flags;

/// Layers as lines (`layer {…}`, a `?` behind the layer says that it is not trusted), then what holds: `= key value`
/// for each value that is not built in, `+ effect rule` for each rule, `- …` for what does not count, `~ …` for each former name.
const CASES: &str = include_str!("cases.txt");

fn layer(word: &str) -> Layer {
    [Layer::Managed, Layer::CommandLine, Layer::Local, Layer::Project, Layer::User]
        .into_iter()
        .find(|layer| layer.as_str() == word)
        .unwrap_or_else(|| panic!("{word} is no layer"))
}

fn layered(line: &str) -> Layered {
    let (name, text) = line.split_once(" {").unwrap();
    let (trusted, name) = name.strip_suffix('?').map_or((true, name), |name| (false, name));
    let settings = Settings::parse(format!("{{{text}").as_bytes(), layer(name), &"f".into());
    Layered { settings: settings.unwrap_or_else(|bad| panic!("{line}: {bad}")), trusted }
}

/// `flags MODE` in the table: `--permission-mode MODE`.
fn stands(line: &str) -> Layered {
    match line.strip_prefix("flags ") {
        Some(mode) => {
            let flags = Flags { permission_mode: Some(mode.to_owned()), ..Flags::default() };
            Layered { settings: flags.settings().unwrap(), trusted: true }
        }
        None => layered(line),
    }
}

fn shown(merged: &Merged) -> Vec<String> {
    let mut lines = Vec::new();
    let mut value = |key: &str, value: &dyn erased::Show, source: &Source| {
        if source.layer != Layer::BuiltIn {
            lines.push(format!("= {key} {} ({})", value.show(), source.layer.as_str()));
        }
    };
    value("mode", &merged.mode.value, &merged.mode.source);
    value("bash", &merged.bash.value, &merged.bash.source);
    if let Some(allow_bash) = &merged.allow_bash {
        value("allowBash", &allow_bash.value, &allow_bash.source);
    }
    value("alwaysAsk", &merged.always_ask.value, &merged.always_ask.source);
    value("reads", &merged.reads.value, &merged.reads.source);
    value("askRulesInBypass", &merged.ask_rules_in_bypass.value, &merged.ask_rules_in_bypass.source);
    if let Some(mode) = &merged.sandbox.mode {
        value("sandbox.mode", &mode.value, &mode.source);
    }
    if let Some(network) = &merged.sandbox.network {
        value("sandbox.network", &network.value, &network.source);
    }
    if let Some(size) = &merged.record.max_size {
        value("record.maxSize", &size.value.0, &size.source);
    }
    if let Some(keep) = &merged.record.keep {
        value("record.keep", &keep.value.0, &keep.source);
    }
    let ApprovalSettings { timeout, terminal, socket, webhook } = &merged.approvals;
    if let Some(timeout) = timeout {
        value("approvals.timeout", &timeout.value, &timeout.source);
    }
    if let Some(terminal) = terminal {
        value("approvals.terminal", &terminal.value, &terminal.source);
    }
    if let Some(socket) = socket {
        value("approvals.socket", &socket.value, &socket.source);
    }
    if let Some(webhook) = webhook {
        value("approvals.webhook", &webhook.value, &webhook.source);
    }
    if let Some(judge) = &merged.judge {
        value("judge", &judge.value, &judge.source);
    }
    let mut list = |key: &str, values: &[Located<String>]| {
        lines.extend(values.iter().map(|v| format!("= {key} {:?} ({})", v.value, v.source.layer.as_str())));
    };
    list("additionalDirectories", &merged.additional_directories);
    list("guards.write", &merged.guards.write);
    list("guards.except", &merged.guards.except);
    list("sandbox.writable", &merged.sandbox.writable);
    list("sandbox.denyWrite", &merged.sandbox.deny_write);
    let raw = |key: &str, values: &[Located<serde_json::Value>]| {
        values
            .iter()
            .map(|v| format!("= {key} {} ({})", v.value, v.source.layer.as_str()))
            .collect::<Vec<_>>()
    };
    lines.extend(raw("tools", &merged.tools));
    for layer in &merged.hooks {
        let hook = |(event, hook): (HookEvent, &Located<Hook>)| {
            format!("= {} {} ({})", event.as_str(), hook.value.asks.name(), layer.source.layer.as_str())
        };
        lines.extend(layer.value.all().map(hook));
    }
    if merged.headless_permission_request.value {
        lines.push("= headlessPermissionRequest true".to_owned());
    }
    let rule = |r: &SourcedRule| format!("+ {} {} ({})", r.effect.as_str(), r.rule, r.source.layer.as_str());
    lines.extend(merged.rules.iter().map(rule));
    let ignored = |i: &Ignored| format!("- {} {}: {}", i.source.layer.as_str(), i.what, i.why);
    lines.extend(merged.ignored.iter().map(ignored));
    let renamed = |r: &Renamed| format!("~ {} {}: {}", r.source.layer.as_str(), r.from, r.to);
    lines.extend(merged.renamed.iter().map(renamed));
    lines
}

mod erased {
    pub(super) trait Show {
        fn show(&self) -> String;
    }

    impl<T: serde::Serialize> Show for T {
        fn show(&self) -> String {
            serde_json::to_string(self).unwrap()
        }
    }
}

#[test]
fn every_case_of_the_table_merges_as_it_stands_there() {
    let mut seen = 0;
    for block in CASES.split("## ").skip(1) {
        let (name, rest) = block.split_once('\n').unwrap();
        let lines: Vec<_> = rest.lines().filter(|line| !line.is_empty()).collect();
        let (expected, layers): (Vec<_>, Vec<_>) =
            lines.into_iter().partition(|line| line.starts_with(['=', '+', '-', '~']));
        let mut layers: Vec<_> = layers.into_iter().map(stands).collect();
        assert_eq!(shown(&merge(&layers)), expected, "{name}");
        layers.reverse();
        assert_eq!(shown(&merge(&layers)), expected, "{name}: in another order");
        seen += 1;
    }
    assert!(seen > 20, "{seen} cases");
}

const HOOKS: &[&str] = &[
    "{\"PreToolUse\": []}",
    "{\"PreToolUse\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"true\"}]}]}",
];

const NETWORKS: &[&str] = &[
    "{\"allow\": [\"a.example\"], \"ports\": [8080]}",
    "{\"deny\": [\"a.example\"], \"hosts\": {\"b.example\": [\"10.0.0.5\"]}}",
];

/// Anything that a file may say, in short.
fn anything() -> impl Strategy<Value = String> {
    let words = |key: &'static str, words: &'static [&'static str]| {
        proptest::sample::select(words).prop_map(move |word| format!("\"{key}\": {word}"))
    };
    let permissions = (
        prop::option::of(words(
            "defaultMode",
            &["\"default\"", "\"acceptEdits\"", "\"dontAsk\"", "\"bypassPermissions\"", "\"auto\""],
        )),
        prop::option::of(words("allow", &["[\"Bash\"]", "[\"Write\", \"Bash(make)\"]"])),
        prop::option::of(words("ask", &["[\"Bash(git push *)\"]"])),
        prop::option::of(words("deny", &["[\"Bash(make)\"]"])),
        prop::option::of(words("additionalDirectories", &["[\"/\"]"])),
        prop::option::of(words("askRulesInBypass", &["true", "false"])),
        prop::option::of(words("disableBypassPermissionsMode", &["true", "false"])),
        prop::option::of(words("allowManagedPermissionRulesOnly", &["true", "false"])),
    )
        .prop_map(|(a, b, c, d, e, f, g, h)| {
            let said: Vec<_> = [a, b, c, d, e, f, g, h].into_iter().flatten().collect();
            format!("\"permissions\": {{{}}}", said.join(", "))
        });
    let rest = (
        prop::option::of(words("bash", &["\"ask\"", "\"read-only\"", "\"sandboxed\""])),
        prop::option::of(words("allowBash", &["true", "false"])),
        prop::option::of(words("alwaysAsk", &["\"medium\"", "\"high\"", "\"critical\"", "\"all\""])),
        prop::option::of(words("reads", &["\"anywhere\"", "\"workspace\""])),
        prop::option::of(words("guards", &["{\"write\": [\"a\"]}", "{\"except\": [\".git/**\"]}"])),
        prop::option::of(words(
            "sandbox",
            &[
                "{\"mode\": \"off\", \"network\": \"host\"}",
                "{\"mode\": \"read-only\"}",
                "{\"writable\": [\"/\"], \"denyWrite\": [\"x\"]}",
            ],
        )),
        prop::option::of(words("hooks", HOOKS)),
        prop::option::of(words("network", NETWORKS)),
    )
        .prop_map(|(a, b, c, d, e, f, g, h)| {
            [a, b, c, d, e, f, g, h].into_iter().flatten().collect::<Vec<_>>()
        });
    (permissions, rest).prop_map(|(permissions, mut rest)| {
        rest.push(permissions);
        format!("{{{}}}", rest.join(", "))
    })
}

fn parsed(layer: Layer, text: &str, trusted: bool) -> Layered {
    Layered { settings: Settings::parse(text.as_bytes(), layer, &"f".into()).unwrap(), trusted }
}

/// Measures how much a policy allows: no entry of a narrower one is greater.
fn width(merged: &Merged) -> Vec<usize> {
    let allows = merged.rules.iter().filter(|rule| rule.effect == Effect::Allow).count();
    let singles = [
        merged.mode.value.looseness(),
        merged.bash.value as u8,
        u8::from(merged.allow_bash.as_ref().is_some_and(|allow| allow.value)),
        merged.always_ask.value as u8,
        u8::from(merged.reads.value == Reads::Anywhere),
        u8::from(!merged.ask_rules_in_bypass.value),
        u8::from(merged.bypass_locked.is_none()),
        merged.sandbox.mode.as_ref().map_or(SandboxMode::default(), |mode| mode.value) as u8,
        merged.sandbox.network.as_ref().map_or(Network::default(), |network| network.value) as u8,
    ];
    let lists = [
        allows,
        merged.additional_directories.len(),
        merged.guards.except.len(),
        merged.sandbox.writable.len(),
        merged.hooks.len(),
        merged.network.allow.len(),
        merged.network.ports.len(),
        merged.network.hosts.iter().map(|pins| pins.value.0.len()).sum(),
    ];
    singles.into_iter().map(usize::from).chain(lists).collect()
}

/// Counts the settings that only narrow, which are never lost.
fn walls(merged: &Merged) -> usize {
    let rules = merged.rules.iter().filter(|rule| rule.effect != Effect::Allow).count();
    rules + merged.guards.write.len() + merged.sandbox.deny_write.len() + merged.network.deny.len()
}

proptest! {
    #[test]
    fn a_file_that_nobody_trusted_never_widens(user in anything(), managed in anything(), file in anything(), local in any::<bool>()) {
        let layer = if local { Layer::Local } else { Layer::Project };
        let others = vec![parsed(Layer::User, &user, true), parsed(Layer::Managed, &managed, true)];
        let without = merge(&others);
        let with = merge(&[others, vec![parsed(layer, &file, false)]].concat());
        for (with, without) in width(&with).into_iter().zip(width(&without)) {
            prop_assert!(with <= without, "{with} > {without}");
        }
        prop_assert!(walls(&with) >= walls(&without));
    }

    #[test]
    fn what_is_closed_allows_nothing_more_and_keeps_every_wall(a in anything(), b in anything(), c in anything()) {
        let open = merge(&[parsed(Layer::Managed, &a, true), parsed(Layer::Local, &b, true), parsed(Layer::User, &c, true)]);
        let closed = open.closed();
        for (closed, open) in width(&closed).into_iter().zip(width(&open)) {
            prop_assert!(closed <= open, "{closed} > {open}");
        }
        prop_assert!(closed.rules.iter().all(|rule| rule.effect != Effect::Allow));
        prop_assert_eq!(walls(&closed), walls(&open));
    }

    #[test]
    fn no_layer_takes_a_wall_away(a in anything(), b in anything(), c in anything(), d in anything()) {
        let all = [parsed(Layer::Managed, &a, true), parsed(Layer::Local, &b, true), parsed(Layer::Project, &c, true), parsed(Layer::User, &d, true)];
        let walls_alone: usize = all.iter().map(|layer| walls(&merge(std::slice::from_ref(layer)))).sum();
        prop_assert_eq!(walls(&merge(&all)), walls_alone);
    }

    #[test]
    fn a_lock_holds_against_everybody(a in anything(), b in anything(), c in anything()) {
        let lock = parsed(Layer::Managed, r#"{"disableBypassPermissionsMode": true, "allowManagedPermissionRulesOnly": true}"#, true);
        let merged = merge(&[lock, parsed(Layer::Local, &a, true), parsed(Layer::Project, &b, true), parsed(Layer::User, &c, true)]);
        prop_assert!(merged.mode.value != Mode::BypassPermissions);
        prop_assert!(merged.rules.iter().all(|rule| rule.effect != Effect::Allow));
    }
}

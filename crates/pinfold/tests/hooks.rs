//! What hooks can do on the road, and what they cannot: each power with its limit beside it.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::sync::{Arc, Mutex};

use pinfold::consent::{
    ApprovalChannel, EventReply, HookCall, HookMoment, Hooks, PermissionRequestReply, PreToolUseReply,
    Request, Update,
};
use pinfold::policy::{
    Bases, Decision, Effect, HookDecision, HookDecisionOrigin, HookEvent, Interaction, Mode, Policy,
    Principal, RuleSet,
};
use pinfold::{AssumedShells, GateResult, Plan, RawCall, Refusal, Session};
use pinfold_gate_testkit::TestApprover;
use pinfold_gate_testkit::calls::bash;
use pinfold_gate_testkit::rules::{bases, rule};
use pinfold_gate_testkit::session::open;
use pinfold_testkit::TempTree;
use serde_json::{Value, json};

/// Hooks that say what they were told to say, and remember what they were asked.
#[derive(Debug, Default)]
struct Says {
    before: Mutex<Vec<PreToolUseReply>>,
    on_question: PermissionRequestReply,
    retry: bool,
    afterwards: EventReply,
    /// Every `before` says it, too, when the input names this.
    never: Option<&'static str>,
    asked: Mutex<Vec<String>>,
}

impl Says {
    fn note(&self, what: &str, call: &HookCall<'_>) {
        let mark = if call.rewritten { " again" } else { "" };
        let mark = call.except.map_or(mark.to_owned(), |writer| format!("{mark} except {writer}"));
        let said = call.input.get("command").or(call.input.get("file_path")).and_then(Value::as_str);
        self.asked.lock().unwrap().push(format!("{what}{mark} {}", said.unwrap_or("?")));
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

impl Hooks for Says {
    fn pre_tool_use(&self, call: &HookCall<'_>) -> PreToolUseReply {
        self.note("before", call);
        let mut waiting = self.before.lock().unwrap();
        let mut said =
            if waiting.len() > 1 { waiting.remove(0) } else { waiting.first().cloned().unwrap_or_default() };
        if self.never.is_some_and(|never| call.input.to_string().contains(never)) {
            said.decision = Some(hook(Decision::Deny));
        }
        said
    }

    fn permission_request(&self, call: &HookCall<'_>, request: &Request) -> PermissionRequestReply {
        assert!(request.id.ends_with(&format!(":{}", call.id)), "one number: {} {}", request.id, call.id);
        self.note("question", call);
        self.on_question.clone()
    }

    fn permission_denied(&self, call: &HookCall<'_>, _: &Refusal) -> bool {
        self.note("refused", call);
        self.retry
    }

    fn post_tool_use(&self, call: &HookCall<'_>, done: bool, _: &Value) -> EventReply {
        self.note(if done { "done" } else { "failed" }, call);
        self.afterwards.clone()
    }

    fn event(&self, moment: &HookMoment<'_>) -> EventReply {
        self.asked.lock().unwrap().push(moment.event.as_str().to_owned());
        self.afterwards.clone()
    }
}

fn hook(decision: Decision) -> HookDecision {
    HookDecision {
        decision,
        reason: "it says so".into(),
        by: "hook.sh".into(),
        only: Vec::new(),
        origin: HookDecisionOrigin::Hook,
    }
}

fn before(decision: Decision) -> Mutex<Vec<PreToolUseReply>> {
    vec![PreToolUseReply { decision: Some(hook(decision)), ..PreToolUseReply::default() }].into()
}

fn yes() -> PermissionRequestReply {
    PermissionRequestReply { yes: Some(true), by: "hook.sh".into(), ..PermissionRequestReply::default() }
}

/// A session in which commands are asked about, with hooks and a person behind them.
struct Bed {
    _tree: TempTree,
    session: Session,
    hooks: Arc<Says>,
    approver: Arc<TestApprover>,
}

fn bed(hooks: Says, change: impl FnOnce(&mut Plan)) -> Bed {
    let tree = TempTree::new();
    let path = tree.top();
    let (hooks, approver) = (Arc::new(hooks), Arc::new(TestApprover::default()));
    let mut plan = Plan::for_folder(path)
        .with_policy(Policy::default())
        .with_shells(Arc::new(AssumedShells::in_folder(path)))
        .with_hooks(hooks.clone() as Arc<dyn Hooks>)
        .with_asking(approver.asking())
        .with_bases(bases(path));
    change(&mut plan);
    Bed { session: open(plan), _tree: tree, hooks, approver }
}

fn with_rules(plan: &mut Plan, rules: &[(Effect, &str)]) {
    let rules: Vec<_> = rules.iter().map(|(effect, text)| rule(*effect, text)).collect();
    plan.policy = std::mem::take(&mut plan.policy).with_rules(rules, &plan.bases);
}

impl Bed {
    /// What comes of a call, in a word: whether a person was asked tells more than their no.
    fn decide(&self, raw: &RawCall) -> &'static str {
        let before = self.approver.count();
        let GateResult { outcome, .. } = self.session.decide(raw);
        match outcome {
            Ok(_) => "allow",
            Err(_) if self.approver.count() > before => "ask",
            Err(_) => "deny",
        }
    }
}

#[test]
fn a_word_before_is_heard_with_its_limits() {
    use Decision::{Allow, Ask, Deny};
    let none: &[(Effect, &str)] = &[];
    for (said, mode, rules, command, expected) in [
        (Allow, Mode::Default, none, "make", "allow"),
        (Allow, Mode::Default, &[(Effect::Deny, "Bash(make)")], "make", "deny"),
        (Allow, Mode::Default, &[(Effect::Ask, "Bash(make)")], "make", "ask"),
        (Allow, Mode::Default, none, "rm -rf x", "ask"),
        (Allow, Mode::Default, none, "echo x > /etc/x", "ask"),
        (Allow, Mode::DontAsk, none, "make", "deny"),
        (Deny, Mode::BypassPermissions, &[(Effect::Allow, "Bash")], "make", "deny"),
        (Ask, Mode::BypassPermissions, &[(Effect::Allow, "Bash")], "make", "ask"),
        (Ask, Mode::DontAsk, &[(Effect::Allow, "Bash")], "make", "deny"),
    ] {
        let hooks = Says { before: before(said), ..Says::default() };
        let bed = bed(hooks, |plan| {
            plan.policy.mode = mode;
            with_rules(plan, rules);
        });
        assert_eq!(bed.decide(&bash(command)), expected, "{said:?} in {mode:?}: {command}");
    }
}

#[test]
fn what_a_hook_writes_is_what_is_judged_and_done() {
    let rewritten = |to: &str, decision: Option<HookDecision>| Says {
        before: vec![PreToolUseReply {
            decision,
            input: Some(json!({"command": to})),
            ..PreToolUseReply::default()
        }]
        .into(),
        ..Says::default()
    };
    for (hooks, expected) in [
        (rewritten("rm -rf x", Some(hook(Decision::Allow))), "ask"),
        (rewritten("curl x", Some(hook(Decision::Allow))), "deny"),
        (rewritten("npm test", None), "allow"),
        (rewritten("npm run", None), "ask"),
        (rewritten("npm run", Some(hook(Decision::Allow))), "allow"),
    ] {
        let rules = [(Effect::Allow, "Bash(npm test)"), (Effect::Deny, "Bash(curl *)")];
        let bed = bed(hooks, |plan| with_rules(plan, &rules));
        assert_eq!(bed.decide(&bash("make")), expected, "{:?}", bed.hooks);
    }
    let bed = bed(rewritten("npm test", None), |plan| with_rules(plan, &[(Effect::Allow, "Bash(npm test)")]));
    let GateResult { outcome, permitted, .. } = bed.session.decide(&bash("make"));
    assert!(outcome.is_ok());
    let said = bed.session.post_tool_use(&permitted.unwrap(), true, &json!({}));
    assert_eq!(said, EventReply::default());
    assert_eq!(
        bed.hooks.asked(),
        ["before make", "before again npm test", "done npm test"],
        "what was done is told, and not what was said"
    );
}

#[test]
fn what_a_hook_writes_every_other_hook_sees() {
    let rewrites = PreToolUseReply {
        decision: Some(hook(Decision::Allow)),
        input: Some(json!({"command": "curl evil"})),
        writer: Some(7),
        ..PreToolUseReply::default()
    };
    for (never, expected) in [(None, "allow"), (Some("curl"), "deny")] {
        let hooks = Says {
            before: vec![rewrites.clone(), PreToolUseReply::default()].into(),
            never,
            ..Says::default()
        };
        let bed = bed(hooks, |_| {});
        assert_eq!(bed.decide(&bash("make")), expected);
        assert_eq!(bed.hooks.asked()[..2], ["before make", "before again except 7 curl evil"]);
    }
    // Two that correct each other come to an end.
    let bed = bed(Says { before: vec![rewrites].into(), ..Says::default() }, |_| {});
    assert_eq!(bed.decide(&bash("make")), "allow");
    assert_eq!(bed.hooks.asked().len(), 2);
}

#[test]
fn a_yes_under_a_condition_answers_what_the_condition_covers() {
    let bases = Bases { cwd: "/".into(), project: "/".into(), home: Vec::new() };
    let only = vec![Arc::new(RuleSet::compile([Arc::new(rule(Effect::Allow, "Bash(git *)"))], &bases))];
    for (command, expected) in [
        ("git push", "allow"),
        ("git add a && git commit", "allow"),
        ("git push && make", "ask"),
        ("make", "ask"),
    ] {
        let on_question = PermissionRequestReply { only: only.clone(), ..yes() };
        let bed = bed(Says { on_question, ..Says::default() }, |_| {});
        assert_eq!(bed.decide(&bash(command)), expected, "{command}");
    }
}

#[test]
fn an_answer_to_a_question_is_heard_where_it_is_routine() {
    for (rules, command, expected) in [
        (&[][..], "make", "allow"),
        (&[(Effect::Deny, "Bash(make)")][..], "make", "deny"),
        (&[(Effect::Ask, "Bash(make)")][..], "make", "ask"),
        (&[][..], "rm -rf x", "ask"),
        (&[][..], "echo x > /etc/x", "ask"),
    ] {
        let bed = bed(Says { on_question: yes(), ..Says::default() }, |plan| with_rules(plan, rules));
        assert_eq!(bed.decide(&bash(command)), expected, "{command}");
    }
    // What a hook wants a person to see, no other hook answers.
    let hooks = Says { before: before(Decision::Ask), on_question: yes(), ..Says::default() };
    assert_eq!(bed(hooks, |_| {}).decide(&bash("make")), "ask");
}

#[test]
fn a_no_to_a_question_ends_it_and_can_stop_the_agent() {
    let no = PermissionRequestReply {
        yes: Some(false),
        message: Some("not today".into()),
        interrupt: true,
        ..yes()
    };
    let bed = bed(Says { on_question: no, retry: true, ..Says::default() }, |_| {});
    for command in ["make", "rm -rf x"] {
        let GateResult { outcome, stop, retry, permitted, .. } = bed.session.decide(&bash(command));
        let refusal = outcome.err().unwrap();
        assert!(refusal.message.contains("not today"), "{}", refusal.message);
        assert_eq!((stop.as_deref(), retry, permitted.is_none()), (Some("not today"), true, true));
    }
    assert_eq!(bed.approver.count(), 0);
    assert_eq!(bed.hooks.asked()[..3], ["before make", "question make", "refused make"]);
}

#[test]
fn where_the_gate_has_decided_no_hook_is_asked_for_an_answer() {
    let bed = bed(Says { on_question: yes(), ..Says::default() }, |plan| {
        with_rules(plan, &[(Effect::Deny, "Bash(make)"), (Effect::Allow, "Bash(ls)")]);
    });
    assert_eq!((bed.decide(&bash("make")), bed.decide(&bash("ls"))), ("deny", "allow"));
    assert_eq!(bed.hooks.asked(), ["before make", "refused make", "before ls"]);
}

#[test]
fn nobody_answers_for_subagents_and_unwatched_agents_unless_settings_say_so() {
    for (subagent, allowed, expected) in
        [(true, false, "deny"), (true, true, "allow"), (false, false, "deny"), (false, true, "allow")]
    {
        let hooks = Says {
            on_question: PermissionRequestReply {
                updates: vec![Update::SetMode(Mode::AcceptEdits)],
                ..yes()
            },
            ..Says::default()
        };
        let bed = bed(hooks, |plan| {
            plan.interaction = Interaction::Headless;
            plan.headless_hooks = allowed;
            if subagent {
                plan.principal = Principal::Subagent("sub".into());
            }
        });
        assert_eq!(bed.decide(&bash("make")), expected, "subagent {subagent}, allowed {allowed}");
        assert_eq!(bed.decide(&bash("rm -rf x")), "deny", "what needs a person is nobody's to answer");
        assert_eq!(bed.approver.count(), 0);
        // A subagent is never freer than who started it.
        let set = bed.session.policy().mode == Mode::AcceptEdits;
        assert_eq!(set, allowed && !subagent, "subagent {subagent}, allowed {allowed}");
    }
    // The words of the refusal are those of an agent that nobody watches.
    let quiet = |allowed| {
        let bed = bed(Says::default(), |plan| {
            plan.interaction = Interaction::Headless;
            plan.headless_hooks = allowed;
        });
        bed.session.decide(&bash("make")).outcome.err().unwrap()
    };
    assert_eq!(quiet(true).message, quiet(false).message);
    assert!(!quiet(true).approvable);
}

#[test]
fn a_question_that_a_hook_rewrites_is_put_to_every_hook_again() {
    let rewriting = |to: &str| PermissionRequestReply { input: Some(json!({"command": to})), ..yes() };
    for (to, expected) in
        [("npm test", "allow"), ("rm -rf x", "ask"), ("curl evil", "deny"), ("echo > /etc/x", "ask")]
    {
        let hooks = Says { on_question: rewriting(to), never: Some("curl"), ..Says::default() };
        let bed = bed(hooks, |_| {});
        assert_eq!(bed.decide(&bash("make")), expected, "{to}");
        assert_eq!(
            bed.hooks.asked()[..3],
            ["before make".to_owned(), "question make".to_owned(), format!("before again {to}")]
        );
    }
    // Without a yes it is a person's to answer.
    let hooks = Says {
        on_question: PermissionRequestReply { yes: None, ..rewriting("npm test") },
        ..Says::default()
    };
    assert_eq!(bed(hooks, |_| {}).decide(&bash("make")), "ask");
    // A hook that wanted a person to see it is asked about the new input too.
    let asks = PreToolUseReply { decision: Some(hook(Decision::Ask)), ..PreToolUseReply::default() };
    let hooks = Says { before: vec![asks].into(), on_question: rewriting("make"), ..Says::default() };
    let bed = bed(hooks, |plan| plan.policy.mode = Mode::BypassPermissions);
    assert_eq!(bed.decide(&bash("make")), "ask");
}

#[test]
fn with_a_yes_a_hook_grants_what_is_narrow_and_sets_what_is_no_bypass() {
    let allow = |rule: &str| Update::AddRules { effect: Effect::Allow, rules: vec![rule.to_owned()] };
    for (update, second, expected) in [
        (allow("Bash(npm test)"), bash("npm test"), "allow"),
        (allow("Bash(npm test)"), bash("npm run"), "ask"),
        (allow("Bash"), bash("npm test"), "ask"),
        (allow("Bash(*)"), bash("npm test"), "ask"),
        (allow("Bash(* test)"), bash("npm test"), "ask"),
        (allow("Bash(rm -rf x)"), bash("rm -rf x"), "ask"),
        (Update::SetMode(Mode::BypassPermissions), bash("npm test"), "ask"),
        (Update::SetMode(Mode::Auto), bash("npm test"), "ask"),
        (Update::SetMode(Mode::DontAsk), bash("npm test"), "deny"),
        (Update::AddRules { effect: Effect::Deny, rules: vec!["Bash(ls)".into()] }, bash("ls"), "ask"),
    ] {
        let told = format!("{update:?}");
        let hooks = Says {
            on_question: PermissionRequestReply { updates: vec![update], ..yes() },
            ..Says::default()
        };
        let bed = bed(hooks, |_| {});
        assert_eq!(bed.decide(&bash("make")), "allow");
        // From now on nobody answers by hooks: what is let through was granted.
        let grants = bed.session.grants();
        assert!(grants.iter().all(|kept| kept.by.via == ApprovalChannel::Hook));
        let quiet = self::bed(Says::default(), |plan| plan.policy = (*bed.session.policy()).clone());
        quiet.session.set_grants(grants.into_iter().map(|kept| kept.grant));
        assert_eq!(quiet.decide(&second), expected, "{told}");
    }
}

#[test]
fn where_rules_are_the_organisations_hooks_add_none() {
    let updates = vec![Update::AddRules { effect: Effect::Allow, rules: vec!["Bash(npm test)".into()] }];
    for locked in [false, true] {
        let hooks = Says {
            on_question: PermissionRequestReply { updates: updates.clone(), ..yes() },
            ..Says::default()
        };
        let bed = bed(hooks, |plan| plan.rules_locked = locked);
        assert_eq!(bed.decide(&bash("make")), "allow");
        assert_eq!(bed.session.grants().is_empty(), locked);
    }
}

#[test]
fn who_wants_the_agent_to_stop_stops_the_call_too() {
    let stop = PreToolUseReply {
        stop: Some("enough".into()),
        context: vec!["c".into()],
        ..PreToolUseReply::default()
    };
    for (decision, mode) in [(None, Mode::BypassPermissions), (Some(hook(Decision::Allow)), Mode::Default)] {
        let hooks =
            Says { before: vec![PreToolUseReply { decision, ..stop.clone() }].into(), ..Says::default() };
        let bed = bed(hooks, |plan| plan.policy.mode = mode);
        let GateResult { outcome, stop, context, .. } = bed.session.decide(&bash("make"));
        assert!(outcome.err().unwrap().message.contains("enough"));
        assert_eq!((stop.as_deref(), &context[..]), (Some("enough"), &["c".to_owned()][..]));
    }
}

/// Asks whether rules are about the call it is shown.
#[derive(Debug)]
struct Condition(RuleSet, Mutex<Vec<bool>>);

impl Hooks for Condition {
    fn pre_tool_use(&self, call: &HookCall<'_>) -> PreToolUseReply {
        self.1.lock().unwrap().push((call.touches)(&self.0));
        PreToolUseReply::default()
    }

    fn permission_request(&self, _: &HookCall<'_>, _: &Request) -> PermissionRequestReply {
        PermissionRequestReply::default()
    }

    fn permission_denied(&self, _: &HookCall<'_>, _: &Refusal) -> bool {
        false
    }

    fn post_tool_use(&self, _: &HookCall<'_>, _: bool, _: &Value) -> EventReply {
        EventReply::default()
    }

    fn event(&self, _: &HookMoment<'_>) -> EventReply {
        EventReply::default()
    }
}

#[test]
fn a_condition_is_asked_of_the_policy_itself() {
    let tree = TempTree::new().with_dirs(["src"]);
    tree.link("alias", "src");
    let bases = bases(tree.top());
    for (text, raw, expected) in [
        ("Bash(git *)", bash("git status"), true),
        ("Bash(git *)", bash("make && sudo git push"), true),
        ("Bash(git *)", bash("make"), false),
        ("Edit(./src/**)", RawCall::new("Write", json!({"file_path": "src/a", "content": ""})), true),
        ("Edit(./src/**)", RawCall::new("Write", json!({"file_path": "alias/a", "content": ""})), true),
        ("Edit(./src/**)", RawCall::new("Write", json!({"file_path": "a", "content": ""})), false),
        // What is not understood is about anything: a guard has to see it.
        ("Bash(git *)", RawCall::new("Bash", json!({"command": 5})), true),
        ("Bash(git *)", RawCall::new("Nonsense", json!({})), false),
    ] {
        let set = RuleSet::compile([Arc::new(rule(Effect::Allow, text))], &bases);
        let hooks = Arc::new(Condition(set, Mutex::default()));
        let plan = Plan::for_folder(tree.top()).with_hooks(hooks.clone() as Arc<dyn Hooks>);
        let _ = open(plan).decide(&raw);
        assert_eq!(*hooks.1.lock().unwrap(), [expected], "{text}: {} {}", raw.tool, raw.input);
    }
}

#[test]
fn other_moments_are_told_and_text_comes_back() {
    let afterwards = EventReply { context: vec!["mind the gap".into()], ..EventReply::default() };
    let bed = bed(Says { afterwards: afterwards.clone(), ..Says::default() }, |_| {});
    assert_eq!(bed.session.event(HookEvent::SessionStart, &json!({"source": "startup"})), afterwards);
    assert_eq!(bed.hooks.asked(), ["SessionStart"]);
}

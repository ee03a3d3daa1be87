//! Programs as hooks: what they are told, what they answer, how they fail, and that nothing of them is left.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops where it fails"
)]

use std::fs;
use std::time::{Duration, Instant};

use pinfold::policy::{HookEvent, Interaction, Mode, Principal};
use pinfold::{GateResult, RawCall};
use pinfold_gate_testkit::calls::bash;
use pinfold_testkit::processes::until;
use serde_json::{Value, json};

use crate::kit::{Bed, command, runs, with};

fn says(answer: &Value) -> Value {
    command(&format!("cat <<'END'\n{answer}\nEND"))
}

fn word(word: &str) -> Value {
    says(&json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": word}}))
}

#[test]
fn programs_allow_deny_ask_and_write() {
    let bed = Bed::new();
    for (hook, line, expected) in [
        (word("allow"), "make", "allow"),
        (word("allow"), "rm -rf x", "ask"),
        (word("deny"), "make", "deny"),
        (word("ask"), "cat a", "ask"),
        (command("true"), "make", "ask"),
        (command("echo no >&2; exit 2"), "make", "deny"),
        (
            says(&json!({"permissionDecision": "allow", "updatedInput": {"command": "rm -rf x"}})),
            "make",
            "ask",
        ),
        (
            says(&json!({"permissionDecision": "allow", "updatedInput": {"command": "npm test"}})),
            "make",
            "allow",
        ),
        // A script of its own, which looks at what it is told.
        (
            json!({"type": "command", "command": bed.script("guard.sh", "#!/bin/sh\ngrep -q 'git push' && { echo 'push by hand' >&2; exit 2; }\nexit 0\n").display().to_string()}),
            "git push",
            "deny",
        ),
        (command("./guard.sh"), "git pull", "ask"),
        (command("\"$PINFOLD_PROJECT_DIR\"/guard.sh"), "git push", "deny"),
        (json!({"type": "command", "command": "./guard.sh", "args": []}), "git push", "deny"),
        (with(command("[[ 1 == 1 ]] && exit 2"), "shell", "bash"), "make", "deny"),
    ] {
        let session = bed.before(&hook);
        assert_eq!(bed.decide(&session, line), expected, "{hook}: {line}");
        assert_eq!(bed.told(), [""; 0], "{hook}: {line}");
    }
}

#[test]
fn a_no_is_told_with_the_words_of_the_hook() {
    let bed = Bed::new();
    let session = bed.before(&command("echo 'use `just build`' >&2; exit 2"));
    let refusal = session.decide(&bash("make")).outcome.err().unwrap();
    assert!(refusal.message.contains("use `just build`"), "{}", refusal.message);
}

#[test]
fn what_fails_has_no_say_unless_it_fails_closed() {
    let bed = Bed::new();
    fs::write(bed.folder.join("not-executable"), "#!/bin/sh\nexit 2\n").unwrap();
    fs::write(bed.folder.join("no-format"), [0_u8, 1, 2]).unwrap();
    bed.script("no-interpreter", "#!/nowhere/sh\n");
    for (hook, told) in [
        (command("exit 1"), "it ended with 1"),
        (command("echo broken >&2; exit 3"), "it ended with 3: broken"),
        (command("kill -SEGV $$"), "it ended with a signal"),
        (command("echo '{not json'"), "its answer is no JSON"),
        (command("echo hello"), "what it said is no answer: hello"),
        (command("printf '\\377\\376{'"), "what it said is no answer"),
        (command("echo '{\"permissionDecision\":\"alow\"}'"), "`permissionDecision` says `alow`"),
        (command("./missing.sh"), "it ended with 127"),
        (command("./not-executable"), "it ended with 126"),
        (json!({"type": "command", "command": "./missing", "args": []}), "it cannot be started"),
        (json!({"type": "command", "command": "no-such-program", "args": ["x"]}), "it cannot be started"),
        (json!({"type": "command", "command": "./not-executable", "args": []}), "it cannot be started"),
        (json!({"type": "command", "command": "./no-interpreter", "args": []}), "it cannot be started"),
        (with(command("sleep 30"), "timeout", 0.1), "no answer within 0.1 s"),
        (
            command("head -c 3000000 /dev/zero | tr '\\0' x | sed 's/^/{/'"),
            "its answer is longer than any that is read",
        ),
    ] {
        for (closed, expected) in [(false, "ask"), (true, "deny")] {
            let session = bed.before(&with(hook.clone(), "failClosed", closed));
            assert_eq!(bed.decide(&session, "make"), expected, "{hook} closed: {closed}");
            let heard = bed.told();
            assert!(heard.len() == 1 && heard[0].contains(told), "{hook}: {heard:?}");
            let how = if closed { "failed, so the call is denied" } else { "failed and had no say" };
            assert!(heard[0].contains(how) && heard[0].contains("settings.json:1:"), "{heard:?}");
        }
        // A yes of another hook does not make up for it, and none comes of it.
        let both =
            json!({"PreToolUse": [{"hooks": [with(hook.clone(), "onFailure", "block"), word("allow")]}]});
        assert_eq!(bed.decide(&bed.session(&both), "make"), "deny", "{hook}");
        bed.told();
    }
}

#[test]
fn a_hook_in_a_folder_that_is_gone_fails() {
    let bed = Bed::new();
    let session = bed.before(&with(word("allow"), "failClosed", true));
    fs::remove_dir_all(&bed.folder).unwrap();
    assert_eq!(bed.decide(&session, "make"), "deny");
    assert!(bed.told()[0].contains("it cannot be started"));
}

/// Whatever is started, in the foreground or behind, in a group or session of its own or without its environment, is
/// gone when the time is over.
#[test]
fn when_its_time_is_over_a_hook_is_gone_with_everything_it_started() {
    let bed = Bed::new();
    let waits = "echo $$ >> pids; trap '' TERM HUP INT; while :; do sleep 1; done";
    bed.script("waits.sh", &format!("#!/bin/sh\n{waits}\n"));
    bed.script(
        "starts.sh",
        "#!/bin/sh\n./waits.sh &\nsetsid ./waits.sh &\n(setsid setsid ./waits.sh &)\nenv -i /bin/sh ./waits.sh &\n\
         env -i setsid /bin/sh ./waits.sh &\nnohup ./waits.sh >/dev/null 2>&1 &\n(exec 0<&- 1>&- 2>&-; ./waits.sh) &\n\
         exec ./waits.sh\n",
    );
    let session = bed.before(&with(command("./starts.sh"), "timeout", 1.5));
    let from = Instant::now();
    assert_eq!(bed.decide(&session, "make"), "ask");
    assert!(from.elapsed() < Duration::from_secs(6), "{:?}", from.elapsed());
    let pids = bed.read("pids");
    assert_eq!(pids.lines().count(), 8, "the control: all of them ran: {pids}");
    until("all of them are gone", || !pids.lines().any(runs));
}

#[test]
fn nobody_else_is_ended() {
    let bed = Bed::new();
    let mut other = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let session = bed.before(&with(command("sleep 60"), "timeout", 0.2));
    assert_eq!(bed.decide(&session, "make"), "ask");
    assert!(runs(&other.id().to_string()));
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn somebody_who_goes_on_behind_does_not_hold_up_the_answer() {
    let bed = Bed::new();
    let session = bed
        .before(&command("(sleep 5; echo late) & echo $! > pid; echo '{\"permissionDecision\":\"allow\"}'"));
    let from = Instant::now();
    assert_eq!(bed.decide(&session, "make"), "allow");
    assert!(from.elapsed() < Duration::from_secs(3), "{:?}", from.elapsed());
    // A hook that ends well may leave something running: it is the person's program.
    assert!(runs(&bed.read("pid")));
}

#[test]
fn much_output_is_bounded_and_comes_to_an_end() {
    let bed = Bed::new();
    let flood = "head -c 10000000 /dev/zero | tr '\\0' x";
    for (line, expected) in [
        (format!("{flood}; {flood} >&2"), "ask"),
        (format!("{flood} >&2; echo '{{\"permissionDecision\":\"allow\"}}'"), "allow"),
        (format!("{flood} >&2; exit 2"), "deny"),
        (format!("{flood}; echo no >&2; exit 2"), "deny"),
    ] {
        let session = bed.before(&command(&line));
        let decided = session.decide(&bash("make"));
        if let Err(refusal) = &decided.outcome {
            assert!(refusal.message.len() < 20_000, "{}", refusal.message.len());
        }
        assert_eq!(bed.outcome(&decided), expected, "{line}");
    }
    // Without end: its time is.
    let session = bed.before(&with(command("yes"), "timeout", 0.5));
    let from = Instant::now();
    assert_eq!(bed.decide(&session, "make"), "ask");
    assert!(from.elapsed() < Duration::from_secs(5), "{:?}", from.elapsed());
}

#[test]
fn a_hook_need_not_read_what_it_is_told() {
    let bed = Bed::new();
    let long = format!("echo {}", "x".repeat(5_000_000));
    for line in [
        "exec 0<&-; echo '{\"permissionDecision\":\"deny\"}'",
        "echo '{\"permissionDecision\":\"deny\"}'",
        "head -c 10 > /dev/null; exit 2",
    ] {
        assert_eq!(bed.decide(&bed.before(&command(line)), &long), "deny", "{line}");
    }
    let counts = bed.before(&command("wc -c > told; exit 0"));
    assert_eq!(bed.decide(&counts, &long), "ask");
    assert!(bed.read("told").trim().parse::<usize>().unwrap() > 5_000_000);
}

#[test]
fn hooks_are_told_what_the_hooks_of_others_are_told() {
    let bed = Bed::new();
    let saves = |name: &str| command(&format!("cat > {name}.json; env > {name}.env; pwd > {name}.pwd"));
    let group = |name: &str| json!([{"hooks": [saves(name)]}]);
    let hooks = json!({
        "PreToolUse": group("pre"), "PermissionRequest": group("question"), "PermissionDenied": group("denied"),
        "PostToolUse": group("post"), "PostToolUseFailure": group("failure"),
    });
    let session = bed.session_with(&hooks, |plan| plan.id = "s1".to_owned());
    let GateResult { outcome, .. } = session.decide(&bash("make"));
    assert!(outcome.is_err());
    let told = |name: &str| -> Value { serde_json::from_str(&bed.read(&format!("{name}.json"))).unwrap() };
    let folder = bed.folder.display().to_string();
    let common = |event: &str, call: u64| {
        json!({
            "session_id": "s1", "cwd": folder, "permission_mode": "default", "hook_event_name": event,
            "tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": format!("s1:{call}"),
        })
    };
    let and = |mut value: Value, key: &str, more: Value| {
        value[key] = more;
        value
    };
    assert_eq!(told("pre"), common("PreToolUse", 1));
    assert_eq!(told("question"), and(common("PermissionRequest", 1), "permission_suggestions", json!([])));
    let denied = told("denied");
    assert!(denied["reason"].as_str().unwrap().contains("the approver said no"), "{denied}");
    assert_eq!(denied, and(common("PermissionDenied", 1), "reason", denied["reason"].clone()));
    assert_eq!(bed.read("pre.pwd").trim(), folder);
    let environment = bed.read("pre.env");
    for line in [format!("PINFOLD_PROJECT_DIR={folder}"), format!("CLAUDE_PROJECT_DIR={folder}")] {
        assert!(environment.lines().any(|own| own == line), "{environment}");
    }
    assert!(!environment.contains("CARGO"), "nothing of this process's own environment: {environment}");

    let write = RawCall::new("Write", json!({"file_path": "a.txt", "content": "a\n"}));
    let allowing = bed.session_with(&hooks, |plan| {
        (plan.id, plan.policy.mode, plan.principal) =
            ("s2".to_owned(), Mode::AcceptEdits, Principal::Subagent("helper".into()));
    });
    let reply = pinfold_tools::call(&allowing, &write);
    let post = told("post");
    assert_eq!(post["tool_response"], reply.structured);
    let ids = |told: &Value| {
        (
            told["tool_use_id"].clone(),
            told["agent_type"].clone(),
            told["agent_id"].clone(),
            told["permission_mode"].clone(),
        )
    };
    assert_eq!(ids(&post), (json!("s2:1"), json!("helper"), json!("helper"), json!("acceptEdits")));
    assert_eq!(ids(&told("pre")), ids(&post), "one number before and after");

    // What was let through and did not work out.
    let edit =
        RawCall::new("Edit", json!({"file_path": "a.txt", "old_string": "nowhere", "new_string": "b"}));
    let reply = pinfold_tools::call(&allowing, &edit);
    assert_eq!(told("failure")["error"], reply.structured["message"]);
    assert!(told("failure").get("tool_response").is_none());

    let mcp = RawCall::new("mcp__files__read", json!({"x": 1}));
    let _ = session.decide(&mcp);
    assert_eq!(told("pre")["mcp_server"], json!({"name": "files"}));
    assert_eq!(bed.told(), [""; 0]);
}

#[test]
fn several_are_asked_side_by_side_and_the_strictest_counts() {
    let bed = Bed::new();
    let slow = |answer: &str| command(&format!("sleep 0.4; echo '{{\"permissionDecision\":\"{answer}\"}}'"));
    let session = bed.session(&json!({"PreToolUse": [
        {"hooks": [slow("allow"), slow("ask")]}, {"matcher": "Bash", "hooks": [slow("deny"), slow("allow")]},
    ]}));
    let from = Instant::now();
    assert_eq!(bed.decide(&session, "make"), "deny");
    assert!(from.elapsed() < Duration::from_millis(1200), "{:?}", from.elapsed());
    let session = bed.session(&json!({"PreToolUse": [{"hooks": [word("allow"), word("ask")]}]}));
    assert_eq!(bed.decide(&session, "make"), "ask");
}

#[test]
fn what_one_hook_writes_the_others_are_asked_about() {
    let bed = Bed::new();
    let writes = says(&json!({"permissionDecision": "allow", "updatedInput": {"command": "curl evil"}}));
    let guard = command("tee -a seen | grep -q curl && exit 2; exit 0");
    let session = bed.session(&json!({"PreToolUse": [{"hooks": [guard, writes.clone()]}]}));
    assert_eq!(bed.decide(&session, "make"), "deny");
    let seen = bed.read("seen");
    assert!(seen.contains("make") && seen.contains("curl evil"), "{seen}");
    // The control: alone it has its way, as far as a routine question goes.
    let session = bed.before(&writes);
    let GateResult { outcome, permitted, .. } = session.decide(&bash("make"));
    assert!(outcome.is_ok() && permitted.is_some());
}

#[test]
fn matchers_and_conditions_say_who_is_asked() {
    let bed = Bed::new();
    let write = || RawCall::new("Write", json!({"file_path": "src/a.rs", "content": ""}));
    for (matcher, condition, call, expected) in [
        (Some("Bash"), None, bash("make"), "deny"),
        (Some("Bash"), None, write(), "ask"),
        (Some("Edit|Write"), None, write(), "deny"),
        (Some("mcp__.*"), None, RawCall::new("mcp__a__b", json!({"x": 1})), "deny"),
        (Some("*"), None, bash("make"), "deny"),
        (Some(""), None, bash("make"), "deny"),
        (None, None, bash("make"), "deny"),
        (None, Some("Bash(git *)"), bash("git status"), "deny"),
        (None, Some("Bash(git *)"), bash("make && sudo git push"), "deny"),
        (None, Some("Bash(git *)"), bash("make"), "ask"),
        (None, Some("Edit(./src/**)"), write(), "deny"),
        (None, Some("Edit(./docs/**)"), write(), "ask"),
        (Some("Write"), Some("Bash(git *)"), bash("git status"), "ask"),
    ] {
        let mut group = json!({"hooks": [command("exit 2")]});
        if let Some(matcher) = matcher {
            group["matcher"] = json!(matcher);
        }
        if let Some(condition) = condition {
            group["hooks"][0]["if"] = json!(condition);
        }
        let session = bed.session(&json!({"PreToolUse": [group]}));
        assert_eq!(bed.outcome(&session.decide(&call)), expected, "{group}: {} {}", call.tool, call.input);
    }
    // A yes under a condition is one to what the condition covers.
    let session = bed.before(&with(word("allow"), "if", "Bash(git *)"));
    assert_eq!(bed.decide(&session, "git push"), "allow");
    assert_eq!(bed.decide(&session, "git push && make"), "ask");
}

#[test]
fn a_hook_that_is_asked_once_is_asked_once_in_each_session() {
    let bed = Bed::new();
    let hook = with(word("allow"), "once", true);
    let session = bed.session_with(&json!({"PreToolUse": [{"hooks": [hook]}]}), |plan| plan.id = "a".into());
    assert_eq!((bed.decide(&session, "make"), bed.decide(&session, "make")), ("allow", "ask"));
}

#[test]
fn in_the_background_a_hook_has_no_say_and_is_not_waited_for() {
    let bed = Bed::new();
    let line = "cat > told; sleep 1; echo done > done; echo '{\"permissionDecision\":\"allow\"}'; exit 2";
    let session = bed.before(&with(command(line), "async", true));
    let from = Instant::now();
    assert_eq!(bed.decide(&session, "make"), "ask");
    assert!(from.elapsed() < Duration::from_millis(900), "{:?}", from.elapsed());
    until("it was told and ended", || bed.read("done") == "done\n");
    assert!(bed.read("told").contains("make"));
    let slow = with(with(command("echo $$ > pid; sleep 60"), "async", true), "timeout", 0.5);
    assert_eq!(bed.decide(&bed.before(&slow), "make"), "ask");
    until("it was started", || !bed.read("pid").is_empty());
    until("its time is over", || !runs(&bed.read("pid")));
    let missing = with(json!({"type": "command", "command": "./missing", "args": []}), "async", true);
    assert_eq!(bed.decide(&bed.before(&missing), "make"), "ask");
    assert!(bed.told()[0].contains("it cannot be started"));
}

#[test]
fn answers_to_questions_and_what_comes_with_them() {
    let bed = Bed::new();
    let answer = |decision: Value| {
        says(&json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}))
    };
    let asked = |hook: Value| bed.session(&json!({"PermissionRequest": [{"hooks": [hook]}]}));
    let session = asked(answer(json!({"behavior": "allow"})));
    assert_eq!((bed.decide(&session, "make"), bed.decide(&session, "rm -rf x")), ("allow", "ask"));
    let session = asked(answer(json!({"behavior": "deny", "message": "not now", "interrupt": true})));
    let GateResult { outcome, stop, .. } = session.decide(&bash("make"));
    assert!(outcome.err().unwrap().message.contains("not now"));
    assert_eq!(stop.as_deref(), Some("not now"));
    let closed = with(command("exit 1"), "failClosed", true);
    assert_eq!(bed.decide(&asked(closed), "make"), "deny");

    let grant = json!({"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "npm test"}], "behavior": "allow", "destination": "session"});
    let once = with(
        answer(json!({"behavior": "allow", "updatedPermissions": [grant, {"addRules": ["Bash"]}]})),
        "once",
        true,
    );
    bed.told();
    let session = asked(once);
    assert_eq!(bed.decide(&session, "make"), "allow");
    assert!(bed.told()[0].contains("it covers too much"));
    assert_eq!((bed.decide(&session, "npm test"), bed.decide(&session, "make")), ("allow", "ask"));

    let headless = json!({"PermissionRequest": [{"hooks": [answer(json!({"behavior": "allow"}))]}]});
    for (may, expected) in [(false, "deny"), (true, "allow")] {
        let session = bed.session_with(&headless, |plan| {
            (plan.interaction, plan.headless_hooks) = (Interaction::Headless, may);
        });
        assert_eq!(bed.decide(&session, "make"), expected);
    }
}

#[test]
fn what_hooks_say_reaches_the_model_with_the_reply() {
    let bed = Bed::new();
    let context = |event: &str, text: &str| {
        says(&json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}))
    };
    let session = bed.session_with(
        &json!({
            "PreToolUse": [{"hooks": [context("PreToolUse", "before it")]}],
            "PostToolUse": [
                {"matcher": "Write", "hooks": [context("PostToolUse", "after it"), command("cat >/dev/null; echo 'line 1: too long' >&2; exit 2")]},
                {"matcher": "Glob", "hooks": [says(&json!({"continue": false, "stopReason": "that is enough"}))]},
            ],
            "PermissionDenied": [{"hooks": [says(&json!({"hookSpecificOutput": {"hookEventName": "PermissionDenied", "retry": true}}))]}],
            "SessionStart": [{"matcher": "startup", "hooks": [command("echo 'the build is broken'")]}],
        }),
        |plan| plan.policy.mode = Mode::AcceptEdits,
    );
    let started = session.event(HookEvent::SessionStart, &json!({"source": "startup"}));
    assert_eq!(started.context, ["the build is broken"]);
    assert!(session.event(HookEvent::SessionStart, &json!({"source": "resume"})).context.is_empty());
    let reply = pinfold_tools::call(
        &session,
        &RawCall::new("Write", json!({"file_path": "a.txt", "content": "a\n"})),
    );
    for part in ["before it", "after it", "line 1: too long"] {
        assert!(reply.text().contains(part), "{}", reply.text());
    }
    assert_eq!(bed.read("a.txt"), "a\n", "what is done stays done");
    let reply = pinfold_tools::call(&session, &RawCall::new("Glob", json!({"pattern": "*"})));
    assert_eq!(reply.stop.as_deref(), Some("that is enough"));
    let reply =
        pinfold_tools::call(&session, &RawCall::new("Write", json!({"file_path": "/etc/x", "content": ""})));
    assert!(reply.text().contains("try again") && reply.stop.is_none(), "{}", reply.text());
}

#[test]
fn other_moments_have_kinds_and_can_be_held_up() {
    let bed = Bed::new();
    let session = bed.session(&json!({
        "Stop": [{"hooks": [command("echo 'run the tests first' >&2; exit 2")]}],
        "UserPromptSubmit": [{"hooks": [command("cat > prompt; echo 'on branch main'")]}],
        "SubagentStart": [{"matcher": "helper", "hooks": [command("exit 2"), command("echo '{\"hookSpecificOutput\":{\"hookEventName\":\"SubagentStart\",\"additionalContext\":\"be brief\"}}'")]}],
        "SessionEnd": [{"matcher": "clear|other", "hooks": [command("cat > end")]}],
    }));
    assert_eq!(session.event(HookEvent::Stop, &json!({})).blocked.as_deref(), Some("run the tests first"));
    let said =
        session.event(HookEvent::UserPromptSubmit, &json!({"prompt": "do it", "session_id": "another"}));
    assert_eq!((said.context, said.blocked), (vec!["on branch main".to_owned()], None));
    let told: Value = serde_json::from_str(&bed.read("prompt")).unwrap();
    assert_eq!(
        (told["prompt"].as_str(), told["session_id"].as_str(), told["permission_mode"].as_str()),
        (Some("do it"), Some("main"), Some("default"))
    );
    let said = session.event(HookEvent::SubagentStart, &json!({"agent_type": "helper"}));
    assert_eq!((said.context, said.blocked), (vec!["be brief".to_owned()], None));
    assert!(session.event(HookEvent::SubagentStart, &json!({"agent_type": "other"})).context.is_empty());
    let _ = session.event(HookEvent::SessionEnd, &json!({"reason": "resume"}));
    assert_eq!(bed.read("end"), "");
    let _ = session.event(HookEvent::SessionEnd, &json!({"reason": "other"}));
    assert!(bed.read("end").contains("\"reason\":\"other\""));
    let _ = session.event(HookEvent::Notification, &json!({"message": "x"}));
}

#[test]
fn hooks_that_start_one_another_come_to_an_end() {
    let mut bed = Bed::new();
    bed.environment.push(("PINFOLD_HOOK_DEPTH".into(), "3".into()));
    let session = bed.before(&with(word("allow"), "failClosed", true));
    assert_eq!(bed.decide(&session, "make"), "deny");
    assert!(bed.told()[0].contains("hooks start one another"));
    bed.environment.pop();
    bed.environment.push(("PINFOLD_HOOK_DEPTH".into(), "2".into()));
    let session = bed.before(&command("test \"$PINFOLD_HOOK_DEPTH\" = 3 && exit 2"));
    assert_eq!(bed.decide(&session, "make"), "deny");
}

#[test]
fn where_nothing_is_meant_nothing_is_started() {
    let bed = Bed::new();
    assert!(bed.session(&json!({})).event(HookEvent::SessionStart, &json!({})).context.is_empty());
    let session =
        bed.session(&json!({"PreToolUse": [{"matcher": "Edit", "hooks": [command("touch started")]}]}));
    assert_eq!(bed.decide(&session, "make"), "ask");
    assert!(!bed.folder.join("started").exists());
}

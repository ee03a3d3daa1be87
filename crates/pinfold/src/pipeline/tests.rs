use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pinfold_paths::Ambient;
use pinfold_policy::Bases;
use serde_json::{Value, json};

use super::*;
use crate::audit::Memory;
use crate::consent::hooks::{EventReply, HookCall, HookMoment, Hooks, PreToolUseReply};
use crate::consent::request::Request;
use crate::parsed_call::count;
use crate::plan::Plan;
use crate::shell::AssumedShells;

/// An approver that looks many times whether it is still asked, then says yes.
#[derive(Debug, Default)]
struct Patient(AtomicUsize);

impl Approver for Patient {
    fn ask(&self, request: &Request, still_asked: &(dyn Fn() -> bool + Sync)) -> ApproverResponse {
        for _ in 0..5 {
            assert!(still_asked());
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        let (id, digest) = (request.id.clone(), request.digest.clone());
        ApproverResponse::Answer(Answer { id, digest, choice: Choice::Yes, by: AnsweredBy::default() })
    }
}

/// Hooks with a condition, one of which writes the input anew where `rewrites`.
#[derive(Debug)]
struct Conditional {
    rules: RuleSet,
    rewrites: bool,
}

impl Conditional {
    fn look(&self, call: &HookCall<'_>) {
        assert!((call.touches)(&self.rules));
    }
}

impl Hooks for Conditional {
    fn pre_tool_use(&self, call: &HookCall<'_>) -> PreToolUseReply {
        self.look(call);
        let input = self.rewrites.then(|| json!({"command": "rm -r other"}));
        PreToolUseReply { input, ..PreToolUseReply::default() }
    }

    fn permission_request(&self, call: &HookCall<'_>, _request: &Request) -> PermissionRequestReply {
        self.look(call);
        PermissionRequestReply::default()
    }

    fn permission_denied(&self, call: &HookCall<'_>, _refusal: &Refusal) -> bool {
        self.look(call);
        false
    }

    fn post_tool_use(&self, call: &HookCall<'_>, _done: bool, _result: &Value) -> EventReply {
        self.look(call);
        EventReply::default()
    }

    fn event(&self, _moment: &HookMoment<'_>) -> EventReply {
        EventReply::default()
    }
}

fn session(folder: &std::path::Path, rewrites: bool) -> (Session, Arc<Patient>) {
    let approver = Arc::new(Patient::default());
    let folder = folder.canonicalize().unwrap();
    let rule = SourcedRule {
        effect: Effect::Deny,
        rule: Rule::parse("Bash(rm *)").unwrap(),
        source: Source::plain(pinfold_policy::Layer::User),
    };
    let rules = RuleSet::compile([Arc::new(rule)], &Bases::default());
    let plan = Plan {
        asking: Some(ApprovalOptions {
            approver: Arc::clone(&approver) as Arc<dyn Approver>,
            timeout: std::time::Duration::from_mins(1),
            locations: None,
        }),
        hooks: Some(Arc::new(Conditional { rules, rewrites })),
        shells: Some(Arc::new(AssumedShells::in_folder(folder.clone()))),
        ..Plan::for_folder(folder)
    };
    let session = Session::open(&Ambient::claim(), plan, Arc::new(Memory::default())).unwrap();
    (session, approver)
}

#[test]
fn a_call_is_parsed_once_however_often_it_is_judged() {
    let folder = tempfile::tempdir().unwrap();
    // A hook that writes another input makes another call of it, which is parsed once too.
    for (rewrites, expected) in [(false, 1), (true, 2)] {
        let (session, approver) = session(folder.path(), rewrites);
        let raw = RawCall::new("Bash", json!({"command": "rm -r build && echo done"}));
        count::take();
        let decided = session.decide(&raw);
        assert_eq!(approver.0.load(Ordering::Relaxed), 5, "it was asked about");
        assert!(decided.outcome.is_ok());
        session.post_tool_use(&decided.permitted.unwrap(), true, &Value::Null);
        assert_eq!(count::take(), expected, "hooks, survey, judge, five looks, the yes and the outcome");
    }
}

#[test]
fn an_embedder_that_asks_itself_parses_once() {
    let folder = tempfile::tempdir().unwrap();
    let (session, _) = session(folder.path(), false);
    count::take();
    let Ruling::Question(question) = session.submit(&RawCall::new("Bash", json!({"command": "rm -r build"})))
    else {
        panic!("it is asked about")
    };
    let (id, digest) = (question.request.id.clone(), question.request.digest.clone());
    let yes = Answer { id, digest, choice: Choice::Yes, by: AnsweredBy::default() };
    assert!(matches!(session.answer(*question, &yes), Ruling::Permit(_)));
    assert_eq!(count::take(), 1);
}

#[test]
fn a_command_line_is_parsed_in_one_place_of_this_crate() {
    let sources = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut parsing = Vec::new();
    let mut folders = vec![sources.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("pipeline/tests.rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                if ["Claims::from_call(", "shell::parse(", "pinfold_shell", "pinfold_commands::analyze"]
                    .iter()
                    .any(|parse| text.contains(parse))
                {
                    parsing.push(path.strip_prefix(&sources).unwrap().display().to_string());
                }
            }
        }
    }
    parsing.sort();
    // The second looks for programs in the hooks of settings, where there is no call.
    assert_eq!(parsing, ["parsed_call.rs", "settings/hook_files.rs"]);
}

//! What the gate writes down, whatever is said to it: every line is as the published schema says, and no secret is in it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pinfold::audit::read::Read;
use pinfold::audit::{
    AuditEvent, EndEvent, Journal, Ledger, Limits, LogReader, Memory, NotWrittenEvent, Record, RecordedHost,
    RefusalEvent, StartEvent, kept_text,
};
use pinfold::consent::{
    Answer, AnsweredBy, ApprovalChannel, ApprovalOptions, ApproverResponse, Choice, EventReply, HookCall,
    HookMoment, Hooks, PermissionRequestReply, PreToolUseReply, Request,
};
use pinfold::policy::{
    Bases, Decision, Effect, HookDecision, HookDecisionOrigin, Layer, Mode, Operation, PathText, Policy,
    Preview, Principal, ProcessCall, ProcessEffect, Rule, Source, SourcedRule,
};
use pinfold::{
    Ambient, AssumedShells, Denial, DeniedBy, Failure, GateResult, Outcome, Plan, RawCall, Refusal,
    RefusalCode, Retry, Session, ToolCall,
};
use pinfold_gate_testkit::{TestApprover, answer};
use pinfold_testkit::TempTree;
use serde_json::{Value, json};

/// Hooks whose every word is this.
#[derive(Debug)]
struct Says(String);

/// An approver whose every word is this, with an answer of each kind.
fn approver(words: &str) -> Arc<TestApprover> {
    let words = words.to_owned();
    Arc::new(TestApprover::with_response(move |request, _| {
        let choice = match request.tool.as_str() {
            "Write" => Choice::No { message: Some(words.clone()), process: false },
            "Delete" => return ApproverResponse::NoApprover(words.clone()),
            "Bash" => Choice::session(0),
            _ => Choice::Yes,
        };
        let by = AnsweredBy { via: ApprovalChannel::Embedder, who: Some(words.clone()) };
        ApproverResponse::Answer(Answer { by, ..answer(request, choice) })
    }))
}

impl Hooks for Says {
    fn pre_tool_use(&self, call: &HookCall<'_>) -> PreToolUseReply {
        let hook = |decision| HookDecision {
            decision,
            reason: self.0.clone(),
            by: self.0.clone(),
            only: Vec::new(),
            origin: HookDecisionOrigin::Hook,
        };
        let decision = match call.tool {
            "Glob" => Some(hook(Decision::Deny)),
            "MakeDir" => Some(hook(Decision::Ask)),
            _ => None,
        };
        PreToolUseReply { decision, ..PreToolUseReply::default() }
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

/// A journal that keeps what others write, and writes it on.
struct Both(Arc<Memory>, Ledger);

impl Journal for Both {
    fn append(&self, record: &Record) -> std::io::Result<()> {
        self.0.append(record)?;
        self.1.append(record)
    }
}

/// A folder, its record, and sessions whose words are all the same.
struct Bed {
    tree: TempTree,
    memory: Arc<Memory>,
}

impl Bed {
    fn new() -> Self {
        Self { tree: TempTree::new().with_files(["inside/a.txt"], "a"), memory: Arc::default() }
    }

    fn inside(&self) -> PathBuf {
        self.tree.path("inside")
    }

    fn directory(&self) -> PathBuf {
        self.tree.path("record")
    }

    fn session(&self, words: &str, rules: &[(Effect, String)], change: impl FnOnce(Plan) -> Plan) -> Session {
        let inside = self.inside();
        let bases = Bases { project: inside.clone(), cwd: inside.clone(), ..Bases::default() };
        let sourced = |(effect, text): &(Effect, String)| {
            Some(SourcedRule {
                effect: *effect,
                rule: Rule::parse(text).ok()?,
                source: Source::plain(Layer::User),
            })
        };
        let mut policy = Policy::default().with_rules(rules.iter().filter_map(sourced), &bases);
        policy.mode = Mode::Default;
        let asking = ApprovalOptions { timeout: Duration::from_mins(10), ..approver(words).asking() };
        let plan = Plan::for_folder(&inside)
            .with_policy(policy)
            .with_bases(bases)
            .with_asking(asking)
            .with_hooks(Arc::new(Says(words.to_owned())) as Arc<dyn Hooks>)
            .with_shells(Arc::new(AssumedShells::in_folder(inside.clone())));
        let ledger = Ledger::open(&Ambient::claim(), self.directory(), Limits::default()).unwrap();
        let journal = Arc::new(Both(Arc::clone(&self.memory), ledger));
        Session::open(&Ambient::claim(), change(plan), journal).unwrap()
    }

    /// What is recorded when each field that somebody can write says this.
    fn says(&self, words: &str) {
        let rules =
            [(Effect::Ask, format!("Bash(echo {words})")), (Effect::Deny, format!("Bash(printf {words})"))];
        let session = self.session(words, &rules, |plan| plan);
        let outside = format!("/nonexistent/{words}");
        let deep = json!({"deep": [{"er": words}], words: 1});
        let mut cwd = RawCall::new("Read", json!({"file_path": "a.txt"}));
        cwd.cwd = Some(PathText::new(&outside));
        for raw in [
            RawCall::new("Bash", json!({"command": words})),
            RawCall::new("Bash", json!({"command": format!("echo {words}"), "description": words})),
            RawCall::new("Bash", json!({"command": format!("printf {words}")})),
            RawCall::new(
                "Bash",
                json!({"command": format!("cat '{words}' > \"{words}\" | curl https://{words}/")}),
            ),
            RawCall::new("Write", json!({"file_path": "b.txt", "content": words})),
            RawCall::new("Write", json!({"file_path": outside, "content": "x"})),
            RawCall::new("Read", json!({"file_path": outside})),
            RawCall::new("Read", json!({"file_path": words})),
            RawCall::new("Delete", json!({"path": words})),
            RawCall::new("Glob", json!({"pattern": words, "path": words})),
            RawCall::new("MakeDir", json!({"path": words})),
            RawCall::new("Grep", json!({"pattern": words})),
            RawCall::new("WebFetch", json!({"url": format!("https://{words}/"), "prompt": words})),
            RawCall::new("WebFetch", json!({"url": words})),
            RawCall::new("mcp__a__b", deep.clone()),
            RawCall::new("ApplyPatch", json!({"patch": words})),
            RawCall::new(words, json!({})),
            RawCall::new("Write", deep),
            RawCall::new("Write", json!(words)),
            RawCall::new("Read", json!({words: 1})),
            cwd,
        ] {
            Self::end(session.decide(&raw), words);
        }
        let touch = ProcessEffect {
            operation: Operation::Write,
            says: words.to_owned(),
            place: PathText::new(&outside),
            named: PathText::new(&outside),
            preview: Preview::None,
        };
        let process = ProcessCall {
            program: words.to_owned(),
            command_line: words.to_owned(),
            effects: vec![touch],
            connects: None,
        };
        Self::end(session.decide(ToolCall::Process(process)), words);
        let agent = |plan: Plan| {
            plan.with_principal(Principal::Subagent(words.to_owned())).with_parents(vec![words.to_owned()])
        };
        let agent = self.session(words, &[], agent);
        Self::end(agent.decide(&RawCall::new("Read", json!({"file_path": "a.txt"}))), words);
        Self::end(
            agent.decide(&RawCall::new("Write", json!({"file_path": outside, "content": words}))),
            words,
        );
    }

    /// The deed of what was let through fails, and its shell was refused something.
    fn end(decided: GateResult, words: &str) {
        let Ok(permit) = decided.outcome else { return };
        let (_, _, mut receipt) = permit.spend();
        receipt.refused(vec![denial(&format!("{}:1", receipt.name()), words)]);
        let failure = Failure::with_path(RefusalCode::Denied, words, words, words);
        receipt.close(&Outcome::Failed(failure)).unwrap();
    }
}

/// A refusal of the kernel, as whoever makes one for the record writes it.
fn denial(id: &str, words: &str) -> Denial {
    Denial {
        id: id.to_owned(),
        layer: DeniedBy::Kernel,
        who: kept_text(words),
        what: "write".to_owned(),
        place: Some(kept_text(words)),
        code: None,
        rule: None,
        source: None,
        why: "it lies outside".to_owned(),
        instead: "write inside".to_owned(),
        retry: Retry::Never,
        times: 2,
        to_allow: vec![kept_text(words)],
    }
}

/// Every text of a line, names of fields too.
fn texts(value: &Value, all: &mut Vec<String>) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => all.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| texts(value, all)),
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            all.push(name.clone());
            texts(value, all);
        }),
    }
}

/// The examples of secrets, each with its kind and what of it must not be kept.
fn examples() -> Vec<(String, String, Vec<String>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pinfold-scrub/src/kinds.txt");
    let (mut kind, mut all) = (String::new(), Vec::new());
    for line in std::fs::read_to_string(path).unwrap().lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            name.clone_into(&mut kind);
        } else if let Some(("hit", text)) = line.split_once(char::is_whitespace) {
            let text = unescaped(text.trim_start());
            let secrets = text.split('⟦').skip(1).filter_map(|part| Some(part.split_once('⟧')?.0.to_owned()));
            let secrets = secrets.collect();
            all.push((kind.clone(), text.replace(['⟦', '⟧'], ""), secrets));
        }
    }
    all
}

fn unescaped(text: &str) -> String {
    let text = text.replace('¦', "");
    let pairs = [("\\\\", "\u{0}"), ("\\n", "\n"), ("\\t", "\t"), ("\\e", "\u{1b}"), ("\u{0}", "\\")];
    pairs.iter().fold(text, |text, (said, meant)| text.replace(said, meant))
}

#[test]
fn no_secret_is_recorded_whatever_field_it_stands_in() {
    let examples = examples();
    let kinds: BTreeSet<&str> = examples.iter().map(|(kind, ..)| kind.as_str()).collect();
    assert!(kinds.len() > 40, "{kinds:?}");
    let mut kept: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (kind, words, secrets) in &examples {
        let bed = Bed::new();
        bed.says(words);
        let records = bed.memory.records();
        assert!(records.len() > 30);
        for record in records {
            let line = serde_json::to_value(&record).unwrap();
            let mut all = Vec::new();
            texts(&line, &mut all);
            let leaks = |secret: &String| all.iter().find(|text| text.contains(secret.as_str()));
            for text in secrets.iter().filter_map(leaks) {
                kept.entry(kind.clone()).or_default().insert(format!(
                    "{} {}: {text}",
                    record.event.as_str(),
                    record.tool
                ));
            }
        }
    }
    assert!(kept.is_empty(), "{kept:#?}");
}

/// The published schema.
fn schema() -> jsonschema::Validator {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/record.schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

/// Every line of a record, none of which is damaged.
fn lines(directory: &Path) -> Vec<(String, Value)> {
    let mut lines = Vec::new();
    let mut reader = LogReader::open_record(&Ambient::claim(), directory);
    reader
        .for_each(|read| match read {
            Read::Line(line, text) => {
                lines.push((line.event.as_str().to_owned(), serde_json::from_str(text).unwrap()));
                Ok::<(), std::io::Error>(())
            }
            Read::Damaged(damage) => panic!("{damage}"),
        })
        .unwrap();
    lines
}

/// What a run writes, and what rules that could not be written leave.
fn of_runs(words: &str) -> Vec<AuditEvent> {
    let kept = kept_text(words);
    let start = |command| StartEvent {
        program: kept.clone(),
        command,
        folder: kept.clone(),
        tier: "full".into(),
        ..StartEvent::default()
    };
    let end = EndEvent {
        end: "code".into(),
        tier: Some("full".to_owned()),
        exit: Some(-1),
        ms: Some(u64::MAX),
        omitted_count: 3,
        leftovers: vec![kept.clone()],
        hosts: vec![
            RecordedHost { host: kept.clone(), port: Some(443), outcome: "reached".into(), times: 2 },
            RecordedHost { host: kept.clone(), port: None, outcome: "looked-up".into(), times: 1 },
        ],
        more_hosts: 1,
        ..EndEvent::default()
    };
    vec![
        AuditEvent::Start(Box::new(start(None))),
        AuditEvent::Start(Box::new(StartEvent {
            policy: Some(kept.clone()),
            pid: u32::MAX,
            ..start(Some(kept.clone()))
        })),
        AuditEvent::Refusal(Box::new(RefusalEvent { denial: denial("run-x:k1", words) })),
        AuditEvent::NotWritten(NotWrittenEvent { rules: vec![kept.clone()], failed: kept }),
        AuditEvent::End(Box::new(end)),
        AuditEvent::End(Box::new(EndEvent {
            end: "closed".into(),
            reason: Some(kept_text(words)),
            ..EndEvent::default()
        })),
        AuditEvent::End(Box::default()),
    ]
}

#[test]
fn every_line_is_as_the_published_schema_says() {
    let schema = schema();
    let mut kinds = BTreeSet::new();
    for words in [
        "plain",
        "a\nb\u{1b}[2J\u{0}\u{202e}",
        "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8",
        &"ä".repeat(9000),
        "",
    ] {
        let bed = Bed::new();
        bed.says(words);
        // A file that is put aside leaves a note, and so does a line that was left unfinished.
        let limits = Limits { max_size: 1000, keep: 1000 };
        let ledger = Ledger::open(&Ambient::claim(), bed.directory(), limits).unwrap();
        let session: Arc<str> = kept_text(words).into();
        for kind in of_runs(words) {
            ledger.append(&Record::for_session(&session, &session, kind)).unwrap();
        }
        let current = bed.directory().join("record.jsonl");
        let half = std::fs::read(&current).unwrap();
        std::fs::write(&current, [half.as_slice(), b"{\"v\":2,"].concat()).unwrap();
        ledger.append(&Record::for_session(&session, &session, AuditEvent::End(Box::default()))).unwrap();
        for (kind, line) in lines(&bed.directory()) {
            let wrong: Vec<String> =
                schema.iter_errors(&line).map(|e| format!("{}: {e}", e.instance_path())).collect();
            assert!(wrong.is_empty(), "{wrong:?}: {line:#}");
            kinds.insert(kind);
        }
    }
    let all = ["answer", "decision", "end", "not-written", "note", "outcome", "refusal", "start"];
    assert_eq!(kinds, all.map(str::to_owned).into());
    // The control: what no journal writes is seen.
    for wrong in [json!({}), json!({"v": 2, "kind": "decision", "ruling": "maybe"})] {
        assert!(!schema.is_valid(&wrong), "{wrong}");
    }
}

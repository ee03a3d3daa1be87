//! The ways in, each driven as it is used: what was decided is read from the answer of `check`, and from the record of the
//! others.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};

use super::Case;
use crate::mcp::{Client, LAST_WITH_HANDSHAKE};
use crate::output::describe;
use crate::processes::until;
use crate::product::pinfold;
use crate::{Bed, Tier, Who};

/// A way in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// `pinfold check`.
    Check,
    /// `pinfold call`.
    Call,
    /// `pinfold hook claude`, outside every run.
    Hook,
    /// `pinfold mcp serve`.
    Mcp,
    /// `pinfold agent run`, by a script.
    Agent,
    /// `pinfold serve`.
    Serve,
}

impl Way {
    /// All that make a call of a case.
    pub const ALL: [Self; 6] = [Self::Check, Self::Call, Self::Hook, Self::Mcp, Self::Agent, Self::Serve];

    /// Its name in the data.
    pub fn name(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Call => "call",
            Self::Hook => "hook",
            Self::Mcp => "mcp",
            Self::Agent => "agent",
            Self::Serve => "serve",
        }
    }
}

/// What was decided about a call, and by which step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Allow, ask or deny.
    pub decision: String,
    /// The step.
    pub step: String,
}

/// The user of the test, whose calls they are: a server lets in no other.
pub fn person() -> Who {
    if crate::processes::is_superuser() { Who::Superuser } else { Who::Ordinary }
}

/// A case in a bed of its own.
pub struct Driven<'a> {
    case: &'a Case,
    bed: Bed,
}

impl Case {
    /// Sets the case up. Everything is the person's own.
    ///
    /// # Panics
    /// When it cannot be.
    pub fn driven(&self) -> Driven<'_> {
        let bed = Bed::new(person());
        fs::create_dir(bed.folder().join(".git")).expect("a project");
        fs::write(bed.folder().join("there.txt"), "here\n").expect("a file");
        fs::write(bed.outside().join("there.txt"), "out there\n").expect("a file");
        fs::create_dir(bed.home().join(".ssh")).expect("a directory");
        fs::write(bed.home().join(".ssh/id_rsa"), "a key\n").expect("a file");
        fs::write(bed.folder().join("judge.sh"), "cat > \"$HOME/asked\"; echo ALLOW\n").expect("a judge");
        for file in self.files.iter().map(|file| bed.folder().join(file)) {
            fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
            // What git would take for no `HEAD` makes nothing beside it git's.
            let text = if file.ends_with("HEAD") { "ref: refs/heads/main\n" } else { "was\n" };
            fs::write(file, text).expect("a file");
        }
        if let Some(setup) = &self.setup {
            let done = bed.free("sh").args(["-ec", setup]).output().expect("a shell starts");
            assert!(done.status.success(), "{}: {}", self.name, describe(&done));
        }
        let driven = Driven { case: self, bed };
        if let Some(settings) = &self.settings {
            let place = driven.bed.home().join(".config/pinfold");
            fs::create_dir_all(&place).expect("a directory");
            fs::write(place.join("settings.json"), driven.placed(settings).to_string()).expect("settings");
        }
        driven
    }
}

impl Driven<'_> {
    /// With the places of the bed.
    fn placed(&self, value: &Value) -> Value {
        let text = self.in_place(&value.to_string());
        serde_json::from_str(&text).expect("JSON")
    }

    fn in_place(&self, text: &str) -> String {
        let places =
            [("FOLDER", self.bed.folder()), ("OUTSIDE", self.bed.outside()), ("HOME", self.bed.home())];
        places.iter().fold(text.to_owned(), |text, (name, at)| text.replace(name, &at.display().to_string()))
    }

    fn input(&self) -> Value {
        self.placed(&self.case.input)
    }

    fn flags(&self, with_bash: bool) -> Vec<String> {
        let mode = self.case.mode.iter().flat_map(|mode| ["--permission-mode".to_owned(), mode.clone()]);
        let bash = (with_bash && self.case.allow_bash).then(|| "--allow-bash".to_owned());
        let rest = self.case.flags.iter().map(|flag| self.in_place(flag));
        mode.chain(bash).chain(rest).collect()
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.bed.free(pinfold());
        command.args(words);
        command
    }

    /// What a way says about the call.
    pub fn seen(&self, way: Way) -> Seen {
        match way {
            Way::Check => self.checked(),
            Way::Hook => self.recorded(|| drop(self.hooked())),
            Way::Call => self.recorded(|| self.called()),
            Way::Mcp => self.recorded(|| self.by_client()),
            Way::Agent => self.recorded(|| self.by_agent()),
            Way::Serve => self.recorded(|| self.served()),
        }
    }

    fn checked(&self) -> Seen {
        let mut command = self.command(&["check", "--json"]);
        let output = command.args(self.flags(true)).arg(&self.case.tool).arg(self.input().to_string());
        let output = output.output().expect("pinfold starts");
        let answer: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("{}: {e}: {}", self.case.name, describe(&output)));
        Seen { decision: text(&answer["decision"]), step: text(&answer["step"]) }
    }

    fn called(&self) {
        let mut command = self.command(&["call", "--ask", "nobody"]);
        command.args(self.flags(true)).arg(&self.case.tool).arg(self.input().to_string());
        let output = command.stdin(Stdio::null()).output().expect("pinfold starts");
        self.judge_spoke(&output);
    }

    /// A question that the judge answers is done.
    fn judge_spoke(&self, output: &Output) {
        let reply: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let done = reply["ended"] == "done";
        assert!(!self.case.judged || done, "{}: {}", self.case.name, describe(output));
    }

    fn event(&self) -> String {
        let (cwd, input) = (self.bed.folder(), self.input());
        json!({"session_id": "s", "cwd": cwd, "hook_event_name": "PreToolUse", "tool_name": self.case.tool,
               "tool_input": input, "tool_use_id": "t"})
        .to_string()
    }

    /// What the hook answers in the words of the agent: `allow`, `ask`, `deny` or `silence`.
    pub fn hooked(&self) -> String {
        let mut command = self.command(&["hook", "claude"]);
        command.args(self.flags(false)).env("CLAUDE_PROJECT_DIR", self.bed.folder());
        self.answered(command)
    }

    /// The same from inside a run.
    pub fn hooked_inside(&self, tier: Tier) -> String {
        let mut command = self.bed.run(tier, &["--ask", "nobody", "--quiet"]);
        command.arg(pinfold()).args(["hook", "claude"]).args(self.flags(false));
        command.env("CLAUDE_PROJECT_DIR", self.bed.folder());
        self.answered(command)
    }

    /// The same with a script around it, which ends in `exec "$@"`; `none` where it gave no answer. Beside it what was printed.
    pub fn hooked_around(&self, script: &str) -> (String, String) {
        let mut command = self.bed.free("sh");
        command.args(["-c", script, "sh"]).arg(pinfold()).args(["hook", "claude"]);
        command.env("CLAUDE_PROJECT_DIR", self.bed.folder());
        let output = self.heard(command);
        let answer = serde_json::from_slice(&output.stdout).map_or_else(|_| "none".to_owned(), |a| word(&a));
        (answer, describe(&output))
    }

    fn answered(&self, command: Command) -> String {
        let output = self.heard(command);
        let answer: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("{}: {e}: {}", self.case.name, describe(&output)));
        word(&answer)
    }

    fn heard(&self, mut command: Command) -> Output {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("pinfold starts");
        let mut input = child.stdin.take().expect("its input");
        // What ends before it reads is told by what it printed.
        let _ = input.write_all(self.event().as_bytes());
        drop(input);
        child.wait_with_output().expect("it ends")
    }

    fn by_client(&self) {
        let mut command = self.command(&["mcp", "serve", "--ask-nobody"]);
        let client = Client::start(command.args(self.flags(true)));
        let (client, _) = client.hello(LAST_WITH_HANDSHAKE, json!({}), Box::new(|_, _| None));
        // A tool that is not offered is an error of the protocol.
        let called = json!({"name": self.case.tool, "arguments": self.input()});
        let answer = client.request("tools/call", called);
        let done = answer["result"]["isError"] == false;
        assert!(!self.case.judged || done, "{}: {answer}", self.case.name);
        assert!(client.close(), "the server ends");
    }

    fn by_agent(&self) {
        let turn = json!({"calls": [{"tool": self.case.tool, "input": self.input()}]});
        let script = self.bed.outside().join("script.jsonl");
        fs::write(&script, format!("{turn}\n{}\n", json!({"say": "done"}))).expect("a script");
        let mut command = self.command(&["agent", "run", "--ask", "nobody", "--prompt", "go", "--script"]);
        let output = command.arg(script).args(self.flags(true)).stdin(Stdio::null()).output();
        let output = output.expect("pinfold starts");
        assert!(output.status.success(), "{}: {}", self.case.name, describe(&output));
    }

    fn served(&self) {
        let private = self.bed.home().join("private");
        fs::DirBuilder::new().mode(0o700).recursive(true).create(&private).expect("a directory");
        let socket = private.join("s");
        let mut command = self.command(&["serve", "--ask-nobody", "--socket"]);
        let command = command.arg(&socket).args(self.flags(true)).stdin(Stdio::null()).stdout(Stdio::piped());
        let server = Ending(command.spawn().expect("pinfold starts"));
        until("it listens", || UnixStream::connect(&socket).is_ok());
        let mut stream = UnixStream::connect(&socket).expect("it listens");
        let mut lines = BufReader::new(stream.try_clone().expect("a copy")).lines();
        let mut say = |line: Value| {
            stream.write_all(format!("{line}\n").as_bytes()).expect("it reads");
            lines.next().expect("an answer").expect("a line")
        };
        say(json!({"v": 1, "as": "call"}));
        let reply = say(json!({"tool": self.case.tool, "input": self.input()}));
        let reply: Value = serde_json::from_str(&reply).expect("JSON");
        assert!(!self.case.judged || reply["ended"] == "done", "{}: {reply}", self.case.name);
        drop(server);
    }

    /// Whether a process of a run can do what stands for the call.
    pub fn done_in_a_run(&self, script: &str) -> (bool, String) {
        let mut run = self.bed.run(Tier::Full, &["--ask", "nobody"]);
        let output = run.args(["sh", "-c", &self.in_place(script)]).output().expect("pinfold starts");
        (output.status.success(), describe(&output))
    }

    /// The first decision that is recorded while something is done.
    fn recorded(&self, act: impl FnOnce()) -> Seen {
        let before = self.lines().len();
        act();
        let lines = self.lines();
        let decision = lines.iter().skip(before).find(|line| line["kind"] == "decision");
        let line = decision.unwrap_or_else(|| panic!("{}: nothing was decided", self.case.name));
        if self.case.judged {
            let by_judge = |line: &Value| line["kind"] == "answer" && line["by"]["via"] == "judge";
            assert!(lines.iter().skip(before).any(by_judge), "{}: {lines:#?}", self.case.name);
        }
        Seen { decision: text(&line["decision"]), step: text(&line["step"]) }
    }

    /// Whether the judge was asked about anything.
    pub fn judge_was_asked(&self) -> bool {
        self.bed.home().join("asked").exists()
    }

    fn lines(&self) -> Vec<Value> {
        let file = self.bed.home().join(".local/state/pinfold/record/record.jsonl");
        let text = fs::read_to_string(file).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("a line of the record")).collect()
    }
}

/// A server that ends with the test.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a hook answers, in the words of the agent.
fn word(answer: &Value) -> String {
    match &answer["hookSpecificOutput"]["permissionDecision"] {
        Value::String(word) => word.clone(),
        _ => "silence".to_owned(),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

//! Runs one case by every tool that can do its act, and looks at what came of it.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use pinfold::paths::Strategy;
use pinfold::policy::input::{EditInput, ReadInput, WriteInput};
use pinfold::policy::{Decision, PathText};
use pinfold::{CallRequest, RawCall, Session, ToolCall};
use pinfold_tools::{CallEnding, Reply, call};
use serde_json::{Value, json};

use super::bed::Bed;
use super::case::{Answer, Case, Op};
use super::snapshot::{Detail, differences, take};

/// What is written.
const NEW: &str = "written by the case\n";

/// How a case went.
#[derive(Debug)]
pub enum Ran {
    /// As it has to.
    Passed,
    /// Not so.
    Failed(String),
    /// This machine cannot build it; why.
    NotRun(String),
}

/// Runs a case by every tool that can do its act.
pub fn run(case: &Case, strategy: Strategy) -> Ran {
    let mut ran = Ran::Passed;
    for by in tools_for(case) {
        ran = run_by(case, strategy, by);
        if !matches!(ran, Ran::Passed) {
            return ran;
        }
    }
    ran
}

/// Which tools can do the act of a case.
fn tools_for(case: &Case) -> Vec<&'static str> {
    // A patch is lines of text: some names cannot be said in it.
    let sayable = |path: &str| !path.contains(['\n', '\r', '\0']) && !path.trim().is_empty();
    let patch = case.path_b64.is_none() && sayable(&case.path) && case.dest.as_deref().is_none_or(sayable);
    match case.op {
        Op::Read => vec!["Read"],
        Op::Create if patch => vec!["Write", "ApplyPatch"],
        Op::Write | Op::Create => vec!["Write"],
        Op::Edit if patch => vec!["Edit", "MultiEdit", "ApplyPatch"],
        Op::Edit => vec!["Edit"],
        Op::Delete => vec!["Delete"],
        Op::Move => vec!["MoveFile"],
        Op::Copy => vec!["CopyFile"],
        Op::List if case.path_b64.is_none() => vec!["LS", "Glob", "Grep"],
        Op::List => vec!["LS"],
    }
}

fn run_by(case: &Case, strategy: Strategy, by: &'static str) -> Ran {
    if let Some(missing) = case.requires.iter().find_map(|what| missing(what)) {
        return Ran::NotRun(missing);
    }
    let bed = match Bed::build(case) {
        Ok(bed) => bed,
        // What needs more than an ordinary machine may be impossible here; anything else has to be built.
        Err(why) if !case.requires.is_empty() => return Ran::NotRun(why),
        Err(why) => return Ran::Failed(why),
    };
    let failed = |why: String| Ran::Failed(format!("[{by}, {strategy:?}] {why}"));
    let session = match bed.session(case, strategy) {
        Ok(session) => session,
        Err(why) => return failed(why),
    };
    let attempt = Attempt { case, bed: &bed, session: &session, by };
    match attempt.judge() {
        Ok(()) => Ran::Passed,
        Err(why) => failed(why),
    }
}

/// What the machine lacks.
fn missing(what: &str) -> Option<String> {
    match what {
        "root" | "mount" | "mknod" | "casefold" => {
            let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
            let root = status.lines().any(|line| line.starts_with("Uid:\t0\t"));
            (!root).then(|| format!("needs {what}: not run by the superuser"))
        }
        other => Some(format!("needs `{other}`, which this harness does not know")),
    }
}

struct Attempt<'a> {
    case: &'a Case,
    bed: &'a Bed,
    session: &'a Session,
    by: &'static str,
}

impl Attempt<'_> {
    fn judge(&self) -> Result<(), String> {
        if self.case.verdict_only {
            return self.accept(self.verdict()?, "");
        }
        if let Some(race) = &self.case.race {
            return self.race(race);
        }
        let io = |error: std::io::Error| format!("snapshot: {error}");
        let roots = self.bed.write_roots(self.case);
        let all_before = take(self.bed.top(), &[], Detail::All).map_err(io)?;
        let outside_before = take(self.bed.top(), &roots, Detail::All).map_err(io)?;
        let reply = self.act();
        let answer = answer_of(&reply);
        let words = reply.text();
        let outside = differences(&outside_before, &take(self.bed.top(), &roots, Detail::All).map_err(io)?);
        if !outside.is_empty() {
            return Err(format!("changed outside the line: {} ({words})", outside.join(", ")));
        }
        self.accept(answer, &words)?;
        if answer == Answer::Allow {
            return self.took_effect(&words);
        }
        let anywhere = differences(&all_before, &take(self.bed.top(), &[], Detail::All).map_err(io)?);
        if anywhere.is_empty() {
            Ok(())
        } else {
            Err(format!("refused, but changed {} ({words})", anywhere.join(", ")))
        }
    }

    fn accept(&self, answer: Answer, words: &str) -> Result<(), String> {
        if self.case.accepts(answer) {
            return Ok(());
        }
        Err(format!(
            "{answer:?} instead of {:?} or {:?}: {} ({words})",
            self.case.expect, self.case.alt, self.case.why
        ))
    }

    fn verdict(&self) -> Result<Answer, String> {
        let considered = self.session.check(&self.raw()).map_err(|bad| bad.to_string())?;
        Ok(match considered.verdict.decision {
            Decision::Allow => Answer::Allow,
            Decision::Ask => Answer::Approval,
            Decision::Deny => Answer::Deny,
        })
    }

    /// The call, after the read that a careful agent makes first.
    fn act(&self) -> Reply {
        if matches!(self.case.op, Op::Write | Op::Edit) {
            drop(self.send(&self.with_cwd("Read", json!({"file_path": self.path()}))));
        }
        self.send(&self.raw())
    }

    fn send(&self, raw: &RawCall) -> Reply {
        let Some(bytes) = self.case.path_b64.as_deref().and_then(base64_bytes) else {
            return call(self.session, raw);
        };
        // JSON cannot say the name; an embedder can.
        match ToolCall::parse(raw) {
            Ok(call) => pinfold_tools::call(
                self.session,
                CallRequest::typed(with_path(call, &bytes)).with_cwd(raw.cwd.clone()),
            ),
            Err(_) => call(self.session, raw),
        }
    }

    fn path(&self) -> String {
        if self.case.path_b64.is_some() { "name".to_owned() } else { self.bed.expand(&self.case.path) }
    }

    fn dest(&self) -> String {
        self.bed.expand(self.case.dest.as_deref().unwrap_or_default())
    }

    fn with_cwd(&self, tool: &str, input: Value) -> RawCall {
        RawCall { cwd: self.bed.cwd(self.case), ..RawCall::new(tool, input) }
    }

    fn raw(&self) -> RawCall {
        let (path, dest) = (self.path(), self.dest());
        let (old, new) = self.words_of_edit();
        let envelope = |body: String| json!({"patch": format!("*** Begin Patch\n{body}*** End Patch\n")});
        let input = match (self.case.op, self.by) {
            (Op::Read, _) => json!({"file_path": path}),
            (Op::Create, "ApplyPatch") => envelope(format!("*** Add File: {path}\n+{NEW}")),
            (Op::Write | Op::Create, _) => json!({"file_path": path, "content": NEW}),
            (Op::Edit, "ApplyPatch") => envelope(format!("*** Update File: {path}\n@@\n-{old}\n+{new}\n")),
            (Op::Edit, "MultiEdit") => {
                json!({"file_path": path, "edits": [{"old_string": old, "new_string": new, "replace_all": true}]})
            }
            (Op::Edit, _) => {
                json!({"file_path": path, "old_string": old, "new_string": new, "replace_all": true})
            }
            (Op::Delete, _) => json!({"path": path, "recursive": true}),
            (Op::Move | Op::Copy, _) => json!({"source": path, "destination": dest, "overwrite": true}),
            (Op::List, "Glob" | "Grep") => json!({"path": path, "pattern": "*"}),
            (Op::List, _) => json!({"path": path}),
        };
        let input = if self.by == "Grep" { json!({"path": path, "pattern": "x"}) } else { input };
        self.with_cwd(self.by, input)
    }

    /// The first line of what is there, and what it is to become.
    fn words_of_edit(&self) -> (String, String) {
        let there = fs::symlink_metadata(self.place(&self.path())).is_ok_and(|meta| meta.len() < 1_000_000);
        let content = if there && self.case.op == Op::Edit {
            fs::read_to_string(self.place(&self.path()))
        } else {
            Ok(String::new())
        };
        let line = content.unwrap_or_default().lines().next().unwrap_or("x").to_owned();
        let new = format!("{line} changed");
        (line, new)
    }

    /// A path as the caller would mean it.
    fn place(&self, path: &str) -> PathBuf {
        let cwd =
            self.bed.cwd(self.case).map_or_else(|| self.bed.root(), |cwd| PathBuf::from(cwd.as_os_str()));
        cwd.join(path)
    }

    /// What was allowed has to have happened, where it was meant to.
    fn took_effect(&self, words: &str) -> Result<(), String> {
        if self.case.path_b64.is_some() {
            return Ok(());
        }
        let effect = self.case.effect.as_ref().map(|effect| PathBuf::from(self.bed.expand(effect)));
        let at = |path: String| effect.clone().unwrap_or_else(|| self.place(&path));
        let took = match self.case.op {
            Op::Read | Op::List => Ok(()),
            Op::Write | Op::Create => holds(&at(self.path()), NEW),
            Op::Edit => holds(&at(self.path()), "changed"),
            Op::Delete => gone(&at(self.path())),
            Op::Move => gone(&self.place(&self.path())).and_then(|()| stands(&at(self.dest()))),
            Op::Copy => stands(&at(self.dest())),
        };
        took.map_err(|why| format!("allowed without effect: {why} ({words})"))
    }

    /// Tries the act over and over while the tree is turned over beside it.
    fn race(&self, lines: &str) -> Result<(), String> {
        let roots = self.bed.write_roots(self.case);
        let look =
            || take(self.bed.top(), &roots, Detail::NoTimes).map_err(|error| format!("snapshot: {error}"));
        let before = look()?;
        let mut racer = self.bed.command(&format!("while :; do {lines}\ndone"));
        let mut racer =
            racer.stdout(Stdio::null()).stderr(Stdio::null()).spawn().map_err(|error| error.to_string())?;
        let mut answers = Vec::new();
        for _ in 0..self.case.iterations.max(1) {
            answers.push(answer_of(&self.act()));
        }
        racer.kill().and_then(|()| racer.wait()).map_err(|error| error.to_string())?;
        let outside = differences(&before, &look()?);
        if !outside.is_empty() {
            return Err(format!("the race changed outside the line: {}", outside.join(", ")));
        }
        answers.into_iter().try_for_each(|answer| self.accept(answer, "in the race"))
    }
}

fn answer_of(reply: &Reply) -> Answer {
    match reply.ended {
        CallEnding::Done => Answer::Allow,
        CallEnding::Refused if reply.structured.get("approvable") == Some(&Value::Bool(true)) => {
            Answer::Approval
        }
        CallEnding::Refused | CallEnding::Failed => Answer::Deny,
    }
}

fn holds(path: &Path, wanted: &str) -> Result<(), String> {
    match fs::read_to_string(path) {
        Ok(content) if content.contains(wanted) => Ok(()),
        Ok(content) => Err(format!("{} holds {content:?}", path.display())),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

fn gone(path: &Path) -> Result<(), String> {
    if fs::symlink_metadata(path).is_err() {
        Ok(())
    } else {
        Err(format!("{} is still there", path.display()))
    }
}

fn stands(path: &Path) -> Result<(), String> {
    fs::symlink_metadata(path).map(|_| ()).map_err(|error| format!("{}: {error}", path.display()))
}

/// The same call about a name that JSON cannot say.
fn with_path(call: ToolCall, bytes: &[u8]) -> ToolCall {
    let path = PathText::new(OsString::from_vec(bytes.to_vec()));
    match call {
        ToolCall::Read(input) => ToolCall::Read(ReadInput { path, ..input }),
        ToolCall::Write(input) => ToolCall::Write(WriteInput { path, ..input }),
        ToolCall::Edit(input) => ToolCall::Edit(EditInput { path, ..input }),
        ToolCall::Delete(mut input) => {
            input.path = path;
            ToolCall::Delete(input)
        }
        ToolCall::MoveFile(mut input) => {
            input.source = path;
            ToolCall::MoveFile(input)
        }
        ToolCall::CopyFile(mut input) => {
            input.source = path;
            ToolCall::CopyFile(input)
        }
        ToolCall::Ls(mut input) => {
            input.path = Some(path);
            ToolCall::Ls(input)
        }
        other => other,
    }
}

fn base64_bytes(text: &str) -> Option<Vec<u8>> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    let (mut bits, mut held) = (0_u32, 0);
    for letter in text.bytes().filter(|letter| *letter != b'=') {
        let value = LETTERS.iter().position(|known| *known == letter)?;
        bits = (bits << 6) | u32::try_from(value).ok()?;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from((bits >> held) & 0xff).ok()?);
        }
    }
    Some(bytes)
}

/// What a tool without a line would do: the act by plain paths. Whether it changed anything outside the line.
pub fn would_escape(case: &Case) -> Option<bool> {
    let bed = Bed::build(case).ok()?;
    let roots = bed.write_roots(case);
    let before = take(bed.top(), &roots, Detail::All).ok()?;
    let root = bed.cwd(case).map_or_else(|| bed.root(), |cwd| PathBuf::from(cwd.as_os_str()));
    let path = root.join(bed.expand(&case.path));
    let dest = root.join(bed.expand(case.dest.as_deref().unwrap_or_default()));
    if let Some(parent) = path.parent().filter(|_| case.op == Op::Create) {
        let _ = fs::create_dir_all(parent);
    }
    match case.op {
        Op::Read | Op::List => return None,
        Op::Write | Op::Create | Op::Edit => drop(fs::write(path, NEW)),
        Op::Delete => drop(fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path))),
        Op::Move => drop(fs::rename(path, dest)),
        Op::Copy => drop(fs::copy(path, dest)),
    }
    Some(!differences(&before, &take(bed.top(), &roots, Detail::All).ok()?).is_empty())
}

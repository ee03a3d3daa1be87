//! Hook settings of each agent, and their content when pinfold is the hook.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pinfold_dialects::{Dialect, dialect, shim};
use serde_json::{Value, json};

use super::file;
use crate::env;
use crate::exit::{Failure, USAGE};

/// An agent as it is set up.
pub(super) struct Agent {
    pub(super) name: &'static str,
    pub(super) dialect: &'static dyn Dialect,
    /// The file that its hooks stand in.
    pub(super) file: PathBuf,
    pub(super) form: HookForm,
    /// Content of a new settings file of the agent.
    pub(super) fresh: &'static str,
    /// The command that it runs before a call: by a shell, or its words by no shell.
    pub(super) command: HookCommand,
    /// Notes to the user about what else has to be done.
    pub(super) notes: &'static [&'static str],
    /// Check of other settings that decide whether hooks run at all: what is wrong, if something is.
    pub(super) stopped: fn(&Value, &Path) -> Option<String>,
}

/// Form in which a hook stands there.
pub(super) enum HookForm {
    /// Entries in lists below `hooks`, in a file with other settings.
    Lists(Vec<HookEntry>),
    /// A file of its own.
    Own(String),
    /// A block at the end of a file with other settings.
    Block(String),
}

/// An entry of one list.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HookEntry {
    /// The event, as the agent calls it.
    pub(super) event: &'static str,
    pub(super) value: Value,
}

/// Way in which an agent starts its hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HookCommand {
    Shell(String),
    Words(Vec<String>),
}

/// Time that an agent waits longer than the hook judges.
const GRACE: Duration = Duration::from_secs(20);

/// Message when pinfold is not there, or ends in another way than it means to.
const GONE: &str = "pinfold: nothing is allowed, since pinfold could not be run";

impl Agent {
    pub(super) fn named(name: &str, time: Duration) -> Result<Self, Failure> {
        let unknown = || Failure::new(USAGE, format!("`{name}` is no agent that is known"));
        let dialect = dialect(name).ok_or_else(unknown)?;
        let program = std::env::current_exe().ok().and_then(|path| path.to_str().map(str::to_owned));
        let program = program.ok_or_else(|| {
            Failure::new(USAGE, "the path of pinfold is no plain text").mend("install it somewhere else")
        })?;
        let homes =
            Homes::detect().ok_or_else(|| Failure::new(USAGE, "there is no home").mend("set HOME"))?;
        let built = Builder { name: dialect.name(), dialect, program, time, homes };
        Ok(match dialect.name() {
            "claude" => built.claude(),
            "codex" => built.codex(),
            "gemini" => built.gemini(),
            "qwen" => built.qwen(),
            "copilot" => built.copilot(),
            "cursor" => built.cursor(),
            "hermes" => built.hermes(),
            "opencode" => built.opencode(),
            "pi" => built.pi(),
            _ => return Err(unknown()),
        })
    }

    /// Returns whether a file that should be ours alone is.
    pub(super) fn is_ours(&self, text: &str) -> bool {
        text.contains("pinfold") && text.contains(&format!("hook {}", self.name))
            || text.contains(&format!("pinfold setup {}", self.name))
    }
}

/// Directories in which agents keep their settings.
struct Homes {
    home: PathBuf,
}

impl Homes {
    fn detect() -> Option<Self> {
        env::home().map(|home| Self { home })
    }

    /// The folder that a variable names, or the usual one below home.
    fn config_dir(&self, variable: &str, usual: &str) -> PathBuf {
        env::absolute(variable).unwrap_or_else(|| self.home.join(usual))
    }
}

struct Builder {
    name: &'static str,
    dialect: &'static dyn Dialect,
    program: String,
    time: Duration,
    homes: Homes,
}

impl Builder {
    fn argv(&self) -> Vec<String> {
        let time = format!("{}s", self.time.as_secs());
        [self.program.as_str(), "hook", self.name, "--timeout", &time].map(str::to_owned).to_vec()
    }

    /// Returns the command line for a shell that denies also when pinfold is missing or killed.
    fn guarded(&self) -> String {
        format!("{} || {{ echo '{GONE}' >&2; exit 2; }}", self.plain())
    }

    /// Returns the command line for a shell where nothing depends on the answer.
    fn plain(&self) -> String {
        self.argv().iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }

    fn waits(&self) -> Duration {
        self.time + GRACE
    }

    fn secs(&self) -> u64 {
        self.waits().as_secs()
    }

    fn ms(&self) -> u64 {
        u64::try_from(self.waits().as_millis()).unwrap_or(u64::MAX)
    }

    fn agent(self, file: PathBuf, form: HookForm, command: HookCommand) -> Agent {
        Agent {
            name: self.name,
            dialect: self.dialect,
            file,
            form,
            fresh: "{}\n",
            command,
            notes: &[],
            stopped: |_, _| None,
        }
    }

    /// Entries in the shape that most agents share. `more`: what each hook has beyond its command.
    fn lists(
        &self,
        matcher: &str,
        gates: &[&'static str],
        rest: &[&'static str],
        more: &Value,
    ) -> Vec<HookEntry> {
        let hook = |command: String, gate: bool| {
            let mut hook = json!({"type": "command", "command": command});
            if let (Some(hook), Some(more)) = (hook.as_object_mut(), more.as_object()) {
                // What a failure means is for those events that can stop a call.
                let fits = |name: &&String| gate || *name != "onFailure";
                hook.extend(more.iter().filter(|(name, _)| fits(name)).map(|(k, v)| (k.clone(), v.clone())));
            }
            hook
        };
        let gate = |event: &&'static str| HookEntry {
            event,
            value: json!({"matcher": matcher, "hooks": [hook(self.guarded(), true)]}),
        };
        let told =
            |event: &&'static str| HookEntry { event, value: json!({"hooks": [hook(self.plain(), false)]}) };
        gates.iter().map(gate).chain(rest.iter().map(told)).collect()
    }

    fn claude(self) -> Agent {
        let more = json!({"timeout": self.secs(), "onFailure": "block"});
        let rest = ["PostToolUse", "PostToolUseFailure", "SessionStart", "SessionEnd"];
        let entries = self.lists("*", &["PreToolUse", "PermissionRequest"], &rest, &more);
        let (file, run) =
            (self.homes.config_dir("CLAUDE_CONFIG_DIR", ".claude").join("settings.json"), self.guarded());
        Agent {
            stopped: |settings, _| {
                is_true(settings, &["disableAllHooks"]).then(|| "`disableAllHooks` is set".into())
            },
            ..self.agent(file, HookForm::Lists(entries), HookCommand::Shell(run))
        }
    }

    fn codex(self) -> Agent {
        let more = json!({"timeout": self.secs()});
        let rest = ["PostToolUse", "SessionStart", "SessionEnd"];
        let entries = self.lists(".*", &["PreToolUse", "PermissionRequest"], &rest, &more);
        let (file, run) = (self.homes.config_dir("CODEX_HOME", ".codex").join("hooks.json"), self.guarded());
        Agent {
            notes: &[
                "Codex runs a hook only once you have trusted it: start codex, and say yes when it asks to review hooks",
            ],
            stopped: |_, file| {
                (!is_trusted(file))
                    .then(|| "Codex was not told to trust it: start codex and review its hooks".into())
            },
            ..self.agent(file, HookForm::Lists(entries), HookCommand::Shell(run))
        }
    }

    fn gemini(self) -> Agent {
        let more = json!({"name": "pinfold", "timeout": self.ms()});
        let entries = self.lists(".*", &["BeforeTool"], &["AfterTool", "SessionStart", "SessionEnd"], &more);
        let (file, run) = (self.homes.home.join(".gemini/settings.json"), self.guarded());
        Agent {
            stopped: |settings, _| {
                let off = lookup(settings, &["hooksConfig", "enabled"]) == Some(&Value::Bool(false));
                off.then(|| "`hooksConfig.enabled` is off".into())
            },
            ..self.agent(file, HookForm::Lists(entries), HookCommand::Shell(run))
        }
    }

    fn qwen(self) -> Agent {
        let more = json!({"name": "pinfold", "timeout": self.ms()});
        let rest = ["PostToolUse", "PostToolUseFailure", "SessionStart", "SessionEnd"];
        let entries = self.lists("*", &["PreToolUse"], &rest, &more);
        let (file, run) = (self.homes.home.join(".qwen/settings.json"), self.guarded());
        Agent {
            stopped: |settings, _| {
                is_true(settings, &["disableAllHooks"]).then(|| "`disableAllHooks` is set".into())
            },
            ..self.agent(file, HookForm::Lists(entries), HookCommand::Shell(run))
        }
    }

    fn copilot(self) -> Agent {
        let hook = |command: String| json!([{"type": "command", "bash": command, "timeoutSec": self.secs()}]);
        let (gate, told) = (hook(self.guarded()), hook(self.plain()));
        let hooks =
            json!({"preToolUse": gate, "postToolUse": told, "sessionStart": told, "sessionEnd": told});
        let text = serde_json::to_string_pretty(&json!({"version": 1, "hooks": hooks})).unwrap_or_default();
        let (file, run) = (self.homes.home.join(".copilot/hooks/pinfold.json"), self.guarded());
        self.agent(file, HookForm::Own(text + "\n"), HookCommand::Shell(run))
    }

    fn cursor(self) -> Agent {
        let hook = |command: String, gate: bool| {
            let hook = json!({"command": command, "timeout": self.secs()});
            match (gate, hook) {
                (true, Value::Object(mut hook)) => {
                    hook.insert("failClosed".to_owned(), Value::Bool(true));
                    Value::Object(hook)
                }
                (_, hook) => hook,
            }
        };
        let gates = ["preToolUse", "beforeShellExecution", "beforeMCPExecution", "beforeReadFile"];
        let told = [
            "sessionStart",
            "sessionEnd",
            "postToolUse",
            "postToolUseFailure",
            "afterShellExecution",
            "afterMCPExecution",
        ];
        let gates = gates.map(|event| HookEntry { event, value: hook(self.guarded(), true) });
        let told = told.map(|event| HookEntry { event, value: hook(self.plain(), false) });
        let entries = gates.into_iter().chain(told).collect();
        let (file, run) = (self.homes.home.join(".cursor/hooks.json"), self.guarded());
        Agent {
            fresh: "{\n  \"version\": 1\n}\n",
            notes: &["what is said here was read in Cursor's manual, and never tried with it"],
            ..self.agent(file, HookForm::Lists(entries), HookCommand::Shell(run))
        }
    }

    fn hermes(self) -> Agent {
        // It reads a no on standard output alone, and starts no shell by itself.
        let no = json!({"decision": "block", "reason": GONE});
        let script = format!("{} || printf '%s\\n' {}", self.plain(), quoted(&no.to_string()));
        let words = ["/bin/sh".to_owned(), "-c".to_owned(), script];
        let gate: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        // Longer than that it takes no number.
        let secs = self.secs().min(300);
        let entry = |event: &str, command: &str| {
            let command = Value::from(command);
            format!("  {event}:\n    - matcher: \".*\"\n      command: {command}\n      timeout: {secs}\n")
        };
        let block = format!(
            "hooks:\n{}{}",
            entry("pre_tool_call", &gate.join(" ")),
            entry("post_tool_call", &self.plain())
        );
        let file = self.homes.config_dir("HERMES_HOME", ".hermes").join("config.yaml");
        Agent {
            notes: &["Hermes asks you about each hook once: start it at a terminal, and say yes"],
            ..self.agent(file, HookForm::Block(block), HookCommand::Words(words.to_vec()))
        }
    }

    fn opencode(self) -> Agent {
        let config = self.homes.config_dir("XDG_CONFIG_HOME", ".config");
        self.shimmed(config.join("opencode/plugin/pinfold.js"))
    }

    fn pi(self) -> Agent {
        let file = self.homes.config_dir("PI_CODING_AGENT_DIR", ".pi/agent").join("extensions/pinfold.ts");
        self.shimmed(file)
    }

    fn shimmed(self, file: PathBuf) -> Agent {
        let words = self.argv();
        let text = shim(self.name, &words, self.ms()).unwrap_or_default();
        self.agent(file, HookForm::Own(text), HookCommand::Words(words))
    }
}

/// A word for a shell, whatever is in it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=+,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn lookup<'a>(settings: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(settings, |value, name| value.get(name))
}

fn is_true(settings: &Value, path: &[&str]) -> bool {
    lookup(settings, path) == Some(&Value::Bool(true))
}

/// Returns whether Codex was ever told to trust what stands in this file: it notes so beside it, and asks again when it changes.
fn is_trusted(hooks: &Path) -> bool {
    let noted = |config: String| config.contains(&format!("{}:pre_tool_use:", hooks.display()));
    hooks.parent().and_then(|folder| file::read(&folder.join("config.toml")).ok()?).is_some_and(noted)
}

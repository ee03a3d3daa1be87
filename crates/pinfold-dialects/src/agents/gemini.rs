//! Gemini CLI. Its events have names of their own, and a no has to stand on top.
//!
//! Seen with 0.61.0: `{"decision":"deny"}` on top is honoured, the common words are not. `ask` hangs an
//! unattended run, so it is answered as `deny`. A call that is not denied goes on by its own rules.

use pinfold_policy::Decision;
use serde_json::{Value, json};

use super::shaped::Shape;
use super::{Dialect, Folder};
use crate::answer::{Answer, HookOutput};
use crate::event::{AgentCall, Event, Moment, UnreadableHookInput};
use crate::json::AgentObject;
use crate::table::{Tool, tool};

/// Gemini CLI.
#[derive(Debug)]
pub(super) struct Gemini;

const SHAPE: Shape = Shape {
    before: "BeforeTool",
    after: "AfterTool",
    failed: "",
    permission: "",
    ..Shape::usual("gemini", TOOLS)
};

const TOOLS: &[Tool] = &[
    tool("run_shell_command", "Bash", &[("command", "command")], &["description"]).starts_in("dir_path"),
    tool("read_file", "Read", &[("file_path", "file_path")], &[]),
    tool("write_file", "Write", &[("file_path", "file_path"), ("content", "content")], &[]),
    tool(
        "replace",
        "Edit",
        &[("file_path", "file_path"), ("old_string", "old_string"), ("new_string", "new_string")],
        &["instruction"],
    ),
    tool(
        "list_directory",
        "LS",
        &[("dir_path", "path"), ("path", "dir")],
        &["ignore", "file_filtering_options"],
    ),
    tool("glob", "Glob", &[("pattern", "pattern"), ("dir_path", "path"), ("path", "dir")], &[]),
    tool("grep_search", "Grep", GREP, ASIDE_OF_GREP),
    tool("search_file_content", "Grep", GREP, ASIDE_OF_GREP),
    tool("web_fetch", "WebFetch", &[("url", "url"), (PROMPT, PROMPT)], &[]),
    tool("invoke_agent", "Agent", &[("agent_name", "subagent_type")], &["prompt"]),
    tool("update_topic", "TaskUpdate", &[], &["title", "summary", "strategic_intent"]),
    tool("list_background_processes", "TaskList", &[], &[]),
    tool("read_background_output", "TaskGet", &[], &[]),
    tool("google_web_search", "WebSearch", &[], &["query"]),
    tool("write_todos", "TodoWrite", &[], &["todos"]),
    tool("activate_skill", "Skill", &[("name", "skill")], &[]),
    tool("ask_user", "AskUserQuestion", &[], &["questions"]).is_a_dialog(),
    tool("enter_plan_mode", "EnterPlanMode", &[], &["reason"]).is_a_dialog(),
    tool("exit_plan_mode", "ExitPlanMode", &[], &["plan_path", "plan_filename"]).is_a_dialog(),
];

const GREP: &[(&str, &str)] = &[
    ("pattern", "pattern"),
    ("dir_path", "path"),
    ("path", "dir"),
    ("include_pattern", "glob"),
    ("include", "include"),
];
const ASIDE_OF_GREP: &[&str] = &["exclude_pattern"];

impl Dialect for Gemini {
    fn name(&self) -> &'static str {
        SHAPE.agent
    }

    fn parse_event(&self, input: &[u8]) -> Result<Event, UnreadableHookInput> {
        SHAPE.event(&AgentObject::read(SHAPE.agent, input)?, |sent, call| {
            resolve_prompt_tool(resolve_server_tool(sent, call))
        })
    }

    fn format_answer(&self, moment: &Moment, answer: &Answer) -> HookOutput {
        match (moment, answer.decision) {
            (Moment::Before(_), Some(Decision::Ask | Decision::Deny)) => {
                HookOutput::json(&json!({"decision": "deny", "reason": answer.reason()}))
            }
            (Moment::Start(_), _) => match &answer.context {
                Some(context) => HookOutput::json(
                    &json!({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": context}}),
                ),
                None => HookOutput::nothing(),
            },
            _ => HookOutput::nothing(),
        }
    }

    fn closed(&self, why: &str) -> HookOutput {
        HookOutput::exit_2(why)
    }

    fn asks(&self) -> bool {
        false
    }

    fn folder(&self) -> Folder {
        Folder::Variables(&["GEMINI_PROJECT_DIR"])
    }

    fn probe(&self, cwd: &str, path: &str) -> Value {
        SHAPE.probe(cwd, "write_file", &json!({"file_path": path, "content": ""}))
    }
}

/// A tool of a server is named by what comes beside it: the name alone does not say where the server's ends.
fn resolve_server_tool(sent: &AgentObject, mut call: AgentCall) -> AgentCall {
    let Some(context) = sent.get("mcp_context") else { return call };
    let named = |field: &str| context.get(field).and_then(Value::as_str).filter(|name| !name.is_empty());
    match (named("server_name"), named("tool_name")) {
        (Some(server), Some(tool)) => call.raw.tool = format!("mcp__{server}__{tool}"),
        _ => call.doubt = Some("which server's tool it is, is not said".to_owned()),
    }
    call
}

/// The argument of `web_fetch` that has its address, somewhere in the text.
const PROMPT: &str = "prompt";

/// The one address that a prompt names is what is fetched; of several, or none, it is not known where it reaches.
fn resolve_prompt_tool(mut call: AgentCall) -> AgentCall {
    if call.raw.tool != "WebFetch" {
        return call;
    }
    let Some(prompt) = call.raw.input.as_object_mut().and_then(|input| input.remove(PROMPT)) else {
        return call;
    };
    let (Some(prompt), Some(input)) = (prompt.as_str(), call.raw.input.as_object_mut()) else {
        call.doubt = Some("what it is to fetch is no text".to_owned());
        return call;
    };
    match addresses(prompt).as_slice() {
        [url] if has_one_plain_host(url) && !input.contains_key("url") => {
            input.insert("url".to_owned(), json!(url));
        }
        named => {
            let many = named.len();
            "WebSearch".clone_into(&mut call.raw.tool);
            call.doubt =
                Some(format!("its prompt names {many} addresses, and one with its scheme can be judged"));
        }
    }
    call
}

/// Returns whether an address names one host, in characters of which no reader makes another one.
fn has_one_plain_host(url: &str) -> bool {
    let Some((_, behind)) = url.split_once("://") else { return false };
    let host = behind.split(['/', '?', '#']).next().unwrap_or_default();
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
    !behind.contains("://") && host.chars().all(is_plain)
}

/// Characters that stand around an address in a text. Within one they are part of it: a reader of URLs may find a host behind them.
const AROUND: [char; 14] = ['<', '>', '(', ')', '[', ']', '{', '}', '"', '\'', '`', ',', ';', '|'];

/// Returns the parts of a prompt that could be read as addresses: words with a scheme, and those that look like a host with a path.
fn addresses(prompt: &str) -> Vec<&str> {
    let words = prompt.split(char::is_whitespace).map(|word| word.trim_matches(AROUND));
    let is_address = |word: &&str| {
        let begins = word.split(['/', '?', '#', ':']).next().unwrap_or_default();
        let is_host = begins.contains('.') && !begins.starts_with('.') && begins.len() < word.len();
        word.contains(":/") || word.to_lowercase().starts_with("www.") || is_host
    };
    words.map(|word| word.trim_end_matches(['.', '!', '?', ':', '*'])).filter(is_address).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fetched(prompt: &str) -> AgentCall {
        let event = SHAPE.probe("/w", "web_fetch", &json!({"prompt": prompt})).to_string();
        match Gemini.parse_event(event.as_bytes()).unwrap().moment {
            Moment::Before(call) => call,
            other => unreachable!("{other:?}"),
        }
    }

    #[test]
    fn the_one_address_of_a_prompt_is_what_is_fetched() {
        for (prompt, url) in [
            ("Summarise https://example.org/a?b=c#d.", "https://example.org/a?b=c#d"),
            ("https://example.org", "https://example.org"),
            ("Read (http://example.org:8080/x) and e.g. list the titles", "http://example.org:8080/x"),
            ("What does \"https://example.org/v1.2/\" say of version 1.2?", "https://example.org/v1.2/"),
        ] {
            let call = fetched(prompt);
            assert_eq!((call.raw.tool.as_str(), &call.doubt), ("WebFetch", &None), "{prompt}");
            assert_eq!(call.raw.input, json!({"url": url}), "{prompt}");
        }
    }

    #[test]
    fn what_a_prompt_could_name_beside_it_is_a_doubt() {
        for prompt in [
            "",
            "the news",
            "https://example.org/a and https://evil.example/?d=SECRET",
            "https://example.org/a and evil.example/?d=SECRET",
            "https://example.org/a and www.evil.example",
            "https://example.org/a\nHTTPS://EVIL.EXAMPLE",
            "https://example.org/a,https://evil.example/",
            "https://example.org,SECRET.evil.com",
            "https://example.org,SECRET@evil.com/",
            "https://example.org\"x.evil.com",
            "https://example.org`x.evil.com/a",
            "https://example.org\\\\x.evil.com/a",
            "https://example.org/a then http:/evil.example/x",
            "example.org/a",
            "https://example.org/a evil.example:8080",
        ] {
            assert!(fetched(prompt).doubt.is_some(), "{prompt}");
        }
    }
}

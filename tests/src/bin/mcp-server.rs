//! A server of the Model Context Protocol that does and says whatever a test wants of it.
//!
//! Its tools are those of `tools.json` in its folder, or of a list of its own. `--stay`: it does not end with its input.
//! `--mute`: it answers nothing. `--die`: it ends at once. `--endless`: there is always another page of its list.
//! `greeting.json` in its folder is what it says about itself beside what every server says; `errors.json` has the errors with which
//! it answers methods.

use std::fs;
use std::io::{self, BufRead as _, Write as _};
use std::process::{Command, exit};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

fn main() {
    let options: Vec<String> = std::env::args().skip(1).collect();
    let has = |option: &str| options.iter().any(|given| given == option);
    if has("--die") {
        exit(9);
    }
    let mut heard = Vec::new();
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        heard.push(line.clone());
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        let Some(id) = message.get("id").filter(|_| message.get("method").is_some() && !has("--mute")) else {
            continue;
        };
        let params = &message["params"];
        if let Some(error) = error_for(&message["method"]) {
            say(&json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string());
            continue;
        }
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => greeting(params),
            "tools/list" => listed(params, has("--endless")),
            "tools/call" => match called(id, params, &heard) {
                Some(result) => result,
                None => continue,
            },
            "resources/read" if params["uri"].as_str().is_some_and(|uri| uri.starts_with("file://")) => {
                let path = params["uri"].as_str().unwrap_or_default().replacen("file://", "", 1);
                json!({"contents": [{"uri": path, "text": fs::read_to_string(&path).unwrap_or_default()}]})
            }
            method => json!({"method": method}),
        };
        say(&json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string());
    }
    while has("--stay") {
        thread::sleep(Duration::from_mins(1));
    }
}

fn say(line: &str) {
    let mut out = io::stdout().lock();
    if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
        exit(1);
    }
}

fn error_for(method: &Value) -> Option<Value> {
    let errors: Value = serde_json::from_str(&fs::read_to_string("errors.json").ok()?).ok()?;
    errors.get(method.as_str()?).cloned()
}

fn greeting(params: &Value) -> Value {
    let mut greeting = json!({
        "protocolVersion": params["protocolVersion"],
        "capabilities": {"tools": {"listChanged": true}},
        "serverInfo": {"name": "test server", "version": "1"},
    });
    let more = fs::read_to_string("greeting.json").ok().and_then(|text| serde_json::from_str(&text).ok());
    if let (Some(greeting), Some(Value::Object(more))) = (greeting.as_object_mut(), more) {
        greeting.extend(more);
    }
    greeting
}

/// One tool on each page.
fn listed(params: &Value, endless: bool) -> Value {
    let kept = fs::read_to_string("tools.json").ok().and_then(|text| serde_json::from_str(&text).ok());
    let tools: Vec<Value> = kept.unwrap_or_else(|| {
        ["read_file", "write_file", "say", "heard", "large", "start", "die"].map(tool).to_vec()
    });
    let page: usize = params["cursor"].as_str().and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
    let next = page + 1;
    let mut result = json!({"tools": tools.get(page).into_iter().collect::<Vec<_>>()});
    if next < tools.len() || endless {
        result["nextCursor"] = next.to_string().into();
    }
    result
}

fn tool(name: &str) -> Value {
    json!({"name": name, "description": format!("It does {name}."), "inputSchema": {"type": "object"}})
}

fn called(id: &Value, params: &Value, heard: &[String]) -> Option<Value> {
    let arguments = &params["arguments"];
    let text = |name: &str| arguments[name].as_str().unwrap_or_default();
    let answer = match params["name"].as_str().unwrap_or_default() {
        "read_file" => fs::read_to_string(text("path")).map_err(|e| e.to_string()),
        // `hidden` is a name of an argument that says nothing of a path.
        "write_file" => {
            let path = if text("path").is_empty() {
                text("hidden").replacen('>', "", 1)
            } else {
                text("path").to_owned()
            };
            fs::write(path, text("content")).map(|()| "written".to_owned()).map_err(|e| e.to_string())
        }
        "say" => {
            for line in arguments["lines"].as_array().into_iter().flatten() {
                say(&line.as_str().unwrap_or_default().replace("ID", &id.to_string()));
            }
            return None;
        }
        "heard" => Ok(heard.join("\n")),
        "large" => {
            let size = usize::try_from(arguments["size"].as_u64().unwrap_or_default()).unwrap_or_default();
            Ok("0123456789abcde\n".repeat(size / 16))
        }
        "start" => {
            let script = format!("trap '' TERM HUP; sleep {}", text("seconds"));
            Command::new("sh")
                .args(["-c", &script])
                .spawn()
                .map(|_| "started".to_owned())
                .map_err(|e| e.to_string())
        }
        "die" => exit(7),
        other => Ok(format!("called {other}")),
    };
    let failed = answer.is_err();
    let (Ok(text) | Err(text)) = answer;
    Some(json!({"content": [{"type": "text", "text": text}], "isError": failed}))
}

//! Tools in the protocol's form.

use std::sync::Arc;

use pinfold::policy::{Level, ToolName};
use pinfold_tools::Tool;
use rmcp::model::{self, JsonObject, ToolAnnotations};
use serde_json::{Value, json};

/// The argument that selects a workspace, where there are several.
pub(crate) const WORKSPACE: &str = "workspace";

/// Describes a tool. `workspaces`: their names, where one has to be selected.
pub(crate) fn offered(tool: Tool, workspaces: &[String]) -> model::Tool {
    let mut schema = match tool.input_schema {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    };
    if workspaces.len() > 1 {
        choose(&mut schema, workspaces);
    }
    model::Tool::new(tool.name, tool.description, Arc::new(schema))
        .with_annotations(hints(tool.name, tool.level))
}

/// Adds the workspace argument.
fn choose(schema: &mut JsonObject, workspaces: &[String]) {
    let said = "Which workspace the call is about; the first one where none is named.";
    let property = json!({"type": "string", "enum": workspaces, "description": said});
    if let Some(properties) = schema.entry("properties").or_insert_with(|| json!({})).as_object_mut() {
        properties.insert(WORKSPACE.to_owned(), property);
    }
}

/// The annotations of a tool. They are hints: the gate enforces.
fn hints(name: &str, level: Level) -> ToolAnnotations {
    let known = ToolName::parse(name);
    let reads = level == Level::ReadOnly;
    let only_adds = matches!(known, Some(ToolName::MakeDir));
    let same_again = reads || matches!(known, Some(ToolName::Write | ToolName::MakeDir));
    let of_the_world = !known.is_some_and(ToolName::takes_paths);
    ToolAnnotations::new()
        .read_only(reads)
        .destructive(!reads && !only_adds)
        .idempotent(same_again)
        .open_world(of_the_world)
}

/// Returns whether a tool is useless where no shell can run.
pub(crate) fn needs_shell(name: &str) -> bool {
    let known = ToolName::parse(name);
    matches!(known, Some(ToolName::Bash | ToolName::BashOutput | ToolName::KillBash | ToolName::BashInput))
}

#[cfg(test)]
mod tests {
    use pinfold_tools::tools;

    use super::*;

    #[test]
    fn what_a_tool_is_said_to_do_is_what_its_level_allows() {
        for tool in tools() {
            let (name, level) = (tool.name, tool.level);
            let said = offered(tool, &[]).annotations.unwrap();
            assert_eq!(said.read_only_hint, Some(level == Level::ReadOnly), "{name}");
            assert!(said.read_only_hint == Some(false) || said.destructive_hint == Some(false), "{name}");
            assert_eq!(
                said.open_world_hint == Some(true),
                level == Level::Dangerous || name == "WebFetch",
                "{name}"
            );
        }
    }

    #[test]
    fn a_workspace_is_chosen_only_where_there_are_several() {
        let names = ["a".to_owned(), "b".to_owned()];
        for tool in tools() {
            let one = offered(tool.clone(), &names[..1]);
            assert_eq!(one.input_schema["properties"].get(WORKSPACE), None);
            let several = offered(tool, &names);
            assert_eq!(several.input_schema["properties"][WORKSPACE]["enum"], json!(["a", "b"]));
        }
    }
}

//! The published schema of a line. It is made from the types, so that it cannot say anything else than they do.

use std::path::Path;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::event::Seal;
use super::record::Record;

/// A line as it stands in a file.
#[derive(JsonSchema, serde::Serialize)]
#[schemars(rename = "Line")]
struct SchemaLine {
    #[serde(flatten)]
    record: Record,
    #[serde(flatten)]
    seal: Seal,
}

/// Removes the values of fields that a reader fills in: they are not written.
fn remove_defaults(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.remove("default");
            fields.values_mut().for_each(remove_defaults);
        }
        Value::Array(values) => values.iter_mut().for_each(remove_defaults),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn schema() -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<SchemaLine>().to_value();
    remove_defaults(&mut schema);
    if let Some(object) = schema.as_object_mut() {
        let id = "https://raw.githubusercontent.com/pinfold/pinfold/main/docs/record.schema.json";
        object.insert("$id".to_owned(), json!(id));
        object.insert("title".to_owned(), json!("A line of the record of pinfold, version 2"));
        let about = "Readers pass over fields, kinds and words that they do not know.";
        object.insert("description".to_owned(), json!(about));
    }
    schema
}

#[test]
fn the_published_schema_is_that_of_the_types() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/record.schema.json");
    let made = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if std::env::var_os("PINFOLD_BLESS").is_some() {
        std::fs::write(&file, &made).unwrap();
    }
    let published = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(published == made, "run with PINFOLD_BLESS=1, and look at what changes");
}

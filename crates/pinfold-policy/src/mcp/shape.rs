//! Knowledge of a tool's arguments beyond their names: from the schema in the tool's definition, or from a person.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use super::key::ArgumentName;
use super::split_words;
use crate::form::{BadField, describe_value};

/// The kind of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ArgumentKind {
    /// A path, whatever its name.
    Path,
    /// No path, whatever its name.
    Text,
}

impl ArgumentKind {
    /// Reads the word of a kind.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "path" => Some(Self::Path),
            "text" => Some(Self::Text),
            _ => None,
        }
    }
}

/// Knowledge of arguments, laid out as they are: `{"edits": {"where": "path"}}`. Lists are looked through, so the
/// same stands for `{"edits": [{"where": …}, …]}`. A field `*` stands for those that have none of their own here, and
/// one without a name for the value itself, where it can be an object or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Shape {
    /// A value.
    Kind(ArgumentKind),
    /// An object.
    Fields(BTreeMap<String, Shape>),
}

/// The field that stands for the value itself.
const ITSELF: &str = "";

/// The field that stands for all others.
const ANY: &str = "*";

/// `format`s of strings that are paths.
const FORMATS: [&str; 6] = ["path", "file-path", "directory-path", "file", "directory", "folder"];

/// Words in the description of an argument that say that it is a path.
const SAYING: [&str; 10] = [
    "directories",
    "directory",
    "filename",
    "filenames",
    "filepath",
    "filepaths",
    "folder",
    "pathname",
    "path",
    "paths",
];

/// The most parts of a schema that are looked at, which is more than any tool has.
const MAX_PARTS: usize = 10_000;

/// Deepest level to which a schema is followed, references counted.
const DEEPEST: usize = 100;

impl Shape {
    /// Reads a shape.
    ///
    /// # Errors
    /// [`BadField`] where something else stands in it.
    pub fn parse(value: &Value) -> Result<Self, BadField> {
        Self::parse_at("", value)
    }

    fn parse_at(at: &str, value: &Value) -> Result<Self, BadField> {
        let bad = || BadField::new(at, "`path`, `text` or an object of such", describe_value(value));
        match value {
            Value::String(word) => ArgumentKind::parse(word).map(Self::Kind).ok_or_else(bad),
            Value::Object(fields) => {
                let inner = |(name, value): (&String, &Value)| {
                    Ok((name.clone(), Self::parse_at(&format!("{at}.{name}"), value)?))
                };
                fields.iter().map(inner).collect::<Result<_, _>>().map(Self::Fields)
            }
            _ => Err(bad()),
        }
    }

    /// Reads the schema of a tool's input: strings whose format is one of paths, and those whose description calls
    /// them one, unless their name says that they are text. `None`: nothing.
    pub fn of_schema(schema: &Value) -> Option<Self> {
        let mut reader = SchemaReader { root: schema, parts: 0, depth: 0, followed: Vec::new() };
        let shape = reader.read(schema, None);
        // The rest of it is unknown.
        if reader.parts > MAX_PARTS { Some(Self::field(ANY, Self::Kind(ArgumentKind::Path))) } else { shape }
    }

    /// One field.
    pub fn field(name: &str, shape: Self) -> Self {
        Self::Fields(BTreeMap::from([(name.to_owned(), shape)]))
    }

    /// Both; where they differ `self` counts.
    #[must_use]
    pub fn merge_over(self, other: Self) -> Self {
        match (self, other) {
            (Self::Kind(kind), Self::Kind(_)) => Self::Kind(kind),
            (own, other) => {
                let (mut fields, others) = (own.into_fields(), other.into_fields());
                for (name, other) in others {
                    let both = match fields.remove(&name) {
                        Some(own) => own.merge_over(other),
                        None => other,
                    };
                    fields.insert(name, both);
                }
                Self::Fields(fields)
            }
        }
    }

    fn into_fields(self) -> BTreeMap<String, Self> {
        match self {
            Self::Kind(_) => BTreeMap::from([(ITSELF.to_owned(), self)]),
            Self::Fields(fields) => fields,
        }
    }

    /// Returns the part that makes more of a call: the arguments that are paths.
    #[must_use]
    pub fn narrowing(self) -> Option<Self> {
        match self {
            Self::Kind(kind) => (kind == ArgumentKind::Path).then_some(self),
            Self::Fields(fields) => {
                let paths = fields.into_iter().filter_map(|(name, shape)| Some((name, shape.narrowing()?)));
                Some(Self::Fields(paths.collect()))
            }
        }
    }

    /// Returns the part that is about a value.
    pub(super) fn restrict_to(&self, value: &Value) -> Option<Self> {
        match value {
            Value::Array(items) => {
                items.iter().filter_map(|item| self.restrict_to(item)).reduce(Self::merge_over)
            }
            Value::Object(fields) => {
                let known = fields.iter().filter_map(|(name, value)| {
                    Some(Self::field(name, self.field_shape(name)?.restrict_to(value)?))
                });
                known.reduce(Self::merge_over)
            }
            _ => self.kind().map(Self::Kind),
        }
    }

    /// Returns the kind of the value itself.
    pub(super) fn kind(&self) -> Option<ArgumentKind> {
        match self {
            Self::Kind(kind) => Some(*kind),
            Self::Fields(fields) => match fields.get(ITSELF)? {
                Self::Kind(kind) => Some(*kind),
                Self::Fields(_) => None,
            },
        }
    }

    /// Returns the shape of one of its fields.
    pub(super) fn field_shape(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Kind(_) => None,
            // The one without a name is no field.
            Self::Fields(fields) => fields.get(name).filter(|_| name != ITSELF).or_else(|| fields.get(ANY)),
        }
    }
}

/// Goes through a schema.
struct SchemaReader<'a> {
    root: &'a Value,
    /// Number of parts looked at.
    parts: usize,
    /// Current depth.
    depth: usize,
    /// The references that it has followed to where it is. A schema that refers to itself is gone through once.
    followed: Vec<&'a str>,
}

impl<'a> SchemaReader<'a> {
    /// `name`: of the argument that it is the schema of.
    fn read(&mut self, schema: &'a Value, name: Option<&str>) -> Option<Shape> {
        self.parts += if self.depth < DEEPEST { 1 } else { MAX_PARTS };
        let schema = schema.as_object().filter(|_| self.parts <= MAX_PARTS)?;
        self.depth += 1;
        let own = says_path(schema, name).then_some(Shape::Kind(ArgumentKind::Path));
        let shapes = [own, self.fields(schema), self.same(schema, name), self.referred(schema, name)];
        self.depth -= 1;
        shapes.into_iter().flatten().reduce(Shape::merge_over)
    }

    /// Its fields, by their names.
    fn fields(&mut self, schema: &'a Map<String, Value>) -> Option<Shape> {
        let objects = |key: &str| schema.get(key).and_then(Value::as_object).into_iter().flatten();
        let named = objects("properties").map(|(name, part)| (name.as_str(), part));
        let others = objects("patternProperties").map(|(_, part)| (ANY, part));
        let rest = schema.get("additionalProperties").map(|part| (ANY, part));
        let fields = named.chain(others).chain(rest);
        fields
            .filter_map(|(name, part)| Some(Shape::field(name, self.read(part, Some(name))?)))
            .reduce(Shape::merge_over)
    }

    /// Reads other schemas of the same value, or of its items if it is a list.
    fn same(&mut self, schema: &'a Map<String, Value>, name: Option<&str>) -> Option<Shape> {
        let one = ["items", "contains", "additionalItems", "unevaluatedItems", "if", "then", "else"];
        let many = ["anyOf", "oneOf", "allOf", "prefixItems", "items"];
        let one = one.iter().filter_map(|key| schema.get(*key));
        let many = many.iter().filter_map(|key| schema.get(*key)?.as_array()).flatten();
        one.chain(many).filter_map(|part| self.read(part, name)).reduce(Shape::merge_over)
    }

    /// Reads a schema elsewhere in the same definition.
    fn referred(&mut self, schema: &'a Map<String, Value>, name: Option<&str>) -> Option<Shape> {
        let to = schema.get("$ref")?.as_str().filter(|to| !self.followed.contains(to))?;
        let part = self.root.pointer(to.strip_prefix('#')?)?;
        self.followed.push(to);
        let shape = self.read(part, name);
        self.followed.pop();
        shape
    }
}

/// Returns `true` if the schema of a value says that it is a path.
fn says_path(schema: &Map<String, Value>, name: Option<&str>) -> bool {
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    let is_string = match schema.get("type") {
        None => true,
        Some(Value::String(kind)) => kind == "string" || kind == "array",
        Some(kinds) => kinds.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "string")),
    };
    if !is_string || schema.contains_key("enum") || schema.contains_key("const") {
        return false;
    }
    if text("format").is_some_and(|format| FORMATS.contains(&format)) {
        return true;
    }
    let described = || {
        let said = [text("title"), text("description")];
        said.into_iter().flatten().flat_map(split_words).any(|word| SAYING.contains(&word.as_str()))
    };
    name.is_some_and(|name| ArgumentName::classify(name) == ArgumentName::Other) && described()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_says_which_arguments_are_paths() {
        for (schema, shape) in [
            (json!({"properties": {"f": {"type": "string", "format": "file-path"}}}), json!({"f": "path"})),
            (
                json!({"properties": {"f": {"description": "Absolute path of the thing"}}}),
                json!({"f": "path"}),
            ),
            (
                json!({"properties": {"f": {"type": ["string", "null"], "title": "Directory"}}}),
                json!({"f": "path"}),
            ),
            (
                json!({"properties": {"f": {"type": "array", "items": {"type": "string", "format": "path"}}}}),
                json!({"f": "path"}),
            ),
            (
                json!({"properties": {"f": {"anyOf": [{"type": "null"}, {"format": "directory-path"}]}}}),
                json!({"f": "path"}),
            ),
            (
                json!({"properties": {"moves": {"items": {"$ref": "#/$defs/Move"}}},
                       "$defs": {"Move": {"properties": {"a": {"format": "path"}, "n": {"type": "number"}}}}}),
                json!({"moves": {"a": "path"}}),
            ),
            (json!({"additionalProperties": {"format": "path"}}), json!({"*": "path"})),
            (json!({"patternProperties": {"^x": {"format": "path"}}}), json!({"*": "path"})),
            (
                json!({"properties": {"f": {"oneOf": [{"format": "path"}, {"properties": {"at": {"format": "path"}}}]}}}),
                json!({"f": {"": "path", "at": "path"}}),
            ),
            // What is said of a text is no path of its own, unless its format says so.
            (
                json!({"properties": {"content": {"description": "Text for the file at the path"}}}),
                Value::Null,
            ),
            (json!({"properties": {"content": {"format": "file-path"}}}), json!({"content": "path"})),
            (json!({"properties": {"n": {"type": "integer", "description": "path depth"}}}), Value::Null),
            (json!({"properties": {"kind": {"enum": ["a"], "description": "path or name"}}}), Value::Null),
            (json!({"properties": {"f": {"description": "XPath of a node, or the pathology"}}}), Value::Null),
            (json!(true), Value::Null),
            (json!({"properties": 3, "anyOf": {"a": 1}, "$ref": "#/no/where", "items": false}), Value::Null),
        ] {
            let found = Shape::of_schema(&schema).map_or(Value::Null, |shape| json!(shape));
            assert_eq!(found, shape, "{schema}");
        }
    }

    #[test]
    fn a_schema_that_refers_to_itself_is_gone_through_once() {
        let tree = json!({"properties": {"at": {"format": "path"}, "below": {"items": {"$ref": "#"}}}});
        assert_eq!(json!(Shape::of_schema(&tree)), json!({"at": "path", "below": {"at": "path"}}));
    }

    #[test]
    fn of_a_schema_that_is_too_large_every_argument_is_a_path() {
        let wide = json!({"anyOf": vec![json!({}); MAX_PARTS + 1]});
        assert_eq!(json!(Shape::of_schema(&wide)), json!({"*": "path"}));
        let chain: Map<String, Value> =
            (0..5000).map(|n| (n.to_string(), json!({"$ref": format!("#/$defs/{}", n + 1)}))).collect();
        assert_eq!(
            json!(Shape::of_schema(&json!({"$ref": "#/$defs/0", "$defs": chain}))),
            json!({"*": "path"})
        );
        // Each refers to all others.
        let names = || (0..12).map(|n| n.to_string());
        let part =
            json!({"anyOf": names().map(|n| json!({"$ref": format!("#/$defs/{n}")})).collect::<Vec<_>>()});
        let defs: Map<String, Value> = names().map(|n| (n, part.clone())).collect();
        assert_eq!(
            json!(Shape::of_schema(&json!({"$ref": "#/$defs/0", "$defs": defs}))),
            json!({"*": "path"})
        );
    }

    #[test]
    fn a_shape_is_written_as_it_is_read() {
        let shape = json!({"a": "path", "b": {"": "path", "*": "text", "c": {"d": "text"}}});
        assert_eq!(json!(Shape::parse(&shape).unwrap()), shape);
        for bad in [json!(1), json!("file"), json!({"a": ["path"]}), json!({"a": null})] {
            assert!(Shape::parse(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_what_is_about_a_call_is_kept_with_it() {
        let shape =
            Shape::parse(&json!({"a": "path", "b": {"*": "path"}, "c": {"": "path", "d": "text"}})).unwrap();
        for (input, about) in [
            (json!({"a": "x"}), json!({"a": "path"})),
            (json!({"b": [{"x": "1"}, {"y": "2"}]}), json!({"b": {"x": "path", "y": "path"}})),
            (json!({"c": "1", "e": 1}), json!({"c": "path"})),
            (json!({"c": {"d": "1"}}), json!({"c": {"d": "text"}})),
            (json!({"e": {"a": 1}}), Value::Null),
            (json!([]), Value::Null),
        ] {
            assert_eq!(shape.restrict_to(&input).map_or(Value::Null, |shape| json!(shape)), about, "{input}");
        }
    }

    #[test]
    fn what_a_person_says_counts_before_what_a_schema_says() {
        let schema = Shape::parse(&json!({"a": "path", "b": {"c": "path"}})).unwrap();
        let person = Shape::parse(&json!({"a": "text", "b": {"*": "text"}, "d": "path"})).unwrap();
        let both = json!({"a": "text", "b": {"c": "path", "*": "text"}, "d": "path"});
        assert_eq!(json!(person.merge_over(schema)), both);
    }
}

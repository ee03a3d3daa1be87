//! Typed inputs from JSON objects: one declaration gives the struct, its parser and its schema.
//!
//! The [`input!`] macro is the only way to declare a tool's input, so what a schema promises is what the
//! parser takes. A field is named in every error; nothing is coerced, nothing unknown is passed over.

use serde_json::{Map, Value, json};

/// An error in one field of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadField {
    /// Path of the field: `file_path`, `edits[2].old_string`.
    pub field: String,
    /// The expected value.
    pub expected: String,
    /// The value that stood there.
    pub found: String,
}

impl BadField {
    /// Text for a field that does not belong there.
    const UNKNOWN: &'static str = "a field that is not known";
    pub(crate) const MISSING: &'static str = "nothing";

    /// Returns `true` if the field should not be there at all.
    pub(crate) fn is_extra(&self) -> bool {
        self.found == Self::UNKNOWN
    }

    pub(crate) fn new(field: &str, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self { field: field.to_owned(), expected: expected.into(), found: found.into() }
    }

    /// Returns the error as seen from one level further out.
    fn with_parent(self, outer: &str) -> Self {
        let field = if self.field.is_empty() {
            outer.to_owned()
        } else if self.field.starts_with('[') {
            format!("{outer}{}", self.field)
        } else {
            format!("{outer}.{}", self.field)
        };
        Self { field, ..self }
    }
}

/// A JSON value in words short enough for an error message.
pub(crate) fn describe_value(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(b) => format!("the boolean {b}"),
        Value::Number(n) => format!("the number {n}"),
        Value::String(_) => "a string".to_owned(),
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// A type that one field of an input can have.
pub(crate) trait Field: Sized {
    /// Set if the field has to be given.
    const REQUIRED: bool = true;

    /// The value as this type. The `field` of the error is empty or relative to this value.
    fn read(value: &Value) -> Result<Self, BadField>;

    /// Returns the meaning of an absent field; `None` when it has to be given.
    fn absent() -> Option<Self> {
        None
    }

    /// Returns a stand-in for a field that only the deed needs, when nothing but the verdict is wanted.
    /// `None` for everything a verdict rests on.
    fn blank() -> Option<Self> {
        None
    }

    /// The JSON Schema of the value, without its description.
    fn schema() -> Value;
}

impl Field for String {
    fn blank() -> Option<Self> {
        Some(Self::new())
    }

    fn read(value: &Value) -> Result<Self, BadField> {
        value.as_str().map(str::to_owned).ok_or_else(|| BadField::new("", "a string", describe_value(value)))
    }

    fn schema() -> Value {
        json!({"type": "string"})
    }
}

impl Field for bool {
    fn read(value: &Value) -> Result<Self, BadField> {
        value.as_bool().ok_or_else(|| BadField::new("", "true or false", describe_value(value)))
    }

    fn schema() -> Value {
        json!({"type": "boolean"})
    }
}

impl Field for u64 {
    fn read(value: &Value) -> Result<Self, BadField> {
        value.as_u64().ok_or_else(|| BadField::new("", "a whole number, zero or more", describe_value(value)))
    }

    fn schema() -> Value {
        json!({"type": "integer", "minimum": 0})
    }
}

impl<T: Field> Field for Vec<T> {
    fn blank() -> Option<Self> {
        Some(Self::new())
    }

    fn read(value: &Value) -> Result<Self, BadField> {
        let items = value.as_array().ok_or_else(|| BadField::new("", "an array", describe_value(value)))?;
        let read = |(i, item)| T::read(item).map_err(|bad| bad.with_parent(&format!("[{i}]")));
        items.iter().enumerate().map(read).collect()
    }

    fn schema() -> Value {
        json!({"type": "array", "items": T::schema()})
    }
}

/// An optional field; `null` is read as absent, since models send it for "not set".
impl<T: Field> Field for Option<T> {
    const REQUIRED: bool = false;

    fn read(value: &Value) -> Result<Self, BadField> {
        if value.is_null() { Ok(None) } else { T::read(value).map(Some) }
    }

    fn absent() -> Option<Self> {
        Some(None)
    }

    fn schema() -> Value {
        T::schema()
    }
}

/// One field as declared: for the schema and for the list of names in an error.
pub(crate) struct FieldSpec {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) required: bool,
    pub(crate) schema: fn() -> Value,
}

/// A whole input, declared with [`input!`].
pub(crate) trait InputForm: Sized {
    const FIELDS: &'static [FieldSpec];

    fn fill(reader: &mut FieldReader<'_>) -> Result<Self, BadField>;

    /// Reads the object; every field is taken or named in the error.
    fn from_value(value: &Value, needed: RequiredFields) -> Result<Self, BadField> {
        let object =
            value.as_object().ok_or_else(|| BadField::new("", "an object", describe_value(value)))?;
        let mut reader = FieldReader { object, needed, taken: Vec::with_capacity(object.len()) };
        let filled = Self::fill(&mut reader)?;
        reader.nothing_left(Self::FIELDS)?;
        Ok(filled)
    }

    /// The JSON Schema of the object.
    fn object_schema() -> Value {
        let mut properties = Map::new();
        for field in Self::FIELDS {
            let mut schema = (field.schema)();
            if let Some(object) = schema.as_object_mut() {
                object.insert("description".to_owned(), Value::from(field.about.trim()));
            }
            properties.insert(field.name.to_owned(), schema);
        }
        let required: Vec<_> = Self::FIELDS.iter().filter(|f| f.required).map(|f| f.name).collect();
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }
}

/// The fields that a caller has to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequiredFields {
    /// All that the deed needs.
    ForExecution,
    /// Only what a verdict rests on: where the call would reach.
    ForJudgement,
}

/// Takes fields out of an object and remembers which.
pub(crate) struct FieldReader<'a> {
    object: &'a Map<String, Value>,
    needed: RequiredFields,
    taken: Vec<&'static str>,
}

impl FieldReader<'_> {
    /// The field under its name or one of its older names. Both at once is an error, even when they agree:
    /// a caller that says a thing twice may mean two things.
    pub(crate) fn take<T: Field>(
        &mut self,
        name: &'static str,
        aliases: &'static [&'static str],
    ) -> Result<T, BadField> {
        let mut given: Option<(&'static str, &Value)> = None;
        for key in std::iter::once(&name).chain(aliases) {
            let Some(value) = self.object.get(*key) else { continue };
            if let Some((first, _)) = given {
                return Err(BadField::new(first, format!("`{first}` or `{key}`, not both"), "both"));
            }
            given = Some((key, value));
            self.taken.push(key);
        }
        match given {
            Some((key, value)) => T::read(value).map_err(|bad| bad.with_parent(key)),
            None => T::absent()
                .or_else(|| if self.needed == RequiredFields::ForJudgement { T::blank() } else { None })
                .ok_or_else(|| BadField::new(name, "a value", BadField::MISSING)),
        }
    }

    fn nothing_left(&self, fields: &[FieldSpec]) -> Result<(), BadField> {
        let Some(extra) = self.object.keys().find(|k| !self.taken.contains(&k.as_str())) else {
            return Ok(());
        };
        let names: Vec<_> = fields.iter().map(|f| f.name).collect();
        Err(BadField::new(extra, format!("only {}", names.join(", ")), BadField::UNKNOWN))
    }
}

/// Declares an input: `field = "name" | "older name": Type`. Gives the struct, its parser and its schema.
macro_rules! input {
    (
        $(#[doc = $about:literal])+
        $name:ident {
            $( $(#[doc = $doc:literal])+ $field:ident = $main:literal $(| $alias:literal)* : $ty:ty, )*
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name {
            $( $(#[doc = $doc])+ pub $field: $ty, )*
        }

        impl $crate::form::InputForm for $name {
            const FIELDS: &'static [$crate::form::FieldSpec] = &[
                $( $crate::form::FieldSpec {
                    name: $main,
                    about: concat!($($doc),+),
                    required: <$ty as $crate::form::Field>::REQUIRED,
                    schema: <$ty as $crate::form::Field>::schema,
                }, )*
            ];

            fn fill(reader: &mut $crate::form::FieldReader<'_>) -> Result<Self, $crate::form::BadField> {
                Ok(Self { $( $field: reader.take($main, &[$($alias),*])?, )* })
            }
        }

        impl $crate::form::Field for $name {
            fn read(value: &serde_json::Value) -> Result<Self, $crate::form::BadField> {
                <Self as $crate::form::InputForm>::from_value(value, $crate::form::RequiredFields::ForExecution)
            }

            fn schema() -> serde_json::Value {
                <Self as $crate::form::InputForm>::object_schema()
            }
        }
    };
}

/// Declares a field that is one of a few words.
macro_rules! words {
    ($(#[doc = $about:literal])+ $name:ident { $( $(#[doc = $doc:literal])+ $variant:ident = $word:literal, )+ }) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $( $(#[doc = $doc])+ $variant, )+ }

        impl $crate::form::Field for $name {
            fn read(value: &serde_json::Value) -> Result<Self, $crate::form::BadField> {
                const WORDS: &[&str] = &[$($word),+];
                match value.as_str() {
                    $( Some($word) => Ok(Self::$variant), )+
                    Some(other) => Err($crate::form::BadField::new("", WORDS.join(" or "), format!("`{other}`"))),
                    None => Err($crate::form::BadField::new("", WORDS.join(" or "), $crate::form::describe_value(value))),
                }
            }

            fn schema() -> serde_json::Value {
                serde_json::json!({"type": "string", "enum": [$($word),+]})
            }
        }
    };
}

pub(crate) use {input, words};

//! Declaration of objects of settings: one declaration gives the struct, its reader and its schema.

use serde_json::{Map, json};

/// One setting as declared.
pub(super) struct SettingKey {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) schema: fn() -> serde_json::Value,
}

/// The JSON Schema of an object of settings.
pub(super) fn object_schema(keys: &[SettingKey], required: &[&str]) -> serde_json::Value {
    let mut properties = Map::new();
    for key in keys {
        let mut schema = (key.schema)();
        if schema == true {
            schema = json!({});
        }
        if let Some(object) = schema.as_object_mut() {
            object.insert("description".to_owned(), key.about.trim().into());
        }
        properties.insert(key.name.to_owned(), schema);
    }
    let mut object = json!({"type": "object", "properties": properties, "additionalProperties": false});
    if let (false, Some(object)) = (required.is_empty(), object.as_object_mut()) {
        object.insert("required".to_owned(), json!(required));
    }
    object
}

/// Declares an object of settings: `field = "key": Type`. What is not given is the type's default, unless the key
/// stands among those that it `needs`.
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        $name:ident $(needs [$($needed:literal),+])? { $( $(#[doc = $doc:literal])+ $field:ident = $key:literal : $ty:ty, )+ }
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq, Default)]
        pub struct $name { $( $(#[doc = $doc])+ pub $field: $ty, )+ }

        impl $name {
            /// The keys, in the order of the documentation.
            pub const KEYS: &'static [&'static str] = &[$($key),+];
        }

        impl $crate::settings::value::Setting for $name {
            fn read(
                value: &jsonc_parser::ast::Value<'_>,
                reader: &mut $crate::settings::reader::SettingsReader<'_>,
            ) -> Option<Self> {
                let mut section = Self::default();
                reader.section(value, Self::KEYS, |reader, key, value| match key {
                    $( $key => {
                        if let Some(read) = $crate::settings::value::Setting::read(value, reader) {
                            section.$field = read;
                        }
                    } )+
                    // `SettingsReader::section` visits declared keys only.
                    _ => {}
                });
                $( reader.needs(value, &[$($needed),+]); )?
                Some(section)
            }

            fn schema() -> serde_json::Value {
                $crate::settings::section::object_schema(&[
                    $( $crate::settings::section::SettingKey {
                        name: $key,
                        about: concat!($($doc),+),
                        schema: <$ty as $crate::settings::value::Setting>::schema,
                    }, )+
                ], &[$($($needed),+)?])
            }
        }
    };
}

pub(super) use section;

//! What a server said about its tools when it was first seen, by hash, kept between its starts.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use pinfold::audit::Hash;
use serde_json::{Map, Value, json};
use tempfile::NamedTempFile;

/// The only form of the file so far.
const VERSION: u64 = 1;

/// What is known of a server.
#[derive(Debug, Default)]
pub(crate) struct Pins {
    /// Where they are kept; nowhere, they are good for one start.
    file: Option<PathBuf>,
    /// What is written beside them, for people.
    about: Value,
    /// A whole list was seen: what comes now is new.
    complete: bool,
    tools: BTreeMap<String, String>,
}

/// How a definition compares with what is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    Same,
    New,
    Changed,
}

/// Where pins are kept, and of whom.
#[derive(Debug, Clone)]
pub struct PinPlace {
    /// The directory; without one they are kept as long as the process lives.
    pub directory: Option<PathBuf>,
    /// The server, as it is started.
    pub server: Vec<String>,
    /// Its folder.
    pub folder: PathBuf,
    /// What the server says now counts as what it said first.
    pub anew: bool,
}

impl PinPlace {
    fn about(&self) -> Value {
        json!({"server": self.server, "folder": self.folder.to_string_lossy()})
    }

    /// One file for each server in each folder.
    fn file(&self) -> Option<PathBuf> {
        let name = Hash::of(self.about().to_string().as_bytes());
        Some(self.directory.as_ref()?.join(format!("{name}.json")))
    }
}

impl Pins {
    /// Reads what is kept. The directory is made, so that it is there to be guarded.
    ///
    /// # Errors
    /// When nothing can be kept, or what is kept cannot be understood: what was known is not known any more.
    pub(crate) fn read(place: &PinPlace) -> Result<Self, String> {
        let fresh = Self { file: place.file(), about: place.about(), ..Self::default() };
        if let Some(directory) = &place.directory {
            let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
            made.map_err(|e| unusable(directory, &e.to_string()))?;
        }
        let Some(file) = fresh.file.as_deref().filter(|_| !place.anew) else { return Ok(fresh) };
        let text = match fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(fresh),
            Err(error) => return Err(unusable(file, &error.to_string())),
        };
        let kept: Value = serde_json::from_str(&text).map_err(|e| unusable(file, &e.to_string()))?;
        let tools = tools(&kept).ok_or_else(|| unusable(file, "it has another form"))?;
        Ok(Self { complete: kept.get("complete") == Some(&Value::Bool(true)), tools, ..fresh })
    }

    /// Compares a definition; the first one of a tool is kept as long as no whole list was seen.
    pub(crate) fn compare(&mut self, tool: &str, hash: &str) -> Known {
        match self.tools.get(tool) {
            Some(known) if known == hash => Known::Same,
            Some(_) => Known::Changed,
            None if self.complete => Known::New,
            None => {
                self.tools.insert(tool.to_owned(), hash.to_owned());
                Known::Same
            }
        }
    }

    /// From now on a definition counts as known.
    pub(crate) fn take(&mut self, tool: &str, hash: &str) -> io::Result<()> {
        self.tools.insert(tool.to_owned(), hash.to_owned());
        self.keep()
    }

    /// The first list is at its end.
    pub(crate) fn complete(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.complete, true) {
            return Ok(());
        }
        self.keep()
    }

    fn keep(&self) -> io::Result<()> {
        let Some((file, directory)) = self.file.as_deref().and_then(|file| Some((file, file.parent()?)))
        else {
            return Ok(());
        };
        let mut kept = json!({"version": VERSION, "complete": self.complete, "tools": self.tools});
        if let (Value::Object(kept), Value::Object(about)) = (&mut kept, &self.about) {
            kept.extend(about.clone());
        }
        let mut beside = NamedTempFile::new_in(directory)?;
        writeln!(beside, "{kept:#}")?;
        beside.persist(file).map(drop).map_err(|e| e.error)
    }
}

fn tools(kept: &Value) -> Option<BTreeMap<String, String>> {
    if kept.get("version")?.as_u64()? != VERSION {
        return None;
    }
    let tools = kept.get("tools")?.as_object()?;
    tools.iter().map(|(name, hash)| Some((name.clone(), hash.as_str()?.to_owned()))).collect()
}

fn unusable(file: &Path, why: &str) -> String {
    format!("what is known of the tools of this server cannot be read ({}): {why}", file.display())
}

/// The hash of a definition, however it is written: whatever a model or a client could read of it counts.
pub(crate) fn hash(definition: &Value) -> String {
    Hash::of(sorted(definition).to_string().as_bytes()).to_string()
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let sorted: BTreeMap<_, _> =
                map.iter().map(|(name, value)| (name.clone(), sorted(value))).collect();
            Value::Object(sorted.into_iter().collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => plain.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn place(directory: &Path) -> PinPlace {
        PinPlace {
            directory: Some(directory.join("mcp")),
            server: vec!["server".to_owned(), "--x".to_owned()],
            folder: PathBuf::from("/work"),
            anew: false,
        }
    }

    #[test]
    fn what_was_said_first_is_known_and_everything_else_is_told_apart() {
        let bed = tempfile::tempdir().unwrap();
        let place = place(bed.path());
        let mut pins = Pins::read(&place).unwrap();
        assert_eq!(pins.compare("a", "1"), Known::Same);
        assert_eq!(pins.compare("b", "1"), Known::Same, "the first list goes on");
        assert_eq!(pins.compare("a", "2"), Known::Changed, "even within the first list");
        pins.complete().unwrap();
        assert_eq!((pins.compare("c", "1"), pins.compare("a", "2")), (Known::New, Known::Changed));

        let mut pins = Pins::read(&place).unwrap();
        assert_eq!((pins.compare("a", "1"), pins.compare("c", "1")), (Known::Same, Known::New));
        pins.take("c", "1").unwrap();
        assert_eq!(Pins::read(&place).unwrap().compare("c", "1"), Known::Same);
        let of_others = |change: fn(&mut PinPlace)| {
            let mut other = place.clone();
            change(&mut other);
            Pins::read(&other).unwrap().compare("d", "1")
        };
        assert_eq!(of_others(|_| {}), Known::New);
        assert_eq!(of_others(|place| place.anew = true), Known::Same);
        assert_eq!(of_others(|place| place.server.push("--y".to_owned())), Known::Same, "another server");
        assert_eq!(of_others(|place| place.folder = "/other".into()), Known::Same, "another folder");

        let file = place.file().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
        for text in ["", "{", "[]", r#"{"version":2,"tools":{}}"#, r#"{"version":1,"tools":{"a":1}}"#] {
            fs::write(&file, text).unwrap();
            assert!(Pins::read(&place).is_err(), "{text}");
        }
    }

    #[test]
    fn a_definition_is_what_it_says_and_not_how_it_is_written() {
        let one = json!({"name": "a", "inputSchema": {"x": 1, "y": [{"b": 1, "a": 2}]}});
        let two = json!({"inputSchema": {"y": [{"a": 2, "b": 1}], "x": 1}, "name": "a"});
        assert_eq!(hash(&one), hash(&two));
        let changed = json!({"name": "a", "inputSchema": {"x": 1, "y": [{"b": 1, "a": 2}]}, "_meta": {}});
        assert_ne!(hash(&one), hash(&changed));
    }
}

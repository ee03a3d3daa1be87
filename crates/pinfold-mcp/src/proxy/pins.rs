//! Pinned definitions: what a server said about itself and its tools when it was first seen, stored between starts.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use pinfold::audit::Hash;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use super::definitions::{Definition, Definitions};

/// The version of the file. The one before it had hashes alone, and is read as well.
const VERSION: u64 = 2;

/// The pins of a server.
#[derive(Debug, Default)]
pub(crate) struct Pins {
    /// The file; without one they last for one start.
    file: Option<PathBuf>,
    /// A description for the user, stored beside them.
    about: Value,
    /// A complete list was seen.
    complete: bool,
    /// Further definitions are new: a complete list was seen, or an earlier start has stored a part of one.
    closed: bool,
    /// There are unsaved pins.
    unwritten: bool,
    tools: Definitions,
    /// The texts of the handshake, by path; none before the first one.
    greeting: Option<Definitions>,
}

/// The comparison of a definition with its pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PinComparison {
    Same,
    New,
    Changed,
}

/// The location of pins, and their server.
#[derive(Debug, Clone)]
pub struct PinLocation {
    /// The directory; without one they last as long as the process.
    pub directory: Option<PathBuf>,
    /// The server's command line.
    pub server: Vec<String>,
    /// Its folder.
    pub folder: PathBuf,
    /// Accept the current definitions as the first ones.
    pub anew: bool,
}

impl PinLocation {
    fn to_json(&self) -> Value {
        json!({"server": self.server, "folder": self.folder.to_string_lossy()})
    }

    /// One file per server and folder.
    fn file(&self) -> Option<PathBuf> {
        let name = Hash::digest(self.to_json().to_string().as_bytes());
        Some(self.directory.as_ref()?.join(format!("{name}.json")))
    }
}

impl Pins {
    /// Reads stored pins. The directory is created, so that it can be guarded.
    ///
    /// # Errors
    /// When nothing can be stored, or stored pins are malformed: what was pinned is not known then.
    pub(crate) fn read(place: &PinLocation) -> Result<Self, String> {
        let fresh = Self { file: place.file(), about: place.to_json(), ..Self::default() };
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
        let (tools, greeting) = parse_stored(&kept).ok_or_else(|| unusable(file, "it has another form"))?;
        let complete = kept.get("complete") == Some(&Value::Bool(true));
        Ok(Self { complete, closed: complete || !tools.is_empty(), tools, greeting, ..fresh })
    }

    /// Compares a definition. The first one of a tool counts in the first start until a complete list was seen: a list
    /// that never ends is accepted once.
    pub(crate) fn compare(&mut self, tool: &str, definition: &Definition) -> PinComparison {
        match self.tools.get(tool) {
            Some(known) if known.is(definition) => PinComparison::Same,
            Some(_) => PinComparison::Changed,
            None if self.closed => PinComparison::New,
            None => {
                self.tools.insert(tool, definition);
                self.unwritten = true;
                PinComparison::Same
            }
        }
    }

    /// The pin of a tool.
    pub(crate) fn tool_definition(&self, tool: &str) -> Option<&Definition> {
        self.tools.get(tool)
    }

    /// Pins a definition.
    pub(crate) fn take(&mut self, tool: &str, definition: &Definition) -> io::Result<()> {
        self.tools.insert(tool, definition);
        self.keep()
    }

    /// Saves the pins of a page, the last one or another.
    pub(crate) fn page_is_over(&mut self, is_last: bool) -> io::Result<()> {
        let ends = is_last && !self.complete;
        self.complete |= is_last;
        self.closed |= is_last;
        if ends || self.unwritten { self.keep() } else { Ok(()) }
    }

    /// Compares the texts of a handshake by path, and returns those that are not pinned. The first ones are pinned.
    pub(crate) fn compare_handshake(&mut self, words: &[(String, Definition)]) -> io::Result<Vec<String>> {
        if let Some(known) = &self.greeting {
            let is_new =
                |(place, said): &&(String, Definition)| !known.get(place).is_some_and(|it| it.is(said));
            return Ok(words.iter().filter(is_new).map(|(place, _)| place.clone()).collect());
        }
        let mut first = Definitions::default();
        for (place, said) in words {
            first.insert(place, said);
        }
        self.greeting = Some(first);
        self.keep().map(|()| Vec::new())
    }

    fn keep(&mut self) -> io::Result<()> {
        let Some((file, directory)) = self.file.as_deref().and_then(|file| Some((file, file.parent()?)))
        else {
            return Ok(());
        };
        let mut kept =
            json!({"version": VERSION, "complete": self.complete, "tools": self.tools.to_stored()});
        if let (Value::Object(kept), Value::Object(about)) = (&mut kept, &self.about) {
            kept.extend(self.greeting.as_ref().map(|words| ("greeting".to_owned(), words.to_stored())));
            kept.extend(about.clone());
        }
        let mut beside = NamedTempFile::new_in(directory)?;
        writeln!(beside, "{kept:#}")?;
        beside.persist(file).map_err(|e| e.error)?;
        self.unwritten = false;
        Ok(())
    }
}

fn parse_stored(kept: &Value) -> Option<(Definitions, Option<Definitions>)> {
    if !(1..=VERSION).contains(&kept.get("version")?.as_u64()?) {
        return None;
    }
    let greeting = match kept.get("greeting") {
        Some(words) => Some(Definitions::from_stored(words)?),
        None => None,
    };
    Some((Definitions::from_stored(kept.get("tools")?)?, greeting))
}

fn unusable(file: &Path, why: &str) -> String {
    format!("what is known of the tools of this server cannot be read ({}): {why}", file.display())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn place(directory: &Path) -> PinLocation {
        PinLocation {
            directory: Some(directory.join("mcp")),
            server: vec!["server".to_owned(), "--x".to_owned()],
            folder: PathBuf::from("/work"),
            anew: false,
        }
    }

    fn definition(text: &str) -> Definition {
        Definition::new(&Value::from(text))
    }

    #[test]
    fn what_was_said_first_is_known_and_everything_else_is_told_apart() {
        let bed = tempfile::tempdir().unwrap();
        let place = place(bed.path());
        let mut pins = Pins::read(&place).unwrap();
        assert_eq!(pins.compare("a", &definition("1")), PinComparison::Same);
        assert_eq!(pins.compare("b", &definition("1")), PinComparison::Same, "the first list goes on");
        assert_eq!(pins.compare("a", &definition("2")), PinComparison::Changed, "even within the first list");
        pins.page_is_over(true).unwrap();
        assert_eq!(
            (pins.compare("c", &definition("1")), pins.compare("a", &definition("2"))),
            (PinComparison::New, PinComparison::Changed)
        );

        let mut pins = Pins::read(&place).unwrap();
        assert_eq!(
            (pins.compare("a", &definition("1")), pins.compare("c", &definition("1"))),
            (PinComparison::Same, PinComparison::New)
        );
        assert!(pins.tool_definition("a").unwrap().has_text());
        pins.take("c", &definition("1")).unwrap();
        assert_eq!(Pins::read(&place).unwrap().compare("c", &definition("1")), PinComparison::Same);
        let of_others = |change: fn(&mut PinLocation)| {
            let mut other = place.clone();
            change(&mut other);
            Pins::read(&other).unwrap().compare("d", &definition("1"))
        };
        assert_eq!(of_others(|_| {}), PinComparison::New);
        assert_eq!(of_others(|place| place.anew = true), PinComparison::Same);
        assert_eq!(
            of_others(|place| place.server.push("--y".to_owned())),
            PinComparison::Same,
            "another server"
        );
        assert_eq!(of_others(|place| place.folder = "/other".into()), PinComparison::Same, "another folder");

        let file = place.file().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
        for text in [
            "",
            "{",
            "[]",
            r#"{"version":3,"tools":{}}"#,
            r#"{"version":0,"tools":{}}"#,
            r#"{"version":2,"tools":{},"greeting":1}"#,
            r#"{"version":1,"tools":{"a":1}}"#,
        ] {
            fs::write(&file, text).unwrap();
            assert!(Pins::read(&place).is_err(), "{text}");
        }
    }

    /// Every start lists one page with the same cursor, and never a last one.
    #[test]
    fn a_list_without_an_end_is_taken_in_once() {
        let bed = tempfile::tempdir().unwrap();
        let place = place(bed.path());
        let mut pins = Pins::read(&place).unwrap();
        for page in ["a", "b", "c"] {
            assert_eq!(
                pins.compare(page, &definition("1")),
                PinComparison::Same,
                "page {page} of the first start"
            );
            pins.page_is_over(false).unwrap();
        }
        drop(pins);
        for start in 0..3 {
            let mut pins = Pins::read(&place).unwrap();
            assert_eq!(pins.compare("a", &definition("1")), PinComparison::Same, "start {start}");
            assert_eq!(pins.compare("b", &definition("2")), PinComparison::Changed, "start {start}");
            assert_eq!(pins.compare("d", &definition("1")), PinComparison::New, "start {start}");
            pins.page_is_over(false).unwrap();
        }
    }

    #[test]
    fn the_words_of_the_first_handshake_are_known() {
        let bed = tempfile::tempdir().unwrap();
        let place = place(bed.path());
        let words = |text: &str| vec![("instructions".to_owned(), definition(text))];
        assert!(Pins::read(&place).unwrap().compare_handshake(&words("1")).unwrap().is_empty());
        let mut pins = Pins::read(&place).unwrap();
        assert!(
            pins.compare_handshake(&words("1")).unwrap().is_empty()
                && pins.compare_handshake(&[]).unwrap().is_empty()
        );
        assert_eq!(pins.compare_handshake(&words("2")).unwrap(), ["instructions"]);
        let more = [words("1"), vec![("title".to_owned(), definition("x"))]].concat();
        assert_eq!(pins.compare_handshake(&more).unwrap(), ["title"]);
        // The list may be requested later than the handshake.
        assert_eq!(Pins::read(&place).unwrap().compare("a", &definition("1")), PinComparison::Same);
    }
}

//! What a server said about itself and its tools when it was first seen, kept between its starts.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use pinfold::audit::Hash;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use super::definitions::{Definition, Definitions};

/// The form of the file. The one before it had hashes alone, and is read as well.
const VERSION: u64 = 2;

/// What is known of a server.
#[derive(Debug, Default)]
pub(crate) struct Pins {
    /// Where they are kept; nowhere, they are good for one start.
    file: Option<PathBuf>,
    /// What is written beside them, for people.
    about: Value,
    /// A whole list was seen.
    complete: bool,
    /// What comes now is new: a whole list was seen, or an earlier start has kept something of one.
    closed: bool,
    /// Something was taken in that is not written yet.
    unwritten: bool,
    tools: Definitions,
    /// The words of the handshake, by their place in it; none before the first one.
    greeting: Option<Definitions>,
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
        let (tools, greeting) = known(&kept).ok_or_else(|| unusable(file, "it has another form"))?;
        let complete = kept.get("complete") == Some(&Value::Bool(true));
        Ok(Self { complete, closed: complete || !tools.is_empty(), tools, greeting, ..fresh })
    }

    /// Compares a definition. The first one of a tool counts in the first start, as long as no whole list was seen: a list
    /// that never ends is taken in once.
    pub(crate) fn compare(&mut self, tool: &str, definition: &Definition) -> Known {
        match self.tools.get(tool) {
            Some(known) if known.is(definition) => Known::Same,
            Some(_) => Known::Changed,
            None if self.closed => Known::New,
            None => {
                self.tools.insert(tool, definition);
                self.unwritten = true;
                Known::Same
            }
        }
    }

    /// What is known of a tool.
    pub(crate) fn of_tool(&self, tool: &str) -> Option<&Definition> {
        self.tools.get(tool)
    }

    /// From now on a definition counts as known.
    pub(crate) fn take(&mut self, tool: &str, definition: &Definition) -> io::Result<()> {
        self.tools.insert(tool, definition);
        self.keep()
    }

    /// A page of the list was taken in, the last one or another: what it had is written.
    pub(crate) fn page_is_over(&mut self, is_last: bool) -> io::Result<()> {
        let ends = is_last && !self.complete;
        self.complete |= is_last;
        self.closed |= is_last;
        if ends || self.unwritten { self.keep() } else { Ok(()) }
    }

    /// Compares the words of a handshake by their places, and names those that are not known. Those of the first one count.
    pub(crate) fn greeting(&mut self, words: &[(String, Definition)]) -> io::Result<Vec<String>> {
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
        let mut kept = json!({"version": VERSION, "complete": self.complete, "tools": self.tools.to_kept()});
        if let (Value::Object(kept), Value::Object(about)) = (&mut kept, &self.about) {
            kept.extend(self.greeting.as_ref().map(|words| ("greeting".to_owned(), words.to_kept())));
            kept.extend(about.clone());
        }
        let mut beside = NamedTempFile::new_in(directory)?;
        writeln!(beside, "{kept:#}")?;
        beside.persist(file).map_err(|e| e.error)?;
        self.unwritten = false;
        Ok(())
    }
}

fn known(kept: &Value) -> Option<(Definitions, Option<Definitions>)> {
    if !(1..=VERSION).contains(&kept.get("version")?.as_u64()?) {
        return None;
    }
    let greeting = match kept.get("greeting") {
        Some(words) => Some(Definitions::from_kept(words)?),
        None => None,
    };
    Some((Definitions::from_kept(kept.get("tools")?)?, greeting))
}

fn unusable(file: &Path, why: &str) -> String {
    format!("what is known of the tools of this server cannot be read ({}): {why}", file.display())
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

    fn of(text: &str) -> Definition {
        Definition::new(&Value::from(text))
    }

    #[test]
    fn what_was_said_first_is_known_and_everything_else_is_told_apart() {
        let bed = tempfile::tempdir().unwrap();
        let place = place(bed.path());
        let mut pins = Pins::read(&place).unwrap();
        assert_eq!(pins.compare("a", &of("1")), Known::Same);
        assert_eq!(pins.compare("b", &of("1")), Known::Same, "the first list goes on");
        assert_eq!(pins.compare("a", &of("2")), Known::Changed, "even within the first list");
        pins.page_is_over(true).unwrap();
        assert_eq!((pins.compare("c", &of("1")), pins.compare("a", &of("2"))), (Known::New, Known::Changed));

        let mut pins = Pins::read(&place).unwrap();
        assert_eq!((pins.compare("a", &of("1")), pins.compare("c", &of("1"))), (Known::Same, Known::New));
        assert!(pins.of_tool("a").unwrap().has_text());
        pins.take("c", &of("1")).unwrap();
        assert_eq!(Pins::read(&place).unwrap().compare("c", &of("1")), Known::Same);
        let of_others = |change: fn(&mut PinPlace)| {
            let mut other = place.clone();
            change(&mut other);
            Pins::read(&other).unwrap().compare("d", &of("1"))
        };
        assert_eq!(of_others(|_| {}), Known::New);
        assert_eq!(of_others(|place| place.anew = true), Known::Same);
        assert_eq!(of_others(|place| place.server.push("--y".to_owned())), Known::Same, "another server");
        assert_eq!(of_others(|place| place.folder = "/other".into()), Known::Same, "another folder");

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

    /// Each start shows one page with the same cursor, and never a last one.
    #[test]
    fn a_list_without_an_end_is_taken_in_once() {
        let bed = tempfile::tempdir().unwrap();
        let place = place(bed.path());
        let mut pins = Pins::read(&place).unwrap();
        for page in ["a", "b", "c"] {
            assert_eq!(pins.compare(page, &of("1")), Known::Same, "page {page} of the first start");
            pins.page_is_over(false).unwrap();
        }
        drop(pins);
        for start in 0..3 {
            let mut pins = Pins::read(&place).unwrap();
            assert_eq!(pins.compare("a", &of("1")), Known::Same, "start {start}");
            assert_eq!(pins.compare("b", &of("2")), Known::Changed, "start {start}");
            assert_eq!(pins.compare("d", &of("1")), Known::New, "start {start}");
            pins.page_is_over(false).unwrap();
        }
    }

    #[test]
    fn the_words_of_the_first_handshake_are_known() {
        let bed = tempfile::tempdir().unwrap();
        let place = place(bed.path());
        let words = |text: &str| vec![("instructions".to_owned(), of(text))];
        assert!(Pins::read(&place).unwrap().greeting(&words("1")).unwrap().is_empty());
        let mut pins = Pins::read(&place).unwrap();
        assert!(pins.greeting(&words("1")).unwrap().is_empty() && pins.greeting(&[]).unwrap().is_empty());
        assert_eq!(pins.greeting(&words("2")).unwrap(), ["instructions"]);
        let more = [words("1"), vec![("title".to_owned(), of("x"))]].concat();
        assert_eq!(pins.greeting(&more).unwrap(), ["title"]);
        // The list may begin later than the handshake.
        assert_eq!(Pins::read(&place).unwrap().compare("a", &of("1")), Known::Same);
    }
}

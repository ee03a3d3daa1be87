//! The tree of lines as entries, checked.

use std::collections::HashMap;

use super::lines::Node;
use super::vocabulary::{self, Effect, FOLDERS, REACHES, STYLES, look_up};

/// One program, or one subcommand.
pub(crate) struct Entry {
    pub(crate) place: String,
    pub(crate) names: Vec<String>,
    pub(crate) style: &'static str,
    pub(crate) stops: bool,
    pub(crate) folder: &'static str,
    pub(crate) reach: &'static str,
    pub(crate) closed: bool,
    /// Source of an `Operands`.
    pub(crate) operands: String,
    pub(crate) options: Vec<Options>,
    pub(crate) commands: Vec<Entry>,
}

/// Options that do the same.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Options {
    pub(crate) names: Vec<String>,
    /// The name of a `Takes`.
    pub(crate) takes: &'static str,
    pub(crate) effect: Effect,
}

struct Compiler<'a> {
    lists: HashMap<&'a str, &'a Node>,
    errors: &'a mut Vec<String>,
}

/// All programs of the catalog.
pub(crate) fn compile<'a>(nodes: &'a [Node], errors: &'a mut Vec<String>) -> Vec<Entry> {
    let mut compiler = Compiler { lists: HashMap::new(), errors };
    let mut entries = Vec::new();
    for node in nodes.iter().filter(|node| node.key == "list") {
        match node.words.as_slice() {
            [name] if compiler.lists.insert(name, node).is_none() => {}
            _ => compiler.error(node, "a list has one name, which no other has"),
        }
    }
    for node in nodes {
        match node.key.as_str() {
            "program" => entries.push(compiler.entry(node)),
            "list" => {}
            _ => compiler.error(node, "neither `program` nor `list`"),
        }
    }
    compiler.no_name_twice(&entries);
    entries
}

impl<'a> Compiler<'a> {
    fn error(&mut self, node: &Node, what: &str) {
        self.errors.push(format!("{}: {what}", node.place));
    }

    fn entry(&mut self, node: &'a Node) -> Entry {
        let mut entry = Entry {
            place: node.place.clone(),
            names: node.words.clone(),
            style: "Gnu",
            stops: false,
            folder: "Nothing",
            reach: "Anything",
            closed: false,
            operands: "Operands::Nothing".to_owned(),
            options: Vec::new(),
            commands: Vec::new(),
        };
        if entry.names.is_empty() || node.quoted.is_some() {
            self.error(node, "it needs a name, and nothing else");
        }
        self.fill(&mut entry, node);
        self.no_option_twice(node, &entry);
        self.no_name_twice(&entry.commands);
        entry
    }

    fn fill(&mut self, entry: &mut Entry, node: &'a Node) {
        for line in &node.children {
            let words: Vec<&str> = line.words.iter().map(String::as_str).collect();
            match line.key.as_str() {
                "also" => entry.names.extend(line.words.iter().cloned()),
                "stops" => entry.stops = true,
                "closed" => entry.closed = true,
                "style" => self.choose(&mut entry.style, STYLES, line),
                "folder" => self.choose(&mut entry.folder, FOLDERS, line),
                "words" => self.choose(&mut entry.reach, REACHES, line),
                "operands" => match vocabulary::operands(&words) {
                    Some(operands) => entry.operands = operands,
                    None => self.error(line, "operands of no known kind"),
                },
                "use" => match line.words.first().and_then(|name| self.lists.get(name.as_str()).copied()) {
                    Some(list) => self.fill(entry, list),
                    None => self.error(line, "there is no such list"),
                },
                "command" => {
                    let command = self.entry(line);
                    entry.commands.push(command);
                }
                _ => self.options(&mut entry.options, line),
            }
        }
    }

    fn choose(&mut self, to: &mut &'static str, words: &[(&str, &'static str)], line: &Node) {
        match line.words.as_slice() {
            [word] => match look_up(words, word) {
                Some(name) => *to = name,
                None => self.error(line, "no such word is known here"),
            },
            _ => self.error(line, "it takes one word"),
        }
    }

    /// `EFFECT NAME…`; options of which some take a value and others do not may stand in one line.
    fn options(&mut self, all: &mut Vec<Options>, line: &Node) {
        let is_option = |word: &&str| word.starts_with(['-', '+']);
        let (names, words): (Vec<&str>, Vec<&str>) =
            line.words.iter().map(String::as_str).partition(is_option);
        let Some(effect) = vocabulary::effect(&line.key, &words, line.quoted.as_deref()) else {
            return self.error(line, "no effect of an option is written so");
        };
        if names.is_empty() || !line.children.is_empty() {
            self.error(line, "it needs options, and nothing below them");
        }
        let mut groups: Vec<Options> = Vec::new();
        for word in names {
            let (name, takes) = arity(word);
            match groups.iter_mut().find(|group| group.takes == takes) {
                Some(group) => group.names.push(name.to_owned()),
                None => {
                    groups.push(Options { names: vec![name.to_owned()], takes, effect: effect.clone() });
                }
            }
        }
        all.extend(groups);
    }

    /// An option that stands twice may take a value once and none the other time.
    fn no_option_twice(&mut self, node: &Node, entry: &Entry) {
        let mut seen: HashMap<&str, &str> = HashMap::new();
        for options in &entry.options {
            for name in &options.names {
                match seen.insert(name, options.takes) {
                    Some(before) if before != options.takes => {
                        self.error(node, &format!("`{name}` takes a value in one row and none in another"));
                    }
                    Some(_) => self.error(node, &format!("`{name}` stands in two rows")),
                    None => {}
                }
            }
        }
    }

    fn no_name_twice(&mut self, entries: &[Entry]) {
        let mut seen: HashMap<&str, &str> = HashMap::new();
        for entry in entries {
            for name in &entry.names {
                if let Some(before) = seen.insert(name, &entry.place) {
                    self.errors.push(format!("{}: `{name}` stands in {before} too", entry.place));
                }
            }
        }
    }
}

/// `--name`, `--name=`, `--name[=]`: the name, and whether it takes a value.
fn arity(word: &str) -> (&str, &'static str) {
    if let Some(name) = word.strip_suffix("[=]") {
        (name, "Glued")
    } else if let Some(name) = word.strip_suffix('=') {
        (name, "Value")
    } else {
        (word, "Nothing")
    }
}

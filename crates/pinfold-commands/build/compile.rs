//! The tree of lines as entries, checked.

use std::collections::{HashMap, HashSet};

use super::lines::Node;
use super::vocabulary::{self, Effect, FOLDERS, KINDS, REACHES, STYLES, kind_by_operands, look_up};

/// One program, or one subcommand.
pub(crate) struct Entry {
    pub(crate) place: String,
    pub(crate) names: Vec<String>,
    /// The name of a `ProgramKind`.
    pub(crate) kind: &'static str,
    pub(crate) style: &'static str,
    pub(crate) stops: bool,
    pub(crate) folder: &'static str,
    pub(crate) reach: &'static str,
    pub(crate) closed: bool,
    /// Source of an `Operands`.
    pub(crate) operands: String,
    pub(crate) options: Vec<Options>,
    pub(crate) commands: Vec<Entry>,
    /// Options that a line of the entry itself names: those of a list that it uses give way to them.
    own: HashSet<String>,
    /// The name of a `ReadOnly`, and the names that belong to it.
    pub(crate) read_only: Option<(String, Vec<String>)>,
    pub(crate) tame: bool,
    /// Names of options that only change what is read and how that is shown.
    pub(crate) safe: Vec<String>,
    /// The manual that the entry was read from, with its version; empty where none is known.
    pub(crate) manual: String,
    /// Options of the lines `safe` and `harmless`, as they are written; those of shared lists last.
    listed: Vec<Listed>,
}

/// An option in a line that says nothing else of it.
struct Listed {
    word: String,
    safe: bool,
    /// The line belongs to a list, and gives way to a line of the entry.
    shared: bool,
    place: String,
}

/// Options that do the same.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Options {
    pub(crate) names: Vec<String>,
    /// The name of a `Takes`.
    pub(crate) takes: &'static str,
    pub(crate) effect: Effect,
}

/// Position of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    /// In the entry itself.
    Entry,
    /// In a list that it uses.
    List,
    /// In the entry of another program that it is like, but for what only reads.
    Other,
}

struct Compiler<'a> {
    lists: HashMap<&'a str, &'a Node>,
    programs: HashMap<&'a str, &'a Node>,
    errors: &'a mut Vec<String>,
}

/// All programs of the catalog.
pub(crate) fn compile<'a>(nodes: &'a [Node], errors: &'a mut Vec<String>) -> Vec<Entry> {
    let mut compiler = Compiler { lists: HashMap::new(), programs: HashMap::new(), errors };
    let mut entries = Vec::new();
    for node in nodes.iter().filter(|node| node.key == "list") {
        match node.words.as_slice() {
            [name] if compiler.lists.insert(name, node).is_none() => {}
            _ => compiler.error(node, "a list has one name, which no other has"),
        }
    }
    for node in nodes.iter().filter(|node| node.key == "program") {
        compiler.programs.extend(node.words.iter().map(|name| (name.as_str(), node)));
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
            kind: "",
            style: "Gnu",
            stops: false,
            folder: "Nothing",
            reach: "Anything",
            closed: false,
            operands: "Operands::Nothing".to_owned(),
            options: Vec::new(),
            commands: Vec::new(),
            own: own_options(node),
            read_only: None,
            tame: false,
            safe: Vec::new(),
            manual: String::new(),
            listed: Vec::new(),
        };
        if entry.names.is_empty() || node.quoted.is_some() {
            self.error(node, "it needs a name, and nothing else");
        }
        self.fill(&mut entry, node, From::Entry);
        self.add_listed(&mut entry);
        self.settle_kind(node, &mut entry);
        self.no_option_twice(node, &entry);
        self.no_name_twice(&entry.commands);
        entry
    }

    fn fill(&mut self, entry: &mut Entry, node: &'a Node, from: From) {
        for line in &node.children {
            let words: Vec<&str> = line.words.iter().map(String::as_str).collect();
            match line.key.as_str() {
                // What a program is called and whether it only reads is not said by an entry that is like it.
                "also" | "read-only" | "manual" if from == From::Other => {}
                "manual" => self.manual(entry, line),
                "also" => entry.names.extend(line.words.iter().cloned()),
                "stops" => entry.stops = true,
                "closed" => entry.closed = true,
                "kind" => self.choose(&mut entry.kind, KINDS, line),
                "style" => self.choose(&mut entry.style, STYLES, line),
                "folder" => self.choose(&mut entry.folder, FOLDERS, line),
                "words" => self.choose(&mut entry.reach, REACHES, line),
                "operands" => match vocabulary::operands(&words) {
                    Some(operands) => entry.operands = operands,
                    None => self.error(line, "operands of no known kind"),
                },
                "use" => match line.words.first().and_then(|name| self.lists.get(name.as_str()).copied()) {
                    Some(list) => self.fill(entry, list, From::List),
                    None => self.error(line, "there is no such list"),
                },
                "like" => match line.words.first().and_then(|name| self.programs.get(name.as_str()).copied())
                {
                    Some(other) => self.fill(entry, other, From::Other),
                    None => self.error(line, "there is no such program"),
                },
                "read-only" => self.read_only(entry, line),
                "safe" | "harmless" => entry.listed.extend(line.words.iter().map(|word| Listed {
                    word: word.clone(),
                    safe: line.key == "safe" && from != From::Other,
                    shared: from == From::List,
                    place: line.place.clone(),
                })),
                "command" => {
                    let command = self.entry(line);
                    entry.commands.push(command);
                }
                _ => self.options(entry, line, from),
            }
        }
    }

    /// The kind that the entry says, or that its operands say. One of them is enough.
    fn settle_kind(&mut self, node: &Node, entry: &mut Entry) {
        let by_operands = kind_by_operands(&entry.operands);
        let inherits = node.children.iter().any(|line| line.key == "like");
        if entry.kind == by_operands && !inherits {
            self.error(node, "its operands already say of which kind it is");
        }
        if entry.kind.is_empty() {
            entry.kind = by_operands;
        }
    }

    /// `manual "NAME VERSION"`.
    fn manual(&mut self, entry: &mut Entry, line: &Node) {
        let has_version = |text: &&str| text.contains(' ') && text.contains(|c: char| c.is_ascii_digit());
        match line.quoted.as_deref().filter(has_version) {
            Some(manual) if line.words.is_empty() && entry.manual.is_empty() => {
                manual.clone_into(&mut entry.manual);
            }
            _ => self.error(line, "one line with the name and the version of the manual, in quotes"),
        }
    }

    /// `read-only KIND [NAME…] [tame]`.
    fn read_only(&mut self, entry: &mut Entry, line: &Node) {
        let mut words: Vec<&str> = line.words.iter().map(String::as_str).collect();
        entry.tame = words.last() == Some(&"tame");
        words.truncate(words.len() - usize::from(entry.tame));
        match vocabulary::read_only(&words) {
            Some((kind, names)) => {
                entry.read_only = Some((kind, names.into_iter().map(str::to_owned).collect()));
            }
            None => self.error(line, "operands of a program that only reads are of no such kind"),
        }
    }

    /// Adds the options that only `safe` and `harmless` lines name. A line that says whether an option takes a value has
    /// to agree with every other line that does.
    fn add_listed(&mut self, entry: &mut Entry) {
        let (shared, own): (Vec<Listed>, Vec<Listed>) =
            std::mem::take(&mut entry.listed).into_iter().partition(|listed| listed.shared);
        let mut known: HashMap<String, &'static str> = HashMap::new();
        for options in &entry.options {
            known.extend(options.names.iter().map(|name| (name.clone(), options.takes)));
        }
        let mut added: Vec<(String, &'static str)> = Vec::new();
        for Listed { word, safe, shared, place } in own.into_iter().chain(shared) {
            let (name, takes) = arity(&word);
            let name = name.to_owned();
            match known.get(&name) {
                Some(before) if *before == takes => {}
                Some(_) if shared && entry.own.contains(&name) => continue,
                Some(_) => {
                    let what = "is said to take a value in one line and none in another";
                    self.errors.push(format!("{place}: `{name}` of {} {what}", entry.place));
                }
                None => {
                    known.insert(name.clone(), takes);
                    added.push((name.clone(), takes));
                }
            }
            if safe && !entry.safe.contains(&name) {
                entry.safe.push(name);
            }
        }
        // A row each: only those that a line of its own puts side by side do the same.
        entry.options.extend(added.into_iter().map(|(name, takes)| Options {
            names: vec![name],
            takes,
            effect: Effect::Source("OptionEffect::Plain".to_owned()),
        }));
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
    fn options(&mut self, entry: &mut Entry, line: &Node, from: From) {
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
            if from != From::Entry && entry.own.contains(name) {
                continue;
            }
            match groups.iter_mut().find(|group| group.takes == takes) {
                Some(group) => group.names.push(name.to_owned()),
                None => {
                    groups.push(Options { names: vec![name.to_owned()], takes, effect: effect.clone() });
                }
            }
        }
        entry.options.extend(groups);
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

/// The options that lines of an entry name.
fn own_options(node: &Node) -> HashSet<String> {
    let words = node.children.iter().filter(|line| line.key != "read-only").flat_map(|line| &line.words);
    let options = words.filter(|word| node.key != "list" && word.starts_with(['-', '+']));
    options.map(|word| arity(word).0.to_owned()).collect()
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

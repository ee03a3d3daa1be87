//! Entries as source of tables: everything is an index into another table or into one string.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::compile::{Entry, Options};
use super::slots::{EMPTY, slots};
use super::vocabulary::Effect;

/// Tables that grow.
#[derive(Default)]
struct Tables {
    text: String,
    texts: HashMap<String, String>,
    names: Vec<String>,
    name_lists: HashMap<Vec<String>, String>,
    options: Vec<String>,
    option_lists: HashMap<Vec<Options>, String>,
    programs: Vec<String>,
    /// The list that each name of a program stands in, the name, and its row.
    program_names: Vec<FileWord>,
    option_names: Vec<FileWord>,
}

/// A name in a list of rows: the first row of the list, the name, and the row that has it.
type FileWord = (usize, String, usize);

/// The source of all tables.
pub(crate) fn emit(entries: &[Entry]) -> String {
    let mut tables = Tables::default();
    let top = tables.entries(entries);
    let mut source = String::new();
    let mut table = |about: &str, name: &str, of: &str, rows: &[String]| {
        writeln!(source, "/// {about}\npub(super) static {name}: [{of}; {}] = [", rows.len())
            .expect("a text takes everything");
        for row in rows {
            writeln!(source, "    {row},").expect("a text takes everything");
        }
        source.push_str("];\n");
    };
    table("Programs, and behind them subcommands.", "PROGRAMS", "Program", &tables.programs);
    table("Options of programs.", "OPTIONS", "Options", &tables.options);
    table("Names of options and programs.", "NAMES", "Interned", &tables.names);
    table("Rows of programs by name.", "PROGRAM_SLOTS", "u16", &filled(&tables.program_names));
    table("Rows of options by name.", "OPTION_SLOTS", "u16", &filled(&tables.option_names));
    writeln!(source, "/// Programs, without subcommands.\npub(super) const ALL: Span = {top};")
        .expect("a text takes everything");
    writeln!(source, "/// All texts.\npub(super) static TEXT: &str = {:?};", tables.text)
        .expect("a text takes everything");
    source
}

impl Tables {
    /// Entries that stand one behind the other; where they do.
    fn entries(&mut self, entries: &[Entry]) -> String {
        let from = self.programs.len();
        self.programs.extend(entries.iter().map(|_| String::new()));
        for (at, entry) in entries.iter().enumerate() {
            let named = |name: &String| (from, name.clone(), from + at);
            self.program_names.extend(entry.names.iter().map(named));
            let program = self.program(entry);
            if let Some(row) = self.programs.get_mut(from + at) {
                *row = program;
            }
        }
        span(from, entries.len())
    }

    fn program(&mut self, entry: &Entry) -> String {
        let names = self.names(&entry.names);
        let options = self.options(&entry.options);
        let commands = self.entries(&entry.commands);
        let safe = self.names(&entry.safe);
        let manual = self.interned(&entry.manual);
        let read_only = match &entry.read_only {
            None => "No".to_owned(),
            Some((kind, names)) if names.is_empty() => kind.clone(),
            Some((kind, names)) => format!("{kind}({})", self.names(names)),
        };
        let Entry { kind, style, stops, folder, reach, closed, operands, tame, .. } = entry;
        format!(
            "Program {{ names: {names}, kind: ProgramKind::{kind}, style: Style::{style}, stops: {stops}, options: {options}, operands: \
             {operands}, folder: WorkDirUse::{folder}, reach: Reach::{reach}, closed: {closed}, commands: {commands}, \
             read_only: ReadOnly::{read_only}, tame: {tame}, safe: {safe}, \
             manual: {manual} }}"
        )
    }

    fn options(&mut self, options: &[Options]) -> String {
        if let Some(span) = self.option_lists.get(options) {
            return span.clone();
        }
        let rows: Vec<String> = options.iter().map(|options| self.option(options)).collect();
        let from = self.options.len();
        for (at, options) in options.iter().enumerate() {
            self.option_names.extend(options.names.iter().map(|name| (from, name.clone(), from + at)));
        }
        let span = span(from, rows.len());
        self.options.extend(rows);
        self.option_lists.insert(options.to_vec(), span.clone());
        span
    }

    fn option(&mut self, options: &Options) -> String {
        let names = self.names(&options.names);
        let effect = match &options.effect {
            Effect::Source(source) => source.clone(),
            Effect::OnlyByName(why) => format!("OptionEffect::OnlyByName({})", self.interned(why)),
        };
        format!("Options {{ names: {names}, takes: Takes::{}, effect: {effect} }}", options.takes)
    }

    fn names(&mut self, names: &[String]) -> String {
        if let Some(span) = self.name_lists.get(names) {
            return span.clone();
        }
        let rows: Vec<String> = names.iter().map(|name| self.interned(name)).collect();
        let span = span(self.names.len(), rows.len());
        self.names.extend(rows);
        self.name_lists.insert(names.to_vec(), span.clone());
        span
    }

    fn interned(&mut self, text: &str) -> String {
        if let Some(interned) = self.texts.get(text) {
            return interned.clone();
        }
        let at = u16::try_from(self.text.len()).expect("all texts together are shorter than 64 KiB");
        let length = u8::try_from(text.len()).expect("no text is longer than 255 bytes");
        self.text.push_str(text);
        let interned = format!("Interned {{ at: {at}, length: {length} }}");
        self.texts.insert(text.to_owned(), interned.clone());
        interned
    }
}

fn span(from: usize, count: usize) -> String {
    format!("Span {{ from: {}, to: {} }}", row(from), row(from + count))
}

fn row(at: usize) -> u16 {
    u16::try_from(at).ok().filter(|row| *row != EMPTY).expect("no table has 65,535 rows")
}

/// Slots that hold the row of each name, at most half of them filled. Of two rows of one list with one name the first is kept.
fn filled(named: &[FileWord]) -> Vec<String> {
    let mut table: Vec<Option<&FileWord>> = vec![None; (named.len() * 2).next_power_of_two()];
    for one in named {
        let (list, name, _) = one;
        for slot in slots(row(*list), name, table.len()) {
            match table.get(slot).expect("slots are within the table") {
                Some((there, own, _)) if there == list && own == name => break,
                Some(_) => {}
                None => {
                    *table.get_mut(slot).expect("slots are within the table") = Some(one);
                    break;
                }
            }
        }
    }
    table.into_iter().map(|one| one.map_or(EMPTY, |(_, _, at)| row(*at)).to_string()).collect()
}

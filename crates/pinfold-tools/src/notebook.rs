//! Changes one cell of a notebook and leaves every other byte of the file as it was. Pure.

use std::fmt;

use pinfold::policy::input::{CellMode, CellType};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// A change of a notebook.
pub(crate) struct CellChange<'a> {
    pub(crate) mode: CellMode,
    pub(crate) cell_id: Option<&'a str>,
    pub(crate) cell_number: Option<u64>,
    pub(crate) source: Option<&'a str>,
    pub(crate) cell_type: Option<CellType>,
}

/// Why a notebook cannot be changed so, in one clause.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CannotChange(pub(crate) String);

/// An object whose members keep their order and their text.
struct OrderedObject<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for OrderedObject<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = OrderedObject<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(OrderedObject(members))
            }
        }

        deserializer.deserialize_map(MembersVisitor)
    }
}

impl<'a> OrderedObject<'a> {
    fn parse(text: &'a str, what: &str) -> Result<Self, CannotChange> {
        serde_json::from_str(text)
            .map_err(|error| CannotChange(format!("{what} is not a JSON object: {error}")))
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.get())
    }

    fn string(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?).ok()
    }
}

/// The text of the notebook after the change.
pub(crate) fn change(notebook: &str, change: &CellChange<'_>) -> Result<String, CannotChange> {
    let top = OrderedObject::parse(notebook, "the notebook")?;
    let list =
        top.get("cells").ok_or_else(|| CannotChange("the notebook has no cells (nbformat 4)".into()))?;
    let cells: Vec<&RawValue> = serde_json::from_str(list)
        .map_err(|error| CannotChange(format!("the cells are not a list: {error}")))?;
    let found = find(&cells, change)?;
    let style = Style::detect(notebook);
    let (from, to, new) = match (change.mode, found) {
        (CellMode::Replace, Some(index)) => {
            let cell = cell_at(&cells, index)?;
            let (from, to) = span(notebook, cell)?;
            (from, to, replaced(cell, change, &style)?)
        }
        (CellMode::Delete, Some(index)) => {
            let (from, to) = span_with_comma(notebook, list, &cells, index)?;
            (from, to, String::new())
        }
        (CellMode::Replace | CellMode::Delete, None) => {
            return Err(CannotChange("it is not said which cell: give cell_id or cell_number".into()));
        }
        (CellMode::Insert, found) => inserted(notebook, list, &cells, found, change, &top, &style)?,
    };
    let (before, after) = (notebook.get(..from).unwrap_or_default(), notebook.get(to..).unwrap_or_default());
    Ok([before, &new, after].concat())
}

fn cell_at<'a>(cells: &[&'a RawValue], index: usize) -> Result<&'a str, CannotChange> {
    cells.get(index).map(|cell| cell.get()).ok_or_else(|| no_such_cell(cells.len()))
}

fn no_such_cell(cells: usize) -> CannotChange {
    CannotChange(format!("there is no such cell; the notebook has {cells}, counted from 0"))
}

/// The cell that the change names, by id or by position.
fn find(cells: &[&RawValue], change: &CellChange<'_>) -> Result<Option<usize>, CannotChange> {
    match (change.cell_id, change.cell_number) {
        (Some(_), Some(_)) => Err(CannotChange("cell_id and cell_number are both given".into())),
        (None, None) => Ok(None),
        (None, Some(number)) => {
            let index = usize::try_from(number).ok().filter(|index| *index < cells.len());
            index.map(Some).ok_or_else(|| no_such_cell(cells.len()))
        }
        (Some(id), None) => {
            let has_id = |cell: &&RawValue| {
                OrderedObject::parse(cell.get(), "a cell")
                    .is_ok_and(|cell| cell.string("id").as_deref() == Some(id))
            };
            let index = cells.iter().position(has_id);
            index.map(Some).ok_or_else(|| CannotChange(format!("there is no cell with the id `{id}`")))
        }
    }
}

/// The position of a part in the whole; both are slices of one text.
fn span(whole: &str, part: &str) -> Result<(usize, usize), CannotChange> {
    let from = (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize);
    let to = from.and_then(|from| from.checked_add(part.len())).filter(|to| *to <= whole.len());
    from.zip(to).ok_or_else(|| CannotChange("the notebook cannot be taken apart".into()))
}

/// A cell with the comma that goes with it, and the blanks in between.
fn span_with_comma(
    notebook: &str,
    list: &str,
    cells: &[&RawValue],
    index: usize,
) -> Result<(usize, usize), CannotChange> {
    let (from, to) = span(notebook, cell_at(cells, index)?)?;
    if let Some(next) = cells.get(index + 1) {
        return Ok((from, span(notebook, next.get())?.0));
    }
    if let Some(previous) = index.checked_sub(1) {
        return Ok((span(notebook, cell_at(cells, previous)?)?.1, to));
    }
    let (open, end) = span(notebook, list)?;
    Ok((open + 1, end - 1))
}

/// A cell with a new source. A code cell loses its old results, which no longer belong to it.
fn replaced(cell: &str, change: &CellChange<'_>, style: &Style) -> Result<String, CannotChange> {
    let source = change.source.ok_or_else(|| CannotChange("there is no new_source".into()))?;
    let old = OrderedObject::parse(cell, "the cell")?;
    let before = old.string("cell_type").unwrap_or_default();
    let after = change.cell_type.map_or(before.as_str(), |kind| type_name(kind));
    let mut members: Vec<(String, String)> = Vec::with_capacity(old.0.len() + 2);
    for (key, value) in &old.0 {
        let value = match key.as_str() {
            "source" => style.source(source, value.get().trim_start().starts_with('"')),
            "cell_type" => quoted(after),
            "outputs" | "execution_count" if after != "code" => continue,
            "outputs" => "[]".to_owned(),
            "execution_count" => "null".to_owned(),
            "attachments" if after == "code" => continue,
            _ => value.get().to_owned(),
        };
        members.push((key.clone(), value));
    }
    if after == "code" && before != "code" {
        add_missing(&mut members, [("execution_count", "null"), ("outputs", "[]")]);
    }
    add_missing(&mut members, [("source", &style.source(source, false))]);
    Ok(style.object(&members))
}

fn add_missing<const N: usize>(members: &mut Vec<(String, String)>, wanted: [(&str, &str); N]) {
    for (key, value) in wanted {
        if !members.iter().any(|(known, _)| known == key) {
            members.push((key.to_owned(), value.to_owned()));
        }
    }
}

/// The position of a new cell, and its text with the comma it needs.
fn inserted(
    notebook: &str,
    list: &str,
    cells: &[&RawValue],
    after: Option<usize>,
    change: &CellChange<'_>,
    top: &OrderedObject<'_>,
    style: &Style,
) -> Result<(usize, usize, String), CannotChange> {
    let source = change.source.ok_or_else(|| CannotChange("there is no new_source".into()))?;
    let kind = change.cell_type.ok_or_else(|| CannotChange("a new cell needs a cell_type".into()))?;
    let mut members = vec![("cell_type".to_owned(), quoted(type_name(kind)))];
    if kind == CellType::Code {
        members.push(("execution_count".to_owned(), "null".to_owned()));
    }
    if has_ids(top) {
        members.push(("id".to_owned(), quoted(&new_id(notebook, cells.len()))));
    }
    members.push(("metadata".to_owned(), "{}".to_owned()));
    if kind == CellType::Code {
        members.push(("outputs".to_owned(), "[]".to_owned()));
    }
    members.push(("source".to_owned(), style.source(source, false)));
    let cell = style.object(&members);
    let gap = style.line(2);
    if let Some(index) = after {
        let (_, end) = span(notebook, cell_at(cells, index)?)?;
        return Ok((end, end, format!(",{gap}{cell}")));
    }
    if let Some(first) = cells.first() {
        let (start, _) = span(notebook, first.get())?;
        return Ok((start, start, format!("{cell},{gap}")));
    }
    let (open, end) = span(notebook, list)?;
    Ok((open + 1, end - 1, format!("{gap}{cell}{}", style.line(1))))
}

/// Cells have ids from nbformat 4.5 on, and must not have them before.
fn has_ids(top: &OrderedObject<'_>) -> bool {
    let number = |name| top.get(name).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    (number("nbformat"), number("nbformat_minor")) >= (4, 5)
}

/// An id that no cell has: the same notebook gets the same id, so that a change can be repeated.
fn new_id(notebook: &str, cells: usize) -> String {
    let mut number = cells;
    loop {
        let id = format!("cell-{number}");
        if !notebook.contains(&quoted(&id)) {
            return id;
        }
        number += 1;
    }
}

fn type_name(kind: CellType) -> &'static str {
    match kind {
        CellType::Code => "code",
        CellType::Markdown => "markdown",
        CellType::Raw => "raw",
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// The layout of the notebook.
struct Style {
    /// The indentation of one level; `None` when everything stands in one line.
    indent: Option<String>,
}

impl Style {
    /// Looks at the first indented line.
    fn detect(notebook: &str) -> Self {
        let blanks = |line: &str| line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect::<String>();
        let first = notebook.lines().skip(1).map(blanks).find(|blanks| !blanks.is_empty());
        Self { indent: first }
    }

    /// A line break with so many levels of indent behind it.
    fn line(&self, levels: usize) -> String {
        self.indent.as_ref().map_or_else(String::new, |indent| format!("\n{}", indent.repeat(levels)))
    }

    /// A cell: its members stand three levels deep (notebook, cells, cell).
    fn object(&self, members: &[(String, String)]) -> String {
        let colon = if self.indent.is_some() { ": " } else { ":" };
        let lines: Vec<_> = members
            .iter()
            .map(|(key, value)| format!("{}{}{colon}{value}", self.line(3), quoted(key)))
            .collect();
        format!("{{{}{}}}", lines.join(","), self.line(2))
    }

    /// A source as a list of lines, as Jupyter writes it, or as one string where the cell had one.
    fn source(&self, source: &str, as_string: bool) -> String {
        if as_string {
            return quoted(source);
        }
        let lines: Vec<_> =
            source.split_inclusive('\n').map(|line| format!("{}{}", self.line(4), quoted(line))).collect();
        if lines.is_empty() { "[]".to_owned() } else { format!("[{}{}]", lines.join(","), self.line(3)) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOTEBOOK: &str = "{\n \"cells\": [\n  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"intro\",\n   \"metadata\": {},\n   \"source\": [\n    \"# T\\u00eft\\n\",\n    \"x\"\n   ]\n  },\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": 3,\n   \"id\": \"c1\",\n   \"metadata\": {\"n\": 1.0e5},\n   \"outputs\": [{\"text\": \"3\"}],\n   \"source\": \"1+2\"\n  }\n ],\n \"metadata\": {\"a\":  1},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n";

    fn cell_change(mode: CellMode) -> CellChange<'static> {
        CellChange { mode, cell_id: None, cell_number: None, source: Some("a\nb"), cell_type: None }
    }

    fn cells(notebook: &str) -> Vec<Value> {
        serde_json::from_str::<Value>(notebook).unwrap()["cells"].as_array().unwrap().clone()
    }

    #[test]
    fn replacing_changes_one_cell_and_no_other_byte() {
        let changed =
            change(NOTEBOOK, &CellChange { cell_id: Some("c1"), ..cell_change(CellMode::Replace) }).unwrap();
        let cell = &cells(&changed)[1];
        assert_eq!(cell["source"], "a\nb");
        assert_eq!((&cell["outputs"], &cell["execution_count"]), (&json!([]), &Value::Null));
        let (head, tail) = NOTEBOOK.split_once("  {\n   \"cell_type\": \"code\"").unwrap();
        assert!(changed.starts_with(head));
        assert!(changed.ends_with(tail.split_once("\n  }\n ]").unwrap().1));
        assert!(changed.contains("{\"n\": 1.0e5}"));
    }

    #[test]
    fn a_list_of_lines_stays_a_list_in_the_layout_of_the_notebook() {
        let changed =
            change(NOTEBOOK, &CellChange { cell_number: Some(0), ..cell_change(CellMode::Replace) }).unwrap();
        assert!(changed.contains("   \"source\": [\n    \"a\\n\",\n    \"b\"\n   ]\n  },\n"), "{changed}");
    }

    #[test]
    fn inserting_and_deleting_undo_each_other() {
        for (insert_after, position) in [(None, 0), (Some(0), 1), (Some(1), 2)] {
            let insert = CellChange {
                cell_number: insert_after,
                cell_type: Some(CellType::Code),
                ..cell_change(CellMode::Insert)
            };
            let inserted = change(NOTEBOOK, &insert).unwrap();
            assert_eq!(cells(&inserted)[position]["source"], json!(["a\n", "b"]));
            assert_eq!(cells(&inserted)[position]["id"], "cell-2");
            let delete = CellChange { cell_number: Some(position as u64), ..cell_change(CellMode::Delete) };
            assert_eq!(change(&inserted, &delete).unwrap(), NOTEBOOK);
        }
    }

    #[test]
    fn the_last_cell_can_go_and_a_first_one_can_come() {
        let mut notebook = NOTEBOOK.to_owned();
        for _ in 0..2 {
            notebook =
                change(&notebook, &CellChange { cell_number: Some(0), ..cell_change(CellMode::Delete) })
                    .unwrap();
        }
        assert!(cells(&notebook).is_empty());
        let insert = CellChange { cell_type: Some(CellType::Markdown), ..cell_change(CellMode::Insert) };
        assert_eq!(cells(&change(&notebook, &insert).unwrap()).len(), 1);
        assert_eq!(cells(&change("{\"cells\":[],\"nbformat\":4}", &insert).unwrap()).len(), 1);
    }

    #[test]
    fn what_cannot_be_meant_is_said() {
        let no = |notebook: &str, c: CellChange<'_>| change(notebook, &c).unwrap_err().0;
        assert!(no(NOTEBOOK, cell_change(CellMode::Replace)).contains("cell_id"));
        assert!(
            no(NOTEBOOK, CellChange { cell_id: Some("none"), ..cell_change(CellMode::Delete) })
                .contains("`none`")
        );
        assert!(
            no(NOTEBOOK, CellChange { cell_number: Some(9), ..cell_change(CellMode::Delete) })
                .contains("has 2")
        );
        assert!(no(NOTEBOOK, cell_change(CellMode::Insert)).contains("cell_type"));
        assert!(no("[]", cell_change(CellMode::Insert)).contains("not a JSON object"));
        assert!(no("{}", cell_change(CellMode::Insert)).contains("no cells"));
    }
}

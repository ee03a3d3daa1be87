//! Lines of the catalog as a tree: what is indented by four more blanks belongs to the line above.

/// One line with what belongs to it.
pub(crate) struct Node {
    /// The file and the number of the line, for errors: `programs/text.txt:12`.
    pub(crate) place: String,
    /// The first word.
    pub(crate) key: String,
    /// The words behind it.
    pub(crate) words: Vec<String>,
    /// The text between double quotes behind the first word.
    pub(crate) quoted: Option<String>,
    pub(crate) children: Vec<Node>,
}

/// Reads the text of one file. Comments and empty lines are left out; a line that begins with an option goes on with
/// the line above.
pub(crate) fn parse(file: &str, text: &str, errors: &mut Vec<String>) -> Vec<Node> {
    let mut roots = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let content = line.trim();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let place = format!("{file}:{}", number + 1);
        let blanks = line.len() - line.trim_start_matches(' ').len();
        if blanks % 4 != 0 || line.contains('\t') {
            errors.push(format!("{place}: not indented by four blanks for each level"));
            continue;
        }
        let above = blanks / 4;
        if content.starts_with(['-', '+']) {
            match last(&mut roots, above) {
                Some(node) => node.words.extend(content.split_whitespace().map(str::to_owned)),
                None => errors.push(format!("{place}: no line above that it could go on with")),
            }
            continue;
        }
        let node = node(content, place);
        match above.checked_sub(1) {
            None => roots.push(node),
            Some(above) => match last(&mut roots, above + 1) {
                Some(parent) => parent.children.push(node),
                None => errors.push(format!("{}: indented deeper than it can be", node.place)),
            },
        }
    }
    roots
}

/// The last node that is so many levels deep, counted from one.
fn last(nodes: &mut [Node], level: usize) -> Option<&mut Node> {
    let node = nodes.last_mut()?;
    match level {
        0 => None,
        1 => Some(node),
        _ => last(&mut node.children, level - 1),
    }
}

fn node(content: &str, place: String) -> Node {
    let (front, quoted) = match content.split_once('"') {
        Some((front, rest)) => (front, rest.split_once('"')),
        None => (content, None),
    };
    let behind = quoted.map_or("", |(_, behind)| behind);
    let mut words = front.split_whitespace().chain(behind.split_whitespace()).map(str::to_owned);
    let key = words.next().unwrap_or_default();
    let quoted = quoted.map(|(quoted, _)| quoted.to_owned());
    Node { place, key, words: words.collect(), quoted, children: Vec::new() }
}

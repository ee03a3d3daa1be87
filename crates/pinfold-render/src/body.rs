//! A request as blocks of text: the effect first, the reasons for asking after it.

use std::collections::HashMap;

use pinfold::consent::{Asker, Change, Hunk, OperationShown, Request, RequestedOperation, WhyAsked};

use crate::block::{Block, LineBreaks, Tone};
use crate::diff;

/// Longest text that is shown: more is not read, and each line of it has to be kept.
const MAX_SHOWN_BYTES: usize = 4 << 20;

/// A request, to be read.
#[derive(Clone, Debug)]
pub struct Body<'a> {
    /// The blocks, in the order in which they are read.
    pub blocks: Vec<Block<'a>>,
    /// So many of them say what would be done: they have to be seen to their end before a yes.
    pub what: usize,
    /// All of it is there.
    pub is_whole: bool,
}

impl<'a> Body<'a> {
    /// All that is to be read of a request.
    pub fn new(request: &'a Request) -> Self {
        let length = length(request);
        if length > MAX_SHOWN_BYTES {
            return Self::too_long(request, length);
        }
        let mut blocks = operation(request);
        let asker = &request.asker;
        blocks.extend(request.definition.iter().flat_map(definition));
        blocks.extend(process(asker));
        blocks.extend(kept(request));
        let what = blocks.len();
        // Only a requester other than the agent itself is named.
        if asker.agents != ["main"] {
            blocks.push(Block::inline("by", asker.agents.join(" > ")));
        }
        blocks.push(Block::inline("folder", &asker.folder));
        blocks.extend(reasons(request));
        blocks.push(Block::inline("call", &request.id).tone(Tone::Faint));
        Self { blocks, what, is_whole: true }
    }

    /// Returns the body for a request of so many bytes, which is not shown and gets no yes.
    pub fn too_long(request: &'a Request, length: usize) -> Self {
        let words = format!("this is too long to be shown ({length} bytes), so it cannot be said yes to");
        let blocks = vec![Block::prose("", words).tone(Tone::Strong), Block::inline("call", &request.id)];
        Self { blocks, what: 0, is_whole: false }
    }
}

/// Returns the subject of the question, in as few words as there are.
pub fn title(request: &Request) -> &'static str {
    match &request.operation {
        RequestedOperation::Command { .. } => "run this command?",
        RequestedOperation::Change { files } if files.len() == 1 => "change this file?",
        RequestedOperation::Change { .. } => "change these files?",
        RequestedOperation::Patch { .. } => "apply this patch?",
        RequestedOperation::Paths { .. } => "allow this?",
        RequestedOperation::Input { .. } => "use this tool?",
    }
}

fn operation(request: &Request) -> Vec<Block<'_>> {
    match &request.operation {
        RequestedOperation::Command { command, cwd, background, says } => {
            let exact = Block { kind: LineBreaks::Exact, ..Block::lines("runs", command) };
            let mut blocks = vec![exact.tone(Tone::Strong), Block::inline("in", cwd)];
            if *background {
                blocks.push(note("in the background: it goes on after the answer"));
            }
            if let Some(says) = says {
                blocks.push(note("claimed by the agent (unverified):"));
                blocks.push(Block::inline("claims", says).tone(Tone::Faint));
            }
            blocks
        }
        RequestedOperation::Change { files } => files.iter().flat_map(change).collect(),
        RequestedOperation::Patch { patch } => diff::patch(patch),
        RequestedOperation::Paths { acts } => acts.iter().flat_map(act).collect(),
        RequestedOperation::Input { input } => {
            vec![Block::inline("tool", &request.tool).tone(Tone::Strong), Block::lines("input", input)]
        }
    }
}

/// The definition of a tool, as a difference.
fn definition(definition: &Hunk) -> Vec<Block<'_>> {
    let words = if definition.before.is_empty() {
        "what its server says of the tool, which it did not have before; a yes takes this as known:"
    } else {
        "what its server says of the tool now, which is not what it said before; a yes takes this as known:"
    };
    [note(words)].into_iter().chain(diff::hunk(definition)).collect()
}

fn change(change: &Change) -> Vec<Block<'_>> {
    let mut blocks = place("file", &change.path, change.real.as_deref());
    if change.new {
        blocks.push(note("a new file"));
    }
    blocks.extend(hunks(&change.hunks));
    blocks
}

fn hunks(hunks: &[Hunk]) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    for (number, hunk) in (1..).zip(hunks) {
        if hunks.len() > 1 {
            blocks.push(Block::prose("change", format!("{number} of {}", hunks.len())));
        }
        blocks.extend(diff::hunk(hunk));
    }
    blocks
}

fn act(act: &OperationShown) -> Vec<Block<'_>> {
    let mut blocks = vec![Block::inline("does", &act.operation).tone(Tone::Strong)];
    blocks.extend(place("to", &act.path, act.real.as_deref()));
    blocks.extend(hunks(&act.hunks));
    blocks.extend(act.content.as_deref().map(|content| Block::inline("content", content)));
    blocks.extend(act.limit.as_deref().map(|limit| Block::prose("", limit).tone(Tone::Faint).sign('*')));
    blocks.extend(descendants(act));
    blocks
}

/// Returns the blocks that belong to a place.
fn descendants(act: &OperationShown) -> Vec<Block<'_>> {
    if act.below == 0 {
        return Vec::new();
    }
    let count = match act.below {
        1 => "with 1 file or folder below it:".to_owned(),
        count => format!("with {count} files and folders below it:"),
    };
    let mut blocks = vec![Block::prose("", count).tone(Tone::Strong).sign('*')];
    blocks.extend(act.names.iter().map(|name| Block::inline("", name)));
    let more = act.below.saturating_sub(act.names.len());
    if more > 0 {
        blocks.push(Block::prose("", format!("and {more} more")).tone(Tone::Strong).sign('*'));
    }
    blocks
}

/// A place, and where it really is.
fn place<'a>(label: &'static str, path: &'a str, real: Option<&'a str>) -> Vec<Block<'a>> {
    let mut blocks = vec![Block::inline(label, path).tone(Tone::Strong)];
    blocks.extend(real.map(|real| Block::inline("is at", real).tone(Tone::Strong)));
    blocks
}

/// Returns the blocks for the grant that a plain yes keeps, unless it is all that would be done, and nothing else: the answer says so then.
fn kept(request: &Request) -> Vec<Block<'_>> {
    let kept = &request.offer.kept;
    let acts = acts(request);
    let is_of = |kept: &String, act: &OperationShown| kept.ends_with(&format!(" {}", where_it_is(act)));
    let is_all = !acts.is_empty()
        && kept.iter().all(|kept| acts.iter().any(|act| is_of(kept, act)))
        && acts.iter().all(|act| kept.iter().any(|kept| is_of(kept, act)));
    if kept.is_empty() || is_all {
        return Vec::new();
    }
    let mut blocks = vec![note("a yes lasts until the session ends, for:")];
    blocks.extend(kept.iter().map(|place| Block::inline("keeps", place)));
    blocks
}

fn acts(request: &Request) -> &[OperationShown] {
    match &request.operation {
        RequestedOperation::Paths { acts } => acts,
        RequestedOperation::Command { .. }
        | RequestedOperation::Change { .. }
        | RequestedOperation::Patch { .. }
        | RequestedOperation::Input { .. } => &[],
    }
}

/// Returns `true` if a part is an operation and the path.
fn names(part: &str, path: &str) -> bool {
    let before = part.strip_suffix('`').unwrap_or(part).strip_suffix(path);
    before.is_some_and(|before| before.ends_with(" `") || before.ends_with(' '))
}

fn where_it_is(act: &OperationShown) -> &str {
    act.real.as_deref().unwrap_or(&act.path)
}

fn process(asker: &Asker) -> Vec<Block<'_>> {
    let Some(process) = &asker.process else { return Vec::new() };
    vec![
        Block::inline("program", &process.program),
        Block::inline("pid", process.pid.to_string()),
        note("claimed by the process (unverified):"),
        Block::inline("claims", &process.command_line).tone(Tone::Faint),
    ]
}

/// Returns the reasons for asking; a reason that several parts share is given once.
fn reasons(request: &Request) -> Vec<Block<'_>> {
    let mut groups: Vec<Vec<&WhyAsked>> = Vec::new();
    let mut known = HashMap::new();
    for why in &request.why {
        let at = *known.entry((&why.reason, &why.step, &why.rule, &why.source)).or_insert(groups.len());
        match groups.get_mut(at) {
            Some(group) => group.push(why),
            None => groups.push(vec![why]),
        }
    }
    groups.iter().flat_map(|group| reason(group, request)).collect()
}

fn reason<'a>(group: &[&'a WhyAsked], request: &'a Request) -> Vec<Block<'a>> {
    let Some(why) = group.first() else { return Vec::new() };
    let mut blocks = vec![Block::prose("why", format!("{} ({})", why.reason, why.step))];
    let is_all = |part: &str| matches!(&request.operation, RequestedOperation::Command { command, .. } if command == part);
    let is_act = |part: &str| acts(request).iter().any(|act| names(part, &act.path));
    let parts = group.iter().map(|why| why.part.as_str());
    let parts = parts.filter(|part| !part.is_empty() && !is_all(part) && !is_act(part));
    blocks.extend(parts.map(|part| Block::inline("part", part)));
    blocks.extend(why.rule.as_deref().map(|rule| Block::inline("rule", rule)));
    blocks.extend(why.source.as_deref().map(|source| Block::inline("from", source)));
    blocks
}

/// Words of ours, between the blocks.
pub fn note(words: &'static str) -> Block<'static> {
    Block::prose("", words).tone(Tone::Faint).sign('*')
}

/// The bytes of all that would be shown.
fn length(request: &Request) -> usize {
    let option = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let operation = match &request.operation {
        RequestedOperation::Command { command, cwd, says, .. } => command.len() + cwd.len() + option(says),
        RequestedOperation::Change { files } => files
            .iter()
            .map(|file| {
                let hunks = file.hunks.iter().map(|hunk| hunk.before.len() + hunk.after.len() + 64);
                file.path.len() + option(&file.real) + hunks.sum::<usize>()
            })
            .sum(),
        RequestedOperation::Patch { patch } => patch.len(),
        RequestedOperation::Paths { acts } => acts
            .iter()
            .map(|act| {
                let hunks = act.hunks.iter().map(|hunk| hunk.before.len() + hunk.after.len() + 64);
                let names = act.names.iter().map(|name| name.len() + 64);
                let told = act.operation.len() + act.path.len() + option(&act.real);
                let told = told + option(&act.content) + option(&act.limit);
                told + hunks.sum::<usize>() + names.sum::<usize>() + 64
            })
            .sum(),
        RequestedOperation::Input { input } => input.len(),
    };
    let why = request
        .why
        .iter()
        .map(|why| why.part.len() + why.reason.len() + option(&why.rule) + option(&why.source) + 64);
    let process = request.asker.process.as_ref();
    let process = process.map_or(0, |process| process.program.len() + process.command_line.len());
    let asker = request.asker.folder.len() + request.asker.agents.iter().map(String::len).sum::<usize>();
    let kept = request.offer.kept.iter().map(|place| place.len() + 64).sum::<usize>();
    let definition = request.definition.as_ref().map_or(0, |it| it.before.len() + it.after.len() + 64);
    operation
        + definition
        + kept
        + why.sum::<usize>()
        + process
        + asker
        + request.id.len()
        + request.tool.len()
}

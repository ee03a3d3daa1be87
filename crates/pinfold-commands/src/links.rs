//! Links and copies that a line makes, followed by the commands behind: after `ln -s /home/ana x` what lies below `x`
//! lies below `/home/ana`, and after `cp /bin/rm q` the program `./q` is `rm`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use pinfold_shell::{Part, Word};

use super::invocation::Invocation;
use super::program::InvocationEffects;
use super::state::EnteredFolders;
use super::value::Values;
use super::working_directory::{FileWord, join};
use super::{CommandEffects, NotAllowlistable, WorkFolder};
use crate::PathClaim;
use crate::PathText;
use crate::safeguard;

/// Most links that are followed, one through another.
const MAX_FOLLOWED: usize = 4;
/// Most names that one path may have by them; with more it is not known what it leads to.
const MAX_NAMES: usize = 16;

/// One name that a line gives to something that has another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    /// The command that makes it; `None` where several do.
    by: Option<usize>,
    /// The new name, from the folder of the call if it is relative.
    name: String,
    /// Path that it leads to; `None` when that is known only at run time.
    leads_to: Option<String>,
    /// A write under the new name is a write there: not so for a copy.
    writes: bool,
}

/// The links and copies that an invocation makes.
pub(super) fn made_by(
    invocation: &Invocation,
    effects: &InvocationEffects<'_>,
    by: usize,
    values: &Values<'_>,
    found: &EnteredFolders,
) -> Vec<Link> {
    let kind = Kind::from_invocation(invocation);
    let mut links = Vec::new();
    for (source, target) in &effects.renamed {
        for stand in &found.folders {
            let one = |word: &Word| values.fill_one(word.clone(), by).map(|word| stand.name(&word));
            let Some(FileWord::Path(name)) = one(target) else { continue };
            let leads_to = match one(source) {
                // A relative link starts from the folder that it lies in.
                Some(FileWord::Path(_)) if kind == Kind::Symbolic && is_relative(source) => {
                    source.as_static().map(|text| resolve_from_parent(&name, text))
                }
                Some(FileWord::Path(path)) => Some(path),
                _ => None,
            };
            links.push(Link { by: Some(by), name: plain(&name), leads_to, writes: kind.writes(source) });
        }
    }
    links
}

/// Ways in which a name comes to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Symbolic,
    Hard,
    /// Moved, or copied with the links that are in it.
    AsItIs,
    /// Copied by its content.
    Copy,
}

impl Kind {
    fn from_invocation(invocation: &Invocation) -> Self {
        let letters = |wanted: &[char]| {
            invocation
                .known_args()
                .flatten()
                .any(|arg| !arg.starts_with("--") && arg.starts_with('-') && arg.contains(wanted))
        };
        let long = |names: &[&str]| {
            let mut args =
                invocation.known_args().flatten().filter(|arg| arg.len() > 2 && arg.starts_with("--"));
            args.any(|arg| names.iter().any(|name| name.starts_with(arg)))
        };
        match invocation.name() {
            Some("ln") if letters(&['s']) || long(&["--symbolic"]) => Self::Symbolic,
            Some("ln" | "link") => Self::Hard,
            Some("cp" | "gcp") if letters(&['s']) || long(&["--symbolic-link"]) => Self::Symbolic,
            Some("cp" | "gcp") if letters(&['l']) || long(&["--link"]) => Self::Hard,
            Some("cp" | "gcp")
                if letters(&['r', 'R', 'a', 'd', 'P'])
                    || long(&["--recursive", "--archive", "--no-dereference"]) =>
            {
                Self::AsItIs
            }
            Some("cp" | "gcp" | "install" | "ginstall") => Self::Copy,
            _ => Self::AsItIs,
        }
    }

    /// Returns whether what is written to the new name is written to what `source` leads to. A tree that is copied from outside
    /// is another one then; one of the folder may hold links that lead out of it.
    fn writes(self, source: &Word) -> bool {
        match self {
            Self::Symbolic | Self::Hard => true,
            Self::AsItIs => is_relative(source) && !source.literal_prefix().starts_with(".."),
            Self::Copy => false,
        }
    }
}

fn is_relative(word: &Word) -> bool {
    word.as_static().is_some_and(|text| !text.starts_with('/'))
}

/// A path as it is written, from the folder in which `name` lies.
fn resolve_from_parent(name: &str, path: &str) -> String {
    match name.rsplit_once('/') {
        Some(("", _)) => join("/", path),
        Some((folder, _)) => join(folder, path),
        None => path.to_owned(),
    }
}

/// A path without `./` and doubled slashes.
fn plain(path: &str) -> String {
    let root = if path.starts_with('/') { "/" } else { "" };
    let names: Vec<&str> = path.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    format!("{root}{}", names.join("/"))
}

/// Claims what the commands of a line touch through its links under the names that those lead to as well.
pub(super) fn follow(out: &mut CommandEffects) {
    let links = Links::new(std::mem::take(&mut out.links));
    if links.0.is_empty() {
        return;
    }
    let (more, unknown) = links.other_claims(&out.paths);
    for (at, command) in out.commands.iter_mut().enumerate() {
        let mut folders = Vec::new();
        for folder in &command.work_dirs {
            let text = folder.path.as_os_str().to_str().unwrap_or_default();
            let paths = links.follow(text, at, true).into_iter().flatten();
            folders.extend(paths.map(|path| WorkFolder { path: PathText::new(path), takes: folder.takes }));
        }
        command.work_dirs.extend(folders);
        let renamed: Vec<Invocation> =
            command.readings.iter().flat_map(|reading| links.as_it_was(reading, at)).collect();
        for reading in renamed {
            command.safeguards.extend(safeguard::of_hidden_program(&reading.words));
            command.readings.push(reading);
        }
        if unknown.contains(&at) {
            let why = "the target of a link that the command line makes is known only at run time";
            command.not_allowlistable.push(NotAllowlistable::new("unknown-file", why));
            command.may_name_any_file = true;
        }
    }
    out.paths.extend(more);
}

/// The links of a line by the names that they give.
struct Links(HashMap<String, Vec<Link>>);

impl Links {
    fn new(links: Vec<Link>) -> Self {
        let mut by_name: HashMap<String, Vec<Link>> = HashMap::new();
        for link in links {
            let same = by_name.entry(link.name.clone()).or_default();
            let is_same = |other: &&mut Link| other.leads_to == link.leads_to && other.writes == link.writes;
            if let Some(other) = same.iter_mut().find(is_same) {
                if other.by != link.by {
                    other.by = None;
                }
            } else if same.len() < MAX_NAMES {
                same.push(link);
            } else if same.len() == MAX_NAMES {
                // What it leads to is not known any more.
                same.push(Link { leads_to: None, by: None, writes: true, ..link });
            }
        }
        Self(by_name)
    }

    /// Claims of the same under other names, and the commands of which that is not known.
    fn other_claims(&self, paths: &[PathClaim]) -> (Vec<PathClaim>, HashSet<usize>) {
        let (mut more, mut unknown) = (Vec::new(), HashSet::new());
        for claim in paths {
            let (Some(by), Some(text)) =
                (claim.origin.command(), claim.path.as_ref().and_then(|path| path.as_os_str().to_str()))
            else {
                continue;
            };
            for led in self.follow(text, by, claim.operation.writes()) {
                match led {
                    Some(path) => more.push(PathClaim { path: Some(PathText::new(path)), ..claim.clone() }),
                    None => drop(unknown.insert(by)),
                }
            }
        }
        (more, unknown)
    }

    /// Returns where a path leads through the links that other commands make. `None` among them: that is not known.
    fn follow(&self, path: &str, by: usize, writes: bool) -> Vec<Option<String>> {
        let mut found: Vec<Option<String>> = Vec::new();
        let mut open = vec![plain(path)];
        for _ in 0..MAX_FOLLOWED {
            let mut next = Vec::new();
            for path in &open {
                for (link, rest) in self.links_along(path) {
                    if link.by == Some(by) || writes && !link.writes {
                        continue;
                    }
                    let to = link.leads_to.as_ref();
                    let led = to.map(|to| if rest.is_empty() { to.clone() } else { join(to, rest) });
                    if found.len() >= MAX_NAMES {
                        found.push(None);
                        return found;
                    }
                    if !found.contains(&led) {
                        next.extend(led.as_deref().map(plain));
                        found.push(led);
                    }
                }
            }
            open = next;
        }
        found
    }

    /// The links that a path goes through by its words, each with what lies behind it.
    fn links_along<'l>(&'l self, path: &'l str) -> impl Iterator<Item = (&'l Link, &'l str)> {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        ends.flat_map(move |end| {
            let (name, rest) = path.split_at_checked(end).unwrap_or((path, ""));
            let links = self.0.get(name).into_iter().flatten();
            links.map(move |link| (link, rest.trim_start_matches('/')))
        })
    }

    /// A program that was copied or linked under another name, by the name that it has otherwise.
    fn as_it_was(&self, reading: &Invocation, by: usize) -> Vec<Invocation> {
        let Some(program) = reading.program().filter(|program| program.contains('/')) else {
            return Vec::new();
        };
        let paths = self.follow(program, by, false).into_iter().flatten();
        let named = paths.filter_map(|path| {
            let (first, args) = reading.words.split_first()?;
            let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
            let first = Word { parts: vec![Part::Literal(name)], ..first.clone() };
            let words = Arc::new(std::iter::once(first).chain(args.iter().cloned()).collect());
            Some(Invocation { words, ..reading.clone() })
        });
        named.collect()
    }
}

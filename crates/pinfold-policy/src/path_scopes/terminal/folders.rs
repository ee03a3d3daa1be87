//! The folders that the commands of a script stand in, by what the analysis of the line says, as absolute paths.

use pinfold_commands::{BaseDirectory, CommandFolders, WorkingDirectory, searches_cdpath};
use pinfold_shell::{Script, Span, Word};

use super::places;
use super::spelled::expand;
use super::variables::Variables;
use crate::path_scopes::expand::tidy;

/// More folders than an honest line goes through.
const MAX_FOLDERS: usize = 32;

/// The folders of one script, absolute.
pub(super) struct Folders {
    /// Folders that it starts in, and each that it goes to.
    pub(super) all: Vec<String>,
    /// Folders of each command, where all of them are known.
    of_commands: Vec<Option<Vec<String>>>,
    /// The first command that goes to a folder, or stands in one, that is known only at run time.
    pub(super) unknown: Option<Span>,
}

impl Folders {
    /// `each`: the folders of each command, from those that the script may start in.
    pub(super) fn new<'c>(
        script: &Script,
        each: impl Iterator<Item = &'c CommandFolders>,
        start: &[String],
        variables: &Variables<'_>,
    ) -> Self {
        let mut own = Self { all: start.to_vec(), of_commands: Vec::new(), unknown: None };
        for (command, folders) in script.commands.iter().zip(each) {
            let stands_in = own.paths(&folders.stands_in, start, variables, &command.span);
            own.paths(&folders.leads_to, start, variables, &command.span);
            own.of_commands.push(stands_in.filter(|_| script.opaque.is_empty()));
        }
        let searched = || variables.may_search() && searches_cdpath(script);
        if own.unknown.is_none() && (own.of_commands.len() < script.commands.len() || searched()) {
            own.unknown = script.commands.first().map(|command| command.span.clone());
        }
        own
    }

    /// The folders that the command at this position can stand in.
    pub(super) fn working_folders(&self, index: usize) -> &[String] {
        self.of_commands.get(index).and_then(Option::as_deref).unwrap_or(&self.all)
    }

    /// These folders; `None` where one of them is known only at run time, which is noted.
    fn paths(
        &mut self,
        folders: &[WorkingDirectory],
        start: &[String],
        variables: &Variables<'_>,
        span: &Span,
    ) -> Option<Vec<String>> {
        let (mut known, mut others) = (Vec::new(), false);
        for folder in folders {
            let paths = match folder.now() {
                BaseDirectory::Named(word) => named(word, variables),
                _ => resolve(folder, start, variables),
            };
            others |= paths.is_none();
            add(&mut known, paths.unwrap_or_default());
        }
        add(&mut self.all, known.clone());
        if self.all.len() > MAX_FOLDERS {
            self.all.truncate(MAX_FOLDERS);
            others = true;
        }
        if others {
            self.unknown.get_or_insert_with(|| span.clone());
        }
        (!others).then_some(known)
    }
}

/// Adds folders, each once.
pub(super) fn add(all: &mut Vec<String>, more: Vec<String>) {
    for folder in more {
        if !all.contains(&folder) {
            all.push(folder);
        }
    }
}

/// The paths of a folder that is known from the folder of the call, which is one of these.
pub(super) fn resolve(
    folder: &WorkingDirectory,
    call: &[String],
    variables: &Variables<'_>,
) -> Option<Vec<String>> {
    match folder.now() {
        BaseDirectory::Call => Some(call.to_vec()),
        // The home of another user, or one that is not stated.
        BaseDirectory::At(path) if path.starts_with('~') && !is_home(path, variables) => None,
        BaseDirectory::At(path) => {
            let mut paths = places(path, call, variables.environment());
            // bash takes `..` by the words, the kernel by the links.
            if path.split('/').any(|name| name == "..") {
                let by_words = paths.iter().map(|path| tidy(path.as_ref()).to_string_lossy().into_owned());
                paths.extend(by_words.collect::<Vec<_>>());
            }
            Some(paths)
        }
        BaseDirectory::Named(_) | BaseDirectory::Unknown => None,
    }
}

/// Returns whether a path that begins with `~` lies in the home directory of the user, which is known.
fn is_home(path: &str, variables: &Variables<'_>) -> bool {
    (path == "~" || path.starts_with("~/")) && variables.environment().home.is_some()
}

/// The folder that a word names by variables of the environment, from the root on.
fn named(word: &Word, variables: &Variables<'_>) -> Option<Vec<String>> {
    let (texts, blinds) = expand(word, variables);
    match texts.as_slice() {
        [one] if blinds.is_empty() && one.open.is_none() && one.text.starts_with('/') => {
            Some(vec![one.text.clone()])
        }
        _ => None,
    }
}

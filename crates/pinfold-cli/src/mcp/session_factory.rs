//! The folders of a server, and the sessions that are opened in them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pinfold_mcp::{OpenedSession, SessionOpener, SessionRequest, ToolVisibility, Workspace};

use crate::approvers::for_a_client;
use crate::args::{McpProxy, McpServe, SessionFlags};
use crate::env;
use crate::exit::{Failure, USAGE};
use crate::session;

/// The folders of a server.
pub(super) struct SessionFactory {
    folders: Vec<Workspace>,
    wishes: Vec<session::SessionOptions>,
    /// Name of their sessions in the audit log.
    program: String,
    no_ask: bool,
    timeout: Option<Duration>,
}

impl SessionFactory {
    /// Opens the sessions of pinfold's own tools.
    pub(super) fn from_serve_args(wanted: &McpServe) -> Result<Self, Failure> {
        let program = "mcp serve".to_owned();
        Self::new(program, &wanted.folder, &wanted.session, wanted.client.no_ask, wanted.client.ask_timeout)
    }

    /// Opens the session in which calls of a third-party server are judged.
    pub(super) fn from_proxy_args(wanted: &McpProxy) -> Result<Self, Failure> {
        let flags = SessionFlags {
            add_dir: wanted.add_dir.clone(),
            allow_home: wanted.allow_home,
            read_only: wanted.read_only,
            settings: wanted.settings.clone(),
            no_settings: wanted.no_settings,
            no_record: wanted.no_record,
            ..SessionFlags::default()
        };
        let program = format!("mcp proxy {}", wanted.name.as_deref().unwrap_or_default());
        Self::new(program, wanted.folder.as_slice(), &flags, wanted.client.no_ask, wanted.client.ask_timeout)
    }

    fn new(
        program: String,
        said: &[PathBuf],
        flags: &SessionFlags,
        no_ask: bool,
        timeout: Option<Duration>,
    ) -> Result<Self, Failure> {
        let here = env::current_dir()?;
        let said_here = said.iter().map(|folder| (here.join(folder), Some(folder.clone())));
        let all: Vec<_> = if said.is_empty() { vec![(here.clone(), None)] } else { said_here.collect() };
        let (mut folders, mut names) = (Vec::new(), BTreeSet::new());
        for (path, _) in &all {
            let path = path.canonicalize().ok().filter(|path| path.is_dir()).ok_or_else(|| {
                Failure::new(USAGE, format!("not a directory: `{}`", path.display()))
                    .mend("name an existing folder")
            })?;
            folders.push(Workspace { name: name(&path, &mut names), path });
        }
        let wish = |folder| session::SessionOptions {
            kind: "mcp",
            folder,
            within: None,
            flags: flags.clone(),
            headless_alone: false,
        };
        let wishes = all.into_iter().map(|(_, folder)| wish(folder)).collect();
        Ok(Self { folders, wishes, program, no_ask, timeout })
    }
}

/// A name that no other folder has: the last part of its path, with a number where that is taken.
fn name(path: &Path, taken: &mut BTreeSet<String>) -> String {
    let base = path.file_name().map_or_else(|| "root".to_owned(), |name| name.to_string_lossy().into_owned());
    let numbered = (2..).map(|number: u32| format!("{base}-{number}"));
    let name = std::iter::once(base.clone()).chain(numbered).find(|name| !taken.contains(name));
    let name = name.unwrap_or(base);
    taken.insert(name.clone());
    name
}

impl SessionOpener for SessionFactory {
    fn folders(&self) -> &[Workspace] {
        &self.folders
    }

    fn visible(&self) -> Result<ToolVisibility, String> {
        let views = self.wishes.iter().map(session::view).collect::<Result<Vec<_>, _>>();
        let views = views.map_err(|failure| failure.to_single_line())?;
        Ok(Box::new(move |tool| views.iter().any(|view| view.shows(tool))))
    }

    fn open(&self, folder: usize, wish: &SessionRequest) -> Result<OpenedSession, String> {
        let wished = self.wishes.get(folder).ok_or("there is no such folder")?;
        let wished = session::SessionOptions { within: wish.narrowed.clone(), ..wished.clone() };
        let mut asker = None;
        let session = session::open_for_an_agent(&wished, &self.program, |reach| {
            let (known, asking) = for_a_client(reach, wish.asks && !self.no_ask, self.no_ask, self.timeout)?;
            asker = known;
            Ok(asking)
        });
        let (session, span) = session.map_err(|failure| failure.to_single_line())?;
        let follow = Arc::new(session::following(wished));
        if let Some(asker) = asker {
            let follow = Arc::clone(&follow);
            asker.know(&session, move |session| follow(session));
        }
        Ok(OpenedSession { session, follow: Box::new(move |session| follow(session)), span: Box::new(span) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_one_name_are_told_apart() {
        let mut taken = BTreeSet::new();
        let names = ["/a/site", "/b/site", "/", "/c/site"].map(|path| name(Path::new(path), &mut taken));
        assert_eq!(names, ["site", "site-2", "root", "site-3"]);
    }
}

//! The state of an agent in a run: a private layer over each of its directories, with what is fixed held in it.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use pinfold_sandbox::{Layer, open_plain_through_links};

use super::{AgentProfile, MissingStandIn, ProtectedStateName, State};

/// State of an agent, resolved.
#[derive(Debug, Default)]
pub(crate) struct States {
    pub(crate) layers: Vec<Layer>,
    /// Directly below the layers: cannot be written.
    pub(crate) fixed: Vec<PathBuf>,
    /// Links of the layer, with their targets.
    pub(crate) links: Vec<(PathBuf, PathBuf)>,
    pub(crate) variables: Vec<(OsString, OsString)>,
    pub(crate) notes: Vec<String>,
}

impl States {
    /// Draws the layers of an agent's state within `slot`, a directory that no other run uses now. A directory that is not
    /// there yet is made, empty, as the agent would do when it is first started.
    pub(crate) fn arrange(
        &mut self,
        agent: &AgentProfile,
        home: &Path,
        environment: &[(OsString, OsString)],
        slot: &Path,
        is_granted: &dyn Fn(&Path) -> bool,
    ) {
        for state in agent.state {
            let place = state.path(home, environment);
            let no = |why: &dyn std::fmt::Display| {
                format!("{} cannot write its state in `{}`: {why}", agent.name, place.display())
            };
            let made = make(&place).and_then(|()| fs::canonicalize(&place));
            match made {
                Err(error) => self.notes.push(no(&error)),
                // What is granted as it is needs no layer.
                Ok(shared) if is_granted(&shared) => {}
                Ok(shared) if shared == home => self.notes.push(no(&"it is the home directory")),
                Ok(shared) => {
                    if let Err(error) = self.layer(agent, state, shared, home, slot) {
                        self.notes.push(no(&error));
                    }
                }
            }
        }
    }

    fn layer(
        &mut self,
        agent: &AgentProfile,
        state: &State,
        shared: PathBuf,
        home: &Path,
        slot: &Path,
    ) -> io::Result<()> {
        let place = slot.join(format!("agent-{}", agent.name)).join(state.usual.replace('/', "-"));
        let layer = Layer { private: place.join("upper"), work: place.join("work"), shared };
        make(&layer.private)?;
        make(&layer.work)?;
        let mut protected = Vec::new();
        for one in state.fixed {
            protected.push(hold(one, &layer)?);
        }
        for login in state.logins {
            protected.extend(uncover(login, &layer)?);
        }
        if let (Some(file), Some((variable, _))) = (state.brought, state.moved_by)
            && layer.shared == home.join(state.usual)
        {
            bring(&home.join(file), &layer)?;
            self.variables.push((variable.into(), layer.shared.clone().into()));
        }
        for one in protected {
            match one {
                LayerName::There(at) => self.fixed.push(at),
                LayerName::Link(at, to) => self.links.push((at, to)),
            }
        }
        self.layers.push(layer);
        Ok(())
    }
}

/// A name that is held in a layer.
enum LayerName {
    There(PathBuf),
    /// A link, and where it leads.
    Link(PathBuf, PathBuf),
}

/// Sees to it that something can be held at a fixed name: what is there outside, or what stands in for it.
fn hold(fixed: &ProtectedStateName, layer: &Layer) -> io::Result<LayerName> {
    if let Some(there) = uncover(fixed.name, layer)? {
        return Ok(there);
    }
    let stand_in = layer.private.join(fixed.name);
    clear(&stand_in)?;
    match fixed.missing {
        MissingStandIn::Directory => make(&stand_in)?,
        MissingStandIn::File(content) => {
            let mut options = File::options();
            options
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&stand_in)?
                .write_all(content.as_bytes())?;
        }
    }
    Ok(LayerName::There(layer.shared.join(fixed.name)))
}

/// The name as it is outside, with nothing of an older layer over it; `None` where there is none.
fn uncover(name: &str, layer: &Layer) -> io::Result<Option<LayerName>> {
    let outside = layer.shared.join(name);
    let Ok(found) = fs::symlink_metadata(&outside) else { return Ok(None) };
    clear(&layer.private.join(name))?;
    if found.is_symlink() {
        let to = fs::canonicalize(&outside).or_else(|_| fs::read_link(&outside))?;
        return Ok(Some(LayerName::Link(outside, to)));
    }
    Ok(Some(LayerName::There(outside)))
}

/// Takes away what an earlier run left at a place in our own layer.
fn clear(at: &Path) -> io::Result<()> {
    match fs::symlink_metadata(at) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(found) if found.is_dir() => fs::remove_dir_all(at),
        Ok(_) => fs::remove_file(at),
    }
}

/// Copies a file of the home directory into the layer, unless the copy there is the younger one.
fn bring(file: &Path, layer: &Layer) -> io::Result<()> {
    let (Some(name), Ok(theirs)) = (file.file_name(), fs::metadata(file)) else { return Ok(()) };
    let copy = layer.private.join(name);
    let copied = fs::symlink_metadata(&copy).ok().filter(fs::Metadata::is_file);
    let is_current = copied.and_then(|ours| Some(ours.modified().ok()? >= theirs.modified().ok()?));
    if !theirs.is_file() || is_current == Some(true) {
        return Ok(());
    }
    clear(&copy)?;
    let beside = layer.work.with_file_name("brought");
    clear(&beside)?;
    let mut made = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    io::copy(&mut open_plain_through_links(file)?, &mut made)?;
    fs::rename(&beside, &copy)
}

fn make(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

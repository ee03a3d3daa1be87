//! Trees that are copied and removed call by call, as `cp -a` and `rm -r` do.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::Hands;
use crate::hostile::program::{Call, Flags, Target, Way};
use crate::hostile::world_path::WorldPath;

/// Entries that one copy makes at most: a tree that is copied into itself has no end.
const MAX_ENTRIES: usize = 400;

impl Hands<'_> {
    pub(super) fn copy(&mut self, from: &WorldPath, to: &WorldPath, way: Way) {
        let mut left = MAX_ENTRIES;
        self.copy_entry(from, to, way, &mut left);
    }

    fn copy_entry(&mut self, from: &WorldPath, to: &WorldPath, way: Way, left: &mut usize) {
        let source = self.roots().path(from);
        let Ok(meta) = fs::symlink_metadata(&source) else { return };
        if *left == 0 {
            return;
        }
        *left -= 1;
        if meta.is_dir() {
            let names = names(&source);
            self.one(&Call::MakeDir(to.clone()), way);
            for name in &names {
                self.copy_entry(&from.join(name), &to.join(name), way, left);
            }
        } else if meta.is_symlink() {
            let text = fs::read_link(&source).unwrap_or_default().to_string_lossy().into_owned();
            self.one(&Call::Symlink(Target::Text(text), to.clone()), way);
        } else if meta.is_file() {
            let flags = Flags { truncate: true, ..Flags::default() };
            self.put(to, &fs::read(&source).unwrap_or_default(), flags, way);
            if meta.permissions().mode() & 0o777 != 0o755 {
                self.one(&Call::Mode(to.clone(), meta.permissions().mode() & 0o777), way);
            }
        }
    }

    pub(super) fn remove_tree(&mut self, at: &WorldPath, way: Way) {
        let path = self.roots().path(at);
        if !fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_dir()) {
            return self.one(&Call::Unlink(at.clone()), way);
        }
        names(&path).iter().take(MAX_ENTRIES).for_each(|name| self.remove_tree(&at.join(name), way));
        self.one(&Call::RemoveDir(at.clone()), way);
    }
}

fn names(directory: &std::path::Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

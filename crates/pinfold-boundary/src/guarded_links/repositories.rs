//! Places that the configuration of a repository names, which git acts on in its working tree wherever they lie.

use std::path::Path;

use pinfold_policy::GuardKind;

use super::{LinkSearch, Linked, SearchGap};
use crate::git::config_files::ConfigGap;
use crate::git::layout::{ActingRepository, Repository, acting_repository};
use crate::git::named::NamedPlaces;
use crate::scan::Coverage;

impl LinkSearch<'_> {
    /// Holds what is named where git would find a working tree. One that cannot be looked up is closed by itself when something in it is
    /// changed.
    pub(super) fn search_working_tree(&mut self, top: &Path) {
        if self.person.is_none() {
            return;
        }
        match acting_repository(top) {
            ActingRepository::Found(repository) => self.search_repository(&repository),
            ActingRepository::None | ActingRepository::Unknown => {}
        }
    }

    /// Holds what a repository names. Look-ups count as links that are followed.
    pub(super) fn search_repository(&mut self, repository: &Repository) {
        let Repository { top, git_dir, .. } = repository;
        let Some(person) = self.person else { return };
        if !self.searched.insert((git_dir.clone(), top.clone())) {
            return;
        }
        let left = self.bounds.links.saturating_sub(self.lookups);
        let named = NamedPlaces::read(repository, person, self.home, left);
        self.take_named(named, git_dir);
    }

    /// Holds what the person's configuration of git names, whether a repository lies in the folder or not.
    pub(super) fn search_person(&mut self) {
        let (Some(person), Some(home)) = (self.person, self.home) else { return };
        let left = self.bounds.links.saturating_sub(self.lookups);
        self.take_named(NamedPlaces::read_person(person, self.home, left), home);
    }

    fn take_named(&mut self, named: NamedPlaces, named_in: &Path) {
        self.lookups += named.lookups;
        let protected = named.protected.into_iter();
        let protected =
            protected.map(|(place, why)| Linked { place, kind: GuardKind::Place, why: why.to_owned() });
        self.found.extend(protected);
        match named.gap {
            Some(ConfigGap::Bounded) => self.note(Coverage::Bounded),
            Some(ConfigGap::Unreadable { by_user: true }) => {
                self.gap.get_or_insert_with(|| SearchGap::ClosedConfig { git_dir: named_in.to_owned() });
            }
            Some(ConfigGap::Unexpanded) => {
                self.gap.get_or_insert_with(|| SearchGap::UnknownPath { named_in: named_in.to_owned() });
            }
            // Git cannot read it either as this user.
            Some(ConfigGap::Unreadable { by_user: false }) | None => {}
        }
    }
}

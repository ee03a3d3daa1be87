//! Commands as patterns see them, read off their words once for all steps.

use std::cell::OnceCell;

use pinfold_commands::{CommandClaim, Invocation};

use crate::pattern::CommandKey;

/// One command, and the keys by which rules about it are found.
#[derive(Debug)]
pub(crate) struct KeyedCommand<'a> {
    /// The command.
    pub(super) claim: &'a CommandClaim,
    keys: OnceCell<Keys>,
}

/// Keys of a command.
#[derive(Debug)]
struct Keys {
    all: Vec<CommandKey>,
    /// Index of the first key of the reading that allow rules look at.
    allowable: usize,
}

impl<'a> KeyedCommand<'a> {
    pub(super) fn new(claim: &'a CommandClaim) -> Self {
        Self { claim, keys: OnceCell::new() }
    }

    /// Returns the keys of every reading: its words as they are written, and with the bare name of its program; open-ended
    /// where further words are unknown.
    pub(super) fn keys(&self) -> &[CommandKey] {
        &self.get().all
    }

    /// Returns the words of the reading that allow rules look at, as they are written and with the bare name of its program,
    /// where that is another.
    pub(super) fn allowable_keys(&self) -> Option<(&CommandKey, Option<&CommandKey>)> {
        let Keys { all, allowable } = self.get();
        let reading = self.claim.allowable();
        let named = bare_name(reading).and_then(|_| all.get(allowable + 1 + usize::from(reading.open_ended)));
        Some((all.get(*allowable)?, named))
    }

    fn get(&self) -> &Keys {
        self.keys.get_or_init(|| {
            let mut keys = Keys { all: Vec::with_capacity(self.claim.readings.len()), allowable: 0 };
            for reading in &self.claim.readings {
                if std::ptr::eq(reading, self.claim.allowable()) {
                    keys.allowable = keys.all.len();
                }
                keys.add(reading);
            }
            keys
        })
    }
}

impl Keys {
    fn add(&mut self, reading: &Invocation) {
        let names = [Some(None), bare_name(reading).map(Some)];
        for program in names.into_iter().flatten() {
            let key = CommandKey::new(&reading.words, program);
            let more = reading.open_ended.then(|| key.clone().and_more());
            self.all.extend(std::iter::once(key).chain(more));
        }
    }
}

/// The name of the program that is written with a folder in front of it.
fn bare_name(reading: &Invocation) -> Option<&str> {
    reading.name().filter(|name| Some(*name) != reading.program())
}

//! Values of options with a syntax of their own: `@file`, `name=@file`, a mount, an address, a query.

use std::borrow::Cow;

use pinfold_shell::{Part, Word};

use super::Acts;
use crate::program::setting::{self, Setting};
use crate::program::{Does, Purpose};
use crate::words::{known_start, literal, strip_start};
use crate::{HostClaim, Operation, host};

impl Acts<'_> {
    pub(super) fn folder_of(&mut self, file: &Word) {
        if is_input(file) {
            return self.script_bar("comes from its input and is known only by running");
        }
        // `--format json` names no file.
        if file.as_static().is_none_or(|text| text.contains(['/', '.'])) {
            self.path(Cow::Owned(file.clone()), Operation::Read, Purpose::Command);
        }
        match file.as_static().map(|text| text.rsplit_once('/')) {
            Some(Some((folder, _))) => {
                let folder = if folder.is_empty() { "/" } else { folder };
                self.sources.push(Cow::Owned(literal(folder, file)));
            }
            Some(None) => {}
            None => self.sources.push(Cow::Owned(file.clone())),
        }
    }

    /// `@file` or plain data.
    pub(super) fn at_file(&mut self, value: &Word, mark: &str) {
        if known_start(value).starts_with(mark) {
            self.path(Cow::Owned(strip_start(value, mark.len())), Operation::Read, Purpose::Command);
        }
    }

    /// `@file`, `name@file`; with `=` in front of it data.
    pub(super) fn encoded(&mut self, value: &Word) {
        let start = known_start(value);
        if let Some((name, _)) = start.split_once('@').filter(|(name, _)| !name.contains('=')) {
            self.path(Cow::Owned(strip_start(value, name.len() + 1)), Operation::Read, Purpose::Command);
        }
    }

    /// `name=@file;type=x`, `name=<file`.
    pub(super) fn form_file(&mut self, value: &Word) {
        let start = known_start(value);
        let Some((name, content)) = start.split_once('=') else { return };
        if content.starts_with(['@', '<']) {
            let file = strip_start(value, name.len() + 2);
            match file.as_static().and_then(|text| text.split_once(';')) {
                Some((path, _)) => self.path_text(path, value, Operation::Read, Purpose::Command),
                None => self.path(Cow::Owned(file), Operation::Read, Purpose::Command),
            }
        }
    }

    pub(crate) fn host(&mut self, word: &Word) {
        self.take(word);
        let start = known_start(word);
        // A host that ends before the part that is not known is known.
        let whole = word.as_static().is_some()
            || start.split_once("://").is_some_and(|(_, rest)| rest.contains(['/', '?', '#']));
        let host = whole.then(|| host::of_address(start)).flatten();
        self.hosts.push(HostClaim::of_command(host));
    }

    /// Values that matter only when they say certain things.
    pub(super) fn judged_value(&mut self, does: Does, option: &str, value: &Word) {
        let matters = match does {
            Does::Setting => match setting::classify(value) {
                Setting::Harmless => return self.take(value),
                Setting::Runs(line) => {
                    self.line(Cow::Owned(literal(line, value)));
                    true
                }
                Setting::Unknown => true,
            },
            Does::WriteOut => {
                value.as_static().is_none_or(|text| text.contains("%output") || text.starts_with('@'))
            }
            Does::Format => value.as_static().is_none_or(|text| text.contains('/') || text.contains(".lua")),
            Does::Define => setting::defines_program(value),
            Does::Pass => setting::passes_program(value),
            Does::Network => value.as_static().is_none_or(|text| text == "host" || text.contains(':')),
            Does::Query => return self.query(value),
            _ => false,
        };
        if matters {
            self.option_bar("option", option, "sets what may name a program, a file or another way");
        }
    }

    /// A query that goes beyond the database.
    pub(crate) fn query(&mut self, query: &Word) {
        self.take(query);
        match query.as_static() {
            None => self.script_bar("is known only by running"),
            Some(text) if setting::query_goes_beyond(text) => {
                self.script_bar("runs programs or touches files");
            }
            Some(_) => {}
        }
    }

    /// `source:target[:options]`, `type=bind,source=…,target=…`: a place of this machine, or the name of a volume.
    pub(super) fn mount(&mut self, value: &Word) {
        self.take(value);
        let text = value.literal_prefix();
        let source = text
            .split(',')
            .find_map(|pair| pair.strip_prefix("source=").or_else(|| pair.strip_prefix("src=")));
        if let Some(source) = source {
            return self.path_text(source, value, Operation::Write, Purpose::Command);
        }
        if text.contains("type=") {
            return;
        }
        // Up to the first colon, wherever the known text ends.
        let mut parts = Vec::new();
        for part in &value.parts {
            if let Part::Literal(text) = part
                && let Some((front, _)) = text.split_once(':')
            {
                if !front.is_empty() {
                    parts.push(Part::Literal(front.to_owned()));
                }
                break;
            }
            parts.push(part.clone());
        }
        let source = Word { parts, span: value.span.clone(), quoted: value.quoted };
        if source.as_static().is_some_and(|name| !name.contains('/') && !name.starts_with(['.', '~'])) {
            return;
        }
        self.path(Cow::Owned(source), Operation::Write, Purpose::Command);
    }

    /// `folder`, `type=local,dest=folder`, `-`.
    pub(super) fn output(&mut self, value: &Word) {
        self.take(value);
        let text = value.literal_prefix();
        match text.split(',').find_map(|pair| pair.strip_prefix("dest=")) {
            Some(folder) => self.path_text(folder, value, Operation::Write, Purpose::Aside),
            None if text.contains('=') => {}
            None => self.path(Cow::Owned(value.clone()), Operation::Write, Purpose::Aside),
        }
    }
}

/// Returns whether a script's name stands for standard input.
pub(super) fn is_input(script: &Word) -> bool {
    matches!(script.as_static(), Some("-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0"))
}

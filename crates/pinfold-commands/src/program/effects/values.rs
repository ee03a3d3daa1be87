//! Values of options with a syntax of their own: `@file`, `name=@file`, a mount, an address, a query.

use std::borrow::Cow;

use pinfold_shell::{Part, Word};

use super::InvocationEffects;
use crate::program::setting::{self, Setting};
use crate::program::{OptionEffect, Purpose};
use crate::words::{known_start, literal, strip_start};
use crate::{HostClaim, Operation, host};

impl InvocationEffects<'_> {
    pub(super) fn load_from_folder_of(&mut self, file: &Word) {
        if is_input(file) {
            return self.exclude_script("comes from its input and is known only at run time");
        }
        // `--format json` names no file.
        if file.as_static().is_none_or(|text| text.contains(['/', '.'])) {
            self.touch(Cow::Owned(file.clone()), Operation::Read, Purpose::Command);
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

    /// Reads `@file` or plain data.
    pub(super) fn touch_at_file(&mut self, value: &Word, mark: &str) {
        if known_start(value).starts_with(mark) {
            self.touch(Cow::Owned(strip_start(value, mark.len())), Operation::Read, Purpose::Command);
        }
    }

    /// Reads `@file`, `name@file`; with `=` in front of it data.
    pub(super) fn touch_encoded(&mut self, value: &Word) {
        let start = known_start(value);
        if let Some((name, _)) = start.split_once('@').filter(|(name, _)| !name.contains('=')) {
            self.touch(Cow::Owned(strip_start(value, name.len() + 1)), Operation::Read, Purpose::Command);
        }
    }

    /// Reads `name=@file;type=x`, `name=<file`.
    pub(super) fn touch_form_file(&mut self, value: &Word) {
        let start = known_start(value);
        let Some((name, content)) = start.split_once('=') else { return };
        if content.starts_with(['@', '<']) {
            let file = strip_start(value, name.len() + 2);
            match file.as_static().and_then(|text| text.split_once(';')) {
                Some((path, _)) => self.touch_text(path, value, Operation::Read, Purpose::Command),
                None => self.touch(Cow::Owned(file), Operation::Read, Purpose::Command),
            }
        }
    }

    pub(crate) fn reach_host(&mut self, word: &Word) {
        self.mark_no_path(word);
        let start = known_start(word);
        // A host that ends before the part that is not known is known.
        let whole = word.as_static().is_some()
            || start.split_once("://").is_some_and(|(_, rest)| rest.contains(['/', '?', '#']));
        let host = whole.then(|| host::of_address(start)).flatten();
        self.hosts.push(HostClaim::from_command(host));
    }

    /// Judges values that matter only when they say certain things.
    pub(super) fn judge_value(&mut self, effect: OptionEffect, option: &str, value: &Word) {
        let matters = match effect {
            OptionEffect::Setting => match setting::classify(value) {
                Setting::Harmless => return self.mark_no_path(value),
                Setting::Runs(line) => {
                    self.start_line(Cow::Owned(literal(line, value)));
                    true
                }
                Setting::Unknown => true,
            },
            OptionEffect::WriteOut => {
                value.as_static().is_none_or(|text| text.contains("%output") || text.starts_with('@'))
            }
            OptionEffect::Format => {
                value.as_static().is_none_or(|text| text.contains('/') || text.contains(".lua"))
            }
            OptionEffect::Define => setting::defines_program(value),
            OptionEffect::PassOn => setting::passes_program(value),
            OptionEffect::ContainerNetwork => {
                value.as_static().is_none_or(|text| text == "host" || text.contains(':'))
            }
            OptionEffect::Query => return self.judge_query(value),
            _ => false,
        };
        if matters {
            self.exclude_option("option", option, "sets what may name a program, a file or another way");
        }
    }

    /// Excludes a query that goes beyond the database.
    pub(crate) fn judge_query(&mut self, query: &Word) {
        self.mark_no_path(query);
        match query.as_static() {
            None => self.exclude_script("is known only at run time"),
            Some(text) if setting::query_goes_beyond(text) => {
                self.exclude_script("runs programs or touches files");
            }
            Some(_) => {}
        }
    }

    /// Reads `source:target[:options]`, `type=bind,source=…,target=…`: a place of this machine, or the name of a volume.
    pub(super) fn touch_mount(&mut self, value: &Word) {
        self.mark_no_path(value);
        let text = value.literal_prefix();
        let source = text
            .split(',')
            .find_map(|pair| pair.strip_prefix("source=").or_else(|| pair.strip_prefix("src=")));
        if let Some(source) = source {
            return self.touch_text(source, value, Operation::Write, Purpose::Command);
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
        self.touch(Cow::Owned(source), Operation::Write, Purpose::Command);
    }

    /// Reads `folder`, `type=local,dest=folder`, `-`.
    pub(super) fn touch_output(&mut self, value: &Word) {
        self.mark_no_path(value);
        let text = value.literal_prefix();
        match text.split(',').find_map(|pair| pair.strip_prefix("dest=")) {
            Some(folder) => self.touch_text(folder, value, Operation::Write, Purpose::Aside),
            None if text.contains('=') => {}
            None => self.touch(Cow::Owned(value.clone()), Operation::Write, Purpose::Aside),
        }
    }
}

/// Returns whether a script's name stands for standard input.
pub(super) fn is_input(script: &Word) -> bool {
    matches!(script.as_static(), Some("-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0"))
}

//! Standard input of programs: commands of a shell, code of a language, scripts and queries.

use std::borrow::Cow;

use pinfold_shell::{Redirect, RedirectKind, SimpleCommand};

use super::Unknown;
use super::analyze::CommandAnalyzer;
use super::program::{self, InvocationEffects, ProgramKind, StandardInput};

impl CommandAnalyzer<'_, '_> {
    /// A shell that reads its commands from standard input.
    pub(super) fn standard_input<'a>(
        &mut self,
        command: &'a SimpleCommand,
        effects: &mut InvocationEffects<'a>,
    ) {
        let fed = |redirect: &&Redirect| {
            matches!(
                redirect.kind,
                RedirectKind::HereDocument | RedirectKind::HereString | RedirectKind::Read
            )
        };
        let last = command.redirects.iter().rev().find(fed);
        if let Some(document) = last.filter(|redirect| redirect.kind != RedirectKind::Read) {
            if program::kind(effects.name) == Some(ProgramKind::ForeignShell) {
                self.unknown(Unknown::Input(effects.name.to_owned()));
            }
            effects.start_line(Cow::Borrowed(&document.target));
        } else {
            if command.place.piped_from.is_some() {
                self.unknown(Unknown::Input(effects.name.to_owned()));
            }
            self.exclude_once("launcher", "what it runs comes from its input and is known only at run time");
        }
    }

    /// A program that reads a script of its own language from standard input.
    pub(super) fn script_input(&mut self, command: &SimpleCommand, effects: &InvocationEffects<'_>) {
        let why = "what its script does comes from its input, and may run programs or write files";
        let mut fed = command.place.piped_from.is_some();
        for redirect in &command.redirects {
            match redirect.kind {
                RedirectKind::HereDocument | RedirectKind::HereString
                    if effects.input == StandardInput::Queries =>
                {
                    fed |= redirect.target.as_static().is_none_or(program::query_goes_beyond);
                }
                RedirectKind::HereDocument | RedirectKind::HereString | RedirectKind::Read => fed = true,
                _ => {}
            }
        }
        if fed {
            self.unknown(Unknown::Input(effects.name.to_owned()));
            self.exclude_once("script", why);
        }
    }

    /// A program that reads code of its own language from standard input.
    pub(super) fn code_input(&mut self, command: &SimpleCommand, name: &str) {
        if command.place.piped_from.is_some() {
            self.unknown(Unknown::Input(name.to_owned()));
            self.exclude_once("inline-code", "the code that it runs comes from another program");
        }
        let written = |redirect: &&Redirect| {
            matches!(redirect.kind, RedirectKind::HereDocument | RedirectKind::HereString)
        };
        for redirect in command.redirects.iter().filter(written) {
            self.unknown(Unknown::Input(name.to_owned()));
            self.unanalyzed.extend(redirect.target.as_static().map(str::to_owned));
        }
    }
}

//! What is told when a run has ended.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use pinfold_boundary::{Refused, RunReport, Witness};
use pinfold_sandbox::{End, Tier};
use serde::Serialize;

use crate::args::Run;
use crate::say::warn;

/// The end of a run, as data.
#[derive(Serialize)]
pub(super) struct Report {
    tier: String,
    /// False when what was refused could not be seen.
    watched: bool,
    refused: Vec<Refused>,
    /// Refusals that are not in the list.
    more: u64,
    #[serde(flatten)]
    left: RunReport,
}

/// Refusals shown to a person before the rest is only counted.
const SHOWN: usize = 20;

impl Report {
    pub(super) fn new(tier: Tier, watched: bool, witness: Witness<'_>, left: RunReport) -> Self {
        let (refused, more) = witness.refused();
        Self { tier: tier.to_string(), watched, refused, more, left }
    }

    /// Prints it, or writes it where the person wants it.
    pub(super) fn tell(mut self, run: &Run, ended: &io::Result<End>) {
        let text = if run.json {
            serde_json::to_string(&self).unwrap_or_default() + "\n"
        } else {
            self.drop_idle_sockets(ended);
            if self.is_quiet() && (run.quiet || self.left.notes.is_empty()) {
                return;
            }
            self.text().lines().map(|line| format!("pinfold: {line}\n")).collect()
        };
        let written = match &run.report {
            Some(file) => fs::write(file, &text),
            None => io::stderr().write_all(text.as_bytes()),
        };
        if let Err(error) = written {
            warn(format_args!("the report could not be written: {error}"));
        }
    }

    fn is_quiet(&self) -> bool {
        self.refused.is_empty() && self.left.is_quiet()
    }

    /// Programs ask the name service for a socket whenever they print a user's name, and do without: not worth a
    /// line unless something went wrong.
    fn drop_idle_sockets(&mut self, ended: &io::Result<End>) {
        if matches!(ended, Ok(End::Code(0))) {
            self.refused.retain(|r| r.place != Path::new("unix"));
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        if !self.refused.is_empty() {
            text.push_str("refused:\n");
        }
        for Refused { tried, place, program, times, why, to_allow, .. } in self.refused.iter().take(SHOWN) {
            let place = place.to_string_lossy().escape_debug().to_string();
            let often = if *times > 1 { format!(" ({times} times)") } else { String::new() };
            let _ = writeln!(text, "  {program}: {tried} {place}{often}\n    {why}; {to_allow}");
        }
        let more = self.refused.len().saturating_sub(SHOWN) as u64 + self.more;
        if more > 0 {
            let _ = writeln!(text, "  and {more} more (--json lists them)");
        }
        text.push_str(&self.left.to_string());
        text
    }
}

//! Limits that a run met: which, what they are, and what raises them.

use std::collections::BTreeSet;
use std::time::Duration;

use pinfold_boundary::LimitMet;
use pinfold_sandbox::{End, Limit};
use serde::Serialize;

use crate::args;

/// A limit that was met, as data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Met {
    /// `memory`, `processes`, `file-size`, `cpu-time`, `time`, `output`.
    limit: &'static str,
    /// In bytes, seconds, or by number.
    value: u64,
    /// The option that sets it.
    option: &'static str,
    /// The program that met it, where that can be seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<String>,
    /// How often.
    times: u64,
    #[serde(skip)]
    shown: String,
}

/// What a limit is called and set by, and its value as a number and in words.
struct Known {
    limit: &'static str,
    option: &'static str,
    value: u64,
    shown: String,
}

impl Met {
    fn new(known: Known, program: Option<String>, times: u64) -> Self {
        let Known { limit, option, value, shown } = known;
        Self { limit, value, option, program, times, shown }
    }

    /// One line, without the program.
    pub(super) fn describe(&self) -> String {
        format!("{} ({} {})", self.shown, self.option, value(self.limit, self.value))
    }

    /// The program, if it is known.
    pub(super) fn program(&self) -> &str {
        self.program.as_deref().unwrap_or("the command")
    }

    /// How often it was met.
    pub(super) fn times(&self) -> u64 {
        self.times
    }
}

/// All limits that were met: those that processes were seen to meet, and the one that ended the command.
pub(super) fn met(limits: &args::Limits, seen: &[LimitMet], end: Option<End>, too_much: bool) -> Vec<Met> {
    let seen = seen.iter().filter_map(|LimitMet { limit, program, times }| {
        Some(Met::new(known(limits, *limit)?, Some(program.clone()), *times))
    });
    let ended = end.and_then(ended_by).and_then(|limit| known(limits, limit));
    let printed = limits.max_output.filter(|_| too_much).map(|value| Known {
        limit: "output",
        option: "--max-output",
        value,
        shown: "more output than allowed".to_owned(),
    });
    let ended = ended.into_iter().chain(printed).map(|known| Met::new(known, None, 1));
    seen.chain(ended).collect()
}

/// All of them in words, each once.
pub(super) fn describe(met: &[Met]) -> Option<String> {
    let reached: BTreeSet<String> = met.iter().map(Met::describe).collect();
    (!reached.is_empty()).then(|| reached.into_iter().collect::<Vec<_>>().join(", "))
}

/// The limit that ended the command: by its time, or by a signal of its own, which shells count from 128.
/// [signal(7)](https://man7.org/linux/man-pages/man7/signal.7.html)
fn ended_by(end: End) -> Option<Limit> {
    const PROCESSOR_TIME: i32 = 128 + 24;
    const FILE_SIZE: i32 = 128 + 25;
    match end {
        End::TimedOut => Some(Limit::WallTime),
        End::Code(PROCESSOR_TIME) => Some(Limit::CpuTime),
        End::Code(FILE_SIZE) => Some(Limit::FileSize),
        End::Code(_) => None,
    }
}

/// `None` where the run has no such limit.
fn known(limits: &args::Limits, limit: Limit) -> Option<Known> {
    let (limit, option, value, shown) = match limit {
        Limit::Memory => {
            ("memory", "--max-memory", limits.max_memory?, "more memory in one process than allowed")
        }
        Limit::Processes => {
            ("processes", "--max-processes", limits.max_processes?, "more processes than allowed")
        }
        Limit::FileSize => {
            ("file-size", "--max-file-size", limits.max_file_size?, "a larger file than allowed")
        }
        Limit::CpuTime => (
            "cpu-time",
            "--cpu-time",
            limits.cpu_time?.as_secs(),
            "more processor time of one process than allowed",
        ),
        Limit::WallTime => ("time", "--timeout", limits.timeout?.as_secs(), "a longer run than allowed"),
    };
    Some(Known { limit, option, value, shown: shown.to_owned() })
}

/// A value as the option takes it.
fn value(limit: &str, value: u64) -> String {
    match limit {
        "cpu-time" | "time" => time(Duration::from_secs(value)),
        "processes" => value.to_string(),
        _ => size(value),
    }
}

fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(1 << 40, "T"), (1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")];
    let unit = UNITS.into_iter().find(|(factor, _)| bytes >= *factor && bytes.is_multiple_of(*factor));
    unit.map_or_else(|| format!("{bytes}B"), |(factor, unit)| format!("{}{unit}", bytes / factor))
}

fn time(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 => "0s".to_owned(),
        _ if seconds.is_multiple_of(3600) => format!("{}h", seconds / 3600),
        _ if seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        _ => format!("{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_shown_as_its_option_takes_it() {
        for (bytes, expected) in
            [(0, "0B"), (1000, "1000B"), (1 << 20, "1M"), (1536 << 20, "1536M"), (2 << 30, "2G")]
        {
            assert_eq!(size(bytes), expected);
        }
        for (seconds, expected) in [(0, "0s"), (90, "90s"), (600, "10m"), (7200, "2h")] {
            assert_eq!(time(Duration::from_secs(seconds)), expected);
        }
    }
}

//! Limits that a run met, with the option that raises each.

use std::collections::BTreeSet;

use pinfold_boundary::{Amount, LimitKind, LimitReached};
use serde::Serialize;

use crate::args;

/// A limit that was met, as data.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct MetLimit {
    #[serde(flatten)]
    reached: LimitReached,
    /// The option that sets it; or what shows it, where the run has it from the process that started it.
    option: &'static str,
}

impl MetLimit {
    fn new(limits: &args::LimitFlags, reached: LimitReached) -> Self {
        let option = match reached.limit {
            LimitKind::Memory => "--max-memory",
            LimitKind::Processes => "--max-processes",
            LimitKind::FileSize if limits.max_file_size.is_none() => "ulimit -f",
            LimitKind::FileSize => "--max-file-size",
            LimitKind::CpuTime if limits.cpu_time.is_none() => "ulimit -t",
            LimitKind::CpuTime => "--cpu-time",
            LimitKind::Time => "--timeout",
            LimitKind::Output => "--max-output",
        };
        Self { reached, option }
    }

    /// One line, without the program.
    pub(super) fn describe(&self) -> String {
        self.reached.describe(self.option)
    }

    /// The program, if it is known.
    pub(super) fn program(&self) -> &str {
        self.reached.program()
    }

    /// Returns the number of times that it was met.
    pub(super) fn times(&self) -> u64 {
        self.reached.times
    }
}

/// Returns all limits that were met: those of the run, and that of its output.
pub(super) fn met(
    limits: &args::LimitFlags,
    reached: &[LimitReached],
    too_much_output: bool,
) -> Vec<MetLimit> {
    let printed = limits.max_output.filter(|_| too_much_output);
    let printed = printed.map(|bytes| LimitReached::once(LimitKind::Output, Amount::Bytes(bytes)));
    reached.iter().cloned().chain(printed).map(|reached| MetLimit::new(limits, reached)).collect()
}

/// All of them in words, each once.
pub(super) fn describe(met: &[MetLimit]) -> Option<String> {
    let reached: BTreeSet<String> = met.iter().map(MetLimit::describe).collect();
    (!reached.is_empty()).then(|| reached.into_iter().collect::<Vec<_>>().join(", "))
}

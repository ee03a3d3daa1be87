//! The limits that a run reached, in the words of the report and of the `Bash` tool: which, its value, what can be done.
//!
//! Not seen before Linux 6.15: the end of a process below a shell that goes on, which that shell alone waits for. When it ends by its
//! own processor time or file size, the shell says so where its messages go, and nothing is told here.

use std::fmt;
use std::time::Duration;

use pinfold_sandbox::{End, Limit, Limits};
use rustix::process::{Resource, getrlimit};
use serde::{Serialize, Serializer};

use crate::outcome::LimitMet;

/// Something of which a run has only so much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitKind {
    /// Private memory of one process.
    Memory,
    /// Processes at one time.
    Processes,
    /// The size of one file.
    FileSize,
    /// Processor time of one process.
    CpuTime,
    /// Time from start to end.
    Time,
    /// Output in all.
    Output,
}

impl LimitKind {
    /// The name of the limit.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Processes => "processes",
            Self::FileSize => "file-size",
            Self::CpuTime => "cpu-time",
            Self::Time => "time",
            Self::Output => "output",
        }
    }

    /// Describes what was wanted.
    pub fn exceeded(self) -> &'static str {
        match self {
            Self::Memory => "more memory in one process than allowed",
            Self::Processes => "more processes than allowed",
            Self::FileSize => "a larger file than allowed",
            Self::CpuTime => "more processor time of one process than allowed",
            Self::Time => "a longer run than allowed",
            Self::Output => "more output than allowed",
        }
    }

    /// Returns advice for working within the limit.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Memory => "work on less at a time, or in several processes one after the other",
            Self::Processes => "start fewer at a time (`make -j2`, fewer workers or threads)",
            Self::FileSize => "write several smaller files, or only the part that is needed",
            Self::CpuTime => "split the work into several commands, each of which does a part",
            Self::Time => "give a longer timeout, run it in the background, or do it in shorter commands",
            Self::Output => "write the output to a file and read the part that is needed",
        }
    }
}

impl From<Limit> for LimitKind {
    fn from(limit: Limit) -> Self {
        match limit {
            Limit::Memory => Self::Memory,
            Limit::Processes => Self::Processes,
            Limit::FileSize => Self::FileSize,
            Limit::CpuTime => Self::CpuTime,
            Limit::WallTime => Self::Time,
        }
    }
}

/// Value of a limit. Shown as the options of `pinfold run` take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// A number of bytes.
    Bytes(u64),
    /// A number.
    Number(u64),
    /// A time.
    Time(Duration),
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Bytes(bytes) => f.write_str(&size(bytes)),
            Self::Number(number) => write!(f, "{number}"),
            Self::Time(time) => f.write_str(&shown_time(time)),
        }
    }
}

/// Bytes, a number, or seconds.
impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Bytes(number) | Self::Number(number) => serializer.serialize_u64(number),
            Self::Time(time) if time.subsec_nanos() == 0 => serializer.serialize_u64(time.as_secs()),
            Self::Time(time) => serializer.serialize_f64(time.as_secs_f64()),
        }
    }
}

/// A limit that a run reached, as data.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LimitReached {
    /// The limit.
    pub limit: LimitKind,
    /// Value of the limit.
    pub value: Amount,
    /// The program that met it, where that can be seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Number of times.
    pub times: u64,
}

impl LimitReached {
    /// A limit that ended something.
    pub fn once(limit: LimitKind, value: Amount) -> Self {
        Self { limit, value, program: None, times: 1 }
    }

    /// The program, if it is known.
    pub fn program(&self) -> &str {
        self.program.as_deref().unwrap_or("the command")
    }

    /// Describes what was wanted, and the limit under this name.
    pub fn describe(&self, name: &str) -> String {
        format!("{} ({name} {})", self.limit.exceeded(), self.value)
    }
}

/// All limits that a run reached: those that processes were seen to meet, and the one that ended the command.
pub(crate) fn limits_reached(limits: &Limits, seen: &[LimitMet], end: Option<End>) -> Vec<LimitReached> {
    let is_seen = |limit: &Limit| seen.iter().any(|met| met.limit == *limit);
    // Its program was seen to be ended by it, or one below a shell that handed its status on.
    let ended = end.and_then(ended_by).filter(|limit| !is_seen(limit));
    let ended = ended.and_then(|limit| Some(LimitReached::once(limit.into(), value_of(limits, limit)?)));
    let seen = seen.iter().filter_map(|LimitMet { limit, program, times }| {
        let value = value_of(limits, *limit)?;
        Some(LimitReached { limit: (*limit).into(), value, program: Some(program.clone()), times: *times })
    });
    seen.chain(ended).collect()
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

/// `None` where the run has no such limit. What is not limited for it has the limit of the process that started it.
fn value_of(limits: &Limits, limit: Limit) -> Option<Amount> {
    let inherited = |resource| getrlimit(resource).current;
    match limit {
        Limit::Memory => limits.memory.map(Amount::Bytes),
        Limit::Processes => limits.processes.map(Amount::Number),
        Limit::FileSize => limits.file_size.or_else(|| inherited(Resource::Fsize)).map(Amount::Bytes),
        Limit::CpuTime => {
            let seconds = || inherited(Resource::Cpu).map(Duration::from_secs);
            limits.cpu_time.or_else(seconds).map(Amount::Time)
        }
        Limit::WallTime => limits.wall_time.map(Amount::Time),
    }
}

fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(1 << 40, "T"), (1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")];
    let unit = UNITS.into_iter().find(|(factor, _)| bytes >= *factor && bytes.is_multiple_of(*factor));
    unit.map_or_else(|| format!("{bytes}B"), |(factor, unit)| format!("{}{unit}", bytes / factor))
}

fn shown_time(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        _ if time.subsec_nanos() != 0 => format!("{}ms", time.as_millis()),
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
            assert_eq!(Amount::Bytes(bytes).to_string(), expected);
        }
        for (ms, expected) in
            [(0, "0s"), (500, "500ms"), (90_000, "90s"), (600_000, "10m"), (7_200_000, "2h")]
        {
            assert_eq!(Amount::Time(Duration::from_millis(ms)).to_string(), expected);
        }
    }

    #[test]
    fn an_end_is_told_of_a_limit_that_there_is() {
        let limits = Limits { cpu_time: Some(Duration::from_secs(9)), ..Limits::default() };
        let reached = |end| limits_reached(&limits, &[], Some(end));
        let cpu_time = LimitReached::once(LimitKind::CpuTime, Amount::Time(Duration::from_secs(9)));
        assert_eq!(reached(End::Code(152)), std::slice::from_ref(&cpu_time));
        let seen = [LimitMet { limit: Limit::CpuTime, program: "perl".into(), times: 1 }];
        let once = limits_reached(&limits, &seen, Some(End::Code(152)));
        assert_eq!(
            once,
            [LimitReached { program: Some("perl".into()), ..cpu_time.clone() }],
            "it is told once"
        );
        for end in [End::Code(0), End::Code(1), End::Code(137), End::TimedOut] {
            assert_eq!(reached(end), [], "{end:?}");
        }
    }

    #[test]
    fn every_limit_has_one_name_in_words_and_data() {
        use LimitKind::{CpuTime, FileSize, Memory, Output, Processes, Time};
        for kind in [Memory, Processes, FileSize, CpuTime, Time, Output] {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
            assert!(!kind.exceeded().is_empty() && !kind.advice().is_empty());
        }
    }
}

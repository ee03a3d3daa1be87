//! Programs as text: what a failure prints, a case holds and the actor reads.
//!
//! ```text
//! world plain nested build      the layout and what is added
//! run killed after 3 calls      ended early: `killed after 3 calls`, `killed at 20 ms`
//! thread times 30
//! write F/.git/hooks/x hook excl @directory
//! beside delay 5 ms             a run beside the one before
//! next                          a run after the ones before
//! ```

use std::fmt;
use std::str::FromStr;

use super::program::{
    Call, Flags, Killed, Opening, Program, Renaming, Run, Step, Target, Thread, Way, WorldName,
};

const WAYS: [(&str, Way); 7] = [
    ("absolute", Way::Absolute),
    ("relative", Way::Relative),
    ("dots", Way::Dots),
    ("directory", Way::Directory),
    ("proc-directory", Way::ProcDirectory),
    ("proc-working", Way::ProcWorking),
    ("through-link", Way::ThroughLink),
];

const OPENINGS: [(&str, Opening); 3] =
    [("read", Opening::Read), ("write", Opening::Write), ("path", Opening::Path)];

const RENAMINGS: [(&str, Renaming); 3] =
    [("plain", Renaming::Plain), ("exchange", Renaming::Exchange), ("noreplace", Renaming::NoReplace)];

/// A field of the flags.
type Flag = fn(&mut Flags) -> &mut bool;

/// Flags by their words.
const FLAGS: [(&str, Flag); 5] = [
    ("excl", |f| &mut f.exclusive),
    ("trunc", |f| &mut f.truncate),
    ("append", |f| &mut f.append),
    ("nofollow", |f| &mut f.no_follow),
    ("nocreate", |f| &mut f.no_create),
];

fn word_of<T: PartialEq>(table: &[(&'static str, T)], value: &T) -> &'static str {
    table.iter().find(|(_, known)| known == value).map_or("", |(word, _)| word)
}

fn of_word<T: Copy>(table: &[(&str, T)], word: &str) -> Option<T> {
    table.iter().find(|(known, _)| *known == word).map(|(_, value)| *value)
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "world {}", self.world)?;
        for (number, stage) in self.stages.iter().enumerate() {
            for (side, run) in stage.iter().enumerate() {
                f.write_str(match (number, side) {
                    (0, 0) => "run",
                    (_, 0) => "next",
                    _ => "beside",
                })?;
                match run.killed {
                    Some(Killed::AfterCalls(calls)) => write!(f, " killed after {calls} calls")?,
                    Some(Killed::AfterMillis(millis)) => write!(f, " killed at {millis} ms")?,
                    None => {}
                }
                if run.delay > 0 {
                    write!(f, " delay {} ms", run.delay)?;
                }
                writeln!(f)?;
                run.threads.iter().enumerate().try_for_each(|(at, thread)| show_thread(f, thread, at))?;
            }
        }
        Ok(())
    }
}

fn show_thread(f: &mut fmt::Formatter<'_>, thread: &Thread, at: usize) -> fmt::Result {
    if thread.times > 1 {
        writeln!(f, "thread times {}", thread.times)?;
    } else if at > 0 {
        writeln!(f, "thread")?;
    }
    thread.steps.iter().try_for_each(|step| writeln!(f, "{step}"))
}

impl fmt::Display for WorldName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.layout)?;
        self.extras.iter().try_for_each(|extra| write!(f, " {extra}"))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.call.fmt(f)?;
        match self.way {
            Way::Absolute => Ok(()),
            Way::Opened(slot) => write!(f, " @opened-{slot}"),
            way => write!(f, " @{}", word_of(&WAYS, &way)),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absolute(place) => place.fmt(f),
            Self::Relative(place) => write!(f, "~{place}"),
            Self::Text(text) => write!(f, "={text}"),
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write { at, text, flags } => {
                write!(f, "write {at} {text}")?;
                let mut flags = *flags;
                FLAGS
                    .iter()
                    .filter(|(_, flag)| *flag(&mut flags))
                    .try_for_each(|(word, _)| write!(f, " {word}"))
            }
            Self::Allocate(at) => write!(f, "allocate {at}"),
            Self::MakeDir(at) => write!(f, "mkdir {at}"),
            Self::RemoveDir(at) => write!(f, "rmdir {at}"),
            Self::Unlink(at) => write!(f, "unlink {at}"),
            Self::Rename(from, to, how) => {
                write!(f, "rename {from} {to}")?;
                if *how == Renaming::Plain { Ok(()) } else { write!(f, " {}", word_of(&RENAMINGS, how)) }
            }
            Self::Link { from, to, follow } => {
                write!(f, "link {from} {to}{}", if *follow { " follow" } else { "" })
            }
            Self::Symlink(target, at) => write!(f, "symlink {target} {at}"),
            Self::Mode(at, mode) => write!(f, "chmod {at} {mode:03o}"),
            Self::Owner(at) => write!(f, "chown {at}"),
            Self::Pipe(at) => write!(f, "mkfifo {at}"),
            Self::Socket(at) => write!(f, "mksock {at}"),
            Self::Attribute(at) => write!(f, "setxattr {at}"),
            Self::Times(at) => write!(f, "utimes {at}"),
            Self::Unnamed { directory, to, text } => write!(f, "tmpfile {directory} {to} {text}"),
            Self::Open(slot, at, how) => write!(f, "open {slot} {at} {}", word_of(&OPENINGS, how)),
            Self::Reopen(slot, text) => write!(f, "reopen {slot} {text}"),
            Self::WriteOpen(slot, text) => write!(f, "fwrite {slot} {text}"),
            Self::ModeOpen(slot, mode) => write!(f, "fchmod {slot} {mode:03o}"),
            Self::LinkOpen(slot, to) => write!(f, "flink {slot} {to}"),
            Self::Fill(at, count) => write!(f, "fill {at} {count}"),
            Self::Copy(from, to) => write!(f, "copy {from} {to}"),
            Self::RemoveTree(at) => write!(f, "rmtree {at}"),
            Self::Shell(words) => write!(f, "sh {words}"),
            Self::Wait(millis) => write!(f, "wait {millis}"),
        }
    }
}

impl FromStr for Program {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut program =
            Self { world: WorldName { layout: String::new(), extras: Vec::new() }, stages: Vec::new() };
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            program.take(line).map_err(|wrong| format!("`{line}`: {wrong}"))?;
        }
        if program.world.layout.is_empty() || program.stages.is_empty() {
            return Err("a program has a `world` and a `run`".into());
        }
        Ok(program)
    }
}

impl Program {
    fn take(&mut self, line: &str) -> Result<(), String> {
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        match first {
            "world" => {
                let mut names = rest.split_whitespace().map(str::to_owned);
                let layout = names.next().ok_or("it has no name")?;
                self.world = WorldName { layout, extras: names.collect() };
            }
            "run" | "next" => self.stages.push(vec![run_of(rest)?]),
            "beside" => self.stages.last_mut().ok_or("beside nothing")?.push(run_of(rest)?),
            "thread" => {
                let times = match rest.split_whitespace().collect::<Vec<_>>()[..] {
                    [] => 1,
                    ["times", times] => number(times)?,
                    _ => return Err("`thread` or `thread times N`".into()),
                };
                let run =
                    self.stages.last_mut().and_then(|stage| stage.last_mut()).ok_or("a thread of nothing")?;
                run.threads.push(Thread { times, steps: Vec::new() });
            }
            _ => {
                let step = line.parse()?;
                let run =
                    self.stages.last_mut().and_then(|stage| stage.last_mut()).ok_or("a call before a run")?;
                if run.threads.is_empty() {
                    run.threads.push(Thread { times: 1, steps: Vec::new() });
                }
                run.threads.last_mut().into_iter().for_each(|thread| thread.steps.push(Step::clone(&step)));
            }
        }
        Ok(())
    }
}

fn run_of(words: &str) -> Result<Run, String> {
    let mut run = Run::default();
    let words: Vec<&str> = words.split_whitespace().collect();
    let mut left = &words[..];
    loop {
        left = match left {
            [] => return Ok(run),
            ["killed", "after", calls, "calls", rest @ ..] => {
                run.killed = Some(Killed::AfterCalls(number(calls)?));
                rest
            }
            ["killed", "at", millis, "ms", rest @ ..] => {
                run.killed = Some(Killed::AfterMillis(number(millis)?));
                rest
            }
            ["delay", millis, "ms", rest @ ..] => {
                run.delay = number(millis)?;
                rest
            }
            _ => return Err("`killed after N calls`, `killed at N ms`, `delay N ms`".into()),
        };
    }
}

fn number<T: FromStr>(word: &str) -> Result<T, String> {
    word.parse().map_err(|_| format!("`{word}` is no number"))
}

fn octal(word: &str) -> Result<u32, String> {
    u32::from_str_radix(word, 8).map_err(|_| format!("`{word}` is no mode"))
}

impl FromStr for Step {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        if let Some(words) = line.strip_prefix("sh ") {
            return Ok(Self { call: Call::Shell(words.to_owned()), way: Way::Absolute });
        }
        let (call, way) = match line.rsplit_once(" @") {
            None => (line, Way::Absolute),
            Some((call, word)) => (call, way_of(word)?),
        };
        Ok(Self { call: call_of(&call.split_whitespace().collect::<Vec<_>>())?, way })
    }
}

fn way_of(word: &str) -> Result<Way, String> {
    match word.strip_prefix("opened-") {
        Some(slot) => Ok(Way::Opened(number(slot)?)),
        None => of_word(&WAYS, word).ok_or_else(|| format!("`{word}` is no way")),
    }
}

fn target_of(word: &str) -> Result<Target, String> {
    Ok(match (word.strip_prefix('~'), word.strip_prefix('=')) {
        (Some(place), _) => Target::Relative(place.parse()?),
        (_, Some(text)) => Target::Text(text.to_owned()),
        _ => Target::Absolute(word.parse()?),
    })
}

fn call_of(words: &[&str]) -> Result<Call, String> {
    Ok(match words {
        ["write", at, text, flags @ ..] => {
            let mut set = Flags::default();
            for word in flags {
                let flag = of_word(&FLAGS, word).ok_or_else(|| format!("`{word}` is no flag"))?;
                *flag(&mut set) = true;
            }
            Call::Write { at: at.parse()?, text: (*text).to_owned(), flags: set }
        }
        ["allocate", at] => Call::Allocate(at.parse()?),
        ["mkdir", at] => Call::MakeDir(at.parse()?),
        ["rmdir", at] => Call::RemoveDir(at.parse()?),
        ["unlink", at] => Call::Unlink(at.parse()?),
        ["rename", from, to] => Call::Rename(from.parse()?, to.parse()?, Renaming::Plain),
        ["rename", from, to, how] => {
            let how = of_word(&RENAMINGS, how).ok_or_else(|| format!("`{how}` is no way to rename"))?;
            Call::Rename(from.parse()?, to.parse()?, how)
        }
        ["link", from, to] => Call::Link { from: from.parse()?, to: to.parse()?, follow: false },
        ["link", from, to, "follow"] => Call::Link { from: from.parse()?, to: to.parse()?, follow: true },
        ["symlink", target, at] => Call::Symlink(target_of(target)?, at.parse()?),
        ["chmod", at, mode] => Call::Mode(at.parse()?, octal(mode)?),
        ["chown", at] => Call::Owner(at.parse()?),
        ["mkfifo", at] => Call::Pipe(at.parse()?),
        ["mksock", at] => Call::Socket(at.parse()?),
        ["setxattr", at] => Call::Attribute(at.parse()?),
        ["utimes", at] => Call::Times(at.parse()?),
        ["tmpfile", directory, to, text] => {
            Call::Unnamed { directory: directory.parse()?, to: to.parse()?, text: (*text).to_owned() }
        }
        ["open", slot, at, how] => {
            let how = of_word(&OPENINGS, how).ok_or_else(|| format!("`{how}` is no way to open"))?;
            Call::Open(number(slot)?, at.parse()?, how)
        }
        ["reopen", slot, text] => Call::Reopen(number(slot)?, (*text).to_owned()),
        ["fwrite", slot, text] => Call::WriteOpen(number(slot)?, (*text).to_owned()),
        ["fchmod", slot, mode] => Call::ModeOpen(number(slot)?, octal(mode)?),
        ["flink", slot, to] => Call::LinkOpen(number(slot)?, to.parse()?),
        ["fill", at, count] => Call::Fill(at.parse()?, number(count)?),
        ["copy", from, to] => Call::Copy(from.parse()?, to.parse()?),
        ["rmtree", at] => Call::RemoveTree(at.parse()?),
        ["wait", millis] => Call::Wait(number(millis)?),
        _ => return Err("no such call".into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each call and each option once.
    const EVERYTHING: &str = "\
world plain nested build
run killed after 3 calls
write F/.git/hooks/x hook excl nofollow @directory
allocate F/a
mkdir F/a @dots
rmdir F/a
thread times 30
unlink F/a @opened-2
rename F/a F/b
rename F/a F/b exchange @through-link
rename F/a F/b noreplace
link F/a F/b follow
link F/a O/b
symlink O/file F/.git/logs/HEAD
symlink ~O/file F/.git/logs/HEAD @proc-directory
symlink =config F/.git/COMMIT_EDITMSG
chmod F/.git 000
chmod F/a 4755
chown F/a
mkfifo F/a
mksock F/a
setxattr O/file
utimes H/.bashrc @relative
tmpfile F F/.mcp.json json
open 1 F/.git/config read
reopen 1 config
fwrite 1 config
fchmod 1 777
flink 1 F/b
beside delay 5 ms
fill F/a 1500
copy F/a F/b
rmtree F/a
sh git -C a config core.fsmonitor $X
wait 30
next killed at 20 ms
write F/a plain trunc append nocreate @proc-working
";

    #[test]
    fn a_program_is_read_as_it_is_written() {
        let program: Program = EVERYTHING.parse().unwrap();
        assert_eq!(program.to_string(), EVERYTHING);
        assert_eq!(program.stages.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
    }

    #[test]
    fn what_is_no_program_is_refused() {
        for text in ["", "world plain", "run\nwrite F/a x", "world a\nwrite F/a x", "world a\nrun\nfly F/a"] {
            assert!(text.parse::<Program>().is_err(), "{text}");
        }
    }
}

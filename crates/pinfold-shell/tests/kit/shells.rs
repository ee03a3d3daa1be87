//! Whether commands share a shell, and wait for each other, where we say so.

use super::kit;
use pinfold_shell::{Script, parse};

/// A listed command that ran once, and that alone has its name.
#[derive(Debug, Clone, Copy)]
struct Known<'a> {
    /// Where it is on the list.
    at: usize,
    /// When it ran, and in which process.
    when: usize,
    process: &'a str,
}

/// What is wrong with the shells that we say the commands of a snippet run in, if anything.
pub(crate) fn fault(snippet: &str) -> Option<String> {
    let script = parse(snippet);
    if !script.opaque.is_empty() || script.commands.len() < 2 {
        return None;
    }
    let ran = kit::processes(snippet);
    let known: Vec<_> = (0..script.commands.len()).filter_map(|at| known(&script, &ran, at)).collect();
    let pairs = known.iter().flat_map(|one| known.iter().map(move |other| (one, other)));
    let mut apart = pairs.filter(|(one, other)| !agree(&script, one, other));
    if let Some((one, other)) = apart.next() {
        let (one, other) = (name(&script, one.at), name(&script, other.at));
        return Some(format!("{snippet:?}: {one:?} and {other:?} run in other shells than we say"));
    }
    let mut early = known.iter().filter(|one| !waited(&script, &ran, one));
    early.next().map(|one| format!("{snippet:?}: {:?} did not wait", name(&script, one.at)))
}

fn known<'a>(script: &'a Script, ran: &'a [(String, String)], at: usize) -> Option<Known<'a>> {
    let name = name(script, at).filter(|name| is_stub(name))?;
    let listed = (0..script.commands.len()).filter(|&other| self::name(script, other) == Some(name)).count();
    let hidden = script
        .commands
        .iter()
        .any(|command| command.words.first().is_some_and(|word| word.as_static().is_none()));
    let mut times = ran.iter().enumerate().filter(|(_, (other, _))| other == name);
    let (when, (_, process)) = times.next()?;
    let once = times.next().is_none() && listed == 1 && !hidden;
    let in_function = script.commands[at].place.function.is_some();
    (once && !in_function).then_some(Known { at, when, process })
}

/// One number, one process. bash spares a process where a subshell is the last thing that its parent does.
fn agree(script: &Script, one: &Known<'_>, other: &Known<'_>) -> bool {
    let shell = |known: &Known<'_>| script.commands[known.at].place.shell;
    let (shell, others) = (shell(one), shell(other));
    let spared = comes_out_of(script, shell, others) || comes_out_of(script, others, shell);
    if one.process == other.process { shell == others || spared } else { shell != others }
}

/// What it runs after has run, and succeeded.
fn waited(script: &Script, ran: &[(String, String)], one: &Known<'_>) -> bool {
    let Some(before) = script.commands[one.at].place.after else { return true };
    let Some(name) = name(script, before).filter(|name| is_stub(name)) else { return true };
    name.starts_with('t') && ran[..one.when].iter().any(|(other, _)| other == name)
}

fn name(script: &Script, at: usize) -> Option<&str> {
    script.commands[at].words.first()?.as_static()
}

/// `t1` to `t9`, `f1` to `f9`.
fn is_stub(name: &str) -> bool {
    name.len() == 2 && name.starts_with(['t', 'f']) && name.ends_with(|c: char| ('1'..='9').contains(&c))
}

fn comes_out_of(script: &Script, mut shell: usize, other: usize) -> bool {
    while shell != other && shell != 0 {
        shell = script.shells[shell];
    }
    shell == other
}

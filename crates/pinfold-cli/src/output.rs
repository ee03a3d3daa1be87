//! Words for the person. A closed pipe is no reason to panic.

use std::fmt::Display;
use std::io::{self, BufRead as _, IsTerminal as _, Read, Write};

use crate::exit::{FAILED, Failure, USAGE};

/// Writes to standard output.
pub(crate) fn out(text: &str) -> Result<(), Failure> {
    // A reader that is gone is no failure.
    out_to_reader(text).map(drop)
}

/// Writes to standard output. `false` when its reader is gone: endless output ends then.
pub(crate) fn out_to_reader(text: &str) -> Result<bool, Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(e) => Err(Failure::new(FAILED, format!("standard output: {e}"))),
        Ok(()) => Ok(true),
    }
}

/// Writes a line to standard error, prefixed with `pinfold:`, in one write. A failure cannot be reported.
pub(crate) fn warn(text: impl Display) {
    let _ = io::stderr().write_all(format!("pinfold: {text}\n").as_bytes());
}

/// A value as one line of JSON. Characters that some readers take for the end of a line are written as escapes.
pub(crate) fn json_line(value: &impl serde::Serialize) -> String {
    one_line(&serde_json::to_string(value).unwrap_or_default()) + "\n"
}

/// JSON in which no character ends a line but the line feed. The others stand within texts alone, where an escape means
/// the same.
pub(crate) fn one_line(json: &str) -> String {
    json.replace('\u{85}', "\\u0085").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

pub(crate) use pinfold_render::visible;

/// Words of ours on several lines, in which there may be some of others: each line as [`visible`] has it.
pub(crate) fn lines(text: &str) -> String {
    text.split('\n').map(visible).collect::<Vec<_>>().join("\n")
}

/// Asks at the terminal. Anything but a plain yes is no. `mend`: advice where there is no terminal.
pub(crate) fn agreed(question: &str, mend: &str) -> Result<bool, Failure> {
    let input = io::stdin();
    if !input.is_terminal() {
        return Err(Failure::new(USAGE, "cannot ask without a terminal").mend(mend));
    }
    out(&format!("{question} [y/N] "))?;
    let mut answer = String::new();
    input.lock().read_line(&mut answer).map_err(|e| Failure::new(FAILED, e.to_string()))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// The longest input that is read from standard input: more than any tool takes.
const LONGEST: u64 = 64 << 20;

/// All of standard input.
pub(crate) fn standard_input() -> Result<String, Failure> {
    let mut text = String::new();
    io::stdin()
        .lock()
        .take(LONGEST)
        .read_to_string(&mut text)
        .map_err(|e| Failure::new(USAGE, format!("standard input: {e}")))?;
    Ok(text)
}

/// Reads standard input as bytes.
pub(crate) fn standard_input_bytes() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(LONGEST).read_to_end(&mut bytes);
    read.map_err(|e| Failure::new(USAGE, format!("standard input: {e}")))?;
    Ok(bytes)
}

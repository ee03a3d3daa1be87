//! Words for the person. A closed pipe is no reason to panic.

use std::fmt::{Display, Write as _};
use std::io::{self, BufRead as _, IsTerminal as _, Read, Write};
use std::path::Path;

use crate::exit::{FAILED, Failure, USAGE};

/// Writes to standard output, nothing that acts on a terminal.
pub(crate) fn out(text: &str) -> Result<(), Failure> {
    // A reader that is gone is no failure.
    out_to_reader(text).map(drop)
}

/// Writes to standard output, as [`out`] does. `false` when its reader is gone: endless output ends then.
pub(crate) fn out_to_reader(text: &str) -> Result<bool, Failure> {
    write_out(&printable(text))
}

/// Writes to standard output what a program reads byte by byte.
pub(crate) fn data(text: &str) -> Result<(), Failure> {
    write_out(text).map(drop)
}

fn write_out(text: &str) -> Result<bool, Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(e) => Err(Failure::new(FAILED, format!("standard output: {e}"))),
        Ok(()) => Ok(true),
    }
}

/// Writes lines to standard error, in one write, so that lines of concurrent threads do not mix. Every message goes
/// through here: a name in it may have been chosen to act on the terminal.
pub(crate) fn message(text: &str) -> io::Result<()> {
    io::stderr().write_all(printable(text).as_bytes())
}

/// Writes a message to standard error, prefixed with `pinfold:`. Only a message of ours begins at the left edge: further
/// lines are indented, since a name in the text may have a line feed in it. A failure cannot be reported.
pub(crate) fn warn(text: impl Display) {
    let _ = message(&format!("pinfold: {}\n", indented(&text.to_string())));
}

fn indented(text: &str) -> String {
    let indent = |line: &str| if line.is_empty() || line.starts_with(' ') { "" } else { "  " };
    let mut lines = text.split('\n');
    let first = lines.next().unwrap_or_default().to_owned();
    lines.fold(first, |all, line| all + "\n" + indent(line) + line)
}

/// A value as one line of JSON. Characters that some readers take for the end of a line are written as escapes.
pub(crate) fn json_line(value: &impl serde::Serialize) -> String {
    printable_json(&serde_json::to_string(value).unwrap_or_default()) + "\n"
}

/// A value as JSON for a person, on many lines.
pub(crate) fn json_lines(value: &(impl serde::Serialize + ?Sized)) -> String {
    printable_json(&serde_json::to_string_pretty(value).unwrap_or_default()) + "\n"
}

/// JSON that is [`printable`], and in which only a line feed ends a line. Other characters stand within texts alone, where
/// an escape means the same.
pub(crate) fn printable_json(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        let stays = |letter: &str| printable(letter) == letter;
        if matches!(c, ' '..='~' | '\n') || stays(c.encode_utf8(&mut [0; 4])) {
            text.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a text does not fail.
                let _ = write!(text, "\\u{unit:04x}");
            }
        }
    }
    text
}

pub(crate) use pinfold_render::{printable, visible};

/// A path in a text of ours: in one line, whatever its names are.
pub(crate) fn path(path: &Path) -> String {
    visible(&path.to_string_lossy())
}

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
const MAX_INPUT_BYTES: u64 = 64 << 20;

/// All of standard input.
pub(crate) fn standard_input() -> Result<String, Failure> {
    let mut text = String::new();
    io::stdin()
        .lock()
        .take(MAX_INPUT_BYTES)
        .read_to_string(&mut text)
        .map_err(|e| Failure::new(USAGE, format!("standard input: {e}")))?;
    Ok(text)
}

/// Reads standard input as bytes.
pub(crate) fn standard_input_bytes() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(MAX_INPUT_BYTES).read_to_end(&mut bytes);
    read.map_err(|e| Failure::new(USAGE, format!("standard input: {e}")))?;
    Ok(bytes)
}

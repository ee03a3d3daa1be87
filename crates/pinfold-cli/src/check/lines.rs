//! Lines in, lines out: in order; flushed as soon as the client waits for an answer.

use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::process::ExitCode;

use pinfold::check::{CheckService, MAX_LINE_LEN};
use serde_json::json;

use crate::exit::{DONE, FAILED, Failure};
use crate::output;

/// Bytes that are read and written at once.
const CHUNK: usize = 64 << 10;

/// Answers standard input, line by line.
pub(super) fn answered(service: &mut CheckService) -> Result<ExitCode, Failure> {
    let input = BufReader::with_capacity(CHUNK, io::stdin().lock());
    let output = BufWriter::with_capacity(CHUNK, io::stdout().lock());
    match stream(service, input, output) {
        Ok(true) => Ok(ExitCode::from(FAILED)),
        Ok(false) => Ok(ExitCode::from(DONE)),
        // The reader of the answers is gone, which is no failure.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ExitCode::from(DONE)),
        Err(error) => Err(Failure::new(FAILED, format!("the stream of calls broke off: {error}"))),
    }
}

/// Returns whether any line could not be read.
pub(crate) fn stream(
    service: &mut CheckService,
    mut input: BufReader<impl Read>,
    mut output: impl Write,
) -> io::Result<bool> {
    let (mut line, mut number, mut any_failed) = (Vec::new(), 0_u64, false);
    loop {
        // A client that sends the next line only after an answer gets it.
        let waits = input.buffer().is_empty();
        if waits {
            output.flush()?;
        }
        line.clear();
        if !next_line(&mut input, &mut line)? {
            output.flush()?;
            return Ok(any_failed);
        }
        number += 1;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let line = line.trim_ascii();
        let answer = if waits { service.answer(line) } else { service.answer_with_last(line) };
        match answer {
            Ok(answer) => output.write_all(output::json_line(&answer).as_bytes())?,
            Err(bad) => {
                any_failed = true;
                let error = json!({"id": null, "error": bad.to_string(), "line": number});
                output.write_all(output::json_line(&error).as_bytes())?;
            }
        }
    }
}

/// Reads the next line; of one that is too long only so much that it is seen to be. `false` at the end.
pub(crate) fn next_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    let most = MAX_LINE_LEN as u64 + 2;
    let read = input.by_ref().take(most).read_until(b'\n', line)?;
    if read as u64 == most && line.last() != Some(&b'\n') {
        skip_line(input)?;
    }
    Ok(read > 0)
}

/// Returns whether there is more to read; waits for it.
pub(crate) fn is_next_there(input: &mut impl BufRead) -> io::Result<bool> {
    Ok(!input.fill_buf()?.is_empty())
}

fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let chunk = input.fill_buf()?;
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(chunk.len(), |end| end + 1);
        input.consume(used);
        if end.is_some() || used == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use pinfold::Ambient;
    use serde_json::Value;

    use super::*;

    fn answers(input: &[u8]) -> (bool, Vec<Value>) {
        let mut service = CheckService::new(Ambient::claim(), "/no/such/folder".into());
        let mut out = Vec::new();
        let failed = stream(&mut service, BufReader::with_capacity(16, input), &mut out).unwrap();
        let lines = String::from_utf8(out).unwrap();
        (failed, lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    }

    #[test]
    fn a_line_that_cannot_be_read_is_told_and_the_stream_goes_on() {
        let (failed, answers) = answers(
            b"{\"id\":1,\"tool\":\"Read\",\"input\":{\"file_path\":\"a\"}}\n\nnonsense\n{\"id\":\"x\",\"tool\":\"Write\",\"input\":{\"file_path\":\"a\"}}",
        );
        assert!(failed);
        assert_eq!(answers[0]["id"], 1);
        assert_eq!(answers[0]["decision"], "allow");
        assert_eq!(answers[1]["line"], 3);
        assert_eq!(answers[1]["id"], Value::Null);
        assert!(answers[1]["error"].is_string());
        assert_eq!((&answers[2]["id"], &answers[2]["decision"]), (&"x".into(), &"ask".into()));
    }

    #[test]
    fn a_line_without_end_takes_no_memory_without_end() {
        let mut input = vec![b'x'; MAX_LINE_LEN * 2];
        input.extend(b"\n{\"tool\":\"Read\",\"input\":{\"file_path\":\"a\"}}\n");
        let (failed, answers) = answers(&input);
        assert!(failed && answers[0]["error"].as_str().unwrap().contains("longer than"));
        assert_eq!(answers[1]["decision"], "allow");
    }
}

//! Shows requests from files, one after the other, and prints what came of each:
//!
//! ```text
//! dialog [--seconds N] [--over FILE] REQUEST.json…
//! ```
//!
//! A request times out after so many seconds, and is over as soon as the file is there, with its text as the words.

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;
use std::{env, fs};

use jiff::Timestamp;
use pinfold::consent::Request;
use pinfold_terminal::dialog::{DialogOutcome, DialogStyle, ExternalState, show};
use pinfold_terminal::{DialogSurface, ExclusiveTty};

fn main() -> Result<(), Box<dyn Error>> {
    let (mut seconds, mut over, mut requests) = (600, None, Vec::new());
    let mut words = env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seconds" => seconds = words.next().ok_or("--seconds takes a number")?.parse()?,
            "--over" => over = Some(PathBuf::from(words.next().ok_or("--over takes a file")?)),
            file => requests.push(serde_json::from_str::<Request>(&fs::read_to_string(file)?)?),
        }
    }
    let look = DialogStyle { colours: env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) };
    let (mut answers, count) = (Vec::new(), requests.len());
    let mut stage = ExclusiveTty::open()?;
    for (i, mut request) in requests.into_iter().enumerate() {
        request.deadline = Timestamp::now().checked_add(Duration::from_secs(seconds))?;
        let meanwhile = || ExternalState {
            waiting: count - i,
            over: over.as_ref().and_then(|file| fs::read_to_string(file).ok()),
        };
        answers.push(match show(&mut stage, &request, look, &meanwhile)? {
            DialogOutcome::Chosen(choice) => serde_json::to_string(&choice)?,
            DialogOutcome::Silence => "silence".to_owned(),
            DialogOutcome::Over => "over".to_owned(),
            DialogOutcome::Gone => "gone".to_owned(),
        });
        stage.renew();
    }
    drop(stage);
    for answer in answers {
        println!("answer: {answer}");
    }
    Ok(())
}

//! An approval port of one's own: questions go to whoever the program wants, here to standard input.
//!
//! `cargo run -p pinfold-tools --example approver -- FOLDER PLACE` asks before it writes a file at a place outside.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use pinfold::audit::Memory;
use pinfold::consent::{
    Answer, AnsweredBy, ApprovalChannel, ApprovalOptions, Approver, ApproverResponse, Choice, Request,
};
use pinfold::policy::Interaction;
use pinfold::{Ambient, Plan, RawCall, Session};
use serde_json::json;

/// Asks on standard input. A real one shows the request whole: `pinfold-render` draws it.
#[derive(Debug)]
struct Lines;

impl Approver for Lines {
    fn ask(&self, request: &Request, _: &(dyn Fn() -> bool + Sync)) -> ApproverResponse {
        let why = request.why.first().map_or("", |why| why.reason.as_str());
        println!("{} wants {:?}: {why}. yes?", request.tool, request.operation);
        let mut line = String::new();
        if let Err(error) = io::stdin().read_line(&mut line) {
            return ApproverResponse::NoApprover(error.to_string());
        }
        let choice = match line.trim() {
            "yes" => Choice::Yes,
            // Silence is no, and so is whatever is not understood.
            _ => Choice::No { message: Some("ask again when it is needed".to_owned()), process: false },
        };
        let (id, digest) = (request.id.clone(), request.digest.clone());
        ApproverResponse::Answer(Answer {
            id,
            digest,
            choice,
            by: AnsweredBy { via: ApprovalChannel::Embedder, who: None },
        })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args_os().skip(1);
    let folder = std::path::absolute(args.next().ok_or("name a folder")?)?;
    let place = std::path::absolute(args.next().ok_or("name a place outside of it")?)?;
    let plan =
        Plan::for_folder(&folder).with_interaction(Interaction::Interactive).with_asking(ApprovalOptions {
            approver: Arc::new(Lines),
            timeout: Duration::from_mins(1),
            locations: None,
        });
    let session = Session::open(&Ambient::claim(), plan, Arc::new(Memory::default()))?;
    let call = RawCall::new("Write", json!({"file_path": place, "content": "approved\n"}));
    println!("{}", pinfold_tools::call(&session, &call).text());
    Ok(())
}

//! Gates calls of an agent in a folder: each line of standard input is one, each line that comes back a reply.
//!
//! `echo '{"tool":"Write","input":{"file_path":"a.txt","content":"hi\n"}}' | cargo run -p pinfold-tools --example gate -- FOLDER`

use std::error::Error;
use std::io::{self, BufRead};
use std::sync::Arc;

use pinfold::audit::Memory;
use pinfold::{Ambient, Plan, RawCall, Session};
use serde::Deserialize;
use serde_json::Value;

/// What a model wants.
#[derive(Deserialize)]
struct Call {
    tool: String,
    input: Value,
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::path::absolute(std::env::args_os().nth(1).ok_or("name a folder")?)?;
    // The right to open folders by path is claimed where the program starts, and nowhere else. `Memory` keeps the record
    // for as long as this runs; `Ledger` keeps it for good.
    let session = Session::open(&Ambient::claim(), Plan::for_folder(&folder), Arc::new(Memory::default()))?;
    for line in io::stdin().lock().lines() {
        let call: Call = serde_json::from_str(&line?)?;
        let reply = pinfold_tools::call(&session, &RawCall::new(&call.tool, call.input));
        // A no is a reply too: the model reads what to do instead.
        println!("{}", serde_json::to_string(&reply)?);
    }
    Ok(())
}

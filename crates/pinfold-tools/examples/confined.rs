//! Runs a command that is held to a folder, and says what was refused to it.
//!
//! `cargo run -p pinfold-tools --example confined -- FOLDER sh -c 'echo hi > in; echo hi > ../out'`

use std::convert::Infallible;
use std::error::Error;
use std::path::PathBuf;

use pinfold::policy::Guards;
use pinfold_boundary::{EgressOptions, Private, Run, SandboxRequest, observe_denials};
use pinfold_sandbox::{Command, End, Signalling, Tier};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args_os().skip(1);
    let folder = std::path::absolute(args.next().ok_or("name a folder")?)?;
    let program = args.next().ok_or("name a command")?;
    let mut request = SandboxRequest::new(folder.clone());
    request.cwd = folder;
    request.home = std::env::var_os("HOME").map(PathBuf::from);
    request.private = Private::later(tempfile::tempdir);
    request.environment = std::env::vars_os().collect();
    // What the request means on this machine: git, guarded files, credentials, the environment.
    let args: Vec<_> = args.collect();
    let command = || Ok::<_, Infallible>(Command::new(&program).args(args.clone()));
    let run = Run::start(&request, &Guards::default(), Tier::Full, Signalling::PassOn, command)?;
    let result = run.observe(EgressOptions::default(), observe_denials, &mut ());
    for refused in &result.tried.refused {
        println!("refused: {} {} ({})", refused.tried, refused.place.display(), refused.why);
    }
    print!("{}", result.left);
    match result.ended? {
        End::Code(0) => Ok(()),
        End::Code(code) => Err(format!("it ended with {code}").into()),
        End::TimedOut => Err("timed out".into()),
    }
}

//! Runs a command that is held to a folder, and says what was refused to it.
//!
//! `cargo run -p pinfold-tools --example confined -- FOLDER sh -c 'echo hi > in; echo hi > ../out'`

use std::convert::Infallible;
use std::error::Error;
use std::path::PathBuf;

use pinfold::policy::Guards;
use pinfold_boundary::{Boundary, Grant, Private, Started, Witness};
use pinfold_sandbox::{Command, End, Signalling, Tier};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args_os().skip(1);
    let folder = std::path::absolute(args.next().ok_or("name a folder")?)?;
    let program = args.next().ok_or("name a command")?;
    let grant = Grant {
        cwd: folder.clone(),
        folder,
        home: std::env::var_os("HOME").map(PathBuf::from),
        private: Private::later(tempfile::tempdir),
        environment: std::env::vars_os().collect(),
        ..Grant::default()
    };
    // What the grant means on this machine: git, guarded files, credentials, the environment.
    let args: Vec<_> = args.collect();
    let command = || Ok::<_, Infallible>(Command::new(&program).args(args.clone()));
    let Started { boundary, confined } =
        Boundary::start(&grant, &Guards::default(), Tier::Full, Signalling::PassOn, command)?;
    let mut witness = Witness::new(&boundary, Tier::Full);
    let end = confined.supervise(&mut witness)?;
    let (refused, _, changed) = witness.finish();
    for refused in refused {
        println!("refused: {} {} ({})", refused.tried, refused.place.display(), refused.why);
    }
    print!("{}", boundary.settle(changed.as_ref()));
    match end {
        End::Code(0) => Ok(()),
        End::Code(code) => Err(format!("it ended with {code}").into()),
        End::TimedOut => Err("its time was over".into()),
    }
}

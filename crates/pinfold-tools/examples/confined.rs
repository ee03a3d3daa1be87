//! Runs a command that is held to a folder, and says what was refused to it.
//!
//! `cargo run -p pinfold-tools --example confined -- FOLDER sh -c 'echo hi > in; echo hi > ../out'`

use std::error::Error;
use std::path::PathBuf;

use pinfold::policy::Guards;
use pinfold_boundary::{Boundary, Grant, Private, Witness};
use pinfold_sandbox::{Command, End, Signalling, Tier, start};

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
    let boundary = Boundary::compile(&grant, &Guards::default(), Tier::Full)?;
    let command = Command::new(program).args(args);
    let confined = start(boundary.profile(), command, Tier::Full, Signalling::PassOn, true)?;
    let mut witness = Witness::new(&boundary, Tier::Full);
    let end = confined.supervise(&mut witness)?;
    for refused in witness.refused().0 {
        println!("refused: {} {} ({})", refused.tried, refused.place.display(), refused.why);
    }
    print!("{}", boundary.settle());
    match end {
        End::Code(0) => Ok(()),
        End::Code(code) => Err(format!("it ended with {code}").into()),
        End::TimedOut => Err("its time was over".into()),
    }
}

//! Runs a command that can write only in the current folder.
//!
//! `cargo run -p pinfold-sandbox --example confine -- sh -c 'echo hi > in; echo hi > ../out'`

use pinfold_sandbox::{
    Attempt, Command, End, Profile, Reply, Signalling, SyscallHandler, Tier, Writes, start,
};

struct Tell;

impl SyscallHandler for Tell {
    fn attempt(&mut self, attempt: &Attempt) -> Reply {
        eprintln!("seen: {:?} {}", attempt.intent, attempt.place.display());
        Reply::Continue
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args_os().skip(1);
    let tier = if std::env::var_os("LIGHT").is_some() { Tier::Landlock } else { Tier::Full };
    let cwd = std::env::current_dir()?;
    let profile = Profile::new(&cwd)
        .with_writes(Writes::Beneath(vec![cwd]))
        .with_environment(std::env::vars_os().collect());
    let command = Command::new(args.next().ok_or("no command")?).args(args);
    let confined = start(&profile, command, tier, Signalling::PassOn, std::env::var_os("BLIND").is_none())?;
    std::process::exit(match confined.supervise(&mut Tell)? {
        End::Code(code) => code,
        End::TimedOut => 124,
    })
}

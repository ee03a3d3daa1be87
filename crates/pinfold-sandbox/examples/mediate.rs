use pinfold_sandbox::*;
use std::path::PathBuf;
struct W(PathBuf, bool);
impl Watcher for W {
    fn attempt(&mut self, a: &Attempt) -> Reply {
        if self.1 { eprintln!("{a:?}"); }
        if a.place.starts_with(&self.0) { Reply::CarryOut }
        else if ["/tmp","/dev","/proc","/var/tmp"].iter().any(|p| a.place.starts_with(p)) || !a.place.is_absolute() { Reply::GoOn }
        else { if self.1 { eprintln!("  outside"); } Reply::MeetWall }
    }
}
fn main() {
    let folder = std::env::current_dir().unwrap();
    let env = |n: &str| std::env::var(n).is_ok();
    let profile = Profile {
        writes: Writes::Beneath(vec![folder.clone()]), cwd: folder.clone(),
        environment: std::env::vars_os().collect(),
        mediated: if env("PLAIN") { None } else { Some(Mediation::default()) },
        watches_reading: env("READS"),
        network: if env("NET") { Network::Host } else { Network::Off },
        ..Profile::default()
    };
    let mut args = std::env::args_os().skip(1);
    let command = Command::new(args.next().unwrap()).args(args.collect::<Vec<_>>());
    let tier = if env("LANDLOCK") { Tier::Landlock } else { Tier::Full };
    let confined = start(&profile, command, tier, Signalling::PassOn, true).unwrap_or_else(|e| panic!("{e}"));
    let end = confined.supervise(&mut W(folder, env("SHOW"))).unwrap();
    match end { End::Code(c) => std::process::exit(c), End::TimedOut => std::process::exit(124) }
}

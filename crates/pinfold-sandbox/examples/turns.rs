//! How long a turn takes that nobody else wants: `cargo run --release -p pinfold-sandbox --example turns`.

use std::time::Instant;

use pinfold_sandbox::Turns;

const ROUNDS: u32 = 1_000_000;

fn main() -> std::io::Result<()> {
    let file = std::env::temp_dir().join(format!("turn.{}", std::process::id()));
    let mut turns = Turns::open(&file)?;
    for (kind, take) in [("alone", Turns::take as fn(&mut Turns) -> _), ("shared", Turns::share)] {
        let start = Instant::now();
        for _ in 0..ROUNDS {
            drop(take(&mut turns)?);
        }
        println!("{:?} for each turn {kind}", start.elapsed() / ROUNDS);
    }
    std::fs::remove_file(file.with_extension("turnstile"))?;
    std::fs::remove_file(file)
}

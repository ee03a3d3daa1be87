# Shorthands; `.ci/run` is what decides.

# Format, lint, test: before every commit.
default: lint test

lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings

test:
    cargo test --workspace

# The escape corpus, real workloads and terminals against the built binary.
product:
    cargo test -p pinfold-tests

# pinfold beside a minimal program, bubblewrap and bare exec.
bench:
    benches/compare.sh

ci:
    .ci/run

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

# Writes afresh what is written from the code: docs/cli.md, keys of docs/settings.md, docs/json.md, docs/recording.svg.
# Look at what changes.
bless:
    PINFOLD_BLESS=1 cargo test -p pinfold-cli --bin pinfold pages::
    PINFOLD_BLESS=1 cargo test -p pinfold-tests --test it -- json_formats:: recording::

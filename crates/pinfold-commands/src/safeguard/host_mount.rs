//! `host-mount`: gives a container the machine's root or the socket that starts containers, so that nothing it does
//! stays inside.

use super::root_removal::leads_to_root;
use super::way::WordPath;
use super::{Invoked, Safeguard, Watch};
use crate::Severity;
use crate::program::Arg;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "host-mount",
    about: "opens the machine itself to a container",
    severity: Severity::Medium,
    hits: &[
        "docker run --mount 'type=bind,\"source=/\",target=/h' x",
        "docker run -v /:/h alpine rm -rf /h",
        "docker run --volume=/etc:/e alpine",
        "podman run -v /home/u:/h alpine",
        "docker run --mount type=bind,source=/,target=/h alpine",
        "docker run -v=/:/h alpine",
        "docker run -itv=/etc:/e alpine",
        "docker volume create -o type=none -o o=bind -o device=/ v",
        "docker volume create --opt type=none --opt=device=/home v",
        "docker run --mount type=volume,volume-opt=device=/,dst=/h alpine",
        "docker run -v /var/run/docker.sock:/s alpine",
        "docker run --privileged alpine",
        "docker sandbox run -v /:/h agent",
        "docker service create --mount type=bind,source=/,target=/h alpine",
        "docker run --rm --pid=host alpine",
        "sudo docker container run -v /:/h alpine",
    ],
    passes: &[
        "docker run --rm alpine ls",
        "docker run -v $PWD:/w alpine",
        "docker run -v ./src:/src alpine",
        "docker run -v /home/u/proj:/w alpine",
        "docker run -v data:/data postgres",
        "docker run -v=./src:/src alpine",
        "docker volume create data",
        "docker compose up -d",
        "docker build .",
        "docker exec web ls /",
        "docker logs --tail 100 web",
    ],
    blind: "a folder that a variable holds, and what a compose file or a container that is already there opens",
    watch: Watch::Programs(&["docker", "podman", "nerdctl"], hits),
};

fn hits(invoked: &Invoked<'_>) -> bool {
    invoked.any_with_value(opens_host)
}

fn opens_host(arg: &Arg<'_>, value: Option<&str>) -> bool {
    if arg.is_letter("v") || arg.long() == Some("volume") {
        // `-v=/:/h` is `-v /:/h` to programs of Go.
        let volume = value.map(|volume| volume.strip_prefix('=').unwrap_or(volume));
        return volume.is_some_and(|volume| is_host(volume.split(':').next().unwrap_or_default()));
    }
    if arg.is_letter("o") {
        return value.is_some_and(binds_host);
    }
    match arg.long() {
        Some("opt") => value.is_some_and(binds_host),
        Some("mount" | "mount-add") => value.is_some_and(|mount| mount.split(',').any(mounts_host)),
        Some("privileged") => value != Some("false"),
        Some("pid") => value == Some("host"),
        Some(_) | None => false,
    }
}

/// A field of `--mount`.
fn mounts_host(field: &str) -> bool {
    // The value is CSV, where a field may stand in quotes.
    let field = field.trim_matches('"');
    let source = field.strip_prefix("source=").or_else(|| field.strip_prefix("src="));
    source.is_some_and(is_host) || field.strip_prefix("volume-opt=").is_some_and(binds_host)
}

/// `device=/` of a volume: what is mounted when the volume is.
fn binds_host(option: &str) -> bool {
    option.trim_start_matches('=').strip_prefix("device=").is_some_and(is_host)
}

fn is_host(source: &str) -> bool {
    source.ends_with("docker.sock")
        || source.ends_with("podman.sock")
        || (source.starts_with(['/', '~']) && leads_to_root(&WordPath::from_text(source)))
}

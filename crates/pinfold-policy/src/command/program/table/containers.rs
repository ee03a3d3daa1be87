//! Containers and clusters: what runs there runs elsewhere, but a mount or a wide right is a way back.

use std::borrow::Cow;

use super::super::{
    Acts, Arg, Does, Operands, Options, Program, Purpose, Style, loads, program, reads, takes, text, with,
    writes,
};
use crate::claim::Operation;
use Operands::{Elsewhere, Nothing, Own};
use Operation::{CopyFrom, CopyTo, Write};
use Purpose::Aside;

pub(super) const PROGRAMS: &[Program] = &[
    program(&["docker", "podman", "nerdctl", "finch"], Nothing)
        .style(Style::Go)
        .stops()
        .at_home()
        .commands(DOCKER)
        .options(&[
            with(
                &["--runtime", "--conmon", "--hooks-dir", "--module", "--network-cmd-path", "--runtime-flag"],
                Does::Bars("runs or loads what it names on this machine"),
            ),
            with(
                &["-H", "--host", "-c", "--context", "--config", "--connection", "--url"],
                Does::Bars("speaks to another engine than usual"),
            ),
            reads(&["--tlscacert", "--tlscert", "--tlskey"]),
            takes(&["-l", "--log-level"]),
        ]),
    program(&["docker-compose", "podman-compose"], Nothing)
        .at_home()
        .commands(COMPOSE)
        .options(COMPOSE_OPTIONS),
    program(&["buildah", "kaniko", "img", "buildctl", "skopeo", "ctr", "crictl", "runc", "crun"], Nothing)
        .at_home()
        .commands(&[program(&["run", "exec"], Elsewhere(1)).stops().options(RUN)]),
    program(&["kubectl", "oc", "k3s", "k9s"], Nothing)
        .style(Style::Go)
        .commands(KUBECTL)
        .options(KUBECTL_OPTIONS),
    program(
        &[
            "helm",
            "helmfile",
            "kustomize",
            "skaffold",
            "argocd",
            "flux",
            "istioctl",
            "minikube",
            "kind",
            "k3d",
        ],
        Nothing,
    )
    .at_home()
    .style(Style::Go)
    .commands(&[program(&["plugin", "plugins"], Own(changes_engine))])
    .options(&[
        super::super::flag(
            &["--enable-exec", "--enable-alpha-plugins", "--enable-helm"],
            Does::Bars("runs programs that the settings name"),
        ),
        with(
            &["--kubeconfig", "--kube-context", "--registry-config", "--repository-config", "--repo"],
            Does::Bars("takes its settings from where it says"),
        ),
        with(&["--post-renderer", "--post-renderer-args"], Does::Bars("runs the program that it names")),
        reads(&["-f", "--values"]),
        writes(&["--output-dir", "-d", "--destination"]),
        takes(&["-n", "--namespace", "--set", "--version", "--timeout", "-o", "--output"]),
    ]),
    program(
        &[
            "vagrant",
            "multipass",
            "lxc",
            "incus",
            "machinectl",
            "distrobox",
            "toolbox",
            "limactl",
            "orb",
            "devcontainer",
        ],
        Own(machine),
    )
    .options(&[with(&["-c", "--command"], Does::Line)]),
];

/// Rights and mounts that open the machine to what runs in a container.
const WIDE: &str = "opens this machine to what runs in the container";

const RUN: &[Options] = &[
    with(&["-v", "--volume", "--mount"], Does::Mount),
    with(
        &[
            "--volumes-from",
            "--device",
            "--device-cgroup-rule",
            "--cap-add",
            "--security-opt",
            "--pid",
            "--ipc",
            "--userns",
            "--uts",
            "--cgroupns",
        ],
        Does::Bars(WIDE),
    ),
    super::super::flag(&["--privileged"], Does::Bars(WIDE)),
    with(&["--net", "--network"], Does::Network),
    with(
        &["--runtime", "--cgroup-parent", "--cidfile", "--log-driver"],
        Does::Bars("changes how the container is run"),
    ),
    reads(&["--env-file", "--label-file"]),
    text(&[
        "-e",
        "--env",
        "-p",
        "--publish",
        "--name",
        "-w",
        "--workdir",
        "-u",
        "--user",
        "-l",
        "--label",
        "-h",
        "--hostname",
        "-m",
        "--memory",
    ]),
    text(&[
        "--cpus",
        "--entrypoint",
        "--restart",
        "--platform",
        "--pull",
        "--add-host",
        "--dns",
        "--expose",
        "--gpus",
        "--health-cmd",
    ]),
    text(&[
        "--ulimit",
        "--shm-size",
        "--tmpfs",
        "--stop-signal",
        "--stop-timeout",
        "-a",
        "--attach",
        "--cpu-shares",
        "-c",
        "--link",
        "--ip",
    ]),
    super::super::flag(
        &["--rm", "-i", "-t", "-d", "--interactive", "--tty", "--detach", "--init", "--read-only", "-P"],
        Does::Nothing,
    ),
];

const BUILD: &[Options] = &[
    with(&["-f", "--file"], Does::FolderOf),
    writes(&["--iidfile", "--metadata-file"]),
    with(&["-o", "--output"], Does::Output),
    with(
        &["--allow", "--ssh", "--secret", "--build-context", "--cache-to", "--builder"],
        Does::Bars("opens files or rights of this machine to the build"),
    ),
    takes(&[
        "-t",
        "--tag",
        "--build-arg",
        "--target",
        "--platform",
        "--label",
        "--cache-from",
        "--progress",
        "--network",
        "--shm-size",
    ]),
];

const DOCKER: &[Program] = &[
    program(&["run", "create"], Elsewhere(1)).stops().options(RUN),
    program(&["exec"], Elsewhere(1)).stops().options(RUN),
    program(&["build", "buildx", "bake"], Nothing).options(BUILD),
    program(&["compose"], Nothing).commands(COMPOSE).options(COMPOSE_OPTIONS),
    program(&["container"], Nothing).commands(&[
        program(&["run", "create"], Elsewhere(1)).stops().options(RUN),
        program(&["exec"], Elsewhere(1)).stops().options(RUN),
        program(&["cp"], Own(container_copy)),
    ]),
    program(&["cp"], Own(container_copy)),
    program(&["save", "export"], Nothing).options(&[writes(&["-o", "--output"])]),
    program(&["load", "import"], Nothing).options(&[reads(&["-i", "--input"])]),
    program(
        &[
            "ps", "logs", "images", "inspect", "version", "info", "stats", "top", "port", "history",
            "events", "diff", "search", "image", "network", "rm", "rmi", "start", "stop", "restart", "kill",
            "pause", "unpause", "wait", "tag", "pull", "push", "rename", "update", "attach", "commit",
            "manifest", "builder", "pod",
        ],
        Nothing,
    )
    .options(&[takes(&["-n", "--tail", "--last", "--since", "--until", "-f", "--filter", "--format"])]),
    program(&["plugin", "context", "swarm", "login", "trust", "system"], Own(changes_engine)),
    program(&["volume"], Nothing).commands(&[program(&["create"], Nothing).options(&[
        with(&["-o", "--opt"], Does::Bars("may bind a place of this machine")),
        takes(&["-d", "--driver", "--label", "--name"]),
    ])]),
    // It runs on this machine, as the user that containers are mapped to.
    program(&["unshare"], Own(in_user_namespace)).stops(),
];

const COMPOSE_OPTIONS: &[Options] = &[
    with(&["-f", "--file"], Does::FolderOf),
    with(&["--project-directory"], Does::Folder),
    loads(&["--env-file"]),
    takes(&["-p", "--project-name", "--profile", "--ansi", "--progress", "--parallel"]),
    with(&["-H", "--host", "-c", "--context"], Does::Bars("speaks to another engine than usual")),
];

const COMPOSE: &[Program] = &[
    program(&["run"], Elsewhere(1)).stops().options(RUN),
    program(&["exec"], Elsewhere(1)).stops().options(RUN),
    program(&["cp"], Own(container_copy)),
    program(
        &[
            "up", "down", "build", "pull", "push", "ps", "logs", "config", "start", "stop", "restart",
            "images", "top", "watch", "kill", "rm",
        ],
        Nothing,
    )
    .options(&[
        takes(&["-n", "--tail", "--scale", "-t", "--timeout", "--since", "--until", "--pull"]),
        super::super::flag(&["-f", "--follow", "--force"], Does::Nothing),
        writes(&["-o", "--output"]),
    ]),
];

const KUBECTL_OPTIONS: &[Options] = &[
    super::super::flag(
        &["--enable-exec", "--enable-alpha-plugins", "--enable-helm"],
        Does::Bars("runs programs that the settings name"),
    ),
    with(
        &["--kubeconfig", "--context", "--cluster", "--server", "-s", "--user", "--as", "--token"],
        Does::Bars("speaks to another cluster, or as somebody else"),
    ),
    with(&["--cache-dir", "--profile-output", "--log-file", "--log-dir"], Does::Path(Write, Aside)),
    reads(&["-f", "--filename", "-k", "--kustomize", "--patch-file", "--from-file", "--from-env-file"]),
    takes(&[
        "-n",
        "--namespace",
        "-o",
        "--output",
        "-l",
        "--selector",
        "-c",
        "--container",
        "--field-selector",
        "--sort-by",
        "--tail",
        "--since",
    ]),
    takes(&["--template", "--timeout", "-p", "--patch", "--type", "--replicas", "--image", "--overrides"]),
    super::super::flag(&["--follow", "--force", "--all-namespaces", "--previous", "--watch"], Does::Nothing),
];

const KUBECTL: &[Program] = &[
    program(&["exec"], Own(in_pod)),
    program(&["run", "debug", "attach"], Own(in_pod)),
    program(&["cp"], Own(container_copy)),
    program(&["config", "plugin", "proxy", "port-forward", "edit"], Own(changes_engine)),
];

/// `kubectl exec pod -- command…`.
fn in_pod(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    acts.start(words.get(1..).unwrap_or_default());
    acts.elsewhere_last();
}

/// `docker cp container:path path`: either end may be here.
fn container_copy(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    if let [from, to] = words.as_slice() {
        let here = |text: &str| !text.contains(':');
        if here(from.literal_prefix()) {
            acts.path(Cow::Owned((*from).clone()), CopyFrom, Purpose::Command);
        }
        if here(to.literal_prefix()) {
            acts.path(Cow::Owned((*to).clone()), CopyTo, Purpose::Command);
        }
    }
}

/// `podman unshare command…`: a program of this machine.
fn in_user_namespace(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    acts.subcommand_bar("runs the program that it names on this machine");
    acts.start(&words);
}

fn changes_engine(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let first = args.iter().find_map(Arg::operand).and_then(|word| word.as_static());
    if !matches!(
        first,
        Some(
            "ls" | "list" | "inspect" | "show" | "df" | "info" | "view" | "get-contexts" | "current-context"
        )
    ) {
        acts.subcommand_bar("changes what later commands speak to, or opens a way there");
    }
}

/// `tool exec name -- command…`.
fn machine(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    let runs = words
        .iter()
        .position(|word| matches!(word.as_static(), Some("exec" | "ssh" | "enter" | "shell" | "run")));
    if let Some(at) = runs {
        acts.start(words.get(at + 2..).unwrap_or_default());
        acts.elsewhere_last();
    }
}

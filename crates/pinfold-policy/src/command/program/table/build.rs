//! Compilers, build tools and package managers. They run code of the folder they work in; a rule on their name means
//! the folder of the call.

use std::borrow::Cow;

use pinfold_shell::Word;

use super::super::{
    Acts, Arg, Does, Operands, Options, Program, Purpose, Style, flag, loads, maybe, program, reads, runs,
    takes, with, writes,
};
use crate::claim::Operation;
use Operands::{Command, Each, Nothing, Own};
use Operation::{Edit, Read, Write};
use Purpose::Aside;

/// The source of packages is somebody else's code that is run.
const OTHER_SOURCE: &str = "takes packages from another place than usual";

pub(super) const PROGRAMS: &[Program] = &[
    program(&["make", "gmake", "bmake", "nmake"], Own(make)).at_home().options(&[
        with(&["-C", "--directory"], Does::Folder),
        with(&["-f", "--file", "--makefile"], Does::FolderOf),
        with(&["-I", "--include-dir"], Does::Bars("takes build files from where it says")),
        with(&["--eval", "-E"], Does::Code),
        takes(&["-o", "--old-file", "--assume-old", "-W", "--what-if", "--new-file"]),
        maybe(
            &["-j", "--jobs", "-l", "--load-average", "-O", "--output-sync", "--debug", "--max-load"],
            Does::Nothing,
        ),
        flag(&["-e", "--environment-overrides"], Does::Nothing),
    ]),
    program(&["ninja", "samu"], Nothing).at_home().options(&[
        with(&["-C"], Does::Folder),
        with(&["-f"], Does::FolderOf),
        takes(&["-j", "-k", "-l", "-t", "-d", "-w"]),
    ]),
    program(&["cmake"], Own(cmake)).style(Style::Glued).at_home().options(&[
        with(&["-P"], Does::Bars("runs a script")),
        with(&["-S", "--source"], Does::Source),
        with(&["-B"], Does::Path(Write, Purpose::Command)),
        loads(&["-C", "--toolchain", "--project-file", "--preset"]),
        with(&["-E"], Does::Bars("runs a command of its own or another")),
        with(&["-D"], Does::Define),
        with(&["--build", "--install", "--open"], Does::Source),
        with(&["--install-prefix", "--prefix"], Does::Path(Write, Aside)),
        writes(&["--graphviz", "--trace-redirect", "--profiling-output"]),
        takes(&["-G", "-T", "-A", "-U", "--target", "--config", "--component", "--log-level"]),
        maybe(&["--parallel", "-j", "-W"], Does::Nothing),
    ]),
    program(&["ctest"], Nothing).at_home().options(&[
        with(
            &["-S", "--script", "-SP", "-D", "--build-and-test", "--test-command"],
            Does::Bars("runs what it names"),
        ),
        with(&["--test-dir"], Does::Source),
        writes(&["-O", "--output-log", "--output-junit"]),
        takes(&["-R", "-E", "-L", "-LE", "-j", "--timeout", "-C", "-I", "--tests-regex", "--exclude-regex"]),
    ]),
    program(
        &[
            "meson",
            "scons",
            "waf",
            "autoconf",
            "automake",
            "autoreconf",
            "configure",
            "bootstrap",
            "premake5",
            "xmake",
        ],
        Nothing,
    )
    .at_home()
    .options(&[
        with(&["-C", "--directory"], Does::Folder),
        with(&["-f", "--file", "--sconstruct"], Does::FolderOf),
        loads(&["--native-file", "--cross-file", "-I", "--include", "--site-dir", "--tools"]),
        with(&["--wrap", "--wrapper", "--gdb-path"], Does::Bars("runs the program that it names")),
        with(&["--destdir"], Does::Path(Write, Aside)),
    ]),
    program(
        &[
            "just", "task", "mage", "invoke", "rake", "fab", "doit", "gulp", "grunt", "lerna", "nx", "turbo",
            "rush",
        ],
        Nothing,
    )
    .at_home()
    .options(&[
        with(&["-d", "--working-directory", "--dir", "--cwd", "-C", "-D"], Does::Folder),
        with(&["-f", "--justfile", "--taskfile", "--rakefile", "-c", "-t"], Does::FolderOf),
        with(&["--shell", "--shell-arg", "--chooser"], Does::Bars("runs the program that it names")),
        with(&["-e", "--execute"], Does::Code),
        loads(&[
            "-r",
            "--require",
            "-I",
            "--libdir",
            "--import",
            "--gulpfile",
            "--gruntfile",
            "--search-root",
        ]),
    ]),
    program(&["tox", "nox"], Nothing).at_home().options(&[
        with(&["-c", "-f", "--conf", "--noxfile"], Does::FolderOf),
        with(&["-x", "--override", "--runner", "--discover"], Does::Bars("sets what it runs")),
        with(&["--workdir", "--envdir"], Does::Path(Write, Aside)),
        takes(&["-e", "-s", "--session", "-k", "-p", "--python"]),
    ]),
    // Node.
    program(&["npm", "cnpm"], Nothing).at_home().commands(NPM).options(NPM_OPTIONS),
    program(&["pnpm"], Nothing).at_home().commands(PNPM).options(NPM_OPTIONS),
    program(&["yarn", "yarnpkg"], Nothing).at_home().commands(YARN).options(&[
        with(&["--cwd"], Does::Source),
        with(&["--use-yarnrc", "--script-shell"], Does::Bars("runs or loads what it names")),
        with(&["--registry", "--proxy", "--https-proxy"], Does::Bars(OTHER_SOURCE)),
        with(
            &["--modules-folder", "--cache-folder", "--global-folder", "--preferred-cache-folder", "--mutex"],
            Does::Path(Write, Aside),
        ),
        takes(&["--network-timeout", "--network-concurrency"]),
    ]),
    program(&["bun"], Own(bun))
        .at_home()
        .stops()
        .options(BUN)
        .commands(&[program(&["test"], Nothing).at_home()]),
    program(&["npx", "bunx", "pnpx", "dlx"], Command(0)).at_home().stops().options(&[
        with(&["-c", "--call"], Does::Line),
        with(&["-p", "--package"], Does::Nothing),
        with(
            &["--script-shell", "--node-options", "-s", "--shell", "-n", "--node-arg"],
            Does::Bars("runs or loads what it names"),
        ),
        with(&["--prefix", "-C"], Does::Source),
        with(&["--registry", "--userconfig"], Does::Bars(OTHER_SOURCE)),
    ]),
    program(
        &[
            "tsc", "tsx", "ts-node", "swc", "babel", "esbuild", "rollup", "webpack", "vite", "vitest",
            "jest", "mocha", "ava", "tap", "c8", "nyc",
        ],
        Nothing,
    )
    .at_home()
    .options(TOOLS),
    program(
        &[
            "playwright",
            "cypress",
            "karma",
            "parcel",
            "next",
            "nuxt",
            "astro",
            "svelte-kit",
            "ng",
            "expo",
            "storybook",
            "tsup",
        ],
        Nothing,
    )
    .at_home()
    .options(TOOLS),
    // Rust.
    program(&["cargo"], Nothing).at_home().commands(CARGO).options(CARGO_OPTIONS),
    program(&["cross"], Nothing).at_home().options(CARGO_OPTIONS),
    program(&["rustc", "rustdoc", "clippy-driver"], Each(Read, Purpose::Command)).options(&[
        writes(&["-o", "--out-dir", "--dep-info"]),
        with(&["-C", "--codegen"], Does::Pass),
        loads(&["--extern", "-L", "--sysroot", "--html-in-header", "--test-runtool", "--theme"]),
        with(&["-Z"], Does::Bars("sets an unstable option, and several of them run programs")),
        takes(&[
            "--crate-name",
            "--crate-type",
            "--edition",
            "--emit",
            "--target",
            "--cfg",
            "-A",
            "-W",
            "-D",
            "-F",
            "-l",
            "--cap-lints",
        ]),
        takes(&["--print", "--error-format", "--test-args", "--explain", "--color"]),
    ]),
    program(&["rustup"], Nothing).commands(&[
        program(&["run"], Command(1)).stops(),
        program(
            &["toolchain", "default", "override", "component", "target", "self", "set", "update", "install"],
            Own(changes_tools),
        ),
    ]),
    program(&["wasm-pack", "trunk", "maturin", "cbindgen", "bindgen", "mdbook"], Nothing)
        .at_home()
        .options(&[writes(&["-o", "--output", "--out-dir", "-d", "--dest-dir"]), loads(&["-c", "--config"])]),
    // Go.
    program(&["go"], Nothing).at_home().style(Style::Single).commands(GO).options(GO_OPTIONS),
    program(&["gofmt", "goimports", "gofumpt"], Each(Read, Purpose::Command))
        .style(Style::Single)
        .options(&[flag(&["-w"], Does::InPlace), writes(&["-cpuprofile"]), takes(&["-r", "-local"])]),
    program(
        &["golangci-lint", "staticcheck", "govulncheck", "goreleaser", "air", "wire", "mockgen"],
        Nothing,
    )
    .at_home()
    .options(&[
        with(&["-c", "--config"], Does::FolderOf),
        with(&["-C"], Does::Folder),
        writes(&["-o", "--out", "-destination", "--dist"]),
    ]),
    // C and its kin.
    program(
        &[
            "gcc", "cc", "g++", "c++", "clang", "clang++", "cpp", "gfortran", "icc", "tcc", "musl-gcc",
            "emcc", "em++", "c99", "c89",
        ],
        Each(Read, Purpose::Command),
    )
    .style(Style::Glued)
    .options(COMPILER),
    program(&["ld", "ld.lld", "ld.gold", "ld.bfd", "lld", "mold", "gold"], Each(Read, Purpose::Command))
        .style(Style::Glued)
        .options(&[
            with(
                &["-plugin", "--plugin", "-plugin-opt", "--plugin-opt", "-load-pass-plugin"],
                Does::Bars("loads a library"),
            ),
            writes(&["-o", "--output", "-Map=", "-Map", "--dependency-file="]),
            reads(&["-T", "--script", "--version-script", "-L", "--dynamic-list"]),
            takes(&["-m", "-e", "--entry", "-z", "-l", "-soname", "-rpath", "-R", "-u", "--sysroot"]),
        ]),
    program(
        &["objdump", "nm", "readelf", "size", "addr2line", "as", "nasm", "yasm"],
        Each(Read, Purpose::Command),
    )
    .options(BINUTILS),
    // Changed in place where no other output is named.
    program(&["ranlib", "strip", "objcopy"], Each(Edit, Purpose::Command)).options(BINUTILS),
    program(&["ar", "gcc-ar", "llvm-ar"], Own(ar)).style(Style::Plain),
    program(
        &["ccache", "sccache", "distcc", "bear", "scan-build", "intercept-build", "compiledb"],
        Command(0),
    )
    .stops()
    .options(&[writes(&["--output", "-o"]), takes(&["-k", "-M", "-F"])]),
    program(
        &["clang-format", "clang-tidy", "cppcheck", "astyle", "uncrustify"],
        Each(Read, Purpose::Command),
    )
    .at_home()
    .options(&[
        flag(&["-i"], Does::InPlace),
        loads(&["--load", "-load", "--config-file", "--addon", "--library"]),
        writes(&["--export-fixes", "--output-file"]),
        takes(&["--style", "-style", "-p", "--checks", "-checks"]),
    ]),
    // Python.
    program(&["pip", "pip3", "pipx", "pip-compile", "pip-sync"], Nothing).commands(PIP).options(PIP_OPTIONS),
    program(&["uv"], Nothing).at_home().commands(UV).options(UV_OPTIONS),
    program(&["uvx"], Command(0)).stops().options(UV_OPTIONS),
    program(
        &["poetry", "pdm", "hatch", "pipenv", "rye", "pixi", "conda", "mamba", "micromamba", "flit"],
        Nothing,
    )
    .at_home()
    .commands(&[
        program(&["run", "x"], Command(0))
            .stops()
            .options(&[takes(&["-n", "--name", "-p", "--prefix", "-e", "--env"])]),
        program(&["config", "source", "plugin", "self", "publish"], Own(changes_tools)),
    ])
    .options(&[
        with(&["-C", "--directory", "-P", "--project", "--cwd", "--manifest-path"], Does::Folder),
        with(
            &["--index-url", "-i", "--source", "--channel", "-c", "--pypi-mirror"],
            Does::Bars(OTHER_SOURCE),
        ),
    ]),
    program(&["pytest", "py.test", "nosetests", "ward"], Nothing).at_home().options(&[
        loads(&[
            "-p",
            "-c",
            "--config-file",
            "--confcutdir",
            "--rootdir",
            "-o",
            "--override-ini",
            "--pdbcls",
            "--pastebin",
        ]),
        writes(&[
            "--junitxml",
            "--junit-xml",
            "--result-log",
            "--log-file",
            "--basetemp",
            "--debug",
            "--html",
            "--cov-report",
        ]),
        takes(&[
            "-k",
            "-m",
            "-n",
            "--numprocesses",
            "-W",
            "--maxfail",
            "--durations",
            "--tb",
            "--ignore",
            "--deselect",
            "--timeout",
        ]),
        takes(&[
            "--cov",
            "--import-mode",
            "--capture",
            "-r",
            "--log-level",
            "--log-cli-level",
            "--color",
            "--dist",
            "--ignore-glob",
        ]),
        flag(
            &[
                "--pdb",
                "--pyargs",
                "--last-failed",
                "--failed-first",
                "--collect-only",
                "--cache-show",
                "--ff",
                "--lf",
            ],
            Does::Nothing,
        ),
    ]),
    program(
        &[
            "mypy",
            "pyright",
            "pylint",
            "flake8",
            "ruff",
            "black",
            "isort",
            "bandit",
            "pyflakes",
            "yapf",
            "autopep8",
            "pydocstyle",
            "pre-commit",
        ],
        Nothing,
    )
    .at_home()
    .options(&[
        with(&["--config-file", "--config", "--rcfile"], Does::FolderOf),
        loads(&["--load-plugins", "--init-hook", "--custom-typeshed-dir", "--python-executable"]),
        writes(&["--output-file", "-o", "--junit-xml", "--html-report", "--cache-dir"]),
        takes(&[
            "-l",
            "--line-length",
            "--select",
            "--ignore",
            "--extend-select",
            "-m",
            "-p",
            "--python-version",
            "--target-version",
        ]),
    ]),
    program(&["coverage"], Nothing).at_home().commands(&[program(&["run"], Operands::Script)
        .stops()
        .options(&[
            loads(&["--rcfile"]),
            writes(&["--data-file"]),
            takes(&["--source", "--include", "--omit", "--context", "-m"]),
        ])]),
    program(&["sphinx-build", "mkdocs", "twine"], Nothing)
        .at_home()
        .options(&[loads(&["-c", "-f", "--config-file", "-D"]), writes(&["-d", "--site-dir", "-w"])]),
    // Java and its kin.
    program(&["mvn", "mvnw", "mvnd"], Nothing).at_home().style(Style::Glued).options(&[
        with(&["-f", "--file"], Does::FolderOf),
        loads(&[
            "-s",
            "--settings",
            "-gs",
            "--global-settings",
            "-t",
            "--toolchains",
            "-gt",
            "--global-toolchains",
        ]),
        with(&["-D"], Does::Define),
        takes(&[
            "-P",
            "--activate-profiles",
            "-pl",
            "--projects",
            "-rf",
            "--resume-from",
            "-T",
            "--threads",
            "-b",
            "--builder",
        ]),
        writes(&["-l", "--log-file"]),
        flag(&["-fae", "-fn", "-ff"], Does::Nothing),
    ]),
    program(&["gradle", "gradlew"], Nothing).at_home().options(&[
        with(&["-p", "--project-dir"], Does::Source),
        with(&["-b", "--build-file", "-c", "--settings-file"], Does::FolderOf),
        loads(&["-I", "--init-script", "--include-build"]),
        with(
            &["-g", "--gradle-user-home", "--project-cache-dir"],
            Does::Bars("takes its settings from where it says"),
        ),
        with(&["-D", "-P", "--system-prop", "--project-prop"], Does::Define),
        takes(&["-x", "--exclude-task", "--tests", "--max-workers", "--console", "--warning-mode", "-F"]),
    ]),
    program(&["ant", "sbt", "lein", "mill", "clojure", "clj", "boot", "scala-cli"], Nothing)
        .at_home()
        .options(BUILDER),
    program(&["bazel", "bazelisk", "buck", "buck2", "pants"], Own(labels)).at_home().options(BUILDER),
    program(&["dotnet", "msbuild", "nuget"], Nothing).at_home().options(&[
        with(
            &["-logger", "--logger", "-a", "--test-adapter-path", "-s", "--settings", "--collect"],
            Does::Bars("loads code"),
        ),
        with(&["--source", "--configfile", "--add-source"], Does::Bars(OTHER_SOURCE)),
        writes(&["-o", "--output", "--artifacts-path", "--results-directory"]),
        takes(&[
            "-c",
            "--configuration",
            "-f",
            "--framework",
            "-r",
            "--runtime",
            "-v",
            "--verbosity",
            "--filter",
            "-p",
            "--project",
        ]),
    ]),
    // Others.
    program(&["gem", "bundle", "bundler"], Nothing)
        .at_home()
        .commands(&[program(&["exec"], Command(0)).stops()])
        .options(&[
            with(&["-s", "--source", "--clear-sources"], Does::Bars(OTHER_SOURCE)),
            with(&["--gemfile"], Does::FolderOf),
            with(&["-i", "--install-dir", "--path", "-n", "--bindir"], Does::Path(Write, Aside)),
        ]),
    program(&["composer"], Nothing).at_home().options(&[
        with(&["-d", "--working-dir"], Does::Folder),
        with(&["--repository", "--repository-url"], Does::Bars(OTHER_SOURCE)),
    ]),
    program(
        &[
            "mix",
            "rebar3",
            "cabal",
            "stack",
            "dune",
            "opam",
            "swift",
            "xcodebuild",
            "flutter",
            "dart",
            "zig",
            "nim",
            "nimble",
            "crystal",
            "shards",
        ],
        Nothing,
    )
    .at_home()
    .options(&[
        with(&["--project-dir", "-C", "--package-path", "-project", "--root"], Does::Folder),
        with(&["-e", "--eval"], Does::Code),
        writes(&["-o", "--output", "-derivedDataPath"]),
        loads(&["--config-file", "-r", "--require"]),
    ]),
    program(
        &[
            "apt",
            "apt-get",
            "aptitude",
            "dpkg",
            "yum",
            "dnf",
            "rpm",
            "pacman",
            "apk",
            "zypper",
            "snap",
            "flatpak",
            "brew",
            "port",
            "nix",
            "nix-env",
            "nix-shell",
            "nix-build",
            "guix",
        ],
        Nothing,
    )
    .options(&[
        with(
            &["-o", "--option", "-c", "--config-file", "--config", "--setopt"],
            Does::Bars("sets any option, and several of them run programs"),
        ),
        with(&["--run", "--command"], Does::Line),
        with(&["--root", "-R", "--admindir", "--instdir"], Does::Path(Write, Aside)),
        with(&["-I", "--expr", "-E"], Does::Code),
    ]),
    program(&["terraform", "tofu", "terragrunt", "pulumi", "cdk", "sam", "serverless", "packer"], Nothing)
        .at_home()
        .style(Style::Single)
        .options(&[
            with(&["-chdir", "-C", "-cwd"], Does::Folder),
            loads(&["-plugin-dir", "-config", "-var-file", "-app", "-from-module"]),
            writes(&["-out", "-state-out", "-backup", "-state", "-output"]),
            takes(&["-var", "-target", "-lock-timeout", "-parallelism", "-c"]),
        ]),
    program(&["ansible", "ansible-playbook", "ansible-galaxy", "chef", "puppet", "salt"], Own(always_remote))
        .at_home()
        .options(&[
            with(&["-a", "--args", "-m", "--module-name"], Does::Bars("runs what it says on other hosts")),
            loads(&["-M", "--module-path", "-i", "--inventory", "--vault-password-file", "--playbook-dir"]),
            takes(&["-l", "--limit", "-e", "--extra-vars", "-t", "--tags", "-u", "--user", "-f", "--forks"]),
        ]),
];

const TOOLS: &[Options] = &[
    with(&["-c", "--config", "--project-config"], Does::FolderOf),
    loads(&[
        "-r",
        "--require",
        "--setupFiles",
        "--globalSetup",
        "--preset",
        "--plugin",
        "--import",
        "--loader",
    ]),
    loads(&["--env-file", "--testRunner", "--runner", "--transform", "--resolver", "-f"]),
    with(&["--root", "--rootDir", "--cwd", "-C"], Does::Source),
    with(&["-e", "--eval"], Does::Code),
    with(&["-p", "--project", "-b"], Does::Nothing),
    writes(&[
        "--outDir",
        "--outFile",
        "--outfile",
        "--outdir",
        "-o",
        "--out-dir",
        "--out-file",
        "--output-path",
        "--output-file",
        "--outputFile",
        "-d",
    ]),
    takes(&[
        "-t",
        "--testNamePattern",
        "--reporter",
        "--reporters",
        "--target",
        "--module",
        "-w",
        "--maxWorkers",
        "--pool",
        "--environment",
    ]),
    takes(&[
        "--mode",
        "--port",
        "--host",
        "--timeout",
        "-g",
        "--grep",
        "--testPathPattern",
        "--shard",
        "--browser",
    ]),
    flag(&["--env", "--coverage", "--run", "--runInBand", "--watch", "--noEmit", "--pretty"], Does::Nothing),
];

const BINUTILS: &[Options] = &[
    writes(&["-o", "--output"]),
    with(&["--plugin"], Does::Bars("loads a library")),
    takes(&["-j", "--section", "-M", "-m", "-f", "-F", "-I", "-O", "-R", "-K", "-N", "-b", "--target"]),
];

const BUILDER: &[Options] = &[
    with(&["-f", "-buildfile", "--file", "--build-file"], Does::FolderOf),
    loads(&[
        "-lib",
        "--bazelrc",
        "--sbt-dir",
        "-logger",
        "-listener",
        "-propertyfile",
        "-Sdeps",
        "--override_repository",
    ]),
    with(&["-e", "--eval"], Does::Code),
    with(
        &["--run_under", "--shell_executable", "--workspace_status_command"],
        Does::Bars("runs the program that it names"),
    ),
];

const BUN: &[Options] = &[
    with(&["--cwd"], Does::Source),
    with(&["-e", "--eval", "-p", "--print"], Does::Code),
    loads(&["-r", "--preload", "--import", "-c", "--config", "--env-file", "--tsconfig-override"]),
];

const NPM_OPTIONS: &[Options] = &[
    with(&["--prefix", "-C", "--dir", "--local-prefix"], Does::Source),
    runs(&[
        "--config.script-shell",
        "--script-shell",
        "--shell",
        "--editor",
        "--viewer",
        "--browser",
        "--git",
        "--init-module",
    ]),
    loads(&[
        "--userconfig",
        "--globalconfig",
        "--node-options",
        "--onload-script",
        "--config",
        "--pnpmfile",
        "--global-pnpmfile",
    ]),
    with(&["--registry", "--proxy", "--https-proxy", "--cafile", "--ca"], Does::Bars(OTHER_SOURCE)),
    with(
        &[
            "--pack-destination",
            "--cache",
            "--globalprefix",
            "--store-dir",
            "--modules-dir",
            "--virtual-store-dir",
            "--tmp",
        ],
        Does::Path(Write, Aside),
    ),
    takes(&[
        "-w",
        "--workspace",
        "--loglevel",
        "--omit",
        "--include",
        "--tag",
        "--otp",
        "-F",
        "--filter",
        "--access",
        "--depth",
    ]),
    flag(
        &["--save-dev", "--silent", "--ignore-scripts", "--global", "--prefer-offline", "--production"],
        Does::Nothing,
    ),
];

const NPM: &[Program] = &[
    program(&["install", "i", "add", "link", "ln", "update", "up"], Own(installs)),
    program(&["exec", "x"], Command(0))
        .options(&[with(&["-c", "--call"], Does::Line), takes(&["-p", "--package"])]),
    program(&["config", "c"], Own(npm_config)),
    program(&["set"], Own(npm_set)),
    program(
        &["pkg", "access", "token", "owner", "hook", "team", "profile", "adduser", "login", "logout"],
        Own(npm_changes),
    ),
    program(&["explore"], Command(1)),
    program(&["create", "init", "innit"], Own(runs_package)),
];

const PNPM: &[Program] = &[
    program(&["install", "i", "add", "link", "ln", "update", "up"], Own(installs)),
    program(&["exec", "dlx"], Command(0)).stops().options(&[
        flag(&["-c", "--shell-mode"], Does::FirstIsLine),
        takes(&["--package"]),
        flag(&["-r", "--recursive", "--parallel"], Does::Nothing),
    ]),
    program(&["config", "c"], Own(npm_config)),
    program(&["set"], Own(npm_set)),
    program(&["pkg", "env", "setup"], Own(npm_changes)),
    program(&["create"], Own(runs_package)),
];

const YARN: &[Program] = &[
    program(&["install", "add", "link", "up", "upgrade"], Own(installs)),
    program(&["exec", "dlx"], Command(0)).stops(),
    program(&["config", "set", "plugin", "policies"], Own(npm_changes)),
    program(&["create"], Own(runs_package)),
];

const CARGO_OPTIONS: &[Options] = &[
    with(&["-C"], Does::Folder),
    with(&["--manifest-path"], Does::FolderOf),
    with(&["--config", "-Z"], Does::Bars("sets any option, and several of them run programs")),
    with(&["--target-dir", "--artifact-dir", "--out-dir", "--root"], Does::Path(Write, Aside)),
    with(&["--index", "--registry"], Does::Bars(OTHER_SOURCE)),
    loads(&["--lockfile-path", "--runtool"]),
    takes(&[
        "-p",
        "--package",
        "--exclude",
        "--features",
        "-F",
        "--bin",
        "--example",
        "--test",
        "--bench",
        "--target",
        "--profile",
    ]),
    takes(&[
        "-j",
        "--jobs",
        "--color",
        "--message-format",
        "--edition",
        "--name",
        "--vcs",
        "-e",
        "-i",
        "--invert",
        "--depth",
    ]),
    flag(
        &["--release", "--workspace", "--locked", "--offline", "--lib", "--bins", "--tests", "--examples"],
        Does::Nothing,
    ),
];

const CARGO: &[Program] = &[
    program(&["rustc", "rustdoc"], Own(to_compiler)),
    program(
        &[
            "build", "b", "test", "t", "check", "c", "clippy", "run", "r", "bench", "doc", "fmt", "fix",
            "nextest",
        ],
        Nothing,
    ),
    program(
        &[
            "tree",
            "metadata",
            "update",
            "fetch",
            "vendor",
            "package",
            "clean",
            "add",
            "remove",
            "generate-lockfile",
            "search",
        ],
        Nothing,
    ),
    program(&["new", "init"], Each(Operation::MakeDir, Purpose::Command)),
    program(&["install", "publish", "login", "owner", "yank"], Own(changes_tools))
        .options(&[with(&["--git", "--path"], Does::Bars("installs code from where it says"))]),
    program(&["watch"], Nothing)
        .options(&[with(&["-s", "--shell"], Does::Line), takes(&["-x", "--exec", "-w", "--watch"])]),
];

const GO_OPTIONS: &[Options] = &[
    with(&["-C"], Does::Folder),
    runs(&["-exec", "-toolexec", "-vettool", "-xprog", "-fixtool"]),
    loads(&["-overlay", "-modfile", "-pkgdir"]),
    writes(&[
        "-o",
        "-cpuprofile",
        "-memprofile",
        "-blockprofile",
        "-mutexprofile",
        "-coverprofile",
        "-trace",
        "-outputdir",
        "-fuzzcachedir",
    ]),
    with(&["-ldflags", "-gcflags", "-asmflags", "-gccgoflags"], Does::Pass),
    takes(&[
        "-run",
        "-bench",
        "-count",
        "-timeout",
        "-tags",
        "-mod",
        "-p",
        "-cover",
        "-covermode",
        "-coverpkg",
        "-benchtime",
        "-cpu",
    ]),
    takes(&[
        "-parallel",
        "-fuzz",
        "-fuzztime",
        "-list",
        "-skip",
        "-shuffle",
        "-buildmode",
        "-compiler",
        "-installsuffix",
        "-f",
        "-vet",
    ]),
];

const GO: &[Program] = &[
    program(
        &[
            "build",
            "test",
            "run",
            "vet",
            "list",
            "fmt",
            "clean",
            "doc",
            "version",
            "fix",
            "mod",
            "work",
            "telemetry",
        ],
        Nothing,
    )
    .style(Style::Single),
    program(&["generate", "tool"], Nothing).style(Style::Single),
    program(&["install", "get"], Nothing).style(Style::Single),
    program(&["env"], Own(go_env))
        .style(Style::Single)
        .options(&[flag(&["-w", "-u"], Does::Bars("changes how go works for good"))]),
];

const COMPILER: &[Options] = &[
    writes(&[
        "-o",
        "--output",
        "-MF",
        "-dumpdir",
        "-dumpbase",
        "-aux-info",
        "-auxbase",
        "-auxbase-strip",
        "-fdump-",
        "--serialize-diagnostics",
    ]),
    with(
        &[
            "-fplugin",
            "-fplugin=",
            "-fplugin-arg",
            "-fpass-plugin",
            "-Xclang",
            "-load",
            "-specs",
            "--specs",
            "-specs=",
        ],
        Does::Bars("loads code or settings"),
    ),
    with(
        &["-wrapper", "-B", "-fuse-ld", "--ld-path", "-ccc-gcc-name", "--gcc-toolchain"],
        Does::Bars("runs another program in place of its own"),
    ),
    with(&["-Wl", "-Xlinker", "-Wa", "-Wp", "-Xassembler", "-Xpreprocessor"], Does::Pass),
    with(
        &[
            "-include",
            "-imacros",
            "-I",
            "-L",
            "-isystem",
            "-iquote",
            "-idirafter",
            "--sysroot",
            "-isysroot",
            "-T",
        ],
        Does::Path(Read, Purpose::Command),
    ),
    takes(&["-D", "-U", "-l", "-x", "-MT", "-MQ", "-arch", "-target", "--target", "-u", "-z"]),
    maybe(&["-std", "-O", "-W", "-f", "-m", "-g"], Does::Nothing),
    flag(
        &["-c", "-S", "-E", "-shared", "-static", "-pthread", "-fPIC", "-MMD", "-MD", "-MP", "-MM", "-v"],
        Does::Nothing,
    ),
];

const PIP_OPTIONS: &[Options] = &[
    with(
        &[
            "-i",
            "--index-url",
            "--extra-index-url",
            "-f",
            "--find-links",
            "--proxy",
            "--trusted-host",
            "--cert",
        ],
        Does::Bars(OTHER_SOURCE),
    ),
    with(
        &[
            "-t",
            "--target",
            "--prefix",
            "--root",
            "--src",
            "--cache-dir",
            "-d",
            "--dest",
            "--download",
            "-w",
            "--wheel-dir",
        ],
        Does::Path(Write, Aside),
    ),
    writes(&["--log", "--report", "-o", "--output-file"]),
    runs(&["--python", "--editor"]),
    with(
        &["--global-option", "--build-option", "--config-settings", "-C"],
        Does::Bars("passes options to code that runs"),
    ),
    reads(&["-r", "--requirement", "-c", "--constraint"]),
    takes(&[
        "--platform",
        "--python-version",
        "--implementation",
        "--abi",
        "--timeout",
        "--retries",
        "-e",
        "--editable",
        "--progress-bar",
    ]),
    takes(&["--no-binary", "--only-binary", "--upgrade-strategy", "--exists-action", "--log-level"]),
    flag(
        &[
            "--upgrade",
            "--user",
            "--no-deps",
            "--pre",
            "--quiet",
            "--require-hashes",
            "--dry-run",
            "--format",
        ],
        Does::Nothing,
    ),
];

const PIP: &[Program] = &[
    program(&["install", "download", "wheel"], Own(installs)),
    program(&["config"], Own(npm_changes)),
    program(&["run"], Command(0)).stops().options(PIP_OPTIONS),
];

const UV_OPTIONS: &[Options] = &[
    with(&["--directory", "--project"], Does::Folder),
    with(
        &["--index", "--default-index", "-i", "--index-url", "--extra-index-url", "-f", "--find-links"],
        Does::Bars(OTHER_SOURCE),
    ),
    loads(&["--config-file", "--env-file"]),
    writes(&["-o", "--output-file", "--target", "--prefix", "--cache-dir"]),
    takes(&[
        "-p",
        "--python",
        "--with",
        "--with-editable",
        "--from",
        "--extra",
        "--group",
        "--package",
        "--exclude-newer",
        "-w",
        "-c",
    ]),
    reads(&["-r", "--requirements", "--requirement", "--with-requirements"]),
];

const UV: &[Program] = &[
    program(&["run"], Command(0))
        .stops()
        .options(&[flag(&["-m", "--module", "-s", "--script"], Does::Otherwise(&Nothing))]),
    program(&["tool", "x"], Own(uv_tool)).stops(),
    program(&["pip"], Nothing).options(PIP_OPTIONS),
    program(&["self", "publish", "python"], Own(changes_tools)),
];

/// `ar [-]KEYS [member] archive [files…]`: only `p` and `t` leave the archive as it is, and `x` writes its members here.
fn ar(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let mut words = args.iter().filter_map(Arg::operand);
    let Some(keys) = words.next() else { return };
    acts.take(keys);
    let letters = keys.as_static().unwrap_or_default();
    if letters.starts_with("--") || keys.as_static().is_none() {
        return acts.option_bar("option", keys.literal_prefix(), "may load a library, or change anything");
    }
    let looks = letters.contains(['p', 't']) && !letters.contains(['d', 'm', 'q', 'r', 's', 'x']);
    if letters.contains('x') {
        acts.here(Purpose::Command);
    }
    for word in words {
        acts.path(Cow::Owned(word.clone()), if looks { Read } else { Write }, Purpose::Command);
    }
}

/// `//package:target`, `@repository//package`: labels of the workspace, which are no paths.
fn labels(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let is_label = |word: &&Word| {
        let start = word.literal_prefix();
        start.strip_prefix('-').unwrap_or(start).starts_with("//") || start.starts_with('@')
    };
    args.iter().filter_map(Arg::operand).filter(is_label).for_each(|word| acts.take(word));
}

/// `make target NAME=value`: a variable may be a program or hold a command.
fn make(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    for word in args.iter().filter_map(Arg::operand) {
        let Some((name, value)) = word.literal_prefix().split_once('=') else { continue };
        let name = name.trim_end_matches([':', '?', '+', '!']);
        let names_program = super::super::super::environment::matters(name);
        // `NAME!=line` runs the line, and a recipe pastes the value into one.
        let runs = word.literal_prefix().contains("!=") || word.as_static().is_none();
        if names_program || runs || value.contains(['$', '`', ';', '|', '&', '<', '>', '\n']) {
            acts.option_bar(
                "option",
                word.literal_prefix().split('=').next().unwrap_or_default(),
                "changes what the build runs",
            );
        }
    }
}

/// `cmake folder`: the folder may be the source or a build.
fn cmake(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    if let Some(folder) = args.iter().find_map(Arg::operand)
        && acts.sources.is_empty()
    {
        acts.sources.push(Cow::Owned(folder.clone()));
    }
}

/// A package that lies elsewhere, or is fetched from an address, is code of somebody else that is run.
fn installs(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let elsewhere = |text: &str| {
        text.starts_with(['/', '~'])
            || text.starts_with("..")
            || text.contains("://")
            || text.starts_with("git@")
            || text.starts_with("git+")
            || text.starts_with("file:")
            || text.starts_with("link:")
    };
    for arg in args {
        let word = match arg {
            Arg::Operand(word) => *word,
            Arg::Option { name: "-e" | "--editable", value: Some(value), .. } => value.as_ref(),
            Arg::Option { .. } => continue,
        };
        let tilde = matches!(word.parts.first(), Some(pinfold_shell::Part::Tilde(_)));
        if tilde || elsewhere(word.literal_prefix()) {
            acts.named_bar(word.as_static(), OTHER_SOURCE);
        }
    }
}

/// What stands behind `--` goes to the compiler.
fn to_compiler(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    for word in args.iter().filter_map(Arg::operand) {
        if super::super::setting::passes_program(word) {
            acts.named_bar(word.as_static(), "tells the compiler what may name a program");
        }
    }
}

/// Settings and scripts that later commands run by.
/// What `npm config` changes stands in the person's own file.
fn npm_config(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    npm_changes(acts, args);
    let first = args.iter().find_map(Arg::operand).and_then(|word| word.as_static());
    if matches!(first, Some("set" | "delete" | "edit" | "fix")) {
        acts.at_home(".npmrc");
    }
}

/// `npm set` is short for `npm config set`.
fn npm_set(acts: &mut Acts<'_>, _: &[Arg<'_>]) {
    acts.subcommand_bar("changes what later commands run, or who may");
    acts.at_home(".npmrc");
}

fn npm_changes(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let first = args.iter().find_map(Arg::operand).and_then(|word| word.as_static());
    if !matches!(first, Some("get" | "list" | "ls")) {
        acts.subcommand_bar("changes what later commands run, or who may");
    }
}

fn changes_tools(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let first = args.iter().find_map(Arg::operand).and_then(|word| word.as_static());
    if !matches!(first, Some("list" | "show" | "--version" | "dir" | "find")) {
        acts.subcommand_bar("changes what is installed for everybody, or publishes");
    }
}

fn runs_package(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    if args.iter().any(|arg| arg.operand().is_some()) {
        acts.subcommand_bar("downloads a package and runs it");
    }
}

fn bun(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    if let Some(("x", command)) =
        words.split_first().and_then(|(first, rest)| Some((first.as_static()?, rest)))
    {
        acts.start(command);
    }
}

fn uv_tool(acts: &mut Acts<'_>, args: &[Arg<'_>]) {
    let words: Vec<_> = args.iter().filter_map(Arg::operand).collect();
    match words.first().and_then(|word| word.as_static()) {
        Some("run") => acts.start(words.get(1..).unwrap_or_default()),
        Some("list" | "dir") => {}
        _ => acts.subcommand_bar("changes what is installed for everybody"),
    }
}

fn go_env(_: &mut Acts<'_>, _: &[Arg<'_>]) {}

fn always_remote(acts: &mut Acts<'_>, _: &[Arg<'_>]) {
    acts.hosts.push(super::super::super::HostClaim::of_command(None));
}

//! Names of files that tools run or act on later.

use std::path::Path;

use crate::within::split;

/// Files that run code on a build, test, installation or push, in order: every file of a folder is looked for.
pub(crate) const BUILD_FILES: [&str; 58] = [
    ".drone.yml",
    ".gitlab-ci.yml",
    ".lefthook.yml",
    ".pre-commit-config.yaml",
    ".travis.yml",
    "BUILD.bazel",
    "CMakeLists.txt",
    "Containerfile",
    "Dockerfile",
    "GNUmakefile",
    "Gemfile",
    "Gruntfile.js",
    "Jenkinsfile",
    "Justfile",
    "MODULE.bazel",
    "Makefile",
    "Rakefile",
    "SConstruct",
    "Taskfile.yaml",
    "Taskfile.yml",
    "Vagrantfile",
    "WORKSPACE",
    "azure-pipelines.yml",
    "binding.gyp",
    "bitbucket-pipelines.yml",
    "build.gradle",
    "build.gradle.kts",
    "build.rs",
    "build.sbt",
    "build.xml",
    "compose.yaml",
    "compose.yml",
    "configure",
    "configure.ac",
    "conftest.py",
    "default.nix",
    "docker-compose.yaml",
    "docker-compose.yml",
    "extconf.rb",
    "flake.nix",
    "gulpfile.js",
    "init.gradle",
    "justfile",
    "lefthook.yml",
    "makefile",
    "meson.build",
    "noxfile.py",
    "package.json",
    "pom.xml",
    "pyproject.toml",
    "settings.gradle",
    "settings.gradle.kts",
    "setup.cfg",
    "setup.py",
    "shell.nix",
    "sitecustomize.py",
    "tasks.py",
    "tox.ini",
];

/// Directories in which every file runs somewhere by itself.
pub(crate) const BUILD_DIRECTORIES: [&str; 4] = [".github", ".circleci", ".buildkite", ".gitea"];

/// Returns whether tools run the content of a file on a build, test, installation or push.
pub(crate) fn is_build_file(path: &Path) -> bool {
    let name = split(path).1.unwrap_or_default().as_encoded_bytes();
    BUILD_FILES.binary_search_by(|known| known.as_bytes().cmp(name)).is_ok() || is_in_build_directory(path)
}

fn is_in_build_directory(path: &Path) -> bool {
    // As bytes: taking components apart costs more than all else that is asked about most files.
    let mut parts = path.as_os_str().as_encoded_bytes().split(|byte| *byte == b'/');
    parts.any(|part| BUILD_DIRECTORIES.iter().any(|directory| directory.as_bytes() == part))
}

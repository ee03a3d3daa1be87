//! `recursive-removal`: takes away a folder with everything in it, and no bin keeps it.

use super::{Invoked, Safeguard, Watch};
use crate::Severity;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "recursive-removal",
    about: "removes a folder with everything in it",
    severity: Severity::Medium,
    hits: &[
        "rm -rf build",
        "rm -fr build",
        "rm -r build",
        "rm -R build",
        "rm -r -f build",
        "rm --recursive x",
        "rm --recurs x",
        "rm x -rf",
        "rm -vrf x",
        "rm -I -r x",
        "rm -rf -- build",
        "rm -r\"$mode\" x",
        "/bin/rm -rf x",
        "./rm -rf x",
        "r\"\"m -rf x",
        "rm '-rf' x",
        "{rm,-rf,x}",
        "rm -{r,f} x",
        "$(echo /bin)/rm -rf x",
        "sudo rm -rf x",
        "timeout 5 rm -rf x",
        "env -i A=1 rm -rf x",
        "ls | xargs -0 -n1 rm -r",
        "find . -execdir rm -r {} \\;",
        "bash -c 'rm -rf x'",
        "echo $(rm -rf x)",
        "cat <<EOF\n$(rm -rf x)\nEOF",
        "if true; then rm -rf x; fi",
        "rimraf dist",
    ],
    passes: &[
        "rm x",
        "rm -f readme.txt",
        "rm -i notes-rf.txt",
        "rm -- -r",
        "rm -d empty",
        "rmdir empty",
        "git rm -r --cached x",
        "echo rm -rf x",
        "echo 'rm -rf /'",
        "grep -rn 'rm -rf' .",
        "git commit -m 'rm -rf /'",
        "sed -n 's/rm -rf//p' f",
        "cat > notes.md <<'EOF'\nrm -rf /\nEOF",
        "npm run rm-cache",
    ],
    blind: "options that a variable holds, and programs that remove by themselves (`make clean`, a script)",
    watch: Watch::Programs(&["rm", "grm", "srm", "rimraf"], is_recursive),
};

/// Returns whether a removing program goes down into folders.
pub(super) fn is_recursive(invoked: &Invoked<'_>) -> bool {
    invoked.name == "rimraf" || invoked.has("rR", "recursive")
}

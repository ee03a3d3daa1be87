//! The report of a run tells what happened: what was refused, to which program, by which name; limits that were met; and
//! nothing that was done, or that nobody asked for. The cases stand in `report/cases.jsonl`.

use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::process::Output;

use pinfold_tests::missing::all_there;
use pinfold_tests::output::describe;
use pinfold_tests::processes::until;
use pinfold_tests::{Bed, Tier, Who, each};
use serde::Deserialize;
use serde_json::Value;

/// One run and what its report has to say.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    /// Of `pinfold run`.
    #[serde(default)]
    options: Vec<String>,
    /// What a shell does in the folder before, with nothing around it.
    #[serde(default)]
    before: String,
    /// What a shell does inside.
    run: String,
    /// Where it is tried: everywhere unless it says so.
    #[serde(default)]
    tiers: Vec<String>,
    /// By whom: everybody unless it says so.
    #[serde(default)]
    who: String,
    #[serde(default)]
    exit: i32,
    /// What it prints, among other things.
    #[serde(default)]
    says: String,
    /// All that was refused: what was tried, where, and the beginning of the name of the program.
    refused: Option<Vec<[String; 3]>>,
    /// Options with which nothing is refused.
    #[serde(default)]
    unless: Vec<String>,
    /// Part of the report as data, with the places of this world.
    #[serde(default)]
    contains: String,
    /// No part of the report as data.
    never: Option<String>,
    /// Limits that were met: which, its value, its option, and the beginning of the name of the program.
    limits: Option<Vec<Limit>>,
    /// Part of the report as text.
    #[serde(default)]
    contains_text: String,
    /// Files that changed and run later.
    changed: Option<Vec<String>>,
}

type Limit = (String, u64, String, Option<String>);

/// What the Python of the cases imports, as `kit`.
const KIT: &str = "
import ctypes, socket
def rename(to):
    PR_SET_NAME = 15
    assert ctypes.CDLL(None).prctl(PR_SET_NAME, to.encode()) == 0
    assert open('/proc/self/comm').read().strip() == to
def attempt(what):
    try: print('DONE', what())
    except (OSError, MemoryError) as error: print(type(error).__name__)
def try_connect(to, flags=0):
    attempt(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | flags).connect(to))
def try_bind(to):
    attempt(lambda: socket.socket(socket.AF_UNIX).bind(to))
";

/// A bed with keys, and a daemon outside.
struct World {
    bed: Bed,
    abstract_name: String,
    _daemons: [UnixListener; 2],
}

impl World {
    fn new(who: Who) -> Self {
        let bed = Bed::new(who);
        for (path, text) in
            [(".ssh/id_rsa", "key"), (".ssh/old/id_rsa", "key"), (".netrc", "machine a login b password c")]
        {
            let file = bed.home().join(path);
            fs::create_dir_all(file.parent().unwrap_or(Path::new("/"))).expect("a directory");
            fs::write(file, text).expect("a file");
        }
        fs::write(bed.folder().join("kit.py"), KIT).expect("a file");
        let abstract_name = format!("pinfold-report-{}", bed.outside().display()).replace('/', "-");
        let name = SocketAddr::from_abstract_name(&abstract_name).expect("a name");
        let daemons = [
            UnixListener::bind(bed.outside().join("daemon")).expect("a socket"),
            UnixListener::bind_addr(&name).expect("a socket"),
        ];
        bed.give();
        Self { bed, abstract_name, _daemons: daemons }
    }

    fn fill(&self, text: &str) -> String {
        text.replace("IMPORT", "from kit import *")
            .replace("HOME", &self.bed.home().display().to_string())
            .replace("OUTSIDE", &self.bed.outside().display().to_string())
            .replace("FOLDER", &self.bed.folder().display().to_string())
            .replace("ABSTRACT", &self.abstract_name)
    }

    fn run(&self, tier: Tier, case: &Case, options: &[String], how: &[&str]) -> Output {
        let options: Vec<String> = options.iter().map(|option| self.fill(option)).collect();
        let options: Vec<&str> = options.iter().map(String::as_str).chain(how.iter().copied()).collect();
        let run = self.fill(&case.run);
        self.bed.run(tier, &options).args(["sh", "-c", &run]).output().expect("a run")
    }
}

fn report(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text
        .lines()
        .rev()
        .find(|line| line.starts_with('{'))
        .unwrap_or_else(|| panic!("{}", describe(output)));
    serde_json::from_str(line).expect("JSON")
}

fn refused(report: &Value) -> Vec<[&str; 3]> {
    let all = report["refused"].as_array().expect("a list");
    all.iter()
        .map(|one| ["tried", "place", "program"].map(|key| one[key].as_str().unwrap_or_default()))
        .collect()
}

fn try_case(case: &Case, who: Who, tier: Tier) {
    let world = World::new(who);
    let context = |output: &Output| format!("{}: {who} {tier}: {}", case.name, describe(output));
    if !case.before.is_empty() {
        let before = world.bed.free("sh").args(["-c", &world.fill(&case.before)]).status();
        assert!(before.expect("a shell").success(), "{}", case.name);
    }
    let mut options = case.options.clone();
    options.extend(["--ask", "nobody"].map(str::to_owned));
    let output = world.run(tier, case, &options, &["--json"]);
    let report = report(&output);
    assert_eq!(output.status.code(), Some(case.exit), "{}", context(&output));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains(&case.says) && !said.contains("DONE"), "{}", context(&output));
    if let Some(expected) = &case.refused {
        let refused = refused(&report);
        let fits = |[tried, place, program]: &[String; 3]| {
            let place = world.fill(place);
            refused
                .iter()
                .any(|one| one[0] == tried && one[1] == place && one[2].starts_with(program.as_str()))
        };
        let all = expected.iter().all(fits) && refused.len() == expected.len();
        assert!(all, "{refused:#?}\n{}", context(&output));
    }
    let text = report.to_string();
    assert!(text.contains(&world.fill(&case.contains)), "{}", context(&output));
    assert!(case.never.as_ref().is_none_or(|never| !text.contains(never)), "{}", context(&output));
    if let Some(expected) = &case.limits {
        let met = report["limits"].as_array().cloned().unwrap_or_default();
        assert_eq!(met.len(), expected.len(), "{}", context(&output));
        for (one, (limit, value, option, program)) in met.iter().zip(expected) {
            let who = one["program"].as_str();
            let is_them =
                program.as_ref().is_none_or(|program| who.is_some_and(|who| who.starts_with(program)));
            assert!(is_them, "{}", context(&output));
            let (has, wants) = ((&one["limit"], &one["value"], &one["option"]), (limit, value, option));
            assert!(has.0 == wants.0 && has.1 == *wants.1 && has.2 == wants.2, "{}", context(&output));
        }
    }
    if let Some(expected) = &case.changed {
        let mut expected: Vec<String> =
            expected.iter().map(|path| world.bed.folder().join(path).display().to_string()).collect();
        let changed = report["changed_autorun"].as_array().expect("a list");
        let mut changed: Vec<String> = changed.iter().filter_map(|p| Some(p.as_str()?.to_owned())).collect();
        expected.sort();
        changed.sort();
        assert_eq!(changed, expected, "{}", context(&output));
    }
    if !case.contains_text.is_empty() {
        let output = world.run(tier, case, &options, &[]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains(&case.contains_text), "{}", context(&output));
    }
    if !case.unless.is_empty() {
        let world = World::new(who);
        let options = [options, case.unless.clone()].concat();
        let output = world.run(tier, case, &options, &["--json"]);
        let report = self::report(&output);
        assert_eq!(report["refused"], Value::Array(Vec::new()), "the control: {}", context(&output));
    }
}

#[test]
fn the_report_tells_what_happened() {
    if !all_there("reports", &["python3", "perl"]) {
        return;
    }
    let only = std::env::var("ONLY").unwrap_or_default();
    let text =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/report/cases.jsonl")).expect("the cases");
    let cases =
        text.lines().map(|line| serde_json::from_str::<Case>(line).unwrap_or_else(|e| panic!("{e}: {line}")));
    let (mut tried, mut failed) = (0, 0);
    for case in cases.filter(|case| case.name.contains(&only)) {
        for who in Who::present() {
            for tier in Tier::ALL.into_iter().filter(|tier| tier.is_possible_for(who)) {
                let here = case.tiers.is_empty()
                    || case
                        .tiers
                        .iter()
                        .any(|name| *name == (if tier == Tier::Full { "full" } else { "landlock" }));
                let theirs = case.who.is_empty() || who == Who::Ordinary;
                if here && theirs {
                    tried += 1;
                    let told = std::panic::catch_unwind(|| try_case(&case, who, tier));
                    failed += usize::from(told.is_err());
                }
            }
        }
    }
    assert!(tried > 0 && failed == 0, "{failed} of {tried} failed");
}

/// The last content of a changed file is not known while another program may still write it.
#[each(user, tier)]
fn a_changed_file_that_is_still_written_elsewhere_is_told(who: Who, tier: Tier) {
    const OPEN: &str = "open for writing";
    let world = World::new(who);
    let at = |name: &str| world.bed.folder().join(name);
    fs::write(at("Makefile"), "x\n").expect("a file");
    world.bed.give();
    let notes = |script: &str| {
        let output = world.bed.run(tier, &["--ask", "nobody", "--json"]).args(["sh", "-c", script]).output();
        report(&output.expect("a run"))["notes"].to_string()
    };
    let is_told = || notes("echo y >> Makefile").contains(&format!("{}` {OPEN}", at("Makefile").display()));
    assert!(!is_told(), "the control");
    let reader = fs::File::open(at("Makefile")).expect("a file");
    assert!(!is_told(), "a reader changes nothing");
    drop(reader);
    let writer = fs::OpenOptions::new().append(true).open(at("Makefile")).expect("a file");
    assert!(is_told(), "a program outside");
    assert!(!notes("cat Makefile").contains(OPEN), "it is not changed");
    drop(writer);
    assert!(!is_told(), "it was closed");
    let script = "exec 3>> Makefile; touch ready; while test ! -e end; do sleep 0.01; done";
    let mut other =
        world.bed.run(tier, &["--ask", "nobody"]).args(["sh", "-c", script]).spawn().expect("a run");
    until("the file is open", || at("ready").exists());
    let told = is_told();
    fs::write(at("end"), "").expect("a file");
    assert!(other.wait().expect("its end").success() && told, "another run");
    assert!(!is_told(), "it has ended");
}

//! Processes beside a run, in the script or the job that it was started from: what reaches a whole group inside does not
//! reach them. On kernels where Landlock keeps signals within a run, and where it is missing.

use std::process::{Command, Output, Stdio};

use pinfold_tests::missing::all_there;
use pinfold_tests::output::describe;
use pinfold_tests::product::pinfold;
use pinfold_tests::terminal::Terminal;
use pinfold_tests::{Bed, Tier, Who, each};

/// Starts what follows where the kernel has no Landlock: a filter answers that it does not know the call.
const WITHOUT_LANDLOCK: &str = "
import ctypes, os, struct, sys
step = lambda code, jt, jf, k: struct.pack('HBBI', code, jt, jf, k)
code = step(0x20, 0, 0, 0) + step(0x15, 0, 1, 444) + step(6, 0, 0, 0x00050000 | 38) + step(6, 0, 0, 0x7fff0000)
code = ctypes.create_string_buffer(code)
program = ctypes.create_string_buffer(struct.pack('HxxxxxxQ', 4, ctypes.addressof(code)))
prctl = ctypes.CDLL(None).prctl
assert prctl(38, 1, 0, 0, 0) == 0 and prctl(22, 2, program, 0, 0) == 0
os.execvp(sys.argv[1], sys.argv[1:])
";

/// A script with a process beside the command that follows. Says what became of the script and of the other process.
const SCRIPT: &str = r#"
sleep 1000 & beside=$!
trap 'echo signalled' USR1
"$@" >&2
kill -0 $beside && echo "alive, nice $(ps -o ni= -p $beside | tr -d ' '), $(ionice -p $beside)"
kill $beside
"#;

/// What stands between a script and what it starts.
type Around<'a> = &'a dyn Fn(&Bed) -> Vec<String>;

fn confined(tier: Tier) -> Vec<String> {
    let program = pinfold().to_str().expect("a plain path").to_owned();
    let options = ["run", "--quiet", "--ask", "nobody"].into_iter().chain(tier.options().iter().copied());
    [program].into_iter().chain(options.chain(["--"]).map(String::from)).collect()
}

/// Every way of being confined on a tier: the full one stands without Landlock too.
fn every_way(who: Who, tier: Tier, attempt: impl Fn(&Bed, Around<'_>)) {
    if !all_there("process groups", &["python3", "ionice", "ps"]) {
        return;
    }
    attempt(&Bed::new(who), &|_| confined(tier));
    if tier == Tier::Full {
        println!("no Landlock");
        let without = ["python3", "-c", WITHOUT_LANDLOCK].map(String::from);
        attempt(&Bed::new(who), &|_| without.iter().cloned().chain(confined(tier)).collect());
    }
}

/// Runs the script in a session of its own, around a Python program.
fn script(bed: &Bed, around: &[String], program: &str) -> Output {
    let mut command = bed.free("setsid");
    command.args(["--wait", "sh", "-c", SCRIPT, "sh"]).args(around).args(["python3", "-c", program]);
    command.stdin(Stdio::null()).output().expect("setsid can be started")
}

#[each(user, tier)]
fn a_signal_to_the_own_group_stays_inside(who: Who, tier: Tier) {
    every_way(who, tier, |bed, around| {
        for signal in ["SIGUSR1", "SIGKILL"] {
            let program = format!("import os, signal; os.kill(0, signal.{signal})");
            let output = script(bed, &around(bed), &program);
            assert!(String::from_utf8_lossy(&output.stdout).starts_with("alive"), "{}", describe(&output));
            let output = script(bed, &[], &program);
            assert!(!String::from_utf8_lossy(&output.stdout).starts_with("alive"), "the control");
        }
    });
}

#[each(user, tier)]
fn the_priority_of_the_own_group_is_that_of_processes_inside(who: Who, tier: Tier) {
    const PROCESSOR: &str = "
import os
try: os.setpriority(os.PRIO_PGRP, 0, 17)
except OSError: pass";
    // ioprio_set(2): idle for the group of the caller.
    const DISK: &str = "
import ctypes, platform
number = 251 if platform.machine() == 'x86_64' else 30
ctypes.CDLL(None).syscall(number, 2, 0, 3 << 13)";
    every_way(who, tier, |bed, around| {
        for (program, changed) in [(PROCESSOR, "nice 17"), (DISK, "idle")] {
            let output = script(bed, &around(bed), program);
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(said.starts_with("alive") && !said.contains(changed), "{}", describe(&output));
            let output = script(bed, &[], program);
            assert!(
                String::from_utf8_lossy(&output.stdout).contains(changed),
                "the control: {}",
                describe(&output)
            );
        }
    });
}

#[each(user, tier)]
fn where_a_pipeline_shares_the_terminal_the_group_is_not_reached_either(who: Who, tier: Tier) {
    const PROGRAM: &str = "
import os, signal
for deed in (lambda: os.setpriority(os.PRIO_PGRP, 0, 17), lambda: os.kill(0, signal.SIGUSR1)):
    try: deed()
    except OSError: pass
print('tried', flush=True)";
    every_way(who, tier, |bed, around| {
        let run = |around: &[String]| {
            let pipeline = r#"trap 'echo signalled' USR1; "$@" | cat; echo "nice $(ps -o ni= -p $$ | tr -d ' ')"; echo over"#;
            let mut command: Command = bed.free("sh");
            // What is signalled inside may end by it.
            command.args(["-c", pipeline, "sh"]).args(around);
            command.args([
                "python3",
                "-c",
                &format!("import signal\nsignal.signal(signal.SIGUSR1, signal.SIG_IGN)\n{PROGRAM}"),
            ]);
            let mut terminal = Terminal::start(&command);
            let mut said = String::new();
            terminal.end();
            said.push_str(&String::from_utf8_lossy(terminal.sent()));
            said
        };
        let said = run(&around(bed));
        assert!(said.contains("tried") && said.contains("over"), "{said}");
        assert!(!said.contains("signalled") && !said.contains("nice 17"), "{said}");
        let said = run(&[]);
        assert!(said.contains("signalled") || said.contains("nice 17"), "the control: {said}");
    });
}

#[each(user, tier)]
fn a_process_changes_its_own_priority_and_processors(who: Who, tier: Tier) {
    const PROGRAM: &str = "
import os
os.setpriority(os.PRIO_PROCESS, 0, 5)
os.sched_setaffinity(0, os.sched_getaffinity(0))
os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
print(os.getpriority(os.PRIO_PROCESS, 0))";
    every_way(who, tier, |bed, around| {
        let around = around(bed);
        let (program, rest) = around.split_first().expect("a program");
        let output = bed.free(program).args(rest).args(["python3", "-c", PROGRAM]).output().expect("pinfold");
        assert_eq!(output.stdout, b"5\n", "{}", describe(&output));
    });
}

/// Calls that change other processes by their number. None needs more rights than the same user has.
#[each(user, tier)]
fn processes_outside_are_not_rescheduled_by_their_number(who: Who, tier: Tier) {
    const PROGRAM: &str = "
import os, sys
victim = int(sys.argv[1])
for deed in (lambda: os.sched_setscheduler(victim, os.SCHED_BATCH, os.sched_param(0)),
             lambda: os.sched_setaffinity(victim, {min(os.sched_getaffinity(victim))}),
             lambda: os.setpriority(os.PRIO_PROCESS, victim, 17)):
    try: deed()
    except OSError: pass
print(os.sched_getscheduler(victim) if os.path.exists(f'/proc/{victim}') else 'hidden')";
    every_way(who, tier, |bed, around| {
        let attempt = |around: &[String]| {
            let mut victim = bed.free("sleep").arg("1000").spawn().expect("sleep");
            let (program, rest) = around.split_first().map_or(("env", &[][..]), |(p, r)| (p.as_str(), r));
            let number = victim.id().to_string();
            let output = bed.free(program).args(rest).args(["python3", "-c", PROGRAM, &number]).output();
            let output = output.expect("it can be started");
            let policy = Command::new("chrt").args(["-p", &number]).output().expect("chrt");
            victim.kill().and_then(|()| victim.wait()).expect("a child");
            (String::from_utf8_lossy(&policy.stdout).contains("BATCH"), describe(&output))
        };
        let (changed, said) = attempt(&around(bed));
        assert!(!changed, "{said}");
        let (changed, said) = attempt(&[]);
        assert!(changed, "the control: {said}");
    });
}

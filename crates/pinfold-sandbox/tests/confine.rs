//! What a profile says is what a command meets: every limit with its control.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::kit::{Bed, TIERS};

use pinfold_sandbox::{
    Attempt, Command, ContinueAll, End, Intent, Layer, Limits, Network, Profile, Reply, Signalling,
    SyscallHandler, Temp, Tier, Writes, start,
};

#[test]
fn the_folder_can_be_written_and_nothing_else() {
    for tier in TIERS {
        let bed = Bed::new();
        let (end, said) = bed.run(tier, &bed.profile(), "echo in > in && ! echo out > $OUT/out && cat in");
        assert_eq!(end, End::Code(0), "{tier}: {said}");
        assert!(bed.folder.join("in").exists() && !bed.outside.join("out").exists());
        let mut wider = bed.profile();
        wider.writes = Writes::Beneath(vec![bed.folder.clone(), bed.outside.clone()]);
        assert_eq!(bed.run(tier, &wider, "echo out > $OUT/out").0, End::Code(0), "the control");
        assert!(bed.outside.join("out").exists());
    }
}

#[test]
fn reading_is_free_but_for_what_is_hidden() {
    for tier in TIERS {
        let bed = Bed::new();
        fs::write(bed.outside.join("plain"), "plain").unwrap();
        fs::write(bed.outside.join("key"), "key").unwrap();
        fs::create_dir(bed.outside.join("keys")).unwrap();
        fs::write(bed.outside.join("keys/one"), "one").unwrap();
        let mut profile = bed.profile();
        let script = "cat $OUT/plain; cat $OUT/key $OUT/keys/one; true";
        let (_, said) = bed.run(tier, &profile, script);
        assert_eq!(said, "plainkeyone", "the control");
        profile.hidden = vec![bed.outside.join("key"), bed.outside.join("keys")];
        let (_, said) = bed.run(tier, &profile, script);
        assert!(
            said.starts_with("plain") && !said.contains("plainkey") && said.contains("denied"),
            "{tier}: {said}"
        );
    }
}

#[test]
fn a_hidden_place_that_is_gone_stops_no_start_unless_the_run_could_put_it_back() {
    let bed = Bed::new();
    fs::write(bed.outside.join("key"), "key").unwrap();
    let hiding = |gone: PathBuf| bed.profile().with_hidden(vec![gone, bed.outside.join("key")]);
    for tier in TIERS {
        let (_, said) = bed.run(tier, &hiding(bed.outside.join("gone/vault")), "echo ran; cat $OUT/key");
        assert!(said.starts_with("ran\n") && !said.contains("key\n"), "{tier}: {said}");
    }
    let profile = hiding(bed.folder.join("gone"));
    assert!(start(&profile, Command::new("true"), Tier::Full, Signalling::Own, true).is_err());
}

#[test]
fn below_a_cover_nothing_is_seen_but_what_shows_through() {
    let bed = Bed::new();
    let all = bed.folder.parent().unwrap().to_owned();
    for (name, text) in [("outside/own", "own\n"), ("outside/shown", "shown\n"), ("folder/inner", "inner\n")]
    {
        fs::write(all.join(name), text).unwrap();
    }
    fs::create_dir(bed.folder.join("vault")).unwrap();
    fs::write(bed.folder.join("vault/key"), "key\n").unwrap();
    let covered = bed
        .profile()
        .with_covered(vec![all.clone()])
        .with_visible(vec![bed.outside.join("shown")])
        .with_hidden(vec![bed.folder.join("vault")]);
    let script = "cat $OUT/own; cat $OUT/shown; cat inner; cat vault/key; echo new > made; cat made; \
                  (echo x > $OUT/shown) 2>&- || echo kept; (echo x > $OUT/new) 2>&- || echo none";
    for tier in TIERS {
        // Free, everything can be read.
        let (_, said) = bed.run(tier, &bed.profile(), "cat $OUT/own $OUT/shown vault/key");
        assert_eq!(said, "own\nshown\nkey\n", "{tier:?}");
        let (_, said) = bed.run(tier, &covered, script);
        let lines: Vec<&str> = said.lines().filter(|line| !line.starts_with("cat:")).collect();
        assert_eq!(lines, ["shown", "inner", "new", "kept", "none"], "{tier:?}: {said}");
        // What appears later is not seen either.
        let later = all.join("later");
        fs::write(&later, "later\n").unwrap();
        let (_, said) = bed.run(tier, &covered, "cat $OUT/../later");
        assert!(said.starts_with("cat:"), "{tier:?}: {said}");
        assert_eq!(fs::read_to_string(bed.outside.join("shown")).unwrap(), "shown\n");
        assert!(!bed.outside.join("new").exists());
    }
    // With mounts, not even the names are seen.
    let (_, said) = bed.run(Tier::Full, &covered, "ls $OUT");
    assert_eq!(said, "shown\n");
}

#[test]
fn read_only_pinned_and_absent_names_hold_inside_the_folder() {
    let bed = Bed::new();
    fs::create_dir_all(bed.folder.join("repo/hooks")).unwrap();
    let attack =
        "echo x > repo/hooks/x; mv repo away; rm -rf repo/hooks; mkdir .claude/x; echo {} > .mcp.json; true";
    let mut profile = bed.profile();
    profile.pinned = vec![bed.folder.join("repo")];
    profile.read_only = vec![bed.folder.join("repo/hooks")];
    profile.absent = vec![bed.folder.join(".claude"), bed.folder.join(".mcp.json")];
    let (end, _) = bed.run(Tier::Full, &profile, &format!("echo y > repo/y; {attack}"));
    assert_eq!(end, End::Code(0));
    let mut left: Vec<_> = fs::read_dir(&bed.folder).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["repo"], "no name appeared, none was left behind");
    assert!(bed.folder.join("repo/y").exists(), "a pinned directory can be written");
    assert_eq!(fs::read_dir(bed.folder.join("repo/hooks")).unwrap().count(), 0);
    bed.run(Tier::Full, &bed.profile(), attack);
    assert!(bed.folder.join("away").exists() && bed.folder.join(".mcp.json").exists(), "the control");
}

#[test]
fn a_layer_is_read_shared_and_written_privately() {
    let bed = Bed::new();
    let (shared, private, work) = (bed.outside.join("shared"), bed.outside.join("p"), bed.outside.join("w"));
    for directory in [&shared, &private, &work] {
        fs::create_dir(directory).unwrap();
    }
    fs::write(shared.join("old"), "old").unwrap();
    let mut profile = bed.profile();
    profile.layers = vec![Layer { shared: shared.clone(), private: private.clone(), work }];
    let script = "cat $OUT/shared/old && echo new > $OUT/shared/new && echo changed > $OUT/shared/old";
    assert_eq!(bed.run(Tier::Full, &profile, script), (End::Code(0), "old".into()));
    assert_eq!(fs::read_to_string(shared.join("old")).unwrap(), "old");
    assert!(!shared.join("new").exists() && private.join("new").exists());
    let (_, said) = bed.run(Tier::Full, &profile, "cat $OUT/shared/old");
    assert_eq!(said, "changed\n", "the private layer is kept for the next run");
}

#[test]
fn temporary_files_are_private_and_may_be_shared_by_a_session() {
    let bed = Bed::new();
    let token = format!("pinfold-test-{}", std::process::id());
    let script = format!("echo x > /tmp/{token} && cat /var/tmp/{token}");
    assert_eq!(bed.run(Tier::Full, &bed.profile(), &script), (End::Code(0), "x\n".into()));
    assert!(!Path::new("/tmp").join(&token).exists());
    let mut profile = bed.profile();
    profile.temp = Temp::Directory(bed.outside.clone());
    assert_eq!(bed.run(Tier::Full, &profile, &script).0, End::Code(0));
    assert!(bed.outside.join(token).exists());
}

#[test]
fn a_run_that_only_reads_still_has_its_temporary_directory() {
    let bed = Bed::new();
    let profile = bed.profile().with_writes(Writes::Nowhere);
    assert_eq!(bed.run(Tier::Full, &profile, "! echo x > x && echo y > /tmp/y").0, End::Code(0));
}

#[test]
fn exit_codes_and_signals_come_out_as_shells_count_them() {
    for tier in TIERS {
        let bed = Bed::new();
        assert_eq!(bed.run(tier, &bed.profile(), "exit 3").0, End::Code(3));
        assert_eq!(bed.run(tier, &bed.profile(), "kill -TERM $$").0, End::Code(143));
        let missing = start(&bed.profile(), Command::new("no-such-program"), tier, Signalling::Own, false);
        assert_eq!(missing.unwrap_err().exit_code(), 127);
        let folder = start(&bed.profile(), Command::new("/etc"), tier, Signalling::Own, false);
        assert_eq!(folder.unwrap_err().exit_code(), 126);
    }
}

#[test]
fn a_start_that_fails_leaves_the_callers_signals_as_they_were() {
    let blocked = || {
        let status = fs::read_to_string("/proc/thread-self/status").unwrap();
        status.lines().find(|line| line.starts_with("SigBlk:")).map(str::to_owned)
    };
    let before = blocked();
    let bed = Bed::new();
    let profile = bed.profile().with_writes(Writes::Beneath(vec![bed.folder.join("missing")]));
    assert!(start(&profile, Command::new("true"), Tier::Full, Signalling::Own, true).is_err());
    assert_eq!(blocked(), before);
    assert_eq!(bed.run(Tier::Full, &bed.profile(), "exit 0").0, End::Code(0));
    assert_eq!(blocked(), before);
}

#[test]
fn everything_ends_with_the_command() {
    for tier in TIERS {
        let bed = Bed::new();
        let script = "setsid sh -c 'sleep 0.4; echo x > survived' </dev/null >/dev/null 2>&1 & exit 0";
        assert_eq!(bed.run(tier, &bed.profile(), script).0, End::Code(0));
        std::thread::sleep(Duration::from_millis(800));
        assert!(!bed.folder.join("survived").exists(), "{tier}");
    }
}

#[test]
fn time_that_is_over_ends_the_whole_tree() {
    for tier in TIERS {
        let bed = Bed::new();
        let mut profile = bed.profile();
        profile.limits = Limits { wall_time: Some(Duration::from_millis(200)), ..Limits::default() };
        assert_eq!(bed.run(tier, &profile, "trap '' TERM; sleep 30 & wait").0, End::TimedOut);
    }
}

#[test]
fn limits_have_their_own_clear_end() {
    let bed = Bed::new();
    let mut profile = bed.profile();
    profile.limits.file_size = Some(4096);
    let (end, _) = bed.run(Tier::Full, &profile, "head -c 9000 /dev/zero > big");
    assert_ne!(end, End::Code(0));
    assert_eq!(fs::metadata(bed.folder.join("big")).unwrap().len(), 4096);
    profile.limits = Limits { processes: Some(8), ..Limits::default() };
    let many = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 5 & done; exit 7";
    if std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").unwrap()) == 0 {
        let refused = start(&profile, Command::new("true"), Tier::Full, Signalling::Own, false);
        assert!(refused.unwrap_err().to_string().contains("ordinary user"));
        return;
    }
    assert_ne!(bed.run(Tier::Full, &profile, many).0, End::Code(7));
    assert_eq!(bed.run(Tier::Full, &bed.profile(), many).0, End::Code(7), "the control");
}

#[test]
fn the_network_is_off_and_loopback_is_the_runs_own() {
    let bed = Bed::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
    let bash = |profile: &Profile| {
        let args: [OsString; 2] = ["-c".into(), script.clone().into()];
        let command = Command::new("bash").args(args);
        start(profile, command, Tier::Full, Signalling::Own, true)
            .unwrap()
            .supervise(&mut ContinueAll)
            .unwrap()
    };
    assert_ne!(bash(&bed.profile()), End::Code(0));
    assert_eq!(bash(&bed.profile().with_network(Network::Host)), End::Code(0), "the control");
}

#[test]
fn a_granted_place_that_was_swapped_is_not_granted() {
    let bed = Bed::new();
    let mut profile = bed.profile();
    std::os::unix::fs::symlink(&bed.outside, bed.folder.join("link")).unwrap();
    profile.writes = Writes::Beneath(vec![bed.folder.join("link")]);
    assert!(start(&profile, Command::new("true"), Tier::Full, Signalling::Own, false).is_err());
}

/// Remembers, and refuses one name.
#[derive(Default)]
struct Witness(Vec<(Intent, PathBuf)>);

impl SyscallHandler for Witness {
    fn attempt(&mut self, attempt: &Attempt) -> Reply {
        self.0.push((attempt.intent, attempt.place.clone()));
        if attempt.place.ends_with("never") { Reply::Refuse } else { Reply::Continue }
    }
}

#[test]
fn what_is_tried_is_seen_and_can_be_refused() {
    for tier in TIERS {
        let bed = Bed::new();
        let mut witness = Witness::default();
        let script =
            "echo a > a; mkdir d; mv a d/b; ln -s x l; rm l; echo n > never; echo o > $OUT/o; cat d/b";
        let (_, said) = bed.run_watched(tier, &bed.profile(), script, &mut witness);
        assert!(said.ends_with("a\n"), "{said}");
        assert!(!bed.folder.join("never").exists());
        let at = |name: &str| bed.folder.join(name);
        for expected in [
            (Intent::Create, at("a")),
            (Intent::MakeDir, at("d")),
            (Intent::MoveFrom, at("a")),
            (Intent::MoveTo, at("d/b")),
            (Intent::Symlink, at("l")),
            (Intent::Remove, at("l")),
            (Intent::Create, at("never")),
            (Intent::Create, bed.outside.join("o")),
        ] {
            assert!(witness.0.contains(&expected), "{tier}: {expected:?} not in {:?}", witness.0);
        }
    }
}

#[test]
fn the_watch_sees_through_links_that_are_there_and_links_that_come() {
    for tier in TIERS {
        let bed = Bed::new();
        fs::write(bed.folder.join("never"), "").unwrap();
        fs::create_dir(bed.folder.join("held")).unwrap();
        std::os::unix::fs::symlink("never", bed.folder.join("link")).unwrap();
        let mut witness = Witness::default();
        // `d` is known as a directory when a link takes its place.
        let script =
            "echo a > link; mkdir d; echo b > d/b; rm -r d; ln -s held d; echo c > d/never; chmod 700 link";
        bed.run_watched(tier, &bed.profile(), script, &mut witness);
        assert_eq!(fs::read_to_string(bed.folder.join("never")).unwrap(), "");
        assert!(!bed.folder.join("held/never").exists(), "{tier}: {:?}", witness.0);
        assert!(witness.0.contains(&(Intent::Metadata, bed.folder.join("never"))), "{tier}: {:?}", witness.0);
    }
}

/// `/proc/self` is another's for the watch than for the process; mode and owner have no other guard on this tier.
#[test]
fn the_watch_goes_through_proc_as_the_process_would() {
    let bed = Bed::new();
    fs::create_dir(bed.folder.join("sub")).unwrap();
    fs::write(bed.folder.join("never"), "").unwrap();
    std::os::unix::fs::symlink("/proc/self/cwd", bed.folder.join("cwd")).unwrap();
    let script = "cd sub; chmod 700 /proc/self/cwd/../never; chmod 700 ../cwd/../never; exec 3< ..; \
                  chmod 700 /proc/self/fd/3/never; chmod 700 /dev/fd/3/never; chmod 700 /proc/thread-self/cwd/../never; \
                  chmod 700 /proc/self/cwd/../sub";
    let mut witness = Witness::default();
    bed.run_watched(Tier::Landlock, &bed.profile(), script, &mut witness);
    let seen = |name: &str| {
        let attempt = (Intent::Metadata, bed.folder.join(name));
        witness.0.iter().filter(|seen| **seen == attempt).count()
    };
    assert_eq!((seen("never"), seen("sub")), (5, 1), "{:?}", witness.0);
}

#[test]
fn a_hundred_runs_side_by_side_leave_nothing_behind() {
    let bed = Bed::new();
    let mut profile = bed.profile();
    profile.absent = vec![bed.folder.join(".mcp.json")];
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..12 {
                    let (end, said) = bed.run(Tier::Full, &profile, "! echo x 2>/dev/null > .mcp.json");
                    assert_eq!(end, End::Code(0), "{said}");
                }
            });
        }
    });
    assert_eq!(fs::read_dir(&bed.folder).unwrap().count(), 0);
}

#[test]
fn a_stop_of_a_traced_command_is_no_end() {
    #[cfg(target_arch = "x86_64")]
    const PTRACE: &str = "101";
    #[cfg(target_arch = "aarch64")]
    const PTRACE: &str = "117";
    for tier in TIERS {
        for (then, expected, says) in [
            ("$SIG{USR1} = sub { print 'heard ' }; kill 'USR1', $$; print 'after'; exit 7", 7, "heard after"),
            ("exec 'sh', '-c', 'echo after; exit 9'", 9, "after\n"),
            ("kill 'TERM', $$; sleep 60", 128 + 15, ""),
        ] {
            let bed = Bed::new();
            for (traced, is_traced) in [("", "0"), ("syscall(PTRACE, 0, 0, 0, 0); ", "1")] {
                let traced = traced.replace("PTRACE", PTRACE);
                let script =
                    format!("exec perl -e \"\\$| = 1; {}\"", format!("{traced}{then}").replace('$', "\\$"));
                let (end, said) = bed.run(tier, &bed.profile(), &script);
                assert_eq!((end, said.as_str()), (End::Code(expected), says), "{tier}, {is_traced}: {then}");
            }
        }
    }
}

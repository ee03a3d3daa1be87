use std::fs;
use std::io::{IoSlice, IoSliceMut, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use pinfold_egress::ConnectMethod;
use pinfold_host::Host;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

use super::super::program::Holder;
use super::*;

/// Something that happens while a question is open.
struct Meanwhile(Box<dyn FnOnce() + Send>);

impl Debug for Meanwhile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Meanwhile")
    }
}

/// Says yes, and remembers what it was asked; `shares` is given to another process meanwhile.
#[derive(Debug, Default)]
struct Yes {
    programs: Mutex<Vec<String>>,
    shares: Mutex<Option<TcpStream>>,
    others: Mutex<Vec<Child>>,
    meanwhile: Mutex<Option<Meanwhile>>,
    ends: Arc<Mutex<Vec<Result<(), String>>>>,
}

/// An approval that notes its end.
struct Ended(Arc<Mutex<Vec<Result<(), String>>>>);

impl HostApproval for Ended {
    fn close(self: Box<Self>, end: Result<(), &str>) {
        self.0.lock().unwrap().push(end.map_err(str::to_owned));
    }
}

impl HostApprover for Yes {
    fn may_connect(
        &self,
        request: &HostRequest,
        _: &(dyn Fn() -> bool + Sync),
    ) -> Result<Box<dyn HostApproval>, String> {
        self.programs.lock().unwrap().push(request.program());
        if let Some(stream) = self.shares.lock().unwrap().take() {
            self.others.lock().unwrap().push(holder(stream));
        }
        if let Some(Meanwhile(happens)) = self.meanwhile.lock().unwrap().take() {
            happens();
        }
        Ok(Box::new(Ended(Arc::clone(&self.ends))))
    }

    fn denies(&self, _: &HostRequest) -> Option<String> {
        None
    }
}

impl Drop for Yes {
    fn drop(&mut self) {
        for other in &mut *self.others.lock().unwrap() {
            end(other);
        }
    }
}

/// Held by a test that looks at who holds what: a child has everything of its parent until it executes its program.
static ALONE: Mutex<()> = Mutex::new(());

/// Another process that holds a connection.
fn holder(stream: TcpStream) -> Child {
    Command::new("sleep").arg("60").stdin(Stdio::from(OwnedFd::from(stream))).spawn().unwrap()
}

fn end(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (client, listener.accept().unwrap().0)
}

/// The refusals of a connection from this port, once it was decided about.
fn refused(decides: &Arc<Yes>, from: u16) -> Vec<String> {
    let init = i32::try_from(std::process::id()).unwrap();
    let asked = Arc::new(PendingHosts::new(Arc::clone(decides) as Arc<_>, init));
    let request = ConnectRequest {
        host: Host::parse("a.test").unwrap(),
        port: 443,
        method: ConnectMethod::Direct,
        source_port: from,
    };
    let whys = Arc::new(Mutex::new(Vec::new()));
    let decision = Arc::clone(&whys);
    let refuse = move |why: ConnectionRefusalCause<'_>, _: ConnectingProcess<'_>| {
        let ConnectionRefusalCause::Clause(why) = why else { panic!("its address is not looked at") };
        decision.lock().unwrap().push(why.to_owned());
        ConnectRefusal { id: String::new(), message: why.to_owned() }
    };
    let mut waits = Some(asked.take(&request, true, Box::new(refuse)));
    for _ in 0..500 {
        if asked.state().waiting.values().all(Vec::is_empty) {
            // It was answered: the relay is through with it.
            waits = None;
        }
        if waits.is_none() && asked.state().open == 0 && asked.state().waiting.is_empty() {
            return std::mem::take(&mut *whys.lock().unwrap());
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("it still waits");
}

#[test]
fn a_connection_that_no_process_holds_is_no_question() {
    let _alone = ALONE.lock();
    let (client, _server) = connection();
    let from = client.local_addr().unwrap().port();
    let decides = Arc::new(Yes::default());
    assert!(refused(&decides, from).is_empty(), "the control");
    assert_eq!(*decides.ends.lock().unwrap(), [Ok(())]);
    assert_eq!(decides.programs.lock().unwrap().len(), 1);

    let (here, there) = UnixStream::pair().unwrap();
    let fds = [client.as_fd()];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    assert!(message.push(SendAncillaryMessage::ScmRights(&fds)));
    sendmsg(&here, &[IoSlice::new(b"x")], &mut message, SendFlags::empty()).unwrap();
    drop(client);
    let why = refused(&decides, from);
    assert!(why.len() == 1 && why[0].starts_with("no process holds the connection"), "{why:?}");
    assert_eq!(decides.programs.lock().unwrap().len(), 1, "nothing was asked");

    // It was open all the time.
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = RecvAncillaryBuffer::new(&mut space);
    recvmsg(&there, &mut [IoSliceMut::new(&mut [0])], &mut message, RecvFlags::empty()).unwrap();
    let taken = message.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    TcpStream::from(taken.unwrap()).shutdown(Shutdown::Both).unwrap();
}

#[test]
fn a_question_names_every_process_that_holds_the_connection() {
    let _alone = ALONE.lock();
    let (client, _server) = connection();
    let from = client.local_addr().unwrap().port();
    let mut other = holder(client.try_clone().unwrap());
    let decides = Arc::new(Yes::default());
    assert!(refused(&decides, from).is_empty());
    end(&mut other);
    let programs = std::mem::take(&mut *decides.programs.lock().unwrap());
    assert!(programs[0].contains(", ") && programs[0].contains("sleep"), "{programs:?}");
    assert!(refused(&decides, from).is_empty());
    let programs = decides.programs.lock().unwrap();
    assert!(!programs[0].contains("sleep"), "the control: {programs:?}");
}

#[test]
fn a_yes_is_for_the_processes_that_were_asked_about() {
    let _alone = ALONE.lock();
    let (client, _server) = connection();
    let from = client.local_addr().unwrap().port();
    let decides = Arc::new(Yes::default());
    *decides.shares.lock().unwrap() = Some(client.try_clone().unwrap());
    let why = refused(&decides, from);
    assert_eq!(why, ["other processes hold the connection than were asked about"]);
    assert_eq!(*decides.ends.lock().unwrap(), [Err(why[0].clone())], "what was approved is told as refused");
}

/// A shell that holds a connection as its output, and executes `command` once it is told to.
fn shell(client: TcpStream, program: &Path, command: &str) -> Child {
    let script = format!("read go; {command}");
    let stdout = Stdio::from(OwnedFd::from(client));
    Command::new(program).args(["-c", &script]).stdin(Stdio::piped()).stdout(stdout).spawn().unwrap()
}

/// Waits until a process runs this program, since a child is a copy of its parent before.
fn runs(pid: u32, program: &Path) {
    let is_there = || fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == program);
    assert!((0..500).any(|_| is_there() || (thread::sleep(Duration::from_millis(10)), false).1));
}

fn found(program: &str) -> PathBuf {
    fs::canonicalize(program).unwrap()
}

#[test]
fn a_yes_is_for_the_program_that_was_asked_about_and_no_other_that_its_process_executes() {
    let _alone = ALONE.lock();
    let (sh, sleep) = (found("/bin/sh"), found("/bin/sleep"));
    let folder = tempfile::tempdir().unwrap();
    let same_name = folder.path().join(sh.file_name().unwrap());
    fs::copy(&sh, &same_name).unwrap();
    let other = Some("its process runs another program than was asked about");
    let again = format!("exec {} -c 'read on; :'", same_name.display());
    for (command, then, expected) in [
        ("read on; :", &sh, None),
        ("exec sleep 60", &sleep, other),
        // The same name is not the same program.
        (&*again, &same_name, other),
    ] {
        let (client, _server) = connection();
        let from = client.local_addr().unwrap().port();
        let mut child = shell(client, &sh, command);
        runs(child.id(), &sh);
        let decides = Arc::new(Yes::default());
        let (mut go, then, pid) = (child.stdin.take().unwrap(), then.clone(), child.id());
        *decides.meanwhile.lock().unwrap() = Some(Meanwhile(Box::new(move || {
            go.write_all(b"go\n").unwrap();
            runs(pid, &then);
            // Its input stays open: without one it ends.
            std::mem::forget(go);
        })));
        let why = refused(&decides, from);
        assert_eq!(why, Vec::from_iter(expected), "{command}");
        let program = sh.file_name().unwrap().to_str().unwrap();
        assert_eq!(*decides.programs.lock().unwrap(), [program], "{command}");
        end(&mut child);
    }
}

#[test]
fn processes_that_were_answered_differently_are_asked_about_together() {
    let asked = PendingHosts::new(Arc::new(Yes::default()), 1);
    let program = |pid: u32| Holder::from_pid(pid.cast_signed()).unwrap().program;
    let mut other = Command::new("sleep").arg("60").spawn().unwrap();
    runs(other.id(), &found("/bin/sleep"));
    let (program, other_program) = (program(std::process::id()), program(other.id()));
    end(&mut other);
    let (yes, no, new) = (((1, 1), &program), ((2, 2), &program), ((3, 3), &program));
    let (executed, executed_after_no) = (((1, 1), &other_program), ((2, 2), &other_program));
    let why = || Err("no".to_owned());
    asked.state().answered.insert(((1, 1), "k".to_owned()), Ok(program.clone()));
    asked.state().answered.insert(((2, 2), "k".to_owned()), Err("no".to_owned()));
    for (programs, expected) in [
        (vec![yes], Some(Ok(()))),
        (vec![no], Some(why())),
        (vec![yes, no], Some(why())),
        (vec![yes, new], None),
        (vec![new, no], Some(why())),
        (vec![executed], None),
        (vec![yes, executed], None),
        // A no is for the process, so that it cannot ask for ever.
        (vec![executed_after_no], Some(why())),
    ] {
        assert_eq!(asked.answered("k", &programs), expected, "{programs:?}");
    }
}

//! A command that ends with its input: its client has ended, maybe because it was killed.

use std::io;
use std::thread;
use std::time::Duration;

use pinfold_sandbox::Remote;
use rustix::event::{PollFd, PollFlags, poll};

/// `SIGTERM`, which asks a process to end.
const TERM: i32 = 15;

/// Time that a command has to end after it was asked to.
const GRACE: Duration = Duration::from_secs(2);

/// Ends the command once standard input has no writer left: `grace` later, first with `SIGTERM`, then with `SIGKILL`. The
/// thread is not waited for: it ends with the process.
pub(super) fn tie(command: Remote, grace: Duration) -> io::Result<()> {
    let leash = thread::Builder::new().name("leash".to_owned());
    let wait = move || {
        wait_for_end();
        thread::sleep(grace);
        // Both fail where it has ended already.
        let _ = command.signal(TERM);
        thread::sleep(GRACE);
        let _ = command.kill();
    };
    leash.spawn(wait).map(drop)
}

/// Waits until standard input has no writer any more. Bytes that are not read yet do not matter.
/// [poll(2)](https://man7.org/linux/man-pages/man2/poll.2.html)
fn wait_for_end() {
    let input = io::stdin();
    loop {
        let mut fds = [PollFd::new(&input, PollFlags::RDHUP)];
        match poll(&mut fds, None) {
            Err(rustix::io::Errno::INTR) => {}
            // An input that cannot be watched is as good as ended.
            Ok(_) | Err(_) => return,
        }
    }
}

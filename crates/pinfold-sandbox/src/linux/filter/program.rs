//! Assembly of a filter: rules become a BPF program.

use libc::{c_int, c_long, sock_filter};

use super::{Backing, Group, rules};
use crate::profile::Profile;

/// Result of the filter for a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Allow,
    /// Fails with this error number.
    Refuse(c_int),
    /// The supervisor is notified and decides. The error number applies without a supervisor.
    Watch {
        unwatched: Option<c_int>,
    },
}

/// A test of the low 32 bits of an argument.
#[derive(Clone, Copy)]
pub(super) enum Test {
    Equals(u32, u32),
    /// Two arguments, both with these values.
    Both([(u32, u32); 2]),
    /// Any of these bits is set.
    AnyOf(u32, u32),
    /// The family of a socket, and its kind without flags.
    Socket(c_int, c_int),
}

/// One system call: the first test that holds decides, else `otherwise`.
pub(super) struct Rule {
    pub(super) number: c_long,
    pub(super) tests: Vec<(Test, Action)>,
    pub(super) otherwise: Action,
}

/// A BPF program, with user notifications for a supervisor.
pub(crate) struct Filter {
    code: Vec<sock_filter>,
    /// Index of each instruction that notifies, with its action without a supervisor.
    questions: Vec<(usize, u32)>,
}

impl Filter {
    /// The filter for a profile.
    pub(crate) fn new(profile: &Profile, backing: Backing, group: Group) -> Self {
        let mut filter = Self { code: prologue(), questions: Vec::with_capacity(64) };
        for rule in rules(profile, backing, group) {
            filter.assemble(&rule);
        }
        filter.code.push(ret(libc::SECCOMP_RET_ALLOW));
        filter
    }

    /// Replaces every notification by its action without a supervisor. Does not allocate: it is known only after the fork
    /// whether notifications are available.
    pub(crate) fn drop_notifications(&mut self) {
        for (at, answer) in self.questions.drain(..) {
            if let Some(question) = self.code.get_mut(at) {
                question.k = answer;
            }
        }
    }

    /// The program.
    pub(crate) fn code(&self) -> &[sock_filter] {
        &self.code
    }

    fn assemble(&mut self, rule: &Rule) {
        let Ok(number) = u32::try_from(rule.number) else { return };
        let start = self.code.len();
        self.code.push(jump(libc::BPF_JEQ, number, 0, 0));
        for &(test, action) in &rule.tests {
            match test {
                Test::Equals(arg, wanted) => {
                    self.code.extend([load(ARGS + 8 * arg), jump(libc::BPF_JEQ, wanted, 0, 1)]);
                }
                Test::Both([(first, one), (second, other)]) => {
                    self.code.extend([load(ARGS + 8 * first), jump(libc::BPF_JEQ, one, 0, 3)]);
                    self.code.extend([load(ARGS + 8 * second), jump(libc::BPF_JEQ, other, 0, 1)]);
                }
                Test::Socket(family, kind) => {
                    const KIND: u32 = 0xf;
                    let mask = statement(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, KIND);
                    self.code.extend([load(ARGS), jump(libc::BPF_JEQ, family.cast_unsigned(), 0, 4)]);
                    self.code.extend([load(ARGS + 8), mask, jump(libc::BPF_JEQ, kind.cast_unsigned(), 0, 1)]);
                }
                Test::AnyOf(arg, bits) => {
                    self.code.extend([load(ARGS + 8 * arg), jump(libc::BPF_JSET, bits, 0, 1)]);
                }
            }
            self.end(action);
        }
        self.end(rule.otherwise);
        // Every body ends the program, so the number stays loaded for the next rule.
        let skip = u8::try_from(self.code.len() - start - 1).unwrap_or(u8::MAX);
        if let Some(first) = self.code.get_mut(start) {
            first.jf = skip;
        }
    }

    /// Ends the program with what an action means.
    fn end(&mut self, action: Action) {
        let value = match action {
            Action::Allow => libc::SECCOMP_RET_ALLOW,
            Action::Refuse(errno) => refusal(errno),
            Action::Watch { unwatched } => {
                let answer = unwatched.map_or(libc::SECCOMP_RET_ALLOW, refusal);
                self.questions.push((self.code.len(), answer));
                libc::SECCOMP_RET_USER_NOTIF
            }
        };
        self.code.push(ret(value));
    }
}

pub(super) fn always(number: c_long, action: Action) -> Rule {
    Rule { number, tests: Vec::new(), otherwise: action }
}

#[cfg(target_arch = "x86_64")]
const NATIVE: u32 = 0xc000_003e; // AUDIT_ARCH_X86_64
#[cfg(target_arch = "aarch64")]
const NATIVE: u32 = 0xc000_00b7; // AUDIT_ARCH_AARCH64

/// Offsets in `struct seccomp_data`.
const NUMBER: u32 = 0;

const ARCH: u32 = 4;

const ARGS: u32 = 16;

/// The first system call that this filter knows nothing of (Linux 6.18 ends with `listns`, 470). What came later may do
/// anything; programs meet kernels that do not have it.
const FIRST_UNKNOWN: u32 = 471;

/// Foreign system-call tables end the process.
fn prologue() -> Vec<sock_filter> {
    let mut code = vec![
        load(ARCH),
        jump(libc::BPF_JEQ, NATIVE, 1, 0),
        ret(libc::SECCOMP_RET_KILL_PROCESS),
        load(NUMBER),
    ];
    // x32 numbers (bit 30) are among them.
    code.push(jump(libc::BPF_JGE, FIRST_UNKNOWN, 0, 1));
    code.push(ret(refusal(libc::ENOSYS)));
    code
}

fn refusal(errno: c_int) -> u32 {
    libc::SECCOMP_RET_ERRNO | errno.cast_unsigned()
}

fn load(offset: u32) -> sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset)
}

fn ret(value: u32) -> sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, value)
}

fn statement(code: u32, k: u32) -> sock_filter {
    sock_filter { code: narrow(code), jt: 0, jf: 0, k }
}

fn jump(kind: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: narrow(libc::BPF_JMP | kind | libc::BPF_K), jt, jf, k }
}

#[expect(clippy::cast_possible_truncation, reason = "instruction codes are 16 bits")]
const fn narrow(code: u32) -> u16 {
    code as u16
}

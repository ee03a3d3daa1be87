//! The calls of one connection, in a session of its own, one after the other.

use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use pinfold::check::MAX_LINE_LEN;
use pinfold::consent::{Approver, Caller};
use pinfold::{CallRequest, RawCall, Session};
use pinfold_approvals::socket::{JsonLines, Peer};
use pinfold_tools::HookedSession;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};

use super::wire::{ClientApprover, Wire};
use super::{Role, ServeState, error};
use crate::approvers::for_a_client;
use crate::call::CallLine;
use crate::exit::Failure;
use crate::record::span::SessionSpan;
use crate::session;

impl ServeState {
    /// Makes the calls of a connection until it ends. `asks`: who answers questions about them themselves.
    pub(super) fn calls(
        &self,
        mut frames: JsonLines,
        stream: &UnixStream,
        asks: Option<Peer>,
    ) -> io::Result<()> {
        // In the record from here to the end of the connection.
        let (attended, follow, _span) = match self.session(asks.is_some()) {
            Ok(opened) => opened,
            Err(failure) => return frames.write(&error(&failure.to_single_line())),
        };
        frames.write(&self.greet(Role::Call, Some(attended.session().id())))?;
        let wire = Mutex::new(Wire::new(frames.into_reader(), stream.try_clone()?));
        let asks = asks.map(|peer| ClientApprover::new(&wire, peer));
        let waits = || !self.closing.load(Ordering::SeqCst) && is_there(stream);
        let mut number = 0_u64;
        loop {
            // An approver takes the wire meanwhile, so it is released at once.
            let next = Wire::lock(&wire).next()?;
            let Some(line) = next else { return Ok(()) };
            number += 1;
            if line.trim_ascii().is_empty() {
                continue;
            }
            let answer = match understood(&line) {
                Ok(call) => {
                    follow(attended.session());
                    let asks = asks.as_ref().map(|asks| asks as &dyn Approver);
                    let caller = Caller { waits: Some(&waits), asks, ..Caller::default() };
                    {
                        let raw = RawCall::new(&call.tool, call.input);
                        json!(attended.call(CallRequest::new(&raw).with_caller(caller)))
                    }
                }
                Err(why) => json!({"id": null, "error": why, "line": number}),
            };
            Wire::lock(&wire).write_line(&answer)?;
        }
    }

    fn session(&self, asks: bool) -> Result<(HookedSession, impl Fn(&Session), SessionSpan), Failure> {
        let mut asker = None;
        let (opened, span) = session::open_for_an_agent(&self.wish, "serve", |reach| {
            let (known, asking) = for_a_client(reach, asks, self.no_ask, self.timeout)?;
            asker = known;
            Ok(asking)
        })?;
        let follow = std::sync::Arc::new(session::following(self.wish.clone()));
        if let Some(asker) = asker {
            let follow = std::sync::Arc::clone(&follow);
            asker.know(&opened, move |session| follow(session));
        }
        Ok((HookedSession::begin(opened), move |session: &Session| follow(session), span))
    }
}

fn understood(line: &[u8]) -> Result<CallLine, String> {
    if line.len() > MAX_LINE_LEN {
        return Err(format!("the line is longer than {} MiB", MAX_LINE_LEN >> 20));
    }
    serde_json::from_slice(line).map_err(|e| format!("the line is not a call: {e}"))
}

/// Returns whether the other side has not gone: what it only has no more to say does not end what it waits for.
fn is_there(stream: &UnixStream) -> bool {
    let mut fds = [PollFd::new(stream, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&now)).is_ok() && !fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
}

/// A value as one line.
pub(super) fn line(value: &Value, mut out: &UnixStream) -> io::Result<()> {
    let mut text = serde_json::to_vec(value)?;
    text.push(b'\n');
    out.write_all(&text)
}

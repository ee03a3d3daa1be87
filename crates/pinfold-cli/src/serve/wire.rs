//! A program that makes calls and answers questions about them itself: it is asked on the same connection, in the words of the
//! approvals' socket.

use std::collections::VecDeque;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use pinfold::consent::{Answer, AnsweredBy, ApprovalChannel, Approver, ApproverResponse, Request};
use pinfold_approvals::socket::{ClientMessage, Peer};
use serde_json::json;

use super::{Lines, calls, error};
use crate::check::lines::{is_next_there, next_line};

/// Interval between looks whether a question still has to be asked.
const LOOK: Duration = Duration::from_secs(1);
/// Most calls that may be sent while a question waits. They come after the call that is asked about.
const MAX_AHEAD: usize = 16;

/// Both directions of a connection.
pub(super) struct Wire {
    lines: Lines,
    out: UnixStream,
    /// Lines that were read while an answer was waited for, and are none.
    ahead: VecDeque<Vec<u8>>,
}

impl Wire {
    pub(super) fn new(lines: Lines, out: UnixStream) -> Self {
        Self { lines, out, ahead: VecDeque::new() }
    }

    pub(super) fn lock(wire: &Mutex<Self>) -> MutexGuard<'_, Self> {
        // Lines are taken and put whole, so a poisoned lock guards no half line.
        wire.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next line; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        if let Some(line) = self.ahead.pop_front() {
            return Ok(Some(line));
        }
        let mut line = Vec::new();
        Ok(next_line(&mut self.lines, &mut line)?.then_some(line))
    }

    pub(super) fn write_line(&mut self, value: &serde_json::Value) -> io::Result<()> {
        calls::line(value, &self.out)
    }

    /// The next answer, if one comes within this time. What is no answer is kept for later.
    fn answer(&mut self, most: Duration) -> Result<Option<ClientMessage>, &'static str> {
        const GONE: &str = "the client is gone";
        self.out.set_read_timeout(Some(most)).map_err(|_| GONE)?;
        let there = is_next_there(&mut self.lines);
        self.out.set_read_timeout(None).map_err(|_| GONE)?;
        match there {
            Ok(true) => {}
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                return Ok(None);
            }
            Ok(false) | Err(_) => return Err(GONE),
        }
        let mut line = Vec::new();
        if !next_line(&mut self.lines, &mut line).map_err(|_| GONE)? {
            return Err(GONE);
        }
        if let Ok(order) = serde_json::from_slice(&line) {
            return Ok(Some(order));
        }
        if self.ahead.len() >= MAX_AHEAD {
            return Err("the client says too much else");
        }
        self.ahead.push_back(line);
        Ok(None)
    }
}

/// The connected client as an approver.
pub(super) struct ClientApprover<'a> {
    wire: &'a Mutex<Wire>,
    peer: Peer,
}

impl<'a> ClientApprover<'a> {
    pub(super) fn new(wire: &'a Mutex<Wire>, peer: Peer) -> Self {
        Self { wire, peer }
    }

    /// Returns the answer of a message, if it is one to this request; else reports to the client why it is not.
    fn taken(&self, wire: &mut Wire, order: ClientMessage, request: &Request) -> io::Result<Option<Answer>> {
        let ClientMessage::Answer { id, digest, answer: choice, who, .. } = order else {
            wire.write_line(&error("only an answer is understood here"))?;
            return Ok(None);
        };
        if id != request.id || digest != request.digest {
            wire.write_line(&error("that is not what is asked"))?;
            return Ok(None);
        }
        let by = AnsweredBy { via: ApprovalChannel::Embedder, who: Some(self.peer.describe(who)) };
        Ok(Some(Answer { id, digest, choice, by }))
    }
}

impl Approver for ClientApprover<'_> {
    fn ask(&self, request: &Request, still_asked: &(dyn Fn() -> bool + Sync)) -> ApproverResponse {
        let gone = || ApproverResponse::NoApprover("the client is gone".to_owned());
        let mut wire = Wire::lock(self.wire);
        if wire.write_line(&json!({"asked": request})).is_err() {
            return gone();
        }
        loop {
            match wire.answer(LOOK) {
                Ok(Some(order)) => match self.taken(&mut wire, order, request) {
                    Ok(Some(answer)) => return ApproverResponse::Answer(answer),
                    Ok(None) => {}
                    Err(_) => return gone(),
                },
                Ok(None) if !still_asked() => return ApproverResponse::NotAsked,
                Ok(None) if Timestamp::now() >= request.deadline => {
                    return ApproverResponse::NoApprover("the client did not answer in time".to_owned());
                }
                Ok(None) => {}
                Err(why) => return ApproverResponse::NoApprover(why.to_owned()),
            }
        }
    }
}

impl std::fmt::Debug for ClientApprover<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Asks").field("peer", &self.peer).finish_non_exhaustive()
    }
}

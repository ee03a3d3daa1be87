//! The broker: many threads ask, many ways answer, and each request has one end.

use std::fmt;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use pinfold::consent::{Answer, Approver, Heard as ToldGate, Request};

use crate::desk::AtFirst;
use crate::over::{How, NotTaken};
use crate::queue::{Heard, Queue};
use crate::responder::{self, Member, Responder};
use crate::watch::Watch;

/// Asks whoever is there. Dropping it sends everybody away.
#[derive(Default)]
pub struct Broker {
    shared: Arc<Shared>,
}

/// What a broker and all who answer have in common.
#[derive(Default)]
pub(crate) struct Shared {
    queue: Mutex<Queue>,
    /// Rings for responders and watchers.
    pub(crate) changed: Condvar,
    /// Is called before waiting requests are looked at again.
    before_looks: OnceLock<Box<dyn Fn() + Send + Sync>>,
    /// Says whether somebody is there who does not answer through this process yet.
    elsewhere: OnceLock<Box<dyn Fn() -> bool + Send + Sync>>,
    /// When `before_looks` was last called.
    looked: Mutex<Option<Instant>>,
    first: AtFirst,
}

impl Broker {
    /// Adds somebody who answers; they get a thread of their own. They are there until they go by themselves, or
    /// [`Member::leave`] is said.
    ///
    /// # Errors
    /// When no thread can be had.
    pub fn add(&self, responder: impl Responder + 'static) -> io::Result<Member> {
        responder::start(&self.shared, Box::new(responder))
    }

    /// As long as this lives requests wait, although no responder is there: answers come another way.
    pub fn stand(&self) -> Standing {
        self.shared.stand()
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn first(&self) -> &AtFirst {
        &self.shared.first
    }

    /// What waits now, in the order in which it was asked.
    pub fn waiting(&self) -> Vec<Arc<Request>> {
        self.shared.queue().open().map(|entry| Arc::clone(&entry.request)).collect()
    }

    /// Takes an answer from anywhere. Who gave it is filled in by whoever took it in.
    ///
    /// # Errors
    /// When it does not count, and why.
    pub fn answer(&self, answer: Answer) -> Result<(), NotTaken> {
        self.shared.answer(answer)
    }

    /// Follows what waits and what is over.
    pub fn watch(&self) -> Watch {
        Watch::new(Arc::clone(&self.shared))
    }

    /// Calls this about once a second while something waits, before it is looked at again: for settings that were
    /// written elsewhere. The first one that is given stays.
    pub fn before_looks(&self, look: impl Fn() + Send + Sync + 'static) {
        let _ = self.shared.before_looks.set(Box::new(look));
    }

    /// Says whether a person is there who has not come to this process yet. The first one that is given stays.
    pub fn elsewhere(&self, is_somebody: impl Fn() -> bool + Send + Sync + 'static) {
        let _ = self.shared.elsewhere.set(Box::new(is_somebody));
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.shared.queue().closed = true;
        self.shared.changed.notify_all();
    }
}

impl fmt::Debug for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let queue = self.shared.queue();
        f.debug_struct("Broker")
            .field("waiting", &queue.waiting.len())
            .field("responders", &queue.responders.len())
            .finish_non_exhaustive()
    }
}

/// A way that is always open. Dropping it closes the way.
#[must_use = "the way is closed when this is dropped"]
pub struct Standing(Arc<Shared>);

impl Drop for Standing {
    fn drop(&mut self) {
        self.0.queue().standing -= 1;
        self.0.ring_all();
    }
}

impl fmt::Debug for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Standing")
    }
}

impl Approver for Broker {
    fn ask(&self, request: &Request, still_asked: &(dyn Fn() -> bool + Sync)) -> ToldGate {
        self.begin();
        let ticket = Ticket::new(&self.shared, request);
        match ticket.wait(still_asked) {
            Heard::Answer(answer) => ToldGate::Answer(answer),
            Heard::NotAsked => ToldGate::NotAsked,
            Heard::Nobody(why) => ToldGate::Nobody(why),
        }
    }

    fn granted(&self) {
        self.shared.queue().granted();
        self.shared.changed.notify_all();
    }

    fn tell(&self, request: &Request, text: &str) {
        self.shared.queue().tell(request, text);
        self.shared.changed.notify_all();
    }
}

impl Shared {
    pub(crate) fn queue(&self) -> MutexGuard<'_, Queue> {
        // Whoever panicked with the lock held was between two steps that each leave the queue whole.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn stand(self: &Arc<Self>) -> Standing {
        self.queue().standing += 1;
        Standing(Arc::clone(self))
    }

    /// Waits for a bell, no longer than `most`.
    pub(crate) fn wait<'a>(
        bell: &Condvar,
        queue: MutexGuard<'a, Queue>,
        most: Duration,
    ) -> MutexGuard<'a, Queue> {
        bell.wait_timeout(queue, most).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Wakes everybody: something happened that may matter to all.
    pub(crate) fn ring_all(&self) {
        self.queue().ring();
        self.changed.notify_all();
    }

    pub(crate) fn answer(&self, answer: Answer) -> Result<(), NotTaken> {
        let taken = self.queue().answer(answer);
        self.changed.notify_all();
        taken
    }

    fn is_somebody_elsewhere(&self) -> bool {
        self.elsewhere.get().is_some_and(|is_somebody| is_somebody())
    }

    /// Calls what is to be called before looks, unless somebody just did.
    fn before_look(&self) {
        let Some(look) = self.before_looks.get() else { return };
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if looked.is_none_or(|at| at.elapsed() >= Duration::from_millis(900)) {
            *looked = Some(Instant::now());
            look();
        }
    }
}

/// The place in the queue of a thread that asks. However the thread leaves, the place is given up.
struct Ticket<'a> {
    shared: &'a Shared,
    number: u64,
    bell: Arc<Condvar>,
    request: &'a Request,
}

impl<'a> Ticket<'a> {
    fn new(shared: &'a Shared, request: &'a Request) -> Self {
        let (number, bell) = shared.queue().enter(request);
        shared.changed.notify_all();
        Self { shared, number, bell, request }
    }

    /// Waits for the end, whichever comes first.
    fn wait(&self, still_asked: &(dyn Fn() -> bool + Sync)) -> Heard {
        let mut looked = Instant::now();
        loop {
            let turns = self.shared.queue().turns;
            if let Some(heard) = self.ended() {
                return heard;
            }
            self.look(&mut looked, still_asked);
            let queue = self.shared.queue();
            let Some(entry) = queue.entry(self.number) else { continue };
            if entry.end.is_some() || queue.turns != turns {
                continue;
            }
            let next = looked.checked_add(queue.interval()).unwrap_or(looked).min(entry.until);
            let most = next.saturating_duration_since(Instant::now());
            drop(Shared::wait(&self.bell, queue, most));
        }
    }

    /// The end, if there is one now.
    fn ended(&self) -> Option<Heard> {
        let (id, digest) = (&self.request.id, &self.request.digest);
        let mut queue = self.shared.queue();
        let Some(entry) = queue.entry(self.number) else {
            // It cannot be gone while the ticket lives. If it is: no.
            return Some(Heard::Answer(Answer::silence(id, digest)));
        };
        if let Some(heard) = &entry.end {
            return Some(heard.clone());
        }
        if entry.is_late() {
            let silence = Heard::Answer(Answer::silence(id, digest));
            queue.end(self.number, silence.clone(), How::Silence, None);
            drop(queue);
            self.shared.changed.notify_all();
            return Some(silence);
        }
        if queue.can_be_answered(self.number) {
            return None;
        }
        let why = queue.why_not(self.request);
        drop(queue);
        // Looks at files, so never under the lock.
        if self.shared.is_somebody_elsewhere() {
            return None;
        }
        let mut queue = self.shared.queue();
        if !queue.can_be_answered(self.number) {
            queue.end(self.number, Heard::Nobody(why), How::Nobody, None);
        }
        let heard = queue.entry(self.number).and_then(|entry| entry.end.clone());
        drop(queue);
        self.shared.changed.notify_all();
        heard
    }

    /// Looks whether it would still be asked about, when it is time to or something was granted.
    fn look(&self, looked: &mut Instant, still_asked: &(dyn Fn() -> bool + Sync)) {
        let queue = self.shared.queue();
        let round = queue.round;
        let due = looked.elapsed() >= queue.interval();
        if !due && queue.is_looked_at(self.number) {
            return;
        }
        drop(queue);
        if due {
            self.shared.before_look();
        }
        *looked = Instant::now();
        let still = still_asked();
        let mut queue = self.shared.queue();
        queue.looked_at(self.number, round);
        if !still {
            queue.end(self.number, Heard::NotAsked, How::NotAsked, None);
        }
        drop(queue);
        self.shared.changed.notify_all();
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.shared.queue().leave(self.number);
        self.shared.changed.notify_all();
    }
}

//! What is new, told to one browser for as long as it listens.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::channel::Sender;
use hyper::body::Bytes;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use crate::board::Seen;
use crate::pairing::Browser;
use crate::route::Desk;

/// How many listen at a time: every paired browser, with a tab or two to spare.
pub(crate) const MOST: usize = 16;
/// How often a browser hears that somebody is still there.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Tells a browser everything that waits, and then all that is new, until it goes or is not paired any more.
pub(crate) async fn feed(
    desk: Arc<Desk>,
    browser: Browser,
    mut to: Sender<Bytes>,
    _place: OwnedSemaphorePermit,
) {
    let mut changes = desk.board.changes();
    let mut seen = Seen::default();
    while desk.pairing.is_paired(browser) {
        changes.mark_unchanged();
        for event in desk.board.since(&mut seen) {
            if to.send_data(event).await.is_err() {
                return;
            }
        }
        match timeout(HEARTBEAT, changes.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return,
            Err(_) => {
                if to.send_data(Bytes::from_static(b": still here\n\n")).await.is_err() {
                    return;
                }
            }
        }
    }
}

//! Event streams: one browser receives all changes while it is connected.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::channel::Sender;
use hyper::body::Bytes;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use crate::board::BoardPosition;
use crate::pairing::Browser;
use crate::route::PageState;

/// The most streams: every paired browser, with a tab or two to spare.
pub(crate) const MAX_STREAMS: usize = 16;
/// The heartbeat interval.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Sends a browser all pending requests, and then all changes, until it disconnects or its pairing ends.
pub(crate) async fn feed(
    desk: Arc<PageState>,
    browser: Browser,
    mut to: Sender<Bytes>,
    _place: OwnedSemaphorePermit,
) {
    let mut changes = desk.board.changes();
    let mut seen = BoardPosition::default();
    while desk.pairing.is_paired(browser) {
        changes.mark_unchanged();
        for event in desk.board.take_new_events(&mut seen) {
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

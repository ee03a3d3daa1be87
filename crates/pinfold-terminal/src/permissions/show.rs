//! The screen on a stage.

use std::io;
use std::time::Duration;

use super::item::Holder;
use super::model::{Screen, Wish};
use crate::dialog::Look;
use crate::sheet::Painter;
use crate::stage::{Event, Stage};

/// Nothing happens by itself; this is only how long one wait is.
const WAIT: Duration = Duration::from_mins(1);

/// Shows all that a holder knows until whoever looks has seen enough.
///
/// # Errors
/// When the terminal cannot be read or written.
pub fn show(mut stage: &mut dyn Stage, title: &str, look: Look, holder: &mut dyn Holder) -> io::Result<()> {
    let mut screen = Screen::new(title, Vec::new());
    refresh(&mut screen, holder);
    let mut painter = Painter::new(look.colours);
    loop {
        painter.paint(screen.view(stage.size()), &mut stage)?;
        let wish = match stage.read_event(WAIT)? {
            Some(Event::Key(key, _)) => screen.key(key),
            Some(Event::Gone) => return Ok(()),
            Some(Event::Paste(text, _)) => {
                screen.paste(&text);
                None
            }
            Some(Event::Ready { .. } | Event::Report(_) | Event::Resized(_)) | None => None,
        };
        match wish {
            None => {}
            Some(Wish::Quit) => return Ok(()),
            Some(Wish::Refresh) => refresh(&mut screen, holder),
            Some(Wish::Remove(item)) => {
                let done = holder.remove(&item);
                refresh(&mut screen, holder);
                screen.tell(&done.unwrap_or_else(|why| format!("not removed: {why}")));
            }
            Some(Wish::Test(call)) => match holder.test(&call) {
                Ok(told) => screen.answer(told),
                Err(why) => screen.tell(&why),
            },
        }
    }
}

fn refresh(screen: &mut Screen, holder: &mut dyn Holder) {
    match holder.items() {
        Ok(items) => screen.set_items(items),
        Err(why) => {
            // What held a moment ago may not hold any more.
            screen.set_items(Vec::new());
            screen.tell(&why);
        }
    }
}

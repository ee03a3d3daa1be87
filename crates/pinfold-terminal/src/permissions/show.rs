//! The screen on a stage.

use std::io;
use std::time::Duration;

use super::item::PermissionStore;
use super::model::{Screen, ScreenAction};
use crate::dialog::DialogStyle;
use crate::sheet::Painter;
use crate::surface::{DialogSurface, SurfaceEvent};

/// Nothing happens by itself; this is only how long one wait is.
const WAIT: Duration = Duration::from_mins(1);

/// Shows the entries of a store until the user leaves.
///
/// # Errors
/// When the terminal cannot be read or written.
pub fn show(
    mut stage: &mut dyn DialogSurface,
    title: &str,
    look: DialogStyle,
    holder: &mut dyn PermissionStore,
) -> io::Result<()> {
    let mut screen = Screen::new(title, Vec::new());
    refresh(&mut screen, holder);
    let mut painter = Painter::new(look.colours);
    loop {
        painter.paint(screen.view(stage.size()), &mut stage)?;
        let wish = match stage.read_event(WAIT)? {
            Some(SurfaceEvent::Key(key, _)) => screen.key(key),
            Some(SurfaceEvent::Gone) => return Ok(()),
            Some(SurfaceEvent::Paste(text, _)) => {
                screen.paste(&text);
                None
            }
            Some(SurfaceEvent::Ready { .. } | SurfaceEvent::Report(_) | SurfaceEvent::Resized(_)) | None => {
                None
            }
        };
        match wish {
            None => {}
            Some(ScreenAction::Quit) => return Ok(()),
            Some(ScreenAction::Refresh) => refresh(&mut screen, holder),
            Some(ScreenAction::Remove(item)) => {
                let done = holder.remove(&item);
                refresh(&mut screen, holder);
                screen.set_notice(&done.unwrap_or_else(|why| format!("not removed: {why}")));
            }
            Some(ScreenAction::Test(call)) => match holder.test(&call) {
                Ok(told) => screen.answer(told),
                Err(why) => screen.set_notice(&why),
            },
        }
    }
}

fn refresh(screen: &mut Screen, holder: &mut dyn PermissionStore) {
    match holder.items() {
        Ok(items) => screen.set_items(items),
        Err(why) => {
            // What held a moment ago may not hold any more.
            screen.set_items(Vec::new());
            screen.set_notice(&why);
        }
    }
}

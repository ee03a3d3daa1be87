//! Settings as the commands need them: where they stand, what they say, and a picture of what is wrong in them.

use std::fs;
use std::io::{IsTerminal, stderr};
use std::path::Path;
use std::sync::Arc;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use pinfold::Ambient;
use pinfold::policy::merge::Ignored;
use pinfold::policy::settings::Flags;
use pinfold::policy::{BadSetting, BadSettings, WayIn};
use pinfold::settings::{
    LoadedSettings, Locations, ResolvedSettings, SessionSetup, SettingsError, load, project_root,
};
use pinfold::{GuardSearch, Plan, Profile, ProfileError};
use pinfold_tools::FileBoundaries;

use crate::env;
use crate::exit::{Failure, USAGE};
use crate::output;

/// Returns the locations of the settings for a folder, by default the current one.
pub(crate) fn locations(folder: Option<&Path>) -> Result<Locations, Failure> {
    let here = env::current_dir()?;
    let home = env::home();
    // A folder that is named is meant; only where nothing is said the project is looked for.
    let project = folder.map_or_else(|| project_root(&here, home.as_deref()), |folder| here.join(folder));
    let (config, state) = (env::config_home(), env::state_home());
    Ok(Locations::usual(&project, home, config.as_deref(), state.as_deref()))
}

/// Returns the locations of the settings of a command: none with `--no-settings`.
pub(crate) fn locations_unless(no_settings: bool, folder: Option<&Path>) -> Result<Locations, Failure> {
    if no_settings {
        return Ok(Locations { home: env::home(), ..Locations::default() });
    }
    locations(folder)
}

/// The setup of a session in a folder, from the environment of this process.
pub(crate) fn setup(
    folder: &Path,
    locations: Locations,
    flags: Flags,
    profile: Option<&str>,
) -> Result<SessionSetup, Failure> {
    let mut setup = SessionSetup::new(folder, locations, flags);
    setup.situation.variables = env::variables();
    setup.situation.profile = self::profile(profile)?;
    setup.closed = env::socket_homes().paths();
    Ok(setup)
}

/// Reads the settings of a session, and tells what does not count.
pub(crate) fn resolved(setup: &SessionSetup) -> Result<ResolvedSettings, Failure> {
    Ok(setup.resolve(loaded(&setup.locations, &setup.flags)?))
}

/// Reads the settings of a session, and tells nothing.
pub(crate) fn resolved_quietly(setup: &SessionSetup) -> Result<ResolvedSettings, Failure> {
    Ok(setup.resolve(read_quietly(&setup.locations, &setup.flags)?))
}

/// Returns the look for guarded places of every session that has no boundary of its own: what our own tools are held to.
pub(crate) fn guard_search() -> Arc<dyn GuardSearch> {
    Arc::new(FileBoundaries::new(env::socket_homes().paths()))
}

/// Returns a plan with the settings of its session, and the look for what is guarded there.
pub(crate) fn plan(resolved: &ResolvedSettings, plan: Plan, way: WayIn) -> Result<Plan, Failure> {
    let plan = resolved.plan(&Ambient::claim(), plan.with_guard_search(guard_search()), way);
    plan.map_err(|e| Failure::new(USAGE, output::lines(&e.to_string())))
}

/// Reads them, and tells what does not count.
pub(crate) fn loaded(locations: &Locations, flags: &Flags) -> Result<LoadedSettings, Failure> {
    let loaded = read(locations, flags)?;
    format_ignored(&loaded.merged.ignored).into_iter().for_each(output::warn);
    for renamed in &loaded.merged.renamed {
        output::warn(output::visible(&renamed.to_string()));
    }
    Ok(loaded)
}

/// Reads them, and tells nothing.
pub(crate) fn read_quietly(locations: &Locations, flags: &Flags) -> Result<LoadedSettings, Failure> {
    locations.project.as_deref().map_or(Ok(()), is_folder)?;
    load(&Ambient::claim(), locations, flags).map_err(|bad| unusable(&bad))
}

/// Says what is wrong with a folder before its settings are looked for, which cannot be read then.
fn is_folder(folder: &Path) -> Result<(), Failure> {
    let shown = output::visible(&folder.to_string_lossy());
    let wrong = match fs::metadata(folder) {
        Ok(found) if found.is_dir() => return Ok(()),
        Ok(_) => format!("`{shown}` is not a folder"),
        Err(error) => format!("`{shown}` cannot be opened: {error}"),
    };
    Err(Failure::new(USAGE, wrong).mend("name a folder that is there and can be opened"))
}

/// Reads them.
pub(crate) fn read(locations: &Locations, flags: &Flags) -> Result<LoadedSettings, Failure> {
    let loaded = read_quietly(locations, flags)?;
    if let Some(why) = &loaded.no_trust {
        output::warn(format_args!("no file is trusted: {why}"));
    }
    Ok(loaded)
}

/// The profile of a name, beside the person's settings.
pub(crate) fn profile(name: Option<&str>) -> Result<Option<Profile>, Failure> {
    let Some(name) = name else { return Ok(None) };
    let config = env::config_home()
        .ok_or_else(|| Failure::new(USAGE, "there is no home for profiles").mend("set HOME"))?;
    let failure = |e: ProfileError| Failure::new(USAGE, format!("{}: {}", e.at, e.what)).mend(e.mend);
    Profile::load(&Ambient::claim(), &config, name).map(Some).map_err(failure)
}

/// Returns the ignored settings as lines: one for each file and reason, so that a long list of rules is reported once.
fn format_ignored(ignored: &[Ignored]) -> Vec<String> {
    let mut lines: Vec<(String, usize, &Ignored)> = Vec::new();
    for one in ignored {
        let key = format!("{} {:?} {:?}", one.source.layer.as_str(), one.source.file, one.why);
        match lines.iter_mut().find(|(known, ..)| *known == key) {
            Some((_, more, _)) => *more += 1,
            None => lines.push((key, 0, one)),
        }
    }
    let line = |(_, more, one): (String, usize, &Ignored)| match more {
        0 => output::visible(&one.to_string()),
        more => format!("{} (and {more} more of that file)", output::visible(&one.to_string())),
    };
    lines.into_iter().map(line).collect()
}

/// The end of a command that cannot go on with these settings.
fn unusable(bad: &SettingsError) -> Failure {
    let pictures = stderr().is_terminal();
    let files: Vec<_> =
        bad.files.iter().map(|file| if pictures { picture(file) } else { lines(file) }).collect();
    Failure::new(USAGE, format!("settings cannot be used\n{}", files.join("\n")))
}

/// One line for each place.
pub(crate) fn lines(file: &BadSettings) -> String {
    let lines: Vec<_> = file.bad.iter().map(|bad| output::lines(&bad.to_string())).collect();
    lines.join("\n")
}

/// Each place with the text around it.
fn picture(file: &BadSettings) -> String {
    let pictures: Vec<_> =
        file.bad.iter().map(|bad| picture_of(bad, &file.text, &Renderer::styled())).collect();
    pictures.join("\n")
}

/// Longest line that is drawn: longer ones would fill the screen.
const MAX_LINE_LEN: usize = 300;

/// A text that holds anything but plain characters is not drawn: it could draw by itself.
fn picture_of(bad: &BadSetting, text: &str, renderer: &Renderer) -> String {
    // Spaces at the sides do no harm here.
    let plain = |line: &str| line.len() <= MAX_LINE_LEN && output::visible(line.trim()) == line.trim();
    let drawable = bad.source.at.is_some() && !text.is_empty() && text.get(bad.span.clone()).is_some();
    if !drawable || !text.lines().all(|line| plain(&line.replace(['\t', '\\'], " "))) {
        return output::lines(&bad.to_string());
    }
    let source = format!("{} {}", bad.source.layer.as_str(), bad.source.file.as_deref().unwrap_or_default());
    let snippet = Snippet::source(text)
        .path(source)
        .annotation(AnnotationKind::Primary.span(bad.span.clone()).label(bad.mend.as_str()));
    let report = [Level::ERROR.primary_title(output::visible(&bad.what)).element(snippet)];
    renderer.clone().decor_style(DecorStyle::Unicode).render(&report)
}

#[cfg(test)]
mod tests {
    use pinfold::policy::{Layer, Settings};

    use super::*;

    fn drawn(text: &str) -> String {
        let file = Settings::parse(text.as_bytes(), Layer::Project, &"f.json".into()).unwrap_err();
        picture_of(&file.bad[0], &file.text, &Renderer::plain())
    }

    #[test]
    fn a_place_is_shown_with_the_text_around_it() {
        let picture = drawn("{\n  \"permissions\": {\n    \"alow\": []\n  }\n}");
        for part in
            ["`alow` is no setting here", "project f.json:3:5", "\"alow\": []", "did you mean `allow`?"]
        {
            assert!(picture.contains(part), "{part}: {picture}");
        }
    }

    #[test]
    fn a_text_that_could_draw_by_itself_is_not_drawn() {
        for text in [
            "{\"a\": 1, // \u{1b}[2J\n}",
            "{\"a\": 1, // \u{202e}\n}",
            &format!("{{\"a\": 1}}{}", " ".repeat(400)),
        ] {
            assert_eq!(drawn(text).lines().count(), 1, "{text:?}");
        }
    }
}

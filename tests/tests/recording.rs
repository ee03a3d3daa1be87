//! The recording in the README: what a terminal shows while a command writes outside of its folder and is approved.
//!
//! `docs/recording.svg` is drawn from the screens of a real terminal; `PINFOLD_BLESS=1` draws it afresh.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use pinfold_tests::terminal::Terminal;
use vt100::{Color, Screen};

use crate::tour::{HOME, bed, shell};

/// The command that is recorded.
const COMMAND: &str = "pinfold run -- sh -c 'echo hi > here.txt; echo hi > ~/there.txt'";

/// The lines of the terminal, and how long each screen is shown, in seconds.
const LINES: u16 = 19;
const SHOWN: [u32; 3] = [2, 6, 4];

/// A piece of a line in one style: a class of the style sheet, and its text.
type Piece = (&'static str, String);

fn style(color: Color, is_bold: bool, is_inverse: bool) -> &'static str {
    match (is_inverse, is_bold, color) {
        (true, ..) => "i",
        (_, true, _) => "b",
        (_, _, Color::Idx(1 | 9)) => "r",
        (_, _, Color::Idx(2 | 10)) => "g",
        (_, _, Color::Idx(3 | 11)) => "y",
        (_, _, Color::Idx(8)) => "d",
        _ => "n",
    }
}

/// The lines of a screen, as pieces of one style.
fn lines(screen: &Screen) -> Vec<Vec<Piece>> {
    let (rows, columns) = screen.size();
    let mut lines = Vec::new();
    for row in 0..rows.get() {
        let mut line: Vec<Piece> = Vec::new();
        for cell in (0..columns.get()).filter_map(|column| screen.cell(row, column)) {
            let style = style(cell.fgcolor(), cell.bold(), cell.inverse());
            let text = if cell.has_contents() { cell.contents() } else { " " };
            match line.last_mut() {
                Some((last, so_far)) if *last == style => so_far.push_str(text),
                _ => line.push((style, text.to_owned())),
            }
        }
        lines.push(line);
    }
    lines
}

/// What differs by run, and what stands for it in the picture: the home of the bed, the process, the time
/// that is left, the name of the run.
fn replacements(screen: &Screen, home: &str) -> Vec<(String, &'static str)> {
    let text = screen.contents();
    let process = text.split_once(" pid │ ").and_then(|(_, rest)| rest.split_whitespace().next());
    let left = text.split_once(" left").and_then(|(before, _)| before.split_whitespace().next_back());
    let run = text.split_once(" run-").and_then(|(_, rest)| rest.split_once(':')).map(|(run, _)| run);
    let found = [(Some(home), HOME), (process, "5021"), (left, "9:59"), (run, "7mn63gztsptm")];
    found.into_iter().filter_map(|(found, stands)| Some((found?.to_owned(), stands))).collect()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// One screen as a group of the picture.
fn group(number: usize, screen: &Screen, home: &str) -> String {
    let mut group = format!("<g class=\"s s{number}\">\n");
    let replacements = replacements(screen, home);
    let plain =
        |piece: &str| replacements.iter().fold(piece.to_owned(), |text, (from, to)| text.replace(from, to));
    for (row, mut line) in lines(screen).into_iter().enumerate() {
        while line.last().is_some_and(|(_, piece)| piece.trim().is_empty()) {
            line.pop();
        }
        let Some((_, last)) = line.last_mut() else { continue };
        last.truncate(last.trim_end().len());
        let pieces = line.iter().map(|(style, piece)| {
            let piece = escape(&plain(piece));
            format!("<tspan class=\"{style}\">{piece}</tspan>")
        });
        let pieces: String = pieces.collect();
        let _ = writeln!(group, "<text x=\"16\" y=\"{}\">{pieces}</text>", 30 + 18 * row);
    }
    group + "</g>\n"
}

/// The picture: the screens one after the other, for ever.
fn picture(screens: &[Screen], home: &str) -> String {
    let all: u32 = SHOWN.iter().sum();
    let mut styles = String::new();
    let mut from = 0;
    for (number, shown) in SHOWN.iter().enumerate() {
        let percent = |second: u32| second * 100 / all;
        let (begins, ends) = (percent(from), percent(from + shown));
        let _ = writeln!(
            styles,
            ".s{number}{{animation:s{number} {all}s step-end infinite}}@keyframes s{number}{{0%{{opacity:{}}}{begins}%{{opacity:1}}{ends}%{{opacity:0}}100%{{opacity:0}}}}",
            u8::from(begins == 0),
        );
        from += shown;
    }
    let groups: Vec<String> =
        screens.iter().enumerate().map(|(number, screen)| group(number, screen, home)).collect();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 {height}\" role=\"img\">\n\
         <title>pinfold asks before a command writes outside of its folder</title>\n<style>\n\
         text{{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre;fill:#d6d9de}}\n\
         .b{{font-weight:bold;fill:#fff}}.i{{font-weight:bold;fill:#ffd75f}}.r{{fill:#ff8787}}.g{{fill:#87d787}}.y{{fill:#ffd75f}}.d{{fill:#8a8f98}}\n\
         .s{{opacity:0}}.s1{{opacity:1}}\n{styles}</style>\n\
         <rect width=\"720\" height=\"{height}\" rx=\"8\" fill=\"#1b1e24\"/>\n{groups}</svg>\n",
        height = 30 + 18 * LINES,
        groups = groups.concat(),
    )
}

#[test]
fn the_recording_shows_what_a_terminal_shows() {
    let Some(bed) = bed() else { return };
    let home = bed.home();
    let home = home.to_str().expect("UTF-8");
    let site = Path::new(home).join("work/site");
    let mut start = shell(&bed, &site, "exec bash --norc --noprofile");
    start.env("TERM", "xterm-256color").env("PS1", "$ ").env("HISTFILE", "");
    let mut terminal = Terminal::start(&start);
    terminal.resize(LINES, 80);
    let has = |text: &'static str| move |screen: &Screen| screen.contents().contains(text);
    terminal.until("a prompt", has("$ "));
    terminal.type_in(COMMAND);
    terminal.until("the command", has("there.txt'"));
    let typed = terminal.at_rest();
    terminal.type_in("\r");
    terminal.until("the dialog", |screen| screen.alternate_screen() && has("to answer")(screen));
    let asked = terminal.at_rest();
    terminal.answer(&["y", "\r"]);
    terminal.until("the prompt", |screen| {
        !screen.alternate_screen() && screen.contents().trim_end().ends_with("\n$")
    });
    terminal.type_in("cat ~/there.txt\r");
    terminal.until("the file", has("\nhi\n"));
    let done = terminal.at_rest();
    terminal.type_in("exit\r");
    assert!(terminal.end().success());

    let drawn = picture(&[typed, asked, done], home);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/recording.svg");
    if std::env::var_os("PINFOLD_BLESS").is_some() {
        fs::write(&file, &drawn).expect("the picture can be written");
    }
    let there = fs::read_to_string(&file).unwrap_or_default();
    let differs = there.lines().zip(drawn.lines()).find(|(there, drawn)| there != drawn);
    assert!(there == drawn, "run with PINFOLD_BLESS=1; the first line that differs: {differs:?}");
}

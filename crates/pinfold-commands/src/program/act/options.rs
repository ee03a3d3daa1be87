//! What the options of an invocation do: an effect for each row of the catalog.

use std::borrow::Cow;

use pinfold_shell::Word;

use super::Acts;
use crate::Operation;
use crate::program::scan::Arg;
use crate::program::{Does, Program, Purpose, Style};
use crate::sed;
use crate::words::{known_start, strip_start};

impl<'a> Acts<'a> {
    /// `@file` among the arguments of compilers and their kin: options that stand in no word.
    pub(super) fn option_files(&mut self, args: &[Arg<'a>]) {
        for word in args.iter().filter_map(Arg::operand) {
            if known_start(word).starts_with('@') {
                self.named_bar(word.as_static(), "takes options from a file");
            }
        }
    }

    pub(super) fn option(
        &mut self,
        reading: &mut OperandOptions<'a>,
        does: Does,
        name: &str,
        value: Option<&Cow<'a, Word>>,
    ) {
        match value {
            Some(value) => self.option_with_value(reading, does, name, value),
            None => self.option_alone(reading, does, name),
        }
    }

    fn option_alone(&mut self, reading: &mut OperandOptions<'a>, does: Does, name: &str) {
        match does {
            Does::Bars(why) => self.option_bar("option", name, why.as_str()),
            Does::Code => self.code_bar(name, "holds code, which no pattern can judge"),
            Does::InPlace | Does::Suffix => reading.in_place = true,
            Does::ForFirst => reading.has_first = true,
            Does::Here => self.write_in_folder(Purpose::Aside),
            Does::Unnamed => self.reads_unnamed = true,
            Does::FirstIsLine => {
                reading.first_is_line = true;
                self.option_bar("inline-code", name, "holds commands, which no pattern can judge");
            }
            _ => {}
        }
    }

    #[expect(clippy::ptr_arg, reason = "what is taken of it lives as long as the command")]
    fn option_with_value(
        &mut self,
        reading: &mut OperandOptions<'a>,
        does: Does,
        name: &str,
        value: &Cow<'a, Word>,
    ) {
        match does {
            // The last of these are looked for by the program's own reading.
            Does::Nothing
            | Does::Otherwise(_)
            | Does::FirstIsLine
            | Does::Here
            | Does::ConfigFile
            | Does::Into
            | Does::Archive => {}
            Does::Text => self.take(value),
            Does::Unnamed => {
                self.take(value);
                self.reads_unnamed = true;
            }
            Does::Tracked => self.tracked(value.clone()),
            Does::Path(operation, purpose) => self.path(value.clone(), operation, purpose),
            Does::Folder => {
                self.take(value);
                self.folders.push(value.clone());
            }
            Does::Source => {
                self.take(value);
                self.sources.push(value.clone());
            }
            Does::FolderOf => self.folder_of(value),
            Does::Bars(why) => {
                self.run_values.push(value.clone());
                self.option_bar("option", name, why.as_str());
            }
            Does::Line => {
                reading.has_first = true;
                self.option_bar("option", name, "runs a command line");
                self.line(value.clone());
            }
            Does::Code => {
                reading.has_first = true;
                self.take(value);
                self.code_bar(name, "holds code, which no pattern can judge");
            }
            Does::InPlace => reading.in_place = true,
            // The program's own reading looks at the suffix.
            Does::Suffix => {
                self.take(value);
                reading.in_place = true;
            }
            Does::ForFirst => {
                reading.has_first = true;
                self.take(value);
            }
            Does::Module => {
                reading.has_first = true;
                reading.module = Some(value.clone());
                self.take(value);
            }
            Does::FirstFile => {
                reading.has_first = true;
                self.path(value.clone(), Operation::Read, Purpose::Command);
            }
            Does::Words => reading.split = Some(value.clone()),
            Does::Piped if known_start(value).starts_with(['|', '!']) => {
                self.option_bar("option", name, "runs a command line");
                self.line(Cow::Owned(strip_start(value, 1)));
            }
            Does::Piped => self.path(value.clone(), Operation::Write, Purpose::Aside),
            Does::SedScript => {
                reading.has_first = true;
                self.take(value);
                sed::script(self, value);
            }
            Does::Target => reading.target = Some(value.clone()),
            Does::AtFile => {
                self.take(value);
                self.at_file(value, "@");
            }
            Does::Encoded => {
                self.take(value);
                self.encoded(value);
            }
            Does::FormFile => {
                self.take(value);
                self.form_file(value);
            }
            Does::Host => self.host(value),
            Does::Setting
            | Does::WriteOut
            | Does::Define
            | Does::Pass
            | Does::Network
            | Does::Query
            | Does::Format => {
                self.judged_value(does, name, value);
            }
            Does::Mount => self.mount(value),
            Does::Output => self.output(value),
        }
    }
}

/// What options say about the operands.
#[derive(Default)]
pub(super) struct OperandOptions<'a> {
    pub(super) in_place: bool,
    pub(super) has_first: bool,
    pub(super) first_is_line: bool,
    pub(super) split: Option<Cow<'a, Word>>,
    pub(super) target: Option<Cow<'a, Word>>,
    pub(super) module: Option<Cow<'a, Word>>,
}

impl Program {
    /// Returns whether it has options that a rule on its name does not mean.
    pub(super) fn has_dangers(&self) -> bool {
        self.style != Style::Plain
            && self.options().iter().any(|options| {
                matches!(options.does, Does::Bars(_) | Does::Line | Does::Code | Does::InPlace)
                    || matches!(options.does, Does::Path(operation, _) if operation.writes())
            })
    }
}

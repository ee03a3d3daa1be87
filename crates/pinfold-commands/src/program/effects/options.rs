//! Effects of the options of an invocation, by the rows of the catalog.

use std::borrow::Cow;

use pinfold_shell::Word;

use super::InvocationEffects;
use crate::Operation;
use crate::program::scan::Arg;
use crate::program::{OptionEffect, Program, Purpose, Style};
use crate::sed;
use crate::words::{known_start, strip_start};

impl<'a> InvocationEffects<'a> {
    /// Excludes `@file` among the arguments of compilers and their kin: options that stand in no word.
    pub(super) fn exclude_option_files(&mut self, args: &[Arg<'a>]) {
        for word in args.iter().filter_map(Arg::operand) {
            if known_start(word).starts_with('@') {
                self.exclude_named(word.as_static(), "takes options from a file");
            }
        }
    }

    pub(super) fn read_option(
        &mut self,
        reading: &mut OperandOptions<'a>,
        effect: OptionEffect,
        name: &str,
        value: Option<&Cow<'a, Word>>,
    ) {
        match value {
            Some(value) => self.read_value(reading, effect, name, value),
            None => self.read_flag(reading, effect, name),
        }
    }

    fn read_flag(&mut self, reading: &mut OperandOptions<'a>, effect: OptionEffect, name: &str) {
        match effect {
            OptionEffect::OnlyByName(why) => self.exclude_option("option", name, why.as_str()),
            OptionEffect::Code => self.exclude_code(name, "holds code, which no pattern can judge"),
            OptionEffect::InPlace | OptionEffect::InPlaceSuffix => reading.in_place = true,
            OptionEffect::ForFirst => reading.has_first = true,
            OptionEffect::WritesHere => self.write_in_folder(Purpose::Aside),
            OptionEffect::UnnamedFiles => self.reads_unnamed = true,
            OptionEffect::FirstIsCommandLine => {
                reading.first_is_line = true;
                self.exclude_option("inline-code", name, "holds commands, which no pattern can judge");
            }
            _ => {}
        }
    }

    #[expect(clippy::ptr_arg, reason = "what is taken of it lives as long as the command")]
    fn read_value(
        &mut self,
        reading: &mut OperandOptions<'a>,
        effect: OptionEffect,
        name: &str,
        value: &Cow<'a, Word>,
    ) {
        match effect {
            // The last of these are looked for by the program's own reading.
            OptionEffect::Plain
            | OptionEffect::Otherwise(_)
            | OptionEffect::FirstIsCommandLine
            | OptionEffect::WritesHere
            | OptionEffect::ConfigFile
            | OptionEffect::Into
            | OptionEffect::Archive => {}
            OptionEffect::Text => self.mark_no_path(value),
            OptionEffect::UnnamedFiles => {
                self.mark_no_path(value);
                self.reads_unnamed = true;
            }
            OptionEffect::Tracked => self.touch_tracked(value.clone()),
            OptionEffect::Path(operation, purpose) => self.touch(value.clone(), operation, purpose),
            OptionEffect::WorksIn => {
                self.mark_no_path(value);
                self.folders.push(value.clone());
            }
            OptionEffect::CodeFolder => {
                self.mark_no_path(value);
                self.sources.push(value.clone());
            }
            OptionEffect::CodeFile => self.load_from_folder_of(value),
            OptionEffect::OnlyByName(why) => {
                self.run_values.push(value.clone());
                self.exclude_option("option", name, why.as_str());
            }
            OptionEffect::CommandLine => {
                reading.has_first = true;
                self.exclude_option("option", name, "runs a command line");
                self.start_line(value.clone());
            }
            OptionEffect::Code => {
                reading.has_first = true;
                self.mark_no_path(value);
                self.exclude_code(name, "holds code, which no pattern can judge");
            }
            OptionEffect::InPlace => reading.in_place = true,
            // The program's own reading looks at the suffix.
            OptionEffect::InPlaceSuffix => {
                self.mark_no_path(value);
                reading.in_place = true;
            }
            OptionEffect::ForFirst => {
                reading.has_first = true;
                self.mark_no_path(value);
            }
            OptionEffect::Module => {
                reading.has_first = true;
                reading.module = Some(value.clone());
                self.mark_no_path(value);
            }
            OptionEffect::ForFirstFile => {
                reading.has_first = true;
                self.touch(value.clone(), Operation::Read, Purpose::Command);
            }
            OptionEffect::SplitWords => reading.split = Some(value.clone()),
            OptionEffect::WritesOrPipes if known_start(value).starts_with(['|', '!']) => {
                self.exclude_option("option", name, "runs a command line");
                self.start_line(Cow::Owned(strip_start(value, 1)));
            }
            OptionEffect::WritesOrPipes => self.touch(value.clone(), Operation::Write, Purpose::Aside),
            OptionEffect::SedScript => {
                reading.has_first = true;
                self.mark_no_path(value);
                sed::script(self, value);
            }
            OptionEffect::TargetFolder => reading.target = Some(value.clone()),
            OptionEffect::AtFile => {
                self.mark_no_path(value);
                self.touch_at_file(value, "@");
            }
            OptionEffect::EncodedFile => {
                self.mark_no_path(value);
                self.touch_encoded(value);
            }
            OptionEffect::FormFile => {
                self.mark_no_path(value);
                self.touch_form_file(value);
            }
            OptionEffect::Host => self.reach_host(value),
            OptionEffect::Setting
            | OptionEffect::WriteOut
            | OptionEffect::Define
            | OptionEffect::PassOn
            | OptionEffect::ContainerNetwork
            | OptionEffect::Query
            | OptionEffect::Format => {
                self.judge_value(effect, name, value);
            }
            OptionEffect::Mount => self.touch_mount(value),
            OptionEffect::BuildOutput => self.touch_output(value),
        }
    }
}

/// Things that options say about the operands.
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
                matches!(
                    options.effect,
                    OptionEffect::OnlyByName(_)
                        | OptionEffect::CommandLine
                        | OptionEffect::Code
                        | OptionEffect::InPlace
                ) || matches!(options.effect, OptionEffect::Path(operation, _) if operation.writes())
            })
    }
}

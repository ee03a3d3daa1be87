//! Reasons for which no rule may allow an invocation.

use pinfold_shell::Word;

use super::Acts;
use crate::NotAllowlistable;

impl Acts<'_> {
    /// What it writes stands in no word.
    pub(crate) fn unknown_operand(&mut self) {
        if self.bars.iter().all(|bar| bar.id != "unknown-file") {
            let why = format!("what `{}` writes is known only by running", self.name);
            self.bars.push(NotAllowlistable::new("unknown-file", why));
        }
    }

    /// What it reads stands in no word.
    pub(crate) fn unknown_read(&mut self) {
        let why = format!("what `{}` reads is known only by running", self.name);
        self.bars.push(NotAllowlistable::new("unknown-file", why));
    }

    /// No rule allows this subcommand, but for one that names it.
    pub(crate) fn subcommand_bar(&mut self, why: &str) {
        match self.command {
            Some(command) => self.option_bar("option", command, why),
            None => self.program_bar(None, why),
        }
    }

    /// No rule allows this program, but for one that says what with.
    pub(crate) fn program_bar(&mut self, what: Option<&Word>, why: &str) {
        self.named_bar(what.and_then(Word::as_static), why);
    }

    /// The same by the text of what has to be said.
    pub(crate) fn named_bar(&mut self, what: Option<&str>, why: &str) {
        let lifted_by = what.map(str::to_owned);
        self.bars.push(NotAllowlistable {
            lifted_by,
            ..NotAllowlistable::new("program", format!("`{}` {why}", self.name))
        });
    }

    /// A script that runs programs or touches files, whatever the rule on its program says.
    pub(crate) fn script_bar(&mut self, why: &str) {
        self.told_code = true;
        self.bars.push(NotAllowlistable::new("script", format!("the script of `{}` {why}", self.name)));
    }

    /// Code in the program's own language, which only a rule that names the option allows.
    pub(crate) fn code_bar(&mut self, option: &str, why: &str) {
        self.told_code = true;
        self.option_bar("inline-code", option, why);
    }

    /// No rule allows this, but for one that names the option.
    pub(crate) fn option_bar(&mut self, id: &'static str, option: &str, why: &str) {
        let why = format!("`{option}` of `{}` {why}", self.name);
        self.bars
            .push(NotAllowlistable { lifted_by: Some(option.to_owned()), ..NotAllowlistable::new(id, why) });
    }
}

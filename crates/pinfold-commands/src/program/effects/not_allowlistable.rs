//! Reasons for which no rule may allow an invocation.

use pinfold_shell::Word;

use super::InvocationEffects;
use crate::NotAllowlistable;

impl InvocationEffects<'_> {
    /// Excludes it from allow rules: no word names the file that it writes.
    pub(crate) fn exclude_unknown_write(&mut self) {
        if self.not_allowlistable.iter().all(|reason| reason.id != "unknown-file") {
            let why = format!("what `{}` writes is known only at run time", self.name);
            self.not_allowlistable.push(NotAllowlistable::new("unknown-file", why));
        }
    }

    /// Excludes it from allow rules: no word names the file that it reads.
    pub(crate) fn exclude_unknown_read(&mut self) {
        let why = format!("what `{}` reads is known only at run time", self.name);
        self.not_allowlistable.push(NotAllowlistable::new("unknown-file", why));
    }

    /// Excludes the subcommand, but for a rule that names it.
    pub(crate) fn exclude_subcommand(&mut self, why: &str) {
        match self.command {
            Some(command) => self.exclude_option("option", command, why),
            None => self.exclude_program(None, why),
        }
    }

    /// Excludes the program, but for a rule that names `what`.
    pub(crate) fn exclude_program(&mut self, what: Option<&Word>, why: &str) {
        self.exclude_named(what.and_then(Word::as_static), why);
    }

    /// Excludes the program, but for a rule that has this text.
    pub(crate) fn exclude_named(&mut self, what: Option<&str>, why: &str) {
        let lifted_by = what.map(str::to_owned);
        self.not_allowlistable.push(NotAllowlistable {
            lifted_by,
            ..NotAllowlistable::new("program", format!("`{}` {why}", self.name))
        });
    }

    /// Excludes a script that runs programs or touches files, whatever the rule on its program says.
    pub(crate) fn exclude_script(&mut self, why: &str) {
        self.told_code = true;
        self.not_allowlistable
            .push(NotAllowlistable::new("script", format!("the script of `{}` {why}", self.name)));
    }

    /// Excludes code in the program's own language, but for a rule that names the option.
    pub(crate) fn exclude_code(&mut self, option: &str, why: &str) {
        self.told_code = true;
        self.exclude_option("inline-code", option, why);
    }

    /// Excludes an option, but for a rule that names it.
    pub(crate) fn exclude_option(&mut self, id: &'static str, option: &str, why: &str) {
        let why = format!("`{option}` of `{}` {why}", self.name);
        self.not_allowlistable
            .push(NotAllowlistable { lifted_by: Some(option.to_owned()), ..NotAllowlistable::new(id, why) });
    }
}

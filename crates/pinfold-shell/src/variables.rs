//! Every change that a script makes to variables: assignments, loops, builtins, arithmetic.
//!
//! One table for everything that asks what a variable can hold: which value it has, whether arithmetic may run it as code,
//! whether it may start with a dash. No order is kept, and nothing is evaluated.
//!
//! Trap: what a sourced file or `eval` sets is not here.

use std::collections::BTreeMap;

use crate::script::{Script, Span, Word};
use crate::setter::{ChangedName, changes_by};

/// The changes that a script makes to variables, by name.
#[derive(Debug, Default)]
pub struct VariableTable<'s> {
    changes: BTreeMap<&'s str, Vec<VariableChange<'s>>>,
    /// The first command that changes a variable whose name is known only at run time.
    any: Option<Span>,
    /// A program that is known only at run time may be a builtin that does so.
    any_by_program: bool,
}

/// One change of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VariableChange<'s> {
    /// The value that it gets.
    pub value: NewValue<'s>,
    /// The part of the script that changes it.
    pub by: ChangedBy,
}

/// The value that a variable gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewValue<'s> {
    /// `NAME=value`.
    Word(&'s Word),
    /// `NAME+=value`: behind what it held.
    Appended(&'s Word),
    /// `NAME=(a b)`, `NAME+=(a b)`: the words of a list.
    List(&'s [Word]),
    /// `for NAME in a b`: one word after the other.
    Each(&'s [Word]),
    /// `export NAME=value`: a part of an argument.
    Argument {
        /// The argument.
        word: &'s Word,
        /// The literal text behind the `=`; the parts of the word behind its first follow.
        text: &'s str,
        /// The builtin makes something else of it: `declare -u`, `NAME+=value`.
        altered: bool,
    },
    /// `export NAME`, `local NAME`: what it held, or nothing.
    Kept {
        /// From then on it holds another text than is written: `declare -u NAME`.
        altered: bool,
    },
    /// `unset NAME`.
    Removed,
    /// A number, by arithmetic.
    Number,
    /// A value that a builtin reads or makes: `read NAME`, `printf -v NAME`.
    Unknown,
}

/// The part of a script that changes a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangedBy {
    /// An assignment of the command at this position, or the builtin that it is.
    Command(usize),
    /// The loop at this position of [`Script::loops`].
    Loop(usize),
    /// Arithmetic.
    Arithmetic,
}

impl<'s> VariableTable<'s> {
    /// The changes that `script` makes.
    pub fn from_script(script: &'s Script) -> Self {
        let mut table = Self::default();
        for (at, command) in script.commands.iter().enumerate() {
            for set in &command.assignments {
                let value = match (set.elements.as_slice(), set.appends) {
                    ([], false) => NewValue::Word(&set.value),
                    ([], true) => NewValue::Appended(&set.value),
                    (elements, _) => NewValue::List(elements),
                };
                table.add(&set.name, value, ChangedBy::Command(at));
            }
        }
        for (at, over) in script.loops.iter().enumerate() {
            table.add(&over.name, NewValue::Each(&over.elements), ChangedBy::Loop(at));
        }
        for name in &script.numbers {
            table.add(name, NewValue::Number, ChangedBy::Arithmetic);
        }
        for (at, command) in script.commands.iter().enumerate() {
            changes_by(&command.words, |name, value| match name {
                ChangedName::Known(name) => table.add(name, value, ChangedBy::Command(at)),
                ChangedName::Any => table.any = table.any.take().or_else(|| Some(command.span.clone())),
                ChangedName::AnyByProgram => table.any_by_program = true,
            });
        }
        table
    }

    fn add(&mut self, name: &'s str, value: NewValue<'s>, by: ChangedBy) {
        self.changes.entry(name).or_default().push(VariableChange { value, by });
    }

    /// Returns whether the script changes no variable.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.any.is_none()
    }

    /// The changes of the variable of this name. Assignments come first, then loops, arithmetic and builtins, each in the order
    /// of the text.
    pub fn changes(&self, name: &str) -> &[VariableChange<'s>] {
        self.changes.get(name).map_or(&[], Vec::as_slice)
    }

    /// The names of all variables that it changes, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &'s str> {
        self.changes.keys().copied()
    }

    /// The first change of a variable whose name is known only at run time: any may hold anything.
    pub fn any(&self) -> Option<&Span> {
        self.any.as_ref()
    }

    /// Returns whether a program that is known only at run time has arguments that would change any variable, if it is a builtin
    /// that does.
    pub fn any_by_program(&self) -> bool {
        self.any_by_program
    }
}

impl NewValue<'_> {
    /// Returns whether the variable gets another value than it had or none.
    pub fn is_given(self) -> bool {
        match self {
            Self::Word(_)
            | Self::Appended(_)
            | Self::List(_)
            | Self::Each(_)
            | Self::Argument { .. }
            | Self::Number
            | Self::Unknown => true,
            Self::Kept { .. } | Self::Removed => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    /// The names that a script changes in alphabetical order, `*` for any.
    fn changed(text: &str) -> String {
        let script = parse(text);
        let table = VariableTable::from_script(&script);
        let mut names: Vec<_> = table.names().collect();
        let any = [(table.any().is_some(), "*"), (table.any_by_program(), "$")];
        names.extend(any.iter().filter(|(is, _)| *is).map(|(_, sign)| *sign));
        names.join(" ")
    }

    #[test]
    fn every_way_to_change_a_variable_is_listed() {
        for (text, names) in [
            ("A=1 B+=2 x; C=(a b)", "A B C"),
            ("for f in a b; do :; done; for ((i=0; i<3; i++)); do :; done", "f i"),
            ("echo ${D:=x} $((n+=1))", "D n"),
            ("export A=1 B; local C=; readonly D; declare -x E=$x", "A B C D E"),
            ("read -r a b; mapfile -t lines; getopts ab: o", "MAPFILE OPTARG OPTIND REPLY a b lines o"),
            ("read -rd '' x", "REPLY x"),
            ("printf -v a '%s' \"$x\"; printf -vb x; printf '%s' c", "a b"),
            ("wait -n -p done; wait -fp id 1", "done id"),
            ("let i=1 'j += 2' k++ ++l", "i j k l"),
            ("unset -v A B", "A B"),
            ("builtin export A=1; command read b; command -p declare c=1", "A REPLY b c"),
            ("/bin/read a; echo export A=1; command -v export A", ""),
            ("export \"$x\"", "*"),
            ("read $x; read \"-p\" \"a b $c\" d", "REPLY d *"),
            ("declare -n r=HOME", "r *"),
            ("export -n r", "r"),
            ("printf -v \"$x\" a", "*"),
            ("printf -v a \"$x\" b", "a *"),
            ("let \"i = $x\"", "i *"),
            ("$e A=1 b \"$c\"", "A b $"),
            ("\"$HOME\"/bin/x A=1 \"$c\"", ""),
        ] {
            assert_eq!(changed(text), names, "{text}");
        }
    }

    #[test]
    fn a_value_of_an_argument_is_what_stands_behind_its_name() {
        let script = parse("export A=x$y B+=1; declare -l C=D");
        let table = VariableTable::from_script(&script);
        let texts = ["A", "B", "C"].map(|name| match table.changes(name) {
            [VariableChange { value: NewValue::Argument { text, altered, .. }, .. }] => (*text, *altered),
            other => panic!("{other:?}"),
        });
        assert_eq!(texts, [("x", false), ("1", true), ("D", true)]);
    }
}

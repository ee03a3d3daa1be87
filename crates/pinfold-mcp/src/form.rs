//! An approval request as a form (elicitation): what the user reads, the choices, and the meaning of each.

use std::fmt::Write as _;

use pinfold::consent::answer::RuleFile;
use pinfold::consent::{Answer, AnsweredBy, ApprovalChannel, Choice, Request};
use pinfold_render::{Answerable, Block, Body, LineBreaks, offered, title, visible};
use serde_json::{Value, json};

/// The longest text of a form, in bytes: clients truncate longer ones, and a user must not approve what was not shown.
const MAX_TEXT_BYTES: usize = 6 * 1024;

/// The one field of the form.
const FIELD: &str = "answer";

/// An approval request as a form.
#[derive(Debug, Clone)]
pub(crate) struct ElicitationForm {
    message: String,
    choices: Vec<(Answerable, String)>,
    /// The scope that a yes for the session grants.
    session: usize,
    id: String,
    digest: String,
}

/// The result of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FormResult {
    /// The user chose.
    Answer(Answer),
    /// The user did not choose, with the reason.
    Nothing(&'static str),
}

impl ElicitationForm {
    /// The form of a request; `None` when it is too long.
    pub(crate) fn for_request(request: &Request) -> Option<Self> {
        let body = Body::new(request);
        let mut message = format!("pinfold: {}\n", title(request));
        for block in &body.blocks {
            write(&mut message, block);
        }
        (body.is_whole && message.len() <= MAX_TEXT_BYTES).then(|| Self {
            message,
            choices: offered(request, true)
                .into_iter()
                .map(|choice| (choice, describe_choice(choice, request)))
                .collect(),
            session: request.offer.first_beyond_yes(),
            id: request.id.clone(),
            digest: request.digest.clone(),
        })
    }

    /// The parameters of `elicitation/create`. There is no default: some clients submit it.
    pub(crate) fn params(&self) -> Value {
        let (words, names): (Vec<_>, Vec<_>) =
            self.choices.iter().map(|(choice, says)| (choice.as_str(), says)).unzip();
        json!({
            "mode": "form",
            "message": self.message,
            "requestedSchema": {
                "type": "object",
                "properties": {
                    FIELD: {
                        "type": "string",
                        "title": "Answer",
                        "enum": words,
                        "enumNames": names,
                    },
                },
                "required": [FIELD],
            },
        })
    }

    /// Parses the result of `elicitation/create`. Only offered choices count; a form without a choice is no answer.
    pub(crate) fn read(&self, result: &Value, client: &str) -> FormResult {
        let chosen = match result.get("action").and_then(Value::as_str) {
            Some("decline") => Some(Answerable::No),
            Some("accept") => {
                let answer = result.pointer(&format!("/content/{FIELD}")).and_then(Value::as_str);
                answer
                    .and_then(|answer| self.choices.iter().find(|(choice, _)| choice.as_str() == answer))
                    .map(|(choice, _)| *choice)
            }
            Some("cancel") => return FormResult::Nothing("the client closed the question without an answer"),
            _ => None,
        };
        let Some(chosen) = chosen else {
            return FormResult::Nothing("the client gave no answer that was offered");
        };
        let choice = match chosen {
            Answerable::Yes => Choice::Yes,
            Answerable::Session => Choice::session(self.session),
            Answerable::Always => Choice::Always { scopes: Vec::new(), file: RuleFile::Local },
            Answerable::No => Choice::no(),
            Answerable::NoToProcess => Choice::No { message: None, process: true },
        };
        let by = AnsweredBy { via: ApprovalChannel::Client, who: Some(visible(client)) };
        FormResult::Answer(Answer { id: self.id.clone(), digest: self.digest.clone(), choice, by })
    }
}

/// Describes a choice, with everything that it grants.
fn describe_choice(choice: Answerable, request: &Request) -> String {
    let offer = &request.offer;
    match choice {
        Answerable::Yes => "Yes, this once".to_owned(),
        Answerable::Session => {
            let scope = offer.session.get(offer.first_beyond_yes()).map(|scope| visible(&scope.says));
            format!("Yes, until the session ends: {}", scope.unwrap_or_default())
        }
        Answerable::Always => {
            let usual = offer.always.iter().filter_map(|part| part.scopes.get(part.usual));
            let rules: Vec<_> = usual.map(|scope| visible(&scope.says)).collect();
            let file = offer.files.first().map(|file| visible(file)).unwrap_or_default();
            format!("Yes, from now on: {} (written to {file})", rules.join(", "))
        }
        Answerable::No => "No".to_owned(),
        Answerable::NoToProcess => "No, and no to all else that this process tries".to_owned(),
    }
}

/// A block of lines, each after a gutter, so that no text can imitate another block.
fn write(message: &mut String, block: &Block<'_>) {
    let lines: Vec<String> = match block.kind {
        LineBreaks::Exact | LineBreaks::Lines => block.text.split('\n').map(visible).collect(),
        LineBreaks::Inline | LineBreaks::Prose => vec![visible(&block.text)],
    };
    for (number, line) in lines.iter().enumerate() {
        let label = if number == 0 { block.label } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(message, "{label:>8} {} {line}", block.sign);
    }
}

//! Secrets in what tools answer: of large files, in pieces of output, and with the switch off.

use crate::kit::Bed;
use crate::shells::{ShellBed, ask, bash, begin, until};
use pinfold::RawCall;
use pinfold_tools::{CallEnding, Scrubbing, ShellOptions, ToolRequest, call};
use serde_json::{Value, json};

const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

/// A file that is read line by line, with a key across what is read at once.
#[test]
fn a_large_file_is_read_without_its_secrets() {
    let bed = Bed::new();
    let line = "0123456789abcdef some words and more words of no weight\n";
    let key = format!(
        "-----BEGIN PRIVATE KEY-----\n{}-----END PRIVATE KEY-----\n",
        "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n".repeat(3000)
    );
    let before = line.repeat(90_000);
    bed.put("big", format!("{before}{key}TOKEN={TOKEN}\nthe end\n"));
    let first = 90_000 + 1;
    let reply = bed.call("Read", json!({"file_path": "big", "offset": first + 1000, "limit": 5}));
    assert!(reply.text().contains(&format!("{}\t\n", first + 1000)), "{}", reply.text());
    let reply = bed.call("Read", json!({"file_path": "big", "offset": first + 3000, "limit": 10}));
    assert!(!reply.text().contains("MII") && !reply.text().contains("ghp_"), "{}", reply.text());
    assert!(reply.text().contains("TOKEN=[REDACTED:github-token]\n"), "{}", reply.text());
    assert_eq!(reply.structured["redacted"], json!({"private-key": 1, "github-token": 1}));
}

#[test]
fn the_switch_gives_and_takes_everything_as_it_is() {
    let bed = Bed::new();
    bed.put("f", format!("TOKEN={TOKEN}\n"));
    let call = |tool: &str, input: Value| {
        let raw = RawCall::new(tool, input);
        call(&bed.session, ToolRequest::new(&raw).with_scrubbing(Scrubbing::Off))
    };
    let reply = call("Read", json!({"file_path": "f"}));
    assert!(reply.text().contains(TOKEN) && reply.structured.get("redacted").is_none());
    let write = json!({"file_path": "f", "content": "TOKEN=[REDACTED:github-token]\n"});
    assert_eq!(call("Write", write.clone()).ended, CallEnding::Done);
    // The control: with it on, what is not there yet is not written.
    bed.put("f", format!("TOKEN={TOKEN}\n"));
    bed.read("f");
    let reply = bed.call("Write", write);
    assert_eq!((reply.ended, &reply.structured["error"]), (CallEnding::Failed, &json!("Redacted")));
    assert_eq!(bed.get("f"), format!("TOKEN={TOKEN}\n"));
}

#[test]
fn what_a_shell_says_has_no_secrets() {
    let bed = ShellBed::new();
    let session = bed.session();
    let reply = bash(
        &session,
        &bed.sourced(&format!(
            "printf 'TOKEN=%s%s\\n' {}",
            TOKEN.split_at(10).0.to_owned() + " " + TOKEN.split_at(10).1
        )),
    );
    assert!(reply.text().starts_with("TOKEN=[REDACTED:github-token]\n"), "{}", reply.text());
    assert_eq!(reply.structured["redacted"], json!({"github-token": 1}));
    assert!(!reply.structured.to_string().contains("16C7e42F"), "{}", reply.structured);
}

/// The beginning and the end of long output are kept; a secret at the cut would be half a secret.
#[test]
fn a_secret_where_long_output_is_cut_is_whole_to_the_scrubber() {
    let bed = ShellBed::new();
    let session = bed.session();
    let command =
        format!("for i in $(seq 2000); do printf 'TOKEN=%s%s\\n' {} {}; done", &TOKEN[..9], &TOKEN[9..]);
    let reply = bash(&session, &bed.sourced(&command));
    assert!(
        reply.structured["left_out_bytes"].as_u64().unwrap() > 0,
        "{}",
        reply.structured["left_out_bytes"]
    );
    assert!(!reply.text().contains("16C7e") && !reply.text().contains("178B4a"), "{}", reply.text());
    assert_eq!(reply.structured["redacted"]["github-token"], 2000);
}

/// In pieces of a background shell, cut in the middle of the secret; a prompt is there at once.
#[test]
fn a_secret_in_two_pieces_is_none_in_either() {
    let bed = ShellBed::new();
    let session = bed.session();
    let (one, two) = TOKEN.split_at(14);
    let id = begin(
        &session,
        &bed.sourced(&format!("printf 'Password: '; read x; printf '{one}'; read x; echo '{two}'; echo end")),
    );
    assert_eq!(until(&session, &id, "Password: "), "Password: ");
    let send = |text: &str| {
        assert_eq!(ask(&session, "BashInput", json!({"bash_id": id, "text": text})).ended, CallEnding::Done);
    };
    send("\n");
    let held = ask(&session, "BashOutput", json!({"bash_id": id, "wait": 300}));
    assert_eq!(held.structured["output"], "", "the beginning of a token is held back");
    send("\n");
    assert_eq!(until(&session, &id, "end"), "[REDACTED:github-token]\nend\n");
}

#[test]
fn a_shell_with_the_switch_off_says_what_it_says() {
    let bed = ShellBed::new();
    let session = bed.open(bed.plan(), ShellOptions { scrubbing: Scrubbing::Off, ..bed.options() });
    let raw = RawCall::new("Bash", json!({"command": bed.sourced(&format!("echo {TOKEN}"))}));
    let reply = call(&session, ToolRequest::new(&raw).with_scrubbing(Scrubbing::Off));
    assert_eq!(reply.text(), TOKEN);
}

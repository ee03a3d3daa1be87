use proptest::prelude::*;

use super::*;

/// A case of the table: a sentence, the text of a file, what is wrong with it.
struct SettingsCase {
    name: &'static str,
    text: String,
    bad: Vec<&'static str>,
    without_effect: Vec<&'static str>,
}

fn cases() -> Vec<SettingsCase> {
    include_str!("cases.txt").split("## ").skip(1).map(case).collect()
}

fn case(block: &'static str) -> SettingsCase {
    let (name, rest) = block.split_once('\n').unwrap();
    let starting = |mark| rest.lines().filter_map(move |line| line.strip_prefix(mark)).collect();
    let is_text = |line: &&str| !line.starts_with("! ") && !line.starts_with("~ ");
    let text = rest.lines().filter(is_text).collect::<Vec<_>>().join("\n").replace("<BOM>", "\u{FEFF}");
    SettingsCase {
        name,
        text: text.trim_end_matches('\n').to_owned(),
        bad: starting("! "),
        without_effect: starting("~ "),
    }
}

fn parse(text: &str) -> Result<Settings, BadSettings> {
    Settings::parse(text.as_bytes(), Layer::Project, &"settings.json".into())
}

fn messages(bad: &[BadSetting]) -> Vec<String> {
    bad.iter().map(|bad| bad.to_string().replacen("project settings.json:", "", 1)).collect()
}

#[test]
fn every_case_of_the_table_is_told_as_it_stands_there() {
    let cases = cases();
    assert!(cases.len() > 20, "{} cases", cases.len());
    for SettingsCase { name, text, bad, without_effect } in cases {
        match parse(&text) {
            Ok(settings) => {
                assert!(bad.is_empty(), "{name}: was read");
                assert_eq!(messages(&settings.without_effect), without_effect, "{name}");
            }
            Err(found) => assert_eq!(messages(&found.bad), bad, "{name}"),
        }
    }
}

#[test]
fn every_place_is_one_of_the_text() {
    for SettingsCase { name, text, .. } in cases() {
        let Err(found) = parse(&text) else { continue };
        for bad in found.bad {
            assert!(found.text.get(bad.span.clone()).is_some(), "{name}: {:?}", bad.span);
        }
    }
}

#[test]
fn each_value_knows_its_place() {
    let text = "{\n  \"permissions\": {\n    \"deny\": [\n      \"Write\", \"Edit\"\n    ]\n  }\n}";
    let settings = parse(text).unwrap();
    let places: Vec<_> = settings.says.permissions.deny.iter().map(|rule| rule.source.to_string()).collect();
    assert_eq!(places, ["project settings.json:4:7", "project settings.json:4:16"]);
}

#[test]
fn of_an_organisation_s_file_nothing_is_left_out() {
    let text = br#"{"permissions": {"allow": ["Bash(rm"]}}"#;
    let parse = |layer| Settings::parse(text, layer, &"f".into());
    assert!(parse(Layer::Managed).is_err());
    assert!(parse(Layer::User).unwrap().says.permissions.allow.0.is_empty());
}

#[test]
fn what_is_no_text_of_ours_is_told() {
    let long = vec![b' '; MAX_BYTES + 1];
    for (bytes, what) in [
        (&b"\xff\xfe{\0}\0"[..], "UTF-16"),
        (b"{\"a\": \"\xff\"}", "UTF-8"),
        (b"// comment \r \"bash\": {}", "carriage return"),
        (&long, "longer"),
    ] {
        let bad = Settings::parse(bytes, Layer::User, &"f".into()).unwrap_err();
        assert!(bad.to_string().contains(what), "{bad}");
    }
}

#[test]
fn hostile_texts_take_linear_time_and_no_stack() {
    let open = "[".repeat(1_000_000);
    let nested = format!("{{\"tools\": {}1{}}}", "[".repeat(500), "]".repeat(500));
    let many = format!("{{\"permissions\": {{\"deny\": [{}\"Write\"]}}}}", "\"Write\",".repeat(200_000));
    let wrong = format!("{{\"permissions\": {{\"deny\": [{}1]}}}}", "1,".repeat(500_000));
    let keys = format!(
        "{{\"tools\": {{{}\"z\":1}}}}",
        (0..100_000).map(|i| format!("\"k{i}\":1,")).collect::<String>()
    );
    for (text, reads) in [(open, false), (nested, true), (many, true), (wrong, false), (keys, true)] {
        let from = std::time::Instant::now();
        assert_eq!(parse(&text).is_ok(), reads);
        assert!(from.elapsed().as_secs() < 10, "{:?}", from.elapsed());
    }
}

#[test]
fn the_schema_knows_what_the_reader_knows() {
    let schema = Settings::schema();
    let keys =
        |of: &serde_json::Value| of["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&schema), Content::KEYS);
    assert_eq!(keys(&schema["properties"]["permissions"]), Permissions::KEYS);
    let modes = &schema["properties"]["permissions"]["properties"]["defaultMode"]["enum"];
    assert!(
        modes
            .as_array()
            .unwrap()
            .iter()
            .all(|mode| { parse(&format!("{{\"permissions\": {{\"defaultMode\": {mode}}}}}")).is_ok() })
    );
}

#[test]
fn flags_are_a_layer_of_their_own() {
    let list = |lists: &[&str]| lists.iter().map(|list| (*list).to_owned()).collect::<Vec<_>>();
    let flags = Flags {
        permission_mode: Some("acceptEdits".to_owned()),
        allowed_tools: list(&["Bash(npm test),Bash(git status) Read", "Edit(./a, b/*)"]),
        disallowed_tools: list(&["Bash(rm:*)"]),
        ..Flags::default()
    };
    let says = flags.settings().unwrap().says.permissions;
    let texts = |rules: &[Located<Rule>]| rules.iter().map(|rule| rule.value.to_string()).collect::<Vec<_>>();
    assert_eq!(texts(&says.allow.0), ["Bash(npm test)", "Bash(git status)", "Read", "Edit(./a, b/*)"]);
    assert_eq!(texts(&says.deny), ["Bash(rm:*)"]);
    assert_eq!(says.default_mode.unwrap().source.to_string(), "command line");
}

#[test]
fn flags_that_cannot_be_meant_are_told_all_at_once() {
    let flags = Flags {
        permission_mode: Some("explore".to_owned()),
        allowed_tools: vec!["Bash(rm".to_owned(), "Bash()".to_owned()],
        ..Flags::default()
    };
    assert_eq!(flags.settings().unwrap_err().bad.len(), 3);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>) {
        let _ = Settings::parse(&bytes, Layer::User, &"f".into());
    }

    #[test]
    fn no_broken_file_makes_it_panic(which in 0_usize..20, cut in 0_usize..800, with in "\\PC{0,4}") {
        let cases = cases();
        let text = &cases[which % cases.len()].text;
        let at = (0..=cut.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let _ = parse(&format!("{}{with}", &text[..at]));
        let _ = parse(&format!("{}{with}{}", &text[..at], &text[at..]));
    }
}

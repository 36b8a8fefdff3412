use proptest::prelude::*;

use super::*;
use crate::contract::error::Code;
use crate::contract::limits::{JSON_DEPTH_MAX, JSON_VALUES_MAX};

fn refusal(text: &str) -> (Code, u64) {
    let error = JsonText::parse(text).expect_err(text);
    (error.code(), error.place().column.expect("a column"))
}

#[test]
fn keeps_text_without_white_space_between_tokens() {
    let text =
        JsonText::parse(" {\r\n\t\"a b\" : [ 1.0 , 1E2, -0 ] , \"\\\" \\\\\" : \"x  \\\" y\" } ").unwrap();
    assert_eq!(text.as_str(), r#"{"a b":[1.0,1E2,-0],"\" \\":"x  \" y"}"#);
    for number in ["9007199254740993", "18446744073709551616", "0.1234567890123456789", "-0", "1E2", "1.0"] {
        assert_eq!(JsonText::parse(number).unwrap().as_str(), number);
    }
}

#[test]
fn refuses_what_peers_read_differently() {
    assert_eq!(refusal(r#"{"a":1e400}"#).0, Code::Json);
    assert_eq!(refusal(r#"{"a":-1e999}"#).0, Code::Json);
    for half in [r"\ud800", r"\udc00", r"x\ud83d", r"\udc00\ud800", r"\ud800\ud800"] {
        assert_eq!(refusal(&format!(r#"{{"a":"{half}"}}"#)).0, Code::Json, "{half} as a value");
        assert_eq!(refusal(&format!(r#"{{"{half}":1}}"#)).0, Code::Json, "{half} as a name");
    }
    assert_eq!(refusal(r#"{"a":1,"b":2,"a":3}"#).0, Code::Json);
    assert_eq!(refusal(r#"{"a":{"b":1,"\u0062":2}}"#).0, Code::Json);
    for raw in ["\u{0}", "\u{b}", "\u{1f}"] {
        assert_eq!(refusal(&format!("\"a{raw}\"")), (Code::Json, 3), "{raw:?}");
    }
    for text in
        ["", " ", "{", "[1,]", "{\"a\":}", "nul", "01", "+1", ".5", "NaN", "'a'", "[1 2]", "\u{feff}1"]
    {
        assert_eq!(refusal(text).0, Code::Json, "{text}");
    }
}

#[test]
fn accepts_what_is_legal_inside_strings() {
    for inner in [
        "\u{2028}",
        "\u{2029}",
        "\u{85}",
        r"\u000b",
        r"\u000c",
        r"\u001e",
        r"\u0000",
        "\u{7f}",
        r"\ud83d\ude00",
    ] {
        let text = format!("{{\"a\":\"{inner}\"}}");
        assert_eq!(JsonText::parse(&text).unwrap().as_str(), text);
    }
    assert_eq!(JsonText::parse("[1,\r2]").unwrap().as_str(), "[1,2]");
}

#[test]
fn finds_repeated_names_in_great_objects() {
    let object = |names: &mut dyn Iterator<Item = usize>| {
        let members: Vec<String> = names.map(|n| format!("\"n{n}\":0")).collect();
        format!("{{{}}}", members.join(","))
    };
    assert!(JsonText::parse(&object(&mut (0..100_000))).is_ok());
    for last in [0, 15, 16, 17, 99_998] {
        assert_eq!(refusal(&object(&mut (0..100_000).chain([last]))).0, Code::Json);
    }
}

#[test]
fn says_where_a_value_ends_when_more_follows() {
    assert_eq!(refusal("{}{}"), (Code::Json, 2));
    assert_eq!(refusal("{}  {}"), (Code::Json, 2));
    assert_eq!(refusal("{\"a\":1},"), (Code::Json, 7));
    assert_eq!(refusal("\n12 x"), (Code::Json, 3));
}

#[test]
fn says_where_and_what_in_one_line() {
    assert_eq!(refusal("{\n\"a\":\n tru}"), (Code::Json, 12));
    let error = JsonText::parse("[1,]").unwrap_err();
    assert_eq!(error.to_string(), "not json: trailing comma, column 4");
    let column = refusal(r#"{"a":1,"b":2,"a":3}"#).1;
    assert!((14..=17).contains(&column), "{column}");
}

#[test]
fn never_quotes_the_input() {
    for text in
        [r#"{"secret":"secret" secret}"#, r#"["secret"#, r#"{"secret":1,"secret":2}"#, r#""secret" "secret""#]
    {
        let error = JsonText::parse(text).expect_err(text);
        assert!(!format!("{error} {error:?}").contains("secret"), "{error}");
    }
    let value = Json::parse(r#"{"secret":["secret"]}"#).unwrap();
    assert!(!format!("{value:?} {:?}", JsonText::parse(r#""secret""#)).contains("secret"));
}

/// Nests `depth` levels; the innermost is empty.
fn nested(depth: usize, objects: bool) -> String {
    let (open, close) = if objects { ("{\"a\":", "}") } else { ("[", "]") };
    let (first, last) = if objects { ("{", "}") } else { ("[", "]") };
    format!("{}{first}{last}{}", open.repeat(depth - 1), close.repeat(depth - 1))
}

#[test]
fn bounds_depth_before_it_recurses() {
    let small_stack = std::thread::Builder::new().stack_size(256 << 10);
    let run = small_stack.spawn(|| {
        for objects in [false, true] {
            for depth in [1, 32, JSON_DEPTH_MAX - 1] {
                let text = nested(depth, objects);
                assert_eq!(JsonText::parse(&text).unwrap().as_str(), text);
                assert_eq!(Json::parse(&text).unwrap().clone(), Json::parse(&text).unwrap());
            }
            for depth in [JSON_DEPTH_MAX, JSON_DEPTH_MAX + 1, 1_000, 1_000_000] {
                assert_eq!(refusal(&nested(depth, objects)).0, Code::Limit, "{depth}");
            }
            let unclosed = if objects { "{\"a\":" } else { "[" }.repeat(1_000_000);
            assert_eq!(refusal(&unclosed).0, Code::Limit);
        }
    });
    run.unwrap().join().unwrap();
}

/// Arbitrary JSON with white space between its tokens.
pub(crate) fn arbitrary_json() -> impl Strategy<Value = String> {
    let space = prop::sample::select(vec!["", " ", "\n", "\t \r"]);
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(|n| format!("{n:e}")),
        any::<i64>().prop_map(|n| n.to_string()),
        ".{0,6}".prop_map(|text| serde_json::to_string(&text).unwrap()),
    ];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        let item = (inner, space.clone(), space.clone()).prop_map(|(v, a, b)| format!("{a}{v}{b}"));
        prop_oneof![
            prop::collection::vec(item.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::btree_map(".{0,4}", item, 0..4).prop_map(|members| {
                let members: Vec<String> = members
                    .into_iter()
                    .map(|(name, value)| format!(" {} :{value}", serde_json::to_string(&name).unwrap()))
                    .collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn reads_what_serde_json_reads(text in arbitrary_json()) {
        let ours = JsonText::parse(&text).unwrap();
        let plain: serde_json::Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(serde_json::from_str::<serde_json::Value>(ours.as_str()).unwrap(), plain);
        prop_assert_eq!(JsonText::parse(ours.as_str()).unwrap(), ours);
    }

    #[test]
    fn refuses_what_serde_json_refuses(text in "[\\[\\]{}:,\"\\\\a1-9e.+ -]{0,12}") {
        let plain: Result<serde_json::Value, _> = serde_json::from_str(&text);
        if plain.is_err() {
            prop_assert!(JsonText::parse(&text).is_err());
        }
    }
}

#[test]
fn values_are_counted() {
    let most = usize::try_from(JSON_VALUES_MAX).unwrap();
    // An array of n elements is n + 1 values; an object with a member takes two.
    for (element, each) in [("0", 1), ("[]", 1), (r#"{"a":0}"#, 2)] {
        let text = |n: usize| format!("[{}]", vec![element; n].join(","));
        let fits = (most - 1) / each;
        Json::parse(&text(fits)).unwrap();
        let error = Json::parse(&text(fits + 1)).unwrap_err();
        assert_eq!(error.code(), Code::Limit, "{element}: {error}");
        assert!(error.place().column.is_some());
    }
}

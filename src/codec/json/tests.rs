use proptest::prelude::*;

use super::*;
use crate::contract::{Code, EventFields, arbitrary_json, canonical, limits, same};

const GOOD: &str = r#"{"v":1,"id":"e1","host":"h","seq":3,"causes":["a","b"],"at":1700000000000,"type":"turn.started","payload":{"turnId":"t"}}"#;

fn read(line: &str) -> Result<Event> {
    read_event(line.as_bytes(), &TypeRegistry::v1(), UnknownTypes::Refuse)
}

fn code(line: &str) -> Code {
    read(line).expect_err(line).code()
}

fn written(event: &Event) -> String {
    let mut out = Vec::new();
    write_event(event, &mut out);
    String::from_utf8(out).unwrap()
}

/// The good line with one part replaced.
fn changed(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from));
    GOOD.replacen(from, to, 1)
}

#[test]
fn a_line_in_the_contracts_order_comes_back_as_it_was() {
    assert_eq!(written(&read(GOOD).unwrap()), GOOD);
    let extra = changed("}}", r#"},"foo":1.0,"bar":{"x":[null," "]},"\n":"z"}"#);
    assert_eq!(written(&read(&extra).unwrap()), extra);
}

#[test]
fn members_are_put_in_order_and_white_space_goes() {
    let line = r#" { "z" : [ 1 , " 2 " ] , "payload" : { "turnId" : "a b" } , "type" : "turn.started" ,
        "at" : 1.5e3 , "causes" : [ "\u0061" ] , "seq" : 3.0 , "host" : "h" , "\u0069d" : "e" , "v" : 1e0 } "#;
    let expected = r#"{"v":1,"id":"e","host":"h","seq":3,"causes":["a"],"at":1500,"type":"turn.started","payload":{"turnId":"a b"},"z":[1," 2 "]}"#;
    assert_eq!(written(&read(line).unwrap()), expected);
}

#[test]
fn what_is_broken_first_in_the_contracts_order_is_named() {
    let steps = [
        ("\"v\":1", "\"v\":\"1\"", Code::Version),
        ("\"e1\"", "\"\"", Code::Shape),
        ("\"turn.started\"", "\"turn.paused\"", Code::Type),
        ("{\"turnId\":\"t\"}", "null", Code::Shape),
        ("\"t\"", "5", Code::Payload),
    ];
    for (index, (from, to, expected)) in steps.iter().enumerate() {
        let later = steps.iter().skip(index + 1).take(2 - index.min(2));
        let line = later.fold(changed(from, to), |line, (from, to, _)| line.replacen(from, to, 1));
        assert_eq!(code(&line), *expected, "{line}");
    }
    assert_eq!(code("null"), Code::Shape);
    assert_eq!(code(&format!("[{GOOD},{GOOD}]")), Code::Version);
}

#[test]
fn a_payload_keeps_the_spelling_of_its_numbers() {
    let numbers = "9007199254740993,-9223372036854775808,18446744073709551615,18446744073709551616,0.1234567890123456789,-0,1E2,100,1.0";
    let line = changed("\"t\"}", &format!("\"t\",\"n\":[{numbers}]}}"));
    assert_eq!(written(&read(&line).unwrap()), line);
    assert_eq!(code(&changed("\"t\"}", "\"t\",\"n\":1e400}")), Code::Json);
    assert_eq!(code(&changed("}}", "},\"n\":1e400}")), Code::Json);
    for seq in
        ["9007199254740992", "18446744073709551615", "18446744073709551616", "1e308", "-1", "0.5", "\"3\""]
    {
        assert_eq!(code(&changed("\"seq\":3", &format!("\"seq\":{seq}"))), Code::Shape, "{seq}");
    }
    for seq in ["-0", "0.0", "1e2", "9007199254740991", "1e-400"] {
        assert!(read(&changed("\"seq\":3", &format!("\"seq\":{seq}"))).is_ok(), "{seq}");
    }
}

#[test]
fn two_values_on_a_line_are_refused_where_the_first_ends() {
    let end = Some(u64::try_from(GOOD.len()).unwrap());
    for line in
        [format!("{GOOD}{GOOD}"), format!("{GOOD} {GOOD}"), format!("{GOOD},"), format!("{GOOD}\u{feff}")]
    {
        let error = read(&line).unwrap_err();
        assert_eq!((error.code(), error.place().column), (Code::Json, end), "{line}");
    }
    assert_eq!(code(&format!("\u{feff}{GOOD}")), Code::Json);
}

#[test]
fn a_bad_part_is_named_by_its_column_in_the_line() {
    let payload = changed("\"t\"}", "\"t\",\"x\":tru}");
    let error = read(&payload).unwrap_err();
    let column = payload.find("tru}").unwrap() + 4;
    assert_eq!((error.code(), error.place().column), (Code::Json, Some(u64::try_from(column).unwrap())));
    for text in [r"\ud800", r"\udc00", r"\ud83d", r"\udc00\ud800"] {
        for line in [
            changed("\"t\"", &format!("\"{text}\"")),
            changed("\"t\"}", &format!("\"t\",\"{text}\":1}}")),
            changed("}}", &format!("}},\"{text}\":1}}")),
            changed("}}", &format!("}},\"x\":\"{text}\"}}")),
            changed("\"e1\"", &format!("\"{text}\"")),
        ] {
            let error = read(&line).unwrap_err();
            let at = u64::try_from(line.find(text).unwrap()).unwrap();
            let column = error.place().column.unwrap();
            assert!(error.code() == Code::Json && (at..=at + 13).contains(&column), "{line}: {error}");
        }
    }
    let mut bytes = changed("\"t\"", "\"abc\"").into_bytes();
    let at = bytes.windows(3).position(|window| window == b"abc").unwrap();
    bytes[at..at + 3].copy_from_slice(&[0xED, 0xA0, 0x80]);
    let error = parse_event(&bytes).unwrap_err();
    assert_eq!((error.code(), error.place().column), (Code::Json, Some(u64::try_from(at + 1).unwrap())));
}

#[test]
fn repeated_members_are_refused() {
    for line in [
        changed("\"v\":1", "\"v\":1,\"v\":1"),
        changed("\"v\":1", "\"v\":1,\"\\u0076\":1"),
        changed("}}", "},\"payload\":{}}"),
        changed("}}", "},\"x\":1,\"y\":2,\"x\":1}"),
        changed("}}", "},\"x\":{\"a\":1,\"a\":1}}"),
        changed("\"t\"", "\"t\",\"turnId\":\"t\""),
    ] {
        assert_eq!(code(&line), Code::Json, "{line}");
    }
}

#[test]
fn nesting_is_bounded_with_the_envelope_as_level_one() {
    let run = || {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let deep = |levels: usize| format!("{}0{}", open.repeat(levels), close.repeat(levels));
            for (levels, fits) in [(32, true), (126, true), (127, false), (1_000, false), (1_000_000, false)]
            {
                let inside = changed("\"t\"}", &format!("\"t\",\"x\":{}}}", deep(levels)));
                assert_eq!(read(&inside).err().map(|error| error.code()), (!fits).then_some(Code::Limit));
                if let Ok(event) = read(&inside) {
                    let other = inside.replace("1700000000000", "17e11").replace('0', "0.0");
                    assert!(same(&event, &read(&other).unwrap()).unwrap());
                    assert_eq!(written(&event), inside);
                }
            }
            for (levels, fits) in [(127, true), (128, false), (1_000_000, false)] {
                let beside = changed("}}", &format!("}},\"x\":{}}}", deep(levels)));
                assert_eq!(read(&beside).err().map(|error| error.code()), (!fits).then_some(Code::Limit));
                if let Ok(event) = read(&beside) {
                    assert!(
                        canonical(&event).is_ok()
                            && validate(&event, &TypeRegistry::v1(), UnknownTypes::Refuse).is_ok()
                    );
                    let other = beside.replace("1700000000000", "17e11").replace('0', "0.0");
                    assert!(same(&event, &read(&other).unwrap()).unwrap());
                }
                let as_id = changed("\"e1\"", &deep(levels));
                assert_eq!(code(&as_id), if fits { Code::Shape } else { Code::Limit });
            }
            assert!(matches!(code(&open.repeat(1_000_000)), Code::Limit | Code::Json));
        }
    };
    std::thread::Builder::new().stack_size(256 << 10).spawn(run).unwrap().join().unwrap();
}

#[test]
fn sizes_are_bounded() {
    let long = "x".repeat(limits::ID_BYTES_MAX + 1);
    assert_eq!(code(&changed("\"e1\"", &format!("\"{long}\""))), Code::Limit);
    assert_eq!(code(&changed("\"h\"", &format!("\"{long}\""))), Code::Limit);
    assert_eq!(code(&changed("\"a\"", &format!("\"{long}\""))), Code::Limit);
    let causes = vec!["\"a\""; limits::CAUSES_MAX + 1].join(",");
    assert_eq!(code(&changed("\"a\",\"b\"", &causes)), Code::Limit);
    assert!(read(&changed("\"a\",\"b\"", &causes["\"a\",".len()..])).is_ok());
    let line = changed("\"t\"}", &format!("\"t\",\"x\":\"{}\"}}", "y".repeat(limits::LINE_BYTES_MAX)));
    assert_eq!(code(&line), Code::Limit);
}

#[test]
fn unknown_types_are_refused_or_taken_as_they_are() {
    let line = changed("turn.started", "app.opened").replace("\"turnId\":\"t\"", "");
    assert_eq!(code(&line), Code::Type);
    let registry = TypeRegistry::v1();
    let event = read_event(line.as_bytes(), &registry, UnknownTypes::Accept).unwrap();
    assert_eq!(written(&event), line);
    assert!(validate(&event, &registry, UnknownTypes::Accept).is_ok());
    assert_eq!(validate(&event, &registry, UnknownTypes::Refuse).unwrap_err().code(), Code::Type);
    assert_eq!(parse_event(line.as_bytes()).unwrap(), event);
    // A known type's payload is checked even so.
    let bad = changed("\"t\"", "5");
    let refused = read_event(bad.as_bytes(), &registry, UnknownTypes::Accept).unwrap_err();
    assert_eq!(refused.code(), Code::Payload);
    assert!(parse_event(bad.as_bytes()).is_ok());
}

#[test]
fn errors_never_hold_what_users_typed() {
    let secret = "SECRET";
    for line in [
        changed("\"t\"", "[\"SECRET\"]"),
        changed("\"t\"}", "\"t\",\"SECRET\":1,\"SECRET\":2}"),
        changed("\"t\"}", "\"t\",\"SECRET\":SECRET}"),
        changed("{\"turnId\":\"t\"}", "\"SECRET\""),
        changed("\"t\"}", "\"SECRET\\ud800\"}"),
        changed("\"a\",\"b\"", "{\"SECRET\":1}"),
    ] {
        let error = read(&line).unwrap_err();
        assert!(!format!("{error} {error:?}").contains(secret), "{error}");
    }
    let event = read(&changed("\"t\"", "\"SECRET\"")).unwrap();
    assert!(!format!("{event:?}").contains(secret));
}

#[test]
fn typed_events_are_validated_alike() {
    let registry = TypeRegistry::v1();
    let check =
        |event: &Event| validate(event, &registry, UnknownTypes::Refuse).map_err(|error| error.code());
    let good = read(GOOD).unwrap();
    assert_eq!(check(&good), Ok(()));
    let text = |text: &str| JsonText::parse(text).unwrap();
    assert_eq!(check(&Event { v: 2, ..good.clone() }), Err(Code::Version));
    assert_eq!(check(&Event { at: f64::NAN, ..good.clone() }), Err(Code::Shape));
    assert_eq!(check(&Event { kind: "x.y".into(), ..good.clone() }), Err(Code::Type));
    assert_eq!(check(&Event { payload: text("3"), ..good.clone() }), Err(Code::Shape));
    assert_eq!(check(&Event { payload: text("{}"), ..good.clone() }), Err(Code::Payload));
    assert_eq!(check(&good.clone().with_extra(text("[]"))), Err(Code::Shape));
    assert_eq!(check(&good.clone().with_extra(text(r#"{"seq":1}"#))), Err(Code::Shape));
    assert_eq!(check(&good.clone().with_extra(text(r#"{"sig":1}"#))), Ok(()));
}

#[test]
fn events_are_lifted_and_then_checked() {
    let registry = TypeRegistry::v1();
    let mut upcasts = Upcasts::new();
    let old = changed("\"v\":1", "\"v\":0").replace("turn.started", "turn.begun");
    let lift = |upcasts: &Upcasts, line: &str| {
        upcast_event(line.as_bytes(), upcasts, &registry, UnknownTypes::Refuse).map_err(|error| error.code())
    };
    assert_eq!(lift(&upcasts, &old), Err(Code::Upcast));
    upcasts.register(0, |event| Ok(Event { v: 1, kind: "turn.started".into(), ..event })).unwrap();
    assert_eq!(lift(&upcasts, &old), Ok(read(GOOD).unwrap()));
    assert_eq!(lift(&upcasts, GOOD), Ok(read(GOOD).unwrap()));
    assert_eq!(lift(&upcasts, &old.replace("\"t\"", "5")), Err(Code::Payload));
    assert_eq!(lift(&upcasts, &old.replace("\"e1\"", "5")), Err(Code::Shape));
    assert_eq!(lift(&upcasts, &old.replace("\"v\":0", "\"v\":2")), Err(Code::Upcast));
}

#[test]
fn serde_reads_and_writes_the_same_line() {
    let line = changed("\"t\"}", "\"t\",\"n\":9007199254740993}");
    let event: Event = serde_json::from_str(&line).unwrap();
    assert_eq!(serde_json::to_string(&event).unwrap(), line);
    let events: Vec<Event> = serde_json::from_reader(format!("[{line},{GOOD}]").as_bytes()).unwrap();
    assert_eq!(events[0], event);
    let value: serde_json::Value = serde_json::from_str(GOOD).unwrap();
    assert_eq!(serde_json::from_value::<Event>(value.clone()).unwrap(), read(GOOD).unwrap());
    assert_eq!(serde_json::to_value(&events[1]).unwrap(), value);
    assert!(serde_json::from_str::<Event>(&changed("\"v\":1", "\"v\":2")).is_err());
}

/// An event's line as another writer may spell it.
fn arbitrary_line() -> impl Strategy<Value = String> {
    let name = ".{1,8}".prop_map(|text| serde_json::to_string(&text).unwrap());
    let uuid = any::<[u8; 16]>().prop_map(|bytes| format!("\"{}\"", uuid::Uuid::from_bytes(bytes)));
    let id = prop_oneof![name.clone(), uuid];
    let seq =
        prop_oneof![(0..1u64 << 53).prop_map(|n| n.to_string()), (0..90u8).prop_map(|n| format!("{n}.0e1"))];
    let at = any::<f64>().prop_filter("finite", |at| at.is_finite()).prop_map(|at| format!("{at:e}"));
    let causes =
        prop::collection::vec(id.clone(), 0..4).prop_map(|causes| format!("[{}]", causes.join(" , ")));
    let extra = prop::option::of(arbitrary_json());
    let payload = arbitrary_json().prop_map(|value| format!("[{value}]"));
    (id, name, seq, causes, at, payload, extra, any::<prop::sample::Index>()).prop_map(
        |(id, host, seq, causes, at, payload, extra, first)| {
            let mut members = vec![
                "\"v\":1.0".to_owned(),
                format!("\"id\" : {id}"),
                format!("\"host\":{host}"),
                format!("\"seq\":{seq}"),
                format!("\"causes\":{causes}"),
                format!("\"at\":{at}"),
                "\"type\":\"app.x\"".to_owned(),
                format!("\"payload\":{payload}"),
            ];
            members.extend(extra.map(|extra| format!("\"\\u0078 \":{extra}")));
            let first = first.index(members.len());
            members.rotate_left(first);
            format!("{{{}}}", members.join(" ,"))
        },
    )
}

proptest! {
    #[test]
    fn writing_what_was_read_is_a_fixpoint(line in arbitrary_line()) {
        let event = parse_event(line.as_bytes()).unwrap();
        let once = written(&event);
        prop_assert!(!once.contains('\n'));
        let again = parse_event(once.as_bytes()).unwrap();
        prop_assert_eq!(&again, &event);
        prop_assert_eq!(written(&again), once);
        prop_assert!(same(&again, &event).unwrap());
        prop_assert!(validate(&event, &TypeRegistry::v1(), UnknownTypes::Accept).is_ok());
        prop_assert_eq!(event.causes().count(), event.causes_len());
    }

    #[test]
    fn canonical_bytes_are_those_of_the_whole_line(line in arbitrary_line()) {
        let event = parse_event(line.as_bytes()).unwrap();
        let plain = serde_json_canonicalizer::pipe(&line).unwrap();
        prop_assert_eq!(String::from_utf8(canonical(&event).unwrap()).unwrap(), plain);
    }

    #[test]
    fn nothing_makes_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..64), cut in 0..GOOD.len()) {
        let _ = parse_event(&bytes);
        prop_assert!(parse_event(&GOOD.as_bytes()[..cut]).is_err());
    }
}

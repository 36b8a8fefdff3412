use super::*;
use crate::contract::words::{ActorKind, Class, Effects, Egress, RefKind};

fn verdict(registry: &TypeRegistry, name: &str, payload: &str) -> Result<()> {
    registry.check_payload(name, &Json::parse(payload).unwrap())
}

#[test]
fn v1_holds_the_contract() {
    let registry = TypeRegistry::v1();
    assert_eq!(registry.names().count(), 24);
    assert!(registry.contains("turn.started") && !registry.contains("turn.paused"));
    assert!(registry.check_type("turn.started", UnknownTypes::Refuse).is_ok());
    for name in ["", "turn", "Turn.started", "turn.started ", "toString"] {
        assert_eq!(registry.check_type(name, UnknownTypes::Refuse).unwrap_err().code(), Code::Type);
    }
    assert!(registry.check_type("app.opened", UnknownTypes::Accept).is_ok());
    for name in ["opened", ".opened", "app."] {
        assert_eq!(registry.check_type(name, UnknownTypes::Accept).unwrap_err().code(), Code::Type);
    }
    assert_eq!(registry.check_type("", UnknownTypes::Accept).unwrap_err().code(), Code::Type);
    let long = "x".repeat(TYPE_BYTES_MAX + 1);
    assert_eq!(registry.check_type(&long, UnknownTypes::Accept).unwrap_err().code(), Code::Limit);
}

#[test]
fn a_message_names_the_member_and_never_the_value() {
    let error =
        verdict(&TypeRegistry::v1(), "turn.started", r#"{"turnId":["typed by a user"]}"#).unwrap_err();
    assert_eq!(error.code(), Code::Payload);
    assert_eq!(error.message(), r#""turn.started": `turnId` must be a string that is not empty"#);
}

#[test]
fn an_application_adds_types() {
    let mut registry = TypeRegistry::v1();
    let check = |payload: &Json<'_>| match payload.get("size").and_then(Json::as_f64) {
        Some(size) if size >= 0.0 => Ok(()),
        _ => Err(PayloadFault::new("size", "a size in bytes")),
    };
    registry.register("file.saved", check).unwrap();
    assert!(verdict(&registry, "file.saved", r#"{"size":3}"#).is_ok());
    assert_eq!(verdict(&registry, "file.saved", r#"{"size":-3}"#).unwrap_err().code(), Code::Payload);
    for name in ["file.saved", "turn.started", "file", ".saved", "file.", ""] {
        assert_eq!(registry.register(name, |_| Ok(())).unwrap_err().code(), Code::Type, "{name}");
    }
    assert_eq!(registry.clone().names().count(), 25);
}

/// A payload that passes for each type, and what must make it fail: the vectors leave these open.
#[test]
fn members_that_no_vector_breaks_are_checked() {
    let registry = TypeRegistry::v1();
    let invoked = |change: &str| {
        let base = r#"{"capability":"c","actor":{"kind":"model","id":"m"},"scope":{"kind":"tab","id":"t"}"#;
        verdict(&registry, "capability.invoked", &format!("{base}{change}}}"))
    };
    assert!(invoked(r#","effects":"pure""#).is_ok());
    assert!(invoked(r#","effects":"pure","idempotencyKey":"k","egress":"none""#).is_ok());
    for change in
        ["", r#","effects":"weird""#, r#","effects":null"#, r#","effects":"pure","idempotencyKey":null"#]
    {
        assert_eq!(invoked(change).unwrap_err().code(), Code::Payload, "{change}");
    }
    let resulted = |cost: &str| {
        verdict(
            &registry,
            "capability.resulted",
            &format!(r#"{{"capability":"c","ok":true,"classUsed":"R"{cost}}}"#),
        )
    };
    assert!(resulted(r#","cost":{"ms":0.5,"usd":1}"#).is_ok());
    for cost in ["", r#","cost":{}"#, r#","cost":3"#, r#","cost":{"ms":"3"}"#] {
        assert_eq!(resulted(cost).unwrap_err().code(), Code::Payload, "{cost}");
    }
}

/// The rows of a table of `docs/events.md`, from the heading of the table on.
fn table(heading: &str) -> Vec<&'static str> {
    let lines = include_str!("../../../docs/events.md").lines();
    lines.skip_while(|line| *line != heading).skip(2).take_while(|line| line.starts_with('|')).collect()
}

#[test]
fn the_document_has_the_types_and_words_of_the_code() {
    let rows: Vec<String> = table::V1
        .iter()
        .map(|(name, members)| {
            let members: Vec<String> = members.iter().map(Member::to_string).collect();
            format!("| `{name}` | {} |", members.join(", "))
        })
        .collect();
    assert_eq!(table("| type | members of the payload |"), rows);

    fn row<T: fmt::Display>(name: &str, words: &[T]) -> String {
        let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        format!("| {name} | {} |", words.join(", "))
    }
    let rows = [
        row("actor kinds", ActorKind::ALL),
        row("ref kinds", RefKind::ALL),
        row("classes", Class::ALL),
        row("effects", Effects::ALL),
        row("egress", Egress::ALL),
    ];
    assert_eq!(table("| vocabulary | words |"), rows);
}

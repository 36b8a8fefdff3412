//! A host's writer: `seq` beside other ways in, batches, chains.

use causelog::{
    BatchMode, Code, EventFields, EventId, HostId, JsonText, NewEvent, Options, Seq, Store, StoredEvent,
};

use crate::support::{event, held};

fn new() -> NewEvent {
    NewEvent::new("turn.started", JsonText::parse(r#"{"turnId":"t"}"#).unwrap())
}

fn me() -> HostId {
    HostId::new("me").unwrap()
}

fn store() -> Store {
    Store::in_memory(Options::new()).unwrap()
}

#[test]
fn seq_goes_on_behind_events_that_came_in_another_way() {
    let store = store();
    let mut appender = store.appender(me()).unwrap();
    assert_eq!(appender.append(new()).unwrap().seq, Seq::ZERO);
    let others: Vec<_> = (1..6).map(|n| event("me", n, &[])).collect();
    store.append_batch(&others, BatchMode::Each).unwrap().into_result().unwrap();
    assert_eq!(appender.next_seq().unwrap().get(), 6);
    assert_eq!(appender.append(new()).unwrap().seq.get(), 6);
    store.append(&event("me", 9, &[])).unwrap();
    let pair = appender.append_batch([new(), new()]).unwrap();
    let seqs: Vec<u64> = pair.into_iter().map(|event| event.unwrap().seq.get()).collect();
    assert_eq!(seqs, [10, 11]);
    drop(appender);
    let below = store.appender(me()).unwrap().starting_at(Seq::new(3).unwrap());
    assert_eq!(below.next_seq().unwrap().get(), 12);
    assert_eq!(below.starting_at(Seq::new(50).unwrap()).next_seq().unwrap().get(), 50);
}

#[test]
fn a_batch_ends_at_the_first_refusal() {
    let store = store();
    let mut appender = store.appender(me()).unwrap();
    let bad = NewEvent::new("no.such", JsonText::parse("{}").unwrap());
    let outcomes = appender.append_batch([new(), new(), bad, new()]).unwrap();
    assert_eq!(outcomes.len(), 3);
    assert_eq!(outcomes[2].as_ref().unwrap_err().code(), Code::Type);
    let stored: Vec<_> = outcomes.into_iter().filter_map(Result::ok).collect();
    assert_eq!(held(&store), stored);
    // What was refused, and what was not offered, keeps its seq.
    assert_eq!(appender.append(new()).unwrap().seq.get(), 4);
    assert!(appender.append_batch([]).unwrap().is_empty());
    let last = Seq::new((1 << 53) - 1).unwrap();
    let outcomes = appender.starting_at(last).append_batch([new(), new()]).unwrap();
    assert_eq!(outcomes[0].as_ref().unwrap().seq, last);
    assert_eq!((outcomes.len(), outcomes[1].as_ref().unwrap_err().code()), (2, Code::Seq));
}

#[test]
fn time_and_unknown_members_are_the_callers_choice() {
    let store = store();
    let mut appender = store.appender(me()).unwrap();
    let extra = JsonText::parse(r#"{"sig":"s"}"#).unwrap();
    let event = appender.append(new().with_at(5.5).with_extra(extra.clone())).unwrap();
    assert_eq!((event.at, event.extra.clone()), (5.5, Some(extra)));
    assert_eq!(store.get(&event.id).unwrap().unwrap().to_event().unwrap(), event);
    assert_eq!(appender.append(new().with_at(f64::NAN)).unwrap_err().code(), Code::Shape);
}

#[test]
fn a_chain_keeps_a_hosts_events_in_their_order() {
    let store = store();
    let other = event("z", 0, &[]);
    store.append(&other).unwrap();
    let far = EventId::new("far").unwrap();
    let mut appender = store.appender(me()).unwrap().chained(true);
    let first = appender.append(new().with_causes([other.id.clone()])).unwrap();
    assert_eq!(first.causes, [other.id]);
    let second = appender.append(new().with_causes([far.clone()])).unwrap();
    assert_eq!(second.causes, [far, first.id.clone()]);
    let third = appender.append(new().with_causes([second.id.clone()])).unwrap();
    assert_eq!(third.causes, [second.id], "once, though it was named");
    appender.append(NewEvent::new("no.such", JsonText::parse("{}").unwrap())).unwrap_err();
    let batch = appender.append_batch([new(), new()]).unwrap();
    let batch: Vec<_> = batch.into_iter().map(Result::unwrap).collect();
    assert_eq!(batch[0].causes, [third.id], "the one that was refused is passed over");
    assert_eq!(batch[1].causes, [batch[0].id.clone()]);
    let in_order = || -> Vec<String> {
        let named = |event: StoredEvent| format!("{}#{}", event.host(), event.seq());
        store.ordered().unwrap().map(|event| named(event.unwrap())).collect()
    };
    assert_eq!(in_order(), ["z#0", "me#0", "me#1", "me#2", "me#4", "me#5"]);
    drop(appender);
    let again = store.appender(me()).unwrap().chained(true).append(new()).unwrap();
    assert_eq!(again.causes, [batch[1].id.clone()], "the chain goes on with a new appender");
    let loose = store.appender(me()).unwrap().append(new()).unwrap();
    assert!(loose.causes.is_empty());
    assert_eq!(in_order()[0], "me#7", "without a cause nothing holds it behind its host's others");
}

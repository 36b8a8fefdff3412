//! Synthetic logs: events of the first version, of a stated shape, the same for the same seed.
//!
//! A log is written in an order of arrival: `seq` rises for each host and every cause stands before
//! the event that names it. Its events replay without a violation. Memory: one small record a host.

mod random;
mod script;
mod shape;
mod text;

use random::Random;
use script::Script;
pub(crate) use shape::Shape;
use text::{IdText, new_id, push_hex, push_number};

/// Length that events are padded to, in bytes without the line end.
const EVENT_BYTES: std::ops::Range<u64> = 400..436;
/// Length of the member that pads, without its digits and the braces behind it.
const PAD_BYTES: usize = r#","trace":"""#.len();
/// Time of the first event: September 2026.
const START_MS: u64 = 1_790_000_000_000;
/// Longest pause between two events.
const PAUSE_MS: u64 = 40;
/// Length of a host's run in [`Shape::Runs`].
const RUN_EVENTS: std::ops::Range<u64> = 15..26;

/// What a synthetic log looks like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Number of events.
    pub(crate) events: u64,
    /// Number of hosts, at least one.
    pub(crate) hosts: usize,
    /// Source of everything random.
    pub(crate) seed: u64,
    /// How the events name each other.
    pub(crate) shape: Shape,
    /// Share of events that name another host's latest event on top, in thousandths.
    pub(crate) cross_per_mille: Option<u64>,
}

/// A host's side of the log so far.
#[derive(Clone, Debug, Default)]
struct Host {
    seq: u64,
    last: Option<IdText>,
    script: Script,
}

/// Writes a synthetic log event by event.
#[derive(Debug)]
pub(crate) struct Generator {
    plan: Plan,
    cross_per_mille: u64,
    left: u64,
    hosts: Vec<Host>,
    random: Random,
    now_ms: u64,
    /// The first event of the log.
    root: Option<IdText>,
    /// The host that wrote last, and how many events it still writes in a row.
    current: usize,
    stay: u64,
    causes: Vec<IdText>,
}

impl Generator {
    /// Starts a log.
    pub(crate) fn new(plan: Plan) -> Self {
        Self {
            cross_per_mille: plan.cross_per_mille.unwrap_or_else(|| plan.shape.cross_per_mille()),
            left: plan.events,
            hosts: vec![Host::default(); plan.hosts.max(1)],
            random: Random::new(plan.seed),
            now_ms: START_MS,
            root: None,
            current: 0,
            stay: 0,
            causes: Vec::new(),
            plan,
        }
    }

    /// Appends the next event as a line with its end; `false` when the log is complete.
    pub(crate) fn next_line(&mut self, out: &mut Vec<u8>) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        let previous = self.current;
        let fresh_run = self.choose_host();
        let at = self.current;
        let Some(mut host) = self.hosts.get_mut(at).map(std::mem::take) else { return false };

        let step = host.script.next(self.plan.shape.has_turns(), self.left == 0, &mut self.random);
        self.choose_causes(&host, fresh_run.then_some(previous));
        if let Some(cause) = host.script.required_cause(step)
            && !self.causes.contains(&cause)
        {
            self.causes.push(cause);
        }
        let id = new_id(&mut self.random);
        let start = out.len();
        self.envelope(at, host.seq, step.kind(), &id, out);
        host.script.payload(step, at, out, &mut self.random);
        self.finish(start, out);

        if host.script.must_go_on(step) {
            self.stay = self.stay.max(1);
        }
        host.script.done(step, id);
        host.seq += 1;
        host.last = Some(id);
        self.root.get_or_insert(id);
        self.now_ms += self.random.below(PAUSE_MS);
        if let Some(place) = self.hosts.get_mut(at) {
            *place = host;
        }
        true
    }

    /// Picks who writes the next event; `true` when another run begins.
    fn choose_host(&mut self) -> bool {
        if self.stay > 0 {
            self.stay -= 1;
            return false;
        }
        self.current = self.random.index(self.hosts.len());
        if self.plan.shape == Shape::Runs {
            self.stay = RUN_EVENTS.start + self.random.below(RUN_EVENTS.end - RUN_EVENTS.start) - 1;
        }
        true
    }

    /// Fills `causes` as the shape says. `handed_over` is the host whose run ended.
    fn choose_causes(&mut self, host: &Host, handed_over: Option<usize>) {
        self.causes.clear();
        let first = match self.plan.shape {
            Shape::Chain => host.last,
            Shape::Runs => {
                let before = handed_over.and_then(|other| self.hosts.get(other)).and_then(|other| other.last);
                self.causes.extend(before);
                host.last
            }
            Shape::Star => self.root,
            Shape::Wide => None,
            Shape::Hard => self.other_host().or(host.last),
        };
        self.causes.extend(first);
        if self.random.chance(self.cross_per_mille)
            && let Some(other) = self.other_host()
            && !self.causes.contains(&other)
        {
            self.causes.push(other);
        }
    }

    /// Returns the latest event of a random other host that has one. Looks at a few alone, so that
    /// many hosts cost no more than few.
    fn other_host(&mut self) -> Option<IdText> {
        let hosts = self.hosts.len();
        let from = self.random.index(hosts);
        (0..hosts.min(8))
            .map(|n| (from + n) % hosts)
            .filter(|other| *other != self.current)
            .find_map(|other| self.hosts.get(other).and_then(|host| host.last))
    }

    fn envelope(&self, host: usize, seq: u64, kind: &str, id: &IdText, out: &mut Vec<u8>) {
        out.extend_from_slice(br#"{"v":1,"id":""#);
        out.extend_from_slice(id);
        out.extend_from_slice(br#"","host":"host-"#);
        push_number(out, u64::try_from(host).unwrap_or(0));
        out.extend_from_slice(br#"","seq":"#);
        push_number(out, seq);
        out.extend_from_slice(br#","causes":["#);
        for (n, cause) in self.causes.iter().enumerate() {
            out.extend_from_slice(if n == 0 { br#"""# } else { br#",""# });
            out.extend_from_slice(cause);
            out.push(b'"');
        }
        out.extend_from_slice(br#"],"at":"#);
        push_number(out, self.now_ms);
        out.extend_from_slice(br#","type":""#);
        out.extend_from_slice(kind.as_bytes());
        out.extend_from_slice(br#"","payload":"#);
    }

    /// Pads the event that began at `start` and closes payload, envelope and line.
    fn finish(&mut self, start: usize, out: &mut Vec<u8>) {
        let bytes = EVENT_BYTES.start + self.random.below(EVENT_BYTES.end - EVENT_BYTES.start);
        let closing = "}}".len();
        let written = out.len() - start + closing + PAD_BYTES;
        let missing = usize::try_from(bytes).unwrap_or(0).saturating_sub(written);
        if missing > 0 {
            out.extend_from_slice(br#","trace":""#);
            push_hex(out, &mut self.random, missing);
            out.push(b'"');
        }
        out.extend_from_slice(b"}}\n");
    }
}

#[cfg(test)]
mod tests;

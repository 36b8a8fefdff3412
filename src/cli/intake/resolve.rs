//! The second pass: which events can go in, and where their causes are.
//!
//! What contradicts what is a matter of the file and the store, not of the order in which lines are
//! taken. An id comes first: the store speaks for it, or else the first line that has it. A later line
//! that says the same is a repeat, and one that says otherwise is refused. Then, among the events that
//! are left, the store speaks for a `(host, seq)`, or else the first line.

use std::path::Path;

use super::against::{Against, Held};
use super::arranged::{Arranged, Lane};
use super::faults::Faults;
use super::hosts::Hosts;
use super::ids::{Join, Place};
use super::links::{Link, Links};
use super::read::Intake;
use super::{cycles, record, settle};
use crate::cli::sort::{Records, Sorted};
use crate::contract::{Code, Error, ErrorKind, Event, HostId, Result, same};

/// Window of reads here and there.
const READ_BYTES: usize = 1 << 12;

/// Finds duplicates and contradictions, and resolves causes. `looked_at` is called once an event.
///
/// # Errors
/// Kind `Io` when a temporary file in `dir` cannot be used, and what the store reports. Refused lines go
/// to `faults`.
pub(crate) fn resolve(
    intake: Intake,
    dir: &Path,
    faults: &mut Faults,
    against: &Against,
    mut looked_at: impl FnMut(),
) -> Result<Arranged> {
    let Intake { hosts, records, .. } = intake;
    let (mut join, mut links) = (Join::new(dir), Links::new(dir));
    let mut lanes = Lanes { hosts: &hosts, done: Vec::new(), host: None };
    let mut duplicates = 0;
    // Whether anything but the ids needs to be settled.
    let mut contested = false;
    let mut before = None;
    let mut reader = records.records();
    let mut rank = 0;
    while let Some(found) = reader.header()? {
        let [number, seq, line] = found.key;
        let host = lanes.extend(number, rank, found.position)?;
        let event = record::read(host, seq, reader.value()?)?;
        match against.id(&event)? {
            Held::No => {
                contested |= before == Some((number, seq)) || against.seq(host, event.seq)?.is_some();
                join.event(Place { line, rank, position: found.position }, &event)?;
                for arrival in against.waiting_for(&event.id)? {
                    links.push(rank, Link::Awaited(arrival))?;
                }
            }
            Held::Same => {
                duplicates += 1;
                links.push(rank, Link::Duplicate)?;
            }
            Held::Refused(error) => {
                faults.add(line, error);
                links.push(rank, Link::Refused)?;
            }
        }
        before = Some((number, seq));
        rank += 1;
        looked_at();
    }
    let mut lanes = lanes.finish(rank, &records);
    let mut lines = Lines::new(&hosts, &records);
    join.finish(&mut links, |first, again| {
        contested = true;
        Ok(if lines.are_same(first, again)? {
            Link::Repeat(first.rank)
        } else {
            faults.add(again.line, id_taken(first.line));
            Link::Refused
        })
    })?;
    let mut links = links.finish()?;
    if contested {
        let settled = settle::settle(&lanes, &records, &links, dir, against, faults)?;
        links = settled.links;
        duplicates += settled.repeats;
    }
    split_links(&mut lanes, &links)?;
    let mut arranged = Arranged { lanes, records, links, cyclic: Vec::new(), duplicates };
    cycles::find(&mut arranged, against, faults)?;
    Ok(arranged)
}

fn id_taken(first_line: u64) -> Error {
    let message = format!("the id is that of line {first_line}, the content is not");
    Error::new(ErrorKind::Equivocation, Code::Id, message)
}

/// Compares lines that have the same id.
struct Lines<'a> {
    hosts: &'a Hosts,
    records: Records,
    /// The first line of an id, and where its record stands.
    first: Option<(u64, Event)>,
}

impl<'a> Lines<'a> {
    fn new(hosts: &'a Hosts, records: &Sorted) -> Self {
        Self { hosts, records: records.part(0, records.bytes(), READ_BYTES), first: None }
    }

    fn are_same(&mut self, first: Place, again: Place) -> Result<bool> {
        let again = self.read(again.position)?;
        let first = match self.first.take().filter(|(position, _)| *position == first.position) {
            Some(known) => known,
            None => (first.position, self.read(first.position)?),
        };
        let same = same(&first.1, &again)?;
        self.first = Some(first);
        Ok(same)
    }

    fn read(&mut self, position: u64) -> Result<Event> {
        self.records.seek(position);
        let [number, seq, _] = self.records.header()?.ok_or_else(record::broken)?.key;
        let host = self.hosts.name(number).ok_or_else(record::broken)?;
        record::read(host, seq, self.records.value()?)
    }
}

/// The lanes so far.
struct Lanes<'a> {
    hosts: &'a Hosts,
    done: Vec<Lane>,
    /// Number of the last one's host.
    host: Option<u64>,
}

impl<'a> Lanes<'a> {
    /// Opens a lane when the event of a rank is its host's first one; returns the host.
    fn extend(&mut self, number: u64, rank: u64, position: u64) -> Result<&'a HostId> {
        let host = self.hosts.name(number).ok_or_else(record::broken)?;
        if self.host != Some(number) {
            self.close(rank, position);
            self.host = Some(number);
            self.done.push(Lane {
                host: host.clone(),
                ranks: rank..rank,
                records: position..position,
                links: 0..0,
            });
        }
        Ok(host)
    }

    fn close(&mut self, rank: u64, position: u64) {
        if let Some(last) = self.done.last_mut() {
            last.ranks.end = rank;
            last.records.end = position;
        }
    }

    fn finish(mut self, rank: u64, records: &Sorted) -> Vec<Lane> {
        self.close(rank, records.bytes());
        self.done
    }
}

/// Finds where each lane's links are.
fn split_links(lanes: &mut [Lane], links: &Sorted) -> Result<()> {
    let mut reader = links.records();
    let mut next = reader.header()?;
    for lane in lanes {
        let start = next.map_or(links.bytes(), |link| link.position);
        while let Some(link) = next
            && link.key.first().is_some_and(|rank| *rank < lane.ranks.end)
        {
            next = reader.header()?;
        }
        lane.links = start..next.map_or(links.bytes(), |link| link.position);
    }
    Ok(())
}

//! The second pass: which events can go in, and where their causes are.
//!
//! What contradicts what is a matter of the file and the store, not of the order in which lines are
//! taken: the first line with an id, and the first with a `(host, seq)`, speaks for it; a later line that
//! says otherwise is refused, and one that says the same is a duplicate.

use std::path::Path;

use super::faults::Faults;
use super::hosts::Hosts;
use super::ids::{Join, Link};
use super::read::Intake;
use super::{cycles, record};
use crate::cli::sort::Sorted;
use crate::contract::{Code, Error, ErrorKind, Event, HostId, Result, same};

/// What the store says of an event.
#[derive(Debug)]
pub(crate) enum Held {
    /// It is new.
    No,
    /// It is held already.
    Same,
    /// It contradicts what is held.
    Refused(Error),
}

/// A host's events in the sorted file.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) host: HostId,
    /// Rank of its first event, and the rank behind its last.
    pub(super) ranks: std::ops::Range<u64>,
    /// Where its records start and end.
    pub(super) records: std::ops::Range<u64>,
    /// Where its links start and end.
    pub(super) links: std::ops::Range<u64>,
}

/// A file's events by `(host, seq)`, ready to go in. An event's *rank* is its place there.
#[derive(Debug)]
pub(crate) struct Arranged {
    pub(super) lanes: Vec<Lane>,
    pub(super) records: Sorted,
    pub(super) links: Sorted,
    /// Ranks of events that would close a cycle, sorted.
    pub(super) cyclic: Vec<u64>,
    /// How many lines repeat an event of the store or of an earlier line.
    pub(crate) duplicates: u64,
}

impl Arranged {
    /// Returns the number of good lines.
    pub(crate) fn events(&self) -> u64 {
        self.records.len()
    }
}

/// The first line with a `(host, seq)`.
struct Holder {
    host: u64,
    seq: u64,
    line: u64,
    event: Vec<u8>,
}

/// Finds duplicates and contradictions, and resolves causes.
///
/// `held` says what the store makes of an event; it is asked for the first line of each `(host, seq)`,
/// in rising order.
///
/// # Errors
/// Kind `Io` when a temporary file in `dir` cannot be used, and what `held` returns. Refused lines go
/// to `faults`.
pub(crate) fn resolve(
    intake: Intake,
    dir: &Path,
    faults: &mut Faults,
    mut held: impl FnMut(&Event) -> Result<Held>,
) -> Result<Arranged> {
    let Intake { hosts, records, .. } = intake;
    let mut join = Join::new(dir);
    let mut lanes = Lanes { hosts: &hosts, done: Vec::new(), host: None };
    let mut holder: Option<Holder> = None;
    let mut duplicates = 0;
    let mut reader = records.records();
    let mut rank = 0;
    while let Some(found) = reader.header()? {
        let [number, seq, line] = found.key;
        let host = lanes.extend(number, rank, found.position)?;
        let value = reader.value()?;
        let verdict = match &holder {
            Some(first) if (first.host, first.seq) == (number, seq) => against_line(
                &record::read(host, seq, &first.event)?,
                first.line,
                &record::read(host, seq, value)?,
            )?,
            _ => {
                let verdict = held(&record::read(host, seq, value)?)?;
                holder = match verdict {
                    Held::Refused(_) => None,
                    _ => Some(Holder { host: number, seq, line, event: value.to_vec() }),
                };
                verdict
            }
        };
        match verdict {
            Held::No => {
                let (id, causes) = record::read_ids(value)?;
                join.event(rank, line, id, &causes)?;
            }
            Held::Same => {
                duplicates += 1;
                join.link(rank, Link::Duplicate)?;
            }
            Held::Refused(error) => {
                faults.add(line, error);
                join.link(rank, Link::Refused)?;
            }
        }
        rank += 1;
    }
    let mut lanes = lanes.finish(rank, &records);
    let links = join.finish(|clash| faults.add(clash.line, id_taken(clash.first_line)))?;
    split_links(&mut lanes, &links)?;
    let mut arranged = Arranged { lanes, records, links, cyclic: Vec::new(), duplicates };
    cycles::find(&mut arranged, faults)?;
    Ok(arranged)
}

/// Compares a line with the first one of the same `(host, seq)`.
fn against_line(first: &Event, first_line: u64, event: &Event) -> Result<Held> {
    Ok(if first.id != event.id {
        let message = format!("seq {} of this host is taken by the event of line {first_line}", event.seq);
        Held::Refused(Error::new(ErrorKind::Equivocation, Code::Seq, message))
    } else if same(first, event)? {
        Held::Same
    } else {
        Held::Refused(id_taken(first_line))
    })
}

fn id_taken(first_line: u64) -> Error {
    let message = format!("the id is that of line {first_line}, the content is not");
    Error::new(ErrorKind::Equivocation, Code::Id, message)
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
        let unknown = || Error::io("a temporary file was changed", std::io::ErrorKind::InvalidData.into());
        let host = self.hosts.name(number).ok_or_else(unknown)?;
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

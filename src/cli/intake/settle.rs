//! Who has a `(host, seq)`, once ids are settled.

use std::path::Path;

use super::against::Against;
use super::arranged::Lane;
use super::faults::Faults;
use super::links::{ByRank, Link, Links};
use crate::cli::sort::Sorted;
use crate::contract::{Code, Error, ErrorKind, HostId, Result, Seq};

/// What became of the links.
pub(super) struct Settled {
    pub(super) links: Sorted,
    /// How many lines repeat one that goes in.
    pub(super) repeats: u64,
}

/// The event that has the `(host, seq)` at hand.
#[derive(Clone, Copy)]
struct Holder {
    seq: u64,
    line: u64,
    rank: u64,
}

/// Refuses events whose `(host, seq)` the store or an earlier line has, and the repeats of such events.
/// What does not go in keeps its verdict alone.
pub(super) fn settle(
    lanes: &[Lane],
    records: &Sorted,
    links: &Sorted,
    dir: &Path,
    against: &Against,
    faults: &mut Faults,
) -> Result<Settled> {
    let mut settled = Links::new(dir);
    let mut repeats = 0;
    let mut by_rank = ByRank::new(links)?;
    let mut reader = records.records();
    let mut known = Vec::new();
    for lane in lanes {
        let mut holder: Option<Holder> = None;
        for rank in lane.ranks.clone() {
            let Some(record) = reader.header()? else { break };
            let [_, seq, line] = record.key;
            by_rank.read(rank, &mut known)?;
            holder = holder.filter(|holder| holder.seq == seq);
            let repeated = match known.first() {
                Some(verdict @ (Link::Duplicate | Link::Refused)) => {
                    settled.push(rank, *verdict)?;
                    continue;
                }
                Some(Link::Repeat(first)) => Some(*first),
                _ => None,
            };
            match (repeated, holder) {
                // Same content is same host and seq: the event that is repeated stands in this group.
                (Some(first), Some(holder)) if holder.rank == first => {
                    repeats += 1;
                    settled.push(rank, Link::Repeat(first))?;
                }
                _ => match taken(&lane.host, seq, holder, against)? {
                    Some(error) => {
                        faults.add(line, error);
                        settled.push(rank, Link::Refused)?;
                    }
                    None => {
                        holder = Some(Holder { seq, line, rank });
                        for link in &known {
                            settled.push(rank, *link)?;
                        }
                    }
                },
            }
        }
    }
    Ok(Settled { links: settled.finish()?, repeats })
}

/// Says who has the `(host, seq)` of an event.
fn taken(host: &HostId, seq: u64, holder: Option<Holder>, against: &Against) -> Result<Option<Error>> {
    let Some(holder) = holder else { return against.seq(host, Seq::new(seq)?) };
    let message = format!("seq {seq} of this host is taken by the event of line {}", holder.line);
    Ok(Some(Error::new(ErrorKind::Equivocation, Code::Seq, message)))
}

//! `log`: the order, for people.

use std::fmt::Write as _;

use crate::cli::args::{Listing, Shared};
use crate::cli::exit::{Exit, Failure, Outcome};
use crate::cli::graph::{COLUMNS_MAX, Picture, Uses};
use crate::cli::listing::{Around, Form, Lines, list};
use crate::cli::open;
use crate::cli::output::Output;
use crate::contract::{Code, Error, ErrorKind, EventFields, EventId, Result};
use crate::replay::count;
use crate::store::{Snapshot, StoredEvent};

const EXAMPLES: &str = "\
A line is: host#seq, type, time (shown, never used to order), id, and behind <- the causes: host#seq of \
those that are held, ids of the others. `get`, `ancestry` and `append --cause` take both forms.

With --graph a line leads down from each event to those that name it as a cause: * continues a line, o starts one. \
A picture has at most 24 lines beside each other; behind an event stands what found no room.

Examples:
  causelog log --limit 20
  causelog log --last 20 --payload
  causelog log --last 40 --graph
  causelog log --from phone#12 --limit 20
  causelog log --reverse --limit 5
  causelog log --json | jq -r .type | sort | uniq -c";

/// Show the events in their one order.
///
/// It depends on the set of events alone, not on clocks and not on who came first. Payloads can hold what users typed
/// and are shown with --payload alone.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    listing: Listing,
    /// Show the last N events of the order
    #[arg(long, value_name = "N", conflicts_with = "limit")]
    last: Option<u64>,
    /// Start at a position, from 0, or at an event: its id, or HOST#SEQ
    #[arg(long, value_name = "POSITION|EVENT", conflicts_with = "last", allow_hyphen_values = true)]
    from: Option<String>,
    /// Show the last event first; with --from, what stands before
    #[arg(long, conflicts_with = "graph")]
    reverse: bool,
    /// Draw the causes as lines between events
    #[arg(long)]
    graph: bool,
}

pub(super) fn run(args: &Args, shared: &Shared, output: &mut Output) -> Outcome {
    if args.graph && output.is_json() {
        let message =
            "--graph draws for people and has no JSON: leave out --json, which has the causes of each event";
        return Err(Failure::Usage(message.to_owned()));
    }
    let store = open::read(shared, output)?;
    let snapshot = store.snapshot()?;
    let from = match (&args.from, args.last) {
        (Some(from), _) => position(&snapshot, from)?,
        (None, Some(last)) => snapshot.len().saturating_sub(last),
        (None, None) => 0,
    };
    if args.reverse {
        let before = if args.from.is_some() {
            snapshot.ordered_between(..=from)?
        } else {
            snapshot.ordered_from(from)?
        };
        list(&snapshot, before.rev(), args.listing, Form::Summary, output)?;
        return Ok(Exit::Fine);
    }
    let ordered = snapshot.ordered_from(from)?;
    if args.graph {
        let arrivals = snapshot.ordered_from(from)?.map(|event| Ok(event?.arrival()));
        draw(&snapshot, arrivals, ordered, args.listing, output)?;
    } else {
        list(&snapshot, ordered, args.listing, Form::Summary, output)?;
    }
    Ok(Exit::Fine)
}

/// Reads a position, or finds that of an event.
fn position(snapshot: &Snapshot, from: &str) -> Result<u64> {
    if let Ok(position) = from.parse() {
        return Ok(position);
    }
    let id = match super::get::named(snapshot, from)? {
        Some(event) => event.id().to_owned(),
        None => EventId::new(from)?,
    };
    snapshot.position_of(&id)?.ok_or_else(|| {
        Error::new(ErrorKind::NotFound, Code::Store, format!("event {id} is not held, so it has no position"))
    })
}

/// Draws events up to the limit, each below its causes. `arrivals` are those of the events that lines may lead to: one
/// that goes on at the end of the picture leads to events that the limit left out.
fn draw(
    snapshot: &Snapshot,
    arrivals: impl Iterator<Item = Result<u64>>,
    events: impl Iterator<Item = Result<StoredEvent>>,
    listing: Listing,
    output: &mut Output,
) -> Result<(), Failure> {
    let mut uses = Uses::default();
    for arrival in arrivals {
        uses.count(snapshot, arrival?)?;
    }
    let limit = listing.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    let (mut picture, mut lines) = (Picture::default(), Lines::new());
    for event in events.take(limit) {
        let event = event?;
        let arrival = event.arrival();
        let followed = uses.of(arrival);
        let drawn = picture.draw(arrival, uses.causes(snapshot, arrival)?, followed);
        for row in &drawn.rows {
            output.line(row)?;
        }
        // Writing to a string cannot fail.
        let mut behind = String::new();
        if drawn.causes_left_out > 0 {
            let _ = write!(behind, "  [no line from {}]", count(drawn.causes_left_out as u64, "cause"));
        }
        if drawn.uses_left_out > 0 {
            let follow = count(u64::from(drawn.uses_left_out), "event");
            let _ = write!(behind, "  [no line to {follow} behind: {COLUMNS_MAX} are open]");
        }
        let around = Around { before: &format!("{} ", drawn.node), behind: &behind };
        lines.line(snapshot, &event, listing.payload, around, output)?;
    }
    Ok(())
}

//! `gen`: a synthetic log.

use clap::builder::RangedU64ValueParser;

use crate::cli::exit::{Exit, Outcome};
use crate::cli::r#gen::{Generator, Plan, Shape};
use crate::cli::output::Output;
use crate::contract::limits::HOSTS_MAX;

const EXAMPLES: &str = "\
Examples:
  causelog gen --events 1000000 --hosts 8 > log.jsonl
  causelog gen --events 1000 --shape hard --seed 7 | causelog import -
  causelog gen --events 1000 --cross 0.5        half of the events name another host's event";

/// Output is handed on in pieces of this size.
const PIECE_BYTES: usize = 1 << 16;

/// Write a synthetic log to standard output.
///
/// JSON lines of about 400 bytes, which replay without a violation. The same options give the same log, on every
/// machine. Uses no store.
#[derive(Clone, Copy, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Number of events
    #[arg(long, value_name = "N", default_value_t = 1000)]
    events: u64,
    /// Number of hosts
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = hosts())]
    hosts: usize,
    /// Where randomness starts
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// How events name each other
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Shape::Chain)]
    shape: Shape,
    /// Share of events that name another host's latest event on top, 0 to 1 [default: 0.2 for chain,
    /// 0.05 for runs, else 0]
    #[arg(long, value_name = "P", value_parser = per_mille)]
    cross: Option<u64>,
}

fn hosts() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=u64::try_from(HOSTS_MAX).unwrap_or(u64::MAX))
}

/// Reads a share as whole thousandths.
fn per_mille(text: &str) -> Result<u64, String> {
    let share: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if !(0.0..=1.0).contains(&share) {
        return Err("not between 0 and 1".to_owned());
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 1000")]
    let per_mille = (share * 1000.0).round() as u64;
    Ok(per_mille)
}

pub(super) fn run(args: Args, output: &mut Output) -> Outcome {
    let Args { events, hosts, seed, shape, cross } = args;
    let mut generator = Generator::new(Plan { events, hosts, seed, shape, cross_per_mille: cross });
    let mut piece = Vec::with_capacity(2 * PIECE_BYTES);
    while generator.next_line(&mut piece) {
        if piece.len() >= PIECE_BYTES {
            output.bytes(&piece)?;
            piece.clear();
        }
    }
    output.bytes(&piece)?;
    Ok(Exit::Fine)
}

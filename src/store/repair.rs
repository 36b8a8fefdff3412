//! Repairing a damaged store.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::content::vault_options;
use super::opening::{INDEX_FILE, LOG_DIR, lock_for_plan, lock_for_repair, must_exist};
use super::options::Options;
use super::progress::Progress;
use super::verify::VerifyOutcome;
use crate::blob::{Access, Vault};
use crate::contract::{Error, Result};
use crate::io::ProofBudget;
use crate::log::{Finding, LostRange, Plan, Tell, Torn, plan_repair};

/// Directory of what repairs replaced or cut, within a store's.
const KEPT_DIR: &str = "kept";

/// Whether a repair is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RepairMode {
    /// Only say what would be done.
    DryRun,
    /// Do it.
    Apply,
}

/// What was wrong with a store, and what was done about it, or would be.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RepairReport {
    /// A torn tail that is cut: the last write, which did not complete.
    pub cut: Option<Torn>,
    /// Everything that is not as it was written.
    pub findings: Vec<Finding>,
    /// Copies of the files that are replaced, and of what is cut. They are no part of the store any more.
    pub kept: Vec<PathBuf>,
    /// What is lost, by host and `seq`, as far as what is left tells: an upper bound where a host's `seq` had gaps.
    pub lost: Vec<LostRange>,
    /// How many events are lost, as far as it is known.
    pub events_lost: u64,
    /// What is done, in lines for people; empty when there is nothing to do.
    pub actions: Vec<String>,
    /// Addresses of content that cannot be read any more, as far as what is left tells. Putting it again restores it.
    pub content_lost: Vec<String>,
}

impl RepairReport {
    /// Returns the verdict on the store as it was found: the one that [`verify`](super::verify) gives.
    #[must_use]
    pub fn outcome(&self) -> VerifyOutcome {
        VerifyOutcome::of(self.cut.as_ref(), &self.findings)
    }

    fn of(plan: &Plan) -> Self {
        Self {
            cut: plan.cut.clone(),
            findings: plan.findings.clone(),
            kept: plan.kept().map(Path::to_path_buf).collect(),
            lost: plan.lost.clone(),
            events_lost: plan.events_lost,
            actions: plan.actions.clone(),
            content_lost: Vec::new(),
        }
    }
}

/// Makes a damaged store whole again: keeps every event that can still be read, names what is lost, and lets the store
/// take writes. Reads every byte of the segments to find out; a dry run then says what would be done, and writes
/// nothing.
///
/// Files that are replaced, and what is cut, are copied first into the directory `kept` of the store. A repair that is
/// interrupted is run again. After it the store opens without damage, remembers what was lost
/// ([`Stats::lost`](super::Stats::lost)), and a second repair has nothing to do.
///
/// What a lost event's `seq` was is never given again, so a lost event cannot be appended again either, unless it was
/// the last of its host and nothing that is left names it.
///
/// Cost: one or two passes over the segments; free space for a copy of the damaged ones. `progress` counts bytes of
/// segments.
///
/// # Errors
/// `NotFound`; `Locked`: a repair runs alone; `Corrupt` when it cannot be told whose the files are, or when they are of
/// different histories or bear each other's names, which a person has to sort out; `Unsupported`; `Io`.
pub fn repair(
    path: impl AsRef<Path>,
    options: &Options,
    mode: RepairMode,
    progress: &dyn Progress,
) -> Result<RepairReport> {
    let path = path.as_ref();
    must_exist(options, path)?;
    let _locks = match mode {
        RepairMode::DryRun => lock_for_plan(options, path)?,
        RepairMode::Apply => lock_for_repair(options, path)?,
    };
    let (log, kept) = (path.join(LOG_DIR), path.join(KEPT_DIR));
    let budget = ProofBudget::new(options.proof_bytes_max);
    let mut secret = [0; 16];
    options.random.fill(&mut secret)?;
    let tell = Tell { total: &|units| progress.total(units), advance: &|units| progress.advance(units) };
    let plan = plan_repair(&options.vfs, (path, &log, &kept), &budget, secret, &tell)?;
    let mut report = RepairReport::of(&plan);
    if mode == RepairMode::Apply {
        apply(path, options, &plan, &budget)?;
    }
    // Its files bear the identity, which a repair of the log does not change.
    repair_content(path, options, &plan.store, mode, progress, &mut report)?;
    Ok(report)
}

/// Repairs packs of content. Key files are not repaired: nothing here could make them again.
fn repair_content(
    path: &Path,
    options: &Options,
    store: &[u8; 16],
    mode: RepairMode,
    progress: &dyn Progress,
    report: &mut RepairReport,
) -> Result<()> {
    let access = if mode == RepairMode::Apply { Access::Write } else { Access::Read };
    let vault = match Vault::open(&options.vfs, path, store, access, vault_options(options)) {
        Ok(None) => return Ok(()),
        Ok(Some(vault)) => vault,
        Err(error) => {
            report.findings.push(Finding::of(error)?);
            report
                .actions
                .push("nothing about the key files of content: put them back from a copy".to_owned());
            return Ok(());
        }
    };
    progress.total(vault.check_bytes());
    let plan = vault.plan_repair(&path.join(KEPT_DIR), &mut |bytes| progress.advance(bytes))?;
    if mode == RepairMode::Apply && !plan.is_empty() {
        let kept = path.join(KEPT_DIR);
        options
            .vfs
            .create_dir_all(&kept)
            .map_err(|e| Error::io("cannot create a directory", e).at_path(&kept))?;
        options.vfs.sync_dir(path).map_err(|e| Error::io("cannot sync a directory", e).at_path(path))?;
        vault.carry_out(&plan)?;
    }
    for error in plan.findings {
        report.findings.push(Finding::of(error)?);
    }
    report.actions.extend(plan.actions);
    report.kept.extend(plan.kept);
    report.content_lost = plan.lost.iter().map(ToString::to_string).collect();
    if mode == RepairMode::Apply { vault.close() } else { Ok(()) }
}

fn apply(path: &Path, options: &Options, plan: &Plan, budget: &std::sync::Arc<ProofBudget>) -> Result<()> {
    let (log, kept) = (path.join(LOG_DIR), path.join(KEPT_DIR));
    if plan.is_empty() {
        return plan.findings.first().map_or(Ok(()), |finding| {
            Err(Error::corrupt(format!("no repair is known for this: {finding}")).at_path(path))
        });
    }
    plan.put_right(&options.vfs, (path, &log, &kept))?;
    // It is made anew from the segments: simpler than to say what of it still holds.
    let index = path.join(INDEX_FILE);
    let removed =
        options.vfs.exists(&index).and_then(|there| if there { options.vfs.remove(&index) } else { Ok(()) });
    removed.map_err(|e| Error::io("cannot remove the index", e).at_path(&index))?;
    plan.record(&options.vfs, (path, &log), budget)
}

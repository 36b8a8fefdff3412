//! Node files against a plain model, over a file system that fails and over bytes that are damaged.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::io::{Call, Calls, Failure, Fault, FaultyVfs, MemoryVfs, RealVfs};

const STORE: [u8; 16] = [3; 16];

fn dir() -> &'static Path {
    Path::new("/store/order")
}

fn memory() -> MemoryVfs {
    let vfs = MemoryVfs::new();
    vfs.create_dir_all(Path::new("/store")).unwrap();
    vfs
}

/// What node `n` holds; some are empty, and most have another length than their neighbours.
fn content(n: u64) -> Vec<u8> {
    let len = n * 37 % 301;
    (0..len).map(|at| (n ^ at).to_le_bytes()[0]).collect()
}

/// A tree of one level: the root names each node and where it lies.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
struct Plain(BTreeMap<u64, NodeAt>);

impl Plain {
    fn to_root(&self) -> Vec<u8> {
        let fields = self.0.iter().map(|(n, at)| [*n, u64::from(at.file), at.offset, u64::from(at.bytes)]);
        fields.flatten().flat_map(u64::to_le_bytes).collect()
    }

    fn from_root(root: &[u8]) -> Self {
        let words: Vec<u64> = root.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let (rows, rest) = words.as_chunks::<4>();
        assert!(rest.is_empty());
        let at = |row: &[u64; 4]| NodeAt {
            file: row[1].try_into().unwrap(),
            offset: row[2],
            bytes: row[3].try_into().unwrap(),
        };
        Self(rows.iter().map(|row| (row[0], at(row))).collect())
    }

    fn live_bytes(&self) -> u64 {
        self.0.values().map(|at| u64::from(at.bytes)).sum()
    }

    /// Reads every node and returns how many are reported as damaged; none is ever another than was stored.
    fn damaged(&self, files: &NodeFiles) -> Result<usize> {
        let mut damaged = 0;
        for (n, at) in &self.0 {
            match files.read(*at) {
                Ok(node) => assert_eq!(node, content(*n), "node {n} at {at:?}"),
                Err(e) if e.kind() == ErrorKind::Corrupt => damaged += 1,
                Err(e) => return Err(e),
            }
        }
        Ok(damaged)
    }

    fn read_back(&self, files: &NodeFiles) {
        assert_eq!(self.damaged(files).unwrap(), 0, "of {} nodes", self.0.len());
    }
}

/// A writer as the store will be one, and what it was told.
struct Writer {
    files: NodeFiles,
    tree: Plain,
    /// The root that was last acknowledged, and those tried since.
    published: Option<Plain>,
    tried: Vec<Plain>,
}

impl Writer {
    fn open(vfs: Arc<dyn Vfs>) -> Result<Self> {
        let (files, found) = NodeFiles::open(vfs, dir(), STORE, NodeAccess::Write)?;
        assert_eq!(found == NodesFound::Root, files.root().is_some());
        let tree = files.root().map(|root| Plain::from_root(&root));
        Ok(Self { files, tree: tree.clone().unwrap_or_default(), published: tree, tried: Vec::new() })
    }

    /// Adds nodes and takes every third of the old ones out.
    fn change(&mut self, nodes: u64) -> Result<()> {
        let mut tree = self.tree.clone();
        let next = tree.0.last_key_value().map_or(0, |(n, _)| n + 1);
        tree.0.retain(|n, _| !(n + next).is_multiple_of(3));
        let mut sink = self.files.sink();
        for n in next..next + nodes {
            tree.0.insert(n, sink.append(&content(n))?);
        }
        sink.finish()?;
        self.tree = tree;
        Ok(())
    }

    /// Stores the tree anew in the next file.
    fn compact(&mut self) -> Result<()> {
        self.files.begin_next()?;
        let rewrite = || {
            let mut tree = Plain::default();
            let mut sink = self.files.sink();
            for (n, at) in &self.tree.0 {
                tree.0.insert(*n, sink.append(&self.files.read(*at)?)?);
            }
            sink.finish().map(|()| tree)
        };
        match rewrite() {
            Ok(tree) => self.tree = tree,
            Err(e) => {
                self.files.abandon_next();
                return Err(e);
            }
        }
        self.publish()
    }

    fn publish(&mut self) -> Result<()> {
        self.tried.push(self.tree.clone());
        self.files.publish(&self.tree.to_root())?;
        self.published = Some(self.tree.clone());
        self.tried.clear();
        Ok(())
    }

    /// A checkpoint as the store makes one; errors are told and the next one goes on.
    fn checkpoint(&mut self, nodes: u64) -> Result<()> {
        self.change(nodes)?;
        if self.files.wants_rewrite(self.tree.live_bytes()) { self.compact() } else { self.publish() }
    }

    /// What may be found once the process is gone.
    fn candidates(&self) -> Vec<Option<Plain>> {
        std::iter::once(self.published.clone()).chain(self.tried.iter().cloned().map(Some)).collect()
    }
}

/// Checkpoints and compactions; stops at the first error if it is told to. Returns what may be found afterwards.
fn run(vfs: &Arc<dyn Vfs>, stops: bool) -> Vec<Option<Plain>> {
    let mut candidates = vec![None];
    let Ok(mut writer) = Writer::open(vfs.clone()) else { return candidates };
    // Roots of several sectors, so that a torn one is neither the new one nor the one that stood there.
    let steps: [fn(&mut Writer) -> Result<()>; 7] = [
        |writer| writer.checkpoint(30),
        |writer| writer.checkpoint(20),
        Writer::compact,
        |writer| writer.checkpoint(12),
        |writer| writer.checkpoint(14),
        Writer::compact,
        |writer| writer.checkpoint(5),
    ];
    for (number, step) in steps.into_iter().enumerate() {
        let done = step(&mut writer);
        candidates = writer.candidates();
        if done.is_err() && stops {
            return candidates;
        }
        if number == 3 {
            drop(writer);
            let Ok(again) = Writer::open(vfs.clone()) else { return candidates };
            assert!(candidates.contains(&again.published), "a process that ended finds what it wrote");
            // A read may be what fails here, but nothing is damaged.
            assert_eq!(again.tree.damaged(&again.files).unwrap_or(0), 0);
            writer = again;
            // The files of the process before may still lie in the cache of the system alone.
            writer.tried.extend(candidates.into_iter().flatten());
            candidates = writer.candidates();
        }
    }
    candidates
}

/// Opens what is left, finds one of the candidates whole, and goes on from there.
fn check(vfs: MemoryVfs, candidates: &[Option<Plain>], what: &str) {
    let vfs: Arc<dyn Vfs> = Arc::new(vfs);
    let (reader, _) = NodeFiles::open(vfs.clone(), dir(), STORE, NodeAccess::Read).unwrap();
    let found = reader.root().map(|root| Plain::from_root(&root));
    assert!(candidates.contains(&found), "{what}: found {found:?}, not of {candidates:?}");
    found.clone().unwrap_or_default().read_back(&reader);

    let mut writer = Writer::open(vfs.clone()).unwrap();
    assert_eq!(writer.published, found, "{what}");
    writer.tree.read_back(&writer.files);
    writer.checkpoint(3).unwrap();
    writer.compact().unwrap();
    let again = Writer::open(vfs.clone()).unwrap();
    assert_eq!(again.published, writer.published, "{what}");
    again.tree.read_back(&again.files);
    assert_eq!(vfs.list(dir()).unwrap().len(), 1, "{what}: older files are gone");
    found.unwrap_or_default().read_back(&reader);
}

#[test]
fn a_power_cut_after_any_call_leaves_the_last_root_or_the_one_that_was_tried() {
    let mut lengths = std::collections::BTreeSet::new();
    for nth in 1.. {
        let inner = memory();
        let vfs = FaultyVfs::recording(Arc::new(inner.clone()));
        let fault = Fault::nth(Calls::Any, nth, Failure::MEDIUM).for_good().after_bytes(nth * 97 % 1300);
        vfs.arm(fault);
        let candidates = run(&(Arc::new(vfs.clone()) as Arc<dyn Vfs>), true);
        for seed in 0..12 {
            check(vfs.crash(seed).unwrap(), &candidates, &format!("power cut at call {nth}, seed {seed}"));
        }
        lengths.insert(candidates.len());
        check(inner, &candidates, &format!("kill at call {nth}"));
        if vfs.failed() == 0 {
            assert!(nth > 60 && candidates.len() == 1, "{nth} calls");
            break;
        }
    }
    assert!(lengths.len() > 1, "some cuts came between a root's write and its sync");
}

#[test]
fn each_call_may_fail_once_and_the_next_checkpoint_goes_on() {
    for (after_effect, kind) in
        [(false, Failure::MEDIUM), (true, Failure::MEDIUM), (false, Failure::NO_SPACE)]
    {
        for nth in 1.. {
            let inner = memory();
            let vfs = FaultyVfs::recording(Arc::new(inner.clone()));
            let fault = Fault::nth(Calls::Any, nth, kind).after_bytes(nth * 61 % 700);
            vfs.arm(if after_effect { fault.after_effect() } else { fault });
            let shared: Arc<dyn Vfs> = Arc::new(vfs.clone());
            let candidates = run(&shared, false);
            for seed in 0..4 {
                check(vfs.crash(seed).unwrap(), &candidates, &format!("call {nth} failed, seed {seed}"));
            }
            check(inner, &candidates, &format!("call {nth} failed"));
            if vfs.failed() == 0 {
                break;
            }
        }
    }
}

#[test]
fn a_file_whose_sync_failed_takes_nothing_more() {
    let vfs = FaultyVfs::recording(Arc::new(memory()));
    let mut writer = Writer::open(Arc::new(vfs.clone())).unwrap();
    writer.checkpoint(9).unwrap();
    let file = |writer: &Writer| writer.tree.0.values().map(|at| at.file).max();
    let first = file(&writer);
    for nth in [1, 2] {
        vfs.arm(Fault::nth(Calls::Only(Call::Sync), nth, Failure::MEDIUM));
        assert!(writer.checkpoint(3).is_err());
        vfs.disarm();
        assert!(writer.files.wants_rewrite(writer.tree.live_bytes()));
        assert_eq!(writer.files.sink().append(b"x").unwrap_err().kind(), ErrorKind::Poisoned);
        assert_eq!(writer.files.publish(b"x").unwrap_err().kind(), ErrorKind::Poisoned);
        // What was appended to it can still be read, and so stored anew.
        writer.compact().unwrap();
        assert!(file(&writer) > first);
        for seed in 0..20 {
            check(vfs.crash(seed).unwrap(), &[writer.published.clone()], "after a failed sync");
        }
    }
}

#[test]
fn nodes_wait_where_the_medium_is_full_and_nothing_is_lost() {
    let vfs = FaultyVfs::new(Arc::new(memory()));
    let mut writer = Writer::open(Arc::new(vfs.clone())).unwrap();
    writer.checkpoint(5).unwrap();
    vfs.limit_space(Some(100));
    let mut sink = writer.files.sink();
    let mut tree = writer.tree.clone();
    let full = (1000..9000).find_map(|n| match sink.append(&content(n)) {
        Ok(at) => tree.0.insert(n, at).map(|_| ErrorKind::Invalid),
        Err(e) => Some(e.kind()),
    });
    assert_eq!(full, Some(ErrorKind::Io));
    tree.read_back(&writer.files);
    assert!(sink.finish().is_err());
    assert!(writer.files.publish(b"x").is_err() && writer.files.root() == Some(writer.tree.to_root()));
    vfs.limit_space(None);
    writer.tree = Plain(tree.0.into_iter().rev().take(100).collect());
    writer.publish().unwrap();
    let again = Writer::open(Arc::new(vfs)).unwrap();
    again.tree.read_back(&again.files);
    assert_eq!(again.tree, writer.tree);
}

/// A file with two roots, small enough to flip each of its bits.
fn small() -> (MemoryVfs, PathBuf, [Plain; 2]) {
    let vfs = memory();
    let mut writer = Writer::open(Arc::new(vfs.clone())).unwrap();
    writer.checkpoint(3).unwrap();
    let before = writer.tree.clone();
    writer.checkpoint(2).unwrap();
    (vfs, dir().join(node_file(1)), [before, writer.tree])
}

fn open_damaged(vfs: &MemoryVfs, roots: &[Plain; 2], what: &str) -> NodesFound {
    for access in [NodeAccess::Read, NodeAccess::Write] {
        let fork = vfs.fork();
        let (files, found) = NodeFiles::open(Arc::new(fork.clone()), dir(), STORE, access).unwrap();
        let root = files.root().map(|root| Plain::from_root(&root));
        assert_eq!(root.is_some(), found == NodesFound::Root, "{what}");
        if let Some(root) = root {
            assert!(roots.contains(&root), "{what}");
            root.damaged(&files).unwrap();
        } else if access == NodeAccess::Write {
            assert_eq!(fork.list(dir()).unwrap(), [node_file(2)], "{what}");
        }
        for other in roots {
            other.damaged(&files).unwrap();
        }
        if access == NodeAccess::Write {
            return found;
        }
    }
    NodesFound::Nothing
}

#[test]
fn no_flipped_bit_leads_to_a_wrong_root_or_node() {
    let (vfs, path, roots) = small();
    let size = vfs.total_bytes();
    let (mut unusable, mut older) = (0, 0);
    for at in 0..size {
        let file = vfs.open(&path, OpenMode::Read).unwrap();
        let mut byte = [0];
        file.read_at(&mut byte, at).unwrap();
        // One bit stands for all where nothing is written.
        for bit in 0..if byte[0] == 0 && at > 600 { 1 } else { 8 } {
            let fork = vfs.fork();
            fork.open(&path, OpenMode::Write).unwrap().write_at(&[byte[0] ^ 1 << bit], at).unwrap();
            let found = open_damaged(&fork, &roots, &format!("bit {bit} of byte {at}"));
            unusable += usize::from(matches!(found, NodesFound::Unusable(_)));
            let (files, _) = NodeFiles::open(Arc::new(fork), dir(), STORE, NodeAccess::Read).unwrap();
            older += usize::from(files.root() == Some(roots[0].to_root()));
            if at >= NODES_START {
                let lost = roots.iter().any(|root| root.damaged(&files).unwrap() > 0);
                assert!(lost, "bit {bit} of byte {at} belongs to a node");
            }
        }
    }
    assert!(unusable > 1000 && older > 1000, "{unusable} {older}");
}

#[test]
fn no_cut_file_leads_to_a_wrong_root_or_node() {
    let (vfs, path, roots) = small();
    for size in (0..vfs.total_bytes()).rev().step_by(3) {
        let fork = vfs.fork();
        fork.open(&path, OpenMode::Write).unwrap().set_size(size).unwrap();
        let found = open_damaged(&fork, &roots, &format!("cut to {size}"));
        assert_eq!(found == NodesFound::Root, size >= roots[0].0.values().map(end).max().unwrap(), "{size}");
    }
}

fn end(at: &NodeAt) -> u64 {
    at.offset + u64::from(at.bytes)
}

#[test]
fn what_no_link_should_say_is_corrupt() {
    let (vfs, _, [_, tree]) = small();
    let (files, _) = NodeFiles::open(Arc::new(vfs), dir(), STORE, NodeAccess::Read).unwrap();
    let good = *tree.0.first_key_value().unwrap().1;
    let offsets = [0, 1, 4096, good.offset - 8, good.offset + 8, 1 << 40, u64::MAX];
    let wrong = offsets.into_iter().map(|offset| NodeAt { offset, ..good });
    let lengths = [0, 7, 8, good.bytes - 8, good.bytes + 8, 2 << 20, u32::MAX];
    let wrong = wrong.chain(lengths.into_iter().map(|bytes| NodeAt { bytes, ..good }));
    for at in wrong.chain([NodeAt { file: 0, ..good }, NodeAt { file: 2, ..good }]) {
        let e = files.read(at).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Corrupt, "{at:?}");
        assert!(e.place().path.is_some() && e.place().offset == Some(at.offset));
    }
    assert!(files.read(good).is_ok());
}

#[test]
fn another_store_or_version_is_told_and_made_anew() {
    let (vfs, path, _) = small();
    let (files, found) = NodeFiles::open(Arc::new(vfs.fork()), dir(), [4; 16], NodeAccess::Write).unwrap();
    assert_eq!((files.root(), found), (None, NodesFound::Unusable(NodesFault::Foreign)));
    vfs.rename(&path, &dir().join(node_file(7))).unwrap();
    vfs.open(&dir().join("notes.txt"), OpenMode::Create).unwrap();
    let (files, found) = NodeFiles::open(Arc::new(vfs.clone()), dir(), STORE, NodeAccess::Write).unwrap();
    assert!(files.root().is_none() && matches!(found, NodesFound::Unusable(NodesFault::Damaged(_))));
    assert_eq!(vfs.list(dir()).unwrap(), [node_file(8), "notes.txt".to_owned()]);
}

#[test]
fn a_reader_keeps_the_file_that_it_opened() {
    let vfs = memory();
    let mut writer = Writer::open(Arc::new(vfs.clone())).unwrap();
    writer.checkpoint(40).unwrap();
    let (reader, found) = NodeFiles::open(Arc::new(vfs.clone()), dir(), STORE, NodeAccess::Read).unwrap();
    assert_eq!(found, NodesFound::Root);
    let tree = Plain::from_root(&reader.root().unwrap());
    for _ in 0..3 {
        writer.compact().unwrap();
        writer.checkpoint(5).unwrap();
        tree.read_back(&reader);
    }
    assert_eq!(vfs.list(dir()).unwrap(), [node_file(4)]);
    assert_eq!(reader.publish(b"").unwrap_err().kind(), ErrorKind::ReadOnly);
    assert_eq!(reader.sink().append(b"").unwrap_err().kind(), ErrorKind::ReadOnly);
    assert_eq!(reader.begin_next().unwrap_err().kind(), ErrorKind::ReadOnly);
}

/// As a second process does it, beside a writer that never rests.
#[test]
fn readers_that_open_while_the_writer_compacts_find_a_whole_tree() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("order");
    let open = |access| NodeFiles::open(Arc::new(RealVfs), &dir, STORE, access).unwrap();
    let (files, _) = open(NodeAccess::Write);
    let mut writer = Writer { files, tree: Plain::default(), published: None, tried: Vec::new() };
    writer.checkpoint(60).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reads = scope.spawn(|| {
            let mut seen = std::collections::BTreeSet::new();
            while !done.load(Ordering::SeqCst) {
                let (reader, found) = open(NodeAccess::Read);
                assert_eq!(found, NodesFound::Root);
                let tree = Plain::from_root(&reader.root().unwrap());
                tree.read_back(&reader);
                seen.insert(tree.0.values().next().unwrap().file);
            }
            seen.len()
        });
        for round in 0..40 {
            writer.checkpoint(round % 7).unwrap();
            writer.compact().unwrap();
        }
        done.store(true, Ordering::SeqCst);
        assert!(reads.join().unwrap() > 1, "readers came while files changed");
    });
}

#[test]
fn held_files_stay_readable_and_others_are_let_go_of() {
    let vfs = memory();
    let mut writer = Writer::open(Arc::new(vfs.clone())).unwrap();
    writer.checkpoint(20).unwrap();
    let (old, held) = (writer.tree.clone(), writer.files.hold());
    let also = held.clone();
    writer.compact().unwrap();
    let newer = writer.tree.clone();
    drop(held);
    writer.compact().unwrap();
    old.read_back(&writer.files);
    assert_eq!(newer.damaged(&writer.files).unwrap(), newer.0.len(), "nobody held it");
    drop(also);
    writer.publish().unwrap();
    assert_eq!(old.damaged(&writer.files).unwrap(), old.0.len(), "let go of");
    writer.tree.read_back(&writer.files);
}

#[test]
fn a_next_file_can_be_abandoned_until_a_root_was_tried_in_it() {
    let vfs = FaultyVfs::new(Arc::new(memory()));
    let mut writer = Writer::open(Arc::new(vfs.clone())).unwrap();
    writer.checkpoint(6).unwrap();
    writer.files.begin_next().unwrap();
    let stray = writer.files.sink().append(b"stray").unwrap();
    writer.files.abandon_next();
    writer.checkpoint(2).unwrap();
    assert!(writer.tree.0.values().all(|at| at.file < stray.file));
    assert_eq!(vfs.list(dir()).unwrap().len(), 1, "the abandoned file is gone");

    let before = writer.tree.clone();
    vfs.arm(Fault::nth(Calls::Only(Call::Sync), 2, Failure::MEDIUM).after_effect());
    assert!(writer.compact().is_err());
    writer.files.abandon_next();
    assert_eq!(writer.files.publish(&before.to_root()).unwrap_err().kind(), ErrorKind::Poisoned);
    writer.compact().unwrap();
    writer.tree.read_back(&writer.files);
}

#[test]
fn dead_bytes_are_bounded_and_a_checkpoint_writes_what_changed() {
    let vfs = memory();
    let mut writer = Writer::open(Arc::new(vfs.clone())).unwrap();
    let mut most = 0;
    for _ in 0..9000 {
        let at = writer.files.sink().append(&[7; 1500]).unwrap();
        writer.tree = Plain([(0, at)].into());
        let live = writer.tree.live_bytes();
        most = most.max(writer.files.node_bytes().saturating_sub(live));
        if writer.files.wants_rewrite(live) {
            let file = at.file;
            writer.files.begin_next().unwrap();
            let at = writer.files.sink().append(&[7; 1500]).unwrap();
            assert!(at.file > file);
            writer.tree = Plain([(0, at)].into());
        }
        writer.publish().unwrap();
    }
    assert!(most < DEAD_BYTES_MIN + 4096 && vfs.total_bytes() < DEAD_BYTES_MIN + 65_536, "{most}");
    assert!(writer.files.root().is_some() && format!("{:?}", writer.files.hold()).contains('1'));
}

#[test]
fn a_root_has_a_greatest_length() {
    let mut writer = Writer::open(Arc::new(memory())).unwrap();
    writer.files.publish(&[1; ROOT_BYTES_MAX]).unwrap();
    assert_eq!(writer.files.publish(&[2; ROOT_BYTES_MAX + 1]).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(writer.files.root(), Some(vec![1; ROOT_BYTES_MAX]));
    writer.publish().unwrap();
    assert_eq!(writer.files.root(), Some(Vec::new()), "a tree without nodes");
}

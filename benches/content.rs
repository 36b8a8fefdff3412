//! Content's figures: put and get beside hashing and encrypting the same bytes in memory, many small blobs, one large one.
//!
//! `CAUSELOG_BENCH_BLOBS` sets how many blobs of 4 KiB there are, half of them duplicates (default 2,000), and
//! `CAUSELOG_BENCH_STREAM_MIB` the size of the blob that is streamed (default 64). `CAUSELOG_BENCH_ROUNDS` sets how many times
//! each small thing is timed (default 50). Files lie in the system's temporary directory, or where `CAUSELOG_BENCH_DIR` says.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark stops at the first thing that goes wrong"
)]

use std::hint::black_box;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_gcm::{Aes256Gcm, Key, Nonce};
use causelog::{Options, PutOptions, Store};

const CHUNK_BYTES: usize = 64 << 10;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

fn dir() -> tempfile::TempDir {
    let base = std::env::var_os("CAUSELOG_BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    tempfile::Builder::new().prefix("causelog-bench").tempdir_in(base).expect("a directory")
}

/// Bytes that no other seed gives.
fn content(seed: u64, bytes: usize) -> Vec<u8> {
    let mut out = vec![0; bytes];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut out);
    out
}

fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    black_box(work());
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Hashes and encrypts as a put does, in memory.
fn hash_and_seal(cipher: &Aes256Gcm, content: &[u8]) -> usize {
    black_box(blake3::hash(content));
    let mut sealed = content.to_vec();
    for (index, chunk) in sealed.chunks_mut(CHUNK_BYTES).enumerate() {
        let mut nonce = [0; 12];
        nonce[4..].copy_from_slice(&(index as u64).to_le_bytes());
        black_box(cipher.encrypt_inout_detached(&Nonce::from(nonce), b"", chunk.into()).unwrap());
    }
    sealed.len()
}

fn show(what: &str, bytes: usize, ours: Duration, memory: Duration) {
    println!(
        "{what:28} {:>10.1} us  {:>8.1} MB/s   in memory {:>10.1} us   ratio {:.2}",
        ours.as_secs_f64() * 1e6,
        bytes as f64 / ours.as_secs_f64() / 1e6,
        memory.as_secs_f64() * 1e6,
        ours.as_secs_f64() / memory.as_secs_f64()
    );
}

/// Put and get of a size, each beside the work in memory, in turn, so that a slow moment meets both.
fn sizes(rounds: u64) {
    let dir = dir();
    let store = Store::create(dir.path().join("s"), Options::new()).unwrap();
    let blobs = store.blobs();
    let cipher = Aes256Gcm::new(&Key::<Aes256Gcm>::from([7; 32]));
    for (name, bytes) in [("4 KiB", 4 << 10), ("64 KiB", 64 << 10), ("1 MiB", 1 << 20)] {
        let [mut put, mut again, mut get, mut sealed, mut hashed] = std::array::from_fn(|_| Vec::new());
        for round in 0..rounds {
            let content = content(round << 32 | bytes as u64, bytes);
            sealed.push(timed(|| hash_and_seal(&cipher, &content)));
            put.push(timed(|| blobs.put(&content).unwrap()));
            hashed.push(timed(|| blake3::hash(&content)));
            again.push(timed(|| blobs.put(&content).unwrap()));
            let address = blobs.put(&content).unwrap();
            get.push(timed(|| blobs.get(&address).unwrap().unwrap()));
        }
        let (sealed, hashed) = (median(sealed), median(hashed));
        show(&format!("put {name}"), bytes, median(put), sealed);
        show(&format!("get {name}"), bytes, median(get), sealed);
        show(&format!("put {name}, held"), bytes, median(again), hashed);
    }
    store.close().unwrap();
}

/// Many small blobs, every second one put before.
fn many(count: u64) {
    let dir = dir();
    let path = dir.path().join("s");
    let store = Store::create(&path, Options::new()).unwrap();
    let one = |n: u64| content(n / 2, 4 << 10);
    let mut addresses = Vec::new();
    let mut put = Duration::ZERO;
    for n in 0..count {
        let content = one(n);
        put += timed(|| addresses.push(store.blobs().put(&content).unwrap()));
    }
    put += timed(|| store.blobs().sync().unwrap());
    let get = timed(|| {
        for address in &addresses {
            black_box(store.blobs().get(address).unwrap().unwrap());
        }
    });
    let stats = store.blobs().stats().unwrap();
    store.close().unwrap();
    let open = timed(|| Store::open(&path, Options::new().background(false)).unwrap());
    let each = |time: Duration| time.as_secs_f64() * 1e6 / count as f64;
    println!(
        "{count} blobs of 4 KiB, half of them duplicates: put {:.1} us each, get {:.1} us each, open {:.1} ms; {} held in {} bytes",
        each(put),
        each(get),
        open.as_secs_f64() * 1e3,
        stats.resident,
        stats.pack_bytes
    );
}

/// So many bytes that nobody has to hold.
struct Source {
    left: u64,
    state: u64,
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        for piece in buffer.iter_mut().take(bytes).collect::<Vec<_>>().chunks_mut(8) {
            self.state = self.state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            for (byte, value) in piece.iter_mut().zip(self.state.to_le_bytes()) {
                **byte = value;
            }
        }
        self.left -= bytes as u64;
        Ok(bytes)
    }
}

/// A member of `/proc/self/status` in KiB; `None` where there is no such file.
fn status(name: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    text.lines().find(|line| line.starts_with(name))?.split_whitespace().nth(1)?.parse().ok()
}

/// Takes anything, and looks at the memory now and then.
#[derive(Default)]
struct Sink {
    bytes: u64,
    peak: u64,
}

impl Write for Sink {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.bytes += buffer.len() as u64;
        self.peak = self.peak.max(status("RssAnon").unwrap_or(0));
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Looks at the memory as its bytes are asked for.
struct Watched<R> {
    reader: R,
    peak: u64,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.peak = self.peak.max(status("RssAnon").unwrap_or(0));
        self.reader.read(buffer)
    }
}

/// One large blob, in and out.
fn stream(mib: u64) {
    let dir = dir();
    let store = Store::create(dir.path().join("s"), Options::new().background(false)).unwrap();
    let before = status("RssAnon").unwrap_or(0);
    let mut source = Watched { reader: Source { left: mib << 20, state: 1 }, peak: 0 };
    let start = Instant::now();
    let address = store.blobs().put_reader(&mut source, &PutOptions::new()).unwrap().address();
    let put = start.elapsed();
    let mut sink = Sink::default();
    let get = timed(|| store.blobs().get_writer(&address, &mut sink).unwrap());
    assert_eq!(sink.bytes, mib << 20);
    println!(
        "one blob of {mib} MiB: in {:.1} MB/s, out {:.1} MB/s; anonymous memory at its peak {} KiB in, {} KiB out, {before} KiB before",
        (mib << 20) as f64 / put.as_secs_f64() / 1e6,
        (mib << 20) as f64 / get.as_secs_f64() / 1e6,
        source.peak,
        sink.peak
    );
}

fn main() {
    // First, as memory that was given back once does not count again.
    stream(number("CAUSELOG_BENCH_STREAM_MIB", 64));
    sizes(number("CAUSELOG_BENCH_ROUNDS", 50));
    many(number("CAUSELOG_BENCH_BLOBS", 2_000));
}

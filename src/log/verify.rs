//! Checking a whole sealed segment: every byte, and everything its sections say.

use crate::codec::{ControlState, Section, offset_of};
use crate::contract::{Error, ErrorKind, Result};

use super::record::{Record, bytes_from, event_frame};
use super::sealed::{SealedSegment, check_section, header_of};
use super::sections::Sections;
use super::trouble::{to_u64, to_usize};

/// Bytes between two calls of the progress function.
const PROGRESS_BYTES: usize = 1 << 20;

impl SealedSegment {
    /// Checks the whole file: the root, header, every frame and its padding, the order of frames, every
    /// section against the frames, and the state against both. All checksums are computed anew.
    ///
    /// Returns everything that is wrong, each with path, segment and offset; nothing wrong is an empty list.
    /// Behind a damaged frame it goes on at the next one. `progress` is told the bytes done so far, up to
    /// twice [`bytes`](Self::bytes): the file is passed over twice. Memory: about 50 bytes an event.
    ///
    /// # Errors
    /// `Io` when the file cannot be opened or mapped: nothing is known then.
    pub fn verify(&self, progress: &mut dyn FnMut(u64)) -> Result<Vec<Error>> {
        let mut check = Check { segment: self, findings: Vec::new(), starts: None, progress, done: 0 };
        match check.run() {
            Err(error) if error.kind() == ErrorKind::Corrupt => check.findings.push(error),
            Err(error) => return Err(error),
            Ok(()) => {}
        }
        Ok(check.findings)
    }

    /// Recomputes the root alone: one pass at several GB/s.
    ///
    /// # Errors
    /// `Corrupt` when it is not what the trailer says, `Io` when the file cannot be mapped.
    pub fn verify_root(&self) -> Result<()> {
        let progress = &mut |_| {};
        let mut check = Check { segment: self, findings: Vec::new(), starts: None, progress, done: 0 };
        check.root()?;
        check.findings.pop().map_or(Ok(()), Err)
    }
}

struct Check<'a> {
    segment: &'a SealedSegment,
    findings: Vec<Error>,
    /// Where frames start, once damage made it necessary to know.
    starts: Option<Vec<u64>>,
    progress: &'a mut dyn FnMut(u64),
    done: u64,
}

impl Check<'_> {
    fn run(&mut self) -> Result<()> {
        self.root()?;
        self.header()?;
        self.padding()?;
        for section in Section::ALL {
            let bytes = self.segment.section_unchecked(section)?;
            if let Err(error) = check_section(self.segment.trailer(), section, bytes) {
                self.findings.push(error.at_path(self.segment.path()));
            }
        }
        if let Err(error) = self.segment.blocks() {
            self.or_find(error)?;
        }
        let state = match self.segment.state_after() {
            Ok(state) => state,
            Err(error) => return self.or_find(error),
        };
        self.state(&state)?;
        let sound = self.findings.len();
        let sections = self.frames(&state)?;
        // Sections gathered from damaged frames differ from what is there for a reason that was named.
        if self.findings.len() == sound { self.sections(sections, &state) } else { Ok(()) }
    }

    /// Keeps damage as a finding; anything else ends the check.
    fn or_find(&mut self, error: Error) -> Result<()> {
        if error.kind() != ErrorKind::Corrupt {
            return Err(error);
        }
        // The same section can be found wanting by its checksum and by what it says.
        let known = self
            .findings
            .iter()
            .any(|found| found.message() == error.message() && found.place().offset == error.place().offset);
        if !known {
            self.findings.push(error);
        }
        Ok(())
    }

    fn find(&mut self, offset: u64, what: impl Into<String>) {
        self.findings.push(self.segment.place(Error::corrupt(what), offset));
    }

    fn advance(&mut self, bytes: usize) {
        let before = self.done;
        self.done += to_u64(bytes);
        let step = to_u64(PROGRESS_BYTES);
        if before / step != self.done / step {
            (self.progress)(self.done);
        }
    }

    fn root(&mut self) -> Result<()> {
        let segment = self.segment;
        let source = segment.source()?;
        let end = source.bytes().len() - crate::codec::TRAILER_BYTES;
        let mut hasher = blake3::Hasher::new();
        for piece in source.bytes().get(..end).unwrap_or_default().chunks(PROGRESS_BYTES) {
            hasher.update(piece);
            self.advance(piece.len());
        }
        if hasher.finalize().as_bytes() != segment.root() {
            self.find(0, "the segment does not match its root");
        }
        Ok(())
    }

    fn header(&mut self) -> Result<()> {
        let trailer = self.segment.trailer();
        let bytes = self.segment.source()?.bytes().get(..to_usize(trailer.frames_start)).unwrap_or_default();
        if let Err(error) = header_of(bytes, trailer) {
            self.findings.push(self.segment.place(error, 0));
        }
        Ok(())
    }

    /// Between sections there are zeros.
    fn padding(&mut self) -> Result<()> {
        let segment = self.segment;
        for section in Section::ALL {
            let place = segment.trailer().section(section);
            let end = place.offset + place.bytes;
            let padding = to_usize(end.next_multiple_of(8) - end);
            let bytes = bytes_from(segment.source()?, end);
            if bytes.get(..padding).is_none_or(|bytes| bytes.iter().any(|byte| *byte != 0)) {
                self.find(end, "the padding is not zero");
            }
        }
        Ok(())
    }

    fn state(&mut self, state: &ControlState) -> Result<()> {
        let segment = self.segment;
        let before = segment.header()?;
        let offset = segment.trailer().section(Section::State).offset;
        if state.arrivals < segment.first_arrival().saturating_add(segment.events()) {
            self.find(offset, "the control state counts fewer events than there are");
        }
        for entry in segment.hosts() {
            let host = to_usize(u64::from(entry.host));
            let high = state.hosts.get(host).and_then(|host| host.high);
            if high.is_none_or(|high| high < entry.last_seq) {
                self.find(offset, format!("the high mark of host number {} is too low", entry.host));
            }
            let high_before = before.state.hosts.get(host).and_then(|host| host.high);
            if high_before.is_some_and(|high| high >= entry.first_seq) {
                let what = format!("host number {} had passed its first seq before the segment", entry.host);
                self.find(offset_of(entry.start), what);
            }
        }
        Ok(())
    }

    fn frames(&mut self, state: &ControlState) -> Result<Sections> {
        let segment = self.segment;
        let source = segment.source()?;
        let trailer = segment.trailer();
        let events = to_usize(trailer.events);
        let mut sections = Sections::new(*segment.secret(), state, events);
        let mut hosts = segment.hosts().iter().peekable();
        let mut last_seq: Option<u64> = None;
        let mut offset = trailer.frames_start;
        while offset < trailer.frames_end {
            while hosts.next_if(|host| offset_of(host.end) <= offset).is_some() {
                last_seq = None;
            }
            let end = hosts.peek().map_or(trailer.frames_end, |host| offset_of(host.end));
            let bytes = bytes_from(source, offset).get(..to_usize(end - offset)).unwrap_or_default();
            let checked = event_frame(bytes, segment.seed(), offset).and_then(|frame| {
                let start = to_usize(offset);
                let record = Record::check(source, start, &frame, segment.sizes())?;
                let (host, seq) = (record.get().host.to_native(), record.get().seq.to_native());
                if hosts.peek().is_none_or(|entry| entry.host != host)
                    || last_seq.is_some_and(|last| last >= seq)
                {
                    return Err(format!("seq {seq} of host number {host} is out of order"));
                }
                last_seq = Some(seq);
                sections.push(record.get(), frame.ordinal, offset, frame.bytes)?;
                Ok(frame.bytes)
            });
            let next = match checked {
                Ok(bytes) => offset + to_u64(bytes),
                Err(what) => {
                    self.find(offset, what);
                    self.frame_behind(offset)?
                }
            };
            self.advance(to_usize(next - offset));
            offset = next;
        }
        Ok(sections)
    }

    /// Returns where the next frame starts, or the end of the frames when there is none.
    fn frame_behind(&mut self, offset: u64) -> Result<u64> {
        let starts = match &mut self.starts {
            Some(starts) => starts,
            none => none.insert(frame_starts(self.segment)?),
        };
        let next = starts.get(starts.partition_point(|start| *start <= offset));
        Ok(next.copied().unwrap_or(self.segment.trailer().frames_end))
    }

    fn sections(&mut self, sections: Sections, state: &ControlState) -> Result<()> {
        let segment = self.segment;
        let finished = sections.finish(state, |section, expected| {
            let found = segment.section_unchecked(section)?;
            let offset = segment.trailer().section(section).offset;
            if section != Section::State && found != expected {
                self.find(offset, format!("the {} is not that of the frames", section.name()));
            }
            Ok(())
        });
        match finished {
            Ok(unresolved) if unresolved == segment.unresolved_len() => {}
            Ok(_) => self.find(segment.bytes(), "the trailer's count of unresolved causes is wrong"),
            Err(error) => return self.or_find(segment.place(error, segment.trailer().frames_start)),
        }
        Ok(())
    }
}

/// Returns where frames start according to the arrival order, or, if that is damaged too, where blocks do.
fn frame_starts(segment: &SealedSegment) -> Result<Vec<u64>> {
    let lists = [
        segment.arrivals().map(Iterator::collect),
        segment.blocks().map(|blocks| blocks.iter().map(|block| offset_of(block.start)).collect()),
    ];
    for list in lists {
        match list {
            Ok(starts) => {
                let mut starts: Vec<u64> = starts;
                starts.retain(|start| *start < segment.trailer().frames_end);
                starts.sort_unstable();
                return Ok(starts);
            }
            Err(error) if error.kind() == ErrorKind::Corrupt => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Vec::new())
}

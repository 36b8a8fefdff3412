//! An event between its line and the store: host and seq in the record's key, the rest as bytes.
//!
//! ```text
//! v u32, at f64, id, count of causes u32, causes, type, payload, unknown members
//! id:   tag 0 and 16 bytes of a UUID, or tag 1 and a text
//! text: length u32 and UTF-8; the unknown members are empty where there are none
//! ```
//!
//! Little-endian. These bytes live in temporary files of this process alone, so they have no version
//! and no checksum; what does not add up is reported as a failed file.

use crate::contract::{Error, Event, EventId, HostId, IdForm, IdRef, JsonText, Result, Seq};

const UUID: u8 = 0;
const TEXT: u8 = 1;

/// Appends an event to a record's value.
pub(super) fn write(event: &Event, out: &mut Vec<u8>) {
    out.extend_from_slice(&event.v.to_le_bytes());
    out.extend_from_slice(&event.at.to_le_bytes());
    write_id(event.id.as_ref(), out);
    // The contract's limits keep counts and lengths far below 32 bits.
    out.extend_from_slice(&u32::try_from(event.causes.len()).unwrap_or(u32::MAX).to_le_bytes());
    for cause in &event.causes {
        write_id(cause.as_ref(), out);
    }
    write_text(&event.kind, out);
    write_text(event.payload.as_str(), out);
    write_text(event.extra.as_ref().map_or("", JsonText::as_str), out);
}

fn write_id(id: IdRef<'_>, out: &mut Vec<u8>) {
    match id.form() {
        IdForm::Uuid(bytes) => {
            out.push(UUID);
            out.extend_from_slice(&bytes);
        }
        IdForm::Text(text) => {
            out.push(TEXT);
            write_text(text, out);
        }
    }
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

/// Reads the id and the causes alone.
pub(super) fn read_ids(value: &[u8]) -> Result<(IdRef<'_>, Vec<IdRef<'_>>)> {
    let mut bytes = Bytes(value);
    bytes.ids().map(|(_, _, id, causes)| (id, causes)).ok_or_else(broken)
}

/// Reads the whole event.
pub(super) fn read(host: &HostId, seq: u64, value: &[u8]) -> Result<Event> {
    let mut bytes = Bytes(value);
    bytes.event(host, Seq::new(seq)?).ok_or_else(broken)
}

pub(super) fn broken() -> Error {
    Error::io("a temporary file was changed", std::io::ErrorKind::InvalidData.into())
}

/// What is left of a record's value.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, left) = self.0.split_at_checked(len)?;
        self.0 = left;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.first_chunk().copied()
    }

    fn text(&mut self) -> Option<&'a str> {
        let len = usize::try_from(u32::from_le_bytes(self.array()?)).ok()?;
        std::str::from_utf8(self.take(len)?).ok()
    }

    fn id(&mut self) -> Option<IdRef<'a>> {
        match self.array()? {
            [UUID] => self.array().map(IdRef::from_uuid_bytes),
            [TEXT] => self.text().map(IdRef::new),
            _ => None,
        }
    }

    fn ids(&mut self) -> Option<(u32, f64, IdRef<'a>, Vec<IdRef<'a>>)> {
        let v = u32::from_le_bytes(self.array()?);
        let at = f64::from_le_bytes(self.array()?);
        let id = self.id()?;
        let count = u32::from_le_bytes(self.array()?);
        let causes = (0..count).map(|_| self.id()).collect::<Option<_>>()?;
        Some((v, at, id, causes))
    }

    fn event(&mut self, host: &HostId, seq: Seq) -> Option<Event> {
        let (v, at, id, causes) = self.ids()?;
        let kind = self.text()?.into();
        let payload = JsonText::from_checked(self.text()?.to_owned());
        let extra = self.text()?;
        let extra = (!extra.is_empty()).then(|| JsonText::from_checked(extra.to_owned()));
        let causes: Vec<EventId> = causes.into_iter().map(IdRef::to_owned).collect();
        let (id, host) = (id.to_owned(), host.clone());
        Some(Event { v, id, host, seq, causes, at, kind, payload, extra })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::parse_event;

    #[test]
    fn events_come_back_whole() {
        for line in [
            r#"{"v":1,"id":"a","host":"h","seq":7,"causes":[],"at":-1.5,"type":"x.y","payload":{}}"#,
            r#"{"v":1,"id":"a","host":"h","seq":7,"causes":["b","abe4cce2-1f12-45be-9fb0-23cbd9e4a2bb"],
               "at":1e300,"type":"x.y","payload":{"ä":[1.0,"\u0000"]},"more":{"z":null}}"#,
        ] {
            let event = parse_event(line.as_bytes()).unwrap();
            let mut value = Vec::new();
            write(&event, &mut value);
            assert_eq!(read(&event.host, event.seq.get(), &value).unwrap(), event);
            let (id, causes) = read_ids(&value).unwrap();
            assert_eq!(id, event.id.as_ref());
            assert!(causes.into_iter().eq(event.causes.iter().map(EventId::as_ref)));
            for cut in 0..value.len() {
                assert!(read(&event.host, 7, &value[..cut]).is_err());
            }
        }
    }
}

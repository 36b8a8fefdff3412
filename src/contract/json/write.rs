//! Writes strings and numbers as ECMAScript does: the shortest text that reads back the same.

use super::compact::any_byte;

/// Appends a string with its quotes.
pub(crate) fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    if any_byte(text, needs_escape) {
        text.bytes().for_each(|byte| write_byte(byte, out));
    } else {
        out.extend_from_slice(text.as_bytes());
    }
    out.push(b'"');
}

const fn needs_escape(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

fn write_byte(byte: u8, out: &mut Vec<u8>) {
    let short = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        0x00..=0x1f => {
            let hex = |digit: u8| if digit < 10 { b'0' + digit } else { b'a' + digit - 10 };
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', hex(byte >> 4), hex(byte & 0xf)]);
            return;
        }
        _ => {
            out.push(byte);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// Appends a finite number; `-0` as `0`. A number that is not finite has no JSON and is written `null`,
/// as ECMAScript does.
pub(crate) fn write_number(number: f64, out: &mut Vec<u8>) {
    if number.is_finite() {
        out.extend_from_slice(ryu_js::Buffer::new().format_finite(number).as_bytes());
    } else {
        out.extend_from_slice(b"null");
    }
}

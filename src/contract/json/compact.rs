//! Drops the white space between the tokens of JSON text.

use std::borrow::Cow;

/// Bytes looked at together, so that the compiler can use vector instructions.
const CHUNK_BYTES: usize = 32;

/// Reports whether any byte of a text passes a test.
pub(super) fn any_byte(text: &str, test: impl Fn(u8) -> bool) -> bool {
    let in_chunk = |chunk: &[u8]| chunk.iter().fold(0, |any, &byte| any | u8::from(test(byte))) != 0;
    text.as_bytes().chunks(CHUNK_BYTES).any(in_chunk)
}

/// Returns valid JSON text without white space between its tokens.
///
/// Borrows when there is none, which is what machines write; then costs a pass over the text.
pub(crate) fn compact(text: &str) -> Cow<'_, str> {
    if !any_byte(text, |byte| byte <= b' ') || !has_space_between_tokens(text) {
        return Cow::Borrowed(text);
    }
    let (mut in_string, mut escaped) = (false, false);
    let mut kept = String::with_capacity(text.len());
    kept.extend(text.chars().filter(|&c| {
        if !in_string {
            in_string = c == '"';
            return !matches!(c, ' ' | '\t' | '\n' | '\r');
        }
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == '"' {
            in_string = false;
        }
        true
    }));
    Cow::Owned(kept)
}

fn has_space_between_tokens(text: &str) -> bool {
    let mut bytes = text.bytes();
    loop {
        match bytes.find(|byte| *byte == b'"' || *byte <= b' ') {
            None => return false,
            Some(b'"') => skip_string(&mut bytes),
            Some(_) => return true,
        }
    }
}

/// Skips the rest of a string, its closing quote included.
fn skip_string(bytes: &mut std::str::Bytes<'_>) {
    while bytes.find(|byte| *byte == b'"' || *byte == b'\\') == Some(b'\\') {
        bytes.next();
    }
}

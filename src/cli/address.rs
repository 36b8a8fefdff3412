//! Addresses on the command line and in the names of files.

use crate::contract::{Address, AddressKind};

/// Reads an address, whole: `blake3:HEX` or `sha256:HEX`, or with a dash, as names of files have it.
pub(crate) fn address(text: &str) -> Result<Address, String> {
    read(text).map(|(address, _)| address).ok_or_else(|| {
        "an address is `blake3:` or `sha256:` and all 64 hex digits, in lower case; a part of one names nothing"
            .to_owned()
    })
}

/// Reads the name of an algorithm.
pub(crate) fn kind(text: &str) -> Result<AddressKind, String> {
    AddressKind::from_word(text).ok_or_else(|| "the algorithms are blake3 and sha256".to_owned())
}

/// Reads an address, and which sign stands behind the algorithm.
pub(crate) fn read(text: &str) -> Option<(Address, char)> {
    if let Ok(address) = text.parse() {
        return Some((address, ':'));
    }
    let (kind, digits) = text.split_once('-')?;
    Some((format!("{kind}:{digits}").parse().ok()?, '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_whole_or_none() {
        let digits = "0f".repeat(32);
        for kind in ["blake3", "sha256"] {
            let plain = format!("{kind}:{digits}");
            assert_eq!(address(&plain).unwrap().to_string(), plain);
            assert_eq!(address(&format!("{kind}-{digits}")).unwrap().to_string(), plain);
        }
        let upper = digits.to_uppercase();
        let bad = [
            "",
            "sha256",
            "sha256:",
            "sha256:0f0f",
            &digits,
            &format!("sha256:{upper}"),
            &format!("md5-{digits}"),
        ];
        for bad in bad.into_iter().chain([
            &*format!("sha256:{digits}0"),
            &format!("sha256-:{digits}"),
            &format!(" sha256-{digits}"),
        ]) {
            assert!(address(bad).unwrap_err().contains("64 hex digits"), "{bad}");
        }
        assert!(kind("md5").is_err() && kind("sha256") == Ok(AddressKind::Sha256));
    }
}

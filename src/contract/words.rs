//! The contract's closed vocabularies.

use std::fmt;

/// Defines an enum whose variants are words of the contract.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$note:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$note])* $variant,)+
        }

        impl $name {
            /// Every word, in the contract's order.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Returns the word.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            /// Finds the word; `None` when it is not one of these.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

words! {
    /// Who acts.
    ActorKind {
        /// A person.
        User = "user",
        /// A language model.
        Model = "model",
        /// An agent.
        Agent = "agent",
        /// A timer.
        Schedule = "schedule",
        /// An automation rule.
        Rule = "rule",
        /// A message channel.
        Channel = "channel",
    }
}

words! {
    /// What a reference points at.
    RefKind {
        /// A note.
        Note = "note",
        /// A web page.
        Page = "page",
        /// A chat.
        Chat = "chat",
        /// A meeting.
        Meeting = "meeting",
        /// Content held by its hash.
        Blob = "blob",
        /// The result of an invocation.
        Result = "result",
        /// A memory.
        Memory = "memory",
        /// A brief.
        Brief = "brief",
    }
}

words! {
    /// The class of a capability, by its letter.
    Class {
        /// Class `R`.
        R = "R",
        /// Class `L`.
        L = "L",
        /// Class `X`.
        X = "X",
        /// Class `A`.
        A = "A",
        /// Class `H`.
        H = "H",
        /// Class `C`.
        C = "C",
        /// Class `M`.
        M = "M",
    }
}

words! {
    /// What running an invocation again does.
    Effects {
        /// Nothing: it changes nothing.
        Pure = "pure",
        /// It may run again in a replay.
        ReplaySafe = "replay-safe",
        /// Running it again changes nothing more.
        Idempotent = "idempotent",
        /// It must not run again.
        NonReplayable = "non-replayable",
    }
}

words! {
    /// What leaves the device.
    Egress {
        /// Nothing.
        None = "none",
        /// Content whose personal data were taken out.
        Redacted = "redacted",
        /// What another party decides.
        Delegated = "delegated",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_variants_match() {
        for kind in RefKind::ALL {
            assert_eq!(RefKind::from_word(kind.as_str()), Some(*kind));
        }
        assert_eq!(ActorKind::from_word("channel"), Some(ActorKind::Channel));
        assert_eq!(Effects::from_word("Pure"), None);
        assert_eq!((Class::ALL.len(), Egress::ALL.len()), (7, 3));
    }
}

//! Histories of a stated shape, the same for the same number.

/// One event: host, `seq`, and its causes as the numbers of earlier events.
#[derive(Clone, Debug)]
pub struct Made {
    pub host: u32,
    pub seq: u64,
    pub causes: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Each event names its host's previous one, and so many of a hundred another host's latest.
    Cross(u64),
    /// Each event names another host's latest event, and nothing else.
    Hard,
}

pub const SHAPES: [(&str, Shape); 3] =
    [("5 % across", Shape::Cross(5)), ("20 % across", Shape::Cross(20)), ("hard", Shape::Hard)];

pub const HOSTS: u32 = 8;

pub struct Maker {
    shape: Shape,
    random: u64,
    /// `seq` and number of each host's latest event.
    latest: [Option<(u64, u64)>; HOSTS as usize],
    made: u64,
}

impl Maker {
    pub fn new(shape: Shape) -> Self {
        Self { shape, random: 0x9E37_79B9_7F4A_7C15, latest: [None; HOSTS as usize], made: 0 }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) % bound
    }

    fn other(&mut self, host: u32) -> Option<u64> {
        let other = (u64::from(host) + 1 + self.below(u64::from(HOSTS) - 1)) % u64::from(HOSTS);
        self.latest[usize::try_from(other).unwrap()].map(|(_, number)| number)
    }
}

impl Iterator for Maker {
    type Item = Made;

    fn next(&mut self) -> Option<Made> {
        let host = u32::try_from(self.below(u64::from(HOSTS))).unwrap();
        let before = self.latest[host as usize];
        let mut causes = Vec::new();
        match self.shape {
            Shape::Cross(percent) => {
                causes.extend(before.map(|(_, number)| number));
                if self.below(100) < percent {
                    causes.extend(self.other(host));
                }
            }
            Shape::Hard => causes.extend(self.other(host).or(before.map(|(_, number)| number))),
        }
        let seq = before.map_or(0, |(seq, _)| seq + 1);
        self.latest[host as usize] = Some((seq, self.made));
        self.made += 1;
        Some(Made { host, seq, causes })
    }
}

//! Random choices that are the same for the same seed, on every machine and in every version.

/// A generator of choices: `SplitMix64`.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    /// The choices of this seed.
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Self(seed);
        // Seeds that lie side by side are apart after one step.
        random.0 = random.next() ^ seed.rotate_left(32);
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 when there is none.
    pub(super) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.next() % end).unwrap_or_default()
    }

    /// A number from `least` to `most`, both included.
    pub(super) fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most.saturating_sub(least) + 1)
    }

    /// True in `part` of `of` cases.
    pub(super) fn happens(&mut self, part: usize, of: usize) -> bool {
        self.below(of) < part
    }

    /// One of several, if there is one.
    pub(super) fn one<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len()))
    }

    /// One of several by their weights, if there is one.
    pub(super) fn weighed<'a, T>(&mut self, of: &'a [T], weight: impl Fn(&T) -> usize) -> Option<&'a T> {
        let mut left = self.below(of.iter().map(&weight).sum());
        of.iter().find(|one| {
            let here = weight(one);
            let hit = left < here;
            left = left.saturating_sub(here);
            hit
        })
    }
}

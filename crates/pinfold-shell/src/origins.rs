//! Map from the bytes of an unescaped text to their positions in the command line.

/// Pairs of places, in order: from the first on, up to the next pair, the texts run side by side.
#[derive(Debug, Default)]
pub(crate) struct Origins(Vec<(usize, usize)>);

impl Origins {
    /// Records that the bytes from `here` on stood at `there`.
    pub(crate) fn add(&mut self, here: usize, there: usize) {
        self.0.push((here, there));
    }

    /// Returns the original position of the byte at `here`.
    pub(crate) fn original_position(&self, here: usize) -> usize {
        let next = self.0.partition_point(|&(start, _)| start <= here);
        let (start, there) =
            next.checked_sub(1).and_then(|last| self.0.get(last).copied()).unwrap_or_default();
        there + (here - start)
    }
}

//! `random_distribution=zoned` and `zoned_abs`: a table that turns a per-cent draw into a zone.

use ferrio_options::Zone;

/// One zone for each per cent of the accesses.
#[derive(Clone, Debug)]
pub(crate) struct ZoneTable {
    /// First and end of the zone: per cent of the range, or bytes.
    entries: [(u64, u64); 100],
}

impl ZoneTable {
    /// The table of a list of zones in written order; `None` without zones.
    pub(crate) fn new(zones: &[Zone]) -> Option<Self> {
        let mut entries = [(0, 0); 100];
        let mut filled = 0;
        let mut first = 0_u64;
        for zone in zones {
            let end = first.saturating_add(zone.size);
            let next = (filled + zone.access_percent as usize).min(entries.len());
            entries[filled..next].fill((first, end));
            filled = next;
            first = end;
        }
        (filled > 0).then_some(ZoneTable { entries })
    }

    /// The zone of a draw in 1..=100.
    pub(crate) fn zone(&self, percent: u32) -> (u64, u64) {
        self.entries[(percent as usize - 1).min(self.entries.len() - 1)]
    }
}

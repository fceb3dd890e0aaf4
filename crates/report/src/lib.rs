//! ferrio's reports: every rendering of a run's result.

//! ferrio's runner: files, clock, workers, supervisor.

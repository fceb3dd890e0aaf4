//! ferrio's I/O engines.

//! ferrio's view of block devices and file systems: discovery and the in-use guard.

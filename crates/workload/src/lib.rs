//! ferrio's workload generators: which operation comes next, and what data it carries.

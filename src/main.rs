//! The ferrio command.

fn main() {}

#![no_main]
mod common;
// Arithmetic in parentheses, where sizes, times and plain numbers are meant.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut text = b"(".to_vec();
    text.extend_from_slice(data);
    for option in ["size", "runtime", "iodepth", "latency_percentile"] {
        common::value(option, &text);
    }
});

#![no_main]
mod common;
libfuzzer_sys::fuzz_target!(|data: &[u8]| common::job_file(data));

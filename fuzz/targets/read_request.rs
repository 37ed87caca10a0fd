#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::run("read_request", input));

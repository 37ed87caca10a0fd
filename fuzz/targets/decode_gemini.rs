#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::decode(wire::Dialect::Gemini, input));

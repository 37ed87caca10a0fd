//! The loopback double and helpers shared by the end-to-end tests.

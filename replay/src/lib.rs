//! Recordings, replay and chaos for the Loopwright machine.

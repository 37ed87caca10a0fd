//! Decoders from outside: recorded streams, cases from the field, hostile bytes.

mod cases;
mod corpus;
mod framing;
mod hostile;
mod recorded;
mod splits;
mod told;
mod written;

//! Provider dialects without I/O: bytes in, model events out; view in, request body out.

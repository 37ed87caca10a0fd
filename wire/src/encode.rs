//! From a sealed request to the bytes of a request body.

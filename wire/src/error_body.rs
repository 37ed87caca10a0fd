//! From an HTTP error (status, headers, body) to a class that a policy can decide about.

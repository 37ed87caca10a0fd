//! The world around the machine: providers, tools, hooks, clock, one driver loop.

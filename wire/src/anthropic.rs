//! The dialect Anthropic Messages.

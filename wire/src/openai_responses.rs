//! The dialect OpenAI Responses.

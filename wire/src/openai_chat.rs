//! The dialect OpenAI Chat Completions and every compatible vendor's spelling.

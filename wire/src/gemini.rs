//! The dialect Gemini `streamGenerateContent`, as SSE or as one JSON array.

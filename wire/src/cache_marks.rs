//! Where the marks of the prompt cache go: they slide with the conversation.

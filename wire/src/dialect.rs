//! The dialects that providers speak, by the words of the configuration.

use std::fmt;
use std::str::FromStr;

/// A dialect: how a provider frames its answers and wants its requests.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub enum Dialect {
    /// Anthropic Messages.
    #[serde(rename = "anthropic")]
    Anthropic,
    /// OpenAI Chat Completions and every vendor compatible with it.
    #[serde(rename = "openai-chat")]
    OpenAiChat,
    /// OpenAI Responses.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// Gemini `streamGenerateContent`, as SSE or as one JSON array.
    #[serde(rename = "gemini")]
    Gemini,
    /// Ollama's own API: one JSON object a line.
    #[serde(rename = "ollama")]
    Ollama,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: &[Dialect] = &[
        Dialect::Anthropic,
        Dialect::OpenAiChat,
        Dialect::OpenAiResponses,
        Dialect::Gemini,
        Dialect::Ollama,
    ];

    /// The word of the configuration and of the command line.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Dialect::Anthropic => "anthropic",
            Dialect::OpenAiChat => "openai-chat",
            Dialect::OpenAiResponses => "openai-responses",
            Dialect::Gemini => "gemini",
            Dialect::Ollama => "ollama",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(word: &str) -> Result<Dialect, UnknownDialect> {
        let known = Dialect::ALL.iter().copied().find(|dialect| dialect.word() == word);
        known.ok_or_else(|| UnknownDialect { word: word.to_owned() })
    }
}

/// A word that names no dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownDialect {
    /// The word.
    pub word: String,
}

impl fmt::Display for UnknownDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown dialect `{}`; expected one of", self.word)?;
        for (index, dialect) in Dialect::ALL.iter().enumerate() {
            write!(f, "{} {dialect}", if index == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownDialect {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_names_its_dialect() {
        for dialect in Dialect::ALL {
            assert_eq!(dialect.to_string().parse(), Ok(*dialect));
        }
    }

    #[test]
    fn an_unknown_word_is_answered_with_the_known_ones() {
        let error = "openai".parse::<Dialect>().expect_err("not a dialect");
        assert_eq!(
            error.to_string(),
            "unknown dialect `openai`; expected one of anthropic, openai-chat, \
             openai-responses, gemini, ollama"
        );
    }
}

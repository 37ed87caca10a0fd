//! Where a request goes: the base address of a configuration and the path of a dialect, joined.

use crate::Dialect;

/// Joins a base address with the path of a request.
///
/// People write base addresses in the way of each provider's own SDK: with the version for OpenAI
/// (`https://api.openai.com/v1`), without it for Anthropic (`https://api.anthropic.com`), or as the
/// whole endpoint. All of them arrive at the same place. A query of the base address is kept.
#[must_use]
pub fn url(dialect: Dialect, base: &str, path: &str) -> String {
    let (base, base_query) = split_query(base);
    let (path, path_query) = split_query(path);
    let base = base.trim_end_matches('/');
    let mut url = String::from(base);
    url.push_str(rest_of(dialect, base, path));
    let queries = [base_query, path_query].into_iter().filter(|query| !query.is_empty());
    for (index, query) in queries.enumerate() {
        url.push(if index == 0 { '?' } else { '&' });
        url.push_str(query);
    }
    url
}

fn split_query(address: &str) -> (&str, &str) {
    address.split_once('?').unwrap_or((address, ""))
}

/// The part of the path that the base address does not have yet.
fn rest_of<'p>(dialect: Dialect, base: &str, path: &'p str) -> &'p str {
    let (root, endpoint) = root_and_endpoint(path);
    let base_path = base.split_once("://").map_or(base, |(_, rest)| rest);
    let base_path = base_path.split_once('/').map_or("", |(_, path)| path);
    if !base_path.is_empty() && base.ends_with(endpoint) {
        return "";
    }
    let has_root = match dialect {
        // SDKs of this family take any path as the full root: Azure deployments, `…/openai`.
        Dialect::OpenAiChat | Dialect::OpenAiResponses => !base_path.is_empty(),
        Dialect::Anthropic | Dialect::Gemini => {
            base_path.rsplit('/').next().is_some_and(is_version)
        }
        Dialect::Ollama => base.ends_with(root),
    };
    if has_root { endpoint } else { path }
}

/// `/v1/chat/completions` -> `/v1` and `/chat/completions`.
fn root_and_endpoint(path: &str) -> (&str, &str) {
    let end = path.char_indices().skip(1).find(|(_, c)| *c == '/').map_or(path.len(), |(at, _)| at);
    path.split_at(end)
}

/// `v1`, `v4`, `v1beta`.
fn is_version(segment: &str) -> bool {
    let rest = segment.strip_prefix('v').unwrap_or_default();
    rest.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_writing_a_base_arrives_at_the_endpoint() {
        let messages = "/v1/messages";
        let chat = "/v1/chat/completions";
        let gemini = "/v1beta/models/g:streamGenerateContent?alt=sse";
        for (dialect, base, path, wanted) in [
            (Dialect::Anthropic, "http://127.0.0.1:9", messages, "http://127.0.0.1:9/v1/messages"),
            (Dialect::Anthropic, "https://a.com/v1/", messages, "https://a.com/v1/messages"),
            (
                Dialect::Anthropic,
                "https://g.com/anthropic",
                messages,
                "https://g.com/anthropic/v1/messages",
            ),
            (
                Dialect::Anthropic,
                "https://a.com/v1/messages",
                messages,
                "https://a.com/v1/messages",
            ),
            (
                Dialect::OpenAiChat,
                "http://127.0.0.1:9/",
                chat,
                "http://127.0.0.1:9/v1/chat/completions",
            ),
            (
                Dialect::OpenAiChat,
                "https://a.com/openai/v1",
                chat,
                "https://a.com/openai/v1/chat/completions",
            ),
            (
                Dialect::OpenAiChat,
                "https://a.com/paas/v4",
                chat,
                "https://a.com/paas/v4/chat/completions",
            ),
            (
                Dialect::OpenAiChat,
                "https://g.com/v1beta/openai/",
                chat,
                "https://g.com/v1beta/openai/chat/completions",
            ),
            (
                Dialect::OpenAiChat,
                "https://a.com/chat/completions",
                chat,
                "https://a.com/chat/completions",
            ),
            (
                Dialect::OpenAiChat,
                "https://x.com/openai/deployments/d?api-version=2024-10-21",
                chat,
                "https://x.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
            ),
            (
                Dialect::OpenAiResponses,
                "https://a.com/v1",
                "/v1/responses",
                "https://a.com/v1/responses",
            ),
            (
                Dialect::Gemini,
                "https://g.com",
                gemini,
                "https://g.com/v1beta/models/g:streamGenerateContent?alt=sse",
            ),
            (
                Dialect::Gemini,
                "https://g.com/v1?key=k",
                gemini,
                "https://g.com/v1/models/g:streamGenerateContent?key=k&alt=sse",
            ),
            (
                Dialect::Ollama,
                "http://localhost:11434",
                "/api/chat",
                "http://localhost:11434/api/chat",
            ),
            (
                Dialect::Ollama,
                "http://localhost:11434/api",
                "/api/chat",
                "http://localhost:11434/api/chat",
            ),
        ] {
            assert_eq!(url(dialect, base, path), wanted);
        }
    }
}

//! Token counts: from a provider's own bookkeeping to numbers that compare.

use machine_spec::model::Usage;

/// The machine's numbers from counts in which the cache is part of the input and reasoning
/// usually part of the output, as OpenAI began it. `total` helps to tell where it is not.
pub(crate) fn comparable(own: Usage, total: Option<u64>) -> Usage {
    let cached = own.cache_read.unwrap_or(0).saturating_add(own.cache_write.unwrap_or(0));
    // More from the cache than there was input: this vendor counts the cache apart already
    // (azure-ai/ruby_llm-chat-streaming-responses-azure-grok-4-1-fast-non-reasoni).
    let input = own.input.map(|input| input.checked_sub(cached).unwrap_or(input));
    let thought = own.reasoning.unwrap_or(0);
    let output = own.output.map(|output| {
        let apart = thought > output || counts_apart(own, thought, total);
        if apart { output.saturating_add(thought) } else { output }
    });
    Usage { input, output, ..own }
}

/// xAI counts reasoning outside of the output; its total shows it
/// (xai/fantasy-xai-grok-code-fast-simple-streaming).
fn counts_apart(own: Usage, thought: u64, total: Option<u64>) -> bool {
    let sum = [own.input, own.output, Some(thought)]
        .into_iter()
        .try_fold(0u64, |sum, count| sum.checked_add(count?));
    thought > 0 && sum.is_some() && sum == total
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: u64, output: u64, cache_read: u64, reasoning: u64) -> Usage {
        Usage {
            input: Some(input),
            output: Some(output),
            cache_read: Some(cache_read),
            cache_write: None,
            reasoning: Some(reasoning),
        }
    }

    #[test]
    fn the_cache_leaves_the_input() {
        assert_eq!(comparable(usage(100, 5, 60, 0), None), usage(40, 5, 60, 0));
        assert_eq!(comparable(usage(7, 8, 161, 0), Some(15)), usage(7, 8, 161, 0));
    }

    #[test]
    fn reasoning_joins_the_output_where_it_is_not_in_it() {
        assert_eq!(comparable(usage(10, 50, 0, 20), Some(60)), usage(10, 50, 0, 20));
        assert_eq!(comparable(usage(10, 50, 0, 20), Some(80)), usage(10, 70, 0, 20));
        assert_eq!(comparable(usage(10, 5, 0, 20), None), usage(10, 25, 0, 20));
        assert_eq!(comparable(usage(u64::MAX, 5, 0, 2), Some(6)), usage(u64::MAX, 5, 0, 2));
    }
}

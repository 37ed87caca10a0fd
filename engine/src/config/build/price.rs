//! What a candidate costs: from the configuration, else from the catalogue, else not known.

use machine_spec::config::{LongPrice, Price};
use wire::catalogue::{self, PriceSource};

use super::Build;
use crate::config::file::{ProviderTable, Rates};
use crate::error::Code;

impl Build<'_> {
    /// What a token costs, and who says so. A price that is not known stays so: it is never
    /// nothing.
    pub(super) fn price(
        &mut self,
        at: &str,
        table: &ProviderTable,
    ) -> (Option<Price>, PriceSource) {
        let Some(written) = table.price else {
            let facts = self.catalogue.find(&table.model);
            let known = facts.and_then(|facts| Some(of_catalogue(facts.price?, facts.over_200k)));
            let source =
                if known.is_some() { PriceSource::Catalogue } else { PriceSource::Unknown };
            return (known, source);
        };
        let [input, output, cache_read, cache_write] =
            self.rates(&format!("{at}.price"), &written.rates());
        let long = written.long.map(|long| {
            let [input, output, cache_read, cache_write] =
                self.rates(&format!("{at}.price.long"), &long.rates());
            LongPrice { above: long.above, input, output, cache_read, cache_write }
        });
        (Some(Price { input, output, cache_read, cache_write, long }), PriceSource::Explicit)
    }

    /// Input, output, cache read and written. What a cache costs is what input costs, where nothing
    /// else is said.
    fn rates(&mut self, at: &str, written: &Rates) -> [u64; 4] {
        let mut nanos = |key: &str, dollars: f64| {
            // A thousandth of a dollar for a million tokens is a billionth of a dollar for one.
            let nanos = (dollars * 1_000.0).ceil();
            if (0.0..=1e12).contains(&nanos) {
                return nanos as u64;
            }
            let message = format!("expected dollars for a million tokens, found {dollars}");
            self.problem(Code::ConfigValue, format!("{at}.{key}"), message);
            0
        };
        let (input, output) = (nanos("input", written.input), nanos("output", written.output));
        let cache_read = written.cache_read.map_or(input, |price| nanos("cache_read", price));
        let cache_write = written.cache_write.map_or(input, |price| nanos("cache_write", price));
        [input, output, cache_read, cache_write]
    }
}

/// Millionths of a dollar for a million tokens, as billionths for one, rounded up. What a cache costs
/// is what input costs, where nothing else is known.
fn of_catalogue(known: catalogue::Price, over_200k: Option<catalogue::Price>) -> Price {
    let rates = |known: catalogue::Price| {
        let (read, written) = (known.cache_read, known.cache_write);
        let (read, written) = (read.unwrap_or(known.input), written.unwrap_or(known.input));
        [known.input, known.output, read, written].map(|micros| micros.div_ceil(1_000))
    };
    let [input, output, cache_read, cache_write] = rates(known);
    let long = over_200k.map(|known| {
        let [input, output, cache_read, cache_write] = rates(known);
        LongPrice { above: catalogue::LONG_INPUT, input, output, cache_read, cache_write }
    });
    Price { input, output, cache_read, cache_write, long }
}

//! What a candidate costs: from the configuration, else from the catalogue, else not known.

use machine_spec::config::Price;
use wire::catalogue::{self, PriceSource};

use super::Build;
use crate::config::file::ProviderTable;
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
            let known = self.catalogue.find(&table.model).and_then(|facts| facts.price);
            let source =
                if known.is_some() { PriceSource::Catalogue } else { PriceSource::Unknown };
            return (known.map(of_catalogue), source);
        };
        let mut nanos = |key: &str, dollars: f64| {
            // A thousandth of a dollar for a million tokens is a billionth of a dollar for one.
            let nanos = (dollars * 1_000.0).ceil();
            if (0.0..=1e12).contains(&nanos) {
                return nanos as u64;
            }
            let message = format!("expected dollars for a million tokens, found {dollars}");
            self.problem(Code::ConfigValue, format!("{at}.price.{key}"), message);
            0
        };
        let (input, output) = (nanos("input", written.input), nanos("output", written.output));
        let cache_read = written.cache_read.map_or(input, |price| nanos("cache_read", price));
        let cache_write = written.cache_write.map_or(input, |price| nanos("cache_write", price));
        (Some(Price { input, output, cache_read, cache_write }), PriceSource::Explicit)
    }
}

/// Millionths of a dollar for a million tokens, as billionths for one, rounded up. What a cache costs
/// is what input costs, where nothing else is known.
fn of_catalogue(known: catalogue::Price) -> Price {
    let nanos = |micros: u64| micros.div_ceil(1_000);
    Price {
        input: nanos(known.input),
        output: nanos(known.output),
        cache_read: nanos(known.cache_read.unwrap_or(known.input)),
        cache_write: nanos(known.cache_write.unwrap_or(known.input)),
    }
}

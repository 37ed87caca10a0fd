//! Which required-tool rules the user's own words trigger.
//!
//! The patterns are matched here, at the edge, and the verdict is part of the input: the machine
//! never sees a pattern at work, and a replay needs no engine for regular expressions. Only what the
//! user says is ever matched; recalled memory, notifications and hook text trigger nothing.

use machine_spec::ids::RuleId;
use regex::Regex;

/// The patterns of the configuration, in its order.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    patterns: Vec<Regex>,
}

impl Rules {
    /// Rules with these patterns.
    #[must_use]
    pub(crate) fn new(patterns: Vec<Regex>) -> Rules {
        Rules { patterns }
    }

    /// The rules that these words trigger.
    #[must_use]
    pub fn triggered(&self, words: &str) -> Vec<RuleId> {
        let patterns = self.patterns.iter().enumerate();
        let hit = patterns.filter(|(_, pattern)| pattern.is_match(words));
        hit.map(|(at, _)| RuleId(u16::try_from(at).unwrap_or(u16::MAX))).collect()
    }
}

#[cfg(test)]
mod tests {
    use machine_spec::ids::RuleId;
    use regex::Regex;

    use super::Rules;

    #[test]
    fn every_matching_rule_is_triggered_in_order() {
        let pattern = |text| Regex::new(text).expect("a pattern");
        let rules = Rules::new(vec![pattern("(?i)report"), pattern("^x"), pattern("due$")]);
        assert_eq!(rules.triggered("The REPORT is due"), [RuleId(0), RuleId(2)]);
        assert_eq!(rules.triggered("nothing"), []);
    }
}

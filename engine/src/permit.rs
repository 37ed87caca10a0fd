//! Which calls may run, which need somebody's word, and which may not run at all.
//!
//! Rules read the tool and the arguments of a call, so they are judged here, at the edge; the verdict
//! is part of the input and of the recording. A rule that denies beats one that asks, and one that
//! asks beats one that allows, in whatever order they stand. Hooks are heard before the rules and
//! cannot lift them.

use machine_spec::model::Permission;
use serde::Deserialize;
use serde_json::Value;

use crate::assess::Condition;

/// What a rule says about a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ruling {
    /// It may run.
    #[default]
    Allow,
    /// Somebody must allow it first.
    Ask,
    /// It may not run.
    Deny,
}

/// The name of a tool, or a pattern of names: `*` stands for any text, `?` for any one character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolPattern {
    written: String,
}

impl ToolPattern {
    /// The pattern that is written so.
    #[must_use]
    pub fn new(written: &str) -> ToolPattern {
        ToolPattern { written: written.to_owned() }
    }

    /// Whether this tool is meant.
    #[must_use]
    pub fn means(&self, tool: &str) -> bool {
        let pattern: Vec<char> = self.written.chars().collect();
        let name: Vec<char> = tool.chars().collect();
        // Where the last star stands, and the first character that it does not stand for.
        let mut star = None;
        let (mut at, mut next) = (0, 0);
        while next < name.len() {
            match pattern.get(at) {
                Some('*') => {
                    star = Some((at, next));
                    at += 1;
                }
                Some(one) if *one == '?' || *one == name[next] => {
                    at += 1;
                    next += 1;
                }
                Some(_) | None => {
                    let Some((of, from)) = star else { return false };
                    star = Some((of, from + 1));
                    (at, next) = (of + 1, from + 1);
                }
            }
        }
        pattern[at..].iter().all(|rest| *rest == '*')
    }

    /// Whether it is a name and no pattern.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        !self.written.contains(['*', '?'])
    }
}

/// A rule about calls.
#[derive(Clone, Debug)]
pub struct Permit {
    /// Which tools.
    pub tool: ToolPattern,
    /// Which of their calls: those for which every condition holds.
    pub when: Vec<Condition>,
    /// What it says.
    pub ruling: Ruling,
    /// Why, for the model; may be empty.
    pub reason: String,
}

/// All rules about calls.
#[derive(Clone, Debug, Default)]
pub struct Permits {
    /// The rules; their order means nothing.
    pub rules: Vec<Permit>,
    /// The tools of this run, when not all.
    pub scope: Option<Vec<ToolPattern>>,
    /// What is said of a call that no rule speaks of.
    pub unruled: Ruling,
}

impl Permits {
    /// What the rules say about a call.
    #[must_use]
    pub fn judge(&self, tool: &str, args: &Value) -> Permission {
        if self.scope.as_ref().is_some_and(|scope| !scope.iter().any(|one| one.means(tool))) {
            return Permission::OutOfScope;
        }
        let speaks = |rule: &&Permit| {
            rule.tool.means(tool) && rule.when.iter().all(|condition| condition.holds(args))
        };
        let (mut asks, mut allows) = (false, false);
        for rule in self.rules.iter().filter(speaks) {
            match rule.ruling {
                Ruling::Deny => return Permission::Deny { reason: rule.reason.clone() },
                Ruling::Ask => asks = true,
                Ruling::Allow => allows = true,
            }
        }
        match (asks, allows, self.unruled) {
            (true, _, _) | (false, false, Ruling::Ask) => Permission::Ask,
            (false, false, Ruling::Deny) => {
                Permission::Deny { reason: "no rule allows this call".to_owned() }
            }
            (false, true, _) | (false, false, Ruling::Allow) => Permission::Allow,
        }
    }
}

#[cfg(test)]
mod tests {
    use machine_spec::model::Permission;
    use regex::Regex;
    use rstest::rstest;
    use serde_json::json;

    use super::{Permit, Permits, Ruling, ToolPattern};
    use crate::assess::Condition;

    fn rule(tool: &str, ruling: Ruling, cmd: Option<&str>) -> Permit {
        let condition = |pattern| {
            let matches = Regex::new(pattern).expect("a pattern");
            Condition { pointer: "/cmd".into(), matches }
        };
        let when = cmd.map(condition).into_iter().collect();
        Permit { tool: ToolPattern::new(tool), when, ruling, reason: format!("{tool} rule") }
    }

    fn denied(tool: &str) -> Permission {
        Permission::Deny { reason: format!("{tool} rule") }
    }

    #[rstest]
    #[case("*", "", true)]
    #[case("", "", true)]
    #[case("", "a", false)]
    #[case("a*c*e", "abcde", true)]
    #[case("a*c*e", "abcdeexe", true)]
    #[case("a*c*e", "abcdef", false)]
    #[case("*.read", "fs.read", true)]
    #[case("*.read", "fsxread", false)]
    #[case("??", "éa", true)]
    #[case("?", "", false)]
    #[case("read**", "read", true)]
    fn a_pattern_means_whole_names(#[case] written: &str, #[case] tool: &str, #[case] means: bool) {
        assert_eq!(ToolPattern::new(written).means(tool), means);
    }

    #[rstest]
    #[case::deny_beats_all("run", "rm x", denied("run"))]
    #[case::ask_beats_allow("run", "cat x", Permission::Ask)]
    #[case::allow("run_fast", "cat x", Permission::Allow)]
    #[case::a_pattern_is_the_whole_name("rerun", "rm x", Permission::Allow)]
    #[case::nobody_speaks("read", "rm x", Permission::Allow)]
    fn the_strictest_rule_wins(
        #[case] tool: &str,
        #[case] cmd: &str,
        #[case] permission: Permission,
    ) {
        let rules = vec![
            rule("run*", Ruling::Allow, None),
            rule("run", Ruling::Ask, None),
            rule("run", Ruling::Deny, Some("^rm ")),
        ];
        let mut permits = Permits { rules, ..Permits::default() };
        assert_eq!(permits.judge(tool, &json!({ "cmd": cmd })), permission);
        permits.rules.reverse();
        assert_eq!(permits.judge(tool, &json!({ "cmd": cmd })), permission);
    }

    #[test]
    fn what_no_rule_speaks_of_may_need_a_word() {
        let rules = vec![rule("read?", Ruling::Allow, None)];
        let mut permits = Permits { rules, unruled: Ruling::Ask, ..Permits::default() };
        assert_eq!(permits.judge("read1", &json!({})), Permission::Allow);
        assert_eq!(permits.judge("read", &json!({})), Permission::Ask);
        permits.unruled = Ruling::Deny;
        assert!(matches!(permits.judge("read", &json!({})), Permission::Deny { .. }));
    }

    #[test]
    fn a_condition_on_what_is_not_there_does_not_hold() {
        let rules = vec![rule("run", Ruling::Deny, Some(""))];
        let permits = Permits { rules, ..Permits::default() };
        assert_eq!(permits.judge("run", &json!({ "other": 1 })), Permission::Allow);
        assert_eq!(permits.judge("run", &json!({ "cmd": 7 })), denied("run"));
    }

    #[test]
    fn what_is_out_of_scope_is_not_ruled_upon() {
        let scope = Some(vec![ToolPattern::new("fs_*"), ToolPattern::new("a.b")]);
        let rules = vec![rule("*", Ruling::Deny, None)];
        let permits = Permits { rules, scope, ..Permits::default() };
        assert_eq!(permits.judge("fs_read", &json!({})), denied("*"));
        assert_eq!(permits.judge("a.b", &json!({})), denied("*"));
        assert_eq!(permits.judge("axb", &json!({})), Permission::OutOfScope);
    }
}

//! Plans are hostile: what cannot be played is refused with its place and the reason.

use replay::faults::{Fault, Placed, Seam};
use replay::scenario::{Answer, Library, PlanLimits, Scenario};
use replay::swarm::scenario_of;
use serde_json::{Value, json};

/// A plan with one answer of five events and nothing wrong.
fn plan() -> Scenario {
    let mut plan = scenario_of(3);
    plan.faults.clear();
    plan.answers = vec![Answer::text("hello"), Answer::stream("data: x\n\n")];
    plan
}

fn refused(change: impl FnOnce(&mut Value)) -> String {
    let mut plan = serde_json::to_value(plan()).expect("a plan is JSON");
    change(&mut plan);
    let text = serde_json::to_vec_pretty(&plan).expect("JSON");
    Scenario::read(&text).expect_err("a bad plan").to_string()
}

fn faults(faults: Value) -> String {
    refused(|plan| plan["faults"] = faults)
}

#[test]
fn unknown_words_are_refused_with_line_and_column() {
    for (text, words) in [
        (faults(json!([{"fault": "earthquake", "at": {"tool": 1}}])), "earthquake"),
        (faults(json!([{"fault": "crash_at", "at": {"moon": 1}}])), "moon"),
        (faults(json!([{"fault": "crash_at", "at": {"frame": -1}}])), "-1"),
        (faults(json!([{"fault": "crash_at", "at": {"frame": 1}, "often": 2}])), "often"),
        (refused(|plan| plan["weather"] = json!("bad")), "weather"),
        (refused(|plan| plan["answers"] = json!(7)), "7"),
    ] {
        assert!(text.starts_with("LW1301: line ") && text.contains(", column "), "{text}");
        assert!(text.contains(words), "{text}");
    }
    let torn = Scenario::read(b"{\"config\":").expect_err("torn").to_string();
    assert!(torn.starts_with("LW1301: line 1, column 10: EOF"), "{torn}");
}

#[test]
fn a_fault_strikes_at_its_own_kind_of_seam_and_within_range() {
    for (at, words) in [
        (json!([{"fault": "crash_at", "at": {"tool": 1}}]), "strikes at a frame, found a run"),
        (json!([{"fault": "tool_crash", "at": {"hook": 1}}]), "strikes at a run of a tool"),
        (json!([{"fault": "server_error", "at": {"answer": 0}}]), "expected 1 to 2, found 0"),
        (json!([{"fault": "server_error", "at": {"answer": 3}}]), "answer 3 is out of range"),
        (
            json!([{"fault": "stream_cut", "at": {"byte": {"answer": 2, "byte": 10}}}]),
            "expected 0 to 9, found 10",
        ),
        (
            json!([{"fault": "event_dropped", "at": {"event": {"answer": 1, "event": 9}}}]),
            "expected 1 to 4, found 9",
        ),
        (json!([{"fault": "tool_crash", "at": {"tool": 4_000_000_000_u32}}]), "out of range"),
        (json!([{"fault": "interrupt", "at": {"input": 4_000_000_000_u32}}]), "out of range"),
    ] {
        let text = faults(at);
        assert!(text.starts_with("LW1301: faults[0].at: ") && text.contains(words), "{text}");
    }
}

#[test]
fn huge_counts_are_refused() {
    let many: Vec<Value> =
        (1..=65).map(|n| json!({"fault": "interrupt", "at": {"input": n}})).collect();
    for (text, words) in [
        (faults(many.into()), "faults: expected at most 64, found 65"),
        (
            faults(json!([{"fault": "interrupt", "at": {"input": 1}, "times": 1001}])),
            "faults[0].times: expected 1 to 1000, found 1001",
        ),
        (
            faults(json!([{"fault": "interrupt", "at": {"input": 1}, "times": 0}])),
            "faults[0].times: expected 1 to 1000, found 0",
        ),
        (
            faults(json!([{"fault": {"tool_late": {"by_ms": u64::MAX}}, "at": {"tool": 1}}])),
            "faults[0].fault: expected at most",
        ),
        (refused(|plan| plan["most_inputs"] = json!(u64::MAX)), "most_inputs: expected 1 to"),
        (refused(|plan| plan["answers"][0]["after_ms"] = json!(u64::MAX)), "answers[0].after_ms"),
        (refused(|plan| plan["user"][0]["plus_ms"] = json!(u64::MAX)), "user[0].plus_ms"),
        (refused(|plan| plan["providers"] = json!([])), "providers: expected one for each"),
    ] {
        assert!(text.starts_with("LW1301: ") && text.contains(words), "{words}: {text}");
    }
    let long = vec![b' '; PlanLimits::BYTES + 1];
    let text = Scenario::read(&long).expect_err("too long").to_string();
    assert!(text.contains("expected at most 67108864 bytes"), "{text}");
}

#[test]
fn an_impossible_order_is_refused() {
    let mut plan = plan();
    let byte = |byte| Seam::Byte { answer: 2, byte };
    let cut = Placed::new(Fault::StreamCut, byte(3));
    plan.faults = vec![cut, Placed::new(Fault::ByteGarbled, byte(5))];
    let text = plan.validate(&Library::new()).expect_err("nothing comes behind a cut").to_string();
    let words = "LW1301: faults[1]: impossible order: byte_garbled at byte 5 of answer 2 cannot \
                 strike behind stream_cut at byte 3 of answer 2";
    assert_eq!(text, words);
    let crash = |frame| Placed::new(Fault::CrashAt, Seam::Frame(frame));
    plan.faults = vec![crash(9), crash(4)];
    let text = plan.validate(&Library::new()).expect_err("time goes on").to_string();
    assert!(text.contains("impossible order: crash_at at frame 4 stands behind"), "{text}");
    plan.faults = vec![crash(4), crash(4)];
    plan.validate(&Library::new()).expect_err("the same fault twice");
    plan.faults = vec![crash(4), crash(9)];
    plan.validate(&Library::new()).expect("a lawful order");
}

#[test]
fn any_bytes_are_read_or_refused_and_never_panic() {
    let text = serde_json::to_vec(&scenario_of(11)).expect("JSON");
    for at in (0..text.len()).step_by(7) {
        let mut broken = text.clone();
        broken[at] = b'9';
        let _ = Scenario::read(&broken);
        let _ = Scenario::read(&text[..at]);
    }
    for junk in [&b""[..], b"null", b"[]", b"\xff\xff", b"{}", b"\"\""] {
        Scenario::read(junk).expect_err("no plan");
    }
}

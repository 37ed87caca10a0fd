//! Fresh ids for a body that is served again, as a provider would give them.

use crate::scenario::{BodyPlan, Chunks};

/// Members whose texts are ids.
const MEMBERS: [&[u8]; 6] = [
    b"\"id\"",
    b"\"call_id\"",
    b"\"item_id\"",
    b"\"tool_use_id\"",
    b"\"response_id\"",
    b"\"responseId\"",
];

/// The body with `_n` behind every id, and its plan with the offsets that fit it.
pub(super) fn renewed(body: &[u8], plan: &BodyPlan, n: u32) -> (Vec<u8>, BodyPlan) {
    let suffix = format!("_{n}");
    let ends = id_ends(body);
    let mut renewed = Vec::with_capacity(body.len() + ends.len() * suffix.len());
    let mut from = 0;
    for end in &ends {
        renewed.extend_from_slice(&body[from..*end]);
        renewed.extend_from_slice(suffix.as_bytes());
        from = *end;
    }
    renewed.extend_from_slice(&body[from..]);
    let moved = |offset: u64| {
        let before = ends.iter().take_while(|end| (**end as u64) < offset).count();
        offset + (before * suffix.len()) as u64
    };
    let chunks = match &plan.chunks {
        Chunks::At(offsets) => Chunks::At(offsets.iter().copied().map(moved).collect()),
        other => other.clone(),
    };
    let pauses_ms = plan.pauses_ms.iter().map(|(at, ms)| (moved(*at), *ms)).collect();
    (renewed, BodyPlan { chunks, pauses_ms, end: plan.end, note: plan.note.clone() })
}

/// Where the ids of a body end, in order.
fn id_ends(body: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    for member in MEMBERS {
        for at in memchr::memmem::find_iter(body, member) {
            let value = at + member.len();
            let rest = &body[value..];
            let blank = rest.iter().take_while(|b| **b == b' ' || **b == b':').count();
            let Some(text) = rest[blank..].strip_prefix(b"\"") else { continue };
            let Some(length) = memchr::memchr2(b'"', b'\\', text) else { continue };
            if length > 0 && text[length] == b'"' {
                ends.push(value + blank + 1 + length);
            }
        }
    }
    ends.sort_unstable();
    ends
}

#[cfg(test)]
mod tests {
    use super::renewed;
    use crate::scenario::{BodyPlan, Chunks};

    #[test]
    fn ids_are_renewed_and_offsets_follow() {
        let body =
            br#"{"id":"msg_1","x":{"call_id": "c","id":null,"name":"id"},"t":"\"id\":\"no\""}"#;
        let chunks = Chunks::At(vec![3, 20, 40]);
        let plan = BodyPlan { chunks, pauses_ms: [(40, 7)].into(), ..BodyPlan::default() };
        let (body, plan) = renewed(body, &plan, 2);
        let text =
            r#"{"id":"msg_1_2","x":{"call_id": "c_2","id":null,"name":"id"},"t":"\"id\":\"no\""}"#;
        assert_eq!(String::from_utf8_lossy(&body), text);
        assert_eq!(plan.chunks, Chunks::At(vec![3, 22, 44]));
        assert_eq!(plan.pauses_ms, [(44, 7)].into());
    }
}

//! B002, B003, B010, B017: interrupts, and what becomes of calls.

use engine::Event;
use machine_spec::input::InterruptedBy;
use machine_spec::message::{GateRefusal, NotStarted, Outcome};
use machine_spec::model::StopReason;
use machine_spec::{RoomKind, Terminal};
use tests::processes::alive_in_group;
use tests::scene::{AnswerTable, Scene, Stage};

use super::act::{act, act_again, act_on, kind};

fn succeeded(output: &str) -> Outcome {
    Outcome::Succeeded { output: output.into() }
}

#[test]
fn b002_an_interrupt_closes_the_connection() {
    let acted = act("interrupted--in-the-middle-of-a-text");
    let seen = acted.stage.double("a").wait_for(|seen| seen.iter().all(|one| one.is_abandoned()));
    assert_eq!(seen.len(), 1);
    assert!(matches!(acted.end(), Terminal::Interrupted { .. }), "{:?}", acted.end());
    assert_eq!(acted.ended.history().len(), 1, "a half message is not in history");
    let shown = acted.place(|event| kind(event) == "text_delta");
    let void = acted.place(|event| kind(event) == "output_retracted");
    assert!(shown < void, "and what was shown of it is taken back");
}

/// The case as it stands: with a hook that always blocks, and a second turn.
#[test]
fn b002_no_stop_hook_is_asked_and_the_next_turn_begins_anew() {
    let mut scene = Scene::of_fixture("interrupted--in-the-middle-of-a-text");
    scene.config += "\n[[hook]]\nevent = \"Stop\"\ncwd = \".\"\n\
        command = [\"sh\", \"-c\", \"cat >>asked; echo >>asked; echo no >&2; exit 2\"]\n\
        [limits]\nstop_hook_blocks = 1\n";
    scene.doubles[0].answers = vec![AnswerTable::of("cases/B002-1.sse")];
    scene.doubles[0].always = Some(AnswerTable::of("cases/B001-1.sse"));
    let acted = act_on(Stage::set(scene));
    assert_eq!((acted.asked("a"), acted.stage.lines("asked").len()), (1, 0));
    let told: Vec<usize> = (0..acted.events.len())
        .filter(|n| matches!(acted.events[*n], Event::Interrupted))
        .collect();
    assert_eq!(told.len(), 1, "observers are told once, and cannot hold up the end");
    let (stage, history) = (acted.stage, acted.ended.history());
    let next = act_again(stage, "and now?", history);
    let asked = next.stage.lines("asked");
    let asked: Vec<&String> = asked.iter().filter(|line| !line.is_empty()).collect();
    assert!(asked[0].contains("\"stop_hook_reentries\":0"), "{}", asked[0]);
    assert!(matches!(next.end(), Terminal::StopHookLimit { .. }), "{:?}", next.end());
}

#[test]
fn b003_an_interrupt_tells_three_truths() {
    let first = act("interrupted--three-tools-in-three-states");
    let expected = Terminal::Interrupted {
        by: InterruptedBy::User,
        during: RoomKind::Batch,
        settled: 1,
        unknown: 1,
    };
    assert_eq!(first.end(), &expected);
    let unknown = Outcome::Unknown { output: "compiling\n".into() };
    let never = Outcome::NotStarted { why: NotStarted::Interrupted };
    assert_eq!(first.outcomes(), [succeeded("the text of a.txt\n"), unknown, never]);
    let group = first.stage.lines("pid").concat().parse().expect("the id of a process");
    let left = alive_in_group(group);
    assert!(left.is_empty(), "{left:?}");
    let (stage, history) = (first.stage, first.ended.history());
    let second = act_again(stage, "use the other branch", history);
    assert!(matches!(second.end(), Terminal::Answered { .. }), "{:?}", second.end());
    let lines = second.conversation("a", 1);
    let unknown = "interrupted while running; it may have had effects; output so far:";
    assert_eq!(
        lines,
        [
            "user: Check the three things.",
            "assistant: Checking three things.",
            r#"assistant calls toolu_t1 read_file {"path":"a.txt"}"#,
            r#"assistant calls toolu_t2 run_cmd {"cmd":"make build"}"#,
            r#"assistant calls toolu_t3 run_cmd {"cmd":"make test"}"#,
            "result toolu_t1: the text of a.txt\\n",
            &format!("error toolu_t2: {unknown}\\ncompiling\\n"),
            "error toolu_t3: not started: the run was interrupted before its turn came",
            "user: use the other branch",
        ]
    );
    assert!(!lines.concat().contains("reject"), "nobody rejected anything: {lines:?}");
}

#[test]
fn b010_a_tool_that_nobody_has_is_mended_twice() {
    let acted = act("malformed-tool-use--a-tool-nobody-has");
    assert_eq!(acted.asked("a"), 4, "the mixed round, the first mistake, two repairs");
    let started = acted.told(|event| match event {
        Event::ToolStarted { tool, .. } => Some(tool.clone()),
        _ => None,
    });
    assert_eq!(started, ["read_file"]);
    let outcomes = acted.outcomes();
    match &outcomes[0] {
        Outcome::Refused { why: GateRefusal::UnknownTool { nearest } } => {
            assert_eq!(nearest, &["read_file", "grep"]);
        }
        outcome => panic!("{outcome:?}"),
    }
    assert_eq!(outcomes[1], succeeded("text of a\n"));
    let told = acted.conversation("a", 1);
    assert!(told[3].starts_with("error toolu_u1: ") && told[3].contains("read_file"), "{told:#?}");
    assert!(told[4].starts_with("result toolu_v1: text of a"), "{told:#?}");
    let tool = "read_files".into();
    assert_eq!(acted.end(), &Terminal::MalformedToolUse { tool, repairs: 2 });
}

#[test]
fn b017_calls_count_more_than_the_word_for_the_end() {
    let acted = act("answered--calls-despite-stop");
    assert_eq!(acted.asked("a"), 2);
    assert_eq!(
        acted.conversation("a", 1),
        [
            "user: Which lists are there?",
            "assistant: Fetching three lists.",
            r#"assistant calls call_1 list {"kind":"a"}"#,
            r#"assistant calls call_2 list {"kind":"b"}"#,
            r#"assistant calls call_3 list {"kind":"c"}"#,
            "result call_1: 3 rows\\n",
            "result call_2: 3 rows\\n",
            "result call_3: 3 rows\\n",
        ]
    );
    let contradictions = acted.told(|event| match event {
        Event::Contradiction { stop, calls } => Some((*stop, *calls)),
        _ => None,
    });
    assert_eq!(contradictions, [(StopReason::EndOfTurn, 3)]);
    assert_eq!(acted.end().text(), Some("Three lists, 9 rows."));
}

#[test]
fn b017b_an_end_for_calls_without_a_call_is_an_empty_answer() {
    let acted = act("no-visible-output--tool-calls-without-a-call");
    assert_eq!(acted.asked("a"), 3, "the answer and two nudges");
    assert_eq!(acted.end(), &Terminal::NoVisibleOutput { thinking_only: false, nudges: 2 });
}

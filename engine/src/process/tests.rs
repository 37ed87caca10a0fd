use std::collections::BTreeMap;
use std::path::Path;

use tokio::sync::watch;

use super::{Capture, End, Leave, Order, Remains, run};

fn shell(script: &str) -> Vec<String> {
    ["sh", "-c", script].map(String::from).to_vec()
}

fn order(command: &[String]) -> Order<'_> {
    Order {
        command,
        env: BTreeMap::new(),
        hide: &[],
        cwd: None,
        stdin: Vec::new(),
        timeout_ms: 20_000,
        grace_ms: 5_000,
        stdout: Capture::halves(4096),
        stderr: Capture::tail(4096),
        prints_to: None,
    }
}

async fn run_freely(order: Order<'_>) -> Remains {
    let (_leave, leave) = watch::channel(Leave::GoOn);
    run(order, leave).await
}

/// Waits until the process has said it is up, by creating this file.
async fn is_up(sign: &Path) {
    while !sign.exists() {
        tokio::task::yield_now().await;
    }
}

/// Whether a member of the group is alive; zombies that only wait for init do not count.
fn group_lives(group: &str) -> bool {
    let ps = std::process::Command::new("ps")
        .args(["-eo", "pgid=,stat="])
        .output()
        .expect("ps lists processes");
    let lines = String::from_utf8_lossy(&ps.stdout).into_owned();
    lines.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some(group) && words.next().is_some_and(|stat| !stat.starts_with('Z'))
    })
}

#[tokio::test]
async fn output_errors_and_code_come_back() {
    let command = shell("cat; echo trouble >&2; exit 3");
    let mut order = order(&command);
    order.stdin = b"{\"a\":1}".to_vec();
    let remains = run_freely(order).await;
    assert_eq!(remains.end, End::Exited(3));
    assert_eq!(remains.stdout.text(), "{\"a\":1}");
    assert_eq!(remains.stderr.text(), "trouble\n");
}

#[tokio::test]
async fn a_process_that_does_not_listen_is_no_error() {
    let command = shell("exec <&-; echo done");
    let mut order = order(&command);
    order.stdin = vec![b'x'; 1 << 20];
    let remains = run_freely(order).await;
    assert_eq!((remains.end, remains.stdout.text()), (End::Exited(0), "done\n".into()));
}

#[tokio::test]
async fn a_missing_program_and_a_missing_folder_are_told_apart() {
    let command = vec!["loopwright-no-such-program".to_owned()];
    let End::NotStarted(problem) = run_freely(order(&command)).await.end else { panic!() };
    assert!(problem.contains("`loopwright-no-such-program`: no such program"), "{problem}");
    let command = shell("true");
    let mut order = order(&command);
    order.cwd = Some(Path::new("/loopwright-no-such-folder"));
    let End::NotStarted(problem) = run_freely(order).await.end else { panic!() };
    assert!(problem.contains("/loopwright-no-such-folder does not exist"), "{problem}");
}

#[tokio::test]
async fn variables_are_set_and_hidden() {
    let command = shell("echo \"$SHOWN/${HOME:-gone}\"");
    let mut order = order(&command);
    order.env.insert("SHOWN".into(), "yes".into());
    let hide = ["HOME".to_owned()];
    order.hide = &hide;
    assert_eq!(run_freely(order).await.stdout.text(), "yes/gone\n");
}

#[tokio::test]
async fn a_flood_is_read_to_its_end_in_bounded_memory() {
    // B035 (c): many bytes of a two-byte character in a single line.
    let command = shell("yes é | tr -d '\\n' | head -c 40000001");
    let remains = run_freely(order(&command)).await;
    assert_eq!(remains.end, End::Exited(0));
    assert_eq!(remains.stdout.total(), 40_000_001);
    let text = remains.stdout.text();
    assert!(text.contains("of 40000001 bytes left out]"), "{text}");
    assert!(text.starts_with("ééé") && text.len() < 5_000);
}

#[tokio::test]
async fn a_process_that_never_ends_is_stopped_at_its_limit() {
    let command = shell("echo begun; while :; do :; done");
    let mut order = order(&command);
    order.timeout_ms = 100;
    let remains = run_freely(order).await;
    assert_eq!((remains.end, remains.stdout.text()), (End::TimedOut, "begun\n".into()));
}

#[tokio::test]
async fn a_stop_ends_the_whole_group() {
    // B035 (a).
    let dir = tempfile::tempdir().expect("a folder");
    let sign = dir.path().join("up");
    let command = shell("echo $$; sleep 300 & sleep 300 & : > \"$SIGN\"; wait");
    let mut order = order(&command);
    order.env.insert("SIGN".into(), sign.display().to_string());
    let (leave, receiver) = watch::channel(Leave::GoOn);
    let (remains, ()) = tokio::join!(run(order, receiver), async {
        is_up(&sign).await;
        leave.send_replace(Leave::Stop);
    });
    assert_eq!(remains.end, End::Stopped);
    let group = remains.stdout.text();
    assert!(!group_lives(group.trim()), "the group of {group} lives on");
}

#[tokio::test]
async fn what_ignores_the_request_is_killed() {
    // B035 (b).
    let dir = tempfile::tempdir().expect("a folder");
    let sign = dir.path().join("up");
    let command =
        shell("trap '' TERM; echo $$; sh -c 'trap \"\" TERM; : > \"$SIGN\"; sleep 300'; sleep 300");
    let mut order = order(&command);
    order.env.insert("SIGN".into(), sign.display().to_string());
    order.grace_ms = 50;
    let (leave, receiver) = watch::channel(Leave::GoOn);
    let (remains, ()) = tokio::join!(run(order, receiver), async {
        is_up(&sign).await;
        leave.send_replace(Leave::Stop);
    });
    assert_eq!(remains.end, End::Stopped);
    let group = remains.stdout.text();
    assert!(!group_lives(group.trim()), "the group of {group} lives on");
}

#[tokio::test]
async fn a_kill_does_not_wait_for_the_grace() {
    let dir = tempfile::tempdir().expect("a folder");
    let sign = dir.path().join("up");
    let command = shell("trap '' TERM; : > \"$SIGN\"; while :; do sleep 300; done");
    let mut order = order(&command);
    order.env.insert("SIGN".into(), sign.display().to_string());
    order.grace_ms = 600_000;
    let (leave, receiver) = watch::channel(Leave::GoOn);
    let (remains, ()) = tokio::join!(run(order, receiver), async {
        is_up(&sign).await;
        leave.send_replace(Leave::Kill);
    });
    assert_eq!(remains.end, End::Stopped);
}

#[tokio::test]
async fn children_that_hold_the_pipes_do_not_hold_us() {
    let command = shell("echo $$; sleep 300 & exit 0");
    let remains = run_freely(order(&command)).await;
    assert_eq!(remains.end, End::Exited(0));
    let group = remains.stdout.text();
    assert!(!group_lives(group.trim()), "the group of {group} lives on");
}

#[tokio::test]
async fn a_foreign_signal_is_told() {
    let command = shell("kill -9 $$");
    assert_eq!(run_freely(order(&command)).await.end, End::Signalled(9));
}

#[tokio::test]
async fn what_is_printed_to_a_file_comes_back_in_bounded_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let paper = folder.path().join("tasks/out");
    let command = shell("echo begun; echo trouble >&2; yes line | head -n 100000; echo over");
    let order = Order { prints_to: Some(&paper), ..order(&command) };
    let remains = run_freely(order).await;
    assert_eq!(remains.end, End::Exited(0));
    let told = remains.stdout.text();
    assert!(told.starts_with("begun\ntrouble\nline\n") && told.ends_with("line\nover\n"), "{told}");
    assert!(told.len() < 4_200, "{}", told.len());
    assert!(!paper.exists(), "the file has served its purpose");
}

#[tokio::test]
async fn a_process_that_is_let_go_runs_on_and_keeps_its_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let (paper, sign) = (folder.path().join("out"), folder.path().join("up"));
    let script =
        format!("echo $$; : > {}; while :; do echo more; sleep 0.01; done", sign.display());
    let command = shell(&script);
    let (leave, receiver) = watch::channel(Leave::GoOn);
    let order = Order { prints_to: Some(&paper), ..order(&command) };
    let letting_go = async {
        is_up(&sign).await;
        leave.send_replace(Leave::Alone);
    };
    let (remains, ()) = tokio::join!(run(order, receiver), letting_go);
    assert_eq!(remains.end, End::LetGo);
    drop(leave);
    let said = || std::fs::read_to_string(&paper).expect("the file is still there");
    let (group, before) = (said().lines().next().expect("an id").to_owned(), said().len());
    while said().len() <= before {
        tokio::task::yield_now().await;
    }
    assert!(group_lives(&group));
    let killed =
        std::process::Command::new("kill").args(["-KILL", "--", &format!("-{group}")]).status();
    assert!(killed.expect("kill runs").success());
}

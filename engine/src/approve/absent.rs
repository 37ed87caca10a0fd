//! What is decided when nobody is there: always the same, as the configuration says.

use std::fs::{OpenOptions, create_dir_all};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::{Answer, ApprovalRules, Approver, Standing, Wanted, Word};

/// Where calls are listed when no file is named.
const DEFAULT_QUEUE: &str = ".loopwright/approvals.jsonl";

/// Nobody is there.
#[derive(Clone, Debug)]
pub struct Absent {
    standing: Standing,
    queue: PathBuf,
}

impl Absent {
    /// Nobody is there, and this is what was said before.
    #[must_use]
    pub fn with(rules: &ApprovalRules) -> Absent {
        let queue = rules.queue.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_QUEUE));
        Absent { standing: rules.absent, queue }
    }
}

impl Approver for Absent {
    fn decide<'a>(&'a self, wanted: &'a Wanted) -> Answer<'a> {
        let word = match self.standing {
            Standing::Deny => Word::Nothing(None),
            Standing::Allow => Word::Yes,
            Standing::Defer => Word::Later,
            Standing::Queue => match list(&self.queue, wanted) {
                Ok(ticket) => Word::Queued(ticket),
                Err(error) => {
                    let queue = self.queue.display();
                    Word::Nothing(Some(format!("cannot list the call in {queue}: {error}")))
                }
            },
        };
        Box::pin(std::future::ready(word))
    }
}

/// Puts a call on the list and gives its place: a line of the file names it.
fn list(queue: &Path, wanted: &Wanted) -> std::io::Result<String> {
    let ticket = format!("{}:{}", wanted.session, wanted.call);
    let line = json!({
        "ticket": ticket,
        "tool": wanted.tool,
        "args": wanted.args,
        "reason": wanted.reason,
        "lineage": wanted.lineage,
    });
    if let Some(folder) = queue.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        create_dir_all(folder)?;
    }
    let mut file = OpenOptions::new().create(true).append(true).open(queue)?;
    // One write, so that lines of several runs do not mix.
    file.write_all(format!("{line}\n").as_bytes())?;
    Ok(ticket)
}

#[cfg(test)]
mod tests {
    use machine_spec::ids::CallId;

    use super::super::{ApprovalRules, Approver, Standing, Wanted, Word};
    use super::Absent;

    fn wanted() -> Wanted {
        Wanted {
            session: "s1".into(),
            call: CallId(7),
            tool: "deploy".into(),
            args: r#"{"to":"prod"}"#.into(),
            reason: "it costs".into(),
            lineage: vec!["main".into()],
        }
    }

    #[tokio::test]
    async fn a_queued_call_has_a_place_on_a_list() {
        let folder = tempfile::tempdir().expect("a folder");
        let queue = folder.path().join("new/queue.jsonl");
        let rules =
            ApprovalRules { absent: Standing::Queue, timeout_ms: 1, queue: Some(queue.clone()) };
        let absent = Absent::with(&rules);
        let ticket = Word::Queued("s1:call-7".into());
        assert_eq!(absent.decide(&wanted()).await, ticket);
        assert_eq!(absent.decide(&wanted()).await, ticket);
        let listed = std::fs::read_to_string(&queue).expect("the list");
        let line = r#"{"args":"{\"to\":\"prod\"}","lineage":["main"],"reason":"it costs","ticket":"s1:call-7","tool":"deploy"}"#;
        assert_eq!(listed, format!("{line}\n{line}\n"));
        let rules = ApprovalRules { queue: Some(folder.path().to_owned()), ..rules };
        let word = Absent::with(&rules).decide(&wanted()).await;
        assert!(matches!(word, Word::Nothing(Some(_))), "{word:?}");
    }

    #[tokio::test]
    async fn everything_else_was_said_before() {
        for (absent, word) in [
            (Standing::Deny, Word::Nothing(None)),
            (Standing::Allow, Word::Yes),
            (Standing::Defer, Word::Later),
        ] {
            let rules = ApprovalRules { absent, timeout_ms: 1, queue: None };
            assert_eq!(Absent::with(&rules).decide(&wanted()).await, word);
        }
    }
}

//! Asks a person at the terminal: the question on standard error, the answer from standard input.
//!
//! What was typed before the question stood there is no answer to it. Whatever a model, a hook or a
//! tool may have put into the question is shown without anything that a terminal would obey.

use std::fmt;
use std::io::{self, BufRead, Write};

use machine_spec::input::GrantScope;
use nix::sys::termios::{FlushArg, tcflush};
use tokio::sync::Mutex;
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::{Answer, Approver, Wanted, Word};

const CHOICES: &str = "[y] yes  [a] always this very call  [t] always this tool  \
                       [e] edit the arguments  [n] no  [l] later, in another run";

/// A person at the terminal of this process.
#[derive(Debug)]
pub struct Terminal {
    dialogue: Mutex<Dialogue>,
}

struct Dialogue {
    lines: Lines,
    out: Box<dyn Write + Send>,
}

impl fmt::Debug for Dialogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dialogue").finish_non_exhaustive()
    }
}

/// What a person types, line by line; nobody reads it before it is wanted.
struct Lines(Option<UnboundedReceiver<String>>);

impl Terminal {
    /// The terminal of this process. It is not read before the first question.
    #[must_use]
    pub fn of_this_process() -> Terminal {
        Terminal::over(Lines(None), Box::new(io::stderr()))
    }

    fn over(lines: Lines, out: Box<dyn Write + Send>) -> Terminal {
        Terminal { dialogue: Mutex::new(Dialogue { lines, out }) }
    }
}

impl Approver for Terminal {
    fn decide<'a>(&'a self, wanted: &'a Wanted) -> Answer<'a> {
        Box::pin(async move {
            let mut dialogue = self.dialogue.lock().await;
            let mut asking = Asking { dialogue: &mut dialogue, answered: false };
            let word = asking.ask(wanted).await;
            asking.answered = true;
            word.unwrap_or_else(|error| {
                Word::Nothing(Some(format!("cannot ask at the terminal: {error}")))
            })
        })
    }
}

/// A question that stands on the terminal. One that is withdrawn says so.
struct Asking<'a> {
    dialogue: &'a mut Dialogue,
    answered: bool,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        if !self.answered {
            // Nobody is left who could be told that this failed.
            let _ = writeln!(self.dialogue.out, "\n(the question is withdrawn)");
        }
    }
}

impl Asking<'_> {
    async fn ask(&mut self, wanted: &Wanted) -> io::Result<Word> {
        self.dialogue.forget_what_was_typed();
        self.dialogue.put(wanted)?;
        loop {
            let Some(line) = self.dialogue.line("> ").await? else {
                return Ok(Word::Nothing(None));
            };
            let word = match line.trim().to_lowercase().as_str() {
                "y" | "yes" => Some(Word::Yes),
                "a" | "always" => Some(Word::Always(GrantScope::Call)),
                "t" | "tool" => Some(Word::Always(GrantScope::Tool)),
                "n" | "no" => {
                    let why = self.dialogue.line("why? (may be left empty) > ").await?;
                    Some(Word::No(why.unwrap_or_default().trim().to_owned()))
                }
                "l" | "later" => Some(Word::Later),
                "e" | "edit" => self.edit().await?,
                _ => None,
            };
            if let Some(word) = word {
                return Ok(word);
            }
            writeln!(self.dialogue.out, "{CHOICES}")?;
        }
    }

    /// Other arguments, unless the person thinks better of it.
    async fn edit(&mut self) -> io::Result<Option<Word>> {
        let prompt = "the arguments as one line of JSON (empty to go back) > ";
        let line = self.dialogue.line(prompt).await?.unwrap_or_default();
        let line = line.trim();
        if line.is_empty() {
            return Ok(None);
        }
        if let Err(error) = serde_json::from_str::<serde_json::Map<_, serde_json::Value>>(line) {
            writeln!(self.dialogue.out, "that is no JSON object: {error}")?;
            return Ok(None);
        }
        Ok(Some(Word::Edit(line.to_owned())))
    }
}

impl Dialogue {
    fn put(&mut self, wanted: &Wanted) -> io::Result<()> {
        let Wanted { tool, args, reason, lineage, .. } = wanted;
        let mut question = format!("\nMay {} run?", shown(tool));
        if !lineage.is_empty() {
            question += &format!(" (asked by {})", shown(&lineage.join(" > ")));
        }
        question += &format!("\n{}\n", indented(args));
        if !reason.is_empty() {
            question += &format!("  because:\n{}\n", indented(reason));
        }
        writeln!(self.out, "{question}{CHOICES}")
    }

    /// The next line that is typed; nothing when no more will come.
    async fn line(&mut self, prompt: &str) -> io::Result<Option<String>> {
        write!(self.out, "{prompt}")?;
        self.out.flush()?;
        Ok(self.lines.reader().recv().await)
    }

    fn forget_what_was_typed(&mut self) {
        let reader = self.lines.reader();
        loop {
            match reader.try_recv() {
                Ok(_) => {}
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => return,
            }
        }
    }
}

impl Lines {
    fn reader(&mut self) -> &mut UnboundedReceiver<String> {
        self.0.get_or_insert_with(|| {
            // What stands in the terminal's own line already; a pipe has none.
            let _ = tcflush(io::stdin(), FlushArg::TCIFLUSH);
            let (tx, rx) = unbounded_channel();
            // A thread of its own: nothing can take a reader away from a terminal, and a run does
            // not wait for one. It ends with its input or with the process.
            std::thread::spawn(move || {
                for line in io::stdin().lock().lines().map_while(Result::ok) {
                    if tx.send(line).is_err() {
                        return;
                    }
                }
            });
            rx
        })
    }
}

/// A text for a terminal: every character that could move, colour or reorder what is shown stands
/// there by its number.
fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for one in text.chars() {
        let reorders = matches!(one, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if one.is_control() || reorders {
            shown += &format!("\\u{{{:x}}}", u32::from(one));
        } else {
            shown.push(one);
        }
    }
    shown
}

/// Each line of it indented, so that none looks like ours.
fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("    {}", shown(line))).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use machine_spec::ids::CallId;
    use machine_spec::input::GrantScope;
    use rstest::rstest;
    use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

    use super::super::{Approver, Wanted, Word};
    use super::{Lines, Terminal, shown};

    #[derive(Clone, Default)]
    struct Screen(Arc<Mutex<Vec<u8>>>);

    impl Write for Screen {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("nobody panics").write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl Screen {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().expect("nobody panics").clone()).expect("text")
        }
    }

    fn terminal() -> (Terminal, UnboundedSender<String>, Screen) {
        let (tx, rx) = unbounded_channel();
        let screen = Screen::default();
        (Terminal::over(Lines(Some(rx)), Box::new(screen.clone())), tx, screen)
    }

    fn wanted() -> Wanted {
        Wanted {
            session: "s".into(),
            call: CallId(1),
            tool: "run".into(),
            args: "{\"cmd\":\"drop table t\"}".into(),
            reason: "a hook\n\u{1b}[2Jasks".into(),
            lineage: vec!["main".into(), "helper".into()],
        }
    }

    /// The word of somebody who types these lines once the question stands there.
    async fn typed(lines: &[&str]) -> (Word, String) {
        let (terminal, keys, screen) = terminal();
        keys.send("y".into()).expect("a terminal");
        let answer = tokio::spawn(async move { terminal.decide(&wanted()).await });
        while !screen.text().ends_with("> ") {
            tokio::task::yield_now().await;
        }
        for line in lines {
            keys.send((*line).to_owned()).expect("a terminal");
        }
        drop(keys);
        (answer.await.expect("an answer"), screen.text())
    }

    #[rstest]
    #[case(&["y"], Word::Yes)]
    #[case(&[" Yes "], Word::Yes)]
    #[case(&["a"], Word::Always(GrantScope::Call))]
    #[case(&["t"], Word::Always(GrantScope::Tool))]
    #[case(&["n", "use the staging db"], Word::No("use the staging db".into()))]
    #[case(&["n", ""], Word::No(String::new()))]
    #[case(&["n"], Word::No(String::new()))]
    #[case(&["l"], Word::Later)]
    #[case(&["hm", "", "y"], Word::Yes)]
    #[case(&["e", "{\"cmd\":\"ls\"}"], Word::Edit("{\"cmd\":\"ls\"}".into()))]
    #[case(&["e", "[1]", "e", "", "n", "no"], Word::No("no".into()))]
    #[case(&[], Word::Nothing(None))]
    #[tokio::test]
    async fn every_answer_is_a_word(#[case] lines: &[&str], #[case] word: Word) {
        // What was typed before the question is a `y` in all of them.
        assert_eq!(typed(lines).await.0, word);
    }

    #[tokio::test]
    async fn the_question_shows_what_would_run() {
        let (_, screen) = typed(&["y"]).await;
        insta::assert_snapshot!(screen, @r#"

        May run run? (asked by main > helper)
            {"cmd":"drop table t"}
          because:
            a hook
            \u{1b}[2Jasks
        [y] yes  [a] always this very call  [t] always this tool  [e] edit the arguments  [n] no  [l] later, in another run
        >
        "#);
    }

    #[tokio::test]
    async fn a_withdrawn_question_says_so() {
        let (terminal, _keys, screen) = terminal();
        let answer = tokio::spawn(async move { terminal.decide(&wanted()).await });
        while !screen.text().ends_with("> ") {
            tokio::task::yield_now().await;
        }
        answer.abort();
        assert!(answer.await.is_err());
        assert!(screen.text().ends_with("(the question is withdrawn)\n"), "{}", screen.text());
    }

    #[test]
    fn nothing_in_a_question_moves_the_cursor() {
        assert_eq!(
            shown("a\r\u{1b}[2K\u{9b}\u{202e}é\u{7f}"),
            r"a\u{d}\u{1b}[2K\u{9b}\u{202e}é\u{7f}"
        );
    }
}

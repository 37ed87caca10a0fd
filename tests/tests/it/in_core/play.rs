//! A scenario of `replay`, put together as the cases tell it, and played to its end.

use std::sync::LazyLock;

use machine_spec::RunConfig;
use machine_spec::config::{Candidate, HookSpec, Rule, ToolSpec};
use machine_spec::ids::RuleId;
use machine_spec::input::{Compaction, Decision, HookAnswer, ToolStatus};
use machine_spec::model::{Permission, Safety};
use machine_spec::policy::Compactor;
use replay::reader::Recording;
use replay::scenario::{
    Act, After, Afterwards, Answer, Approval, HookPlan, Library, ProviderPlan, Scenario, ToolPlan,
    ToolRun, UserAct,
};
use replay::sink::MemorySink;
use replay::world::{Playing, Trouble, World};
use tests::house;
use wire::{Dialect, EncodeOptions};

use super::played::Played;

/// Our wire files.
static LIBRARY: LazyLock<Library> = LazyLock::new(|| {
    Library::load(&house::wire_file("cases")).expect("our own wire files are sound")
});

/// A play that is being set up.
pub(crate) struct Play {
    scenario: Scenario,
    playing: Playing,
}

/// A run of a tool that takes so long and says this.
pub(crate) fn says(ms: u64, output: &str) -> ToolRun {
    ToolRun { delay_ms: ms, ..ToolRun::says(output) }
}

/// A summary that a model makes of a head.
pub(crate) fn summary(words: &str) -> Compaction {
    Compaction::Summarised { text: words.into(), archive: String::new() }
}

/// A wire file in which this text is another one.
pub(crate) fn with_text(file: &str, old: &str, new: &str) -> Answer {
    let path = house::wire_file("cases").join(file);
    let text = std::fs::read_to_string(path).expect("a wire file");
    assert!(text.contains(old), "{file} has no {old}");
    Answer::stream(text.replace(old, new))
}

/// A run of a tool that fails.
pub(crate) fn fails(ms: u64, output: &str) -> ToolRun {
    ToolRun { status: ToolStatus::Failed, ..says(ms, output) }
}

impl Play {
    /// A play with one provider: the n-th request is answered with the n-th file.
    pub(crate) fn with(dialect: Dialect, files: &[&str]) -> Play {
        Play::answered(dialect, files.iter().map(|file| Answer::file(file)).collect())
    }

    /// A play whose answers stand in no file as they are.
    pub(crate) fn answered(dialect: Dialect, answers: Vec<Answer>) -> Play {
        let words = "Write the report.";
        let mut scenario = Scenario::new(RunConfig::default(), dialect, words);
        scenario.answers = answers;
        let playing = Playing { judge: true, ..Playing::default() };
        Play { scenario, playing }.then(dialect)
    }

    /// The last answer is the answer to all further requests.
    pub(crate) fn for_ever(mut self) -> Play {
        self.scenario.afterwards = Afterwards::LastAgain;
        self
    }

    /// A further provider of the fallback chain.
    pub(crate) fn then(mut self, dialect: Dialect) -> Play {
        let n = self.scenario.providers.len() + 1;
        let (name, model) = (format!("p{n}"), format!("model-test-{n}"));
        let candidate =
            Candidate { name, model, context_window: 0, max_output: 0, ..Candidate::default() };
        self.scenario.config.candidates.push(candidate);
        self.scenario.providers.push(ProviderPlan { dialect, options: EncodeOptions::default() });
        self
    }

    /// A tool that may overlap with others and leaves no trace.
    pub(crate) fn reads(self, name: &str, runs: &[ToolRun]) -> Play {
        self.tool(name, Safety::Concurrent, runs)
    }

    /// A tool with effects.
    pub(crate) fn acts(self, name: &str, runs: &[ToolRun]) -> Play {
        self.tool(name, Safety::Exclusive, runs)
    }

    fn tool(mut self, name: &str, safety: Safety, runs: &[ToolRun]) -> Play {
        self.scenario.config.tools.push(ToolSpec {
            name: name.into(),
            description: String::new(),
            input_schema: r#"{"type":"object"}"#.into(),
            read_only: safety == Safety::Concurrent,
            ..ToolSpec::default()
        });
        let plan = ToolPlan { safety, runs: runs.to_vec(), ..ToolPlan::default() };
        self.scenario.tools.insert(name.into(), plan);
        self
    }

    /// A stop hook that always answers so.
    pub(crate) fn hook(mut self, answer: HookAnswer) -> Play {
        self.scenario.config.stop_hooks.push(HookSpec::new("stop.sh"));
        self.scenario.hooks.push(HookPlan {
            answers: vec![answer],
            delay_ms: 1,
            ..HookPlan::default()
        });
        self
    }

    /// What the permission rules say about the calls of a tool.
    pub(crate) fn permits(mut self, tool: &str, permission: Permission) -> Play {
        self.scenario.tools.entry(tool.into()).or_default().permission = permission;
        self
    }

    /// The n-th question about a call is answered with the n-th of these, after so long.
    pub(crate) fn decides(mut self, decisions: Vec<(u64, Decision)>) -> Play {
        let approval = |(delay_ms, decision)| Approval { decision, delay_ms };
        self.scenario.approvals = decisions.into_iter().map(approval).collect();
        self
    }

    /// A hook that is asked about every call and answers so, time after time.
    pub(crate) fn tool_hook(mut self, answers: &[HookAnswer]) -> Play {
        self.scenario.config.tool_hooks.push(HookSpec::new("check.sh"));
        self.scenario.hooks.push(HookPlan {
            answers: answers.to_vec(),
            delay_ms: 1,
            ..HookPlan::default()
        });
        self
    }

    /// A required tool; the words of the user match its rule.
    pub(crate) fn requires(mut self, tool: &str) -> Play {
        self.scenario.config.rules.push(Rule::new("(?i)report", &[tool]));
        if let Act::Says { rules, .. } = &mut self.scenario.user[0].act {
            rules.push(RuleId(0));
        }
        self
    }

    /// What the user says.
    pub(crate) fn says(mut self, words: &str) -> Play {
        self.scenario.user[0] = UserAct::says(words);
        self
    }

    /// The user says this too, so long after something happened.
    pub(crate) fn says_later(mut self, words: &str, after: After, plus_ms: u64) -> Play {
        self.scenario.user.push(UserAct::says(words).after(after, plus_ms));
        self
    }

    /// The n-th compaction by a model comes to the n-th of these.
    pub(crate) fn compacts(mut self, compactions: &[Compaction]) -> Play {
        self.scenario.config.policy.compact = Compactor::Model;
        self.scenario.compactions = compactions.to_vec();
        self
    }

    /// How long the next byte of a stream is waited for.
    pub(crate) fn idle_ms(mut self, ms: u64) -> Play {
        self.scenario.patience.idle_ms = ms;
        self
    }

    /// The user interrupts when something has happened.
    pub(crate) fn interrupted(mut self, after: After, plus_ms: u64) -> Play {
        self.scenario.user.push(UserAct::interrupts(after).after(after, plus_ms));
        self
    }

    /// The user interrupts at this time.
    pub(crate) fn interrupted_at(self, ms: u64) -> Play {
        self.interrupted(After::Start, ms)
    }

    /// The times of tools are stretched and shrunk by chance.
    pub(crate) fn seeded(mut self, seed: u64) -> Play {
        self.playing.tool_times = Some(seed);
        self
    }

    /// Calls that a model wrote into its text are recovered.
    pub(crate) fn recovers(mut self) -> Play {
        for plan in &mut self.scenario.providers {
            plan.options.recover_text_calls = true;
        }
        self
    }

    /// They are not, and the model is told.
    pub(crate) fn tells(mut self) -> Play {
        for plan in &mut self.scenario.providers {
            plan.options.tell_text_calls = true;
        }
        self
    }

    /// Other settings.
    pub(crate) fn set(mut self, change: impl FnOnce(&mut RunConfig)) -> Play {
        change(&mut self.scenario.config);
        self
    }

    /// What is left of it when its process dies after so many frames.
    pub(crate) fn killed_after(self, frames: u64) -> Recording {
        let dies = Playing { kill_after: Some(frames), ..self.playing };
        let run = World::new(&self.scenario, &LIBRARY, dies, MemorySink::default()).play();
        assert_eq!(run.trouble, Some(Trouble::Killed), "{frames} frames");
        run.recording().expect("it is sound")
    }

    /// Plays it until so many frames are written, and takes it up again from what was recorded.
    pub(crate) fn run_killed_after(self, frames: u64) -> Played {
        let dialects = self.scenario.providers.iter().map(|plan| plan.dialect).collect();
        let dies = Playing { kill_after: Some(frames), ..self.playing.clone() };
        let first = World::new(&self.scenario, &LIBRARY, dies, MemorySink::default()).play();
        assert_eq!(first.trouble, Some(Trouble::Killed), "{frames} frames");
        let acts = if frames == 1 { self.scenario.user.clone() } else { Vec::new() };
        let world = World::resume(&self.scenario, &LIBRARY, self.playing, first.sink, acts);
        let mut run = world.expect("it is sound").play();
        assert!(run.trouble.is_none(), "{frames}: {}", run.trouble.expect("there is some"));
        run.executions.splice(0..0, first.executions);
        run.requests.splice(0..0, first.requests);
        Played::judged(run, dialects)
    }

    /// Plays it to its end and judges what must hold of every play.
    pub(crate) fn run(self) -> Played {
        let dialects = self.scenario.providers.iter().map(|plan| plan.dialect).collect();
        let sink = MemorySink::default();
        let run = World::new(&self.scenario, &LIBRARY, self.playing, sink).play();
        assert!(run.trouble.is_none(), "{}", run.trouble.expect("there is some"));
        Played::judged(run, dialects)
    }
}

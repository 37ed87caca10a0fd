use std::path::Path;

use machine_spec::config::{FailMode, LongPrice, Price};
use rstest::rstest;
use secrecy::ExposeSecret;
use wire::catalogue::WindowSource;
use wire::{BadUtf8, DecodeLimits, Dialect};

use super::{Overrides, process_environment};
use crate::credentials::KeySource;
use crate::setup::{Auth, Setup};

const WHOLE: &str = r#"
system = "be brief"
force_tool = "append_log"

[[provider]]
name = "a"
dialect = "anthropic"
model = "claude-test-1"
base_url = "http://127.0.0.1:9000"
api_key_env = "TEST_KEY"
context_window = 200000
max_output = 8000
temperature = 0.5
leave_out = ["tool_choice", "cache_marks"]
decode_limits = { blocks = 12, bad_utf8 = "replace" }
headers = { x-team = "house" }
extra = { metadata = { user_id = "u" } }
idle_timeout_ms = 800

[[provider]]
dialect = "openai-chat"
model = "gpt-test-1"

[[tool]]
name = "append_log"
description = "appends one line"
command = ["./append_log.sh", "x"]
input_schema = { type = "object", required = ["line"] }
concurrency_safe = false
timeout_ms = 60000

[[tool]]
name = "run"
command = ["sh"]
safe_when = [{ pointer = "/cmd", matches = "^(ls|cat) " }]
read_only = true
env = { LANG = "C" }
cwd = "work"

[[hook]]
event = "Stop"
command = ["./stop.sh"]
timeout_ms = 60000

[[require]]
when = "(?i)report"
tools = ["append_log"]

[limits]
tool_rounds = 3
stop_hook_blocks = 2

[policy]
preset = "switch-first"
early_start = "off"
"#;

fn environment(name: &str) -> Option<String> {
    let value = match name {
        "TEST_KEY" => " key-of-a \n",
        "OPENAI_API_KEY" => "key-of-b",
        "OPENAI_BASE_URL" => "http://127.0.0.1:9001/v1",
        _ => return None,
    };
    Some(value.to_owned())
}

fn parse(text: &str) -> Result<Setup, super::ConfigError> {
    Setup::parse(text, Path::new("house/run.toml"), &Overrides::default(), &environment)
}

fn refused(text: &str) -> String {
    parse(text).expect_err("the configuration is refused").to_string()
}

#[test]
fn every_name_reaches_its_place() {
    let setup = parse(WHOLE).expect("a sound configuration");
    let machine = &setup.machine;
    assert_eq!((machine.system.as_str(), machine.force_tool.as_str()), ("be brief", "append_log"));
    assert_eq!((machine.limits.tool_rounds, machine.limits.stop_hook_blocks), (3, 2));
    assert_eq!(machine.limits.http_retries, 4, "what is not said keeps its default");
    assert_eq!(machine.policy.preset.word(), "switch-first");
    assert_eq!(machine.policy.early_start.word(), "off");
    assert_eq!(machine.candidates[0].max_output, 8000);
    assert_eq!(machine.candidates[1].name, "openai-chat");
    assert_eq!(machine.stop_hooks[0].name, "stop.sh");
    assert_eq!(machine.rules[0].tools, ["append_log"]);
    assert_eq!(machine.tools[0].input_schema, r#"{"required":["line"],"type":"object"}"#);
    assert!(machine.tools[1].read_only);
    let first = &setup.providers[0];
    assert_eq!(first.patience.idle_ms, 800);
    assert_eq!((first.options.max_tokens, first.options.temperature), (None, Some(0.5)));
    let left_out: Vec<&str> = first.options.degraded.iter().map(|one| one.word()).collect();
    assert_eq!(left_out, ["tool_choice", "cache_marks"]);
    let limits = DecodeLimits { blocks: 12, bad_utf8: BadUtf8::Replace, ..DecodeLimits::default() };
    assert_eq!(first.options.decode_limits, limits);
    assert!(setup.providers[1].options.decode_limits.are_default());
    assert_eq!(first.options.extra["metadata"]["user_id"], "u");
    assert!(first.headers.contains_key("x-team"));
    assert!(matches!(&first.auth, Auth::ApiKey(key) if key.expose_secret() == "key-of-a"));
    let second = &setup.providers[1];
    assert!(matches!(&second.auth, Auth::Bearer(key) if key.expose_secret() == "key-of-b"));
    assert_eq!(second.base_url.as_str(), "http://127.0.0.1:9001/v1");
    let tool = &setup.tools["append_log"];
    assert!(tool.command[0].ends_with("/house/append_log.sh"), "{:?}", tool.command);
    assert_eq!(tool.command[1], "x");
    assert_eq!(setup.tools["run"].command, ["sh"]);
    assert_eq!(setup.tools["run"].cwd.as_deref(), Some(Path::new("house/work")));
    assert!(["TEST_KEY", "OPENAI_API_KEY"].iter().all(|key| setup.hidden.iter().any(|h| h == key)));
}

#[test]
fn the_reference_is_a_configuration_and_names_every_key() {
    let setup = parse(super::REFERENCE).expect("the reference is sound");
    assert_eq!(setup.machine.limits, machine_spec::limits::Limits::default());
    assert_eq!(setup.machine.policy, machine_spec::policy::Policy::default());
    // A key that is not there is named by the refusal of a wrong one.
    let written = [
        "",
        "[[provider]]",
        "[[tool]]",
        "[[agent]]",
        "[memory]",
        "[[permission]]",
        "[scope]",
        "[[hook]]",
        "[[require]]",
        "[policy]",
    ];
    for table in written {
        let told = refused(&format!("{table}\nno_such_key = 1\n"));
        let keys = told.split("expected").nth(1).expect("the keys are told");
        for key in keys.split('`').skip(1).step_by(2) {
            let tables =
                "provider tool agent memory permission scope hook require limits policy".split(' ');
            let tables: Vec<&str> = tables.collect();
            let named = match tables.contains(&key) {
                true => super::REFERENCE.contains(&format!("[{key}]")),
                false => super::REFERENCE.contains(&format!("{key} = ")),
            };
            assert!(named, "`{key}` of `{table}` is not in the reference");
        }
    }
}

#[test]
fn what_the_front_page_shows_is_a_configuration() {
    let page = include_str!("../../../README.md");
    let blocks = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut shown = 0;
    for block in blocks {
        let mut text = block.to_owned();
        if !text.contains("[[provider]]") {
            text += "\n[[provider]]\ndialect = \"ollama\"\nmodel = \"m\"\n";
        }
        for tool in ["run", "run_tests", "deploy"] {
            text += &format!("\n[[tool]]\nname = \"{tool}\"\ncommand = [\"x\"]\n");
        }
        let environment = |name: &str| (name == "ANTHROPIC_API_KEY").then(|| "key".to_owned());
        let path = Path::new("loopwright.toml");
        let read = Setup::parse(&text, path, &Overrides::default(), &environment);
        read.unwrap_or_else(|error| panic!("{error}\n{text}"));
        shown += 1;
    }
    assert!(shown >= 2, "{shown} configurations");
}

#[test]
fn no_secret_shows_in_a_debug_print() {
    let setup = parse(&WHOLE.replace("//127", "//user:pass-word@127")).expect("sound");
    let shown = format!("{setup:?}");
    assert!(!shown.contains("key-of-a") && !shown.contains("house\""), "{shown}");
    assert!(setup.redactor().finds(b"a pass-word"));
    assert!(setup.redactor().finds(b"a key-of-b"));
}

#[test]
fn a_token_of_anthropic_is_a_bearer() {
    let only = |name: &str| (name == "ANTHROPIC_AUTH_TOKEN").then(|| "token-1".to_owned());
    let overrides = Overrides {
        dialect: Some(Dialect::Anthropic),
        model: Some("m".into()),
        ..Overrides::default()
    };
    let setup = Setup::without_file(&overrides, &only).expect("a key is there");
    assert!(matches!(setup.providers[0].auth, Auth::Bearer(_)));
    assert_eq!(setup.providers[0].base_url.host_str(), Some("api.anthropic.com"));
}

#[test]
fn flags_go_before_the_first_provider_of_the_file() {
    let overrides = Overrides {
        model: Some("other".into()),
        base_url: Some("http://127.0.0.1:1".into()),
        system: Some("be long".into()),
        ..Overrides::default()
    };
    let setup =
        Setup::parse(WHOLE, Path::new("run.toml"), &overrides, &environment).expect("sound");
    assert_eq!(setup.machine.candidates[0].model, "other");
    assert_eq!(setup.machine.candidates[1].model, "gpt-test-1");
    assert_eq!(setup.providers[0].base_url.port(), Some(1));
    assert_eq!(setup.machine.system, "be long");
}

#[test]
fn nothing_at_all_is_told_to_be_nothing() {
    let error = Setup::without_file(&Overrides::default(), &process_environment);
    let told = "LW2006 provider: no provider: give a [[provider]] with `dialect` and `model` in the \
                configuration, or both on the command line";
    assert_eq!(error.expect_err("nothing is configured").to_string(), told);
}

#[test]
fn a_missing_file_is_named() {
    let path = Path::new("no/such/loopwright.toml");
    let error = Setup::load(path, &Overrides::default(), &environment);
    let told = "LW2001 no/such/loopwright.toml: cannot read it: there is no such file";
    assert_eq!(error.expect_err("no such file").to_string(), told);
}

#[rstest]
#[case::open_string(
    "system = \"x\n[limits]",
    "LW2002 house/run.toml:1:12: invalid basic string, expected `\"`"
)]
#[case::unknown_policy(
    "[policy]\npreset = \"balanced\"\nearly = 4\n",
    "LW2002 house/run.toml:3:1: unknown field `early`, expected one of `preset`, `early_start`, "
)]
#[case::unknown_key(
    "\nsytem = \"x\"\n",
    "LW2002 house/run.toml:2:1: unknown field `sytem`, expected one of `system`, `system_file`, "
)]
#[case::unknown_dialect(
    "[[provider]]\ndialect = \"anthropics\"\nmodel = \"m\"\n",
    "LW2002 house/run.toml:2:11: unknown variant `anthropics`, expected one of \
     `anthropic`, `openai-chat`, `openai-responses`, `gemini`, `ollama`"
)]
#[case::missing_key(
    "[[provider]]\ndialect = \"anthropic\"\n",
    "LW2002 house/run.toml:1:1: missing field `model`"
)]
#[case::unknown_event(
    "[[hook]]\nevent = \"Stopp\"\ncommand = [\"x\"]\n",
    "LW2002 house/run.toml:2:9: unknown variant `Stopp`, expected one of \
     `Stop`, `PreToolUse`, `PostToolBatch`, `PreCompact`"
)]
#[case::negative(
    "[limits]\n  tool_rounds = -1\n",
    "LW2002 house/run.toml:2:17: invalid value: integer `-1`, expected u32"
)]
#[case::wrong_type(
    "é = 1",
    "LW2002 house/run.toml:1:1: invalid unquoted key, expected letters, numbers, \
     `-`, `_`"
)]
fn broken_toml_is_told_with_its_place(#[case] text: &str, #[case] told: &str) {
    let refused = refused(text);
    // How the list of keys goes on is the affair of the reference.
    let whole = if told.ends_with(", ") { refused.starts_with(told) } else { refused == told };
    assert!(whole, "{refused}");
}

#[test]
fn every_wrong_value_is_told_at_its_place() {
    let text = r#"
[[provider]]
dialect = "anthropic"
model = "m"
base_url = "ftp://user:secret@host/path?key=secret"
api_key_env = "NO_SUCH_KEY"
idle_timeout_ms = 0

[[provider]]
dialect = "gemini"
model = "m"
headers = { "bad name" = "x" }

[[tool]]
name = "t"
command = []
input_schema = { type = "objekt" }

[[tool]]
name = "u"
command = ["u"]
concurrency_safe = true
safe_when = [{ pointer = "cmd", matches = "(" }]
max_output_bytes = 99999999

[[require]]
when = "(?i"
tools = ["t"]
"#;
    insta::assert_snapshot!("wrong-values", refused(text));
}

#[test]
fn a_guard_that_would_guard_nothing_is_told() {
    let text = r#"
approval_timeout_ms = 0

[[provider]]
dialect = "ollama"
model = "m"
price = { input = -1.0, output = 2.0 }

[[tool]]
name = "t"
command = ["t"]

[[permission]]
tool = "tt"
verdict = "deny"
reason = "no"

[[permission]]
tool = "t*"
when = [{ pointer = "cmd", matches = "(" }]
verdict = "ask"
reason = "no"

[scope]
tools = ["t", "u"]

[[hook]]
event = "Stop"
command = ["x"]
matcher = "t"
on_failure = "closed"

[[hook]]
event = "PreToolUse"
command = ["x"]
matcher = "t)|("
"#;
    insta::assert_snapshot!("guards-of-nothing", refused(text));
}

#[test]
fn hooks_stand_in_the_order_of_the_machine() {
    let text = r#"
[[provider]]
dialect = "ollama"
model = "m"

[[hook]]
event = "PreCompact"
name = "compact"
command = ["x"]

[[hook]]
event = "PreToolUse"
name = "tool-2"
command = ["x"]
matcher = "run"
on_failure = "closed"

[[hook]]
event = "PostToolBatch"
name = "batch"
command = ["x"]

[[hook]]
event = "PreToolUse"
name = "tool-1"
command = ["x"]
matcher = "*"

[[hook]]
event = "Stop"
name = "stop"
command = ["x"]
"#;
    let setup = parse(text).expect("sound");
    let ours: Vec<&str> = setup.hooks.iter().map(|hook| hook.name.as_str()).collect();
    assert_eq!(ours, ["stop", "tool-2", "tool-1", "batch", "compact"]);
    let theirs: Vec<&str> = setup.machine.hooks().map(|(_, _, hook)| hook.name.as_str()).collect();
    assert_eq!(theirs, ours);
    let matcher = |at: usize| setup.hooks[at].matcher.as_ref().map(regex::Regex::as_str);
    assert_eq!((matcher(1), matcher(2)), (Some("^(?:run)$"), None));
    assert_eq!(setup.machine.tool_hooks[0].on_failure, FailMode::Closed);
}

#[test]
fn a_window_is_given_or_known_or_guessed_and_says_which() {
    let window = |model: &str, lines: &str| {
        let provider =
            format!("[[provider]]\ndialect = \"ollama\"\nmodel = \"{model}\"\n{lines}\n");
        let setup = parse(&provider).expect("sound");
        (setup.machine.candidates[0].context_window, setup.providers[0].window_from)
    };
    let known = "claude-3-5-haiku-20241022";
    assert_eq!(window(known, "context_window = 9000"), (9_000, WindowSource::Explicit));
    assert_eq!(window(known, "context_window = 0"), (0, WindowSource::Explicit), "no limit");
    assert_eq!(window(known, ""), (200_000, WindowSource::Catalogue));
    assert_eq!(window("claude-test-1", ""), (200_000, WindowSource::NamePattern));
    assert_eq!(window("m", ""), (64_000, WindowSource::Assumed));
    let guess = window("m", "max_output = 64000");
    assert_eq!(guess, (256_000, WindowSource::Assumed), "a guess leaves room for the answer");
}

#[test]
fn a_price_is_given_or_known_or_not_known() {
    let priced = |line: &str, model: &str| {
        let provider = format!("[[provider]]\ndialect = \"ollama\"\nmodel = \"{model}\"\n{line}\n");
        parse(&provider).expect("sound").machine.candidates[0].price
    };
    let given = "price = { input = 3, output = 15.0, cache_read = 0.3 }";
    let price =
        Price { input: 3_000, output: 15_000, cache_read: 300, cache_write: 3_000, long: None };
    assert_eq!(priced(given, "m"), Some(price));
    assert_eq!(priced("", "m"), None);
    let given =
        "price = { input = 3, output = 15, long = { above = 200000, input = 6, output = 22.5 } }";
    let long = LongPrice {
        above: 200_000,
        input: 6_000,
        output: 22_500,
        cache_read: 6_000,
        cache_write: 6_000,
    };
    assert_eq!(priced(given, "m").and_then(|price| price.long), Some(long));
    let known = wire::catalogue::Catalogue::vendored();
    let listed = known.find("claude-sonnet-4-5").and_then(|facts| facts.price);
    let listed = listed.expect("the catalogue knows it");
    assert_eq!(
        priced("", "claude-sonnet-4-5").map(|price| price.input),
        Some(listed.input / 1_000)
    );
    // Some models have a second price for long input, and it counts in budgets and reports alike.
    let long = known.find("gemini-2.5-pro").and_then(|facts| facts.over_200k);
    let price = priced("", "gemini-2.5-pro").and_then(|price| price.long);
    assert_eq!(price.map(|price| price.input), long.map(|long| long.input / 1_000));
    assert!(price.is_some_and(|price| price.above == 200_000), "{price:?}");
}

#[test]
fn what_does_not_fit_together_is_told_in_the_words_of_the_file() {
    let text = r#"
force_tool = "nobody"

[[provider]]
name = "a"
dialect = "ollama"
model = "m"
context_window = 4000
max_output = 4000

[[provider]]
name = "a"
dialect = "ollama"
model = "m"

[[tool]]
name = "t"
command = ["t"]

[[tool]]
name = "t"
command = ["t"]

[[require]]
when = "x"
tools = ["t", "u"]

[[require]]
when = "y"
tools = []

[limits]
tool_rounds = 1
parallel_tools = 0
"#;
    insta::assert_snapshot!("what-does-not-fit", refused(text));
}

const PROVIDER: &str = r#"
[[provider]]
name = "a"
dialect = "anthropic"
model = "m"
base_url = "http://127.0.0.1:9"
"#;

#[test]
fn agents_tasks_memory_and_shapes_reach_their_places() {
    let text = format!(
        r#"
output_schema = {{ type = "object", required = ["n"] }}
store_dir = "kept"
{PROVIDER}
api_key_command = ["./key.sh", "a"]

[[tool]]
name = "build"
command = ["make"]
background = true

[[agent]]
name = "scout"
tools = ["build", "scout"]
model = "m"
limits = {{ tool_rounds = 2 }}
background = true

[memory]
dir = "m"

[limits]
http_retries = 1
tool_rounds = 9
"#
    );
    let setup = parse(&text).unwrap_or_else(|error| panic!("{error}"));
    let kinds: Vec<&str> = setup.machine.tools.iter().map(|tool| tool.kind.word()).collect();
    assert_eq!(kinds, ["task", "child_task"]);
    assert_eq!(setup.tools["build"].timeout_ms, 86_400_000);
    let agent = &setup.agents["scout"];
    assert_eq!(agent.chain, ["a/m"]);
    assert_eq!((agent.limits.tool_rounds, agent.limits.http_retries), (2, 1));
    assert_eq!(setup.machine.output_schema, r#"{"required":["n"],"type":"object"}"#);
    assert!(setup.shape.is_some() && setup.memory.is_some());
    assert_eq!(setup.store_dir.as_deref(), Some(Path::new("house/kept")));
    let provider = &setup.providers[0];
    let KeySource::Command(command) = &provider.key else { panic!("{:?}", provider.key) };
    assert!(command[0].ends_with("/house/key.sh"), "{command:?}");
    assert!(setup.machine.candidates[0].refreshable);
}

#[rstest]
#[case::two_keys(
    "api_key_env = \"TEST_KEY\"\napi_key_file = \"k\"",
    "provider[0].api_key_env: give one of"
)]
#[case::no_file(
    "api_key_file = \"no-such-key\"",
    "provider[0].api_key_file: no key in house/no-such-key"
)]
#[case::no_tool(
    "[[agent]]\nname = \"x\"\ntools = [\"y\"]",
    "agent[0].tools[0]: there is no tool named `y`"
)]
#[case::no_provider(
    "[[agent]]\nname = \"x\"\nprovider = \"y\"",
    "agent[0].provider: no [[provider]] is called `y`"
)]
#[case::no_limit(
    "[[agent]]\nname = \"x\"\nlimits = { turns = 1 }",
    "agent[0].limits.turns: there is no limit called `turns`"
)]
#[case::odd_limit(
    "[[agent]]\nname = \"x\"\nlimits = { tasks = \"1\" }",
    "agent[0].limits.tasks: expected a number"
)]
#[case::no_memory(
    "[policy]\nrecall = true",
    "memory: `policy.recall` and `policy.flush` need a memory"
)]
fn what_does_not_work_is_told(#[case] more: &str, #[case] told: &str) {
    let key = if more.starts_with("api_key") { "" } else { "api_key_env = \"\"" };
    let refused = refused(&format!("{PROVIDER}{key}\n{more}\n"));
    assert!(refused.contains(told), "{refused}");
}

#[test]
fn a_schema_that_is_none_is_told() {
    let refused =
        refused(&format!("output_schema = {{ type = 3 }}\n{PROVIDER}api_key_env = \"\"\n"));
    assert!(refused.contains("output_schema: not a JSON Schema"), "{refused}");
    let both =
        format!("output_schema = {{}}\noutput_schema_file = \"x\"\n{PROVIDER}api_key_env = \"\"\n");
    assert!(self::refused(&both).contains("not both"));
}

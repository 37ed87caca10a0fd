//! The judgement: from a provider's words to an [`ErrorClass`].
//!
//! The tables hold lower-case fragments. A fragment stands in the table of the class it proves; the
//! order of the tables is the order of certainty, and the HTTP status is asked last.

use machine_spec::model::ErrorClass;

use super::told::{Form, Told};

/// Longest wait after which a used-up quota is still treated as a throttle, in milliseconds.
const SOON_MS: u64 = 600_000;

/// The output limit that was asked for is too large: mending the parameter helps, compacting the
/// prompt does not (B025-7).
const OUTPUT_PARAMETER: &[&str] = &[
    "maximum allowed number of output tokens",
    "max_tokens is too large",
    "max_completion_tokens is too large",
    "'max_completion_tokens' is too large",
    "maximum output tokens",
];

/// The prompt is longer than the window, as codes.
const OVERFLOW_CODES: &[&str] = &[
    "context_length_exceeded",
    "exceed_context_size_error",
    "too_many_prompt_tokens",
    "context_window_exceeded",
    "model_context_window_exceeded",
    "contextwindowexceedederror",
    "tokens_limit_reached",
    "max_context_length_exceeded",
];

/// The prompt is longer than the window, as texts. Every element is a set of fragments that must
/// all be there.
const OVERFLOW_TEXTS: &[&[&str]] = &[
    &["prompt is too long"],
    &["prompt too long"],
    &["input is too long for requested model"],
    &["maximum context length"],
    &["max context length"],
    &["exceed", "context window"],
    &["exceed", "context limit"],
    &["exceed", "context length"],
    &["exceed", "context size"],
    &["greater than the context length"],
    &["configured context size", "tokens"],
    &["input token count", "exceeds"],
    &["prompt token count", "exceeds"],
    &["too large for model", "maximum context"],
    &["maximum prompt length"],
    &["exceeded model token limit"],
    &["range of input length should be"],
    &["total number of tokens in the prompt cannot exceed"],
    &["inputs` tokens + `max_new_tokens` must be <="],
    &["total length of all messages is too long"],
    &["prompt exceeds max length"],
    &["reduce the length of the messages"],
    &["too many input tokens"],
    // One request that is larger than a whole minute's allowance: no wait makes it fit.
    &["request too large", "tokens per min", "requested"],
];

/// The account must be paid.
const BILLING: &[&str] = &[
    "billing_hard_limit_reached",
    "billing_not_active",
    "billing_error",
    "credit balance is too low",
    "insufficient balance",
    "insufficient credits",
    "insufficient_balance",
    "requires more credits",
    "payment required",
    "requires billing to be enabled",
    "account is not active, please check your billing",
];

/// A limit that waiting does not lift soon, whatever else is said.
const QUOTA_HARD: &[&str] = &[
    "insufficient_quota",
    "usage_limit_reached",
    "usage_not_included",
    "exceeded_current_quota_error",
    "reached your specified api usage limits",
    "key limit exceeded",
    "monthly spend",
    "spend limit",
    "spending limit",
    "spending cap",
];

/// A limit that lasts, unless the server asks for a short wait or counts by the minute.
const QUOTA_SOFT: &[&str] = &[
    "exceeded your current quota",
    "per day",
    "per-day",
    "perday",
    "daily limit",
    "daily quota",
    "per month",
    "monthly limit",
    "weekly limit",
    "usage limit",
];

/// The key is missing, wrong or not allowed.
const AUTH: &[&str] = &[
    "authentication_error",
    "invalid_api_key",
    "invalid api key",
    "incorrect api key",
    "api key is invalid",
    "api key not valid",
    "api_key_invalid",
    "permission_error",
    "unauthenticated",
    "expired_api_key",
];

/// The input was refused by a content policy.
const CONTENT: &[&str] = &[
    "content_filter",
    "content_policy_violation",
    "content management policy",
    "content filtering policy",
    "responsibleaipolicyviolation",
    "data_inspection_failed",
    "moderation_blocked",
    "requires moderation",
    "invalid prompt: your prompt was flagged",
    "usage policies",
];

/// The endpoint does not know the model.
const MODEL_CODES: &[&str] = &[
    "model_not_found",
    "invalid_model",
    "deploymentnotfound",
    "model_not_available",
    "unknown_model",
    "model_not_supported",
];

/// Likewise, as texts; every element is a set of fragments.
const MODEL_TEXTS: &[&[&str]] = &[
    &["model", "does not exist"],
    &["model", "is not found for api version"],
    &["model", "not found, try pulling it first"],
    &["publisher model", "not found"],
    &["is not a valid model"],
    &["invalid model:"],
    &["supported api model names are"],
    &["not a chat model"],
    &["no endpoints found for"],
    &["model", "has been deprecated"],
    &["not_found_error", "model:"],
    &["unknown model"],
];

/// The endpoint does not know a parameter.
const PARAM: &[&[&str]] = &[
    &["unsupported_parameter"],
    &["unknown_parameter"],
    &["unsupported parameter"],
    &["unknown parameter"],
    &["unrecognized request argument"],
    &["unsupported field"],
    &["unknown field"],
    &["unknown name", "cannot find field"],
    &["extra inputs are not permitted"],
    &["extra_forbidden"],
    &["tool_choice", "not support"],
    &["web search options not supported"],
    &["include", "encrypted content is not supported"],
    &["unsupported value", "'temperature'"],
    &["does not support parameters"],
];

const OVERLOADED: &[&str] = &[
    "overloaded",
    "server_is_overloaded",
    "slow_down",
    "serviceunavailable",
    "service_unavailable",
    "unavailable_error",
    "capacity exceeded",
    "model is loading",
    "loading model",
    "currently loading",
    "over capacity",
];

const THROTTLED: &[&str] = &[
    "rate_limit",
    "rate limit",
    "ratelimit",
    "rate-limited",
    "too many requests",
    "too_many_requests",
    "throttlingexception",
    "resource_exhausted",
    "request rate",
];

const SERVER: &[&str] = &[
    "server_error",
    "internal_error",
    "internal server error",
    "internalserver",
    "api_error",
    // Ollama: the process that runs the model died.
    "llama runner process",
    "error was encountered while running the model",
];

const TIMED_OUT: &[&str] = &["timeout_error", "deadline_exceeded", "request timed out"];

/// The model wrote a call that its own provider could not read: asking again helps, mending the
/// request does not.
const MODEL_GARBLED: &[&str] = &["tool_use_failed", "output_parse_failed"];

/// What kind of failure it is.
pub(super) fn judge(status: Option<u16>, told: &Told, wait_ms: Option<u64>) -> ErrorClass {
    let text = told.text.as_str();
    let any = |table: &[&str]| table.iter().any(|fragment| text.contains(fragment));
    let all = |table: &[&[&str]]| {
        table.iter().any(|set| set.iter().all(|fragment| text.contains(fragment)))
    };
    // A refused key or a wrong address is what it is, whatever words come with it.
    let at_the_door = matches!(status, Some(401 | 402 | 404));
    if !at_the_door && any(OUTPUT_PARAMETER) {
        return ErrorClass::BadRequest;
    }
    if !at_the_door && (any(OVERFLOW_CODES) || all(OVERFLOW_TEXTS)) {
        return ErrorClass::ContextOverflow;
    }
    if status == Some(402) || any(BILLING) {
        return ErrorClass::Billing;
    }
    let by_the_minute = text.contains("per minute") || text.contains("perminute");
    let soon = wait_ms.is_some_and(|wait| wait <= SOON_MS) || by_the_minute;
    if any(QUOTA_HARD) || (any(QUOTA_SOFT) && !soon) {
        return ErrorClass::QuotaExhausted;
    }
    if status == Some(401) || any(AUTH) {
        return ErrorClass::Auth;
    }
    if any(CONTENT) {
        return ErrorClass::ContentRefused;
    }
    let may_be_of_the_request = status.is_none_or(|status| status < 500);
    if may_be_of_the_request {
        if any(MODEL_CODES) || all(MODEL_TEXTS) {
            return ErrorClass::ModelNotFound;
        }
        if any(MODEL_GARBLED) {
            return ErrorClass::Garbled;
        }
        if all(PARAM) {
            return ErrorClass::ParamRejected;
        }
    }
    by_status(status, told).unwrap_or_else(|| by_words(told))
}

/// Signs of the service itself, where the status does not tell.
fn by_words(told: &Told) -> ErrorClass {
    let any = |table: &[&str]| table.iter().any(|fragment| told.text.contains(fragment));
    if any(OVERLOADED) {
        ErrorClass::Overloaded
    } else if any(THROTTLED) {
        ErrorClass::Throttled
    } else if any(TIMED_OUT) {
        ErrorClass::RequestTimeout
    } else if told.text.contains("request_too_large") {
        ErrorClass::PayloadTooLarge
    } else if any(SERVER) {
        ErrorClass::ServerError
    } else if told.text.contains("invalid_request_error") || told.text.contains("invalid_argument")
    {
        ErrorClass::BadRequest
    } else {
        ErrorClass::Unknown
    }
}

fn by_status(status: Option<u16>, told: &Told) -> Option<ErrorClass> {
    let overloaded = OVERLOADED.iter().any(|fragment| told.text.contains(fragment));
    let throttled = THROTTLED.iter().any(|fragment| told.text.contains(fragment));
    let class = match status? {
        401 | 403 | 407 => ErrorClass::Auth,
        402 => ErrorClass::Billing,
        408 => ErrorClass::RequestTimeout,
        413 => ErrorClass::PayloadTooLarge,
        429 if overloaded => ErrorClass::Overloaded,
        429 => ErrorClass::Throttled,
        // A lock that another request holds, and the failure of a backend: both pass.
        409 | 424 | 425 => ErrorClass::ServerError,
        498 | 503 | 529 => ErrorClass::Overloaded,
        // Gateways answer 400 to what was a 429 or 529 upstream.
        400..=499 if overloaded => ErrorClass::Overloaded,
        400..=499 if throttled => ErrorClass::Throttled,
        400..=499 => ErrorClass::BadRequest,
        500.. if overloaded => ErrorClass::Overloaded,
        500.. => ErrorClass::ServerError,
        // A redirect or an informational status where an answer was expected.
        _ if told.form == Form::Html => ErrorClass::NonApiBody,
        _ => ErrorClass::Unknown,
    };
    Some(class)
}

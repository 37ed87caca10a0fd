//! Output of a tool that consists of parts, as servers of tools publish it:
//! `{"content":[{"type":"text","text":"…"},{"type":"image","data":"…","mimeType":"image/png"}]}`,
//! with `"isError":true` where the tool failed.

use machine_spec::input::{ToolReport, ToolStatus};
use serde::Deserialize;
use wire::images::from_base64;

use super::Returned;
use crate::pictures::Pictures;

#[derive(Deserialize)]
struct Content {
    content: Vec<Part>,
    #[serde(default, rename = "isError")]
    is_error: bool,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part {
    Text {
        text: String,
    },
    Image {
        data: String,
        #[serde(default, rename = "mimeType")]
        media: String,
    },
    #[serde(other)]
    Other,
}

/// Reads the parts. What is no list of parts stays the text it is, and the model is told so; of a
/// part that cannot be shown it is told too.
pub(super) fn read(mut report: ToolReport) -> Returned {
    let content: Content = match serde_json::from_str(&report.output) {
        Ok(content) => content,
        Err(error) => {
            report.output.push_str(&format!("\n[expected a list of parts as JSON: {error}]"));
            return Returned::text(report);
        }
    };
    let (mut texts, mut pictures) = (Vec::new(), Pictures::none());
    for part in content.content {
        match part {
            Part::Text { text } => texts.push(text),
            Part::Image { data, media } => {
                let bytes = from_base64(&data).ok_or_else(|| "no base64".to_owned());
                let added = bytes
                    .and_then(|bytes| pictures.add(&bytes).map_err(|problem| problem.to_string()));
                if let Err(problem) = added {
                    texts.push(format!("(an image `{media}` that cannot be shown: {problem})"));
                }
            }
            Part::Other => texts.push("(a part that is neither text nor an image)".to_owned()),
        }
    }
    if content.is_error {
        report.status = ToolStatus::Failed;
    }
    let Pictures { shown, held } = pictures;
    (report.output, report.images) = (texts.join("\n"), shown);
    Returned { report, held }
}

#[cfg(test)]
mod tests {
    use machine_spec::input::{ToolReport, ToolStatus};

    use super::read;

    fn output(text: &str) -> (ToolReport, usize) {
        let returned = read(ToolReport::new(ToolStatus::Succeeded, text));
        (returned.report, returned.held.all().count())
    }

    #[test]
    fn parts_become_text_and_images() {
        let image = r#"{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}"#;
        let (report, held) = output(&format!(
            r#"{{"content":[{{"type":"text","text":"two"}},{image},{image},{{"type":"text","text":"shots"}}]}}"#
        ));
        assert_eq!((report.status, &*report.output), (ToolStatus::Succeeded, "two\nshots"));
        assert_eq!((report.images.len(), held), (2, 1));
        let (report, held) = output(r#"{"content":[],"isError":true}"#);
        assert_eq!((report.status, report.images.len(), held), (ToolStatus::Failed, 0, 0));
    }

    #[test]
    fn what_cannot_be_shown_is_told() {
        for (text, told) in [
            ("plain words", "[expected a list of parts as JSON"),
            (r#"{"content":[{"type":"audio"}]}"#, "neither text nor an image"),
            (
                r#"{"content":[{"type":"image","data":"!","mimeType":"image/png"}]}"#,
                "`image/png` that cannot be shown: no base64",
            ),
            (
                r#"{"content":[{"type":"image","data":"PHN2Zy8+","mimeType":"image/svg+xml"}]}"#,
                "expected a PNG, JPEG, GIF or WebP image",
            ),
        ] {
            let (report, held) = output(text);
            assert!(report.output.contains(told), "{told} in {}", report.output);
            assert_eq!((report.status, report.images.len(), held), (ToolStatus::Succeeded, 0, 0));
        }
    }
}

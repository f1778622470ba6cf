//! The MCP tool as the model sees it: its definition, and its answers.

use super::super::text;
use crate::service::{ExecuteRequest, TOOL};
use codemode_spec::{Envelope, Manifest, envelope::ExecutionData, limits::RESULT_CHARS_DEFAULT};
use rmcp::model::{CallToolResult, ContentBlock, Tool, ToolAnnotations};
use serde_json::{Value as Json, json};

/// The definition of the tool, with the declarations of its namespaces.
pub(super) fn definition(manifests: &[Manifest]) -> Tool {
    let Json::Object(schema) = ExecuteRequest::schema() else { unreachable!("a schema of an object is an object") };
    let declarations = text::brief_declarations(manifests);
    let description = format!(
        "Runs a JavaScript or TypeScript script (top-level await) in a sandbox that drives a real Chromium. Its last \
         expression, or what it returns, is the answer, with its console lines. Return only what you need: it is cut at \
         {RESULT_CHARS_DEFAULT} characters. A PNG, JPEG or WebP in the result (base64 or bytes) comes as an image. Errors \
         carry a code and a hint. No fetch, require, import or DOM: the page is reached through these \
         globals:\n\n{declarations}"
    );
    let annotations = ToolAnnotations::new().destructive(true).open_world(true);
    Tool::new(TOOL, description, schema).with_annotations(annotations)
}

/// The answer to a call: text and images for the model, the envelope as structured content for programs.
pub(super) fn answer(mut envelope: Envelope) -> CallToolResult {
    let images = take_images(&mut envelope);
    let mut content = vec![ContentBlock::text(words(&envelope))];
    content.extend(images);
    let mut result = if envelope.ok { CallToolResult::success(content) } else { CallToolResult::error(content) };
    result.structured_content = Some(serde_json::to_value(envelope).expect("plain data can be written as JSON"));
    result
}

/// The answer as compact text.
fn words(envelope: &Envelope) -> String {
    let fields = envelope.data.as_ref().and_then(Json::as_object).into_iter().flatten();
    // Images are separate content blocks.
    let fields = fields.filter(|(name, _)| *name != "images").map(|(name, value)| (name.clone(), value.clone()));
    let data = serde_json::from_value::<ExecutionData>(Json::Object(fields.collect())).unwrap_or_default();
    let mut words = match &envelope.error {
        Some(error) => text::error(error),
        None => format!("{}\n", text::result(data.result.as_ref().unwrap_or(&Json::Null), false)),
    };
    if !data.logs.is_empty() {
        words.push_str("\nconsole:\n");
        data.logs.iter().for_each(|logged| text::line(&mut words, text::console(logged)));
    }
    let remarks = text::remarks(&envelope.meta, &data);
    if !remarks.is_empty() {
        words.push('\n');
        remarks.iter().for_each(|remark| text::line(&mut words, remark));
    }
    words.truncate(words.trim_end().len());
    words
}

/// Moves the images out of the envelope into content blocks; the envelope retains the path, type and size of each.
fn take_images(envelope: &mut Envelope) -> Vec<ContentBlock> {
    let images = envelope.data.as_mut().and_then(|data| data.get_mut("images")).and_then(Json::as_array_mut);
    let take = |image: &mut Json| {
        let mut word = |key: &str| match image.get_mut(key).map(Json::take) {
            Some(Json::String(word)) => word,
            _ => String::new(),
        };
        let (path, mime_type, data) = (word("path"), word("mime_type"), word("data"));
        let padding = data.bytes().rev().take_while(|byte| *byte == b'=').count();
        *image = json!({"path": path, "mime_type": mime_type, "bytes": data.len() / 4 * 3 - padding});
        ContentBlock::image(data, mime_type)
    };
    images.into_iter().flatten().map(take).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::{Service, Settings};
    use codemode_spec::{
        ErrorCode, ErrorReport,
        envelope::{Context, Cut, Meta},
    };

    fn envelope(data: Option<Json>, error: Option<ErrorReport>) -> Envelope {
        let (context, meta) = (Context::default(), Meta::default());
        Envelope { ok: error.is_none(), command: TOOL.to_owned(), context, data, error, meta }
    }

    fn text_of(result: &CallToolResult) -> String {
        result.content[0].as_text().expect("words come first").text.clone()
    }

    #[test]
    fn a_result_is_said_shortly_and_whole() {
        let logs = json!([{"level": "log", "text": "one"}, {"level": "warn", "text": "two"}]);
        let mut said = envelope(Some(json!({"result": {"a": [1, null]}, "logs": logs})), None);
        said.meta.warnings.push("something was odd".to_owned());
        said.meta.cuts.push(Cut { path: "/a".into(), kind: "array".into(), original: 9, kept: 2 });
        let result = answer(said.clone());
        assert_eq!(
            text_of(&result),
            "{\"a\":[1,null]}\n\nconsole:\none\nwarn: two\n\nwarning: something was odd\n\
             cut: /a, 2 of 9 kept of this array"
        );
        assert_eq!(result.is_error, Some(false));
        assert_eq!(result.structured_content, Some(serde_json::to_value(said).unwrap()));
        for (value, word) in
            [(json!("plain"), "plain"), (json!(null), "null"), (json!({"$type": "undefined"}), "undefined")]
        {
            assert_eq!(text_of(&answer(envelope(Some(json!({"result": value})), None))), word);
        }
    }

    #[test]
    fn an_error_is_said_with_its_place_and_its_hint() {
        let report = ErrorReport::new(ErrorCode::ScriptError, "no such thing")
            .with_hint("Try another.")
            .with_detail("stack", "Error: no such thing\n    at script:1:2\n");
        let result = answer(envelope(Some(json!({"logs": [{"level": "error", "text": "oh"}]})), Some(report)));
        let words = "error SCRIPT_ERROR: no such thing\n    at script:1:2\nhint: Try another.\n\nconsole:\nerror: oh";
        assert_eq!(text_of(&result), words);
        assert_eq!(result.is_error, Some(true));
    }

    #[test]
    fn images_are_content_and_not_repeated() {
        let images = json!([{"path": "/shot", "mime_type": "image/png", "data": "AAECAw=="}]);
        let result = answer(envelope(Some(json!({"result": {"shot": "[image 1]"}, "images": images})), None));
        let image = result.content[1].as_image().expect("then the image");
        assert_eq!((image.data.as_str(), image.mime_type.as_str()), ("AAECAw==", "image/png"));
        let structured = result.structured_content.unwrap();
        let kept = json!([{"path": "/shot", "mime_type": "image/png", "bytes": 4}]);
        assert_eq!(structured.pointer("/data/images"), Some(&kept));
    }

    #[test]
    fn the_list_of_tools_is_short() {
        let service = Service::builder(Settings::default()).build().unwrap();
        let list = rmcp::model::ListToolsResult::with_all_items(vec![definition(service.manifests())]);
        let bytes = serde_json::to_string(&list).unwrap().len();
        assert!(bytes <= 3_950, "{bytes} bytes; with the caching hints at most 4,000 are wanted");
    }
}

//! Functions of scripts, evaluated in the page's own world.

use crate::{
    locate::{Op, Place},
    tab::Tab,
    target::Target,
    world::{Frame, is_lost},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use codemode_spec::{
    ErrorCode, ErrorReport, Value,
    limits::ELEMENTS_EVALUATED_MAX,
    value::{BufferKind, Text},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// The document of a frame, as an object of the engine's world.
const DOCUMENT: &str = "function() { return document; }";

/// What is evaluated.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Code {
    /// Its source.
    pub function: String,
    /// A function that is called, instead of an expression.
    pub is_function: bool,
}

impl Code {
    /// A function that calls the code with the element, if there is one, and the argument.
    fn call(&self, with_element: bool, argument: Option<&Value>) -> String {
        let argument = argument.map_or_else(|| "undefined".to_owned(), literal);
        match (self.is_function, with_element) {
            (true, true) => format!("function(element) {{ return ({})(element, {argument}); }}", self.function),
            (true, false) => format!("function() {{ return ({})({argument}); }}", self.function),
            (false, true) => format!("function(element) {{ return ({}); }}", self.function),
            (false, false) => format!("function() {{ return ({}); }}", self.function),
        }
    }
}

impl Tab<'_> {
    /// Evaluates in the page, or with one element, or with all elements that match.
    pub async fn evaluate(
        &self,
        target: Option<&Target>,
        all: bool,
        code: &Code,
        argument: Option<&Value>,
    ) -> Result<Value, ErrorReport> {
        match target {
            None => self.evaluate_in_page(code, argument).await,
            Some(target) if all => self.evaluate_all(target, code, argument).await,
            Some(target) => {
                let place = self.locate(target).await?;
                let kept = self.run_at(&place, "keep", json!({"strict": true, "timeout": null}), Op::Look).await?;
                let node = self.node_of(&place.frame, &kept["handle"]).await?;
                let object = self.in_main_world(&place.frame, backend(&node)).await?;
                let arguments = json!([{ "objectId": object }]);
                self.call(&place.frame, &object, &code.call(true, argument), arguments).await
            }
        }
    }

    /// An expression, or a function with an argument, in the page's main frame.
    async fn evaluate_in_page(&self, code: &Code, argument: Option<&Value>) -> Result<Value, ErrorReport> {
        // An expression may be statements as well, as in a console.
        let expression = match code.is_function {
            true => format!("({})()", code.call(false, argument)),
            false => code.function.clone(),
        };
        let params = json!({
            "expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true,
            "allowUnsafeEvalBlockedByCSP": true,
        });
        let answer = self.send("Runtime.evaluate", params).await.map_err(explained)?;
        outcome(&answer)
    }

    async fn evaluate_all(&self, target: &Target, code: &Code, argument: Option<&Value>) -> Result<Value, ErrorReport> {
        let place = self.locate(target).await?;
        let elements = self.collected(&place).await?;
        // One after the other each would take two round trips.
        let found = elements.iter().map(async |element| {
            let node = self.send_to(&place.frame.target, "DOM.describeNode", json!({ "objectId": element })).await?;
            self.in_main_world(&place.frame, backend(&node["node"])).await
        });
        let found = futures::future::try_join_all(found).await?;
        let arguments: Vec<Json> = found.into_iter().map(|object| json!({ "objectId": object })).collect();
        let document = self.document(&place.frame).await?;
        let function =
            format!("function(...elements) {{ return ({}).call(null, elements); }}", code.call(true, argument));
        self.call(&place.frame, &document, &function, json!(arguments)).await
    }

    /// The elements that match now, as objects of the engine's world.
    async fn collected(&self, place: &Place) -> Result<Vec<String>, ErrorReport> {
        let list = self.collect(place, ELEMENTS_EVALUATED_MAX).await?;
        let params = json!({"objectId": list["objectId"], "ownProperties": true});
        let listed = self.send_to(&place.frame.target, "Runtime.getProperties", params).await?;
        let properties = listed["result"].as_array().into_iter().flatten();
        let elements = properties.filter(|property| {
            property["name"].as_str().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        });
        Ok(elements.filter_map(|element| element["value"]["objectId"].as_str().map(str::to_owned)).collect())
    }

    /// The document of a frame in the page's own world.
    async fn document(&self, frame: &Frame) -> Result<String, ErrorReport> {
        let object = self.call_engine(frame, DOCUMENT, json!([]), false).await?;
        let node = self.send_to(&frame.target, "DOM.describeNode", json!({"objectId": object["objectId"]})).await?;
        self.in_main_world(frame, backend(&node["node"])).await
    }

    async fn call(&self, frame: &Frame, this: &str, function: &str, arguments: Json) -> Result<Value, ErrorReport> {
        let params = json!({
            "objectId": this, "functionDeclaration": function, "arguments": arguments, "returnByValue": true,
            "awaitPromise": true, "userGesture": true,
        });
        let answer = self.send_to(&frame.target, "Runtime.callFunctionOn", params).await.map_err(explained)?;
        outcome(&answer)
    }

    /// Evaluates again and again, with each frame that the page draws, until it answers something that is true.
    pub async fn wait_for_function(
        &self,
        code: &Code,
        argument: Option<&Value>,
        polling_ms: Option<f64>,
    ) -> Result<Value, ErrorReport> {
        let once = if code.is_function { code.call(false, argument) } else { code.call(false, None) };
        let polling = polling_ms.unwrap_or(0.0).max(0.0);
        loop {
            // Frames stand still in a tab that is not seen: a timer is raced against them.
            let waiting = format!(
                "(async (once, until, polling) => {{ for (;;) {{ const value = await once(); \
                 if (value) return {{value}}; if (performance.now() > until) return null; \
                 await new Promise(go => {{ setTimeout(go, polling || 50); if (!polling) requestAnimationFrame(go); }}); }} }})\
                 ({once}, performance.now() + {}, {polling})",
                self.left().as_millis()
            );
            let params = json!({
                "expression": waiting, "returnByValue": true, "awaitPromise": true, "allowUnsafeEvalBlockedByCSP": true,
            });
            match self.send("Runtime.evaluate", params).await {
                // The page went elsewhere: the new document may answer otherwise.
                Err(error) if is_lost(&error) && !self.left().is_zero() => {}
                Err(error) => return Err(explained(error)),
                Ok(answer) => match outcome(&answer)? {
                    Value::Object(fields) => {
                        let value = fields.into_iter().next().map(|(_, value)| value);
                        return Ok(value.unwrap_or(Value::Undefined));
                    }
                    _ => return Err(crate::reports::too_late(self, "the function to answer something that is true")),
                },
            }
        }
    }
}

fn backend(node: &Json) -> i64 {
    node["backendNodeId"].as_i64().unwrap_or_default()
}

/// What an evaluation came to.
fn outcome(answer: &Json) -> Result<Value, ErrorReport> {
    if let Some(thrown) = answer.get("exceptionDetails") {
        return Err(exception(thrown));
    }
    let result = &answer["result"];
    if let Some(text) = result["unserializableValue"].as_str() {
        return Ok(match text {
            "NaN" => Value::Number(f64::NAN),
            "-0" => Value::Number(-0.0),
            "Infinity" => Value::Number(f64::INFINITY),
            "-Infinity" => Value::Number(f64::NEG_INFINITY),
            bigint => Value::BigInt(bigint.trim_end_matches('n').to_owned()),
        });
    }
    if result["type"] == "undefined" {
        return Ok(Value::Undefined);
    }
    Ok(Value::from(result["value"].clone()))
}

/// The report of what a function threw.
pub(crate) fn exception(thrown: &Json) -> ErrorReport {
    let exception = &thrown["exception"];
    let text = match exception["description"].as_str() {
        Some(description) => description.to_owned(),
        None => match exception.get("value") {
            Some(Json::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => thrown["text"].as_str().unwrap_or("the function threw").to_owned(),
        },
    };
    let report = ErrorReport::new(ErrorCode::JsException, text);
    if exception["className"] == "ReferenceError" {
        return report.with_hint(
            "The function runs in the page and sees no variable of the script: pass values as the argument after the function.",
        );
    }
    report
}

/// Chromium's words for what a result cannot be, in ours.
fn explained(error: ErrorReport) -> ErrorReport {
    if is_lost(&error) {
        let message = "Execution context was destroyed, most likely because of a navigation";
        return ErrorReport::new(ErrorCode::JsException, message)
            .with_hint("Wait for the navigation first: await page.waitForURL(…) or page.waitForLoadState().");
    }
    if error.message.contains("reference chain is too long") || error.message.contains("couldn't be returned by value")
    {
        let message = "the function returned what is no plain data, such as an element or a circle of objects";
        return ErrorReport::new(ErrorCode::JsException, message)
            .with_hint("Return what you want to know of it: strings, numbers, plain objects and arrays.");
    }
    error
}

/// A value as JavaScript source.
fn literal(value: &Value) -> String {
    let list = |values: &[Value]| values.iter().map(literal).collect::<Vec<_>>().join(",");
    match value {
        Value::Undefined => "undefined".to_owned(),
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) if number.is_nan() => "NaN".to_owned(),
        Value::Number(number) if number.is_infinite() => {
            if *number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
        }
        Value::Number(number) if *number == 0.0 && number.is_sign_negative() => "-0".to_owned(),
        Value::Number(number) => format!("({number:?})"),
        Value::BigInt(digits) => format!("({digits}n)"),
        Value::String(text) => string(text),
        Value::Date(ms) if ms.is_nan() => "new Date(NaN)".to_owned(),
        Value::Date(ms) => format!("new Date({ms:?})"),
        Value::Bytes(kind, bytes) => {
            let bytes =
                format!("Uint8Array.from(atob(\"{}\"), letter => letter.charCodeAt(0))", STANDARD.encode(bytes));
            match kind {
                BufferKind::Uint8Array => bytes,
                BufferKind::ArrayBuffer => format!("{bytes}.buffer"),
                kind => format!("new {}({bytes}.buffer)", kind.name()),
            }
        }
        Value::Map(entries) => {
            let entries: Vec<_> =
                entries.iter().map(|(key, value)| format!("[{},{}]", literal(key), literal(value))).collect();
            format!("new Map([{}])", entries.join(","))
        }
        Value::Set(values) => format!("new Set([{}])", list(values)),
        Value::Error(error) => {
            format!("Object.assign(new Error({}), {{name: {}}})", string(&error.message), string(&error.name))
        }
        Value::Array(values) => format!("[{}]", list(values)),
        Value::Object(fields) => {
            // In brackets, so that no key is more than a key.
            let fields: Vec<_> =
                fields.iter().map(|(key, value)| format!("[{}]:{}", string(key), literal(value))).collect();
            format!("({{{}}})", fields.join(","))
        }
    }
}

fn string(text: &Text) -> String {
    match text {
        Text::Utf8(text) => Json::from(text.as_str()).to_string(),
        Text::Utf16(units) => {
            format!("\"{}\"", units.iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_source() {
        let rows = [
            (Value::Number(-0.0), "-0"),
            (Value::Number(1e21), "(1e21)"),
            (Value::Number(-1.5), "(-1.5)"),
            (Value::BigInt("-12".into()), "(-12n)"),
            (Value::String("a\"\u{2028}\n".into()), "\"a\\\"\u{2028}\\n\""),
            (Value::String(Text::Utf16(vec![0xd800])), "\"\\ud800\""),
            (
                Value::Bytes(BufferKind::Uint8Array, vec![0, 255]),
                "Uint8Array.from(atob(\"AP8=\"), letter => letter.charCodeAt(0))",
            ),
            (
                Value::Object(vec![("__proto__".into(), Value::Array(vec![Value::Undefined]))]),
                "({[\"__proto__\"]:[undefined]})",
            ),
            (Value::Map(vec![(Value::Null, Value::Date(0.5))]), "new Map([[null,new Date(0.5)]])"),
        ];
        for (value, source) in rows {
            assert_eq!(literal(&value), source);
        }
    }
}

//! Functions of scripts, evaluated in the page's own world.

use crate::{
    locate::Op,
    reports,
    state::worlds::Frame,
    tab::Tab,
    target::Target,
    values::{SERIALIZE, literal, number, returned},
    world::is_lost,
};
use codemode_spec::{ErrorCode, ErrorReport, Value, limits::ELEMENTS_EVALUATED_MAX};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// The document of a frame.
const DOCUMENT: &str = "function() { return [document]; }";

/// What is evaluated.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Code {
    /// The source of an expression or of a function.
    pub function: String,
    /// Whether it is a function, which is called.
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
        // An expression may be statements as well, as in a console: what it comes to is read in a second step.
        let expression = match code.is_function {
            true => format!("(async () => ({SERIALIZE})(await ({})()))()", code.call(false, argument)),
            false => code.function.clone(),
        };
        let params = json!({
            "expression": expression, "returnByValue": code.is_function, "awaitPromise": true, "userGesture": true,
            "allowUnsafeEvalBlockedByCSP": true,
        });
        let answer = self.send("Runtime.evaluate", params).await.map_err(explained)?;
        match answer["result"]["objectId"].as_str().filter(|_| answer.get("exceptionDetails").is_none()) {
            Some(object) => self.call(&self.main_frame(), object, "function() { return this; }", json!([])).await,
            None => outcome(&answer),
        }
    }

    async fn evaluate_all(&self, target: &Target, code: &Code, argument: Option<&Value>) -> Result<Value, ErrorReport> {
        let place = self.locate(target).await?;
        let elements = self.collect(&place, ELEMENTS_EVALUATED_MAX).await?;
        // One after the other each would take a round trip.
        let found = elements.iter().map(|element| self.in_main_world(&place.frame, element.backend));
        let found = futures::future::try_join_all(found).await?;
        let arguments: Vec<Json> = found.into_iter().map(|object| json!({ "objectId": object })).collect();
        let document = self.document(&place.frame).await?;
        let function =
            format!("function(...elements) {{ return ({}).call(null, elements); }}", code.call(true, argument));
        self.call(&place.frame, &document, &function, json!(arguments)).await
    }

    /// The document of a frame in the page's own world.
    async fn document(&self, frame: &Frame) -> Result<String, ErrorReport> {
        let documents = self.nodes(frame, DOCUMENT, json!([])).await?;
        let document = documents.first().map_or(0, |document| document.backend);
        self.in_main_world(frame, document).await
    }

    async fn call(&self, frame: &Frame, this: &str, function: &str, arguments: Json) -> Result<Value, ErrorReport> {
        let function =
            format!("async function(...given) {{ return ({SERIALIZE})(await ({function}).apply(this, given)); }}");
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
                 if (value) return ({SERIALIZE})({{value}}); if (performance.now() > until) return null; \
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
                    _ => return Err(self.too_late("the function to answer something that is true")),
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
        return Err(reports::exception(thrown));
    }
    let result = &answer["result"];
    match result["unserializableValue"].as_str() {
        Some(text) if text.ends_with('n') => Ok(Value::BigInt(text.trim_end_matches('n').to_owned())),
        Some(text) => Ok(number(text)),
        None if result["type"] == "undefined" => Ok(Value::Undefined),
        None => Ok(returned(result["value"].clone())),
    }
}

/// Chromium's words for what a result cannot be, in ours.
fn explained(error: ErrorReport) -> ErrorReport {
    if is_lost(&error) {
        let message = "Execution context was destroyed, most likely because of a navigation";
        return ErrorReport::new(ErrorCode::JsException, message)
            .with_hint("Wait for the navigation first: await page.waitForURL(…) or page.waitForLoadState().");
    }
    error
}

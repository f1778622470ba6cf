//! Evaluation of functions from scripts in the page's own world.

use crate::{
    locate::Op,
    reports,
    state::worlds::Frame,
    tab::Tab,
    target::Target,
    values::{SERIALIZE, literal, number, returned},
    world::is_lost,
};
use codemode_spec::{
    ErrorCode, ErrorReport, Value,
    limits::{ELEMENTS_EVALUATED_MAX, HANDLE_ARGUMENTS_MAX},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// Returns the document of a frame.
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

/// Replaces the placeholders of an argument by their elements.
const PLACE: &str = "(handles, whole, places) => {
  places.forEach((place, index) => {
    const last = place.pop();
    if (last === undefined) whole = handles[index];
    else place.reduce((at, key) => at[key], whole)[last] = handles[index];
  });
  return whole;
}";

/// The last argument of a function.
#[derive(Clone, Copy, Default)]
pub struct Argument<'a> {
    /// Plain data; `None` if there is no argument.
    pub value: Option<&'a Value>,
    /// The elements in it.
    pub handles: &'a [Handle],
}

/// An element in the argument of a function.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Handle {
    /// Where in the argument: the names of fields and the numbers of items on the way there. The whole argument, if there
    /// are none.
    #[serde(default)]
    pub at: Vec<String>,
    /// The element.
    pub target: Target,
}

impl Argument<'_> {
    /// As an expression, inside a function that has the elements as `handles`.
    fn expression(&self) -> String {
        let value = self.value.map_or_else(|| "undefined".to_owned(), literal);
        if self.handles.is_empty() {
            return value;
        }
        let places: Vec<_> = self.handles.iter().map(|handle| &handle.at).collect();
        format!("({PLACE})(handles, {value}, {})", json!(places))
    }
}

impl Code {
    /// A function that calls the code with the element, if any, and the argument; the argument's elements follow as
    /// parameters.
    fn call(&self, with_element: bool, argument: Argument<'_>) -> String {
        let argument = argument.expression();
        match (self.is_function, with_element) {
            (true, true) => {
                format!("function(element, ...handles) {{ return ({})(element, {argument}); }}", self.function)
            }
            (true, false) => format!("function(...handles) {{ return ({})({argument}); }}", self.function),
            (false, true) => format!("function(element) {{ return ({}); }}", self.function),
            (false, false) => format!("function() {{ return ({}); }}", self.function),
        }
    }
}

impl Tab<'_> {
    /// Evaluates in the page, with one element, or with all matching elements.
    pub async fn evaluate(
        &self,
        target: Option<&Target>,
        all: bool,
        code: &Code,
        argument: Argument<'_>,
    ) -> Result<Value, ErrorReport> {
        match target {
            None if !argument.handles.is_empty() => {
                let (frame, handles) = self.handles(None, argument.handles).await?;
                let document = self.document(&frame).await?;
                self.call(&frame, &document, &code.call(false, argument), json!(handles)).await
            }
            None => self.evaluate_in_page(code, argument).await,
            Some(target) if all => self.evaluate_all(target, code, argument).await,
            Some(target) => {
                let place = self.locate(target).await?;
                let kept = self.run_at(&place, "keep", json!({"strict": true, "timeout": null}), Op::Look).await?;
                let node = self.node_of(&place.frame, &kept["handle"]).await?;
                let object = self.in_main_world(&place.frame, backend(&node)).await?;
                let (frame, handles) = self.handles(Some(place.frame), argument.handles).await?;
                let arguments: Vec<_> = [json!({ "objectId": object })].into_iter().chain(handles).collect();
                self.call(&frame, &object, &code.call(true, argument), json!(arguments)).await
            }
        }
    }

    /// Evaluates an expression, or a function with an argument, in the page's main frame.
    async fn evaluate_in_page(&self, code: &Code, argument: Argument<'_>) -> Result<Value, ErrorReport> {
        // An expression may also be a list of statements, as in a console, so its value is serialised in a second step.
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

    async fn evaluate_all(&self, target: &Target, code: &Code, argument: Argument<'_>) -> Result<Value, ErrorReport> {
        let place = self.locate(target).await?;
        let elements = self.collect(&place, ELEMENTS_EVALUATED_MAX + 1).await?;
        if elements.len() > ELEMENTS_EVALUATED_MAX {
            return Err(reports::too_many(&place.description, ELEMENTS_EVALUATED_MAX));
        }
        // Resolved concurrently: in sequence each element would cost a round trip.
        let found = elements.iter().map(|element| self.in_main_world(&place.frame, element.backend));
        let found = futures::future::try_join_all(found).await?;
        let (frame, handles) = self.handles(Some(place.frame), argument.handles).await?;
        let found = found.into_iter().map(|object| json!({ "objectId": object }));
        let arguments: Vec<Json> = found.chain(handles).collect();
        let document = self.document(&frame).await?;
        let function = format!(
            "function(...given) {{ const elements = given.slice(0, {count}); \
             return ({}).call(null, elements, ...given.slice({count})); }}",
            code.call(true, argument),
            count = elements.len(),
        );
        self.call(&frame, &document, &function, json!(arguments)).await
    }

    /// Resolves the elements of an argument to function arguments. Returns them with their frame: all must be in one
    /// frame, which is `frame` if that is given.
    async fn handles(&self, frame: Option<Frame>, handles: &[Handle]) -> Result<(Frame, Vec<Json>), ErrorReport> {
        if handles.len() > HANDLE_ARGUMENTS_MAX {
            return Err(reports::invalid(format!("an argument may have {HANDLE_ARGUMENTS_MAX} elements")));
        }
        let (mut frame, mut found) = (frame, Vec::new());
        for Handle { target, .. } in handles {
            let place = self.locate(target).await?;
            if frame.as_ref().is_some_and(|frame| *frame != place.frame) {
                let message = "elements can be passed only to a function that runs in their own frame";
                return Err(reports::invalid(message).with_hint("Evaluate in that frame: frame.evaluate(fn, locator)."));
            }
            let kept = self.run_at(&place, "keep", json!({"strict": true, "timeout": null}), Op::Look).await?;
            let node = self.node_of(&place.frame, &kept["handle"]).await?;
            found.push(json!({"objectId": self.in_main_world(&place.frame, backend(&node)).await?}));
            frame = Some(place.frame);
        }
        Ok((frame.unwrap_or_else(|| self.main_frame()), found))
    }

    /// The document of a frame, as an object of the page's own world.
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

    /// Evaluates repeatedly, once per animation frame or polling interval, until the result is truthy.
    pub async fn wait_for_function(
        &self,
        code: &Code,
        argument: Argument<'_>,
        polling_ms: Option<f64>,
    ) -> Result<Value, ErrorReport> {
        let polling = polling_ms.unwrap_or(0.0).max(0.0);
        loop {
            match self.wait_in_document(code, argument, polling).await {
                // The page navigated: the new document may give another result.
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

    async fn wait_in_document(&self, code: &Code, argument: Argument<'_>, polling: f64) -> Result<Json, ErrorReport> {
        let (frame, handles) = self.handles(None, argument.handles).await?;
        // No animation frames run in a tab that is not visible, so they are raced against a timer.
        let waiting = format!(
            "(async (handles, once, until, polling) => {{ for (;;) {{ const value = await once(...handles); \
             if (value) return ({SERIALIZE})({{value}}); if (performance.now() > until) return null; \
             await new Promise(go => {{ setTimeout(go, polling || 50); if (!polling) requestAnimationFrame(go); }}); }} }})\
             ([...arguments], {}, performance.now() + {}, {polling})",
            code.call(false, argument),
            self.left().as_millis()
        );
        let mut params = json!({"returnByValue": true, "awaitPromise": true});
        if handles.is_empty() {
            params["expression"] = format!("(function() {{ return {waiting}; }})()").into();
            params["allowUnsafeEvalBlockedByCSP"] = true.into();
            return self.send("Runtime.evaluate", params).await;
        }
        params["objectId"] = self.document(&frame).await?.into();
        params["functionDeclaration"] = format!("function() {{ return {waiting}; }}").into();
        params["arguments"] = handles.into();
        self.send_to(&frame.target, "Runtime.callFunctionOn", params).await
    }
}

fn backend(node: &Json) -> i64 {
    node["backendNodeId"].as_i64().unwrap_or_default()
}

/// The value of an evaluation, or the exception that it threw.
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

/// Explains a lost execution context in terms of the navigation that caused it.
fn explained(error: ErrorReport) -> ErrorReport {
    if is_lost(&error) {
        let message = "Execution context was destroyed, most likely because of a navigation";
        return ErrorReport::new(ErrorCode::JsException, message)
            .with_hint("Wait for the navigation first: await page.waitForURL(…) or page.waitForLoadState().");
    }
    error
}

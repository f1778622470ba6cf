//! A provider whose methods are closures, for embedders that have functions and no state per execution.
//!
//! ```
//! use codemode_provider::{Provider as _, closure};
//! use codemode_spec::{ErrorCode, ErrorReport};
//!
//! let weather = closure("weather", "Weather of places.")
//!     .read("now", "Degrees Celsius at a place.", ["place"], |place: String| async move {
//!         if place == "Atlantis" { Err(ErrorReport::new(ErrorCode::CallFailed, "it is under water")) } else { Ok(21) }
//!     });
//! assert!(weather.manifest().to_dts().contains("now(place: string): Promise<number>;"));
//! ```

use crate::{
    arguments::argument,
    context::{CallContext, Ending, ExecutionContext},
    provider::{Provider, ProviderRuntime},
};
use async_trait::async_trait;
use codemode_spec::{Effect, ErrorCode, ErrorReport, Manifest, Method, Param, Signature, Value, message::Encoded};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value as Json;
use std::{collections::HashMap, pin::Pin, sync::Arc};

/// The pending result of a call.
type Answer = Pin<Box<dyn Future<Output = Result<Encoded, ErrorReport>> + Send>>;
/// A closure that still takes the script's untyped arguments.
type Handler = Arc<dyn Fn(&[Value]) -> Answer + Send + Sync>;

/// A namespace without methods yet; [`Closures::read`] and [`Closures::write`] add them.
#[must_use]
pub fn closure(namespace: &str, doc: &str) -> Closures {
    let (namespace, doc) = (namespace.to_owned(), doc.to_owned());
    let manifest = Manifest { namespace, doc, methods: Vec::new(), layer: None, declaration: None };
    Closures { manifest, handlers: HashMap::new() }
}

/// A provider whose methods are closures. The types, checks and description of a method are derived from the closure's
/// parameter and result types, each of which provides its JSON schema. A trailing `Option` parameter may be omitted.
///
/// Closures keep no state of an execution, so suspending and disposing of it are no-ops.
///
/// # Cancellation
/// The future of a closure is dropped if its execution ends first. A closure must not spawn tasks: they would continue.
#[derive(Clone)]
pub struct Closures {
    manifest: Manifest,
    handlers: HashMap<String, Handler>,
}

impl Closures {
    /// Adds a method that changes nothing outside the host. `params` names the closure's parameters, `doc` is a
    /// sentence.
    #[must_use]
    pub fn read<const N: usize, A, F: Function<N, A>>(self, name: &str, doc: &str, params: [&str; N], run: F) -> Self {
        self.method(name, doc, Effect::Read, params, run)
    }

    /// Adds a method that changes something: the audit records its calls, without their arguments.
    #[must_use]
    pub fn write<const N: usize, A, F: Function<N, A>>(self, name: &str, doc: &str, params: [&str; N], run: F) -> Self {
        self.method(name, doc, Effect::Write, params, run)
    }

    fn method<const N: usize, A, F: Function<N, A>>(
        mut self,
        name: &str,
        doc: &str,
        effect: Effect,
        params: [&str; N],
        run: F,
    ) -> Self {
        let schemas = F::params();
        let mut params: Vec<_> =
            params.into_iter().zip(&schemas).map(|(name, schema)| param(name, schema.clone())).collect();
        // Only trailing parameters can be omitted; one before them can be null.
        let required = params.iter().rposition(|param| !param.optional).unwrap_or(0);
        for (param, schema) in params.iter_mut().zip(schemas).take(required).filter(|(param, _)| param.optional) {
            param.optional = false;
            param.schema = schema;
        }
        let signatures = vec![Signature { params }];
        let (name, doc, returns) = (name.to_owned(), doc.to_owned(), F::returns());
        self.handlers.insert(name.clone(), Arc::new(move |arguments| run.call(arguments)));
        self.manifest.methods.push(Method { name, doc, signatures, returns, effect, background: false });
        self
    }

    /// Marks the method that was added last as a background method: a call that has not ended when the script ends is
    /// cancelled without a warning.
    #[must_use]
    pub fn in_background(mut self) -> Self {
        if let Some(method) = self.manifest.methods.last_mut() {
            method.background = true;
        }
        self
    }

    /// Adds a JavaScript layer between the script and the methods: see [`Manifest::layer`].
    #[must_use]
    pub fn layer(mut self, source: &str) -> Self {
        self.manifest.layer = Some(source.to_owned());
        self
    }

    /// Replaces the declaration that is derived from the closures.
    #[must_use]
    pub fn declaration(mut self, declaration: &str) -> Self {
        self.manifest.declaration = Some(declaration.to_owned());
        self
    }
}

#[async_trait]
impl Provider for Closures {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    async fn create(&self, _: ExecutionContext) -> Result<Arc<dyn ProviderRuntime>, ErrorReport> {
        Ok(Arc::new(self.clone()))
    }
}

#[async_trait]
impl ProviderRuntime for Closures {
    async fn call(&self, method: &str, arguments: Vec<Value>, context: CallContext) -> Result<Encoded, ErrorReport> {
        let handler = self.handlers.get(method).ok_or_else(|| {
            let name = &self.manifest.namespace;
            ErrorReport::new(ErrorCode::UnknownMethod, format!("{name}.{method} does not exist"))
        })?;
        let answer = handler(&arguments);
        // The closure has its own copy of the arguments now; this releases their memory permits.
        drop((arguments, context));
        answer.await
    }

    /// Closures keep no state of an execution.
    async fn suspend(&self) -> Result<Vec<u8>, ErrorReport> {
        Ok(Vec::new())
    }

    async fn dispose(&self, _: Ending) -> Result<(), ErrorReport> {
        Ok(())
    }
}

/// An async closure of up to four parameters that can be a method. Each parameter is deserialized from the plain JSON
/// of an argument, the result is serialized as JSON, and an error is an [`ErrorReport`] or converts into one.
pub trait Function<const N: usize, A>: Send + Sync + 'static {
    /// The schemas of the parameters.
    fn params() -> [Json; N];

    /// The schema of the result.
    fn returns() -> Json;

    /// Calls the closure.
    fn call(&self, arguments: &[Value]) -> Answer;
}

macro_rules! function {
    ($count:literal $(, $param:ident $argument:ident $place:literal)*) => {
        impl<F, Fut, R, E, $($param,)*> Function<$count, (Fut, R, E, $($param,)*)> for F
        where
            F: Fn($($param),*) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = Result<R, E>> + Send + 'static,
            R: JsonSchema + Serialize,
            E: Into<ErrorReport>,
            $($param: DeserializeOwned + JsonSchema,)*
        {
            fn params() -> [Json; $count] {
                [$(schema_of::<$param>()),*]
            }

            fn returns() -> Json {
                schema_of::<R>()
            }

            fn call(&self, _arguments: &[Value]) -> Answer {
                $(let $argument = match read::<$param>(_arguments, $place) {
                    Ok(argument) => argument,
                    Err(error) => return Box::pin(std::future::ready(Err(error))),
                };)*
                let called = self($($argument),*);
                Box::pin(async move {
                    let answer = called.await.map_err(Into::into)?;
                    let json = serde_json::to_value(answer).map_err(unwritable)?;
                    Ok(Value::from(json).into())
                })
            }
        }
    };
}

function!(0);
function!(1, A a 0);
function!(2, A a 0, B b 1);
function!(3, A a 0, B b 1, C c 2);
function!(4, A a 0, B b 1, C c 2, D d 3);

/// The argument at an index. An omitted argument is read as `null`, which only an `Option` accepts.
fn read<T: DeserializeOwned>(arguments: &[Value], place: usize) -> Result<T, ErrorReport> {
    match argument(arguments, place)? {
        Some(value) => Ok(value),
        None => serde_json::from_value(Json::Null)
            .map_err(|_| ErrorReport::new(ErrorCode::InvalidArgument, format!("argument {} is missing", place + 1))),
    }
}

fn unwritable(error: serde_json::Error) -> ErrorReport {
    ErrorReport::new(ErrorCode::CallFailed, format!("the result cannot be written as JSON: {error}"))
}

/// The schema of a type, with all subschemas inlined.
fn schema_of<T: JsonSchema>() -> Json {
    let mut settings = SchemaSettings::draft2020_12();
    settings.meta_schema = None;
    settings.inline_subschemas = true;
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Json::Object(fields) = &mut schema {
        fields.shift_remove("title");
    }
    schema
}

/// A parameter with this schema: optional if the schema accepts `null`, which then means that it was omitted.
fn param(name: &str, mut schema: Json) -> Param {
    let mut optional = false;
    if let Some(Json::Array(kinds)) = schema.get_mut("type") {
        optional = kinds.iter().any(|kind| kind == "null");
        kinds.retain(|kind| kind != "null");
        if let [kind] = kinds.as_slice() {
            schema["type"] = kind.clone();
        }
    }
    if let Some(Json::Array(forms)) = schema.get_mut("anyOf") {
        optional |= forms.iter().any(|form| form["type"] == "null");
        forms.retain(|form| form["type"] != "null");
        if let [form] = forms.as_slice() {
            schema = form.clone();
        }
    }
    Param { name: name.to_owned(), schema, optional }
}

#[cfg(all(test, feature = "testkit"))]
mod tests {
    use super::*;
    use crate::testkit::{Subject, TestExecution, context, lifecycle_suite};
    use serde::Deserialize;
    use serde_json::json;
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        time::Duration,
    };

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Range {
        days: u8,
    }

    #[derive(JsonSchema, Serialize)]
    struct Forecast {
        place: String,
        days: u8,
    }

    /// An embedder's own error type.
    struct TooFar(u8);

    impl From<TooFar> for ErrorReport {
        fn from(TooFar(days): TooFar) -> Self {
            Self::new(ErrorCode::CallFailed, format!("nobody knows the weather in {days} days"))
        }
    }

    fn weather() -> Closures {
        let forecast = |place: String, range: Option<Range>| async move {
            match range.map_or(1, |range| range.days) {
                days @ 0..=10 => Ok(Forecast { place, days }),
                days => Err(TooFar(days)),
            }
        };
        closure("weather", "Weather of places.")
            .read("forecast", "How it will be.", ["place", "range"], forecast)
            .read("now", "Degrees Celsius.", [], || async { Ok::<_, ErrorReport>(21) })
            .write("wait", "Never answers.", [], std::future::pending::<Result<(), ErrorReport>>)
    }

    async fn begin(provider: Closures) -> TestExecution {
        let context = context(&std::env::temp_dir(), json!({}));
        TestExecution::begin(Arc::new(provider), &[], context).await.unwrap()
    }

    #[test]
    fn the_manifest_comes_from_the_closures() {
        let declared = weather().manifest().to_dts();
        let expected = "/** Weather of places. */\ndeclare const weather: {\n  /** How it will be. */\n  \
                        forecast(place: string, range?: { days: number }): Promise<{ place: string, days: number }>;\n  \
                        /** Degrees Celsius. */\n  now(): Promise<number>;\n  /** Never answers. */\n  \
                        wait(): Promise<null>;\n};\n";
        assert_eq!(declared, expected);
        let methods = &weather().manifest.methods;
        assert_eq!((methods[0].effect, methods[2].effect), (Effect::Read, Effect::Write));
        let between = closure("x", "X.")
            .read("m", "M.", ["a", "b"], |_: Option<u8>, b: u8| async move { Ok::<_, ErrorReport>(b) });
        let optional = between.manifest.methods[0].signatures[0].params.iter().map(|param| param.optional);
        assert_eq!(optional.collect::<Vec<_>>(), [false, false], "what stands before the last cannot be left out");
    }

    #[tokio::test]
    async fn a_parameter_before_the_last_can_be_null() {
        let sum = closure("x", "X.").read("sum", "Adds.", ["a", "b"], |a: Option<u8>, b: u8| async move {
            Ok::<_, ErrorReport>(a.map_or(100, u32::from) + u32::from(b))
        });
        let execution = begin(sum).await;
        for (first, expected) in [(Value::from(1.0), 3.0), (Value::Null, 102.0)] {
            assert_eq!(execution.call("sum", vec![first, 2.0.into()]).await, Ok(expected.into()));
        }
        let refused = execution.call("sum", vec!["1".into(), 2.0.into()]).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArgument, "{refused}");
        execution.dispose(Ending::Succeeded).await.unwrap();
    }

    #[tokio::test]
    async fn arguments_and_errors_are_typed() {
        let execution = begin(weather()).await;
        let object = |days: f64| Value::Object(vec![("days".into(), days.into())]);
        let called = execution.call("forecast", vec!["Oslo".into(), object(3.0)]).await.unwrap();
        assert_eq!(called.to_plain_json(), Some(json!({"place": "Oslo", "days": 3})));
        for left_out in [vec!["Oslo".into()], vec!["Oslo".into(), Value::Null], vec!["Oslo".into(), Value::Undefined]] {
            let called = execution.call("forecast", left_out).await.unwrap();
            assert_eq!(called.to_plain_json().unwrap()["days"], 1);
        }
        let far = execution.call("forecast", vec!["Oslo".into(), object(99.0)]).await.unwrap_err();
        assert_eq!((far.code, far.message.contains("99 days")), (ErrorCode::CallFailed, true));
        let wrong = [vec![], vec![7.0.into()], vec!["Oslo".into(), object(-1.0)], vec!["Oslo".into(), object(1.5)]];
        for arguments in wrong {
            let refused = execution.call("forecast", arguments).await.unwrap_err();
            assert_eq!(refused.code, ErrorCode::InvalidArgument, "{refused}");
        }
        assert_eq!(execution.call("now", vec![]).await, Ok(21.0.into()));
        execution.dispose(Ending::Succeeded).await.unwrap();
    }

    #[tokio::test]
    async fn a_namespace_of_closures_keeps_the_contract() {
        let make: &dyn Fn() -> Arc<dyn Provider> = &|| Arc::new(weather());
        lifecycle_suite(&Subject {
            make,
            services: &[],
            state_dir: std::env::temp_dir(),
            options: json!({}),
            opening: ("forecast", vec!["Oslo".into()]),
            endless: ("wait", vec![]),
            recalling: ("now", vec![]),
            held: &Vec::new,
        })
        .await;
    }

    #[tokio::test]
    async fn a_call_that_is_dropped_drops_the_closures_future() {
        static RUNNING: AtomicUsize = AtomicUsize::new(0);
        struct Running;
        impl Drop for Running {
            fn drop(&mut self) {
                RUNNING.fetch_sub(1, Ordering::SeqCst);
            }
        }
        let endless = closure("x", "X.").read("endless", "Never ends.", [], || async {
            RUNNING.fetch_add(1, Ordering::SeqCst);
            let _running = Running;
            std::future::pending::<Result<(), ErrorReport>>().await
        });
        let execution = begin(endless).await;
        let call = tokio::time::timeout(Duration::from_millis(10), execution.call("endless", vec![]));
        assert!(call.await.is_err());
        assert_eq!(RUNNING.load(Ordering::SeqCst), 0);
        execution.dispose(Ending::Cancelled).await.unwrap();
    }
}

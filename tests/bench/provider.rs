//! Calls to a provider that does no work itself.

use crate::measure::{Bench, Named, Table, execute, median, middle, timed};
use async_trait::async_trait;
use codemode_provider::{CallContext, Ending, ExecutionContext, Provider, ProviderRuntime};
use codemode_spec::{Effect, ErrorReport, Manifest, Method, Param, Signature, Value, message::Encoded};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::runtime::Runtime;

pub const BENCHES: &[Named] = &[
    ("awaited provider call", awaited_call),
    ("100 parallel calls of 10 ms", parallel_calls),
    ("1 MB string to the guest", string_to_guest),
    ("1 MB object to the guest", object_to_guest),
];

/// The namespace `bench`.
pub struct BenchProvider {
    manifest: Manifest,
    replies: Arc<Replies>,
}

struct Replies {
    string: Value,
    object: Value,
}

/// Shared, so that creating a runtime adds no cost of the benchmark itself.
struct BenchRuntime(Arc<Replies>);

impl Default for BenchProvider {
    fn default() -> Self {
        let method = |name: &str| Method {
            name: name.to_owned(),
            doc: "For measuring.".to_owned(),
            signatures: vec![Signature {
                params: vec![Param { name: "value".to_owned(), schema: json!({}), optional: true }],
            }],
            returns: json!({}),
            effect: Effect::Read,
            background: false,
        };
        let methods = ["echo", "later", "string", "object"].map(method).to_vec();
        let manifest = Manifest {
            namespace: "bench".to_owned(),
            doc: "For measuring.".to_owned(),
            methods,
            layer: None,
            declaration: None,
        };
        let row = |index: usize| {
            json!({"id": index, "name": format!("row {index}"), "url": format!("https://example.test/{index}"),
                "visible": index.is_multiple_of(2), "box": {"x": index, "y": 1.5, "width": 100, "height": 20}})
        };
        let mut rows = Vec::new();
        let mut bytes = 0;
        while bytes < 1_000_000 {
            let row = row(rows.len());
            bytes += row.to_string().len() + 1;
            rows.push(row);
        }
        let replies = Replies { string: "x".repeat(1_000_000).into(), object: serde_json::Value::Array(rows).into() };
        Self { manifest, replies: Arc::new(replies) }
    }
}

#[async_trait]
impl Provider for BenchProvider {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    async fn create(&self, _: ExecutionContext) -> Result<Arc<dyn ProviderRuntime>, ErrorReport> {
        Ok(Arc::new(BenchRuntime(self.replies.clone())))
    }
}

#[async_trait]
impl ProviderRuntime for BenchRuntime {
    async fn call(&self, method: &str, mut arguments: Vec<Value>, _: CallContext) -> Result<Encoded, ErrorReport> {
        match method {
            "later" => tokio::time::sleep(Duration::from_millis(10)).await,
            "string" => return Ok(self.0.string.clone().into()),
            "object" => return Ok(self.0.object.clone().into()),
            _ => {}
        }
        Ok(arguments.pop().unwrap_or(Value::Undefined).into())
    }

    async fn dispose(&self, _: Ending) -> Result<(), ErrorReport> {
        Ok(())
    }
}

/// The cost of one more call: the slope over many calls in one execution.
fn awaited_call(bench: &Bench, runtime: &Runtime, table: &mut Table) {
    const CALLS: u32 = 2_000;
    let code = format!("async () => {{ for (let i = 0; i < {CALLS}; i++) await bench.echo(i) }}");
    let loop_only = format!("async () => {{ for (let i = 0; i < {CALLS}; i++) await i }}");
    let with = median(15, || drop(execute(runtime, &bench.executor, &code)));
    let without = median(15, || drop(execute(runtime, &bench.executor, &loop_only)));
    let bound = ("awaiting a number", without / CALLS);
    table.time("one awaited provider call", with.saturating_sub(without) / CALLS, Some(bound), "≤ 15 µs");
}

fn parallel_calls(bench: &Bench, runtime: &Runtime, table: &mut Table) {
    let code = "async () => (await Promise.all(Array.from({length: 100}, () => bench.later()))).length";
    let ours = median(30, || drop(execute(runtime, &bench.executor, code)));
    let bare = median(30, || {
        runtime.block_on(async {
            let sleeps = (0..100).map(|_| tokio::time::sleep(Duration::from_millis(10)));
            futures::future::join_all(sleeps).await;
        });
    });
    table.time("100 parallel calls of 10 ms", ours, Some(("100 bare sleeps", bare)), "–");
}

fn string_to_guest(bench: &Bench, runtime: &Runtime, table: &mut Table) {
    to_guest(bench, runtime, table, "string", "1 MB string host → guest", "≤ 5 ms");
}

fn object_to_guest(bench: &Bench, runtime: &Runtime, table: &mut Table) {
    to_guest(bench, runtime, table, "object", "1 MB object host → guest", "≤ 40 ms");
}

fn to_guest(bench: &Bench, runtime: &Runtime, table: &mut Table, method: &str, name: &str, aim: &str) {
    let code = format!("async () => {{ const it = await bench.{method}(); return it.length }}");
    let trivial = "async () => { const it = await bench.echo([]); return it.length }";
    let ours = middle((0..20).map(|_| timed(|| drop(execute(runtime, &bench.executor, &code)))).collect());
    let without = median(20, || drop(execute(runtime, &bench.executor, trivial)));
    let provider = BenchProvider::default();
    let replies = &provider.replies;
    let value = if method == "string" { replies.string.clone() } else { replies.object.clone() };
    let json = value.to_json().to_string();
    let bound = median(20, || drop(std::hint::black_box(serde_json::from_str::<serde_json::Value>(&json))));
    table.time(name, ours.saturating_sub(without), Some(("serde_json parses it natively", bound)), aim);
}

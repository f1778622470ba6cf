//! MCP over stdio, tested by a client with lines of JSON-RPC, in both revisions.

use crate::support::program::{PATIENCE, Place, Running, need_browser, wait_until};
use codemode_spec::limits::MCP_LINE_BYTES_MAX;
use rustix::process::Signal;
use serde_json::{Value as Json, json};
use std::time::Duration;

const HANDSHAKE: &str = "2025-11-25";
const STATELESS: &str = "2026-07-28";
/// The time within which a browser ends after its host has died: earlier than its lease would expire.
const NOTICED: Duration = Duration::from_secs(20);

struct Client {
    program: Running,
    stateless: bool,
    next_id: u64,
    /// Notifications received while waiting for an answer.
    notices: Vec<Json>,
}

impl Client {
    fn stateless(place: &Place) -> Self {
        Self::new(Running::start(place.command(&["mcp"])), true)
    }

    fn with_handshake(place: &Place) -> Self {
        let mut command = place.command(&["mcp"]);
        command.env("CODEMODE_CONCURRENT", "1");
        let mut client = Self::new(Running::start(command), false);
        let hello =
            json!({"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let answer = client.ask("initialize", hello);
        assert_eq!(answer["result"]["protocolVersion"], HANDSHAKE, "{answer}");
        assert_eq!(answer["result"]["serverInfo"]["name"], "codemode");
        client.tell("notifications/initialized", json!({}));
        client
    }

    fn new(program: Running, stateless: bool) -> Self {
        Self { program, stateless, next_id: 1, notices: Vec::new() }
    }

    fn tell(&mut self, method: &str, params: Json) {
        self.program.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn request(&mut self, method: &str, mut params: Json) -> u64 {
        if self.stateless {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(STATELESS);
            params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": "t", "version": "1"});
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        }
        let id = self.next_id;
        self.next_id += 1;
        self.program.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    fn answer(&mut self, id: u64) -> Json {
        loop {
            let message = self.program.receive();
            if message.get("method").is_some() {
                self.notices.push(message);
                continue;
            }
            assert_eq!(message["id"], id, "{message}");
            return message;
        }
    }

    fn ask(&mut self, method: &str, params: Json) -> Json {
        let id = self.request(method, params);
        self.answer(id)
    }

    /// Calls the tool and returns the result.
    fn call(&mut self, arguments: Json, meta: Json) -> Json {
        self.notices.clear();
        self.ask("tools/call", json!({"name": "browser_execute", "arguments": arguments, "_meta": meta}))["result"]
            .take()
    }

    fn call_code(&mut self, code: &str) -> Json {
        self.call(json!({"code": code}), json!({}))
    }

    /// Starts a call that logs that it is running and then waits for ever.
    fn begin(&mut self, before: &str) -> u64 {
        let code = format!("{before}; console.warn('running'); await new Promise((r) => setTimeout(r, 1e8))");
        let meta = json!({"io.modelcontextprotocol/logLevel": "warning"});
        let arguments = json!({"code": code, "timeout_ms": 600_000});
        let id = self.request("tools/call", json!({"name": "browser_execute", "arguments": arguments, "_meta": meta}));
        while self.program.receive()["params"]["data"] != "running" {}
        id
    }

    fn logged(&self) -> Vec<&str> {
        let logged = self.notices.iter().filter(|notice| notice["method"] == "notifications/message");
        logged.map(|notice| notice["params"]["data"].as_str().unwrap()).collect()
    }
}

fn text(result: &Json) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {result}"))
}

fn check_the_tool(result: &Json) {
    let bytes = result.to_string().len();
    assert!(bytes <= 4_000, "tools/list answers with {bytes} bytes");
    let [tool] = result["tools"].as_array().unwrap().as_slice() else { panic!("one tool: {result}") };
    assert_eq!(tool["name"], "browser_execute");
    assert_eq!(tool["inputSchema"]["additionalProperties"], false);
    let description = tool["description"].as_str().unwrap();
    assert!(description.contains("declare const cdp") && description.contains("attachToTarget"), "{description}");
}

#[test]
fn the_revision_with_a_handshake() {
    let place = Place::new();
    let mut client = Client::with_handshake(&place);
    check_the_tool(&client.ask("tools/list", json!({}))["result"]);
    let result = client.call_code("console.log('one'); console.warn('two'); ({ a: [1, 2] })");
    assert_eq!(text(&result), "{\"a\":[1,2]}\n\nconsole:\none\nwarn: two");
    assert_eq!((&result["isError"], &result["resultType"]), (&json!(false), &Json::Null));
    let envelope = &result["structuredContent"];
    assert_eq!((&envelope["ok"], &envelope["command"]), (&json!(true), &json!("browser_execute")));
    assert_eq!(envelope["data"]["result"], json!({"a": [1, 2]}));
    assert_eq!(envelope["data"]["logs"][1], json!({"level": "warn", "text": "two"}));
    assert_eq!(client.logged(), ["one", "two"]);

    client.ask("logging/setLevel", json!({"level": "warning"}));
    client.call_code("console.log('one'); console.warn('two')");
    assert_eq!(client.logged(), ["two"]);
}

#[test]
fn the_revision_without_a_handshake() {
    let place = Place::new();
    let mut client = Client::stateless(&place);
    let discovered = client.ask("server/discover", json!({}));
    let versions = discovered["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!(HANDSHAKE)) && versions.contains(&json!(STATELESS)), "{discovered}");
    let tools = client.ask("tools/list", json!({}));
    check_the_tool(&tools["result"]);
    assert!(tools["result"]["ttlMs"].as_u64().unwrap() > 0, "{tools}");

    let result = client.call_code("console.log('one'); 1 + 1");
    assert_eq!((text(&result), &result["resultType"]), ("2\n\nconsole:\none", &json!("complete")));
    assert!(client.logged().is_empty(), "only those who ask are told");
    client.call(json!({"code": "console.log('one')"}), json!({"io.modelcontextprotocol/logLevel": "info"}));
    assert_eq!(client.logged(), ["one"]);
}

#[test]
fn progress_is_told_to_clients_that_ask_and_only_grows() {
    let place = Place::new();
    let mut client = Client::stateless(&place);
    let code = "for (let i = 0; i < 5; i++) { await cdp.sessionInfo(); await new Promise((r) => setTimeout(r, 150)) }";
    client.call(json!({"code": code}), json!({"progressToken": "p"}));
    let told = client.notices.iter().filter(|notice| notice["method"] == "notifications/progress");
    let told: Vec<_> = told.map(|notice| &notice["params"]).collect();
    assert!(told.iter().all(|told| told["progressToken"] == "p"), "{told:?}");
    let values: Vec<_> = told.iter().map(|told| told["progress"].as_f64().unwrap()).collect();
    assert!(values.len() >= 3 && values.is_sorted_by(|a, b| a < b), "{told:?}");
    assert_eq!(told.last().unwrap()["message"], "cdp.sessionInfo");
    client.call_code(code);
    assert!(client.notices.is_empty(), "{:?}", client.notices);
}

#[test]
fn what_cannot_be_done_says_why() {
    let place = Place::new();
    let mut client = Client::with_handshake(&place);
    let wrong = client.call(json!({"kode": "1", "timeout_ms": "soon", "session": {"mode": "x"}}), json!({}));
    assert_eq!(wrong["isError"], true);
    assert_eq!(wrong["structuredContent"]["error"]["code"], "INVALID_ARGUMENT");
    for word in ["kode", "code", "timeout_ms", "session.mode"] {
        assert!(text(&wrong).contains(word), "{word} is missing in {}", text(&wrong));
    }
    let thrown = client.call_code("console.log('before');\nthrow new TypeError('no good')");
    assert!(text(&thrown).starts_with("error SCRIPT_ERROR: "), "{}", text(&thrown));
    assert!(text(&thrown).contains("no good") && text(&thrown).contains("\nhint: "), "{}", text(&thrown));
    assert!(text(&thrown).ends_with("console:\nbefore"), "{}", text(&thrown));

    let unknown = client.ask("tools/call", json!({"name": "browser_click", "arguments": {}}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    assert!(unknown["error"]["message"].as_str().unwrap().contains("browser_execute"), "{unknown}");
    assert_eq!(client.ask("no/such", json!({}))["error"]["code"], -32601);
}

#[test]
fn a_cancelled_call_ends_and_is_not_answered() {
    let place = Place::new();
    let mut client = Client::with_handshake(&place);
    let cancelled = client.begin("");
    client.tell("notifications/cancelled", json!({"requestId": cancelled, "reason": "changed my mind"}));
    // Only one execution may run: the next call can start only if the first has ended. `answer` fails if the cancelled
    // call is answered.
    assert_eq!(text(&client.call_code("'next'")), "next");
}

#[test]
fn a_line_that_cannot_be_read_is_answered_and_the_server_goes_on() {
    let place = Place::new();
    // Also as the first message.
    for mut client in [Client::with_handshake(&place), Client::stateless(&place)] {
        let long = format!("{{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":\"{}\"}}", "x".repeat(MCP_LINE_BYTES_MAX));
        for (line, code) in [("{", -32700), ("no message", -32700), (&long, -32700), ("[1]", -32600)] {
            client.program.send_line(line);
            let answer = client.program.receive();
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&Json::Null, &json!(code)), "{answer}");
        }
        client.program.send_line("{\"jsonrpc\":\"2.0\",\"id\":98}");
        let answer = client.program.receive();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(98), &json!(-32600)), "{answer}");
        assert_eq!(text(&client.call_code("1 + 1")), "2");
    }
}

#[test]
fn an_id_in_flight_is_refused_and_its_first_request_is_answered_once() {
    let place = Place::new();
    let mut client = Client::stateless(&place);
    let code = "console.warn('running'); await new Promise((r) => setTimeout(r, 1500)); 'first'";
    let meta = json!({"io.modelcontextprotocol/logLevel": "warning"});
    let first =
        client.request("tools/call", json!({"name": "browser_execute", "arguments": {"code": code}, "_meta": meta}));
    while client.program.receive()["params"]["data"] != "running" {}
    client.next_id = first;
    client.request("tools/call", json!({"name": "browser_execute", "arguments": {"code": "'second'"}}));
    let refused = client.program.receive();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(first), &json!(-32600)), "{refused}");
    assert!(text(&client.answer(first)["result"]).starts_with("first\n"));
    // The id can be reused, and the first call got no other answer.
    client.next_id = first;
    assert_eq!(text(&client.call_code("'third'")), "third");
}

#[test]
fn whole_numbers_may_be_written_as_floats() {
    let place = Place::new();
    let mut client = Client::stateless(&place);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"}, "io.modelcontextprotocol/clientCapabilities": {}});
    let call = |id: &str, arguments: &str| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"browser_execute\",\
             \"arguments\":{arguments},\"_meta\":{meta}}}}}"
        )
    };
    client.program.send_line(&call("1e0", "{\"code\":\"1\",\"timeout_ms\":3e4}"));
    assert_eq!(text(&client.answer(1)["result"]), "1");
    client
        .program
        .send_line(&call("2", "{\"code\":\"await new Promise(() => setTimeout(() => {}, 1e8))\",\"timeout_ms\":50.0}"));
    assert!(text(&client.answer(2)["result"]).starts_with("error TIME_EXCEEDED"));
    client.program.send_line(&call("3", "{\"code\":\"1\",\"timeout_ms\":1.5}"));
    assert!(text(&client.answer(3)["result"]).starts_with("error INVALID_ARGUMENT"));
    client.program.send_line(&call("4", "{\"code\":\"'x'.repeat(5000)\",\"result_chars\":1e3}"));
    let answer = client.answer(4);
    let result = answer["result"]["structuredContent"]["data"]["result"].as_str().unwrap();
    assert_eq!(result.chars().count(), 998, "with its quotes it has what was asked for");
}

#[test]
fn nothing_outlives_a_client_that_goes_away() {
    let place = Place::new();
    let mut client = Client::stateless(&place);
    client.begin("");
    client.program.hang_up();
    assert!(client.program.ended(PATIENCE).success());
}

#[test]
fn browsers_do_not_outlive_a_client_that_goes_away() {
    need_browser();
    type Leave = fn(&mut Running);
    let ways: [(&str, Leave); 3] = [
        ("its input ends", Running::hang_up),
        ("it is terminated", |program| program.signal(Signal::TERM)),
        ("it is killed", |program| program.signal(Signal::KILL)),
    ];
    for (how, leave) in ways {
        let place = Place::new();
        let mut client = Client::with_handshake(&place);
        client.begin("await cdp.attachToTarget()");
        assert!(!place.processes().is_empty(), "{how}: the browser runs");
        leave(&mut client.program);
        wait_until(how, NOTICED, || place.processes().is_empty());
        client.program.ended(PATIENCE);
    }
}

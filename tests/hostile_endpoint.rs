//! An endpoint that is taken for a browser, and sends what keeps a reader busy, cannot keep an execution beyond its time.

use crate::support::program::{PATIENCE, Place, Running};
use serde_json::{Value as Json, json};
use std::{
    io::Write as _,
    net::{TcpListener, TcpStream},
    thread,
};
use tokio_tungstenite::tungstenite::{Message, WebSocket, accept};

/// An endpoint with one page. A command that evaluates something there is answered by a flood of bytes without an end.
struct Endpoint {
    url: String,
}

impl Endpoint {
    /// `first` is sent once, `rest` again and again.
    fn that_floods_with(first: Vec<u8>, rest: &[u8]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("ws://{}/", listener.local_addr().unwrap());
        // As much as a system call takes, so that the sender is faster than the reader.
        let rest = rest.repeat((1 << 16) / rest.len() + 1);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (first, rest) = (first.clone(), rest.clone());
                thread::spawn(move || {
                    // A request for the description of the protocol is no WebSocket.
                    let Ok(socket) = accept(stream.unwrap()) else { return };
                    serve(socket, &first, &rest);
                });
            }
        });
        Self { url }
    }
}

/// Answers commands until one evaluates something, then floods until the client is gone.
fn serve(mut socket: WebSocket<TcpStream>, first: &[u8], rest: &[u8]) {
    let page = json!({
        "targetId": "PAGE", "type": "page", "title": "", "url": "about:blank", "attached": false,
        "canAccessOpener": false,
    });
    while let Ok(message) = socket.read() {
        let Message::Text(text) = message else { continue };
        let command: Json = serde_json::from_str(&text).unwrap();
        let mut told = Vec::new();
        let result = match command["method"].as_str().unwrap() {
            "Target.setDiscoverTargets" => {
                told.push(json!({ "method": "Target.targetCreated", "params": { "targetInfo": page } }));
                json!({})
            }
            "Browser.getVersion" => json!({
                "protocolVersion": "1.3", "product": "Chrome/156.0.0.0", "revision": "", "userAgent": "", "jsVersion": "",
            }),
            "Target.getTargets" => json!({ "targetInfos": [page] }),
            "Target.attachToTarget" => json!({ "sessionId": "SESSION" }),
            "Runtime.evaluate" => {
                let mut stream = socket.get_ref();
                let _ = stream.write_all(first);
                while stream.write_all(rest).is_ok() {}
                return;
            }
            _ => json!({}),
        };
        let mut answer = json!({ "id": command["id"], "result": result });
        if let Some(session) = command.get("sessionId") {
            answer["sessionId"] = session.clone();
        }
        told.push(answer);
        if told.iter().any(|message| socket.send(Message::text(message.to_string())).is_err()) {
            return;
        }
    }
}

/// A text message in one frame of a server.
fn message(text: &str) -> Vec<u8> {
    let length = u8::try_from(text.len()).ok().filter(|length| *length < 126).expect("a short message");
    [&[0x81, length], text.as_bytes()].concat()
}

#[test]
fn no_flood_of_an_endpoint_keeps_an_execution_beyond_its_time() {
    let ping = vec![0x89, 0];
    let (begins_a_message, goes_on_with_nothing) = (vec![0x01, 1, b'{'], vec![0x00, 0]);
    let floods = [
        ("pings", Vec::new(), ping),
        ("a message in empty pieces", begins_a_message, goes_on_with_nothing),
        ("events", Vec::new(), message(r#"{"method":"Some.event","params":{},"sessionId":"SESSION"}"#)),
        ("answers to nothing", Vec::new(), message(r#"{"id":4000000000,"result":{}}"#)),
        ("no JSON", Vec::new(), message("nothing")),
    ];
    let place = Place::new();
    for (what, first, rest) in floods {
        let endpoint = Endpoint::that_floods_with(first, &rest);
        let code = "const sessionId = await cdp.attachToTarget();
                    await cdp.send('Runtime.evaluate', { expression: '1' }, { sessionId })";
        let arguments = ["run", "--cdp-url", &endpoint.url, "--timeout", "1s", "--json", "-e", code];
        let mut running = Running::start(place.command(&arguments));
        running.ended(PATIENCE);
        let answer = running.receive();
        assert_eq!(answer["error"]["code"], "TIME_EXCEEDED", "{what}: {answer}");
    }
}

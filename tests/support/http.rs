//! Runs `codemode serve`, and a raw HTTP client for it.

use super::program::{PATIENCE, Place, Running};
use serde_json::{Value as Json, json};
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpStream},
    ops::Deref,
    process::Command,
    thread,
};

pub const HANDSHAKE: &str = "2025-11-25";
pub const STATELESS: &str = "2026-07-28";

/// A running `codemode serve`.
pub struct Serving {
    pub program: Running,
    client: Client,
}

/// A client of a host.
#[derive(Clone, Copy)]
pub struct Client {
    pub address: SocketAddr,
}

impl Deref for Serving {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Serving {
    pub fn start(place: &Place, arguments: &[&str]) -> Self {
        let mut command = place.command(&["serve", "--listen", "127.0.0.1:0"]);
        command.args(arguments);
        Self::of(command)
    }

    pub fn of(command: Command) -> Self {
        let mut program = Running::start(command);
        let line = program.receive_line().expect("it says where it listens");
        let address = line.trim().strip_prefix("http://").expect("an address").parse().unwrap();
        Self { program, client: Client { address } }
    }
}

impl Client {
    /// Opens a connection.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE * 2)).unwrap();
        stream
    }

    /// Sends raw bytes on a new connection and returns the answer.
    pub fn raw(&self, request: &[u8]) -> Reply {
        let mut stream = self.connect();
        // The write may fail when the host refuses the request before it has read all of it.
        let _ = stream.write_all(request);
        Reply::read(stream)
    }

    /// Sends a request and returns the answer.
    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        self.raw(self.request(method, path, headers, body).as_bytes())
    }

    /// Formats a request.
    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
        let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "host") {
            head += &format!("host: {}\r\n", self.address);
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head + "\r\n" + body
    }

    /// Formats an MCP message as an HTTP request.
    pub fn message(&self, headers: &[(&str, &str)], message: &Json) -> String {
        self.message_to("/mcp", headers, message)
    }

    /// Formats an MCP message as an HTTP request to another path.
    pub fn message_to(&self, path: &str, headers: &[(&str, &str)], message: &Json) -> String {
        let mut all = vec![("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
        let version = message.pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion");
        if version.is_some() {
            all.push(("mcp-protocol-version", STATELESS));
            all.push(("mcp-method", message["method"].as_str().unwrap()));
            all.extend(message["params"]["name"].as_str().map(|name| ("mcp-name", name)));
        }
        all.extend(headers);
        self.request("POST", path, &all, &message.to_string())
    }

    /// Sends an MCP message and returns the answer.
    pub fn send(&self, headers: &[(&str, &str)], message: &Json) -> Reply {
        self.raw(self.message(headers, message).as_bytes())
    }

    /// Starts an MCP session and returns its id.
    pub fn initialize(&self, headers: &[(&str, &str)]) -> String {
        let hello =
            json!({"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let answer = self.send(headers, &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}));
        assert_eq!(answer.message()["result"]["protocolVersion"], HANDSHAKE, "{answer:?}");
        let session = answer.header("mcp-session-id").expect("a session").to_owned();
        let all = with_session(headers, &session);
        let told = self.send(&all, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!(told.status, 202, "{told:?}");
        session
    }

    /// Starts an execution whose script logs the warning `running`, and waits for that; the thread returns the answer.
    pub fn begin(&self, headers: &[(&str, &str)], arguments: &Json) -> thread::JoinHandle<Option<Reply>> {
        let mut message = call(arguments);
        message["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("warning");
        let mut stream = self.connect();
        stream.write_all(self.message(headers, &message).as_bytes()).unwrap();
        let mut seen = Vec::new();
        while !String::from_utf8_lossy(&seen).contains("running") {
            let mut bytes = [0; 4096];
            let read = stream.read(&mut bytes).unwrap();
            assert_ne!(read, 0, "{}", String::from_utf8_lossy(&seen));
            seen.extend_from_slice(&bytes[..read]);
        }
        thread::spawn(move || {
            stream.read_to_end(&mut seen).ok()?;
            let text = String::from_utf8_lossy(&seen).into_owned();
            let data = text.lines().filter_map(|line| line.strip_prefix("data:")).next_back()?.trim().to_owned();
            Some(Reply { status: 200, headers: Vec::new(), body: data })
        })
    }

    /// Executes a script in the revision without a handshake; returns the envelope.
    pub fn execute(&self, headers: &[(&str, &str)], arguments: &Json) -> Json {
        let answer = self.send(headers, &call(arguments));
        let mut message = answer.message();
        assert_eq!(answer.status, 200, "{answer:?}");
        message["result"]["structuredContent"].take()
    }
}

/// The headers of a message in a session.
pub fn with_session<'a>(headers: &[(&'a str, &'a str)], session: &'a str) -> Vec<(&'a str, &'a str)> {
    let mut all = vec![("mcp-session-id", session), ("mcp-protocol-version", HANDSHAKE)];
    all.extend(headers);
    all
}

/// A call of the tool, in the revision without a handshake.
pub fn call(arguments: &Json) -> Json {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "browser_execute", "arguments": arguments, "_meta": meta});
    json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params})
}

/// An answer.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Reply {
    /// Reads the answer, to the end of the connection.
    pub fn read(stream: TcpStream) -> Self {
        Self::try_read(stream).expect("an answer")
    }

    /// Like [`Self::read`]; `None` if the connection closes without an answer.
    pub fn try_read(stream: TcpStream) -> Option<Self> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let status = line.split(' ').nth(1)?.parse().ok()?;
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut body = Vec::new();
        let is_chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        if is_chunked {
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).ok()?;
                let Ok(bytes @ 1..) = usize::from_str_radix(line.trim(), 16) else { break };
                let mut chunk = vec![0; bytes + 2];
                reader.read_exact(&mut chunk).ok()?;
                body.extend_from_slice(&chunk[..bytes]);
            }
        } else {
            // After a reset, what was read so far is the answer.
            let _ = reader.read_to_end(&mut body);
        }
        let _ = reader.into_inner().shutdown(Shutdown::Both);
        Some(Self { status, headers, body: String::from_utf8_lossy(&body).into_owned() })
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    pub fn json(&self) -> Json {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// The MCP messages in the answer: those of an event stream, or the single one.
    pub fn messages(&self) -> Vec<Json> {
        if self.header("content-type") != Some("text/event-stream") {
            return vec![self.json()];
        }
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data:").map(str::trim));
        data.filter(|data| !data.is_empty()).map(|data| serde_json::from_str(data).unwrap()).collect()
    }

    /// The last message: the response to the request.
    pub fn message(&self) -> Json {
        self.messages().pop().unwrap_or_else(|| panic!("no message in {self:?}"))
    }
}

//! `codemode serve`, and a client of it that sends what it is told to.

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

/// A host that serves.
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
    /// A connection.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE * 2)).unwrap();
        stream
    }

    /// The answer to a request that is sent as it is, on a connection of its own.
    pub fn raw(&self, request: &[u8]) -> Reply {
        let mut stream = self.connect();
        // Refused early, the rest may have nowhere to go.
        let _ = stream.write_all(request);
        Reply::read(stream)
    }

    /// The answer to a request.
    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        self.raw(self.request(method, path, headers, body).as_bytes())
    }

    /// The text of a request.
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

    /// A message of MCP, as a request of HTTP.
    pub fn message(&self, headers: &[(&str, &str)], message: &Json) -> String {
        self.message_to("/mcp", headers, message)
    }

    /// The same at another path.
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

    /// What is answered to a message of MCP.
    pub fn send(&self, headers: &[(&str, &str)], message: &Json) -> Reply {
        self.raw(self.message(headers, message).as_bytes())
    }

    /// Begins a session of MCP; gives its id.
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

    /// Begins an execution whose script warns that it is `running`, and waits until it says so; what it answers.
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

    /// The envelope of an execution, in the revision without a handshake.
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
    /// Reads to the end of the connection.
    pub fn read(stream: TcpStream) -> Self {
        Self::try_read(stream).expect("an answer")
    }

    /// The same; none if the connection ended without one.
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
            // A connection that was reset has said what it had to say.
            let _ = reader.read_to_end(&mut body);
        }
        let _ = reader.into_inner().shutdown(Shutdown::Both);
        Some(Self { status, headers, body: String::from_utf8_lossy(&body).into_owned() })
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// The body.
    pub fn json(&self) -> Json {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// The messages of an answer of MCP: of a stream of events, or the one.
    pub fn messages(&self) -> Vec<Json> {
        if self.header("content-type") != Some("text/event-stream") {
            return vec![self.json()];
        }
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data:").map(str::trim));
        data.filter(|data| !data.is_empty()).map(|data| serde_json::from_str(data).unwrap()).collect()
    }

    /// The last of them: what the request was about.
    pub fn message(&self) -> Json {
        self.messages().pop().unwrap_or_else(|| panic!("no message in {self:?}"))
    }
}

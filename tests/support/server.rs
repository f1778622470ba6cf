//! Runs `codemode mcp`, for tests that need executions in a separate process.

use super::program::{Place, Running};
use serde_json::{Value as Json, json};
use std::fs;

/// A running `codemode mcp`, used in the revision without a handshake.
pub struct Server {
    program: Running,
    pid: i32,
    next_id: u64,
}

impl Server {
    pub fn start(place: &Place) -> Self {
        let program = Running::start(place.command(&["mcp"]));
        let pid = program.pid();
        Self { program, pid, next_id: 1 }
    }

    /// Executes a script and returns the envelope.
    pub fn execute(&mut self, code: &str) -> Json {
        self.call(json!({ "code": code }))
    }

    /// Calls the tool with these arguments and returns the envelope.
    pub fn call(&mut self, arguments: Json) -> Json {
        let id = self.next_id;
        self.next_id += 1;
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({"name": "browser_execute", "arguments": arguments, "_meta": meta});
        self.program.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
        loop {
            let mut message = self.program.receive();
            if message["id"] == id {
                return message["result"]["structuredContent"].take();
            }
        }
    }

    pub fn pid(&self) -> i32 {
        self.pid
    }

    pub fn open_files(&self) -> Vec<String> {
        let files = fs::read_dir(format!("/proc/{}/fd", self.pid)).unwrap().flatten();
        files.filter_map(|file| Some(fs::read_link(file.path()).ok()?.display().to_string())).collect()
    }

    pub fn children(&self) -> usize {
        let parent = |entry: &fs::DirEntry| {
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse::<i32>().ok()
        };
        fs::read_dir("/proc").unwrap().flatten().filter(|entry| parent(entry) == Some(self.pid)).count()
    }
}

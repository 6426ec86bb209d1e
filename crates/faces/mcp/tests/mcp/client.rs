//! A client that writes and reads lines of JSON-RPC.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Map, Value, json};
use trawl_testkit::process::is_alive;

/// A conversation with a server. The server is killed if it does not end by itself.
pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next_id: u64,
    /// Notifications that came while an answer was waited for.
    pub(crate) notifications: Vec<Value>,
}

impl Client {
    /// Starts a server, and shakes hands with it.
    #[track_caller]
    pub(crate) fn start(command: &mut Command) -> Client {
        let mut client = Client::silent(command);
        client.greet();
        client
    }

    /// Starts a server, and says nothing.
    #[track_caller]
    pub(crate) fn silent(command: &mut Command) -> Client {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the server starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Client {
            child,
            input,
            output,
            next_id: 1,
            notifications: Vec::new(),
        }
    }

    #[track_caller]
    pub(crate) fn greet(&mut self) -> Value {
        let hello = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let answer = self.request("initialize", hello);
        self.notify("notifications/initialized", json!({}));
        answer["result"].clone()
    }

    /// Returns the number of the server's process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the numbers of the processes that the server has started and that have not ended.
    pub(crate) fn commands(&self) -> Vec<u32> {
        let path = format!("/proc/{0}/task/{0}/children", self.id());
        let list = std::fs::read_to_string(path).unwrap_or_default();
        let numbers = list.split_whitespace().filter_map(|word| word.parse().ok());
        numbers.filter(|number| is_alive(*number)).collect()
    }

    #[track_caller]
    pub(crate) fn write(&mut self, message: &Value) {
        let mut line = message.to_string();
        line.push('\n');
        let input = self.input.as_mut().expect("the conversation goes on");
        input
            .write_all(line.as_bytes())
            .expect("the server listens");
        input.flush().expect("the server listens");
    }

    #[track_caller]
    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request, and returns its id.
    #[track_caller]
    pub(crate) fn send(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Returns the next message.
    #[track_caller]
    pub(crate) fn receive(&mut self) -> Value {
        let mut line = String::new();
        let count = self.output.read_line(&mut line).expect("UTF-8");
        assert!(count > 0, "the server has ended");
        serde_json::from_str(&line).expect("JSON")
    }

    /// Returns the answer to a request.
    #[track_caller]
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.receive();
            match message.get("id") {
                Some(other) if *other == id => return message,
                Some(_) => panic!("an answer that nobody waits for: {message}"),
                None => self.notifications.push(message),
            }
        }
    }

    #[track_caller]
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// Calls a tool, and returns the result.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        let answer = self.request("tools/call", params);
        assert!(answer.get("error").is_none(), "{tool}: {answer}");
        answer["result"].clone()
    }

    /// Calls a tool that succeeds, and returns its structured content.
    #[track_caller]
    pub(crate) fn ask(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{tool}: {result}");
        result["structuredContent"].clone()
    }

    /// Calls a tool that refuses or fails, and returns the reason.
    #[track_caller]
    pub(crate) fn refusal(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        result["content"][0]["text"]
            .as_str()
            .expect("a text")
            .to_owned()
    }

    /// Returns all rows of an answer, continued until its end, and the last page.
    #[track_caller]
    pub(crate) fn all(&mut self, tool: &str, arguments: Value) -> (Vec<Map<String, Value>>, Value) {
        let mut page = self.ask(tool, arguments);
        let mut rows = rows(&page);
        while let Some(cursor) = page.get("cursor").cloned() {
            assert_eq!(page["complete"], false, "{page}");
            page = self.ask("more", json!({"cursor": cursor}));
            rows.extend(self::rows(&page));
        }
        (rows, page)
    }

    /// Leaves, and returns the exit code of the server.
    pub(crate) fn leave(mut self) -> Option<i32> {
        self.input = None;
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn rows(page: &Value) -> Vec<Map<String, Value>> {
    let rows = page["rows"].as_array().expect("rows");
    let row = |row: &Value| row.as_object().expect("an object").clone();
    rows.iter().map(row).collect()
}

/// Waits until the processes have ended.
pub(crate) fn wait_for_end(numbers: &[u32]) {
    while numbers.iter().any(|number| is_alive(*number)) {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

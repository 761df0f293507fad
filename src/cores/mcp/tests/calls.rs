//! What an agent can do that is let in.

use std::{
    io::{self, Read},
    sync::Mutex,
};

use rmcp::model::{ListToolsResult, Tool as McpTool};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::*;
use crate::cores::mcp::{PROGRESS, carry};

#[tokio::test]
async fn the_agent_lists_what_the_page_has_now_and_is_told_when_that_changes() {
    let server = Server::new(PROGRESS);
    let place = server.place(true);
    place.set_tools(&page(&["paint"]));
    let mut agent = Connected::to(&place).await;
    assert_eq!(agent.names().await, [ASK_USER, "paint"]);
    soon(place.listed()).await;

    assert!(!place.set_tools(&page(&["paint"])), "it is the same");
    assert!(place.set_tools(&page(&["paint", "open"])));
    assert!(matches!(agent.told().await, Told::Changed));
    let mut listed = std::pin::pin!(place.listed());
    let is_known = timeout(Duration::from_millis(20), &mut listed).await;
    assert!(is_known.is_err(), "it was told, and has not asked yet");
    assert_eq!(agent.names().await, [ASK_USER, "paint", "open"]);
    soon(listed).await;
    assert!(agent.told.try_recv().is_err(), "once");

    let tools: Vec<McpTool> = agent.service.list_all_tools().await.unwrap();
    let shown = serde_json::to_value(ListToolsResult::with_all_items(tools)).unwrap();
    let paint = &shown["tools"][1];
    assert_eq!(paint["description"], "does paint");
    assert_eq!(paint["_meta"], json!({"anthropic/alwaysLoad": true}));
    assert_eq!(paint["inputSchema"]["properties"]["a"]["type"], "number");
    server.close().await;
}

/// A call that takes long is answered all the same: the agent hears of it again and again until then.
#[tokio::test]
async fn a_call_is_kept_alive_for_as_long_as_it_is_open() {
    let server = Server::new(Duration::from_millis(20));
    let place = server.place(false);
    place.set_tools(&page(&["paint"]));
    let mut agent = Connected::to(&place).await;
    let mut turn = place.attend();
    let call = agent.call("paint", json!({"a": 1.5})).await;
    let called = soon(turn.next()).await;
    assert_eq!(called.name, "paint");
    assert_eq!(Value::Object(called.arguments.clone()), json!({"a": 1.5}));
    assert!(called.meta.contains_key("progressToken"));
    for _ in 0..18 {
        assert!(matches!(agent.told().await, Told::Progress));
    }
    called.answer(outcome("blue"));
    assert_eq!(result(call).await, ("blue".into(), false));
}

/// The head of the answer is there at once, before anything is known: agents wait a minute for it.
#[tokio::test]
async fn an_answer_begins_before_the_call_has_ended() {
    let server = Server::new(PROGRESS);
    let place = server.place(false);
    place.set_tools(&page(&["paint"]));
    let mut turn = place.attend();
    let head = post(&place, "", INITIALIZE);
    let mut stream = send(&place, &head).await;
    let session = header(&mut stream, "mcp-session-id").await;
    let call =
        json!({"jsonrpc": "2.0", "id": 0, "method": "tools/call", "params": {"name": "paint"}});
    let request = post(
        &place,
        &format!("mcp-session-id: {session}\r\n"),
        &call.to_string(),
    );
    let mut stream = send(&place, &request).await;
    let kind = header(&mut stream, "content-type").await;
    assert_eq!(kind, "text/event-stream");

    // Nobody reads the answer any more.
    let mut called = soon(turn.next()).await;
    assert!(called.arguments.is_empty(), "none is an empty object");
    drop(stream);
    soon(called.given_up()).await;
}

#[tokio::test]
async fn two_calls_are_open_at_once_and_each_has_its_own_answer() {
    let server = Server::new(PROGRESS);
    let place = server.place(false);
    place.set_tools(&page(&["paint", "open"]));
    let [one, other] = [Connected::to(&place).await, Connected::to(&place).await];
    let mut turn = place.attend();
    // Each connection counts its requests anew.
    let calls = [
        one.call("paint", json!({"n": 1})).await,
        one.call("open", json!({"n": 2})).await,
        other.call("open", json!({"n": 3})).await,
    ];
    let mut called = Vec::new();
    for _ in &calls {
        called.push(soon(turn.next()).await);
    }
    for called in called.into_iter().rev() {
        let text = format!("{} {}", called.name, called.arguments["n"]);
        called.answer(outcome(&text));
    }
    for (call, wanted) in calls.into_iter().zip(["paint 1", "open 2", "open 3"]) {
        assert_eq!(result(call).await, (wanted.into(), false));
    }
}

#[tokio::test]
async fn a_call_that_the_agent_cancels_is_given_up_and_no_other_is() {
    let server = Server::new(PROGRESS);
    let place = server.place(false);
    place.set_tools(&page(&["paint"]));
    let agent = Connected::to(&place).await;
    let mut turn = place.attend();
    let [first, second] = [
        agent.call("paint", json!({})).await,
        agent.call("paint", json!({})).await,
    ];
    let mut called = soon(turn.next()).await;
    let other = soon(turn.next()).await;
    let id = first.id.clone();
    first.cancel(None).await.unwrap();
    soon(called.given_up()).await;
    // Again, and of one that has ended: some agents say so of calls that have succeeded.
    other.answer(outcome("done"));
    assert_eq!(result(second).await.0, "done");
    let again = rmcp::model::CancelledNotificationParam::new(Some(id), None);
    agent.service.notify_cancelled(again).await.unwrap();
    assert_eq!(agent.names().await, ["paint"]);
}

#[tokio::test]
async fn between_turns_no_tool_can_be_called() {
    let server = Server::new(PROGRESS);
    let place = server.place(true);
    place.set_tools(&page(&["paint"]));
    let agent = Connected::to(&place).await;
    let no_turn = ("not executed: no turn is live".to_owned(), true);
    for name in ["paint", ASK_USER, "nothing"] {
        assert_eq!(result(agent.call(name, json!({})).await).await, no_turn);
    }
    let mut turn = place.attend();
    let unknown = result(agent.call("nothing", json!({})).await).await;
    let text = "not executed: the page does not have this tool now";
    assert_eq!(unknown, (text.to_owned(), true));
    let open = agent.call("paint", json!({})).await;
    let called = soon(turn.next()).await;
    let untaken = agent.call("paint", json!({})).await;
    while turn.taken.is_empty() {
        tokio::task::yield_now().await;
    }
    drop((turn, called));
    let ended = ("not executed: the turn has ended".to_owned(), true);
    assert_eq!(result(open).await, ended);
    assert_eq!(result(untaken).await, ended);
    assert_eq!(result(agent.call("paint", json!({})).await).await, no_turn);
}

#[tokio::test]
async fn what_agents_ask_besides_is_answered() {
    let server = Server::new(PROGRESS);
    let place = server.place(false);
    place.set_tools(&page(&["paint"]));
    let _turn = place.attend();
    let mut stream = send(&place, &post(&place, "", INITIALIZE)).await;
    let session = header(&mut stream, "mcp-session-id").await;
    drop(stream);
    let session = format!("mcp-session-id: {session}\r\n");
    let new_way = "mcp-protocol-version: 2026-07-28\r\nmcp-method: server/discover\r\n".to_owned();
    let arguments = json!({"name": "paint", "arguments": [1]});
    for (headers, method, params, wanted) in [
        (&session, "ping", json!({}), r#""result":{}"#),
        (&session, "prompts/list", json!({}), r#""code":-32601"#),
        (&session, "resources/list", json!({}), r#""code":-32601"#),
        (&session, "tools/call", arguments, r#""isError":true"#),
        (&new_way, "server/discover", discover(), r#""code":-32601"#),
    ] {
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let request = post(
            &place,
            &format!("connection: close\r\n{headers}"),
            &body.to_string(),
        );
        let answer = raw(&place, &request).await;
        assert!(answer.contains(wanted), "{method}: {answer}");
    }
}

/// What Claude Code asks before anything else.
fn discover() -> Value {
    json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }})
}

#[tokio::test]
async fn the_versions_that_agents_speak_are_spoken() {
    let server = Server::new(PROGRESS);
    let place = server.place(false);
    for version in ["2025-06-18", "2025-11-25"] {
        let body = INITIALIZE.replace("2025-11-25", version);
        let mut answer = send(&place, &post(&place, "", &body)).await;
        loop {
            let mut line = String::new();
            soon(answer.read_line(&mut line)).await.unwrap();
            if let Some(data) = line.strip_prefix("data: ") {
                let shown: Value = serde_json::from_str(data).unwrap();
                assert_eq!(shown["result"]["protocolVersion"], version);
                assert_eq!(shown["result"]["serverInfo"]["name"], "agui");
                assert_eq!(
                    shown["result"]["capabilities"]["tools"]["listChanged"],
                    true
                );
                break;
            }
        }
    }
}

/// An input that is what a channel brings.
struct Piped(std::sync::mpsc::Receiver<Vec<u8>>, Vec<u8>);

impl Read for Piped {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.1.is_empty() {
            self.1 = self.0.recv().unwrap_or_default();
        }
        let count = self.1.len().min(into.len());
        into[..count].copy_from_slice(&self.1[..count]);
        self.1.drain(..count);
        Ok(count)
    }
}

/// An output that a channel takes away.
struct Taken(Mutex<mpsc::UnboundedSender<Vec<u8>>>);

impl io::Write for Taken {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.0.lock().unwrap().send(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn an_agent_without_http_calls_through_a_program_that_carries_bytes() {
    let server = Server::new(Duration::from_millis(20));
    let place = server.place(false);
    place.set_tools(&page(&["paint"]));
    let mut turn = place.attend();
    let variables = place.line().unwrap().variables();
    let (say, input) = std::sync::mpsc::channel();
    let (output, mut said) = mpsc::unbounded_channel();
    let carrying = tokio::task::spawn_blocking(move || {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.clone())
        };
        carry(
            variable,
            Piped(input, Vec::new()),
            Taken(Mutex::new(output)),
        )
    });
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "paint", "arguments": {}, "_meta": {"progressToken": 5}}});
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    for line in [
        INITIALIZE.to_owned(),
        initialized.to_string(),
        call.to_string(),
    ] {
        say.send(format!("{line}\n").into_bytes()).unwrap();
    }
    let mut text = String::new();
    let called = soon(turn.next()).await;
    while !text.contains("notifications/progress") {
        text += &String::from_utf8(soon(said.recv()).await.unwrap()).unwrap();
    }
    assert!(place.set_tools(&page(&["open"])));
    called.answer(outcome("blue"));
    while !(text.contains("blue") && text.contains("list_changed")) {
        text += &String::from_utf8(soon(said.recv()).await.unwrap()).unwrap();
    }
    // The place is over, and so is the program.
    drop(place);
    soon(carrying).await.unwrap().unwrap();
    drop(say);
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#;

/// A request as agents send it.
fn post(place: &Place, headers: &str, body: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{{port}}\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         {headers}content-length: {}\r\n\r\n{body}",
        place.secret().expose(),
        body.len()
    )
}

async fn send(place: &Place, request: &str) -> BufReader<TcpStream> {
    let url = place.url().unwrap();
    let addr = url.strip_prefix("http://").unwrap().split('/').next();
    let mut stream = TcpStream::connect(addr.unwrap()).await.unwrap();
    let port = stream.peer_addr().unwrap().port().to_string();
    let request = request.replace("{port}", &port);
    stream.write_all(request.as_bytes()).await.unwrap();
    BufReader::new(stream)
}

/// Reads the head of an answer, and gives back one of its headers.
async fn header(stream: &mut BufReader<TcpStream>, name: &str) -> String {
    let mut found = String::new();
    loop {
        let mut line = String::new();
        soon(stream.read_line(&mut line)).await.unwrap();
        let Some((known, value)) = line.trim_end().split_once(": ") else {
            if line.trim_end().is_empty() {
                return found;
            }
            continue;
        };
        if known.eq_ignore_ascii_case(name) {
            value.clone_into(&mut found);
        }
    }
}

//! What the agent writes: messages, one a line, and what is none.

use std::{
    io::{self, Write as _},
    process::exit,
};

use serde_json::{Value, json};

pub(crate) fn say(session: &Value, text: &str) {
    chunk(session, "agent_message_chunk", text);
}

pub(crate) fn chunk(session: &Value, kind: &str, text: &str) {
    let content = json!({"type": "text", "text": text});
    update(session, &json!({"sessionUpdate": kind, "content": content}));
}

pub(crate) fn update(session: &Value, update: &Value) {
    let params = json!({"sessionId": session, "update": update});
    send(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
}

pub(crate) fn answer(id: &Value, result: &Value) {
    send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

pub(crate) fn refuse(id: &Value, code: i32, message: &str) {
    let error = json!({"code": code, "message": message});
    send(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
}

pub(crate) fn send(message: &Value) {
    print(&message.to_string());
}

/// Writes a line. Those of different threads do not mix.
pub(crate) fn print(line: &str) {
    let mut out = io::stdout().lock();
    // Without a reader there is nobody to tell.
    if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
        exit(0);
    }
}

/// The beginning of a message.
pub(crate) fn half() {
    print!("{{\"jsonrpc\":\"2.0\",\"method\":\"session/upd");
    let _ = io::stdout().flush();
}

/// What wrappers, colours and mistakes write between two messages.
pub(crate) fn noise() {
    print("npm notice\r\n\u{1b}[2K\u{1b}[1Gbuilding\u{1b}[0m\r\n[1,2]\n\"text\"\n{\"cut");
    let mut out = io::stdout().lock();
    let bytes = b"\xff\xfe{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{}}\n";
    out.write_all(bytes).expect("somebody reads");
    let long = "x".repeat(20 * 1024 * 1024);
    writeln!(
        out,
        "{{\"jsonrpc\":\"2.0\",\"method\":\"noise\",\"params\":{{\"a\":\"{long}\"}}}}"
    )
    .expect("somebody reads");
}

/// A message that is one line of so many bytes.
pub(crate) fn endless(bytes: usize) {
    const PIECE: &[u8] = &[b'x'; 64 * 1024];
    let mut out = io::stdout().lock();
    let mut write = |bytes: &[u8]| out.write_all(bytes).expect("somebody reads");
    write(b"{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":\"");
    for at in (0..bytes).step_by(PIECE.len()) {
        write(&PIECE[..PIECE.len().min(bytes - at)]);
    }
    write(b"\"}\n");
}

//! Whoever is not let in.

use super::*;
use crate::cores::mcp::PROGRESS;

#[tokio::test]
async fn a_forged_secret_and_one_that_is_over_open_nothing() {
    let server = Server::new(PROGRESS);
    let place = server.place(true);
    let url = place.url().unwrap();
    let forged = super::super::Secret::generate();
    assert!(
        Connected::http(url.clone(), forged.expose())
            .await
            .is_none()
    );
    let secret = place.secret().clone();
    let agent = Connected::http(url.clone(), secret.expose()).await;
    assert_eq!(agent.as_ref().unwrap().names().await, [ASK_USER]);
    drop(place);
    assert!(Connected::http(url, secret.expose()).await.is_none());
    let gone = soon(agent.unwrap().service.list_all_tools()).await;
    assert!(gone.is_err(), "what was open has ended");
}

#[tokio::test]
async fn the_secret_of_another_conversation_opens_that_one_alone() {
    let server = Server::new(PROGRESS);
    let [one, other] = [server.place(false), server.place(false)];
    one.set_tools(&page(&["paint"]));
    other.set_tools(&page(&["open"]));
    let mut turn = one.attend();
    let agent = Connected::to(&other).await;
    assert_eq!(agent.names().await, ["open"]);
    let (text, failed) = result(agent.call("paint", json!({})).await).await;
    assert_eq!(
        (text.as_str(), failed),
        ("not executed: no turn is live", true)
    );
    // Not with a connection of the other one's, either.
    let session = connection(&one).await;
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{{port}}\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         mcp-session-id: {session}\r\nconnection: close\r\ncontent-length: 60\r\n\r\n\
         {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{{}}}}  ",
        other.secret().expose()
    );
    let answer = raw(&other, &request).await;
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    assert!(turn.taken.try_recv().is_err());
}

/// The name of a connection with a place.
async fn connection(place: &Place) -> String {
    let body = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#;
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{{port}}\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        place.secret().expose(),
        body.len()
    );
    let answer = raw(place, &request).await;
    let mut lines = answer.lines();
    let id = lines.find_map(|line| line.strip_prefix("mcp-session-id: "));
    id.expect("it has a name").to_owned()
}

#[tokio::test]
async fn a_page_is_not_let_in_nor_is_anything_that_is_no_request_of_an_agents() {
    let server = Server::new(PROGRESS);
    let place = server.place(false);
    let shown = format!("authorization: Bearer {}\r\n", place.secret().expose());
    let host = "host: 127.0.0.1:{port}\r\n";
    for (method, headers, status) in [
        (
            "POST",
            format!("{host}{shown}origin: http://localhost\r\n"),
            403,
        ),
        (
            "OPTIONS",
            format!("{host}origin: http://localhost\r\n"),
            403,
        ),
        ("POST", format!("host: pages.example\r\n{shown}"), 421),
        ("POST", format!("host: 127.0.0.1\r\n{shown}"), 421),
        ("PUT", format!("{host}{shown}"), 405),
        ("POST", host.to_owned(), 401),
        ("GET", format!("{host}authorization: Bearer x\r\n"), 401),
        (
            "POST",
            format!("{host}{shown}content-length: 4194305\r\n"),
            413,
        ),
    ] {
        let request = format!("{method} /mcp HTTP/1.1\r\nconnection: close\r\n{headers}\r\n");
        let answer = raw(&place, &request).await;
        let wanted = format!("HTTP/1.1 {status} ");
        assert!(answer.starts_with(&wanted), "{request}: {answer}");
        assert!(!answer.contains("access-control"), "{answer}");
    }
}

#[tokio::test]
async fn a_body_without_end_is_not_read_to_its_end() {
    let server = Server::new(PROGRESS);
    let place = server.place(false);
    let url = place.url().unwrap();
    let addr = url.strip_prefix("http://").unwrap().split('/').next();
    let stream = TcpStream::connect(addr.unwrap()).await.unwrap();
    let port = stream.peer_addr().unwrap().port();
    let (mut read, mut write) = stream.into_split();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         transfer-encoding: chunked\r\n\r\n",
        place.secret().expose()
    );
    write.write_all(head.as_bytes()).await.unwrap();
    let piece = format!("10000\r\n{}\r\n", " ".repeat(0x1_0000));
    let mut sent = 0_usize;
    let sending = async {
        while write.write_all(piece.as_bytes()).await.is_ok() {
            sent += 0x1_0000;
        }
    };
    let mut answer = [0; 12];
    tokio::select! {
        () = soon(sending) => {}
        read = read.read_exact(&mut answer) => {
            read.unwrap();
            assert_eq!(&answer, b"HTTP/1.1 413");
        }
    }
    assert!(sent < 64 * 1024 * 1024, "{sent}");
}

#[tokio::test]
async fn the_line_for_programs_is_closed_to_whoever_shows_no_secret() {
    let server = Server::new(PROGRESS);
    let place = server.place(false);
    let line = place.line().unwrap();
    assert!(!format!("{line:?}{place:?}{server:?}").contains(place.secret().expose()));
    for said in ["POST / HTTP/1.1\r\nhost: x\r\n\r\n", "\n", &"x".repeat(500)] {
        let mut stream = TcpStream::connect(line.address).await.unwrap();
        stream.write_all(said.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // It may be reset, since not all of it was read.
        let _ = soon(stream.read_to_end(&mut answer)).await;
        assert!(answer.is_empty());
    }
}

#[tokio::test]
async fn a_server_that_is_closed_leaves_no_task() {
    let server = Server::new(PROGRESS);
    let place = server.place(false);
    place.set_tools(&page(&["paint"]));
    let agent = Connected::to(&place).await;
    let mut turn = place.attend();
    let call = agent.call("paint", json!({})).await;
    let mut called: Called = soon(turn.next()).await;
    soon(server.close()).await;
    soon(called.given_up()).await;
    assert!(soon(call.await_response()).await.is_err());
}

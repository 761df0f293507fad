//! A bare hyper server that answers everything with the same body.

use std::{convert::Infallible, net::SocketAddr};

use bytes::Bytes;
use futures_util::stream;
use http_body_util::StreamBody;
use hyper::{
    Request, Response,
    body::{Frame, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

/// A body, made frame by frame.
pub(crate) trait Body: Clone + Send + 'static {
    /// A frame by its number, from 0 on; none after the last.
    fn frame(&self, at: usize) -> Option<Bytes>;
}

/// Serves a body on a port of its own, until `servers` is dropped.
pub(crate) async fn serve(
    servers: &mut JoinSet<()>,
    body: impl Body,
) -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    servers.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((socket, _)) = listener.accept().await {
            connections.spawn(answer(socket, body.clone()));
        }
    });
    Ok(address)
}

async fn answer(socket: TcpStream, body: impl Body) {
    let respond = service_fn(move |_: Request<Incoming>| {
        let body = body.clone();
        let frames = (0..).map_while(move |at| body.frame(at));
        let frames = stream::iter(frames.map(|frame| Ok::<_, Infallible>(Frame::data(frame))));
        let response = Response::builder()
            .header("content-type", "text/event-stream")
            .body(StreamBody::new(frames));
        async { response }
    });
    let served = async {
        socket.set_nodelay(true)?;
        http1::Builder::new()
            .serve_connection(TokioIo::new(socket), respond)
            .await?;
        anyhow::Ok(())
    };
    if let Err(error) = served.await {
        eprintln!("the bare server failed: {error}");
    }
}

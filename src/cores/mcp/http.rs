//! The tools over HTTP (MCP, Streamable HTTP): who is let in is decided here, the rest is the SDK's.

use std::{
    convert::Infallible,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt as _, Empty, combinators::BoxBody};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{net::TcpStream, sync::OwnedSemaphorePermit, time::sleep};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::debug;

use super::{guard, handler::Unread, listener::Common, refusal::Refusal, seats};

/// The longest wait for a request's head, also between two requests.
const HEAD: Duration = Duration::from_secs(75);

/// How long a connection may be there before a secret is shown on it.
const STRANGER: Duration = Duration::from_secs(5);

/// What an answer consists of.
type Inner = BoxBody<Bytes, Infallible>;

/// Serves a connection to its end.
pub(super) async fn serve(stream: TcpStream, here: SocketAddr, common: Common) {
    // What is sent is small and waited for.
    let _ = stream.set_nodelay(true);
    let is_known = Arc::new(AtomicBool::new(false));
    let known = Arc::clone(&is_known);
    let service = service_fn(move |request| {
        let (common, known) = (common.clone(), Arc::clone(&known));
        async move {
            let (response, is_known) = answer(request, here.port(), &common).await;
            known.fetch_or(is_known, Ordering::Relaxed);
            Ok::<_, Infallible>(response)
        }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(TokioIo::new(stream), service);
    // Anybody on this machine can connect, and take the room of those who have a secret.
    let stranger = async {
        sleep(STRANGER).await;
        if is_known.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        biased;
        served = served => {
            if let Err(error) = served {
                debug!(%error, "a connection of an agent ended");
            }
        }
        () = stranger => debug!("a connection was closed on which no secret was shown"),
    }
}

/// Answers, and says whether the request has shown a secret.
async fn answer(
    request: Request<Incoming>,
    port: u16,
    common: &Common,
) -> (Response<Watched>, bool) {
    match try_answer(request, port, common).await {
        Ok(response) => {
            if response.status().as_u16() == Refusal::TooLong.status() {
                common.refusals.note(Refusal::TooLong);
            }
            (response, true)
        }
        Err(refusal) => {
            common.refusals.note(refusal);
            (refused(refusal), false)
        }
    }
}

async fn try_answer(
    mut request: Request<Incoming>,
    port: u16,
    common: &Common,
) -> Result<Response<Watched>, Refusal> {
    let secret = guard::secret_of(&request, port)?;
    let seat = common.seats.find(secret).ok_or(Refusal::Secret)?;
    let under_way = seat.admit().ok_or(Refusal::TooMany)?;
    let unread = CancellationToken::new();
    request.extensions_mut().insert(Unread(unread.clone()));
    let opens = seats::opens_session(&request);
    let response = seat.http().handle(request).await;
    seat.note_session(&response, opens).await;
    Ok(response.map(|inner| Watched {
        inner,
        _unread: unread.drop_guard(),
        _under_way: Some(under_way),
    }))
}

fn refused(refusal: Refusal) -> Response<Watched> {
    let mut response = Response::builder().status(refusal.status());
    if let Some((name, value)) = refusal.header() {
        response = response.header(name, value);
    }
    let body = Watched {
        inner: Empty::new().boxed(),
        _unread: CancellationToken::new().drop_guard(),
        _under_way: None,
    };
    response.body(body).expect("all of it is plain")
}

/// The body of an answer, which says when nobody reads it any more.
struct Watched {
    inner: Inner,
    _unread: DropGuard,
    _under_way: Option<OwnedSemaphorePermit>,
}

impl Body for Watched {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(ready!(Pin::new(&mut self.inner).poll_frame(cx)))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

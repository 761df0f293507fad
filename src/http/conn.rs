//! One connection: HTTP/1.1 over any stream of bytes, from the first request to a close in good order.

use std::{
    convert::Infallible,
    future::poll_fn,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    time::timeout,
};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::service::Service;

/// How long a client that was refused may go on sending before its connection is reset.
const LAST_READS: Duration = Duration::from_secs(30);

/// How long it may pause meanwhile.
const LAST_PAUSE: Duration = Duration::from_secs(5);

/// How a connection is to behave.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    /// The longest wait for a request's head.
    pub(super) header_timeout: Duration,
    /// When it fires, the connection ends after the answer that is under way.
    pub(super) soft: CancellationToken,
    /// When it fires, the connection ends.
    pub(super) kill: CancellationToken,
}

/// Serves a connection to its end. The stream is whatever carries bytes, so TLS or a Unix socket is
/// the caller's choice.
pub(super) async fn serve<S>(stream: S, service: Service, rules: Rules)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let kill = rules.kill.clone();
    tokio::select! {
        biased;
        () = kill.cancelled() => {}
        () = converse(stream, service, &rules) => {}
    }
}

async fn converse<S>(stream: S, service: Service, rules: &Rules)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let left_unread = Arc::new(AtomicBool::new(false));
    let is_unread = Arc::clone(&left_unread);
    let mut conn = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(rules.header_timeout)
        .serve_connection(
            TokioIo::new(stream),
            service_fn(move |request| {
                let (service, is_unread) = (service.clone(), Arc::clone(&is_unread));
                Box::pin(async move {
                    let answered = service.answer(request).await;
                    if answered.left_unread {
                        is_unread.store(true, Ordering::Relaxed);
                    }
                    Ok::<_, Infallible>(answered.reply)
                })
            }),
        );
    let early = tokio::select! {
        biased;
        () = rules.soft.cancelled() => None,
        result = poll_fn(|cx| conn.poll_without_shutdown(cx)) => Some(result),
    };
    let result = if let Some(result) = early {
        result
    } else {
        Pin::new(&mut conn).graceful_shutdown();
        poll_fn(|cx| conn.poll_without_shutdown(cx)).await
    };
    match result {
        Ok(()) => {
            let stream = conn.into_parts().io.into_inner();
            close(stream, left_unread.load(Ordering::Relaxed), &rules.soft).await;
        }
        Err(error) => debug!(%error, "connection ended"),
    }
}

/// Closes a stream. A socket that is closed with unread bytes is reset, and the reset destroys the
/// answer on its way to the client; so what a refused client still sends is read and thrown away.
async fn close<S>(mut stream: S, left_unread: bool, soft: &CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    if stream.shutdown().await.is_ok() && left_unread {
        tokio::select! {
            biased;
            () = soft.cancelled() => {}
            // Either the client ended, or it had its chance.
            _ = timeout(LAST_READS, swallow(stream)) => {}
        }
    }
}

async fn swallow(mut stream: impl AsyncRead + Unpin) {
    let mut sink = vec![0; 16 * 1024];
    while let Ok(Ok(1..)) = timeout(LAST_PAUSE, stream.read(&mut sink)).await {}
}

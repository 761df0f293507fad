//! One request to one answer: guards, body, engine.

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use futures_util::FutureExt;
use http::{
    HeaderValue, Request,
    header::{ALLOW, CONNECTION},
    request::Parts,
};
use http_body::Body;
use tracing::{Instrument, debug, debug_span, info, warn};

use super::{
    Access, Options,
    body::Inbound,
    cors,
    guard::{self, Admitted},
    info::Info,
    problem::{self, Problem, clean},
    reply::{self, Reply},
    route::Probe,
    sse::Sse,
};
use crate::{
    deps::{AgentName, Principal},
    engine::Runtime,
    protocol::decode::{self, Warning},
};

/// What answers on one connection.
#[derive(Clone)]
pub(super) struct Service {
    shared: Arc<Shared>,
    /// Whether a body was left unread, so that the connection has to be closed with care.
    unread: Arc<AtomicBool>,
}

/// What all connections share.
pub(super) struct Shared {
    pub(super) options: Options,
    pub(super) access: Access,
    pub(super) runtime: Runtime,
}

impl Service {
    /// The service of one connection.
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            unread: Arc::default(),
        }
    }

    /// Whether the client may still be sending a body that nobody reads.
    pub(super) fn left_unread(&self) -> bool {
        self.unread.load(Ordering::Relaxed)
    }

    /// Answers a request, whatever it is.
    pub(super) async fn answer<B>(self, request: Request<B>) -> Reply
    where
        B: Body<Data = Bytes> + Unpin,
    {
        let id = self.shared.runtime.env().id("req");
        let path = clean(request.uri().path(), 200);
        let span = debug_span!("request", id, method = %request.method(), path);
        self.respond(request, &id).instrument(span).await
    }

    async fn respond<B>(&self, request: Request<B>, id: &str) -> Reply
    where
        B: Body<Data = Bytes> + Unpin,
    {
        let (head, body) = request.into_parts();
        let mut body = Inbound::new(&head.headers, body);
        let Shared {
            options,
            access,
            runtime,
            ..
        } = &*self.shared;
        let verdict = guard::admit(options, access, runtime.agents(), &head);
        let served = match verdict.outcome {
            // A panic may leave the body half read, and it is not used again but to be drained.
            Ok(admitted) => AssertUnwindSafe(self.shared.serve(admitted, &head, &mut body))
                .catch_unwind()
                .await
                .unwrap_or(Err(Problem::Internal)),
            Err(problem) => Err(problem),
        };
        let mut reply = match served {
            Ok(reply) => reply,
            Err(problem) => {
                log(&problem, id);
                let mut reply = problem.reply(id);
                if !body.settle().await {
                    self.unread.store(true, Ordering::Relaxed);
                    reply
                        .headers_mut()
                        .insert(CONNECTION, HeaderValue::from_static("close"));
                }
                reply
            }
        };
        if let Some(grant) = verdict.grant {
            grant.mark(reply.headers_mut());
        }
        debug!(status = reply.status().as_u16(), "answered");
        reply
    }
}

impl Shared {
    async fn serve<B>(
        &self,
        admitted: Admitted<'_>,
        head: &Parts,
        body: &mut Inbound<B>,
    ) -> Result<Reply, Problem>
    where
        B: Body<Data = Bytes> + Unpin,
    {
        match admitted {
            Admitted::Probe(probe) => Ok(self.probe(probe)),
            Admitted::Preflight { methods } => {
                let mut reply = problem::no_content();
                let headers = reply.headers_mut();
                headers.insert(ALLOW, HeaderValue::from_static(methods));
                cors::preflight(&head.headers, methods, headers);
                Ok(reply)
            }
            Admitted::Info { host } => {
                let info = Info::new(&self.runtime, &self.options.path, host);
                Ok(reply::json(&info))
            }
            Admitted::Run { agent, principal } => {
                let Options {
                    max_body,
                    body_timeout,
                    ..
                } = self.options;
                let bytes = body.read(max_body, body_timeout).await?;
                self.run(agent, &principal, &bytes)
            }
        }
    }

    fn run(
        &self,
        agent: &AgentName,
        principal: &Principal,
        bytes: &[u8],
    ) -> Result<Reply, Problem> {
        let decoded = decode::run_input(bytes)?;
        report(&decoded.warnings);
        let reader = self.runtime.start(agent, principal, decoded.input)?;
        let events = Sse::new(reader, self.options.heartbeat);
        Ok(reply::stream(events))
    }

    fn probe(&self, probe: Probe) -> Reply {
        let draining = match probe {
            Probe::Live => false,
            Probe::Ready => self.runtime.is_draining(),
        };
        problem::health(draining)
    }
}

/// Says once why a request was refused, in words of ours.
fn log(problem: &Problem, id: &str) {
    let (status, code) = (problem.status().as_u16(), problem.code());
    if matches!(problem, Problem::Internal) {
        warn!(request = id, status, code, "request failed");
    } else {
        info!(request = id, status, code, "request refused");
    }
}

/// Says what a client sent that the protocol does not know.
fn report(warnings: &[Warning]) {
    if let Some(first) = warnings.first() {
        let place = clean(&first.pointer, 100);
        let count = warnings.len();
        warn!(count, place, "left out what AG-UI 1.0 does not know");
    }
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        pin::Pin,
        task::{Context, Poll},
    };

    use futures_util::future::BoxFuture;
    use http::{
        StatusCode,
        header::{ACCESS_CONTROL_ALLOW_ORIGIN, CONTENT_TYPE, HOST, ORIGIN},
    };
    use http_body::Frame;
    use http_body_util::BodyExt;
    use serde_json::Value;

    use super::*;
    use crate::{
        deps::{Agent, Deps, StopReason, TurnError, TurnIo, TurnRequest},
        engine,
        env::Env,
        http::Origin,
    };

    const PAGE: &str = "https://app.example";

    struct Unused([Agent; 1]);

    impl Deps for Unused {
        fn agents(&self) -> &[Agent] {
            &self.0
        }

        fn turn(
            &self,
            _: TurnRequest,
            _: TurnIo,
        ) -> BoxFuture<'static, Result<StopReason, TurnError>> {
            unreachable!("no request gets that far")
        }
    }

    struct Explosive;

    impl Body for Explosive {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            panic!("/home/somebody/secret")
        }
    }

    #[tokio::test]
    async fn r59_a_panic_is_a_500_that_a_page_can_read_and_says_nothing_of_its_cause() {
        let agent = Agent::new(AgentName::new("demo").unwrap());
        let service = Service::new(Arc::new(Shared {
            options: Options {
                origins: vec![Origin::new(PAGE).unwrap()],
                ..Options::default()
            },
            access: Access::Anyone,
            runtime: Runtime::with_env(
                Arc::new(Unused([agent])),
                engine::Options::default(),
                Env::fixed(0),
            ),
        }));
        let request = Request::post("/agui/demo")
            .header(HOST, "localhost")
            .header(ORIGIN, PAGE)
            .header(CONTENT_TYPE, "application/json")
            .body(Explosive)
            .unwrap();
        let reply = service.clone().answer(request).await;
        assert_eq!(reply.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(reply.headers()[ACCESS_CONTROL_ALLOW_ORIGIN], PAGE);
        assert_eq!(reply.headers()[CONNECTION], "close");
        assert!(service.left_unread());
        let body = reply.into_body().collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["error"]["code"], "internal");
        assert_eq!(body["error"]["message"], "failed to serve the request");
    }
}

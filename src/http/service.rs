//! One request to one answer: guards, body, engine.

use std::{
    convert::Infallible,
    fmt,
    panic::AssertUnwindSafe,
    pin::pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::{FutureExt, future::BoxFuture};
use http::{
    HeaderValue, Request, Version,
    header::{ALLOW, CONNECTION},
    request::Parts,
};
use http_body::Body;
use tracing::{Instrument, debug, debug_span, info, warn};

use super::{
    Access, ServiceOptions,
    body::Inbound,
    cors,
    guard::{self, Admitted, Deed},
    info::Info,
    problem::{self, Problem, clean},
    query::Query,
    reply::{self, Reply},
    route::Probe,
    sse::Sse,
    threads,
    tries::Tries,
};
use crate::{
    deps::{AgentName, Principal},
    engine::Runtime,
    protocol::{
        ThreadId,
        decode::{self, Warning},
    },
    store::Key,
};

/// How much of a path or an id stands in the log, in bytes.
pub(super) const MAX_LOGGED: usize = 300;

/// The AG-UI routes of a runtime, for any server that takes a hyper or a tower service.
///
/// Every guard is in here and works the same wherever the service is mounted: Host, Origin, method, content
/// type, token, and the limits on a body's size and time. It reads the whole path of a request, the options'
/// [`path`](ServiceOptions::path) included, so the server must not strip that. What takes a socket to do is the server's
/// business: a limit on connections and on the time for a request's head, an end for a client that takes
/// nothing of what is sent, and to read on where a client was refused while it was sending, so that it can
/// read why ([`Listener`](super::Listener) does all of these). A server that is about to stop first closes the
/// runtime: that ends the streams in good order.
#[derive(Clone)]
pub struct Service {
    shared: Arc<Shared>,
    /// The agent's process that calls, if it is one.
    agent: Option<Arc<str>>,
}

struct Shared {
    options: ServiceOptions,
    access: Access,
    runtime: Runtime,
    /// What agents have tried.
    tries: Tries,
}

/// What came of a request.
pub(super) struct Answered {
    pub(super) reply: Reply,
    /// Whether the client may still be sending a body that nobody reads, so that the connection has to be
    /// closed with care.
    pub(super) left_unread: bool,
}

impl Service {
    pub(super) fn new(runtime: Runtime, options: ServiceOptions, access: Access) -> Self {
        let shared = Shared {
            options,
            access,
            runtime,
            tries: Tries::default(),
        };
        Self {
            shared: Arc::new(shared),
            agent: None,
        }
    }

    /// The same for a process of an agent's, which is closed to it.
    pub(super) fn fenced(self, process: Arc<str>) -> Self {
        Self {
            agent: Some(process),
            ..self
        }
    }

    /// Answers a request, whatever it is.
    pub(super) async fn answer<B>(&self, request: Request<B>) -> Answered
    where
        B: Body<Data = Bytes>,
    {
        let id = self.shared.runtime.env().id("req");
        let path = clean(request.uri().path(), MAX_LOGGED);
        let span = debug_span!("request", id, method = %request.method(), path);
        let agent = self.agent.as_deref();
        self.shared
            .respond(request, &id, agent)
            .instrument(span)
            .await
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").finish_non_exhaustive()
    }
}

impl<B> hyper::service::Service<Request<B>> for Service
where
    B: Body<Data = Bytes> + Send + 'static,
{
    type Response = Reply;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Reply, Infallible>>;

    fn call(&self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.answer(request).await.reply) })
    }
}

impl<B> tower_service::Service<Request<B>> for Service
where
    B: Body<Data = Bytes> + Send + 'static,
{
    type Response = Reply;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Reply, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        hyper::service::Service::call(self, request)
    }
}

impl Shared {
    async fn respond<B>(&self, request: Request<B>, id: &str, agent: Option<&str>) -> Answered
    where
        B: Body<Data = Bytes>,
    {
        let (head, body) = request.into_parts();
        let body = pin!(body);
        let mut body = Inbound::new(&head.headers, body);
        let agents = self.runtime.agents();
        let verdict = match agent {
            Some(_) => guard::admit_agent(&self.options, &head),
            None => guard::admit(
                &self.options,
                &self.access,
                agents,
                &head,
                body.is_expected(),
            ),
        };
        let served = match verdict.outcome {
            // A panic may leave the body half read, and it is not used again but to be drained.
            Ok(admitted) => AssertUnwindSafe(self.serve(admitted, &head, &mut body))
                .catch_unwind()
                .await
                .unwrap_or(Err(Problem::Internal.into())),
            Err(problem) => Err(problem.into()),
        };
        let mut left_unread = false;
        let mut reply = match served {
            Ok(reply) => reply,
            Err(Refused { problem, thread }) => {
                match agent {
                    Some(process) => self.tries.log(&self.options.path, &head, id, process),
                    None => log(&problem, id, head.uri.path(), thread.as_ref()),
                }
                left_unread = !body.settle().await;
                problem.reply(id)
            }
        };
        // Later versions end a stream of their own and have no such header.
        if left_unread && head.version <= Version::HTTP_11 {
            reply
                .headers_mut()
                .insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if let Some(grant) = verdict.grant {
            grant.mark(reply.headers_mut());
        }
        debug!(status = reply.status().as_u16(), "answered");
        Answered { reply, left_unread }
    }

    async fn serve<B>(
        &self,
        admitted: Admitted<'_>,
        head: &Parts,
        body: &mut Inbound<B>,
    ) -> Result<Reply, Refused>
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
            Admitted::Info { host, principal } => {
                let info = Info::new(&self.runtime, &self.options.path, host, &principal);
                Ok(reply::json(&info))
            }
            Admitted::Run { agent, principal } => {
                let ServiceOptions {
                    max_body,
                    body_timeout,
                    ..
                } = self.options;
                let bytes = body.read(max_body, body_timeout).await?;
                self.run(agent, &principal, &bytes).await
            }
            Admitted::Threads { agent, principal } => {
                let query = Query::of(&head.uri);
                Ok(threads::list(&self.runtime, agent, &principal, &query).await?)
            }
            Admitted::Thread { key, deed } => {
                let done = self.thread(&key, deed, head, body).await;
                done.map_err(|problem| Refused::on(key.thread, problem))
            }
        }
    }

    async fn thread<B>(
        &self,
        key: &Key,
        deed: Deed,
        head: &Parts,
        body: &mut Inbound<B>,
    ) -> Result<Reply, Problem>
    where
        B: Body<Data = Bytes> + Unpin,
    {
        let runtime = &self.runtime;
        match deed {
            Deed::Show => threads::show(runtime, key).await,
            Deed::Forget => threads::forget(runtime, key).await,
            Deed::Watch => threads::watch(runtime, key, head, self.options.heartbeat).await,
            Deed::Cancel => {
                let within = self.options.body_timeout;
                let body = body.read(threads::MAX_CANCEL, within).await?;
                threads::cancel(runtime, key, &body).await
            }
        }
    }

    async fn run(
        &self,
        agent: &AgentName,
        principal: &Principal,
        bytes: &[u8],
    ) -> Result<Reply, Refused> {
        let decoded = decode::run_input(bytes).map_err(Problem::from)?;
        report(&decoded.warnings);
        let thread = decoded.input.thread_id.clone();
        let started = self.runtime.start(agent, principal, decoded.input).await;
        let reader = started.map_err(|why| Refused::on(thread, why.into()))?;
        let events = Sse::new(reader, self.options.heartbeat);
        Ok(reply::stream(events))
    }

    fn probe(&self, probe: Probe) -> Reply {
        problem::health(probe, self.runtime.is_draining())
    }
}

/// A refusal, with the thread that was asked for as far as that is known.
struct Refused {
    problem: Problem,
    thread: Option<ThreadId>,
}

impl Refused {
    fn on(thread: ThreadId, problem: Problem) -> Self {
        Self {
            problem,
            thread: Some(thread),
        }
    }
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self {
            problem,
            thread: None,
        }
    }
}

/// Says once what was refused and why, in words of ours. The query is left out: some put secrets there.
fn log(problem: &Problem, id: &str, path: &str, thread: Option<&ThreadId>) {
    let (status, code) = (problem.status().as_u16(), problem.code());
    let path = clean(path, MAX_LOGGED);
    let thread = thread.map(|thread| clean(thread.as_str(), MAX_LOGGED));
    if matches!(problem, Problem::Internal) {
        warn!(request = id, status, code, path, thread, "request failed");
    } else {
        info!(request = id, status, code, path, thread, "request refused");
    }
}

/// Says what of a client's request was not as AG-UI 1.0 has it, and what was done about it. A warning repeats
/// no content.
fn report(warnings: &[Warning]) {
    if let Some(first) = warnings.first() {
        let place = clean(&first.pointer, 100);
        let what = clean(&first.message, 100);
        let count = warnings.len();
        warn!(count, place, what, "a request was read leniently");
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;

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
        let deps = Arc::new(Unused([agent]));
        let runtime = Runtime::new(deps, engine::Options::default());
        let options = ServiceOptions {
            origins: vec![Origin::new(PAGE).unwrap()],
            ..ServiceOptions::default()
        };
        let service = runtime.service(options, Access::Anyone);
        let request = Request::post("/agui/demo")
            .header(HOST, "localhost")
            .header(ORIGIN, PAGE)
            .header(CONTENT_TYPE, "application/json")
            .body(Explosive)
            .unwrap();
        let Answered { reply, left_unread } = service.answer(request).await;
        assert_eq!(reply.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(reply.headers()[ACCESS_CONTROL_ALLOW_ORIGIN], PAGE);
        assert_eq!(reply.headers()[CONNECTION], "close");
        assert!(left_unread);
        let body = reply.into_body().collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["error"]["code"], "internal");
        assert_eq!(body["error"]["message"], "failed to serve the request");
    }
}

//! What is answered to the requests of one connection (MCP 2025-06-18 and 2025-11-25).

use std::{sync::Arc, time::Duration};

use http::request::Parts;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult,
        DiscoverRequestMethod, DiscoverResult, ErrorCode, Extensions, Implementation,
        ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ProgressToken,
        ServerCapabilities, ServerConfig,
    },
    service::{NotificationContext, Peer, RequestContext},
};
use tokio::time::{Instant, interval_at};
use tokio_util::sync::CancellationToken;

use super::{call::Outcome, room::Room};

/// Answers to what is asked of a place.
#[derive(Clone)]
pub(super) struct Handler(Arc<Room>);

/// Fires when nobody reads the answer to an HTTP request any more. It comes with the request.
#[derive(Clone)]
pub(super) struct Unread(pub(super) CancellationToken);

/// How an open call ended.
enum End {
    Answered(Outcome),
    GivenUp,
}

impl Handler {
    pub(super) fn new(room: Arc<Room>) -> Self {
        Self(room)
    }

    /// Has a call carried out, with a sign of life now and then: most agents give up on a call that is silent for a
    /// minute.
    async fn carry_out(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> End {
        let Self(room) = self;
        let arguments = request.arguments.unwrap_or_default();
        let meta = context.meta.0.0.clone();
        let answered = match room.call(&request.name, arguments, meta) {
            Ok(answered) => answered,
            Err(why) => return End::Answered(Outcome::failed(why.to_string())),
        };
        let token = context.meta.get_progress_token();
        tokio::select! {
            biased;
            () = context.ct.cancelled() => End::GivenUp,
            () = unread(&context.extensions) => End::GivenUp,
            () = room.closing().cancelled() => End::GivenUp,
            answered = answered => End::Answered(
                answered.unwrap_or_else(|_| Outcome::failed("not executed: the turn has ended")),
            ),
            () = beat(&context.peer, token, room.progress()) => End::GivenUp,
        }
    }
}

/// Ends once nobody reads the answer any more; never on a connection that is not HTTP, which is told by the context.
async fn unread(extensions: &Extensions) {
    let parts = extensions.get::<Parts>();
    match parts.and_then(|parts| parts.extensions.get::<Unread>()) {
        Some(Unread(unread)) => unread.cancelled().await,
        None => std::future::pending().await,
    }
}

/// Says again and again that a call is open; never ends.
async fn beat(peer: &Peer<RoleServer>, token: Option<ProgressToken>, every: Duration) {
    let Some(token) = token else {
        return std::future::pending().await;
    };
    let mut beats = interval_at(Instant::now() + every, every);
    let mut count = 0.0;
    loop {
        beats.tick().await;
        count += 1.0;
        let progress = ProgressNotificationParam::new(token.clone(), count);
        // A connection that is gone is noticed otherwise.
        let _ = peer.notify_progress(progress).await;
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        let version = env!("CARGO_PKG_VERSION");
        ServerConfig::new(capabilities).with_server_info(Implementation::new(super::NAME, version))
    }

    /// Claude Code asks this first, and goes on as with servers that know no other way if it is refused so. The way
    /// that it stands for has no list of tools that changes by itself.
    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        Err(ErrorData::method_not_found::<DiscoverRequestMethod>())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.0.meet(context.peer);
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(
            self.0.list().tools().to_vec(),
        ))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match self.carry_out(request, &context).await {
            End::Answered(outcome) => Ok(outcome.into_result().into()),
            End::GivenUp => Err(ErrorData::internal_error("the call was given up", None)),
        }
    }

    /// A call whose arguments are no object is no call to the SDK. To the model it is one that it can mend.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let CustomRequest { method, params, .. } = request;
        let is_call = method == "tools/call"
            && params
                .is_some_and(|params| params["name"].is_string() && !params["arguments"].is_null());
        if !is_call {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None));
        }
        let outcome = Outcome::failed("not executed: the arguments must be an object");
        let result = serde_json::to_value(outcome.into_result());
        let result = result.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        Ok(CustomResult::new(result))
    }
}

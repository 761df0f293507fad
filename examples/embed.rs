//! A program with an agent of its own behind AG-UI: `cargo run --example embed -- [PORT]`.
//!
//! Whatever is said to it, it says again, word by word.

use std::{env, error::Error, net::Ipv4Addr, sync::Arc, time::Duration};

use agui_serve::{
    Access, Runtime,
    deps::{
        Agent, AgentName, BoxFuture, CoreEvent, Deps, StopReason, TurnError, TurnIo, TurnRequest,
    },
    engine, http,
};

struct Parrot([Agent; 1]);

impl Deps for Parrot {
    fn agents(&self) -> &[Agent] {
        &self.0
    }

    fn turn(
        &self,
        request: TurnRequest,
        io: TurnIo,
    ) -> BoxFuture<'static, Result<StopReason, TurnError>> {
        Box::pin(async move {
            for word in request.prompt.text().split_inclusive(' ') {
                io.emit(CoreEvent::Text(word.into())).await?;
            }
            Ok(StopReason::EndTurn)
        })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let port = env::args().nth(1).map_or(Ok(8787), |port| port.parse())?;

    let agent = Agent::new(AgentName::new("parrot")?);
    let runtime = Runtime::new(Arc::new(Parrot([agent])), engine::Options::default());
    let options = http::Options {
        addr: (Ipv4Addr::LOCALHOST, port).into(),
        ..http::Options::default()
    };
    // Whoever reaches the port may call: give `Access::Token` where that is not only you.
    let listener = runtime.listen(options, Access::Anyone)?;
    println!("listening on {}", listener.url());

    tokio::select! {
        ended = listener.wait() => ended?,
        pressed = tokio::signal::ctrl_c() => pressed?,
    }
    // In this order, each open stream still gets its last event.
    runtime.close().await;
    listener.shutdown(Duration::from_secs(5)).await;
    Ok(())
}

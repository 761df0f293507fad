//! An agent under the routes of an axum application: `cargo run --example axum -- [PORT]`.
//!
//! The agent is the demo, which needs no key; see `embed` for one of your own.

use std::{env, error::Error, net::Ipv4Addr, sync::Arc};

use agui_serve::{
    Access, Runtime,
    cores::{Cores, Definition, demo::Demo},
    deps::AgentName,
    engine,
    http::ServiceOptions,
};
use axum::{Router, routing::get};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let port = env::args().nth(1).map_or(Ok(8787), |port| port.parse())?;

    let demo = Definition {
        name: AgentName::new("demo")?,
        description: None,
        core: Arc::new(Demo::new()),
    };
    let deps = Arc::new(Cores::new(vec![demo]));
    let runtime = Runtime::new(deps, engine::Options::default());
    let agui = runtime.service(ServiceOptions::default(), Access::Anyone);

    let app = Router::new()
        .route("/", get(async || "the page that talks to the agent"))
        // The service reads the whole path, so it is mounted where its options say, and not nested.
        .route_service("/agui/{*rest}", agui);

    let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    println!("listening on http://{}/agui", socket.local_addr()?);
    let stopped = async move {
        // Without a signal handler there is no way to end in order: end now.
        let _ = tokio::signal::ctrl_c().await;
        // The streams end with the runs, and with the streams the server.
        runtime.close().await;
    };
    axum::serve(socket, app)
        .with_graceful_shutdown(stopped)
        .await?;
    Ok(())
}

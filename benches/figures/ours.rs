//! The daemon's own listener, engine and demo core, in this process.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use agui_serve::{
    cores::{Cores, Definition, demo::Demo},
    deps::AgentName,
    engine::{self, Runtime},
    http::{self, Access, Secret},
};
use tokio::task::JoinSet;

/// What the daemon asks for.
pub(crate) const TOKEN: &str = "figures";

/// Serves the demo agent, with every setting as it is by default, until `servers` is dropped.
pub(crate) fn serve(servers: &mut JoinSet<()>) -> anyhow::Result<SocketAddr> {
    let agents = vec![Definition {
        name: AgentName::new("demo")?,
        description: None,
        core: Arc::new(Demo::new()),
    }];
    let deps = Arc::new(Cores::new(agents));
    let runtime = Runtime::new(deps, engine::Options::default());
    let options = http::Options {
        addr: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        ..http::Options::default()
    };
    let listener = runtime.listen(options, Access::Token(Secret::new(TOKEN)?))?;
    let address = listener.addr();
    servers.spawn(async move {
        if let Err(error) = listener.wait().await {
            eprintln!("the listener failed: {error}");
        }
    });
    Ok(address)
}

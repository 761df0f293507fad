//! The tools for agents that take no HTTP: a program that the agent starts carries bytes between its own input and
//! output and a socket here, which speaks as MCP over stdio does, after a line with the secret.

use std::{
    fmt,
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpStream as Blocking},
    thread,
    time::Duration,
};

use rmcp::{service::serve_server_with_ct, transport::async_rw::AsyncRwTransport};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    net::TcpStream,
    time::timeout,
};
use tracing::debug;

use super::{
    guard::LONGEST_BODY,
    handler::Handler,
    listener::Common,
    refusal::Refusal,
    secret::{self, Secret},
};

/// The word after the program's name that makes it carry bytes.
pub const WORD: &str = "mcp-stdio";

/// The variable that tells it where to.
pub const ADDRESS: &str = "AGUI_MCP_ADDRESS";

/// The variable that tells it the secret.
pub const SECRET: &str = "AGUI_MCP_SECRET";

/// How long the secret is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Serves a connection to its end.
pub(super) async fn serve(mut stream: TcpStream, _: SocketAddr, common: Common) {
    // What is sent is small and waited for.
    let _ = stream.set_nodelay(true);
    let shown = timeout(PATIENCE, first_line(&mut stream)).await;
    let shown = shown.ok().flatten();
    let Some(seat) = shown.and_then(|shown| common.seats.find(&shown)) else {
        common.refusals.note(Refusal::Secret);
        return;
    };
    let Some(_under_way) = seat.admit() else {
        common.refusals.note(Refusal::TooMany);
        return;
    };
    let (read, write) = stream.into_split();
    let transport = AsyncRwTransport::new_server(read, write).with_max_line_length(LONGEST_BODY);
    let closing = seat.room.closing().child_token();
    let handler = Handler::new(seat.room.clone());
    let ended = match serve_server_with_ct(handler, transport, closing).await {
        Ok(running) => running
            .waiting()
            .await
            .map(drop)
            .map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    if let Err(error) = ended {
        debug!(error, "a connection of an agent ended");
    }
}

/// The first line, byte by byte: what follows it is the SDK's to read.
async fn first_line(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut line = Vec::new();
    while line.len() <= secret::LONGEST {
        match stream.read_u8().await.ok()? {
            b'\n' => return String::from_utf8(line).ok(),
            byte => line.push(byte),
        }
    }
    None
}

/// Where the tools are, and with which secret, for the program that carries bytes.
#[derive(Clone)]
pub struct Line {
    pub(super) address: SocketAddr,
    pub(super) secret: Secret,
}

/// Why no bytes are carried.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// What it has to know is not in its environment.
    #[error("find {0} in the environment: this is for agents that the daemon has started")]
    Unset(&'static str),
    /// The daemon is not there, or the connection broke.
    #[error("reach the daemon")]
    Io(#[from] io::Error),
}

impl Line {
    /// What the program is told by its environment.
    pub fn variables(&self) -> [(&'static str, String); 2] {
        [
            (ADDRESS, self.address.to_string()),
            (SECRET, self.secret.expose().to_owned()),
        ]
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Line").field(&self.address).finish()
    }
}

/// Carries bytes both ways, until either side has no more. `variable` reads the environment.
///
/// The input is read in a thread of its own, which is left behind: it waits for an agent that has nothing to say.
///
/// # Errors
/// The environment does not say where to, or the daemon is not there.
pub fn carry(
    variable: impl Fn(&str) -> Option<String>,
    mut input: impl Read + Send + 'static,
    mut output: impl Write,
) -> Result<(), LineError> {
    let value = |name| variable(name).ok_or(LineError::Unset(name));
    let address: SocketAddr = value(ADDRESS)?
        .parse()
        .map_err(|_| LineError::Unset(ADDRESS))?;
    let secret = value(SECRET)?;
    let mut socket = Blocking::connect(address)?;
    socket.set_nodelay(true)?;
    socket.write_all(format!("{secret}\n").as_bytes())?;
    let mut up = socket.try_clone()?;
    thread::spawn(move || {
        let _ = io::copy(&mut input, &mut up);
        let _ = up.shutdown(Shutdown::Write);
    });
    let mut piece = vec![0; 64 * 1024];
    loop {
        let read = socket.read(&mut piece)?;
        if read == 0 {
            return Ok(());
        }
        output.write_all(&piece[..read])?;
        output.flush()?;
    }
}

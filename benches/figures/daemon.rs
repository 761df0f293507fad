//! The program itself: how soon after its start it answers, and what it takes of memory.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    process::Stdio,
    time::Duration,
};

use anyhow::Context as _;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    process::{Child, Command},
    time::{Instant, sleep, timeout},
};

use crate::wire::{exchange, median, run};

/// How often the program is started.
const STARTS: usize = 15;
/// How long a start may take at all.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the program is left alone before its memory is looked at.
const SETTLE: Duration = Duration::from_millis(300);
const TOKEN: &str = "figures";

/// What was measured. Memory is `VmRSS`, in KiB.
pub(crate) struct Figures {
    /// The median time from the start of the program to its first answer.
    pub(crate) start: Duration,
    /// Resident memory before the first run.
    pub(crate) idle: u64,
    /// After a short run.
    pub(crate) after_run: u64,
    /// After a run of 100,000 deltas.
    pub(crate) after_flood: u64,
}

/// Starts the program again and again, and runs something on the last one.
pub(crate) async fn measure() -> anyhow::Result<Figures> {
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        let state = tempfile::tempdir()?;
        let (_child, _, took) = start(state.path()).await?;
        starts.push(took);
    }
    let state = tempfile::tempdir()?;
    let (child, address, _) = start(state.path()).await?;
    let idle = resident(&child).await?;
    exchange(address, &run(TOKEN, "short", "say hello"), |_| ()).await?;
    let after_run = resident(&child).await?;
    exchange(address, &run(TOKEN, "long", "stream 100000 words"), |_| ()).await?;
    let after_flood = resident(&child).await?;
    Ok(Figures {
        start: median(starts),
        idle,
        after_run,
        after_flood,
    })
}

/// Starts the program on a free port, with a state directory of its own, and waits for its first answer.
async fn start(state: &Path) -> anyhow::Result<(Child, SocketAddr, Duration)> {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = free.local_addr()?;
    drop(free);
    let begin = Instant::now();
    let child = Command::new(env!("CARGO_BIN_EXE_agui-serve"))
        .args(["--port", &address.port().to_string()])
        .env("AGUI_TOKEN", TOKEN)
        .env("AGUI_STATE_DIR", state)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .context("failed to start the program")?;
    timeout(PATIENCE, first_answer(address))
        .await
        .context("the program does not answer")??;
    Ok((child, address, begin.elapsed()))
}

/// Asks until something answers, and checks that it is what was asked for.
async fn first_answer(address: SocketAddr) -> anyhow::Result<()> {
    let mut stream = loop {
        match TcpStream::connect(address).await {
            Ok(stream) => break stream,
            Err(_) => sleep(Duration::from_millis(1)).await,
        }
    };
    let request = format!(
        "GET /agui/info HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n\
         connection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    anyhow::ensure!(
        answer.starts_with(b"HTTP/1.1 200 "),
        "the program answers {}",
        String::from_utf8_lossy(&answer)
    );
    Ok(())
}

async fn resident(child: &Child) -> anyhow::Result<u64> {
    sleep(SETTLE).await;
    let id = child.id().context("the program has ended")?;
    let status = fs::read_to_string(format!("/proc/{id}/status"))?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next())
        .context("the system does not tell what memory is resident")?
        .parse()
        .context("what the system tells is no number")
}

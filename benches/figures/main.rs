//! The figures that the project promises, measured on this machine: `cargo bench`.

mod bare;
mod daemon;
mod ours;
mod stream;
mod wire;

use std::time::Duration;

use tokio::runtime::Builder;

fn main() -> anyhow::Result<()> {
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let stream = runtime.block_on(stream::measure())?;
    let daemon = runtime.block_on(daemon::measure())?;
    let kib = |bytes: u64| format!("{}.{} MiB", bytes / 1024, bytes % 1024 * 10 / 1024);
    println!(
        "\none stream of {} deltas ({} KiB in {} body frames)",
        stream::DELTAS,
        stream.bytes / 1024,
        stream.frames,
    );
    let speed = |bare: Duration| bare.as_secs_f64() / stream.ours.as_secs_f64();
    for (what, time) in [
        ("this daemon", stream.ours),
        ("hyper alone, encoding", stream.encoding),
        ("hyper alone, replaying", stream.replaying),
    ] {
        println!(
            "  {what:<22}  {time:>10.1?}   our speed: {:.2} of it",
            speed(time)
        );
    }
    println!("the program");
    println!(
        "  start to first answer   {:>10.1?}   less than 50 ms is wanted",
        daemon.start
    );
    println!(
        "  resident when idle      {:>10}   less than 15 MiB is wanted",
        kib(daemon.idle)
    );
    println!("  after a short run       {:>10}", kib(daemon.after_run));
    println!("  after 100,000 deltas    {:>10}", kib(daemon.after_flood));
    Ok(())
}

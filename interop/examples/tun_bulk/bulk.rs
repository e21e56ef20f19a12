//! Bulk one way: how fast, and that it is what was sent.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::Ordering;
use std::time::Instant;

use interop::Namespace;
use io::Bridge;

use crate::ours::{self, SINK, SOURCE};
use crate::pattern::Pattern;
use crate::{Outcome, tun};

/// Mbit/s since `started`, if `intact` bytes are all.
fn rate(total: u64, intact: u64, started: Instant) -> Outcome<f64> {
    let seconds = started.elapsed().as_secs_f64();
    if intact != total {
        return Err(format!("{intact} of {total} bytes came as they were sent").into());
    }
    Ok(total as f64 * 8.0 / 1e6 / seconds)
}

/// Sends, with the congestion control that a kernel comes with, and waits until the other side has
/// it all and says so.
fn push(mut stream: TcpStream, pattern: &Pattern, total: u64) -> Outcome<()> {
    socket2::SockRef::from(&stream).set_tcp_congestion(b"cubic")?;
    let mut sent = 0;
    while sent < total {
        let piece = pattern.at(sent, total);
        stream.write_all(&piece)?;
        sent += piece.len() as u64;
    }
    stream.shutdown(Shutdown::Write)?;
    stream.read_to_end(&mut Vec::new())?;
    Ok(())
}

/// Number of bytes that came as they were sent.
fn pull(mut stream: TcpStream, pattern: &Pattern) -> Outcome<u64> {
    let mut piece = vec![0; Pattern::PERIOD];
    let mut intact = 0;
    loop {
        match stream.read(&mut piece)? {
            0 => return Ok(intact),
            size => intact += pattern.count_intact(intact, &piece[..size]),
        }
    }
}

/// Throughput from a kernel to a kernel, in Mbit/s.
pub(crate) fn kernel_to_kernel(megabytes: u64, offload: bool) -> Outcome<f64> {
    let (near, far) = (Namespace::new()?, Namespace::new()?);
    let ends = (tun(&near, "10.79.0.1", offload)?, tun(&far, "10.79.0.2", offload)?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let bridge = {
        let _context = runtime.enter();
        Bridge::new(ends.0, ends.1)?
    };
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let relay = std::thread::spawn(move || {
        runtime.block_on(async {
            tokio::select! { _ = bridge.copy() => {}, _ = stopped => {} }
        });
    });
    let listener = far.enter(|| TcpListener::bind("10.79.0.2:7"))??;
    let stream = near.enter(|| TcpStream::connect("10.79.0.2:7"))??;
    let accepted = listener.accept()?.0;
    let (pattern, total) = (Pattern::new(), megabytes * 1_000_000);
    let expected = pattern.clone();
    let started = Instant::now();
    let reader = std::thread::spawn(move || pull(accepted, &expected));
    push(stream, &pattern, total)?;
    let intact = reader.join().map_err(|_| "the reader died")??;
    let rate = rate(total, intact, started)?;
    drop(stop);
    relay.join().map_err(|_| "the relay died")?;
    Ok(rate)
}

/// Throughput from a kernel to ours, and from ours to a kernel, in Mbit/s.
pub(crate) fn with_ours(megabytes: u64, offload: bool) -> Outcome<(f64, f64)> {
    let (namespace, total) = (Namespace::new()?, megabytes * 1_000_000);
    let counts = ours::start(&namespace, total, offload)?;
    let connect = |port: u16| -> Outcome<TcpStream> {
        Ok(namespace.enter(|| TcpStream::connect(("10.78.0.2", port)))??)
    };
    let pattern = Pattern::new();
    let (stream, started) = (connect(SINK)?, Instant::now());
    push(stream, &pattern, total)?;
    let to_ours = rate(total, counts.intact.load(Ordering::Acquire), started)?;
    let (stream, started) = (connect(SOURCE)?, Instant::now());
    let intact = pull(stream, &pattern)?;
    Ok((to_ours, rate(total, intact, started)?))
}

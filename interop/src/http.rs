//! HTTP as far as a page of a test needs it: a request for each connection.

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A request that waits for its answer.
#[derive(Debug)]
pub struct Request {
    /// Method and target, such as `POST /offer?flow=1`.
    pub what: String,
    /// The body, empty where there is none.
    pub body: Vec<u8>,
    stream: TcpStream,
}

impl Request {
    /// Reads the request of a connection.
    ///
    /// # Errors
    /// Where the connection ends early or the request is none.
    pub async fn read(mut stream: TcpStream) -> Result<Request> {
        let mut bytes = Vec::new();
        let mut part = vec![0; 64 << 10];
        loop {
            let read = stream.read(&mut part).await?;
            if read == 0 {
                bail!("the request ends early");
            }
            bytes.extend_from_slice(&part[..read]);
            let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
            let head = String::from_utf8_lossy(&bytes[..end]);
            let length = head.lines().filter_map(|line| line.split_once(':'));
            let length = length.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
            let length = length.map(|(_, value)| value.trim().parse::<usize>()).next();
            let length = length.unwrap_or(Ok(0)).context("the length of the body")?;
            let what = head.lines().next().unwrap_or_default();
            let what = what.strip_suffix(" HTTP/1.1").unwrap_or(what).to_owned();
            if bytes.len() >= end + 4 + length {
                let body = bytes[end + 4..end + 4 + length].to_vec();
                return Ok(Request { what, body, stream });
            }
        }
    }

    /// The body as text.
    ///
    /// # Errors
    /// Where it is none.
    pub fn text(&self) -> Result<&str> {
        Ok(core::str::from_utf8(&self.body)?)
    }

    /// Answers, and ends the connection. Documents of this origin are isolated, so that their clock
    /// is a fine one.
    ///
    /// # Errors
    /// Where the browser is gone.
    pub async fn answer(mut self, status: &str, content: &str, body: &str) -> Result<()> {
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {content}\r\nContent-Length: {length}\r\n\
             Cross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Embedder-Policy: require-corp\r\n\
             Connection: close\r\n\r\n"
        );
        self.stream.write_all((head + body).as_bytes()).await?;
        Ok(())
    }
}

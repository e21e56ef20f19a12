//! The kernel's TCP through tokio, a task for each connection.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::answers::Answers;
use crate::probe::Probe;
use crate::sender::Sender;
use crate::{MESSAGE, Result};

/// Serves at every address of its namespace, so that machines beyond loopback reach it.
pub async fn serve(probe: Probe) -> Result<()> {
    let listener = TcpListener::bind("0.0.0.0:0").await?;
    println!("127.0.0.1:{}", listener.local_addr()?.port());
    loop {
        let (mut stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let probe = probe.clone();
        tokio::spawn(async move {
            let mut message = [0; MESSAGE];
            while stream.read_exact(&mut message).await.is_ok() {
                probe.on_received(&message);
                if stream.write_all(&message).await.is_err() {
                    break;
                }
            }
        });
    }
}

pub async fn connect(server: String, mut answers: Answers) -> Result<Sender> {
    let stream = TcpStream::connect(server).await?;
    stream.set_nodelay(true)?;
    let (mut reading, writing) = stream.into_split();
    tokio::spawn(async move {
        let mut buffer = [0; MESSAGE];
        while reading.read_exact(&mut buffer).await.is_ok() {
            answers.on_received(&buffer);
        }
    });
    Ok(Box::new(move |message| match writing.try_write(message)? {
        MESSAGE => Ok(()),
        written => Err(format!("the system took {written} bytes of a message").into()),
    }))
}

//! What part of a flow a ladder shows.

use base::{Duration, Instant};

/// From when on packets are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// From this time.
    At(Instant),
    /// From the first packet of the sender that is lost.
    Loss,
}

/// What part of a flow is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LadderWish {
    /// Its beginning.
    pub from: Beginning,
    /// Packets that leave within this time from there.
    pub span: Duration,
}

impl core::str::FromStr for Beginning {
    type Err = String;

    fn from_str(text: &str) -> Result<Beginning, String> {
        if text == "loss" {
            return Ok(Beginning::Loss);
        }
        let time: Duration = text
            .parse()
            .map_err(|_| format!("\"{text}\" is neither a time such as 2s nor loss"))?;
        Ok(Beginning::At(Instant::ZERO + time))
    }
}

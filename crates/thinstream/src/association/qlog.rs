//! An association's recovery events, written as qlog.

use std::io::{self, Write};

use qlog::QlogWriter;

use super::Association;

impl Association {
    /// Begins a trace of the association's loss recovery with this title, and switches the
    /// recording of its events on. [`write_qlog`](Association::write_qlog) adds later events;
    /// [`QlogWriter::finish`] ends it.
    ///
    /// The trace is qlog as a JSON text sequence, whose files end with `.sqlog`: packets,
    /// acknowledgements, losses, retransmissions with their causes, timers and windows. Units are
    /// counted from the association's first DATA chunk, and times are milliseconds since the origin
    /// of the endpoint's clock. The trace does not contain the messages themselves.
    ///
    /// # Errors
    /// I/O errors of `out`.
    pub fn begin_qlog<W: Write>(&self, title: &str, out: W) -> io::Result<QlogWriter<W>> {
        let log = QlogWriter::new(out, title, self.first_unit().unwrap_or_default())?;
        self.record_recovery_events(true);
        Ok(log)
    }

    /// Writes recovery's events since the last call, or since
    /// [`begin_qlog`](Association::begin_qlog). Call it regularly, for instance after each message
    /// or each second: at most 65,536 events are kept between calls. It removes the events that
    /// [`recovery_events`](Association::recovery_events) would return.
    ///
    /// # Errors
    /// I/O errors of the writer; the events are lost then.
    pub fn write_qlog<W: Write>(&self, log: &mut QlogWriter<W>) -> io::Result<()> {
        self.recovery_events().iter().try_for_each(|event| log.write(event))
    }
}

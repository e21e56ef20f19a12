//! Events and advice as objects of Python, whose classes stand in `thinstream.advice`.

use ::base::{Duration, Instant};
use ::lab::advisor::Answer;
use ::recovery::{Advice, Cause, Event, PathId, PathView, UnitInFlight};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// Number of kinds of events.
pub(crate) const EVENTS: usize = 10;

/// Kinds of events that an advisor can define a method for.
#[derive(Clone, Copy)]
pub(crate) enum Heard {
    Sent,
    Resent,
    Acknowledged,
    Lost,
    Timeout,
    Probed,
    TimerSet,
    Window,
    Repaired,
    Spurious,
}

impl Heard {
    pub(crate) const ALL: [Heard; EVENTS] = [
        Heard::Sent,
        Heard::Resent,
        Heard::Acknowledged,
        Heard::Lost,
        Heard::Timeout,
        Heard::Probed,
        Heard::TimerSet,
        Heard::Window,
        Heard::Repaired,
        Heard::Spurious,
    ];

    pub(crate) fn of(event: &Event) -> Heard {
        match event {
            Event::Sent { .. } => Heard::Sent,
            Event::Resent { .. } => Heard::Resent,
            Event::Acknowledged { .. } => Heard::Acknowledged,
            Event::Lost { .. } => Heard::Lost,
            Event::Timeout { .. } => Heard::Timeout,
            Event::Probed { .. } => Heard::Probed,
            Event::TimerSet { .. } => Heard::TimerSet,
            Event::Window { .. } => Heard::Window,
            Event::Repaired { .. } => Heard::Repaired,
            Event::Spurious { .. } => Heard::Spurious,
        }
    }

    /// Name of the event's class in `thinstream.advice`.
    fn class(self) -> &'static str {
        match self {
            Heard::Sent => "Sent",
            Heard::Resent => "Resent",
            Heard::Acknowledged => "Acknowledged",
            Heard::Lost => "Lost",
            Heard::Timeout => "Timeout",
            Heard::Probed => "Probed",
            Heard::TimerSet => "TimerSet",
            Heard::Window => "WindowChanged",
            Heard::Repaired => "Repaired",
            Heard::Spurious => "Spurious",
        }
    }

    /// Name of the method that receives such events.
    pub(crate) fn method(self) -> &'static str {
        match self {
            Heard::Sent => "on_sent",
            Heard::Resent => "on_resent",
            Heard::Acknowledged => "on_acknowledged",
            Heard::Lost => "on_lost",
            Heard::Timeout => "on_timeout",
            Heard::Probed => "on_probed",
            Heard::TimerSet => "on_timer_set",
            Heard::Window => "on_window_changed",
            Heard::Repaired => "on_repaired",
            Heard::Spurious => "on_spurious",
        }
    }
}

/// Classes of `thinstream.advice`, looked up once.
pub(crate) struct Words {
    pub(crate) advisor: Py<PyAny>,
    pub(crate) flow: Py<PyAny>,
    /// Base class of all actions.
    pub(crate) action: Py<PyAny>,
    doublings: Py<PyAny>,
    timer: Py<PyAny>,
    lose: Py<PyAny>,
    copy: Py<PyAny>,
    window: Py<PyAny>,
    wake: Py<PyAny>,
    events: [Py<PyAny>; EVENTS],
}

static WORDS: PyOnceLock<Words> = PyOnceLock::new();

/// The error of an answer that is not an action.
pub(crate) fn no_answer(found: &Bound<'_, PyAny>) -> PyErr {
    let found = found.repr().map_or_else(|_| "that".to_owned(), |text| text.to_string());
    PyTypeError::new_err(format!(
        "an advisor answers None, one of Doublings, Timer, Lose, Copy, Window and Wake, or several of them, not {found}"
    ))
}

impl Words {
    pub(crate) fn get(py: Python<'_>) -> PyResult<&Words> {
        WORDS.get_or_try_init(py, || {
            let module = py.import("thinstream.advice")?;
            let class = |name: &str| module.getattr(name).map(Bound::unbind);
            let events: Vec<_> =
                Heard::ALL.iter().map(|kind| class(kind.class())).collect::<PyResult<_>>()?;
            Ok(Words {
                advisor: class("Advisor")?,
                flow: class("Flow")?,
                action: class("Action")?,
                doublings: class("Doublings")?,
                timer: class("Timer")?,
                lose: class("Lose")?,
                copy: class("Copy")?,
                window: class("Window")?,
                wake: class("Wake")?,
                events: events.try_into().map_err(|_| PyTypeError::new_err("events"))?,
            })
        })
    }

    /// The event as an object.
    pub(crate) fn event<'py>(
        &self,
        py: Python<'py>,
        now: Instant,
        event: &Event,
    ) -> PyResult<Bound<'py, PyAny>> {
        let class = self.events[Heard::of(event) as usize].bind(py);
        let (at, path) = (now.as_secs_f64(), event.path().unwrap_or(PathId::FIRST).number());
        match *event {
            Event::Sent { packet, new, again, bytes, next_unit, .. } => {
                class.call1((at, path, packet, new, again, bytes, next_unit))
            }
            Event::Resent { unit, cause, order } => {
                class.call1((at, unit, Cause::name(cause), order))
            }
            Event::Acknowledged { cumulative, bytes, rtt, rto, .. } => {
                let rtt = rtt.map(Duration::as_secs_f64);
                class.call1((at, path, cumulative, bytes, rtt, rto.as_secs_f64()))
            }
            Event::Lost { packets, cause, .. } => {
                class.call1((at, path, packets, Cause::name(cause)))
            }
            Event::Timeout { next_rto, thin, linear, doublings, .. } => {
                class.call1((at, path, next_rto.as_secs_f64(), thin, linear, doublings))
            }
            Event::Probed { new, .. } => class.call1((at, path, new)),
            Event::TimerSet { due, .. } => class.call1((at, path, due.as_secs_f64())),
            Event::Window { cwnd, ssthresh, flight, .. } => {
                class.call1((at, path, cwnd, ssthresh, flight))
            }
            Event::Repaired { units, .. } => class.call1((at, path, units)),
            Event::Spurious { units } => class.call1((at, units)),
        }
    }

    /// The answer in an object, about `path` unless it names another.
    pub(crate) fn answer(&self, given: &Bound<'_, PyAny>, path: PathId) -> PyResult<Answer> {
        let (py, class) = (given.py(), given.get_type());
        let is = |word: &Py<PyAny>| class.is(word.bind(py));
        let path = || -> PyResult<PathId> {
            let named: Option<u8> = given.getattr("path")?.extract()?;
            Ok(named.map_or(path, PathId::of_number))
        };
        let unit = || given.getattr("unit")?.extract::<u64>();
        Ok(Answer::Do(if is(&self.doublings) {
            Advice::Doublings { path: path()?, doublings: given.getattr("doublings")?.extract()? }
        } else if is(&self.timer) {
            Advice::Timer { path: path()?, after: span(given)? }
        } else if is(&self.lose) {
            Advice::Lose { unit: unit()? }
        } else if is(&self.copy) {
            Advice::Copy { unit: unit()? }
        } else if is(&self.window) {
            Advice::Window { path: path()?, bytes: given.getattr("bytes")?.extract()? }
        } else if is(&self.wake) {
            return Ok(Answer::Wake(span(given)?));
        } else {
            return Err(no_answer(given));
        }))
    }

    /// The object of an advice.
    pub(crate) fn action_of<'py>(
        &self,
        py: Python<'py>,
        advice: Advice,
    ) -> PyResult<Bound<'py, PyAny>> {
        match advice {
            Advice::Doublings { path, doublings } => {
                self.doublings.bind(py).call1((doublings, path.number()))
            }
            Advice::Timer { path, after } => {
                self.timer.bind(py).call1((after.as_secs_f64(), path.number()))
            }
            Advice::Lose { unit } => self.lose.bind(py).call1((unit,)),
            Advice::Copy { unit } => self.copy.bind(py).call1((unit,)),
            Advice::Window { path, bytes } => self.window.bind(py).call1((bytes, path.number())),
        }
    }
}

/// Seconds of an action, to the nanosecond.
fn span(given: &Bound<'_, PyAny>) -> PyResult<Duration> {
    let seconds: f64 = given.getattr("after")?.extract()?;
    match seconds >= 0.0 && seconds.is_finite() {
        true => Ok(Duration::from_nanos((seconds * 1e9).round() as u64)),
        false => Err(PyValueError::new_err(format!("after is {seconds}; give seconds from now"))),
    }
}

/// A unit in flight, as an advisor sees it.
#[pyclass(frozen, module = "thinstream._native")]
pub(crate) struct Unit(UnitInFlight);

#[pymethods]
impl Unit {
    /// Number of the unit in the ledger, from 0.
    #[getter]
    fn unit(&self) -> u64 {
        self.0.unit
    }

    /// Bytes of user data in the unit.
    #[getter]
    fn bytes(&self) -> u32 {
        self.0.bytes
    }

    /// Time of the last transmission, in seconds of virtual time.
    #[getter]
    fn sent_at(&self) -> f64 {
        self.0.sent_at.as_secs_f64()
    }

    /// Number of times that the unit was sent.
    #[getter]
    fn transmissions(&self) -> u8 {
        self.0.transmissions
    }

    fn __repr__(&self) -> String {
        let UnitInFlight { unit, bytes, transmissions, .. } = self.0;
        let at = self.sent_at();
        format!("<Unit {unit}: {bytes} bytes, sent {transmissions} times, last at {at} s>")
    }
}

/// State of a path when an advisor is asked: times in seconds, windows and flight in bytes.
#[pyclass(frozen, module = "thinstream._native")]
pub(crate) struct Path {
    number: u8,
    view: PathView,
}

impl Path {
    pub(crate) fn new(path: PathId, view: &PathView) -> Path {
        Path { number: path.number(), view: view.clone() }
    }
}

#[pymethods]
impl Path {
    /// Number of the path, from 0.
    #[getter]
    fn number(&self) -> u8 {
        self.number
    }

    /// Smoothed round-trip time in seconds; None before the first sample.
    #[getter]
    fn srtt(&self) -> Option<f64> {
        self.view.snapshot.srtt.map(Duration::as_secs_f64)
    }

    /// Variation of the round-trip time in seconds; None before the first sample.
    #[getter]
    fn rttvar(&self) -> Option<f64> {
        self.view.snapshot.rttvar.map(Duration::as_secs_f64)
    }

    /// The latest sample of the round-trip time in seconds; None before the first.
    #[getter]
    fn latest_rtt(&self) -> Option<f64> {
        self.view.snapshot.latest_rtt.map(Duration::as_secs_f64)
    }

    /// Retransmission timeout in seconds, back-off included.
    #[getter]
    fn rto(&self) -> f64 {
        self.view.snapshot.rto.as_secs_f64()
    }

    /// Time in seconds at which the retransmission timer is due; None while it is stopped.
    #[getter]
    fn timer_due(&self) -> Option<f64> {
        self.view.snapshot.t3_rtx.map(Instant::as_secs_f64)
    }

    /// Congestion window in bytes.
    #[getter]
    fn cwnd(&self) -> u64 {
        self.view.snapshot.cwnd
    }

    /// Slow start threshold in bytes.
    #[getter]
    fn ssthresh(&self) -> u64 {
        self.view.snapshot.ssthresh
    }

    /// Bytes in flight.
    #[getter]
    fn flight(&self) -> u64 {
        self.view.snapshot.flight.bytes
    }

    /// Packets in flight.
    #[getter]
    fn packets(&self) -> u32 {
        self.view.snapshot.flight.packets
    }

    /// Whether the policy finds the stream thin.
    #[getter]
    fn thin(&self) -> bool {
        self.view.snapshot.thin
    }

    /// Whether fast recovery is in progress.
    #[getter]
    fn recovering(&self) -> bool {
        self.view.snapshot.in_fast_recovery
    }

    /// Estimated share of packets lost, from 0 to 1.
    #[getter]
    fn loss(&self) -> f64 {
        self.view.snapshot.loss.as_f64()
    }

    /// The lowest units in flight, 64 at most, ascending.
    #[getter]
    fn units(&self) -> Vec<Unit> {
        self.view.units.iter().copied().map(Unit).collect()
    }

    fn __repr__(&self) -> String {
        format!("<Path {}: {:?}>", self.number, self.view.snapshot)
    }
}

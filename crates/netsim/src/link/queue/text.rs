//! Queues as plans and options write them, such as `100p` or `codel`.

use core::str::FromStr;

use base::{ByteCount, Duration, ParseQuantityError, Probability, Rate};

use super::{Codel, Discipline, FqCodel, Pie, QueueLimit, Red, RedUnit};

/// A limit on the length of a queue: in packets, bytes or bandwidth-delay products.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueueLength {
    /// A number of packets of any size: `100p`.
    Packets(usize),
    /// A number of bytes: `150kB`.
    Bytes(u64),
    /// A multiple of the bandwidth-delay product, the bytes that the rate carries in a round trip:
    /// `1.5bdp`.
    Bdp(f64),
}

/// A queue: how much may wait, and its discipline.
///
/// | text | meaning |
/// |---|---|
/// | `100p`, `150kB`, `1.5bdp` | drop-tail |
/// | `red MIN MAX LIMIT [weight=0.002] [probability=10%] [typical=500B] [gentle] [ecn]` | [`Red`]; all lengths in packets, or all in bytes |
/// | `codel [LIMIT] [target=5ms] [interval=100ms] [ecn]` | [`Codel`]; 1000 packets where no limit is given |
/// | `fq_codel [LIMIT] [target=5ms] [interval=100ms] [queues=1024] [quantum=1514B] [ecn]` | [`FqCodel`]; 10240 packets where no limit is given |
/// | `pie [LIMIT] [target=15ms] [update=15ms] [burst=150ms] [ecn]` | [`Pie`]; 1000 packets where no limit is given |
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueText {
    limit: QueueLength,
    discipline: DisciplineText,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum DisciplineText {
    DropTail,
    /// RED; minimum and maximum are separate, since they may depend on rate and round trip.
    Red {
        min: QueueLength,
        max: QueueLength,
        rest: Red,
    },
    Codel(Codel),
    FqCodel(FqCodel),
    Pie(Pie),
}

const LENGTH: &str =
    "a queue length such as 100p (packets), 64KiB or 1.5bdp (of rate and round trip)";
const QUEUE: &str = "a queue such as 100p (packets), 64KiB, 1.5bdp (of rate and round trip), \
                     \"red 5p 15p 60p\", \"codel 1000p\", \"fq_codel\" or \"pie\"";
const RED: &str = "a queue such as \"red 5p 15p 60p\": minimum, maximum and limit, all in packets or all in bytes, \
                   then any of weight=0.002, probability=10%, typical=500B, gentle and ecn";
const CODEL: &str =
    "a queue such as \"codel 1000p\", with any of target=5ms, interval=100ms and ecn";
const FQ_CODEL: &str = "a queue such as \"fq_codel 10240p\", with any of target=5ms, interval=100ms, queues=1024, \
                        quantum=1514B and ecn";
const PIE: &str =
    "a queue such as \"pie 1000p\", with any of target=15ms, update=15ms, burst=150ms and ecn";

impl FromStr for QueueLength {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<QueueLength, ParseQuantityError> {
        let refused = || ParseQuantityError::new(text, LENGTH);
        if let Some(number) = text.strip_suffix("bdp") {
            let factor =
                number.parse().ok().filter(|factor: &f64| factor.is_finite() && *factor > 0.0);
            return factor.map(QueueLength::Bdp).ok_or_else(refused);
        }
        if let Some(packets) = text.strip_suffix('p') {
            return packets.parse().map(QueueLength::Packets).map_err(|_| refused());
        }
        // Packets or bytes? It must be said.
        if text.ends_with(|last: char| last.is_ascii_digit()) {
            return Err(refused());
        }
        let bytes: ByteCount = text.parse().map_err(|_| refused())?;
        Ok(QueueLength::Bytes(bytes.0))
    }
}

impl QueueLength {
    fn is_in_packets(self) -> bool {
        matches!(self, QueueLength::Packets(_))
    }

    /// Packets or bytes, where a link of `rate` has this round-trip time.
    fn resolve(self, rate: Rate, round_trip: Duration) -> u64 {
        match self {
            QueueLength::Packets(packets) => packets as u64,
            QueueLength::Bytes(bytes) => bytes,
            QueueLength::Bdp(factor) => {
                let bits = rate.bits_per_second() as f64;
                (bits / 8.0 * round_trip.as_secs_f64() * factor).round() as u64
            }
        }
    }

    fn limit(self, rate: Rate, round_trip: Duration) -> QueueLimit {
        let length = self.resolve(rate, round_trip);
        match self.is_in_packets() {
            true => QueueLimit::packets(length as usize),
            false => QueueLimit::bytes(length),
        }
    }
}

impl FromStr for QueueText {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<QueueText, ParseQuantityError> {
        let mut words = text.split_whitespace();
        match words.next() {
            Some("red") => parse_red(words).ok_or_else(|| ParseQuantityError::new(text, RED)),
            Some("codel") => parse_codel(words).ok_or_else(|| ParseQuantityError::new(text, CODEL)),
            Some("fq_codel") => {
                parse_fq_codel(words).ok_or_else(|| ParseQuantityError::new(text, FQ_CODEL))
            }
            Some("pie") => parse_pie(words).ok_or_else(|| ParseQuantityError::new(text, PIE)),
            _ => match text.parse() {
                Ok(limit) => Ok(QueueText { limit, discipline: DisciplineText::DropTail }),
                Err(_) => Err(ParseQuantityError::new(text, QUEUE)),
            },
        }
    }
}

fn parse_red<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<QueueText> {
    let mut length = || words.next()?.parse::<QueueLength>().ok();
    let (min, max, limit) = (length()?, length()?, length()?);
    let alike =
        min.is_in_packets() == max.is_in_packets() && max.is_in_packets() == limit.is_in_packets();
    let unit = if min.is_in_packets() { RedUnit::Packets } else { RedUnit::Bytes };
    let mut rest = Red::between(unit, 0, 0);
    for word in words {
        match word.split_once('=') {
            Some(("weight", number)) => rest.weight = number.parse().ok()?,
            Some(("probability", share)) => rest.probability = share.parse::<Probability>().ok()?,
            Some(("typical", size)) => rest.typical = size.parse::<ByteCount>().ok()?.0,
            None if word == "gentle" => rest.gentle = true,
            None if word == "ecn" => rest.ecn = true,
            _ => return None,
        }
    }
    alike.then_some(QueueText { limit, discipline: DisciplineText::Red { min, max, rest } })
}

/// Parses an optional limit and the options behind it; `option` parses those with values, `ecn` is
/// separate.
fn parse_options<'a>(
    words: impl Iterator<Item = &'a str>,
    limit: &mut QueueLength,
    ecn: &mut bool,
    mut option: impl FnMut(&str, &str) -> Option<()>,
) -> Option<()> {
    for (place, word) in words.enumerate() {
        match word.split_once('=') {
            Some((name, value)) => option(name, value)?,
            None if word == "ecn" => *ecn = true,
            None if place == 0 => *limit = word.parse().ok()?,
            _ => return None,
        }
    }
    Some(())
}

fn parse_codel<'a>(words: impl Iterator<Item = &'a str>) -> Option<QueueText> {
    let (mut limit, mut codel) = (QueueLength::Packets(1000), Codel::default());
    let mut ecn = false;
    parse_options(words, &mut limit, &mut ecn, |name, value| set_codel(&mut codel, name, value))?;
    codel.ecn = ecn;
    Some(QueueText { limit, discipline: DisciplineText::Codel(codel) })
}

fn set_codel(codel: &mut Codel, name: &str, value: &str) -> Option<()> {
    match name {
        "target" => codel.target = value.parse().ok()?,
        "interval" => codel.interval = value.parse().ok()?,
        _ => return None,
    }
    Some(())
}

fn parse_fq_codel<'a>(words: impl Iterator<Item = &'a str>) -> Option<QueueText> {
    let (mut limit, mut fq) = (QueueLength::Packets(10_240), FqCodel::default());
    let mut ecn = false;
    parse_options(words, &mut limit, &mut ecn, |name, value| {
        match name {
            "queues" => fq.queues = value.parse().ok()?,
            "quantum" => fq.quantum = value.parse::<ByteCount>().ok()?.0.try_into().ok()?,
            _ => set_codel(&mut fq.codel, name, value)?,
        }
        Some(())
    })?;
    fq.codel.ecn = ecn;
    Some(QueueText { limit, discipline: DisciplineText::FqCodel(fq) })
}

fn parse_pie<'a>(words: impl Iterator<Item = &'a str>) -> Option<QueueText> {
    let (mut limit, mut pie) = (QueueLength::Packets(1000), Pie::default());
    let mut ecn = false;
    parse_options(words, &mut limit, &mut ecn, |name, value| {
        match name {
            "target" => pie.target = value.parse().ok()?,
            "update" => pie.update = value.parse().ok()?,
            "burst" => pie.burst = value.parse().ok()?,
            _ => return None,
        }
        Some(())
    })?;
    pie.ecn = ecn;
    Some(QueueText { limit, discipline: DisciplineText::Pie(pie) })
}

impl QueueText {
    /// Limit and discipline where a link of `rate` has this round-trip time.
    pub fn resolve(&self, rate: Rate, round_trip: Duration) -> (QueueLimit, Discipline) {
        let discipline = match self.discipline {
            DisciplineText::DropTail => Discipline::DropTail,
            DisciplineText::Codel(codel) => Discipline::Codel(codel),
            DisciplineText::FqCodel(fq) => Discipline::FqCodel(fq),
            DisciplineText::Pie(pie) => Discipline::Pie(pie),
            DisciplineText::Red { min, max, rest } => Discipline::Red(Red {
                min: min.resolve(rate, round_trip),
                max: max.resolve(rate, round_trip),
                ..rest
            }),
        };
        (self.limit.limit(rate, round_trip), discipline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (QueueLimit, Discipline) {
        let rate = Rate::from_bits_per_second(8_000_000).unwrap();
        text.parse::<QueueText>().unwrap().resolve(rate, Duration::from_millis(50))
    }

    #[test]
    fn queues_are_in_packets_in_bytes_or_in_round_trips() {
        assert_eq!(read("100p"), (QueueLimit::packets(100), Discipline::DropTail));
        assert_eq!(read("150kB"), (QueueLimit::bytes(150_000), Discipline::DropTail));
        assert_eq!(read("1.5bdp"), (QueueLimit::bytes(75_000), Discipline::DropTail));
    }

    #[test]
    fn disciplines_have_the_values_of_their_papers_unless_others_are_given() {
        let red = Red::between(RedUnit::Packets, 5, 15);
        assert_eq!(read("red 5p 15p 60p"), (QueueLimit::packets(60), Discipline::Red(red)));
        let (limit, Discipline::Red(red)) =
            read("red 0.1bdp 5kB 1bdp weight=0.01 probability=2% gentle ecn")
        else {
            panic!()
        };
        assert_eq!((limit, red.unit, red.min), (QueueLimit::bytes(50_000), RedUnit::Bytes, 5_000));
        assert_eq!((red.weight, red.gentle, red.ecn), (0.01, true, true));
        assert_eq!(red.probability, "2%".parse().unwrap());
        let codel = Codel::default();
        assert_eq!(read("codel"), (QueueLimit::packets(1000), Discipline::Codel(codel)));
        let slow = Codel { target: Duration::from_millis(15), ecn: true, ..codel };
        assert_eq!(
            read("codel 1MB target=15ms ecn"),
            (QueueLimit::bytes(1_000_000), Discipline::Codel(slow))
        );
    }

    #[test]
    fn flow_queues_and_pie_have_the_values_of_their_rfcs_unless_others_are_given() {
        let fq = FqCodel::default();
        assert_eq!(read("fq_codel"), (QueueLimit::packets(10_240), Discipline::FqCodel(fq)));
        let codel = Codel { target: Duration::from_millis(10), ecn: true, ..Codel::default() };
        assert_eq!(
            read("fq_codel 100p queues=16 quantum=300B target=10ms ecn"),
            (
                QueueLimit::packets(100),
                Discipline::FqCodel(FqCodel { codel, queues: 16, quantum: 300 })
            )
        );
        let pie = Pie::default();
        assert_eq!(read("pie"), (QueueLimit::packets(1000), Discipline::Pie(pie)));
        let pie = Pie { target: Duration::from_millis(20), ecn: true, ..pie };
        assert_eq!(
            read("pie 1MB target=20ms ecn"),
            (QueueLimit::bytes(1_000_000), Discipline::Pie(pie))
        );
    }

    #[test]
    fn what_is_no_queue_is_told_what_would_be_one() {
        for text in ["100", "p", "-1p", "", "many", "0bdp", "fifo 100p"] {
            let error = text.parse::<QueueText>().unwrap_err().to_string();
            assert!(error.contains("100p") && error.contains(text), "{error}");
        }
        for text in [
            "red",
            "red 5p 15p",
            "red 5p 15kB 60p",
            "red 5p 15p 60p weight=x",
            "red 5p 15p 60p mild",
        ] {
            let error = text.parse::<QueueText>().unwrap_err().to_string();
            assert!(error.contains("red 5p 15p 60p"), "{error}");
        }
        for text in ["codel fast", "codel ecn 100p", "codel target=5"] {
            let error = text.parse::<QueueText>().unwrap_err().to_string();
            assert!(error.contains("codel 1000p"), "{error}");
        }
        for (text, right) in
            [("fq_codel flows=3", "queues=1024"), ("pie interval=1s", "burst=150ms")]
        {
            let error = text.parse::<QueueText>().unwrap_err().to_string();
            assert!(error.contains(right), "{error}");
        }
    }
}

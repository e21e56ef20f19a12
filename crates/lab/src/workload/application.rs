//! Applications in the papers' tables of thin streams: times and sizes of their packets.

use core::str::FromStr;

use base::ParseQuantityError;

use super::fit::{Fit, Percentiles};

/// A row of table 1 of Petlund et al. (2008), or of Petlund et al. (2009).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Application(usize);

/// Reported numbers of an application's traffic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ApplicationRow {
    /// Name by which plans refer to it.
    pub name: &'static str,
    /// Name in the tables of the papers.
    pub title: &'static str,
    /// Whether the numbers were checked against the paper. Those that were not are never shown as
    /// a paper's.
    pub verified: bool,
    /// Payload, bytes: mean, smallest, largest.
    pub payload: [f64; 3],
    /// Time between packets, ms: mean, median, shortest, longest, 1st and 99th percentile. `<1`
    /// stands as 0.5.
    pub interval_ms: [f64; 6],
    /// Packets and bits a second, where reported.
    pub rates: Option<(f64, f64)>,
}

/// A row in the order of the papers' columns.
const fn row(
    name: &'static str,
    title: &'static str,
    verified: bool,
    payload: [f64; 3],
    interval_ms: [f64; 6],
    rates: Option<(f64, f64)>,
) -> ApplicationRow {
    ApplicationRow { name, title, verified, payload, interval_ms, rates }
}

/// The rows: first those checked against a paper, then the others.
pub const APPLICATIONS: [ApplicationRow; 16] = [
    row(
        "anarchy-online",
        "Anarchy Online",
        true,
        [98.0, 8.0, 1333.0],
        [632.0, 449.0, 7.0, 17032.0, 83.0, 4195.0],
        Some((1.582, 2168.0)),
    ),
    row(
        "world-of-warcraft",
        "World of Warcraft",
        true,
        [26.0, 6.0, 1228.0],
        [314.0, 133.0, 0.0, 14855.0, 0.0, 3785.0],
        Some((3.185, 2046.0)),
    ),
    row(
        "skype",
        "Skype (TCP)",
        true,
        [236.0, 14.0, 1267.0],
        [34.0, 40.0, 0.0, 1671.0, 4.0, 80.0],
        Some((29.412, 69296.0)),
    ),
    row(
        "bzflag",
        "BZFlag",
        true,
        [30.0, 4.0, 1448.0],
        [24.0, 0.0, 0.0, 540.0, 0.0, 151.0],
        Some((41.667, 31370.0)),
    ),
    row(
        "age-of-conan",
        "Age of Conan",
        true,
        [80.0, 5.0, 1460.0],
        [86.0, 57.0, 0.0, 1375.0, 24.0, 386.0],
        Some((11.628, 12375.0)),
    ),
    row(
        "counter-strike",
        "Counter Strike",
        true,
        [36.0, 25.0, 1342.0],
        [124.0, 65.0, 0.0, 66354.0, 34.0, 575.0],
        Some((8.064, 19604.0)),
    ),
    row(
        "halo-3-high",
        "Halo 3, high intensity",
        true,
        [247.0, 32.0, 1264.0],
        [36.0, 33.0, 0.0, 1403.0, 32.0, 182.0],
        Some((27.778, 60223.0)),
    ),
    row(
        "halo-3-moderate",
        "Halo 3, moderate intensity",
        true,
        [270.0, 32.0, 280.0],
        [67.0, 66.0, 32.0, 716.0, 64.0, 69.0],
        Some((14.925, 35888.0)),
    ),
    row(
        "tony-hawk",
        "Tony Hawk's Project 8",
        true,
        [90.0, 32.0, 576.0],
        [308.0, 163.0, 0.0, 4070.0, 53.0, 2332.0],
        Some((3.247, 5812.0)),
    ),
    row(
        "test-drive-unlimited",
        "Test Drive Unlimited",
        true,
        [80.0, 34.0, 104.0],
        [40.0, 33.0, 0.0, 298.0, 0.0, 158.0],
        Some((25.0, 22912.0)),
    ),
    row(
        "casa",
        "Casa",
        false,
        [175.0, 93.0, 572.0],
        [7287.0, 307.0, 305.0, 29898.0, 305.0, 29898.0],
        None,
    ),
    row(
        "remote-desktop",
        "Windows remote desktop",
        false,
        [111.0, 8.0, 1417.0],
        [318.0, 159.0, 1.0, 12254.0, 2.0, 3892.0],
        Some((3.145, 4497.0)),
    ),
    row(
        "ssh",
        "SSH text session",
        false,
        [48.0, 16.0, 752.0],
        [323.0, 159.0, 0.5, 76610.0, 32.0, 3616.0],
        Some((3.096, 2825.0)),
    ),
    row(
        "youtube",
        "YouTube stream",
        false,
        [1446.0, 112.0, 1448.0],
        [9.0, 0.5, 0.5, 1335.0, 0.5, 127.0],
        None,
    ),
    row(
        "http",
        "HTTP download",
        false,
        [1447.0, 64.0, 1448.0],
        [0.5, 0.5, 0.5, 186.0, 0.5, 8.0],
        None,
    ),
    row(
        "ftp",
        "FTP download",
        false,
        [1447.0, 40.0, 1448.0],
        [0.5, 0.5, 0.5, 339.0, 0.5, 0.5],
        None,
    ),
];

impl Application {
    /// BZFlag, an online game of tanks.
    pub const BZFLAG: Application = Application(3);

    /// All of them, in the order of the table.
    pub fn all() -> impl Iterator<Item = Application> {
        (0..APPLICATIONS.len()).map(Application)
    }

    /// Numbers of the application in the papers.
    pub fn row(self) -> &'static ApplicationRow {
        &APPLICATIONS[self.0]
    }

    /// The distribution of its times between packets, ms.
    pub fn intervals(self) -> Fit {
        let [mean, median, shortest, longest, low, high] = self.row().interval_ms;
        let points = [(0.0, shortest), (0.01, low), (0.5, median), (0.99, high), (1.0, longest)];
        Fit::new(Percentiles { points: &points, mean })
    }

    /// The distribution of its payloads, bytes.
    pub fn payloads(self) -> Fit {
        let [mean, smallest, largest] = self.row().payload;
        Fit::new(Percentiles { points: &[(0.0, smallest), (1.0, largest)], mean })
    }
}

impl FromStr for Application {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Application, ParseQuantityError> {
        const FORM: &str =
            "an application such as anarchy-online (\"thinstream lab workloads\" lists them)";
        let place = APPLICATIONS.iter().position(|row| row.name == text);
        place.map(Application).ok_or_else(|| ParseQuantityError::new(text, FORM))
    }
}

impl core::fmt::Display for Application {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.row().name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_fitted_through_its_percentiles_with_its_mean() {
        for application in Application::all() {
            let row = application.row();
            let [mean, median, shortest, longest, low, high] = row.interval_ms;
            let fit = application.intervals();
            for (quantile, value) in
                [(0.0, shortest), (0.01, low), (0.5, median), (0.99, high), (1.0, longest)]
            {
                assert!((fit.quantile(quantile) - value).abs() < 1e-6, "{} {quantile}", row.name);
            }
            let (have, payload) = (fit.mean(), application.payloads().mean());
            if row.verified {
                assert!((have / mean - 1.0).abs() < 0.02, "{}: {have} for {mean}", row.name);
            }
            assert!((payload / row.payload[0] - 1.0).abs() < 0.02, "{}: {payload}", row.name);
        }
    }

    #[test]
    fn names_read_back_and_differ() {
        for application in Application::all() {
            assert_eq!(application.to_string().parse(), Ok(application));
        }
        assert_eq!(Application::BZFLAG.to_string(), "bzflag");
        assert!("quake".parse::<Application>().unwrap_err().to_string().contains("anarchy-online"));
    }
}

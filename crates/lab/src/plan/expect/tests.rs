use super::*;

fn read(text: &str) -> Result<Expectation, String> {
    let row: Expectation = toml::from_str(&format!("measure = \"x\"\nsource = \"s\"\n{text}"))
        .map_err(|one| one.to_string())?;
    row.check(&BTreeMap::new(), None).map_err(|error| error.to_string())?;
    Ok(row)
}

#[test]
fn a_row_that_no_effect_would_meet_is_refused() {
    for text in [
        // The paper's number is so near 1 that the smallest tolerance includes 1.
        "value = 1.01\nover = \"other\"\ntolerance = 1",
        "value = 0.99\nover = \"other\"\ntolerance = 1",
        "value = 2\nwithin = 1\nover = \"other\"",
        "value = 5\nwithin = 6\nminus = {}",
        "above = 0.85\nbelow = 1.02\nover = \"other\"",
        "below = 1.1\nover = \"other\"",
        "above = -5\nminus = {}",
        "above = -0.1\nthan = { measure = \"y\" }\nover = \"other\"",
        "value = 1.05\nneutral = 1\nwithin = 0.1",
    ] {
        let error = read(text).unwrap_err();
        assert!(error.contains("which is no effect"), "{text}: {error}");
    }
    // For some measures the value without an effect is not 1.
    let needed = "measure = \"late.needed_ratio\"\nsource = \"s\"\nvalue = 1.05\nwithin = 0.15";
    let needed: Expectation = toml::from_str(needed).unwrap();
    assert!(needed.check_values().unwrap_err().contains("would be met by 1"));
}

#[test]
fn a_row_that_leaves_no_effect_out_or_claims_it_is_taken() {
    for (text, claim) in [
        ("value = 1.05\nover = \"other\"", Claim::Number),
        ("value = 1\nover = \"other\"", Claim::NoEffect),
        ("below = 1\nover = \"other\"", Claim::Direction),
        ("above = 0\nminus = {}", Claim::Direction),
        ("below = 0\nthan = { measure = \"y\" }\nover = \"other\"", Claim::Direction),
        ("below = 0.5\nover = \"other\"", Claim::Number),
        ("above = 0.9\nbelow = 1\nover = \"other\"", Claim::Number),
        ("above = 0.85\nbelow = 1.02\nover = \"other\"\nclaims = \"no-effect\"", Claim::NoEffect),
        ("value = 7", Claim::Number),
        ("above = 0\nbelow = 3", Claim::Number),
        ("reported = false\nover = \"other\"", Claim::Number),
    ] {
        assert_eq!(read(text).map(|row| row.claim()), Ok(claim), "{text}");
    }
}

#[test]
fn what_a_row_says_twice_or_not_at_all_is_refused() {
    for (text, part) in [
        ("", "says nothing"),
        ("value = 1\nbelow = 2", "a value and a bound"),
        ("value = 1\ntolerance = 0.1\nwithin = 1", "give one"),
        ("below = 1\ntolerance = 0.1", "no value that it is of"),
        ("value = 1\ntolerance = -0.1", "tolerance is -0.1"),
        ("value = 1\nwithin = nan", "within is NaN"),
        ("value = 1\nminus = {}\nover = \"other\"", "both a difference"),
        ("below = 0\nminus = {}\nthan = { over = \"other\" }", "both a difference"),
        ("reported = false\nkind = \"fitted\"", "not reported"),
        ("below = 0\nworst = \"highest\"\nover = \"o\"\nthan = {}", "the worst cell"),
        ("value = 1\nkind = \"guess\"", "unknown variant `guess`"),
        ("value = 1\nthan = { wher = {} }", "unknown field `wher`"),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn a_tolerance_of_a_ratio_is_never_more_than_its_share() {
    for (text, paper, expected) in [
        ("value = 1.9\nover = \"o\"", 1.9, 0.135),
        ("value = 0.2\nover = \"o\"", 0.2, 0.03),
        ("value = 1.05\nover = \"o\"", 1.05, 0.02),
        ("value = 1.05\nover = \"o\"\ntolerance = 0.01", 1.05, 0.0105),
        ("value = 1.15\ntolerance = 0.1", 1.15, 0.115),
        ("value = 12\nminus = {}", 12.0, 1.8),
        ("value = 117\nwithin = 6", 117.0, 6.0),
    ] {
        let found = read(text).unwrap().room(paper);
        assert!((found - expected).abs() < 1e-12, "{text}: {found}");
    }
}

#[test]
fn what_a_comparison_does_not_say_is_as_in_its_row() {
    let row = read("below = 0\nof = \"a\"\nover = \"b\"\nthan = { measure = \"y\" }").unwrap();
    let (one, other) = (row.number(), row.other_number().unwrap());
    assert_eq!((one.measure, other.measure), ("x", "y"));
    assert_eq!((other.of, other.over, other.cells), (one.of, one.over, one.cells));
    assert_eq!(row.neutral(), Some(0.0));
}

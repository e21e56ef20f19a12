//! Expected reports of peers of data channels.

use serde_json::{Value, json};

/// Whether a page's exercises (`page.html`) went as they should over a link that loses this many
/// packets of a hundred.
///
/// # Errors
/// The deviation, with the expected value.
pub fn judge_page(result: &Value, loss_percent: u64) -> Result<(), String> {
    let sizes: Vec<Value> = [1, 2, 100, 1200, 16000, 65535, 262_144]
        .map(Value::from)
        .into_iter()
        .chain(["text 5", "text 0", "text 5000", "empty"].map(Value::from))
        .map(|what| json!([what, true]))
        .collect();
    equal(result, "sizes", &Value::from(sizes))?;
    for kind in ["ordered", "unordered", "protocol", "priority", "negotiated", "tenth"] {
        at_least(result, kind, 30)?;
    }
    // A message may be lost there and back, or, where it has little time, on a slow machine.
    let least = if loss_percent == 0 { 30 } else { 15 };
    for (kind, least) in [("once", least), ("twice", least), ("brief", 1), ("brief-unordered", 1)] {
        at_least(result, kind, least)?;
    }
    equal(result, "from_server", &json!(["from the server", "news", false, 3]))?;
    equal(result, "again", &json!("again"))?;
    equal(result, "max_message", &json!(262_144))
}

/// Whether a program's exercises (`peers/`) went as they should.
///
/// # Errors
/// The deviation, with the expected value.
pub(super) fn judge_program(result: &Value, loss_percent: u64) -> Result<(), String> {
    let sizes =
        ["1", "100", "1200", "16000", "65535"].map(|size| (size.to_owned(), Value::from(true)));
    equal(result, "sizes", &Value::Object(sizes.into_iter().collect()))?;
    let least = if loss_percent == 0 { 30 } else { 15 };
    for (kind, least) in [("ordered", 30), ("unordered", 30), ("once", least), ("brief", 1)] {
        at_least(result, kind, least)?;
    }
    equal(result, "from_server", &json!("from the server"))?;
    equal(result, "closed", &json!(true))
}

fn equal(result: &Value, key: &str, wanted: &Value) -> Result<(), String> {
    match &result[key] {
        found if found == wanted => Ok(()),
        found => Err(format!("{key}: {found} instead of {wanted}")),
    }
}

fn at_least(result: &Value, kind: &str, least: u64) -> Result<(), String> {
    match result["volleys"][kind].as_u64() {
        Some(found) if found >= least => Ok(()),
        found => Err(format!("channel {kind}: {found:?} of {least} messages: {result}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_lacks_anything_is_found_out() {
        let sizes = json!({ "1": true, "100": true, "1200": true, "16000": true, "65535": true });
        let volleys = json!({ "ordered": 30, "unordered": 30, "once": 30, "brief": 30 });
        let whole = json!({
            "sizes": sizes, "volleys": volleys, "from_server": "from the server", "closed": true
        });
        assert_eq!(judge_program(&whole, 0), Ok(()));
        for (key, wrong) in [
            ("sizes", json!({ "1": true })),
            ("volleys", json!({ "ordered": 29, "unordered": 30, "once": 30, "brief": 30 })),
            ("volleys", json!({ "ordered": 30, "unordered": 30, "once": 29, "brief": 30 })),
            ("from_server", json!("another")),
            ("closed", json!(false)),
        ] {
            let mut result = whole.clone();
            result[key] = wrong;
            assert!(judge_program(&result, 0).is_err(), "{result}");
        }
        let mut lossy = whole.clone();
        lossy["volleys"]["once"] = json!(20);
        assert!(judge_program(&lossy, 0).is_err() && judge_program(&lossy, 5).is_ok());
    }
}

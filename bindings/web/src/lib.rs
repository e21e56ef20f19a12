//! The live page's engine for JavaScript: `live` behind strings of JSON.

use live::{Setting, Show, Traffic, choices::Choices};
use wasm_bindgen::prelude::{JsError, wasm_bindgen};

/// All choices of a visitor, as JSON.
#[wasm_bindgen]
pub fn choices() -> String {
    Choices::to_json()
}

/// The numbers of a plan's small version, as the repository's `golden/` has them.
///
/// # Errors
/// When the plan cannot be read or run.
#[wasm_bindgen]
pub fn golden(plan: &str) -> Result<String, JsError> {
    Ok(live::golden(plan)?)
}

/// The traffic of a packet capture.
#[wasm_bindgen]
pub struct Capture(Traffic);

#[wasm_bindgen]
impl Capture {
    /// Reads a capture, pcap or pcapng.
    ///
    /// # Errors
    /// The file is no capture, or carries no data of TCP or SCTP.
    #[wasm_bindgen(constructor)]
    pub fn new(bytes: &[u8]) -> Result<Capture, JsError> {
        Ok(Capture(Traffic::read(bytes)?))
    }

    /// Report on the capture, as JSON.
    pub fn told(&self) -> String {
        self.0.to_json()
    }
}

/// Two policies side by side.
#[wasm_bindgen]
pub struct Engine(Show);

#[wasm_bindgen]
impl Engine {
    /// The run of a setting, which is JSON.
    ///
    /// # Errors
    /// The fault in the setting.
    #[wasm_bindgen(constructor)]
    pub fn new(setting: &str) -> Result<Engine, JsError> {
        let setting: Setting = serde_json::from_str(setting)?;
        Ok(Engine(Show::new(setting, None)?))
    }

    /// The run of a setting that names a capture's traffic.
    ///
    /// # Errors
    /// The fault in the setting.
    pub fn of_capture(setting: &str, capture: &Capture) -> Result<Engine, JsError> {
        let setting: Setting = serde_json::from_str(setting)?;
        Ok(Engine(Show::new(setting, Some(capture.0.clone()))?))
    }

    /// Runs until this time in milliseconds; returns the new events as JSON.
    ///
    /// # Errors
    /// When a machine never comes to rest.
    pub fn advance(&mut self, to_ms: f64) -> Result<String, JsError> {
        Ok(self.0.advance(to_ms)?.to_json())
    }

    /// Numbers of both sides so far, as JSON.
    ///
    /// # Errors
    /// None are known.
    pub fn numbers(&self) -> Result<String, JsError> {
        Ok(serde_json::to_string(&self.0.numbers())?)
    }

    /// The plan of each side, as JSON.
    ///
    /// # Errors
    /// The fault in the setting.
    pub fn plans(&self) -> Result<String, JsError> {
        Ok(serde_json::to_string(&self.0.plans()?)?)
    }
}

//! The options argument of a `toLocale…` method.

use boa_engine::{Context, JsNativeError, JsObject, JsResult, JsValue, js_string};

/// The options argument of a `toLocale…` method.
pub struct Options(Option<JsObject>);

impl Options {
    pub fn of(value: Option<&JsValue>) -> Self {
        Self(value.and_then(JsValue::as_object))
    }

    pub fn get(&self, key: &'static str, context: &mut Context) -> JsResult<Option<JsValue>> {
        let Some(options) = &self.0 else { return Ok(None) };
        let value = options.get(js_string!(key), context)?;
        Ok(Some(value).filter(|value| !value.is_undefined()))
    }

    pub fn text(&self, key: &'static str, context: &mut Context) -> JsResult<Option<String>> {
        let Some(value) = self.get(key, context)? else { return Ok(None) };
        Ok(Some(value.to_string(context)?.to_std_string_lossy()))
    }

    pub fn truth(&self, key: &'static str, context: &mut Context) -> JsResult<Option<bool>> {
        Ok(self.get(key, context)?.map(|value| value.to_boolean()))
    }

    /// A number of digits within bounds.
    pub fn digits(&self, key: &'static str, least: usize, context: &mut Context) -> JsResult<Option<usize>> {
        let Some(value) = self.get(key, context)? else { return Ok(None) };
        let number = value.to_number(context)?;
        if !(least as f64..=100.0).contains(&number) {
            let message = format!("{key} must be a number from {least} to 100");
            return Err(JsNativeError::range().with_message(message).into());
        }
        Ok(Some(number as usize))
    }
}

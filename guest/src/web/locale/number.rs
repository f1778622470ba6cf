//! `toLocaleString` of numbers and bigints.

use super::options::Options;
use crate::web::helper::type_error;
use boa_engine::{Context, JsBigInt, JsNativeError, JsResult, JsValue};

/// The format of a number.
struct Form {
    fraction_min: usize,
    fraction_max: usize,
    integer_min: usize,
    /// The minimum and maximum of significant digits; replaces the bounds of the fraction.
    significant: Option<(usize, usize)>,
    grouped: bool,
    /// Written before the digits.
    prefix: String,
    /// Written after the digits.
    suffix: String,
    percent: bool,
    plus: bool,
}

pub fn to_locale_string(this: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let boxed = this.as_object().map(|object| {
        let number = object.downcast_ref::<f64>().map(|number| JsValue::from(*number));
        number.or_else(|| object.downcast_ref::<JsBigInt>().map(|number| JsValue::from(number.clone())))
    });
    let value = boxed.unwrap_or_else(|| Some(this.clone()));
    let form = |context: &mut Context| Form::of(&Options::of(arguments.get(1)), context);
    if let Some(number) = value.as_ref().and_then(JsValue::as_number) {
        let text = form(context)?.write(number);
        return Ok(boa_engine::js_string!(text).into());
    }
    if let Some(number) = value.as_ref().and_then(JsValue::as_bigint) {
        let digits = number.to_string();
        let text = form(context)?.write_digits(
            digits.starts_with('-'),
            digits.trim_start_matches('-').to_owned(),
            String::new(),
        );
        return Ok(boa_engine::js_string!(text).into());
    }
    Err(type_error("toLocaleString called on something that is not a number"))
}

impl Form {
    fn of(options: &Options, context: &mut Context) -> JsResult<Self> {
        let mut form = Self {
            fraction_min: 0,
            fraction_max: 3,
            integer_min: options.digits("minimumIntegerDigits", 1, context)?.unwrap_or(1),
            significant: None,
            grouped: options.text("useGrouping", context)?.is_none_or(|grouping| grouping != "false"),
            prefix: String::new(),
            suffix: String::new(),
            percent: false,
            plus: options.text("signDisplay", context)?.is_some_and(|display| display == "always"),
        };
        match options.text("style", context)?.as_deref() {
            Some("percent") => {
                form.percent = true;
                form.fraction_max = 0;
                form.suffix = "%".to_owned();
            }
            Some("currency") => form.currency(options, context)?,
            Some("unit") => form.suffix = format!(" {}", options.text("unit", context)?.unwrap_or_default()),
            _ => {}
        }
        form.digits(options, context)?;
        Ok(form)
    }

    fn currency(&mut self, options: &Options, context: &mut Context) -> JsResult<()> {
        let Some(code) = options.text("currency", context)?.map(|code| code.to_ascii_uppercase()) else {
            return Err(type_error("the style \"currency\" needs a currency, such as \"USD\""));
        };
        let decimals = if matches!(code.as_str(), "JPY" | "KRW" | "VND" | "CLP" | "ISK") { 0 } else { 2 };
        (self.fraction_min, self.fraction_max) = (decimals, decimals);
        let symbol = match code.as_str() {
            _ if options.text("currencyDisplay", context)?.is_some_and(|display| display == "code") => None,
            "USD" => Some("$"),
            "EUR" => Some("€"),
            "GBP" => Some("£"),
            "JPY" => Some("¥"),
            "INR" => Some("₹"),
            "KRW" => Some("₩"),
            "VND" => Some("₫"),
            "ILS" => Some("₪"),
            "CNY" => Some("CN¥"),
            "BRL" => Some("R$"),
            "CAD" => Some("CA$"),
            "AUD" => Some("A$"),
            "MXN" => Some("MX$"),
            "NZD" => Some("NZ$"),
            "HKD" => Some("HK$"),
            _ => None,
        };
        self.prefix = symbol.map_or_else(|| format!("{code}\u{A0}"), str::to_owned);
        Ok(())
    }

    fn digits(&mut self, options: &Options, context: &mut Context) -> JsResult<()> {
        let fraction_min = options.digits("minimumFractionDigits", 0, context)?;
        let fraction_max = options.digits("maximumFractionDigits", 0, context)?;
        match (fraction_min, fraction_max) {
            (Some(least), Some(most)) if least > most => {
                let message = "minimumFractionDigits is larger than maximumFractionDigits";
                return Err(JsNativeError::range().with_message(message).into());
            }
            (Some(least), most) => {
                self.fraction_min = least;
                self.fraction_max = most.unwrap_or_else(|| self.fraction_max.max(least));
            }
            (None, Some(most)) => {
                self.fraction_min = self.fraction_min.min(most);
                self.fraction_max = most;
            }
            (None, None) => {}
        }
        let least = options.digits("minimumSignificantDigits", 1, context)?;
        let most = options.digits("maximumSignificantDigits", 1, context)?;
        if least.is_some() || most.is_some() {
            self.significant = Some((least.unwrap_or(1), most.unwrap_or(21).max(least.unwrap_or(1))));
        }
        Ok(())
    }

    fn write(&self, number: f64) -> String {
        let negative = number.is_sign_negative() && !number.is_nan();
        if !number.is_finite() {
            let text = if number.is_nan() { "NaN" } else { "∞" };
            return self.with_affixes(negative, text);
        }
        let mut decimal = Decimal::of(number.abs());
        if self.percent {
            decimal.point += 2;
        }
        let (least, most) = match self.significant {
            None => (self.fraction_min as isize, self.fraction_max as isize),
            // `point` digits are before the decimal point; the other significant digits are fraction digits.
            Some((least, most)) => (least as isize - decimal.point, most as isize - decimal.point),
        };
        decimal.round(most);
        let (integer, mut fraction) = decimal.parts();
        while (fraction.len() as isize) < least {
            fraction.push('0');
        }
        self.write_digits(negative, integer, fraction)
    }

    fn write_digits(&self, negative: bool, integer: String, fraction: String) -> String {
        let integer = format!("{integer:0>width$}", width = self.integer_min);
        let mut text = if self.grouped { grouped(&integer) } else { integer };
        if !fraction.is_empty() {
            text.push('.');
            text.push_str(&fraction);
        }
        self.with_affixes(negative, &text)
    }

    fn with_affixes(&self, negative: bool, text: &str) -> String {
        let sign = if negative {
            "-"
        } else if self.plus {
            "+"
        } else {
            ""
        };
        format!("{sign}{}{text}{}", self.prefix, self.suffix)
    }
}

fn grouped(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number as the shortest decimal digits that identify the float. Rounding is applied to these digits, which a reader
/// sees: 1.005 becomes 1.01, although the float is slightly smaller.
struct Decimal {
    digits: Vec<u8>,
    /// How many of the digits are before the decimal point.
    point: isize,
}

impl Decimal {
    fn of(number: f64) -> Self {
        let text = format!("{number:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let digits = digits.bytes().filter(u8::is_ascii_digit).map(|digit| digit - b'0').collect();
        Self { digits, point: exponent.parse::<isize>().unwrap_or(0) + 1 }
    }

    /// Rounds half away from zero to that many fraction digits.
    fn round(&mut self, fraction: isize) {
        let kept = self.point + fraction;
        if kept >= self.digits.len() as isize {
            return;
        }
        let up = kept >= 0 && self.digits[kept as usize] >= 5;
        self.digits.truncate(kept.max(0) as usize);
        if !up {
            return;
        }
        for digit in self.digits.iter_mut().rev() {
            *digit += 1;
            if *digit < 10 {
                return;
            }
            *digit = 0;
        }
        self.digits.insert(0, 1);
        self.point += 1;
    }

    /// The digits before and after the point, the latter without trailing zeros.
    fn parts(&self) -> (String, String) {
        let digit = |place: isize| match usize::try_from(place) {
            Ok(place) => char::from(b'0' + self.digits.get(place).copied().unwrap_or(0)),
            Err(_) => '0',
        };
        let integer: String = (0..self.point).map(digit).collect();
        let fraction: String = (self.point..self.digits.len() as isize).map(digit).collect();
        let integer = integer.trim_start_matches('0');
        let integer = if integer.is_empty() { "0" } else { integer };
        (integer.to_owned(), fraction.trim_end_matches('0').to_owned())
    }
}

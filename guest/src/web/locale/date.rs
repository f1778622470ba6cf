//! `toLocaleString`, `toLocaleDateString` and `toLocaleTimeString` of dates, in UTC or at a fixed offset from it.

use super::options::Options;
use crate::web::helper::type_error;
use boa_engine::{Context, JsNativeError, JsResult, JsValue, js_string, object::builtins::JsDate};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const DAY_MS: f64 = 86_400_000.0;

/// The length of a month's or weekday's name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Width {
    Long,
    Short,
    Narrow,
}

/// The format of one part of a date.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Numeric,
    TwoDigits,
    Word(Width),
}

/// The order of a date's numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// 1/31/2024
    MonthDayYear,
    /// 31/01/2024
    DayMonthYear,
    /// 2024-01-31
    YearMonthDay,
}

/// The format of a date: its parts and their order.
struct Form {
    order: Order,
    weekday: Option<Width>,
    year: Option<Part>,
    month: Option<Part>,
    day: Option<Part>,
    hour: Option<Part>,
    minute: bool,
    second: bool,
    hours24: bool,
    offset_minutes: i32,
    zone_name: Option<String>,
    /// Whether date and time are joined by " at " instead of a comma.
    joined_by_at: bool,
}

pub fn to_locale_string(this: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    write(this, arguments, true, true, context)
}

pub fn to_locale_date_string(this: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    write(this, arguments, true, false, context)
}

pub fn to_locale_time_string(this: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    write(this, arguments, false, true, context)
}

fn write(this: &JsValue, arguments: &[JsValue], date: bool, time: bool, context: &mut Context) -> JsResult<JsValue> {
    let object = this.as_object().ok_or_else(|| type_error("the receiver is not a Date"))?;
    let ms = JsDate::from_object(object)?.get_time(context)?.as_number().unwrap_or(f64::NAN);
    let locale = match arguments.first() {
        Some(locale) if locale.is_string() => locale.to_string(context)?.to_std_string_lossy(),
        _ => String::new(),
    };
    let form = Form::of(&locale, &Options::of(arguments.get(1)), date, time, context)?;
    let text = if ms.is_nan() { "Invalid Date".to_owned() } else { form.write(ms) };
    Ok(js_string!(text).into())
}

fn part(text: Option<&str>) -> Option<Part> {
    Some(match text? {
        "2-digit" => Part::TwoDigits,
        "long" => Part::Word(Width::Long),
        "short" => Part::Word(Width::Short),
        "narrow" => Part::Word(Width::Narrow),
        _ => Part::Numeric,
    })
}

impl Form {
    fn of(locale: &str, options: &Options, date: bool, time: bool, context: &mut Context) -> JsResult<Self> {
        let (order, hours24) = match locale {
            // Scripts request these three locales for their formats, rarely for their languages.
            "en-CA" => (Order::YearMonthDay, false),
            "sv-SE" | "sv" => (Order::YearMonthDay, true),
            "en-GB" => (Order::DayMonthYear, true),
            _ => (Order::MonthDayYear, false),
        };
        let get =
            |key, context: &mut Context| -> JsResult<Option<Part>> { Ok(part(options.text(key, context)?.as_deref())) };
        let cycle = options.text("hourCycle", context)?.map(|cycle| matches!(cycle.as_str(), "h23" | "h24"));
        let (offset_minutes, zone) = offset(options.text("timeZone", context)?)?;
        let mut form = Self {
            order,
            weekday: match get("weekday", context)? {
                Some(Part::Word(width)) => Some(width),
                Some(_) => Some(Width::Short),
                None => None,
            },
            year: get("year", context)?,
            month: get("month", context)?,
            day: get("day", context)?,
            hour: get("hour", context)?,
            minute: get("minute", context)?.is_some(),
            second: get("second", context)?.is_some(),
            hours24: options.truth("hour12", context)?.map(|twelve| !twelve).or(cycle).unwrap_or(hours24),
            offset_minutes,
            zone_name: options.text("timeZoneName", context)?.map(|_| zone),
            joined_by_at: false,
        };
        form.joined_by_at = matches!(form.month, Some(Part::Word(Width::Long)));
        let (date_style, time_style) = (options.text("dateStyle", context)?, options.text("timeStyle", context)?);
        if date_style.is_some() || time_style.is_some() {
            form.style(date_style.as_deref(), time_style.as_deref());
        } else {
            form.default_parts(date, time);
        }
        Ok(form)
    }

    /// Sets the method's default parts, unless the options request any of its parts.
    fn default_parts(&mut self, date: bool, time: bool) {
        let has_date = self.weekday.is_some() || self.year.is_some() || self.month.is_some() || self.day.is_some();
        let has_time = self.hour.is_some() || self.minute || self.second;
        if (date && has_date) || (time && has_time) {
            return;
        }
        if date {
            let padded = if self.order == Order::MonthDayYear { Part::Numeric } else { Part::TwoDigits };
            (self.year, self.month, self.day) = (Some(Part::Numeric), Some(padded), Some(padded));
        }
        if time {
            (self.hour, self.minute, self.second) = (Some(Part::Numeric), true, true);
        }
    }

    fn style(&mut self, date: Option<&str>, time: Option<&str>) {
        if let Some(style) = date {
            let month = match style {
                "full" | "long" => Part::Word(Width::Long),
                "medium" => Part::Word(Width::Short),
                _ => Part::Numeric,
            };
            let year = if style == "short" { Part::TwoDigits } else { Part::Numeric };
            (self.year, self.month, self.day) = (Some(year), Some(month), Some(Part::Numeric));
            self.weekday = (style == "full").then_some(Width::Long);
            self.joined_by_at = matches!(style, "full" | "long");
        }
        if let Some(style) = time {
            (self.hour, self.minute, self.second) = (Some(Part::Numeric), true, style != "short");
            if matches!(style, "full" | "long") && self.zone_name.is_none() {
                self.zone_name = Some("UTC".to_owned());
            }
        }
    }

    fn write(&self, ms: f64) -> String {
        let local = ms + f64::from(self.offset_minutes) * 60_000.0;
        let days = (local / DAY_MS).floor();
        let (date, mut time) = (self.write_date(days as i64), self.write_time((local - days * DAY_MS) as u32));
        if let Some(zone) = &self.zone_name {
            time = if time.is_empty() { zone.clone() } else { format!("{time} {zone}") };
        }
        match (date.is_empty(), time.is_empty()) {
            (false, false) if self.joined_by_at => format!("{date} at {time}"),
            (false, false) => format!("{date}, {time}"),
            _ => date + &time,
        }
    }

    fn write_date(&self, days: i64) -> String {
        let (year, month, day) = civil(days);
        let weekday = self.weekday.map(|width| word(WEEKDAYS[(days + 4).rem_euclid(7) as usize], width));
        let year_text = self.year.map(|part| match part {
            Part::TwoDigits => format!("{:02}", year.rem_euclid(100)),
            _ => year.to_string(),
        });
        let number = |part: Part, value: u32| match part {
            Part::TwoDigits => format!("{value:02}"),
            _ => value.to_string(),
        };
        let day_text = self.day.map(|part| number(part, day));
        let date = if let Some(Part::Word(width)) = self.month {
            let month = word(MONTHS[month as usize - 1], width);
            let month_day = day_text.map_or_else(|| month.clone(), |day| format!("{month} {day}"));
            match (year_text, self.day) {
                (Some(year), Some(_)) => format!("{month_day}, {year}"),
                (Some(year), None) => format!("{month_day} {year}"),
                (None, _) => month_day,
            }
        } else {
            let month_text = self.month.map(|part| number(part, month));
            let (parts, separator) = match self.order {
                Order::MonthDayYear => ([month_text, day_text, year_text], "/"),
                Order::DayMonthYear => ([day_text, month_text, year_text], "/"),
                Order::YearMonthDay => ([year_text, month_text, day_text], "-"),
            };
            parts.into_iter().flatten().collect::<Vec<_>>().join(separator)
        };
        match weekday {
            Some(weekday) if date.is_empty() => weekday,
            Some(weekday) => format!("{weekday}, {date}"),
            None => date,
        }
    }

    fn write_time(&self, ms: u32) -> String {
        let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
        let mut parts = Vec::new();
        if let Some(part) = self.hour {
            let shown = if self.hours24 { hour } else { (hour + 11) % 12 + 1 };
            let padded = self.hours24 || part == Part::TwoDigits;
            parts.push(if padded { format!("{shown:02}") } else { shown.to_string() });
        }
        // A single part is not padded.
        let alone = usize::from(self.hour.is_some()) + usize::from(self.minute) + usize::from(self.second) == 1;
        for (is_shown, value) in [(self.minute, minute), (self.second, second)] {
            if is_shown {
                parts.push(if alone { value.to_string() } else { format!("{value:02}") });
            }
        }
        let text = parts.join(":");
        let half = if hour < 12 { "AM" } else { "PM" };
        if self.hour.is_some() && !self.hours24 { format!("{text} {half}") } else { text }
    }
}

fn word(name: &str, width: Width) -> String {
    match width {
        Width::Long => name.to_owned(),
        Width::Short => name[..3].to_owned(),
        Width::Narrow => name[..1].to_owned(),
    }
}

/// Minutes east of UTC, and the zone's name.
fn offset(zone: Option<String>) -> JsResult<(i32, String)> {
    let Some(zone) = zone else { return Ok((0, "UTC".to_owned())) };
    if matches!(zone.to_ascii_uppercase().as_str(), "UTC" | "GMT" | "ETC/UTC" | "ETC/GMT" | "Z") {
        return Ok((0, "UTC".to_owned()));
    }
    let fixed = || {
        let sign = if zone.starts_with('-') { -1 } else { 1 };
        let (hours, minutes) = zone.strip_prefix(['+', '-'])?.split_once(':')?;
        // The parser of numbers takes a sign, and this text has had its sign.
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(hours) || !is_number(minutes) {
            return None;
        }
        let (hours, minutes) = (hours.parse::<i32>().ok()?, minutes.parse::<i32>().ok()?);
        (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes))
    };
    match fixed() {
        Some(minutes) => Ok((minutes, format!("GMT{zone}"))),
        // Fail rather than show a wrong time.
        None => {
            let message = format!(
                "the time zone {zone:?} is not built in: use \"UTC\" or an offset such as \"+02:00\", or format the date in the page"
            );
            Err(JsNativeError::range().with_message(message).into())
        }
    }
}

/// The year, month and day of a number of days since 1970 in the Gregorian calendar. Counts in eras of 400 years whose
/// years start on the first of March, so that the leap day is the last day of a year.
fn civil(days: i64) -> (i64, u32, u32) {
    const ERA_DAYS: i64 = 146_097;
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(ERA_DAYS), shifted.rem_euclid(ERA_DAYS));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month as u32, day as u32)
}
